"""Puts this package's kernels in the place of PyTorch's own, and takes them out again."""

from __future__ import annotations

import contextlib
import threading
import warnings
from typing import Any

import torch
from torch.compiler import is_compiling

from .. import _native
from . import _autograd, _compiled, _general
from ._operators import KEYS

_ops = torch.ops.warp_reduce
_aten = torch.ops.aten

_lock = threading.RLock()
_depth = 0
_registrations: list[int] = []
_library: Any = None
_pytorchs_norm = torch.linalg.vector_norm
_norm_at_once = _native.torch_vector_norm(_pytorchs_norm)
_casts_by_itself = torch._C._is_any_autocast_enabled


def vector_norm(*arguments: Any, **options: Any) -> Any:
    """torch.linalg.vector_norm without PyTorch's dispatcher, which would call the kernel as a function of Python's."""
    if _depth == 0 or is_compiling() or _casts_by_itself():  # a name taken within outlives batch_invariant()
        return _pytorchs_norm(*arguments, **options)
    return _norm_at_once(*arguments, **options)


with contextlib.suppress(ImportError):  # without it TorchScript would not know the function
    from torch.jit._builtins import _register_builtin

    _register_builtin(vector_norm, "aten::linalg_vector_norm")


def _vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if (
        ord in _compiled.ORDERS
        and x.dtype in _general.DIFFERENTIABLE
        and (dtype is None or dtype in (x.dtype, torch.float64))
    ):
        return _ops.norm.default(x, float(ord), dim, keepdim, dtype=dtype)
    return _general.original("linalg_vector_norm", x, ord, dim, keepdim, dtype=dtype)


_graded_norm = _autograd.graded("norm")


def _norm_above(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if ord in _compiled.ORDERS:
        return _graded_norm(x, float(ord), dim, keepdim, dtype=dtype)
    return _general.original_with_gradient("linalg_vector_norm", x, ord, dim, keepdim, dtype=dtype)


def _into(name: str, functional: Any, typed: bool) -> Any:
    """An operator that fills `out`: computed, then copied there."""
    from torch._prims_common.wrappers import _maybe_resize_out, _safe_copy_out

    def run(*arguments: Any, **options: Any) -> torch.Tensor:
        if arguments[0].dtype not in _general.TAKEN:
            return _general.original(name, *arguments, **options)
        out = options.pop("out", None)
        out = options.pop("grad_input", None) if out is None else out
        if name in ("amax.out", "amin.out") and out.dtype != arguments[0].dtype:
            return _general.original(name, *arguments, out=out, **options)  # which refuses in its own words
        if typed and options.get("dtype") is None:
            options["dtype"] = out.dtype
        result = functional(*arguments, **options)
        _maybe_resize_out(out, result.shape)
        _safe_copy_out(copy_from=result, copy_to=out, exact_dtype=True)
        return out

    return run


def _outs() -> dict[str, Any]:
    """By the names of PyTorch's operators; those in the first table have the type of `out`."""
    with_type = {
        "sum.out": _aten.sum.default,
        "sum.IntList_out": _aten.sum.dim_IntList,
        "mean.out": _aten.mean.dim,
        "prod.out": _aten.prod.default,
        "prod.int_out": _aten.prod.dim_int,
        "linalg_vector_norm.out": _aten.linalg_vector_norm.default,
    }
    without = {
        f"{name}.out": getattr(_aten, name).default
        for name in (
            *("amax", "amin", "argmax", "argmin", "logsumexp", "_softmax", "_log_softmax"),
            *("_softmax_backward_data", "_log_softmax_backward_data"),
        )
    }
    return {name: _into(name, each, name in with_type) for name, each in (with_type | without).items()}


def _install() -> None:
    global _library
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch tells once that a kernel was replaced: that is what was asked for
        _library = torch.library.Library("aten", "IMPL")
        for key in KEYS:
            above = _general.with_gradient("linalg_vector_norm", _norm_above, _aten.linalg_vector_norm.default)
            _library.impl("linalg_vector_norm", _native.torch_vector_norm(_vector_norm), key)
            _library.impl("linalg_vector_norm", _native.torch_vector_norm(above), f"Autograd{key}")
            for name, function in _outs().items():
                _library.impl(name, function, key)
    for key in KEYS:
        _registrations.append(_native.torch_register("aten", key))
        _registrations.append(_native.torch_register("aten above", f"Autograd{key}"))
        for each in (key, f"Autograd{key}"):
            _registrations.append(_native.torch_register("aten above, made of others", each))
    if torch.linalg.vector_norm is _pytorchs_norm:  # else it is somebody's own, which the dispatcher serves
        torch.linalg.vector_norm = vector_norm
    _compiled.install()


def _remove() -> None:
    global _library
    _compiled.remove()
    if torch.linalg.vector_norm is vector_norm:
        torch.linalg.vector_norm = _pytorchs_norm
    while _registrations:
        _native.torch_unregister(_registrations.pop())
    if _library is not None:
        _library._destroy()
        _library = None


def enable_batch_invariant() -> None:
    """Makes PyTorch's reductions and softmax this package's from now on, in all threads of this process.

    See `batch_invariant`. `disable_batch_invariant()` takes one such call back.
    """
    global _depth
    with _lock:
        if _depth == 0:
            try:
                _install()
            except BaseException:
                _remove()
                raise
        _depth += 1


def disable_batch_invariant() -> None:
    """Takes one `enable_batch_invariant()` back; with the last of them PyTorch is what it was.

    RuntimeError where there is none.
    """
    global _depth
    with _lock:
        if _depth == 0:
            raise RuntimeError("batch invariance is not enabled")
        _depth -= 1
        if _depth == 0:
            _remove()


def is_batch_invariant() -> bool:
    """Whether PyTorch's reductions and softmax are this package's now."""
    return _depth > 0


class batch_invariant:
    """Within it PyTorch's own reductions and softmax are this package's: a row's bits do not depend on the batch.

    Replaced, on CPU and CUDA, forward and backward: softmax, log_softmax, sum, mean, logsumexp, amax, amin, argmax,
    argmin, prod, linalg.vector_norm (orders 1, 2, infinity), and all that is made of them, such as cross entropy.
    Not replaced: matmul, attention, convolutions, normalizations (layer_norm, rms_norm), var, std, cumsum, max, min.
    Complex and other types that the library has not stay PyTorch's.

    It holds for all threads of the process, nests, and puts everything back. Functions of torch.compile are compiled
    anew after it is entered and after it is left, so enter it once around the work and not in every step; a CUDA graph
    keeps what it was captured with.

    >>> import torch, warp_reduce.torch
    >>> x = torch.randn(129, 1000)
    >>> with warp_reduce.torch.batch_invariant():
    ...     together, alone = torch.log_softmax(x, -1)[7], torch.log_softmax(x[7:8], -1)[0]
    >>> torch.equal(together, alone)
    True
    """

    def __enter__(self) -> None:
        enable_batch_invariant()

    def __exit__(self, *_: object) -> None:
        disable_batch_invariant()
