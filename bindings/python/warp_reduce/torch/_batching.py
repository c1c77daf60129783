"""The operators under torch.func.vmap: one call for the whole batch, which lies along the first dimension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ._operators import REDUCTIONS, dimensions, library

_ops = torch.ops.warp_reduce
Batched = tuple[torch.Tensor, int]


def _moved(x: torch.Tensor, at: int | None, size: int) -> torch.Tensor:
    return x.expand(size, *x.shape) if at is None else x.movedim(at, 0)


def _place(x: torch.Tensor, dim: Any) -> list[int]:
    """An element's dimensions, counted in the batch."""
    return [each + 1 for each in dimensions(x[0], dim)]


def _reduction(name: str) -> Callable[..., Batched]:
    operator = getattr(_ops, name).default
    whole = name in ("argmax", "argmin")

    def run(info: Any, in_dims: tuple[Any, ...], x: torch.Tensor, *arguments: Any, **options: Any) -> Batched:
        x = x.movedim(in_dims[0], 0)
        before, (dim, keepdim) = arguments[:-2], arguments[-2:]
        dims = _place(x, dim)
        flat = x.unsqueeze(-1) if x.dim() == 1 else x.flatten(1) if whole and len(dims) > 1 else x
        if flat is not x:  # elements without dimensions, and indices in all of them
            dims = [1]
        y = operator(flat, *before, dims[0] if whole else dims, keepdim and flat is x, **options)
        if keepdim and flat is not x:
            y = y.reshape(len(x), *(1 for _ in x.shape[1:]))
        return y, 0

    return _filled(operator, run)


def _filled(operator: Any, run: Callable[..., Batched]) -> Callable[..., Batched]:
    """With the defaults that PyTorch leaves out."""
    defaults = [each.default_value for each in operator._schema.arguments if not each.kwarg_only]

    def with_defaults(info: Any, in_dims: tuple[Any, ...], *arguments: Any, **options: Any) -> Batched:
        return run(info, in_dims, *arguments, *defaults[len(arguments) :], **options)

    return with_defaults


def _softmax(name: str) -> Callable[..., Batched]:
    operator = getattr(_ops, name).default

    def run(info: Any, in_dims: tuple[Any, ...], x: torch.Tensor, dim: int, dtype: Any) -> Batched:
        x = x.movedim(in_dims[0], 0)
        rows = x.unsqueeze(-1) if x.dim() == 1 else x
        return operator(rows, (_place(x, dim) or [1])[0], dtype).reshape(x.shape), 0

    return _filled(operator, run)


def _softmax_backward(name: str) -> Callable[..., Batched]:
    operator = getattr(_ops, name).default

    def run(info: Any, in_dims: tuple[Any, ...], *given: Any) -> Batched:
        g, y = (_moved(x, at, info.batch_size) for x, at in zip(given[:2], in_dims))
        dim, dtype = given[2:]
        rows = (g.unsqueeze(-1), y.unsqueeze(-1)) if y.dim() == 1 else (g, y)
        return operator(*rows, (_place(y, dim) or [1])[0], dtype).reshape(y.shape), 0

    return run


def _dot(name: str) -> Callable[..., Batched]:
    operator = getattr(_ops, name).default

    def run(info: Any, in_dims: tuple[Any, ...], x: torch.Tensor, y: torch.Tensor, **options: Any) -> Batched:
        if in_dims[1] is None and x.dim() > 1:
            return operator(x.movedim(in_dims[0], 0), y, **options), 0
        xs, ys = (_moved(each, at, info.batch_size) for each, at in zip((x, y), in_dims))
        return torch.stack([operator(one, other, **options) for one, other in zip(xs, ys)]), 0

    return run


_RULES = {
    **{name: _reduction(name) for name in REDUCTIONS},
    **{name: _softmax(name) for name in ("softmax", "log_softmax")},
    **{name: _softmax_backward(name) for name in ("softmax_backward", "log_softmax_backward")},
    **{name: _dot(name) for name in ("dot", "dot_exact")},
}

for _name, _rule in _RULES.items():
    torch.library.register_vmap(f"warp_reduce::{_name}", _rule, lib=library)
