"""torch.compile makes kernels of its own for PyTorch's operators, unless it is told what to use instead."""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from typing import Any

import torch

from .._library import load_library
from .._operators import NORMS

_ops = torch.ops.warp_reduce
_aten = torch.ops.aten

TABLE = "torch._inductor.decomposition"
# What is compiled outlives the process: another version may have other gradients.
TAG = f"warp_reduce {load_library().version} batch_invariant"
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
ORDERS = tuple(NORMS)

_before: dict[Any, Any] | None = None  # the table's entries that ours took the place of
_tag_before: str | None = None


def _is_taken(x: torch.Tensor, dtype: Any = None) -> bool:
    """Integers are the same in any order and stay the compiler's."""
    return x.dtype in FLOATS and x.device.type in ("cpu", "cuda") and (dtype is None or dtype in FLOATS)


def _typed(operator: Any) -> Any:
    def run(x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        dims = [dim] if isinstance(dim, int) else dim
        return operator(x, dims, keepdim, dtype=dtype) if _is_taken(x, dtype) else NotImplemented

    return run


def _untyped(operator: Any, default: Any) -> Any:
    def run(x: Any, dim: Any = default, keepdim: bool = False) -> Any:
        return operator(x, dim, keepdim) if _is_taken(x) else NotImplemented

    return run


def _norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if ord not in ORDERS or not _is_taken(x, dtype):
        return NotImplemented
    return _ops.norm.default(x, float(ord), dim, keepdim, dtype=dtype)


def _rows(operator: Any) -> Any:
    def run(x: Any, dim: int, half_to_float: bool) -> Any:
        return operator(x, dim, torch.float32 if half_to_float else None) if _is_taken(x) else NotImplemented

    return run


def _rows_backward(operator: Any) -> Any:
    def run(gradient: Any, output: Any, dim: int, dtype: Any) -> Any:
        return operator(gradient, output, dim, dtype) if _is_taken(output, dtype) else NotImplemented

    return run


def _table() -> dict[Any, Any]:
    return {
        _aten.sum.default: _typed(_ops.sum.default),
        _aten.sum.dim_IntList: _typed(_ops.sum.default),
        _aten.mean.default: _typed(_ops.mean.default),
        _aten.mean.dim: _typed(_ops.mean.default),
        _aten.prod.default: _typed(_ops.prod.default),
        _aten.prod.dim_int: _typed(_ops.prod.default),
        _aten.amax.default: _untyped(_ops.amax.default, ()),
        _aten.amin.default: _untyped(_ops.amin.default, ()),
        _aten.argmax.default: _untyped(_ops.argmax.default, None),
        _aten.argmin.default: _untyped(_ops.argmin.default, None),
        _aten.logsumexp.default: _untyped(_ops.logsumexp.default, ()),
        _aten.linalg_vector_norm.default: _norm,
        _aten._softmax.default: _rows(_ops.softmax.default),
        _aten._log_softmax.default: _rows(_ops.log_softmax.default),
        _aten._softmax_backward_data.default: _rows_backward(_ops.softmax_backward.default),
        _aten._log_softmax_backward_data.default: _rows_backward(_ops.log_softmax_backward.default),
    }


def _or_else(ours: Any, theirs: Any) -> Any:
    def run(*arguments: Any, **options: Any) -> Any:
        result = ours(*arguments, **options)
        return theirs(*arguments, **options) if result is NotImplemented and theirs is not None else result

    return run


class _Finder(importlib.abc.MetaPathFinder):
    """Fills the compiler's table when the compiler is imported, which takes seconds and may never happen."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != TABLE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader.exec_module = _then_fill(spec.loader.exec_module)  # type: ignore[method-assign]
        return spec


def _then_fill(execute: Any) -> Any:
    def run(module: Any) -> None:
        execute(module)
        _fill(module)

    return run


_finder = _Finder()


def _fill(module: Any) -> None:
    global _before
    table = module.decompositions
    _before = {operator: table.get(operator) for operator in _table()}
    for operator, ours in _table().items():
        table[operator] = _or_else(ours, _before[operator])
    module.fast_random_decomps.cache_clear()


def _empty(module: Any) -> None:
    global _before
    for operator, theirs in (_before or {}).items():
        if theirs is None:
            module.decompositions.pop(operator, None)
        else:
            module.decompositions[operator] = theirs
    _before = None
    module.fast_random_decomps.cache_clear()


def _forget() -> None:
    """What has been compiled so far was compiled for other kernels."""
    dynamo = sys.modules.get("torch._dynamo")
    if dynamo is not None:
        dynamo.reset()


def install() -> None:
    global _tag_before
    from torch.compiler import config

    _tag_before = config.cache_key_tag
    config.cache_key_tag = f"{_tag_before} {TAG}"
    module = sys.modules.get(TABLE)
    if module is not None:
        _fill(module)
    else:
        sys.meta_path.insert(0, _finder)
    _forget()


def remove() -> None:
    global _tag_before
    if _tag_before is None:
        return
    from torch.compiler import config

    config.cache_key_tag = _tag_before
    _tag_before = None
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    if _before is not None:
        _empty(sys.modules[TABLE])
    _forget()
