"""The states of a sharded dimension's parts, one a rank: how they are made, checked, brought together and merged."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

from .. import _pieces
from .._states import ALIGNMENT, HEADER_BYTES, Reduction, State, merged
from ._merge_tree import Exchange, merge_tree

_FINE, _FAILED = 1, 0

# Up to so many ranks each gets every state, by one collective; more merge in a tree (docs/scale.md).
GATHER_UP_TO = 32

Counts = Sequence[int] | None


def rank_in(group: Any) -> tuple[int, int]:
    """This rank, and how many there are."""
    if not dist.is_available() or not dist.is_initialized():
        raise RuntimeError("there is no process group: call torch.distributed.init_process_group first")
    rank = dist.get_rank(group)
    if rank < 0:
        raise ValueError("this process is no rank of the group")
    return rank, dist.get_world_size(group)


class Part(NamedTuple):
    """What this rank has: its elements along `dims`, of which the first is the sharded one."""

    op: str
    x: torch.Tensor
    dims: tuple[int, ...]
    options: dict[str, Any]

    @property
    def length(self) -> int:
        return self.x.shape[self.dims[0]]

    @property
    def others(self) -> int:
        """Elements of a unit of length."""
        return math.prod(self.x.shape[d] for d in self.dims[1:])

    def state(self, first: int) -> State:
        return _pieces.state(self.op, self.x, first, self.dims, **self.options)

    def nothing(self) -> State:
        """The state of none of its elements, which says what is reduced and how."""
        options = dict(self.options)
        if "y" in options:
            options["y"] = options["y"][:0]
        return self._replace(x=self.x.narrow(self.dims[0], 0, 0), options=options).state(0)


class Gathered(NamedTuple):
    before: State | None  # of all ranks before this one, where it was asked for
    after: State | None
    whole: State
    first: int  # of this rank's elements
    lengths: tuple[int, ...]  # of all ranks' parts along the sharded dimension


def gathered(part: Part, group: Any, counts: Counts, sides: bool = True) -> Gathered:
    """All ranks' states. sides: what lies before and behind this rank's too."""
    rank, ranks = rank_in(group)
    lengths = _agreed_lengths(part, ranks, group) if counts is None else _given(part, rank, ranks, counts)
    firsts = [0, *itertools.accumulate(length * part.others for length in lengths)]
    together = _by_tree if ranks > GATHER_UP_TO else _by_gather
    return Gathered(*together(part, rank, firsts, group, sides), firsts[rank], lengths)


def exact_sum(part: Part, group: Any) -> State:
    """The limbs behind the header are added as integers, whoever adds them."""
    rank_in(group)
    own = part.state(0)
    limbs = own.array[HEADER_BYTES:].clone().view(torch.int64)
    dist.all_reduce(limbs, group=group)
    array = torch.cat([own.array[:HEADER_BYTES], limbs.view(torch.uint8)])
    return State(own._reduction, None, None, own.shape, array)


def _gather(mine: torch.Tensor, ranks: int, group: Any) -> list[torch.Tensor]:
    every = [torch.empty_like(mine) for _ in range(ranks)]
    dist.all_gather(every, mine, group=group)
    return every


def _agreed_lengths(part: Part, ranks: int, group: Any) -> tuple[int, ...]:
    """How long each rank's part is, once all are known to ask for the same.

    A rank whose part is refused says so to the others, which would wait for it.
    """
    problem: Exception | None = None
    words = [_FAILED] * 6
    try:
        of = part.nothing()._reduction
        words = [_FINE, part.length, _fingerprint(of), of.outer, of.inner, part.others]
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


def _given(part: Part, rank: int, ranks: int, counts: Sequence[int]) -> tuple[int, ...]:
    if len(counts) != ranks or counts[rank] != part.length:
        raise ValueError(
            f"counts has the length of each of the {ranks} ranks' parts along dimension {part.dims[:1]}, and is"
            f" {tuple(counts)}; this one's is {tuple(part.x.shape)}"
        )
    return tuple(int(each) for each in counts)


_Sides = tuple[State | None, State | None, State]


def _by_gather(part: Part, rank: int, firsts: list[int], group: Any, sides: bool) -> _Sides:
    own = part.state(firsts[rank])
    pieces = list(itertools.pairwise(firsts))
    sizes = [own._reduction.size(first, end - first) for first, end in pieces]
    mine = torch.zeros(-(-max(sizes) // ALIGNMENT) * ALIGNMENT, dtype=torch.uint8, device=part.x.device)
    mine[: sizes[rank]] = own.array
    every = _gather(mine, len(pieces), group)
    states = [
        State(own._reduction, first, end - first, own.shape, array[:size])
        for (first, end), array, size in zip(pieces, every, sizes)
    ]
    if not sides:
        return None, None, merged(states)
    before = merged(states[:rank]) if rank > 0 else None
    after = merged(states[rank + 1 :]) if rank + 1 < len(states) else None
    return before, after, merged([each for each in (before, states[rank], after) if each is not None])


def _by_tree(part: Part, rank: int, firsts: list[int], group: Any, sides: bool) -> _Sides:
    own = part.state(firsts[rank])
    steps = merge_tree(rank, len(firsts) - 1, own, sides)
    came: State | None = None
    while True:
        try:
            step = steps.send(came)
        except StopIteration as done:
            return done.value
        came = _exchanged(step, own, firsts, group)


def _exchanged(step: Exchange, own: State, firsts: list[int], group: Any) -> State | None:
    partner = step.partner if group is None else dist.get_global_rank(group, step.partner)
    jobs, came = [], None
    if step.sent is not None:
        jobs.append(dist.P2POp(dist.isend, step.sent.array.contiguous(), partner, group))
    if step.wanted is not None:
        first, end = (firsts[each] for each in step.wanted)
        size = own._reduction.size(first, end - first)
        array = torch.empty(size, dtype=torch.uint8, device=own.array.device)
        jobs.append(dist.P2POp(dist.irecv, array, partner, group))
        came = State(own._reduction, first, end - first, own.shape, array)
    for job in dist.batch_isend_irecv(jobs):
        job.wait()
    return came
