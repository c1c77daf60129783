"""Reductions and softmax over a dimension that is sharded over the ranks of a torch.distributed group.

Every rank calls the function with its own part, and has the bits that one call on the parts' concatenation, in the
order of the ranks, would give. The parts may be of any length, also empty. The ranks gather their states, whose size
does not grow with the parts', and merge them in order; exact sums are one all_reduce of int64.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

from .. import _pieces
from .._states import ALIGNMENT, EXACT, HEADER_BYTES, Reduction, State
from ._functions import Dimensions
from ._operators import dimensions, widened

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "log_softmax",
    "logsumexp",
    "mean",
    "norm",
    "prod",
    "softmax",
    "sum",
]

_FINE, _FAILED = 1, 0

Counts = Sequence[int] | None


def _group(group: Any) -> tuple[int, int]:
    """This rank, and how many there are."""
    if not dist.is_available() or not dist.is_initialized():
        raise RuntimeError("there is no process group: call torch.distributed.init_process_group first")
    rank = dist.get_rank(group)
    if rank < 0:
        raise ValueError("this process is no rank of the group")
    return rank, dist.get_world_size(group)


class _Part(NamedTuple):
    """What this rank has: its elements along `dims`, of which the first is the sharded one."""

    op: str
    x: torch.Tensor
    dims: tuple[int, ...]
    options: dict[str, Any]

    @property
    def count(self) -> int:
        return _product(self.x.shape[d] for d in self.dims)

    def state(self, first: int) -> State:
        return _pieces.state(self.op, self.x, first, self.dims, **self.options)


def _product(numbers: Any) -> int:
    return reduce(lambda a, b: a * b, numbers, 1)


def _gather(mine: torch.Tensor, ranks: int, group: Any) -> list[torch.Tensor]:
    every = [torch.empty_like(mine) for _ in range(ranks)]
    dist.all_gather(every, mine, group=group)
    return every


def _agreed_counts(part: _Part, ranks: int, group: Any) -> tuple[int, ...]:
    """How many elements each rank has, once all are known to ask for the same.

    A rank whose part is refused says so to the others, which would wait for it.
    """
    problem: Exception | None = None
    words = [_FAILED] * 6
    try:
        nothing = part._replace(x=part.x.narrow(part.dims[0], 0, 0) if part.dims else part.x)
        of = nothing.state(0)._reduction
        words = [_FINE, part.count, _fingerprint(of), of.outer, of.inner, of.kind[0].code]
    except Exception as found:
        problem = found
    every = _gather(torch.tensor(words, dtype=torch.int64, device=part.x.device), ranks, group)
    told = torch.stack(every).tolist()
    if problem is not None:
        raise problem
    for rank, theirs in enumerate(told):
        if theirs[0] != _FINE:
            raise RuntimeError(f"rank {rank} of the group could not reduce its part; its own exception says why")
        if theirs[2:] != words[2:]:
            raise ValueError(
                f"rank {rank} of the group has a part of another shape or type, or asks for another result: all must"
                f" have {part.op} of {part.x.dtype} of shapes that differ in dimension {part.dims[0]} alone"
            )
    return tuple(theirs[1] for theirs in told)


def _fingerprint(reduction: Reduction) -> int:
    """The same in every process, as Python's own hash is not."""
    from zlib import crc32

    return crc32(repr(sorted(reduction.fields().items())).encode())


class _Gathered(NamedTuple):
    before: State | None
    own: State
    after: State | None

    @property
    def whole(self) -> State:
        return _merged([each for each in self if each is not None])


def _merged(states: Sequence[State]) -> State:
    return reduce(lambda left, right: left.merge(right), states)


def _gathered(part: _Part, group: Any, counts: Counts) -> tuple[_Gathered, int]:
    """All ranks' states by what lies before and behind this rank's, and its first element's index."""
    rank, ranks = _group(group)
    known = _agreed_counts(part, ranks, group) if counts is None else _given(part, rank, ranks, counts)
    firsts = [_sum(known[:each]) for each in range(ranks)]
    own = part.state(firsts[rank])
    sizes = [own._reduction.size(first, count) for first, count in zip(firsts, known)]
    longest = -(-max(sizes) // ALIGNMENT) * ALIGNMENT
    mine = torch.zeros(longest, dtype=torch.uint8, device=part.x.device)
    mine[: sizes[rank]] = own.array
    every = _gather(mine, ranks, group)
    states = [
        State(own._reduction, first, count, own.shape, array[:size])
        for first, count, array, size in zip(firsts, known, every, sizes)
    ]
    before, after = states[:rank], states[rank + 1 :]
    sides = _Gathered(_merged(before) if before else None, own, _merged(after) if after else None)
    return sides, firsts[rank]


def _sum(numbers: Sequence[int]) -> int:
    return reduce(lambda a, b: a + b, numbers, 0)


def _given(part: _Part, rank: int, ranks: int, counts: Sequence[int]) -> tuple[int, ...]:
    """Lengths of the sharded dimension as numbers of elements."""
    others = _product(part.x.shape[d] for d in part.dims[1:])
    if len(counts) != ranks or (part.dims and counts[rank] != part.x.shape[part.dims[0]]):
        raise ValueError(
            f"counts has the length of each of the {ranks} ranks' parts along dimension {part.dims[:1]}, and is"
            f" {tuple(counts)}; this one's is {tuple(part.x.shape)}"
        )
    return tuple(int(each) * others for each in counts)


def _exact_sum(part: _Part, group: Any) -> State:
    """The limbs behind the header are added as integers, whoever adds them."""
    _group(group)
    own = part.state(0)
    limbs = own.array[HEADER_BYTES:].clone().view(torch.int64)
    dist.all_reduce(limbs, group=group)
    array = torch.cat([own.array[:HEADER_BYTES], limbs.view(torch.uint8)])
    return State(own._reduction, None, None, own.shape, array)


def _reduced(
    op: str, x: torch.Tensor, dim: Dimensions, keepdim: bool, group: Any, counts: Counts, **options: Any
) -> torch.Tensor:
    dims = tuple(sorted(dimensions(x, dim)))
    if not dims:
        raise ValueError("a tensor without dimensions is not sharded: give x.reshape(1)")
    part = _Part(op, x, dims, {name: value for name, value in options.items() if value is not None})
    whole = _exact_sum(part, group) if op == EXACT else _gathered(part, group, counts)[0].whole
    result = whole.finish()
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

    x: this rank's part, of the CPU or a GPU, as the group's backend takes it; without gradient. The parts' shapes
        differ along the first of the dimensions in `dim` alone, in which they are concatenated in the ranks' order.
    exact: the exact sum of floats, rounded once: one all_reduce of int64.
    group: the process group; None is the default one.
    counts: the length of each rank's part along the sharded dimension, where that is known: then nothing is gathered
        but the states, nothing waits for a GPU, and that all ranks ask for the same is not checked.

    Every rank has the result, and the same bits. ValueError, on every rank, where the ranks' parts or requests do not
    go together; RuntimeError where a rank has failed; a rank that is gone is torch.distributed's own exception.

    >>> import torch, warp_reduce.torch.distributed as wtd
    >>> import torch.distributed as dist
    >>> dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29517", rank=0, world_size=1)
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
    """The mean over all ranks' parts; arguments and errors as of `sum`. Of integers `dtype` must be given."""
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
    """The product over all ranks' parts; as `sum`."""
    return _reduced("prod", x, dim, keepdim, group, counts, dtype=dtype or widened(x.dtype))


def amax(
    x: torch.Tensor, dim: Dimensions = None, keepdim: bool = False, *, group: Any = None, counts: Counts = None
) -> torch.Tensor:
    """The largest element over all ranks' parts; as `sum`. ValueError of nothing."""
    return _reduced("max", x, dim, keepdim, group, counts)


def amin(
    x: torch.Tensor, dim: Dimensions = None, keepdim: bool = False, *, group: Any = None, counts: Counts = None
) -> torch.Tensor:
    """The smallest element over all ranks' parts; as `amax`."""
    return _reduced("min", x, dim, keepdim, group, counts)


def argmax(
    x: torch.Tensor, dim: int | None = None, keepdim: bool = False, *, group: Any = None, counts: Counts = None
) -> torch.Tensor:
    """The index of the first largest element, counted through all ranks' parts; as `amax`."""
    return _reduced("argmax", x, dim, keepdim, group, counts)


def argmin(
    x: torch.Tensor, dim: int | None = None, keepdim: bool = False, *, group: Any = None, counts: Counts = None
) -> torch.Tensor:
    """The index of the first smallest element, counted through all ranks' parts; as `amax`."""
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
    """The norm of the orders 1, 2 and infinity over all ranks' parts; as `mean`. ValueError for other orders."""
    return _reduced("norm", x, dim, keepdim, group, counts, dtype=_typed(x, dtype, "norm"), ord=ord)


def logsumexp(
    x: torch.Tensor, dim: Dimensions = None, keepdim: bool = False, *, group: Any = None, counts: Counts = None
) -> torch.Tensor:
    """log(sum of exp(x)) over all ranks' parts, with the bits that belong to `softmax`; as `sum`."""
    return _reduced("logsumexp", _float(x), dim, keepdim, group, counts)


def _float(x: torch.Tensor) -> torch.Tensor:
    return x if x.dtype.is_floating_point or x.is_complex() else x.to(torch.get_default_dtype())


def _softmax(
    log: bool, x: torch.Tensor, dim: int, scale: float, dtype: torch.dtype | None, group: Any, counts: Counts
) -> torch.Tensor:
    x = _float(x)
    dims = tuple(dimensions(x, dim))
    if not dims:
        raise ValueError("a tensor without dimensions is not sharded: give x.reshape(1)")
    sides, first = _gathered(_Part("logsumexp", x, dims, {"scale": scale}), group, counts)
    function = _pieces.log_softmax_from_state if log else _pieces.softmax_from_state
    return function(x, sides.whole, first, dims, before=sides.before, after=sides.after, dtype=dtype)


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

    A vocabulary of 151936 over 8 ranks, 18992 each, has the bits of one GPU.
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
    """This rank's part of the logarithm of `softmax`."""
    return _softmax(True, x, dim, scale, dtype, group, counts)
