"""The operators' kernels for derivatives, of reverse and forward mode, under autograd and torch.func's transforms.

A transform's tensors come to these kernels at its own level, as they come to those of PyTorch's own operators.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import torch
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad

from ._gradients import RULES
from ._operators import REDUCTIONS, dimensions, library

_ops = torch.ops.warp_reduce

# ---- tangents: what forward mode makes of an input's


def _by_gradient(ctx: Any, t: torch.Tensor) -> torch.Tensor:
    """Each result has a gradient of its own elements alone, so one call gives those of all."""
    dim, keepdim = ctx.arguments[-2:]
    dims = dimensions(t, dim)
    slope = RULES[ctx.name][0](ctx, torch.ones_like(_ops.sum(t, dims, keepdim, dtype=ctx.result)))[0]
    return _ops.sum(slope * t, dims, keepdim, dtype=ctx.result)


def _dot(ctx: Any, *tangents: torch.Tensor | None) -> torch.Tensor:
    x, y = ctx.saved_tensors
    t, u = tangents
    products = [a * b for a, b in ((t, y), (x, u)) if a is not None and b is not None]
    return _ops.sum(sum(products), [-1], dtype=ctx.result)


def _softmax(ctx: Any, t: torch.Tensor) -> torch.Tensor:
    """Its Jacobian is symmetric."""
    (y,) = ctx.saved_tensors
    return _ops.softmax_backward(t.to(y.dtype), y, ctx.arguments[0], y.dtype)


def _log_softmax(ctx: Any, t: torch.Tensor) -> torch.Tensor:
    (y,) = ctx.saved_tensors
    return t - _ops.sum(y.exp() * t, [ctx.arguments[0]], True)


def _softmax_backward(ctx: Any, *tangents: torch.Tensor | None) -> torch.Tensor:
    """Of y * (g - sum(y * g))."""
    g, y = ctx.saved_tensors
    to_g, to_y = (torch.zeros_like(of) if t is None else t for t, of in zip(tangents, (g, y)))
    dims = [ctx.dim]
    inner, changed = _ops.sum(y * g, dims, True), _ops.sum(to_y * g + y * to_g, dims, True)
    return to_y * (g - inner) + y * (to_g - changed)


def _log_softmax_backward(ctx: Any, *tangents: torch.Tensor | None) -> torch.Tensor:
    """Of g - exp(y) * sum(g)."""
    g, y = ctx.saved_tensors
    to_g, to_y = (torch.zeros_like(of) if t is None else t for t, of in zip(tangents, (g, y)))
    dims = [ctx.dim]
    return to_g - y.exp() * (_ops.sum(to_g, dims, True) + to_y * _ops.sum(g, dims, True))


_TANGENTS: dict[str, Callable[..., torch.Tensor]] = {
    "dot": _dot,
    "dot_exact": _dot,
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "softmax_backward": _softmax_backward,
    "log_softmax_backward": _log_softmax_backward,
}

# ---- the kernels


@contextlib.contextmanager
def _levels_below() -> Iterator[None]:
    """Transforms below this one have derivatives of their own, which an autograd.Function would switch off."""
    with torch.enable_grad(), forward_ad._set_fwd_grad_enabled(True):
        yield


def _without_tangents(ctx: Any) -> Any:
    """A tangent has none of its own at the level that it is of."""
    primals = tuple(forward_ad.unpack_dual(x).primal for x in ctx.saved_tensors)
    return SimpleNamespace(**vars(ctx), saved_tensors=primals)


class _Graded(torch.autograd.Function):
    """An operator and its derivatives in one step, where PyTorch's own registration takes twice as long."""

    @staticmethod
    def forward(ctx: Any, *given: Any) -> torch.Tensor:
        *arguments, name, options = given
        with torch._C._AutoDispatchBelowAutograd(), _levels_below():
            y = getattr(_ops, name).default(*arguments, **options)
        ctx.name, ctx.result = name, y.dtype
        RULES[name][1](ctx, arguments, y)
        return y

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
        return (*RULES[ctx.name][0](ctx, gradient), None, None)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> torch.Tensor:
        of_tensors = tangents[: tensors_of(ctx.name)]
        if any(t is not None and t.is_complex() for t in of_tensors):
            raise RuntimeError("forward mode is not offered for complex tensors; take PyTorch's own function")
        with _levels_below():
            return _TANGENTS.get(ctx.name, _by_gradient)(_without_tangents(ctx), *of_tensors).to(ctx.result)

    @classmethod
    def at_this_level(cls, *given: Any) -> torch.Tensor:
        """`apply` would go through the transforms anew, as it does not know that one of them has called the kernel."""
        if not torch._C._are_functorch_transforms_active():
            return super(torch.autograd.Function, cls).apply(*given)  # type: ignore[misc]
        with enable_single_level_autograd_function():
            return super(torch.autograd.Function, cls).apply(*given)  # type: ignore[misc]


def tensors_of(name: str) -> int:
    return 1 if name in REDUCTIONS or name in ("softmax", "log_softmax") else 2


def graded(name: str) -> Any:
    """The operator of that name for tensors that have a gradient; all arguments but options are given."""

    def run(*arguments: Any, **options: Any) -> torch.Tensor:
        return _Graded.at_this_level(*arguments, name, options)

    return run


def _kernel(name: str) -> Any:
    operator, with_derivatives = getattr(_ops, name).default, graded(name)
    defaults = tuple(each.default_value for each in operator._schema.arguments if not each.kwarg_only)

    def run(*arguments: Any, **options: Any) -> torch.Tensor:
        if forward_ad._current_level >= 0 or (torch.is_grad_enabled() and torch._C._any_requires_grad(*arguments)):
            return with_derivatives(*arguments, *defaults[len(arguments) :], **options)
        with torch._C._AutoDispatchBelowAutograd():
            return operator(*arguments, **options)

    return run


for _name in RULES:
    library.impl(_name, _kernel(_name), "Autograd")
