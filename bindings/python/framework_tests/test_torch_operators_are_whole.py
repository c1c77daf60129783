"""The operators are what PyTorch's own checks ask of operators; gradients; torch.compile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import warp_reduce.torch as wt
from torch.autograd import gradcheck, gradgradcheck

ops = torch.ops.warp_reduce
DIMS: tuple[Any, ...] = (None, [0], [-1], [0, 2], [2, 1, 0])


def tensor(*shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(7), dtype=torch.float64).to(dtype)


def arguments(dtype: torch.dtype) -> list[tuple[Any, tuple[Any, ...], dict[str, Any]]]:
    x = tensor(3, 4, 5, dtype=dtype)
    cases: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = []
    for dim in ([1], [0, 2], None):
        for each in (ops.sum, ops.sum_exact, ops.mean, ops.prod):
            cases += [(each.default, (x, dim), {}), (each.default, (x, dim, True), {"dtype": torch.float64})]
        for each in (ops.amax, ops.amin, ops.logsumexp):
            cases.append((each.default, (x, dim or []), {}))
        cases += [(ops.norm.default, (x, order, dim), {}) for order in (1.0, 2.0, float("inf"))]
    for each in (ops.argmax, ops.argmin):
        cases += [(each.default, (x,), {}), (each.default, (x, 1, True), {})]
    for each in (ops.softmax, ops.log_softmax):
        cases += [(each.default, (x.transpose(0, 1), 1), {})]
    for each in (ops.dot, ops.dot_exact):
        cases += [(each.default, (x, x[0, 0]), {}), (each.default, (x, x[0, 0]), {"dtype": torch.float64})]
    for each in (ops.softmax_backward, ops.log_softmax_backward):
        cases.append((each.default, (x, x.softmax(1), 1, dtype), {}))
    return cases


@pytest.mark.parametrize("grad", [False, True])
def test_opcheck(grad: bool) -> None:
    for operator, given, options in arguments(torch.float32):
        if grad and operator in (ops.argmax.default, ops.argmin.default):
            continue
        fresh = tuple(
            each.detach().clone().requires_grad_(grad) if isinstance(each, torch.Tensor) else each for each in given
        )
        torch.library.opcheck(operator, fresh, options)


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize(
    "name", ["sum", "sum exact", "mean", "prod", "amax", "amin", "logsumexp", "norm", "norm 1", "norm inf"]
)
def test_gradients(name: str, dim: Any, keepdim: bool) -> None:
    x = tensor(2, 3, 2).requires_grad_()
    name, _, order = name.partition(" ")
    dims = {"dim": () if dim is None and name in ("amax", "amin", "logsumexp") else dim, "keepdim": keepdim}
    if order == "exact":
        dims["exact"] = True
    if name == "norm":
        dims["ord"] = float(order or 2)
    function: Callable[..., Any] = lambda x: getattr(wt, name)(x, **dims)  # noqa: E731
    assert gradcheck(function, (x,))
    assert gradgradcheck(function, (x,))
    with wt.batch_invariant():
        assert gradcheck(function, (x,))


@pytest.mark.parametrize("zeros", [1, 2])
def test_gradients_of_products_with_zeros(zeros: int) -> None:
    x = tensor(2, 3, 2).requires_grad_()
    with torch.no_grad():
        x[0, :zeros, 0] = 0
    for dim in (None, 1, (0, 1)):
        assert gradcheck(lambda x, d=dim: wt.prod(x, d), (x,))
        assert gradgradcheck(lambda x, d=dim: wt.prod(x, d), (x,))


def test_gradients_of_what_stays_pytorchs() -> None:
    """Complex numbers, which PyTorch's kernels reduce."""
    z = torch.complex(tensor(2, 3, 2), tensor(2, 3, 2).flip(0)).requires_grad_()
    for function in (wt.sum, wt.mean, wt.prod, wt.norm, lambda z: wt.norm(z, 1)):
        for call in (function, lambda z, f=function: f(z, dim=(0, 2)) if f in (wt.sum, wt.mean, wt.prod) else f(z)):
            assert gradcheck(call, (z,)) and gradgradcheck(call, (z,))
    with pytest.raises(RuntimeError, match="forward mode is not offered"):
        torch.func.jvp(wt.prod, (z.detach(),), (z.detach(),))


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_gradients_of_rows(name: str) -> None:
    x = tensor(2, 3, 2).requires_grad_()
    for dim in (0, 1, -1):
        assert gradcheck(lambda x, d=dim: getattr(wt, name)(x, d), (x,))
        assert gradgradcheck(lambda x, d=dim: getattr(wt, name)(x, d), (x,))
        with wt.batch_invariant():
            assert gradcheck(lambda x, d=dim: getattr(torch, name)(x, d), (x,))
            assert gradgradcheck(lambda x, d=dim: getattr(torch, name)(x, d), (x,))


REPLACED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "sum": lambda x: x.sum((0, 2)),
    "mean": lambda x: x.mean((0, 2)),
    "prod": lambda x: x.prod(1),
    "amax": lambda x: x.amax((1, 2)),
    "logsumexp": lambda x: x.logsumexp((0, 2), keepdim=True),
    "norm": lambda x: torch.linalg.vector_norm(x, dim=(0, 1)),
}


@pytest.mark.parametrize("name", REPLACED)
def test_gradients_of_what_is_replaced(name: str) -> None:
    with wt.batch_invariant():
        assert gradcheck(REPLACED[name], (tensor(2, 3, 2).requires_grad_(),))


def test_compiled_functions_are_one_graph_with_the_same_bits() -> None:
    def own(x: torch.Tensor) -> list[torch.Tensor]:
        return [
            *(wt.sum(x, 1), wt.mean(x, (0, 1)), wt.prod(x, 1), wt.amax(x, 1), wt.argmin(x, 1), wt.norm(x, 2, 1)),
            wt.sum(x, (0, 1), exact=True),
            *(wt.logsumexp(x, 1), wt.softmax(x, 1), wt.log_softmax(x, 0)),
        ]

    def gradient(x: torch.Tensor) -> torch.Tensor:
        x = x.detach().requires_grad_()
        (found,) = torch.autograd.grad((wt.log_softmax(x, 1)[:, 3] * wt.logsumexp(x, 1)).sum(), x)
        return found

    compiled = torch.compile(own, fullgraph=True, dynamic=True)
    for rows in (3, 9):
        x = tensor(rows, 1000, dtype=torch.bfloat16)
        for found, expected in zip(compiled(x), own(x)):
            assert torch.equal(found, expected)
    assert torch.isfinite(gradient(x)).all()
