"""Dot products of tensors and JAX's arrays: the bits of NumPy's arrays, exact ones rounded once, gradients."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
import warp_reduce as wr
import warp_reduce.jax as wj
import warp_reduce.torch as wt
from jax.test_util import check_grads
from torch.autograd import gradcheck, gradgradcheck

TYPES = ("float32", "float64", "float16", "bfloat16", "int8", "int32", "int64", "uint8")
EXACT = (False, True)


def rows(*shape: int, seed: int = 0) -> np.ndarray:
    x = np.random.default_rng(seed).standard_normal(shape) * 4
    return x * 2.0 ** np.random.default_rng(seed + 1).integers(-6, 6, shape)


def same_bits(found: torch.Tensor, expected: torch.Tensor) -> bool:
    return found.dtype == expected.dtype and torch.equal(found.nan_to_num(7), expected.nan_to_num(7))


@pytest.mark.parametrize("exact", EXACT)
@pytest.mark.parametrize("name", TYPES)
def test_torchs_are_those_of_the_array_functions(name: str, exact: bool) -> None:
    dtype = getattr(torch, name)
    x, y = torch.from_numpy(rows(5, 7, 300)).to(dtype), torch.from_numpy(rows(300, seed=4)).to(dtype)
    expected = wr.dot(x, y, exact=exact)
    by_operator = torch.ops.warp_reduce.dot_exact if exact else torch.ops.warp_reduce.dot
    for left, right in ((x, y), (x.transpose(0, 1).contiguous().transpose(0, 1), y.repeat_interleave(2)[::2])):
        for found in (wt.dot(left, right, exact=exact), by_operator(left, right)):
            assert same_bits(found, expected.to(found.dtype) if name == "uint8" else expected)
    assert same_bits(wt.dot(x[2, 3], y, exact=exact), wt.dot(x, y, exact=exact)[2, 3])
    assert same_bits(wt.dot(x[..., :0], y[:0], exact=exact), torch.zeros_like(wt.dot(x, y)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exact_ones_are_rounded_once(dtype: Any) -> None:
    x, y = rows(9, 200).astype(dtype), rows(200, seed=2).astype(dtype)
    exact = [sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(row, y)) for row in x]
    for found in (wt.dot(torch.from_numpy(x), torch.from_numpy(y), exact=True).numpy(), single(x, y, exact=True)):
        for one, value in zip(found, exact):
            others = (np.nextafter(one, dtype(-np.inf)), np.nextafter(one, dtype(np.inf)))
            distance = abs(Fraction(float(one)) - value)
            assert all(distance <= abs(Fraction(float(other)) - value) for other in others)


def single(x: np.ndarray, y: np.ndarray, exact: bool) -> np.ndarray:
    with jax.enable_x64(x.dtype == np.float64):
        return np.asarray(jax.jit(lambda x, y: wj.dot(x, y, exact=exact))(x, y))


@pytest.mark.parametrize("exact", EXACT)
def test_jaxs_are_those_of_the_array_functions(exact: bool) -> None:
    for dtype in (np.float32, np.float64, np.float16, jnp.bfloat16):
        x, y = rows(5, 7, 300).astype(dtype), rows(300, seed=4).astype(dtype)
        assert (single(x, y, exact) == wr.dot(x, y, exact=exact)).all()
        if dtype == np.float64:
            continue
        function = lambda x, y: wj.dot(x, y, exact=exact)  # noqa: E731
        many = rows(5, 300, seed=5).astype(dtype)
        each = np.stack([wr.dot(one, other, exact=exact) for one, other in zip(x, many)])
        assert (np.asarray(jax.vmap(function, (0, None))(x, y)) == wr.dot(x, y, exact=exact)).all()
        assert (np.asarray(jax.jit(jax.vmap(function))(x, many)) == each).all()
        by_vector = np.stack([wr.dot(x[0], other, exact=exact) for other in many])
        assert (np.asarray(jax.vmap(function, (None, 0))(x[0], many)) == by_vector).all()
        assert (np.asarray(jax.vmap(jax.vmap(function, (0, None)))(x, many)) == each).all()


def test_jaxs_integers_are_added_in_their_own_type() -> None:
    x, y = np.full((2, 3), 2**30, np.int32), np.full(3, 2, np.int32)
    assert wj.dot(x, y).dtype == jnp.int32
    assert (np.asarray(wj.dot(x, y)) == np.int32(-(2**31))).all()  # 3 * 2^31 modulo 2^32
    assert int(wj.dot(np.ones(3, bool), np.ones(3, bool))) == 3


@pytest.mark.parametrize("exact", EXACT)
def test_gradients(exact: bool) -> None:
    x, y = torch.from_numpy(rows(2, 3, 4)).requires_grad_(), torch.from_numpy(rows(4, seed=1)).requires_grad_()
    for left in (x, x[0, 0].detach().requires_grad_()):
        assert gradcheck(lambda a, b: wt.dot(a, b, exact=exact), (left, y))
        assert gradgradcheck(lambda a, b: wt.dot(a, b, exact=exact), (left, y))
    a, b = rows(2, 3, 4).astype(np.float32) / 64, rows(4, seed=1).astype(np.float32) / 64
    check_grads(lambda a, b: wj.dot(a, b, exact=exact), (a, b), 2, ["rev"], atol=1e-2, rtol=1e-2)
    check_grads(lambda a, b: wj.dot(a, b, exact=exact), (a[0, 0], b), 2, ["rev"], atol=1e-2, rtol=1e-2)


def test_a_gradient_has_its_sides_type_and_only_what_is_asked_for() -> None:
    x, y = torch.ones(3, 4, dtype=torch.bfloat16, requires_grad=True), torch.full((4,), 2.0)
    wt.dot(x, y).sum().backward()
    assert x.grad.dtype == torch.bfloat16 and torch.equal(x.grad, torch.full_like(x, 2)) and y.grad is None
    y.requires_grad_()
    wt.dot(x.detach(), y, dtype=torch.float64).sum().backward()
    assert torch.equal(y.grad, torch.full((4,), 3.0))


def test_compiled_and_in_any_batch_the_bits_are_the_same() -> None:
    x, y = torch.from_numpy(rows(129, 1000)).float(), torch.from_numpy(rows(1000, seed=3)).float()

    def both(x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
        x = x.detach().requires_grad_()
        z = wt.dot(x, y)
        return [z.detach(), torch.autograd.grad(z.sum(), x)[0]]

    compiled = torch.compile(lambda x, y: wt.dot(x, y), fullgraph=True, dynamic=True)
    together = both(x, y)
    assert torch.equal(compiled(x, y), together[0])
    for row in (0, 1, 77, 128):
        assert all(torch.equal(one[0], many[row]) for one, many in zip(both(x[row : row + 1], y), together))


def test_what_does_not_go_together_is_refused() -> None:
    x, y = torch.ones(3, 4), torch.ones(4)
    for left, right in ((x, y[:3]), (x, x), (y[0], y), (x.to(torch.complex64), y), (x, y.to("meta"))):
        with pytest.raises(RuntimeError, match="dot |differ in the dimension"):
            wt.dot(left, right)
    for left, right in ((x, y[:3]), (x, x), (y[0], y)):
        with pytest.raises(ValueError):
            wj.dot(left.numpy(), right.numpy())
    with pytest.raises(TypeError, match="complex"):
        wj.dot(np.ones((3, 4), np.complex64), np.ones(4))
