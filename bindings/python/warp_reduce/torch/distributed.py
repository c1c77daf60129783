"""Reductions and softmax over a dimension that is sharded over the ranks of a torch.distributed group.

Every rank calls the function with its own part, and has the bits that one call on the parts' concatenation, in the
order of the ranks, would give. The parts may be of any length, also empty. The ranks gather their states, whose size
does not grow with the parts', and merge them in order, many ranks in a tree; exact sums are one all_reduce of int64.

Gradients: `sum`, `mean`, `dot`, `logsumexp`, `softmax` and `log_softmax` have them, of first order. They are those of
one tensor that is cut: a part's gradient is this rank's part of the whole one's, with its bits. What every rank has (a
sum) must have the same gradient on every rank, as where all of them compute the same loss from it. The gradients of
softmax and log-softmax gather once more, so all ranks run backward.
"""

from __future__ import annotations

from builtins import sum as total
from typing import Any

import torch

from .._states import EXACT
from . import _sharded
from ._functions import Dimensions
from ._operators import check_dot, dimensions, widened
from ._sharded import Counts, Part, exact_sum, finished, gathered

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "dot",
    "log_softmax",
    "logsumexp",
    "mean",
    "norm",
    "prod",
    "raise_if_failed",
    "softmax",
    "sum",
]


def raise_if_failed() -> None:
    """Waits for the GPUs, and raises RuntimeError where a call on one of them did not get sound states of all ranks: of
    the last 1024 calls, and since it was last asked. With `counts` nothing waits for a GPU, so that a rank that fails
    is not seen otherwise. On the CPU the calls raise themselves.

    >>> import warp_reduce.torch.distributed as wtd
    >>> wtd.raise_if_failed()
    """
    _sharded.raise_if_failed()


def _part(op: str, x: torch.Tensor, dim: Dimensions, **options: Any) -> Part:
    dims = tuple(sorted(dimensions(x, dim)))
    if not dims:
        raise ValueError("a tensor without dimensions is not sharded: give x.reshape(1)")
    return Part(op, x, dims, {name: value for name, value in options.items() if value is not None})


def _has_gradient(*tensors: torch.Tensor) -> bool:
    return torch.is_grad_enabled() and any(each.requires_grad for each in tensors)


def _reduced(
    op: str, x: torch.Tensor, dim: Dimensions, keepdim: bool, group: Any, counts: Counts, **options: Any
) -> torch.Tensor:
    part = _part(op, x, dim, **options)

    def reduced(own: torch.Tensor) -> tuple[torch.Tensor, int]:
        """The result, and how many elements a row has, where it was asked for."""
        mine = part._replace(x=own)
        if op == EXACT:
            return finished(exact_sum(mine, group)), 0
        found = gathered(mine, group, counts, sides=False)
        return finished(found.whole), total(found.lengths) * mine.others

    if op in ("sum", "mean", EXACT) and _has_gradient(x):
        from ._sharded_gradients import Sum

        result = Sum.apply(x, part.dims, op, reduced)
    else:
        result = reduced(x)[0]
    return _kept(result, part.dims, keepdim)


def _kept(result: torch.Tensor, dims: tuple[int, ...], keepdim: bool) -> torch.Tensor:
    for each in dims if keepdim else ():
        result = result.unsqueeze(each)
    return result


def _typed(x: torch.Tensor, dtype: torch.dtype | None, name: str) -> torch.dtype:
    if dtype is None and not x.dtype.is_floating_point:
        raise RuntimeError(f"{name} of {x.dtype}: give the float type of the result as dtype")
    return dtype or x.dtype


def sum(
    x: torch.Tensor,
    dim: Dimensions = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
    exact: bool = False,
    group: Any = None,
    counts: Counts = None,
) -> torch.Tensor:
    """The sum over all ranks' parts; as `warp_reduce.torch.sum` of their concatenation along `dim`.

    x: this rank's part, of the CPU or a GPU, as the group's backend takes it. The parts' shapes differ
        along the first of the dimensions in `dim` alone, in which they are concatenated in the ranks' order.
    exact: the exact sum of floats, rounded once: one all_reduce of int64.
    group: the process group; None is the default one.
    counts: the length of each rank's part along the sharded dimension, where that is known: then nothing is gathered
        but the states, and nothing waits for a GPU. That all ranks ask for the same is then not checked: see below.

    Every rank has the result, and the same bits. ValueError, on every rank, where the ranks' parts or requests do not
    go together; RuntimeError where a rank has failed; a rank that is gone is torch.distributed's own exception.
    With counts, and of exact sums, a rank whose part or counts are refused raises, and has said so to the others: on
    the CPU they get RuntimeError, on a GPU, which nobody waits for, the result is not written and `raise_if_failed`
    tells.
    Requests that differ are undefined, as of any collective: on the CPU states that do not go together are ValueError,
    on a GPU as above. A call without counts, of the same tensors, tells what it is.
    NaN, or infinities of both signs, on whatever ranks, give NaN; of nothing the sum is 0.

    Examples here are of one rank; programs that torchrun starts begin with `dist.init_process_group()`.

    >>> import torch, torch.distributed as dist, warp_reduce.torch.distributed as wtd
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> wtd.sum(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0)
    tensor([4., 6.])
    >>> dist.destroy_process_group()
    """
    wanted = dtype or widened(x.dtype)
    op = EXACT if exact and x.dtype.is_floating_point and wanted.is_floating_point else "sum"
    return _reduced(op, x, dim, keepdim, group, counts, dtype=wanted)


def mean(
    x: torch.Tensor,
    dim: Dimensions = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
    group: Any = None,
    counts: Counts = None,
) -> torch.Tensor:
    """The mean over all ranks' parts: their sum divided by the number of all their elements, correctly rounded.

    Arguments and errors as of `sum`; of integers `dtype` must be given, else RuntimeError. Of nothing the mean is NaN.

    >>> import torch, torch.distributed as dist, warp_reduce.torch.distributed as wtd
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> wtd.mean(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0)
    tensor([2., 3.])
    >>> dist.destroy_process_group()
    """
    return _reduced("mean", x, dim, keepdim, group, counts, dtype=_typed(x, dtype, "mean"))


def prod(
    x: torch.Tensor,
    dim: Dimensions = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
    group: Any = None,
    counts: Counts = None,
) -> torch.Tensor:
    """The product over all ranks' parts; arguments and errors as of `sum`. It has no gradient:
    TypeError for an x that wants one.

    NaN, or infinity times 0, give NaN; of nothing the product is 1.

    >>> import torch, torch.distributed as dist, warp_reduce.torch.distributed as wtd
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> wtd.prod(torch.tensor([2, 3, 7]))
    tensor(42)
    >>> dist.destroy_process_group()
    """
    return _reduced("prod", x, dim, keepdim, group, counts, dtype=dtype or widened(x.dtype))


def amax(
    x: torch.Tensor, dim: Dimensions = None, keepdim: bool = False, *, group: Any = None, counts: Counts = None
) -> torch.Tensor:
    """The largest element over all ranks' parts, in x's type; arguments and errors as of `sum`. It has no gradient:
    TypeError for an x that wants one.

    +0 is above -0, and a NaN wins, on whatever rank it is. ValueError of nothing; single ranks may have no elements.

    >>> import torch, torch.distributed as dist, warp_reduce.torch.distributed as wtd
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> wtd.amax(torch.tensor([[1.0, 5.0], [3.0, 4.0]]), dim=0)
    tensor([3., 5.])
    >>> dist.destroy_process_group()
    """
    return _reduced("max", x, dim, keepdim, group, counts)


def amin(
    x: torch.Tensor, dim: Dimensions = None, keepdim: bool = False, *, group: Any = None, counts: Counts = None
) -> torch.Tensor:
    """The smallest element over all ranks' parts; all as of `amax`.

    >>> import torch, torch.distributed as dist, warp_reduce.torch.distributed as wtd
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> wtd.amin(torch.tensor([3, 1, 2]))
    tensor(1)
    >>> dist.destroy_process_group()
    """
    return _reduced("min", x, dim, keepdim, group, counts)


def argmax(
    x: torch.Tensor, dim: int | None = None, keepdim: bool = False, *, group: Any = None, counts: Counts = None
) -> torch.Tensor:
    """The index of the first largest element, counted through all ranks' parts, in int64; all else as of `amax`.

    The index is that in the parts' concatenation along the sharded dimension, so it may lie in another rank's part.

    >>> import torch, torch.distributed as dist, warp_reduce.torch.distributed as wtd
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> wtd.argmax(torch.tensor([4.0, 9.0, 9.0]), dim=0)
    tensor(1)
    >>> dist.destroy_process_group()
    """
    return _reduced("argmax", x, dim, keepdim, group, counts)


def argmin(
    x: torch.Tensor, dim: int | None = None, keepdim: bool = False, *, group: Any = None, counts: Counts = None
) -> torch.Tensor:
    """The index of the first smallest element, counted through all ranks' parts; all as of `argmax`.

    >>> import torch, torch.distributed as dist, warp_reduce.torch.distributed as wtd
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> wtd.argmin(torch.tensor([[4, 1], [0, 2]]), dim=0)
    tensor([1, 0])
    >>> dist.destroy_process_group()
    """
    return _reduced("argmin", x, dim, keepdim, group, counts)


def norm(
    x: torch.Tensor,
    ord: float = 2,
    dim: Dimensions = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
    group: Any = None,
    counts: Counts = None,
) -> torch.Tensor:
    """The norm of the orders 1, 2 and infinity over all ranks' parts, of floats. It has no gradient: TypeError for an x
    that wants one.

    Arguments and errors otherwise as of `mean`; ValueError for other orders. NaN gives NaN; of nothing the norm is 0.

    >>> import torch, torch.distributed as dist, warp_reduce.torch.distributed as wtd
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> wtd.norm(torch.tensor([3.0, -4.0]))
    tensor(5.)
    >>> dist.destroy_process_group()
    """
    return _reduced("norm", x, dim, keepdim, group, counts, dtype=_typed(x, dtype, "norm"), ord=ord)


def dot(
    x: torch.Tensor,
    y: torch.Tensor,
    *,
    dtype: torch.dtype | None = None,
    exact: bool = False,
    group: Any = None,
    counts: Counts = None,
) -> torch.Tensor:
    """The dot product of two sharded vectors; of a tensor whose last dimension is sharded with a vector, of each of its
    rows; as `warp_reduce.torch.dot` of all ranks' parts.

    x, y: this rank's parts, as long as each other along x's last dimension; RuntimeError where they are not. Other
        arguments, NaN, nothing and errors as of `sum`.

    >>> import torch, torch.distributed as dist, warp_reduce.torch.distributed as wtd
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> wtd.dot(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([10.0, 1.0]))
    tensor([12., 34.])
    >>> dist.destroy_process_group()
    """
    check_dot(x, y)
    common = torch.promote_types(x.dtype, y.dtype)
    is_float = common.is_floating_point
    op = "dot_exact" if exact and is_float and (dtype or common).is_floating_point else "dot"
    wanted = dtype or widened(common)

    def dotted(mine: torch.Tensor, theirs: torch.Tensor) -> torch.Tensor:
        part = _part(op, mine.to(common), mine.dim() - 1, dtype=wanted, y=theirs.to(common))
        if op == "dot_exact":
            return finished(exact_sum(part, group))
        return finished(gathered(part, group, counts, sides=False).whole)

    if _has_gradient(x, y):
        from ._sharded_gradients import Dot

        return Dot.apply(x, y, dotted)
    return dotted(x, y)


def logsumexp(
    x: torch.Tensor, dim: Dimensions = None, keepdim: bool = False, *, group: Any = None, counts: Counts = None
) -> torch.Tensor:
    """log(sum of exp(x)) over all ranks' parts, with the bits that belong to `softmax`; its gradient is the softmax.

    x: floats; integers become PyTorch's default type. Arguments and errors otherwise as of `sum`. A NaN or +infinity
    gives itself; of nothing, and of -infinity alone, it is -infinity.

    >>> import torch, torch.distributed as dist, warp_reduce.torch.distributed as wtd
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> wtd.logsumexp(torch.tensor([0.0, 0.0]), dim=0)
    tensor(0.6931)
    >>> dist.destroy_process_group()
    """
    x = _float(x)
    if not _has_gradient(x):
        return _reduced("logsumexp", x, dim, keepdim, group, counts)
    from ._sharded_gradients import LogSumExp

    part = _part("logsumexp", x, dim)
    return _kept(LogSumExp.apply(x, part.dims, group, counts), part.dims, keepdim)


def _float(x: torch.Tensor) -> torch.Tensor:
    return x if x.dtype.is_floating_point or x.is_complex() else x.to(torch.get_default_dtype())


def _softmax(
    log: bool, x: torch.Tensor, dim: int, scale: float, dtype: torch.dtype | None, group: Any, counts: Counts
) -> torch.Tensor:
    from ._sharded_gradients import Softmax, softmax_of

    part = _part("logsumexp", _float(x), dim, scale=scale)
    if _has_gradient(part.x):
        return Softmax.apply(part.x, log, part.dims, scale, dtype, group, counts)
    return softmax_of(log, part.x, gathered(part, group, counts), part.dims, dtype)


def softmax(
    x: torch.Tensor,
    dim: int = -1,
    *,
    scale: float = 1.0,
    dtype: torch.dtype | None = None,
    group: Any = None,
    counts: Counts = None,
) -> torch.Tensor:
    """This rank's part of the softmax of rows that lie over all ranks; as `warp_reduce.torch.softmax`, of logits times
    `scale`. Other arguments and errors as of `sum`.

    A vocabulary of 151936 over 8 ranks, 18992 each, has the bits of one GPU. A NaN or +infinity on any rank, or
    -infinity alone, makes the row NaN on all of them; an empty part gets an empty one.

    >>> import torch, torch.distributed as dist, warp_reduce.torch.distributed as wtd
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> wtd.softmax(torch.zeros(2, 2))[0]
    tensor([0.5000, 0.5000])
    >>> dist.destroy_process_group()
    """
    return _softmax(False, x, dim, scale, dtype, group, counts)


def log_softmax(
    x: torch.Tensor,
    dim: int = -1,
    *,
    scale: float = 1.0,
    dtype: torch.dtype | None = None,
    group: Any = None,
    counts: Counts = None,
) -> torch.Tensor:
    """This rank's part of the logarithm of `softmax`; all as of `softmax`.

    >>> import torch, torch.distributed as dist, warp_reduce.torch.distributed as wtd
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> wtd.log_softmax(torch.tensor([7.0]), dim=0)
    tensor([0.])
    >>> dist.destroy_process_group()
    """
    return _softmax(True, x, dim, scale, dtype, group, counts)
