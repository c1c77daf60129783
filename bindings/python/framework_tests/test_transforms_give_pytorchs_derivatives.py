"""torch.func's transforms and forward mode of warp_reduce.torch's functions give the derivatives of PyTorch's own, and
vmap the bits of one call for each."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import warp_reduce.torch as wt
from torch.autograd import forward_ad, gradcheck
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vmap

norm = torch.linalg.vector_norm
Function = Callable[[torch.Tensor], torch.Tensor]


def tensor(*shape: int, seed: int = 4) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


VECTOR = tensor(5, seed=9)
# ours, and PyTorch's
PAIRS: dict[str, tuple[Function, Function]] = {
    "sum": (lambda x: wt.sum(x, -1), lambda x: x.sum(-1)),
    "sum of all": (wt.sum, torch.sum),
    "exact sum": (lambda x: wt.sum(x, (0, -1), exact=True), lambda x: x.sum((0, -1))),
    "mean": (lambda x: wt.mean(x, (0, 1), True), lambda x: x.mean((0, 1), True)),
    "prod": (lambda x: wt.prod(x, -1), lambda x: x.prod(-1)),
    "amax": (lambda x: wt.amax(x, -1), lambda x: x.amax(-1)),
    "amin": (wt.amin, torch.amin),
    "norm": (lambda x: wt.norm(x, 2, 0), lambda x: norm(x, 2, 0)),
    "norm of order 1": (lambda x: wt.norm(x, 1), lambda x: norm(x, 1)),
    "norm of order infinity": (lambda x: wt.norm(x, math.inf, 1), lambda x: norm(x, math.inf, 1)),
    "logsumexp": (lambda x: wt.logsumexp(x, (1, 2)), lambda x: x.logsumexp((1, 2))),
    "softmax": (lambda x: wt.softmax(x, 1), lambda x: x.softmax(1)),
    "log_softmax": (lambda x: wt.log_softmax(x, 0), lambda x: x.log_softmax(0)),
    "dot": (lambda x: wt.dot(x, VECTOR), lambda x: x @ VECTOR),
    "dot with a row": (lambda x: wt.dot(x, x[0, 0], exact=True), lambda x: x @ x[0, 0]),
}
WHOLE: dict[str, Function] = {
    "argmax": lambda x: wt.argmax(x, -1),
    "argmin of all": lambda x: wt.argmin(x),
    "argmax, keepdim": lambda x: wt.argmax(x, None, True),
    "sum of integers": lambda x: wt.sum((x * 8).int(), 0, True),
    "softmax into f32": lambda x: wt.softmax(x.float().half(), dtype=torch.float32),
    "sum into f64": lambda x: wt.sum(x.float(), dtype=torch.float64),
}


@pytest.fixture(autouse=True)
def nothing_is_done_one_by_one() -> Iterator[None]:
    """PyTorch warns where it does a batch's elements one after the other."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "There is a performance drop")
        yield


def weighed(function: Function) -> Function:
    """A number of which every element of the result is a part of its own."""

    def number(x: torch.Tensor) -> torch.Tensor:
        y = function(x)
        return (y * torch.linspace(1, 2, y.numel(), dtype=y.dtype).reshape(y.shape)).sum()

    return number


TRANSFORMS: dict[str, Callable[[Function, torch.Tensor, torch.Tensor], Any]] = {
    "grad": lambda f, x, t: grad(weighed(f))(x),
    "vmap of grad": lambda f, x, t: vmap(grad(weighed(f)))(torch.stack([x, t])),
    "grad of vmap": lambda f, x, t: grad(weighed(vmap(f)))(torch.stack([x, t])),
    "grad of grad": lambda f, x, t: grad(lambda x: (grad(weighed(f))(x) * t).sum())(x),
    "jacrev": lambda f, x, t: jacrev(f)(x),
    "jvp": lambda f, x, t: jvp(f, (x,), (t,)),
    "jacfwd": lambda f, x, t: jacfwd(f)(x),
    "hessian": lambda f, x, t: hessian(weighed(f))(x),
    "jacfwd of jacfwd": lambda f, x, t: jacfwd(jacfwd(weighed(f)))(x),
    "jacrev of jacfwd": lambda f, x, t: jacrev(jacfwd(weighed(f)))(x),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", PAIRS)
def test_transforms(name: str, transform: str) -> None:
    ours, theirs = PAIRS[name]
    x, t = tensor(2, 3, 5), tensor(2, 3, 5, seed=6)
    torch.testing.assert_close(TRANSFORMS[transform](ours, x, t), TRANSFORMS[transform](theirs, x, t))


@pytest.mark.parametrize("name", PAIRS)
def test_forward_mode(name: str) -> None:
    ours, theirs = PAIRS[name]
    x, t = tensor(2, 3, 5), tensor(2, 3, 5, seed=6)
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        tangents = []
        for function in (ours, theirs):
            if "dot" in name and dtype != torch.float64:
                continue
            with forward_ad.dual_level():
                tangents.append(
                    forward_ad.unpack_dual(function(forward_ad.make_dual(x.to(dtype), t.to(dtype)))).tangent
                )
        for found, expected in zip(tangents[::2], tangents[1::2]):
            assert found.dtype == expected.dtype
            close = {"rtol": 0.06, "atol": 0.2} if dtype == torch.bfloat16 else {}
            torch.testing.assert_close(found, expected, **close)
    assert gradcheck(ours, (x.requires_grad_(),), check_forward_ad=True, check_backward_ad=False)
    assert gradcheck(ours, (x,), check_batched_grad=True)


@pytest.mark.parametrize("name", [*PAIRS, *WHOLE])
def test_vmap_has_the_bits_of_one_call_for_each(name: str) -> None:
    function = PAIRS[name][0] if name in PAIRS else WHOLE[name]
    x = tensor(4, 2, 3, 5)
    one_by_one = [function(each) for each in x]
    for batch, options in ((x, {}), (x.movedim(0, 2), {"in_dims": 2}), (x.movedim(0, -1), {"in_dims": -1})):
        assert torch.equal(vmap(function, **options)(batch), torch.stack(one_by_one))
    assert torch.equal(vmap(function, out_dims=-1)(x), torch.stack(one_by_one, -1))
    twice = vmap(vmap(function))(torch.stack([x, x.flip(0)]))
    assert torch.equal(twice[0], torch.stack(one_by_one)) and torch.equal(twice[1], twice[0].flip(0))


def test_vmap_of_numbers() -> None:
    """Whose one element is all of them."""
    x = tensor(4)
    for function in (wt.sum, wt.mean, wt.prod, wt.amax, wt.norm, wt.logsumexp, wt.argmax):
        expected = torch.stack([function(each) for each in x])
        for options in ({}, {"keepdim": True}):
            assert torch.equal(vmap(lambda x, f=function, o=options: f(x, **o))(x), expected)
    assert torch.equal(vmap(lambda x: wt.softmax(x, 0))(x), torch.ones_like(x))
    assert torch.equal(vmap(grad(lambda x: wt.log_softmax(x, 0)))(x), torch.zeros_like(x))


def test_vmap_of_both_sides_of_dot() -> None:
    x, y = tensor(4, 3, 5), tensor(4, 5, seed=8)
    both = torch.stack([wt.dot(one, other) for one, other in zip(x, y)])
    assert torch.equal(vmap(wt.dot)(x, y), both)
    assert torch.equal(vmap(wt.dot, (None, 0))(x[0], y), torch.stack([wt.dot(x[0], other) for other in y]))
    assert torch.equal(vmap(wt.dot, (1, None))(x, y[0]), wt.dot(x, y[0]).T)
    assert torch.equal(vmap(wt.dot, (0, None))(y, y[0]), wt.dot(y, y[0]))
    for side in (0, 1):
        torch.testing.assert_close(jacrev(wt.dot, side)(x, y[0]), jacrev(lambda x, y: x @ y, side)(x, y[0]))
        torch.testing.assert_close(jacfwd(wt.dot, side)(x, y[0]), jacfwd(lambda x, y: x @ y, side)(x, y[0]))


def test_gradients_of_rows_have_the_bits_of_backward() -> None:
    """Of grad, of vmap of grad, of a batch of gradients from above."""
    x = tensor(4, 1000).float().requires_grad_()
    for function in (lambda x: wt.log_softmax(x, -1)[..., 3].sum(), lambda x: wt.logsumexp(x, -1).sum()):
        (expected,) = torch.autograd.grad(function(x), x)
        assert torch.equal(grad(function)(x.detach()), expected)
        assert torch.equal(vmap(grad(function))(x.detach()), expected)
    y = wt.log_softmax(x, -1)
    above = torch.stack([y.detach(), y.detach().flip(0)])
    (together,) = torch.autograd.grad(y, x, above, is_grads_batched=True, retain_graph=True)
    for found, one in zip(together, above):
        assert torch.equal(found, torch.autograd.grad(y, x, one, retain_graph=True)[0])


def test_compiled_derivatives_have_the_same_bits() -> None:
    """Of autograd and of transforms that are compiled with the function."""

    def function(x: torch.Tensor) -> torch.Tensor:
        parts = [wt.log_softmax(x, 1)[:, 3], wt.logsumexp(x, 1), wt.norm(x, 2, 1), wt.sum(x, 1), wt.mean(x, 1)]
        return torch.stack([*parts, wt.prod(1 + x / 64, 1), wt.amax(x, 1), wt.dot(x, x[0])]).sum()

    compiled = torch.compile(function, fullgraph=True, dynamic=True)
    for rows in (3, 9):
        x = tensor(rows, 1000).float().requires_grad_()
        (found,), (expected,) = (torch.autograd.grad(each(x), x) for each in (compiled, function))
        assert torch.equal(found, expected)
    x = tensor(4, 100).float()
    slopes = torch.compile(vmap(grad(lambda row: wt.logsumexp(row, 0))), fullgraph=True)
    assert torch.equal(slopes(x), wt.softmax(x, 1))
