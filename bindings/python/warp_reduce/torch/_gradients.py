"""The formulas of the operators' gradients. Sums in them are this package's, so they too are independent of the batch.

First gradients are operators of their own, which torch.compile calls as they are: what it makes of a formula rounds
otherwise. Gradients of gradients are the formulas.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from ._operators import KEYS, dimensions, library

_ops = torch.ops.warp_reduce


def _spread(y: torch.Tensor, x: torch.Tensor, dims: list[int], keepdim: bool) -> torch.Tensor:
    """A result's tensor beside the elements that it was made of."""
    if not keepdim:
        for each in sorted(dims):
            y = y.unsqueeze(each)
    return y.expand(x.shape)


def _save(ctx: Any, *tensors: torch.Tensor) -> None:
    ctx.save_for_backward(*tensors)
    ctx.save_for_forward(*tensors)


class _Saved:
    """Stores what a derivative needs; with `result` the operator's output too."""

    def __init__(self, result: bool, elements: bool = True) -> None:
        self.result, self.elements = result, elements

    def __call__(self, ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        x, *ctx.arguments = inputs
        ctx.dtype, ctx.shape = x.dtype, x.shape
        tensors = [x] if self.elements else []
        _save(ctx, *tensors, *([output] if self.result else []))


def _whereabouts(ctx: Any, dim: Any, keepdim: bool) -> tuple[list[int], Any]:
    shape = ctx.shape

    class Place:
        pass

    place = Place()
    place.shape = shape  # type: ignore[attr-defined]
    place.dim = lambda: len(shape)  # type: ignore[attr-defined]
    return dimensions(place, dim), place  # type: ignore[arg-type]


def _sum(ctx: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
    dim, keepdim = ctx.arguments
    dims, like = _whereabouts(ctx, dim, keepdim)
    return _spread(gradient, like, dims, keepdim).to(ctx.dtype), None, None


def _count(ctx: Any, dims: list[int]) -> Any:
    count = 1
    for each in dims:
        count = count * ctx.shape[each]
    return count


def _share(gradient: torch.Tensor, count: Any, dtype: torch.dtype) -> torch.Tensor:
    """Times the reciprocal, rounded once: of a division CPUs, GPUs and the compiler have each their own idea."""
    wide = gradient if gradient.dtype == torch.float64 or gradient.is_complex() else gradient.float()
    return (wide * (1 / count if count != 0 else math.inf)).to(dtype).contiguous()


def _mean(ctx: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
    dim, keepdim = ctx.arguments
    dims, like = _whereabouts(ctx, dim, keepdim)
    calculate = _share if torch.is_grad_enabled() else _ops._share.default
    return _spread(calculate(gradient, _count(ctx, dims), ctx.dtype), like, dims, keepdim), None, None


def _others_product(x: torch.Tensor, dims: list[int]) -> torch.Tensor:
    """For each element the product of all others, with its own derivatives: products from both ends."""
    kept = [d for d in range(x.dim()) if d not in dims]
    order = [*kept, *dims]
    moved = x.permute(order)
    flat = moved.flatten(len(kept)) if dims else moved.unsqueeze(-1)
    one = torch.ones_like(flat[..., :1])
    before = torch.cat([one, flat[..., :-1]], -1).cumprod(-1)
    after = torch.cat([one, flat.flip(-1)[..., :-1]], -1).cumprod(-1).flip(-1)
    product = (before * after).reshape(moved.shape)
    return product.permute(sorted(range(x.dim()), key=lambda place: order[place]))


def _prod(
    gradient: torch.Tensor, x: torch.Tensor, result: torch.Tensor, dims: list[int], keepdim: bool, ord: float
) -> torch.Tensor:
    above = _spread(gradient, x, dims, keepdim)
    if torch.is_grad_enabled():
        return above * _others_product(x.to(result.dtype), dims).conj()
    zero = x == 0
    zeros = _ops.sum(zero, dims, True)
    rest = _ops.prod(torch.where(zero, torch.ones_like(x), x), dims, True, dtype=result.dtype)
    with_one = torch.where(zero & (zeros == 1), rest, torch.zeros_like(rest))
    return above * torch.where(zeros == 0, _spread(result, x, dims, keepdim) / x, with_one).conj()


def _extreme(
    gradient: torch.Tensor, x: torch.Tensor, result: torch.Tensor, dims: list[int], keepdim: bool, ord: float
) -> torch.Tensor:
    """Equal extremes share it equally."""
    chosen = x == _spread(result, x, dims, keepdim)
    above = _spread(gradient, x, dims, keepdim)
    return chosen * (above / _ops.sum(chosen, dims, True))


def _norm(
    gradient: torch.Tensor, x: torch.Tensor, result: torch.Tensor, dims: list[int], keepdim: bool, ord: float
) -> torch.Tensor:
    above, norm = _spread(gradient, x, dims, keepdim), _spread(result, x, dims, keepdim)
    if ord == 1:
        return x.sgn() * above
    if ord == 2:
        return x * (above / norm).masked_fill(norm == 0, 0)
    chosen = x.abs() == norm
    return x.sgn() * (chosen * (above / _ops.sum(chosen, dims, True)))


_FORMULAS = {"prod": _prod, "extreme": _extreme, "norm": _norm}


def _slope(
    gradient: torch.Tensor,
    x: torch.Tensor,
    result: torch.Tensor,
    formula: str,
    dim: list[int],
    keepdim: bool,
    ord: float,
) -> torch.Tensor:
    return _FORMULAS[formula](gradient, x, result, dim, keepdim, ord).to(x.dtype).contiguous()


def _by(formula: str) -> Any:
    def slope(ctx: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
        *ord, dim, keepdim = ctx.arguments
        x, result = ctx.saved_tensors
        calculate = _slope if torch.is_grad_enabled() else _ops._slope.default
        made = calculate(gradient, x, result, formula, dimensions(x, dim), keepdim, ord[0] if ord else 0.0)
        return (made, *(None for _ in ctx.arguments))

    return slope


def _logsumexp(ctx: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
    """The softmax of the elements, whose exponentials are the library's on every device."""
    dim, keepdim = ctx.arguments
    (x,) = ctx.saved_tensors
    dims = dimensions(x, dim)
    kept = [d for d in range(x.dim()) if d not in dims]
    order = [*kept, *dims]
    moved = x.permute(order)
    flat = moved.reshape([*(x.shape[d] for d in kept), -1] if x.numel() else [0])
    share = _ops.softmax(flat, -1).reshape(moved.shape)
    back = share.permute(sorted(range(x.dim()), key=lambda place: order[place]))
    return _spread(gradient, x, dims, keepdim) * back, None, None


def _save_sides(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    _save(ctx, *inputs)


def _dot(ctx: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
    """A vector that many rows are multiplied with has the sum of what each of them says."""
    x, y = ctx.saved_tensors
    above = gradient.unsqueeze(-1)
    to_x = (above * y).to(x.dtype) if ctx.needs_input_grad[0] else None
    to_y = None
    if ctx.needs_input_grad[1]:
        rows = above * x
        to_y = (_ops.sum(rows, list(range(x.dim() - 1))) if x.dim() > 1 else rows).to(y.dtype)
    return to_x, to_y


def _of_softmax(backward: Any) -> Any:
    def gradient_of(ctx: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
        (output,) = ctx.saved_tensors
        return backward(gradient, output, ctx.arguments[0], ctx.dtype), None, None

    return gradient_of


def _save_both(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    gradient, y, ctx.dim, _ = inputs
    _save(ctx, gradient, y)


def _softmax_backward(ctx: Any, above: torch.Tensor) -> tuple[Any, ...]:
    """Of y * (g - sum(y * g))."""
    g, y = ctx.saved_tensors
    dims = [ctx.dim]
    wide = above.to(y.dtype)
    inner = _ops.sum(y * g, dims, True)
    own = _ops.sum(y * wide, dims, True)
    to_g = y * (wide - own)
    to_y = wide * (g - inner) - g * own
    return to_g.to(g.dtype), to_y, None, None


def _log_softmax_backward(ctx: Any, above: torch.Tensor) -> tuple[Any, ...]:
    """Of g - exp(y) * sum(g)."""
    g, y = ctx.saved_tensors
    dims = [ctx.dim]
    wide, share = above.to(y.dtype), y.exp()
    to_g = wide - _ops.sum(wide * share, dims, True)
    to_y = -wide * share * _ops.sum(g.to(y.dtype), dims, True)
    return to_g.to(g.dtype), to_y, None, None


_SHAPE, _ELEMENTS, _BOTH, _RESULT = _Saved(False, False), _Saved(False), _Saved(True), _Saved(True, False)
# By operator: the gradient, and what stores what it needs.
RULES: dict[str, tuple[Any, Any]] = {
    "sum": (_sum, _SHAPE),
    "sum_exact": (_sum, _SHAPE),
    "mean": (_mean, _SHAPE),
    "prod": (_by("prod"), _BOTH),
    "amax": (_by("extreme"), _BOTH),
    "amin": (_by("extreme"), _BOTH),
    "norm": (_by("norm"), _BOTH),
    "logsumexp": (_logsumexp, _ELEMENTS),
    "dot": (_dot, _save_sides),
    "dot_exact": (_dot, _save_sides),
    "softmax": (_of_softmax(_ops.softmax_backward), _RESULT),
    "log_softmax": (_of_softmax(_ops.log_softmax_backward), _RESULT),
    "softmax_backward": (_softmax_backward, _save_both),
    "log_softmax_backward": (_log_softmax_backward, _save_both),
}


def _register() -> None:
    library.define(
        "_slope(Tensor gradient, Tensor x, Tensor result, str formula, int[] dim, bool keepdim, float ord) -> Tensor"
    )
    library.define("_share(Tensor gradient, SymInt count, ScalarType dtype) -> Tensor")
    for key in KEYS:
        library.impl("_slope", _slope, key)
        library.impl("_share", _share, key)
    torch.library.register_fake(
        "warp_reduce::_share", lambda g, _, dtype: g.new_empty(g.shape, dtype=dtype), lib=library
    )
    torch.library.register_fake("warp_reduce::_slope", lambda g, x, *_: x.new_empty(x.shape), lib=library)


_register()
