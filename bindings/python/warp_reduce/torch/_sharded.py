"""The states of a sharded dimension's parts, one a rank: how they are made, checked, brought together and merged."""

from __future__ import annotations

import contextlib
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

LAST_CALLS = 1024  # whose failures on a GPU are kept

Counts = Sequence[int] | None


class _Told:
    """Where calls on a GPU, which nobody waits for, say what they have found."""

    def __init__(self, device: torch.device) -> None:
        self.statuses = torch.zeros(LAST_CALLS, dtype=torch.int32, device=device)
        self.calls = itertools.count()

    def place(self) -> int:
        return self.statuses.data_ptr() + self.statuses.itemsize * (next(self.calls) % LAST_CALLS)


_told: dict[torch.device, _Told] = {}


def place_to_tell(x: torch.Tensor) -> int | None:
    """None on the CPU, where exceptions do."""
    if x.device.type == "cpu":
        return None
    if x.device not in _told:
        _told[x.device] = _Told(x.device)
    return _told[x.device].place()


def raise_if_failed() -> None:
    for device, told in _told.items():
        torch.cuda.synchronize(device)
        failed = bool(told.statuses.any())
        told.statuses.zero_()
        if failed:
            raise _failed(f"on {device} a rank")


def finished(state: State) -> torch.Tensor:
    return state.finish_and_tell(place_to_tell(state.array))


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
    """All ranks' states. sides: what lies before and behind this rank's too.

    A rank that cannot make its own takes part with bytes that are none, so that no other waits for it.
    """
    rank, ranks = rank_in(group)
    lengths = _agreed_lengths(part, ranks, group) if counts is None else _given(part, ranks, counts)
    firsts = [0, *itertools.accumulate(length * part.others for length in lengths)]
    together = _by_tree if ranks > GATHER_UP_TO else _by_gather
    try:
        if part.length != lengths[rank]:
            raise _other_counts(part, ranks, lengths)
        own = part.state(firsts[rank])
    except Exception:
        own = part.nothing().without_bytes(firsts[rank], firsts[rank + 1] - firsts[rank])
        with contextlib.suppress(Exception):
            together(own, rank, firsts, group, sides)
        raise
    return Gathered(*together(own, rank, firsts, group, sides), firsts[rank], lengths)


def exact_sum(part: Part, group: Any) -> State:
    """The limbs behind the header are added as integers, whoever adds them."""
    rank_in(group)
    try:
        own = part.state(0)
    except Exception:
        _added_up(part.nothing(), 1, group)
        raise
    limbs, failed = _added_up(own, 0, group)
    if own.array.device.type == "cpu" and int(failed):
        raise _failed("a rank")
    # On a GPU, which nobody waits for, the header says it.
    array = torch.cat([own.array[:HEADER_BYTES] * (failed == 0), limbs.view(torch.uint8)])
    return State(own._reduction, None, None, own.shape, array)


def _added_up(state: State, failed: int, group: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """All ranks' limbs, and how many of them have failed."""
    limbs = state.array[HEADER_BYTES:].view(torch.int64)
    words = torch.cat([limbs, limbs.new_full((1,), failed)])
    dist.all_reduce(words, group=group)
    return words[:-1], words[-1]


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
            raise _failed(f"rank {rank}")
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


def _failed(who: str) -> Exception:
    return RuntimeError(f"{who} of the group could not reduce its part; its own exception says why")


def _given(part: Part, ranks: int, counts: Sequence[int]) -> tuple[int, ...]:
    if len(counts) != ranks:
        raise _other_counts(part, ranks, counts)
    return tuple(int(each) for each in counts)


def _other_counts(part: Part, ranks: int, counts: Sequence[int]) -> Exception:
    return ValueError(
        f"counts has the length of each of the {ranks} ranks' parts along dimension {part.dims[:1]}, and is"
        f" {tuple(counts)}; this one's is {tuple(part.x.shape)}"
    )


_Sides = tuple[State | None, State | None, State]


def _by_gather(own: State, rank: int, firsts: list[int], group: Any, sides: bool) -> _Sides:
    pieces = list(itertools.pairwise(firsts))
    sizes = [own._reduction.size(first, end - first) for first, end in pieces]
    mine = torch.zeros(-(-max(sizes) // ALIGNMENT) * ALIGNMENT, dtype=torch.uint8, device=own.array.device)
    mine[: sizes[rank]] = own.array
    every = _gather(mine, len(pieces), group)
    states = [
        State(own._reduction, first, end - first, own.shape, array[:size])
        for (first, end), array, size in zip(pieces, every, sizes)
    ]
    for number, state in enumerate(states):
        if state.is_known_to_be_none:
            raise _failed(f"rank {number}")
    if not sides:
        return None, None, merged(states)
    before = merged(states[:rank]) if rank > 0 else None
    after = merged(states[rank + 1 :]) if rank + 1 < len(states) else None
    return before, after, merged([each for each in (before, states[rank], after) if each is not None])


def _by_tree(own: State, rank: int, firsts: list[int], group: Any, sides: bool) -> _Sides:
    steps = merge_tree(rank, len(firsts) - 1, own, sides)
    came: State | None = None
    while True:
        try:
            step = steps.send(came)
        except StopIteration as done:
            if done.value.whole.is_known_to_be_none:
                raise _failed("a rank") from None
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
