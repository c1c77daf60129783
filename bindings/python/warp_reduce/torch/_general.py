"""What the kernels leave to Python: other layouts, conversions, and all that PyTorch's own kernels are there for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.autograd import forward_ad

from .. import _native
from .._operators import NORMS, OPERATORS
from .._torch_abi import numbers
from . import _autograd, _operators
from ._operators import KEYS, check_dot, library

# PyTorch's names, where they are others.
_PYTORCHS = {"product": "prod", "min": "amin", "max": "amax", **dict.fromkeys(NORMS.values(), "norm")}
NAMES = {number: _PYTORCHS.get(name, name) for name, number in OPERATORS.items()}
_NUMBERS = numbers(torch)
ORDERS = {OPERATORS[name]: float(order) for order, name in NORMS.items()}

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2)
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32, torch.uint64)
TAKEN = (*FLOATS, *INTEGERS, torch.bool)
DIFFERENTIABLE = (torch.float32, torch.float64, torch.float16, torch.bfloat16)

OVERLOADS = (
    "sum",
    "sum.dim_IntList",
    "mean",
    "mean.dim",
    "prod",
    "prod.dim_int",
    "amax",
    "amin",
    "argmax",
    "argmin",
    "logsumexp",
    "linalg_vector_norm",
    "_softmax",
    "_log_softmax",
    "_softmax_backward_data",
    "_log_softmax_backward_data",
)

OUTS = (
    *("sum.out", "sum.IntList_out", "mean.out", "prod.out", "prod.int_out", "linalg_vector_norm.out", "amax.out"),
    *("amin.out", "argmax.out", "argmin.out", "logsumexp.out", "_softmax.out", "_log_softmax.out"),
    *("_softmax_backward_data.out", "_log_softmax_backward_data.out"),
)

# PyTorch's own kernels, as they were when this module was imported.
_kernels = {(name, key): torch.library.get_kernel(f"aten::{name}", key) for name in OVERLOADS + OUTS for key in KEYS}

_above = {
    (name, key): torch.library.get_kernel(f"aten::{name}", f"Autograd{key}")
    for name in (*_operators.ABOVE, "linalg_vector_norm")
    for key in KEYS
}


# Keys of which reductions have no kernel: PyTorch's dispatcher would leave them out too.
_FALLING_THROUGH = torch._C.DispatchKeySet(torch._C.DispatchKey.BackendSelect).add(torch._C.DispatchKey.ADInplaceOrView)


def original_with_gradient(overload: str, x: torch.Tensor, *arguments: Any, **options: Any) -> torch.Tensor:
    """Likewise with PyTorch's own gradient, and all that stands between it and the kernel."""
    keys = torch._C._dispatch_keys(x) | torch._C._dispatch_tls_local_include_set()
    keys = keys - torch._C._dispatch_tls_local_exclude_set() - _FALLING_THROUGH
    return _above[overload, x.device.type.upper()].call_boxed(keys, x, *arguments, **options)


def original(overload: str, x: torch.Tensor, *arguments: Any, **options: Any) -> Any:
    """PyTorch's own kernel on a tensor of the CPU or a GPU, whatever has been put in its place since."""
    key = x.device.type.upper()
    keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))
    return _kernels[overload, key].call_boxed(keys, x, *arguments, **options)


def _pytorchs(op: int, x: torch.Tensor, dims: list[int], keepdim: bool, dtype: Any) -> torch.Tensor:
    """A reduction by PyTorch, with its results and its errors."""
    name = NAMES[op]
    if name in ("sum", "mean"):
        return original(name + (".dim_IntList" if name == "sum" else ".dim"), x, dims or None, keepdim, dtype=dtype)
    if name == "norm":
        return original("linalg_vector_norm", x, ORDERS[op], dims or None, keepdim, dtype=dtype)
    if name == "prod":
        for each in sorted(dims, reverse=True):
            x = original("prod.dim_int", x, each, keepdim, dtype=dtype)
        return x if dims else original("prod", x, dtype=dtype)
    if name in ("argmax", "argmin"):
        return original(name, x, dims[0] if len(dims) == 1 else None, keepdim)
    return original(name, x, dims, keepdim)


def _ours(op: int, x: torch.Tensor, dims: list[int], keepdim: bool, dtype: Any) -> torch.Tensor:
    name = NAMES[op]
    operator = getattr(torch.ops.warp_reduce, name).default
    if name == "norm":
        return operator(x, ORDERS[op], dims, keepdim, dtype=dtype)
    if name in ("sum", "sum_exact", "mean", "prod"):
        return operator(x, dims, keepdim, dtype=dtype)
    if name in ("argmax", "argmin"):
        return operator(x, dims[0] if len(dims) == 1 else None, keepdim)
    return operator(x, dims, keepdim)


def _reduce(x: torch.Tensor, op: int, dims: list[int], keepdim: bool, dtype: Any) -> torch.Tensor:
    name = NAMES[op]
    if name == "sum_exact" and not (x.dtype in FLOATS and (dtype is None or dtype in FLOATS)):
        return torch.ops.warp_reduce.sum.default(x, dims, keepdim, dtype=dtype)  # of integers, which is exact
    if x.dtype not in TAKEN or (dtype is not None and dtype not in (*FLOATS, *INTEGERS)):
        return _pytorchs(op, x, dims, keepdim, dtype)
    whole = not x.dtype.is_floating_point
    if name in ("sum", "prod") and dtype is not None:
        if not whole and not dtype.is_floating_point:
            return _ours(op, x.to(dtype), dims, keepdim, dtype)
        if whole and dtype.is_floating_point and dtype not in (torch.float32, torch.float64):
            return _ours(op, x, dims, keepdim, torch.float64).to(dtype)
    if name == "logsumexp" and whole:
        return _ours(op, x.to(torch.get_default_dtype()), dims, keepdim, dtype)
    if name in ("mean", "norm") and whole and dtype is None:
        return _pytorchs(op, x, dims, keepdim, dtype)
    return _laid_out(x, op, dims, keepdim, dtype)


def _laid_out(x: torch.Tensor, op: int, dims: list[int], keepdim: bool, dtype: Any) -> torch.Tensor:
    """With the reduced dimensions last and everything in order, where that is not so already."""
    kept = [d for d in range(x.dim()) if d not in dims]
    order = [*kept, *dims]
    if order == list(range(x.dim())) and x.is_contiguous():
        return _pytorchs(op, x, dims, keepdim, dtype)
    moved = x.permute(order).contiguous().flatten(len(kept))
    result = _ours(op, moved, [len(kept)], False, dtype)
    return result.reshape([1 if d in dims else size for d, size in enumerate(x.shape)]) if keepdim else result


def _dot(x: torch.Tensor, y: torch.Tensor, exact: bool, dtype: Any) -> torch.Tensor:
    check_dot(x, y)
    common = torch.result_type(x, y) if x.dtype != y.dtype else x.dtype
    common = torch.uint8 if common == torch.bool else common
    if common not in TAKEN or dtype not in (None, *FLOATS, *INTEGERS):
        raise RuntimeError(f"dot products of {x.dtype} and {y.dtype} into {dtype or common} are not offered")
    if dtype is not None and not common.is_floating_point and dtype in (torch.float16, torch.bfloat16):
        return torch.ops.warp_reduce.dot.default(x, y, dtype=torch.float64).to(dtype)
    if dtype is not None and common.is_floating_point and not dtype.is_floating_point:
        common = dtype
    operator = torch.ops.warp_reduce.dot_exact if exact and common.is_floating_point else torch.ops.warp_reduce.dot
    moved = x.to(common).contiguous(), y.to(common).contiguous()
    if exact == (operator is torch.ops.warp_reduce.dot_exact) and moved[0] is x and moved[1] is y:
        raise RuntimeError(f"dot products of {x.dtype} into {dtype} are not offered")
    return operator.default(*moved, dtype=dtype)


def _softmax(x: torch.Tensor, log: bool, dim: int, dtype: Any) -> torch.Tensor:
    name = "log_softmax" if log else "softmax"
    operator = getattr(torch.ops.warp_reduce, name).default
    wanted = dtype or x.dtype
    if wanted in FLOATS and x.dtype in TAKEN:
        if x.dtype not in FLOATS or (wanted is torch.float64 and x.dtype is not torch.float64):
            if dtype is not None:
                return operator(x.to(wanted), dim)
        elif not x.is_contiguous():
            return operator(x.contiguous(), dim, dtype)
    return original("_" + name, x if dtype is None else x.to(dtype), dim, False)


def _softmax_backward(gradient: torch.Tensor, output: torch.Tensor, log: bool, dim: int, dtype: Any) -> torch.Tensor:
    name = "log_softmax_backward" if log else "softmax_backward"
    operator = getattr(torch.ops.warp_reduce, name).default
    if {gradient.dtype, output.dtype, dtype} <= set(FLOATS) and gradient.shape == output.shape:
        if torch.float64 in (gradient.dtype, output.dtype, dtype) and not gradient.dtype == output.dtype == dtype:
            return operator(gradient.double(), output.double(), dim, torch.float64).to(dtype)
        if not (gradient.is_contiguous() and output.is_contiguous()):
            return operator(gradient.contiguous(), output.contiguous(), dim, dtype)
    return original(f"_{name}_data", gradient, output, dim, dtype)


def _told(run: Callable[..., torch.Tensor], x: torch.Tensor, *arguments: Any) -> torch.Tensor:
    """The kernel that waits for the result is told of an exception: none can go through it."""
    try:
        with torch._C._AutoDispatchBelowAutograd():
            return run(x, *arguments)
    except BaseException as problem:
        _native.torch_failed(str(problem))
        return x.new_empty(0)


def general_reduce(x: torch.Tensor, op: int, dims: int, keepdim: bool, dtype: int) -> torch.Tensor:
    return _told(_reduce, x, op, [d for d in range(x.dim()) if dims >> d & 1], keepdim, _NUMBERS.get(dtype))


def general_dot(x: torch.Tensor, y: torch.Tensor, exact: bool, dtype: int) -> torch.Tensor:
    return _told(_dot, x, y, exact, _NUMBERS.get(dtype))


def general_softmax(x: torch.Tensor, log: bool, dim: int, dtype: int) -> torch.Tensor:
    return _told(_softmax, x, log, dim, _NUMBERS.get(dtype))


def general_softmax_backward(
    gradient: torch.Tensor, output: torch.Tensor, log: bool, dim: int, dtype: int
) -> torch.Tensor:
    return _told(_softmax_backward, gradient, output, log, dim, _NUMBERS.get(dtype))


# ---- above the gradients


def _has_tangent(x: torch.Tensor) -> bool:
    return forward_ad._current_level >= 0 and forward_ad.unpack_dual(x).tangent is not None


def with_gradient(
    overload: str, operator: Callable[..., torch.Tensor], below: Callable[..., torch.Tensor]
) -> Callable[..., torch.Tensor]:
    """PyTorch's own gradients are made of exponentials and quotients that differ from device to device, and of products
    in another order once they are compiled: `operator` has ours. `below` is called where no gradient is wanted. Forward
    mode and torch.func's transforms stay PyTorch's."""

    def run(x: torch.Tensor, *arguments: Any, **options: Any) -> torch.Tensor:
        if torch._C._are_functorch_transforms_active() or _has_tangent(x):
            return original_with_gradient(overload, x, *arguments, **options)
        if not (x.requires_grad and torch.is_grad_enabled()):
            with torch._C._AutoDispatchBelowAutograd():
                return below(x, *arguments, **options)
        if x.dtype in DIFFERENTIABLE and options.get("dtype") in (None, *DIFFERENTIABLE):
            return operator(x, *arguments, **options)
        return original_with_gradient(overload, x, *arguments, **options)

    return run


_mean, _prod, _logsumexp = (_autograd.graded(name) for name in ("mean", "prod", "logsumexp"))
_with_gradients: dict[str, Callable[..., torch.Tensor]] = {
    "mean": lambda x, dtype=None: _mean(x, None, False, dtype=dtype),
    "mean.dim": lambda x, dim, keepdim=False, dtype=None: _mean(x, dim, keepdim, dtype=dtype),
    "prod": lambda x, dtype=None: _prod(x, None, False, dtype=dtype),
    "prod.dim_int": lambda x, dim, keepdim=False, dtype=None: _prod(x, [dim], keepdim, dtype=dtype),
    "logsumexp": lambda x, dim, keepdim=False: _logsumexp(x, dim, keepdim),
}


def _told_above(run: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """As `_told`, above the gradients."""

    def above(x: torch.Tensor, *arguments: Any, **options: Any) -> torch.Tensor:
        try:
            return run(x, *arguments, **options)
        except BaseException as problem:
            _native.torch_failed(str(problem))
            return x.new_empty(0)

    return above


for _name, _operator in _with_gradients.items():
    _packet, _, _overload = _name.partition(".")
    _pytorchs_own = getattr(getattr(torch.ops.aten, _packet), _overload or "default")
    _above_it = _told_above(with_gradient(_name, _operator, _pytorchs_own))
    library.impl(f"_above_{_name}", _above_it, "CompositeImplicitAutograd")

for _name in _operators.GENERAL:
    for _key in KEYS:
        library.impl(_name, globals()[_name.lstrip("_")], _key)
