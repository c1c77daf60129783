"""Gradients of functions over a sharded dimension: each rank's part of that of the whole tensor.

What a row's gradient needs of all its elements is a sum, whose states the ranks gather as those of the function itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from .. import _softmax
from .._softmax_states import softmax_from_state
from ._sharded import Gathered, Part, finished, gathered, place_to_tell

_SLAB = 1 << 24  # elements whose gradients are formed at once, by copies of three times as many


def _spread(y: torch.Tensor, shape: torch.Size, dims: tuple[int, ...]) -> torch.Tensor:
    """A row's number beside its elements."""
    for each in sorted(dims):
        y = y.unsqueeze(each)
    return y.expand(shape)


def _wide(dtype: torch.dtype) -> torch.dtype:
    return dtype if dtype == torch.float64 else torch.float32


def _row_sums(log: bool, y: torch.Tensor, gradient: torch.Tensor, ctx: Any) -> torch.Tensor:
    terms = gradient if log else y * gradient
    part = Part("sum", terms, ctx.dims, {"dtype": terms.dtype})
    return finished(gathered(part, ctx.group, ctx.lengths).whole)


def _slabs(shape: torch.Size) -> Iterator[tuple[slice, ...]]:
    """Of a matrix, of at most _SLAB elements each."""
    rows, columns = shape
    wide = min(columns, _SLAB)
    high = max(1, _SLAB // max(wide, 1))
    for top in range(0, rows, high):
        for left in range(0, columns, wide):
            yield slice(top, top + high), slice(left, left + wide)


def _of_three(y: torch.Tensor, gradient: torch.Tensor, sums: torch.Tensor, scale: float, dtype: Any) -> Any:
    """The library's gradient of log-softmax, which is fused, of rows of three: an element and two that bring its row's
    sum to what it is in the whole row: what the element brings with the other sign, and the sum."""
    # Of terms of -0 alone the sum is -0, and not what two signs leave.
    of_minus_zeros = (sums == 0) & sums.signbit()
    taken_back = torch.where(of_minus_zeros, gradient, -gradient)
    ys = torch.stack([y, y, y])
    gradients = torch.stack([gradient, taken_back, sums.expand(y.shape)])
    return _softmax.log_softmax_backward(ys, gradients, 0, scale=scale, dtype=dtype)[0]


def _of_log_softmax(
    ys: torch.Tensor, gradients: torch.Tensor, sums: torch.Tensor, scale: float, dtype: torch.dtype
) -> torch.Tensor:
    found = torch.empty(ys.shape, dtype=dtype, device=ys.device)
    for rows, columns in _slabs(ys.shape):
        part = rows, columns
        found[part] = _of_three(ys[part], gradients[part], sums[rows], scale, dtype)
    return found


def _of_plain_softmax(
    ys: torch.Tensor, gradients: torch.Tensor, sums: torch.Tensor, scale: float, dtype: torch.dtype
) -> torch.Tensor:
    """y * (dy - sum) * scale, each rounded as in the library, whose NaN is one."""
    found = (gradients - sums).mul_(ys)
    if scale != 1:
        found.mul_(scale)
    return found.masked_fill_(found.isnan(), torch.nan).to(dtype)


def _flat(x: torch.Tensor, dims: tuple[int, ...]) -> torch.Tensor:
    """Rows, and their elements in row-major order."""
    kept = [d for d in range(x.dim()) if d not in dims]
    moved = x.permute([*kept, *dims])
    rows = 1
    for each in kept:
        rows *= x.shape[each]
    return moved.reshape(rows, x.numel() // rows if rows else 0)


def _of_softmax(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
    (y,) = ctx.saved_tensors
    wide = gradient.to(_wide(y.dtype))
    sums = _row_sums(ctx.log, y, wide, ctx)
    made = torch.empty_like(y, dtype=ctx.dtype, memory_format=torch.contiguous_format)
    ys, gradients = _flat(y, ctx.dims), _flat(wide, ctx.dims)
    form = _of_log_softmax if ctx.log else _of_plain_softmax
    found = form(ys, gradients, sums.reshape(-1, 1), ctx.scale, ctx.dtype)
    kept = [d for d in range(y.dim()) if d not in ctx.dims]
    order = [*kept, *ctx.dims]
    made.permute(order).copy_(found.reshape([y.shape[d] for d in order]))
    return made


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, log: bool, dims: tuple[int, ...], scale: float, dtype: Any, group: Any, counts: Any
    ) -> torch.Tensor:
        whole = x.detach()
        sides = gathered(Part("logsumexp", whole, dims, {"scale": scale}), group, counts)
        y = softmax_of(log, whole, sides, dims, dtype)
        ctx.save_for_backward(y)
        ctx.log, ctx.dims, ctx.scale, ctx.group, ctx.lengths, ctx.dtype = (
            log,
            dims,
            scale,
            group,
            sides.lengths,
            x.dtype,
        )
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
        return _of_softmax(ctx, gradient), None, None, None, None, None, None


def softmax_of(log: bool, x: torch.Tensor, sides: Gathered, dims: tuple[int, ...], dtype: Any) -> torch.Tensor:
    states = sides.whole, sides.first, dims, sides.before, sides.after
    cut = None, None, False  # by no mask, lengths or causal limit
    return softmax_from_state(log, x, *states, *cut, dtype, None, place_to_tell(x))


class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, dims: tuple[int, ...], group: Any, counts: Any) -> torch.Tensor:
        own = x.detach()
        ctx.sides, ctx.dims = gathered(Part("logsumexp", own, dims, {}), group, counts), dims
        ctx.save_for_backward(own)
        return finished(ctx.sides.whole)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
        (x,) = ctx.saved_tensors
        share = softmax_of(False, x, ctx.sides, ctx.dims, None)
        return _spread(gradient, x.shape, ctx.dims) * share, None, None, None


class Sum(torch.autograd.Function):
    """Of a sum, and of a mean, whose gradient is that of a sum times the reciprocal of the count."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, dims: tuple[int, ...], op: str, reduced: Callable[..., Any]) -> torch.Tensor:
        ctx.dims, ctx.shape, ctx.dtype = dims, x.shape, x.dtype
        result, ctx.count = reduced(x.detach())
        ctx.is_mean = op == "mean"
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
        if ctx.is_mean:
            gradient = gradient.to(_wide(gradient.dtype)) * (1 / ctx.count if ctx.count else float("inf"))
        return _spread(gradient.to(ctx.dtype), ctx.shape, ctx.dims), None, None, None


class Dot(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, y: torch.Tensor, dotted: Callable[..., Any]) -> torch.Tensor:
        ctx.save_for_backward(x, y)
        return dotted(x.detach(), y.detach())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
        """A vector that many rows are multiplied with has the sum of what each of them says."""
        x, y = ctx.saved_tensors
        above = gradient.unsqueeze(-1)
        to_x = (above * y).to(x.dtype) if ctx.needs_input_grad[0] else None
        to_y = None
        if ctx.needs_input_grad[1]:
            rows = above * x
            to_y = torch.ops.warp_reduce.sum(rows, list(range(x.dim() - 1))) if x.dim() > 1 else rows
            to_y = to_y.to(y.dtype)
        return to_x, to_y, None
