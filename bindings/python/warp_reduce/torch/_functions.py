"""The functions that programs call, in PyTorch's terms."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.compiler import is_compiling

from .._native import torch_dot, torch_reduce, torch_softmax
from .._operators import NORMS, OPERATORS

_ops = torch.ops.warp_reduce

_SUM, _SUM_EXACT, _MEAN, _PRODUCT = (OPERATORS[name] for name in ("sum", "sum_exact", "mean", "product"))
_MAX, _MIN, _ARGMAX, _ARGMIN = (OPERATORS[name] for name in ("max", "min", "argmax", "argmin"))
_LOGSUMEXP = OPERATORS["logsumexp"]
_NORMS = {ord: OPERATORS[name] for ord, name in NORMS.items()}

Dimensions = int | Sequence[int] | None


def _listed(dim: Dimensions) -> Sequence[int] | None:
    return [dim] if isinstance(dim, int) else dim


# Where PyTorch's dispatcher would do nothing but find the kernel, the functions go without it: `at_once` is None where
# it is needed, and the compiler needs it always.


def sum(
    x: torch.Tensor,
    dim: Dimensions = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
    exact: bool = False,
):
    """The sum of all elements, or along one or more dimensions; as torch.sum, with the same bits in every batch.

    x: a tensor of any shape and strides, of the CPU or a CUDA GPU, of floats (f64, f32, f16, bf16, both float8),
        integers or bool; integers are added in 64 bits.
    dim: a dimension, several, or None for all; several are one, whose elements come in row-major order.
    keepdim: reduced dimensions stay, with one element each.
    dtype: of the result. Floats are added in f32 (f64 for f64 or into f64) and rounded once.
    exact: the exact sum of floats, rounded once, whatever the order of the elements.

    The gradient is that of torch.sum. NaN, or infinities of both signs, give NaN; of nothing the sum is 0.
    Errors, as PyTorch's: IndexError for a dimension that is not there, RuntimeError for types that are not taken and
    dimensions that are named twice, TypeError for arguments of another kind.

    >>> import torch, warp_reduce.torch
    >>> warp_reduce.torch.sum(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=1)
    tensor([3., 7.])
    """
    op = _SUM_EXACT if exact else _SUM
    if not is_compiling() and (at_once := torch_reduce(op, x, dim, keepdim, dtype)) is not None:
        return at_once
    return (_ops.sum_exact if exact else _ops.sum)(x, _listed(dim), keepdim, dtype=dtype)


def mean(x: torch.Tensor, dim: Dimensions = None, keepdim: bool = False, *, dtype: torch.dtype | None = None):
    """The mean: the sum divided by the number of elements, correctly rounded.

    Arguments and errors as of `sum`; of integers `dtype` must be given. NaN as there; of nothing the mean is NaN. The
    gradient is the product with the count's reciprocal, rounded once.

    >>> import torch, warp_reduce.torch
    >>> warp_reduce.torch.mean(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=(0, 1))
    tensor(2.5000)
    """
    if not is_compiling() and (at_once := torch_reduce(_MEAN, x, dim, keepdim, dtype)) is not None:
        return at_once
    return _ops.mean(x, _listed(dim), keepdim, dtype=dtype)


def prod(x: torch.Tensor, dim: Dimensions = None, keepdim: bool = False, *, dtype: torch.dtype | None = None):
    """The product; arguments and errors as of `sum`.

    NaN, or infinity times 0, give NaN; of nothing the product is 1. The gradient is right where elements are 0.

    >>> import torch, warp_reduce.torch
    >>> warp_reduce.torch.prod(torch.tensor([2, 3, 7]))
    tensor(42)
    """
    if not is_compiling() and (at_once := torch_reduce(_PRODUCT, x, dim, keepdim, dtype)) is not None:
        return at_once
    return _ops.prod(x, _listed(dim), keepdim, dtype=dtype)


def amax(x: torch.Tensor, dim: int | Sequence[int] = (), keepdim: bool = False):
    """The largest element, in x's type; arguments and errors as of `sum`.

    +0 is above -0, and a NaN wins. Equal ones share the gradient. Of nothing there is none: IndexError or RuntimeError.

    >>> import torch, warp_reduce.torch
    >>> warp_reduce.torch.amax(torch.tensor([[1.0, 5.0], [3.0, 4.0]]), dim=0)
    tensor([3., 5.])
    """
    if not is_compiling() and (at_once := torch_reduce(_MAX, x, dim, keepdim, None)) is not None:
        return at_once
    return _ops.amax(x, _listed(dim), keepdim)


def amin(x: torch.Tensor, dim: int | Sequence[int] = (), keepdim: bool = False):
    """The smallest element; all as of `amax`.

    >>> import torch, warp_reduce.torch
    >>> warp_reduce.torch.amin(torch.tensor([3, 1, 2]))
    tensor(1)
    """
    if not is_compiling() and (at_once := torch_reduce(_MIN, x, dim, keepdim, None)) is not None:
        return at_once
    return _ops.amin(x, _listed(dim), keepdim)


def argmax(x: torch.Tensor, dim: int | None = None, keepdim: bool = False):
    """The index of the first largest element, along a dimension or in the whole tensor (in row-major order); int64.

    x: as of `sum`, without bool. +0 is above -0, and the first NaN wins. Of nothing there is none: IndexError.
    It has no gradient.

    >>> import torch, warp_reduce.torch
    >>> warp_reduce.torch.argmax(torch.tensor([4.0, 9.0, 9.0]))
    tensor(1)
    """
    if not is_compiling() and (at_once := torch_reduce(_ARGMAX, x, dim, keepdim, None)) is not None:
        return at_once
    return _ops.argmax(x, dim, keepdim)


def argmin(x: torch.Tensor, dim: int | None = None, keepdim: bool = False):
    """The index of the first smallest element; all as of `argmax`.

    >>> import torch, warp_reduce.torch
    >>> warp_reduce.torch.argmin(torch.tensor([[4, 1], [0, 2]]), dim=1)
    tensor([1, 0])
    """
    if not is_compiling() and (at_once := torch_reduce(_ARGMIN, x, dim, keepdim, None)) is not None:
        return at_once
    return _ops.argmin(x, dim, keepdim)


def norm(
    x: torch.Tensor,
    ord: float = 2,
    dim: Dimensions = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
):
    """The norm of vectors, as torch.linalg.vector_norm: of the whole tensor, or along one or more dimensions.

    ord: 2 for the root of the sum of squares, 1 for the sum of magnitudes, infinity for the largest magnitude;
        ValueError for others.
    x: floats. Arguments and errors otherwise as of `sum`. NaN gives NaN; of nothing the norm is 0, and that of order
    infinity a RuntimeError. It overflows only where the norm itself does. At 0 the gradient is 0.

    >>> import torch, warp_reduce.torch
    >>> warp_reduce.torch.norm(torch.tensor([3.0, -4.0]))
    tensor(5.)
    """
    if ord not in _NORMS:
        raise ValueError(f"ord must be 1, 2 or infinity, not {ord!r}")
    if not is_compiling() and (at_once := torch_reduce(_NORMS[ord], x, dim, keepdim, dtype)) is not None:
        return at_once
    return _ops.norm(x, float(ord), _listed(dim), keepdim, dtype=dtype)


def dot(x: torch.Tensor, y: torch.Tensor, *, dtype: torch.dtype | None = None, exact: bool = False):
    """The dot product of two vectors; of a tensor with a vector, of each of its rows: sums along the last dimension.

    x: of at least one dimension; y: a vector as long as x's last one, on the same device.
    Both are floats or integers, which are brought to one type as PyTorch's operators do; integers are added in 64 bits.
    Both have gradients. dtype, exact: as of `sum`, of the products, which are each rounded once if they are not exact.
    NaN, or infinity times 0, give NaN; of nothing it is 0. RuntimeError where the shapes do not go together.

    >>> import torch, warp_reduce.torch
    >>> warp_reduce.torch.dot(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([10.0, 1.0]))
    tensor([12., 34.])
    >>> warp_reduce.torch.dot(torch.tensor([1e30, 1.0, -1e30]), torch.ones(3), exact=True)
    tensor(1.)
    """
    if not is_compiling() and (at_once := torch_dot(exact, x, y, dtype)) is not None:
        return at_once
    return (_ops.dot_exact if exact else _ops.dot)(x, y, dtype=dtype)


def logsumexp(x: torch.Tensor, dim: int | Sequence[int] = (), keepdim: bool = False):
    """log(sum of exp(x)), with the bits that belong to `softmax`; its gradient is the softmax.

    x: floats; integers become PyTorch's default type. Arguments and errors otherwise as of `sum`. A NaN or +infinity
    gives itself; of nothing, and of -infinity alone, it is -infinity.

    >>> import torch, warp_reduce.torch
    >>> warp_reduce.torch.logsumexp(torch.tensor([0.0, 0.0]), dim=0)
    tensor(0.6931)
    """
    if not is_compiling() and (at_once := torch_reduce(_LOGSUMEXP, x, dim, keepdim, None)) is not None:
        return at_once
    return _ops.logsumexp(x, _listed(dim), keepdim)


def softmax(x: torch.Tensor, dim: int = -1, *, dtype: torch.dtype | None = None):
    """exp(x) / sum of exp(x) along a dimension, in a tensor of x's shape; as torch.softmax.

    x: floats of any shape and strides. dtype: of the result; 16-bit floats into f32 are rounded once.
    A NaN or +infinity, or a row of -infinity alone, gives a row of NaN. Empty tensors give empty tensors.
    IndexError for a dimension that is not there, RuntimeError for types that are not taken.

    >>> import torch, warp_reduce.torch
    >>> warp_reduce.torch.softmax(torch.zeros(2, 2))[0]
    tensor([0.5000, 0.5000])
    """
    if not is_compiling() and (at_once := torch_softmax(False, x, dim, dtype)) is not None:
        return at_once
    return _ops.softmax(x, dim, dtype)


def log_softmax(x: torch.Tensor, dim: int = -1, *, dtype: torch.dtype | None = None):
    """x - log(sum of exp(x)) along a dimension: the logarithm of `softmax`; all as of `softmax`.

    >>> import torch, warp_reduce.torch
    >>> warp_reduce.torch.log_softmax(torch.tensor([7.0]))
    tensor([0.])
    """
    if not is_compiling() and (at_once := torch_softmax(True, x, dim, dtype)) is not None:
        return at_once
    return _ops.log_softmax(x, dim, dtype)
