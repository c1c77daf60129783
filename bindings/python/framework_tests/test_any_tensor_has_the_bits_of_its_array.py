"""Tensors of any shape, strides and type, along any dimensions: the bits of NumPy's array of the same memory."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
import warp_reduce as wr
import warp_reduce.torch as wt

TYPES = (torch.float32, torch.float64, torch.float16, torch.int8, torch.int32, torch.int64, torch.uint8)
REDUCTIONS = {"sum": "sum", "prod": "prod", "mean": "mean", "amax": "max", "amin": "min", "norm": "norm"}


def view(draw: random.Random) -> torch.Tensor:
    """Of memory in any order, with steps, and broadcast."""
    rank = draw.randint(1, 5)
    shape, steps = [draw.randint(1, 6) for _ in range(rank)], [draw.choice((1, 1, 2, 3)) for _ in range(rank)]
    order = draw.sample(range(rank), rank)
    values = torch.randn(
        [shape[d] * steps[d] for d in order], generator=torch.Generator().manual_seed(draw.getrandbits(32))
    )
    x = (values * 3).to(draw.choice(TYPES)).permute([order.index(d) for d in range(rank)])
    x = x[tuple(slice(None, None, step) for step in steps)]
    return x.expand([draw.randint(1, 3) if size == 1 else size for size in x.shape])


def same(found: torch.Tensor, expected: np.ndarray) -> bool:
    found = found.numpy()
    return found.shape == np.shape(expected) and found.tobytes() == np.asarray(expected).astype(found.dtype).tobytes()


@pytest.mark.parametrize("seed", range(150))
def test_reductions(seed: int) -> None:
    draw = random.Random(seed)
    x = view(draw)
    dims = tuple(draw.sample(range(x.dim()), draw.randint(1, x.dim())))
    keep = draw.random() < 0.5
    for name, other in REDUCTIONS.items():
        if not x.dtype.is_floating_point and name in ("mean", "norm"):
            continue
        expected = getattr(wr, other)(x.numpy(), axis=dims, keepdims=keep)
        assert same(getattr(wt, name)(x, dim=dims, keepdim=keep), expected), name
        assert same(getattr(wr, other)(x, axis=dims, keepdims=keep), expected), name
        with wt.batch_invariant():
            if name in ("sum", "mean"):
                assert same(getattr(torch, name)(x, dim=dims, keepdim=keep), expected), name
    assert same(wt.argmax(x, dims[0], keep), wr.argmax(x.numpy(), dims[0], keepdims=keep))


@pytest.mark.parametrize("seed", range(60))
def test_softmax_and_its_gradient(seed: int) -> None:
    draw = random.Random(seed)
    x = view(draw)
    if not x.dtype.is_floating_point:
        x = x.float()
    dim, up = draw.randrange(x.dim()), x.flip(0)
    for name in ("softmax", "log_softmax"):
        expected = getattr(wr, name)(x.numpy(), dim)
        assert same(getattr(wt, name)(x, dim), expected)
        leaf = x.detach().clone().requires_grad_()
        y = getattr(wt, name)(leaf, dim)
        (slope,) = torch.autograd.grad(y, leaf, up)
        assert same(slope, getattr(wr, f"{name}_backward")(expected, up.numpy(), dim))
