"""The operators of the namespace warp_reduce in PyTorch: schemas, kernels and shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from .. import _native
from .._library import load_library
from .._torch_abi import DEVICES as KEYS
from .._torch_abi import open_torch

SCHEMAS = {
    "sum": "(Tensor x, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    "sum_exact": "(Tensor x, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    "mean": "(Tensor x, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    "prod": "(Tensor x, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    "amax": "(Tensor x, int[] dim=[], bool keepdim=False) -> Tensor",
    "amin": "(Tensor x, int[] dim=[], bool keepdim=False) -> Tensor",
    "argmax": "(Tensor x, int? dim=None, bool keepdim=False) -> Tensor",
    "argmin": "(Tensor x, int? dim=None, bool keepdim=False) -> Tensor",
    "norm": "(Tensor x, float ord=2, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    "logsumexp": "(Tensor x, int[] dim=[], bool keepdim=False) -> Tensor",
    "dot": "(Tensor x, Tensor y, *, ScalarType? dtype=None) -> Tensor",
    "dot_exact": "(Tensor x, Tensor y, *, ScalarType? dtype=None) -> Tensor",
    "softmax": "(Tensor x, int dim, ScalarType? dtype=None) -> Tensor",
    "log_softmax": "(Tensor x, int dim, ScalarType? dtype=None) -> Tensor",
    "softmax_backward": "(Tensor gradient, Tensor output, int dim, ScalarType dtype) -> Tensor",
    "log_softmax_backward": "(Tensor gradient, Tensor output, int dim, ScalarType dtype) -> Tensor",
}

REDUCTIONS = ("sum", "sum_exact", "mean", "prod", "amax", "amin", "argmax", "argmin", "norm", "logsumexp")

# What the kernels, which are C, leave to Python; types are PyTorch's numbers for them.
GENERAL = {
    "_general_reduce": "(Tensor x, int op, int dims, bool keepdim, int dtype) -> Tensor",
    "_general_dot": "(Tensor x, Tensor y, bool exact, int dtype) -> Tensor",
    "_general_softmax": "(Tensor x, bool log, int dim, int dtype) -> Tensor",
    "_general_softmax_backward": "(Tensor gradient, Tensor output, bool log, int dim, int dtype) -> Tensor",
}

# What the kernels above PyTorch's gradients call where there is a gradient, and for all that is no float.
ABOVE = {
    "mean": "(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    "mean.dim": "(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    "prod": "(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    "prod.dim_int": "(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    "logsumexp": "(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
}

library = torch.library.Library("warp_reduce", "DEF")


def _open() -> None:
    load_library()
    missing = open_torch(torch)
    if missing:
        raise ImportError(
            f"warp_reduce.torch needs PyTorch 2.10 or newer, for Linux; this is {torch.__version__}, without {missing}"
        )


def dimensions(x: torch.Tensor, dim: int | Sequence[int] | None) -> list[int]:
    """The reduced ones, counted from the first; none given is all."""
    rank = x.dim()
    if dim is None or (not isinstance(dim, int) and len(dim) == 0):
        return list(range(rank))
    given = [dim] if isinstance(dim, int) else list(dim)
    end = max(rank, 1)
    for each in given:
        if not -end <= each < end:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-end}, {end - 1}], but got {each})")
    found = [each % end for each in given]
    if len(set(found)) != len(found):
        raise RuntimeError("a dimension appears multiple times in the list of dims")
    return found if rank else []


def widened(dtype: torch.dtype) -> torch.dtype:
    """The type that PyTorch adds and multiplies integers in."""
    return dtype if dtype.is_floating_point or dtype.is_complex else torch.int64


def _reduced(x: torch.Tensor, dim: Any, keepdim: bool, dtype: torch.dtype) -> torch.Tensor:
    dims = dimensions(x, dim)
    if keepdim:
        return x.new_empty([1 if d in dims else size for d, size in enumerate(x.shape)], dtype=dtype)
    return x.new_empty([size for d, size in enumerate(x.shape) if d not in dims], dtype=dtype)


def _sum(x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> torch.Tensor:
    return _reduced(x, dim, keepdim, dtype or widened(x.dtype))


def _mean(x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> torch.Tensor:
    return _reduced(x, dim, keepdim, dtype or x.dtype)


def _extreme(x: Any, dim: Any = (), keepdim: bool = False) -> torch.Tensor:
    return _reduced(x, dim, keepdim, x.dtype)


def _index(x: Any, dim: Any = None, keepdim: bool = False) -> torch.Tensor:
    return _reduced(x, dim, keepdim, torch.int64)


def _norm(x: Any, ord: float = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> torch.Tensor:
    return _reduced(x, dim, keepdim, dtype or x.dtype)


def _logsumexp(x: Any, dim: Any = (), keepdim: bool = False) -> torch.Tensor:
    return _reduced(x, dim, keepdim, x.dtype if x.dtype.is_floating_point else torch.get_default_dtype())


def check_dot(x: torch.Tensor, y: torch.Tensor) -> None:
    if x.dim() == 0 or y.dim() != 1:
        raise RuntimeError(
            f"dot takes a tensor and a vector, not shapes {list(x.shape)} and {list(y.shape)};"
            " it multiplies no matrices"
        )
    if x.shape[-1] != y.shape[0]:
        raise RuntimeError(f"shapes {list(x.shape)} and {list(y.shape)} differ in the dimension that is summed over")
    if x.device != y.device:
        raise RuntimeError(f"dot takes tensors of one device, not of {x.device} and {y.device}")


def _dot(x: Any, y: Any, *, dtype: Any = None) -> torch.Tensor:
    check_dot(x, y)
    return x.new_empty(x.shape[:-1], dtype=dtype or widened(torch.result_type(x, y)))


def _softmax(x: Any, dim: int, dtype: Any = None) -> torch.Tensor:
    dimensions(x, dim)
    return x.new_empty(x.shape, dtype=dtype or x.dtype)


def _softmax_backward(gradient: Any, output: Any, dim: int, dtype: Any) -> torch.Tensor:
    dimensions(output, dim)
    return output.new_empty(output.shape, dtype=dtype)


FAKES = {
    "sum": _sum,
    "sum_exact": _sum,
    "mean": _mean,
    "prod": _sum,
    "amax": _extreme,
    "amin": _extreme,
    "argmax": _index,
    "argmin": _index,
    "norm": _norm,
    "logsumexp": _logsumexp,
    "dot": _dot,
    "dot_exact": _dot,
    "softmax": _softmax,
    "log_softmax": _softmax,
    "softmax_backward": _softmax_backward,
    "log_softmax_backward": _softmax_backward,
}


def _define() -> None:
    for name, schema in SCHEMAS.items():
        library.define(name + schema, tags=(torch.Tag.pt2_compliant_tag,))
        torch.library.register_fake(f"warp_reduce::{name}", FAKES[name], lib=library)
    for name, schema in GENERAL.items():
        library.define(name + schema)
    for name, schema in ABOVE.items():
        library.define(f"_above_{name}{schema}")
    for key in KEYS:
        _native.torch_register("warp_reduce", key)


_open()
_define()
