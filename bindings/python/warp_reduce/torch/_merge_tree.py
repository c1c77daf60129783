"""Ranks that merge their states pairwise: about log2(ranks) steps, in each of which a rank sends a state and gets one.

What is here knows nothing of how states travel: a rank's part of the algorithm is a generator, which yields what it
sends and wants, and is sent what came.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

from .._states import State
from .._states import merged as merged_states


class Exchange(NamedTuple):
    """With another rank: a state for it, and one of the parts of ranks [begin, end) from it; None is nothing."""

    partner: int
    sent: State | None
    wanted: tuple[int, int] | None


class Merged(NamedTuple):
    before: State | None  # of all ranks before this one, where it was asked for
    after: State | None
    whole: State


Steps = Generator[Exchange, State | None, Merged]


def merged(states: list[State]) -> State:
    """What is merged with no state is none, so that all who wait for it are told."""
    if any(each.is_known_to_be_none for each in states):
        first = states[0].first or 0
        return states[0].without_bytes(first, sum(each.count or 0 for each in states))
    return merged_states(states)


class _Units:
    """As many units as the largest power of two: pairs of neighbours first, and then ranks alone."""

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks
        self.count = 1 << (ranks.bit_length() - 1)
        self.pairs = ranks - self.count

    def first(self, unit: int) -> int:
        return unit + min(unit, self.pairs)

    def of(self, rank: int) -> int:
        return rank // 2 if rank < 2 * self.pairs else rank - self.pairs


def merge_tree(rank: int, ranks: int, own: State, sides: bool) -> Steps:
    """This rank's steps. sides: with what lies before and after it."""
    units = _Units(ranks)
    unit = units.of(rank)
    first, end = units.first(unit), units.first(unit + 1)
    if end - first == 1:
        return (yield from _doubling(units, unit, own, sides))
    neighbour = first if rank != first else first + 1
    theirs = yield Exchange(neighbour, own, (neighbour, neighbour + 1))
    assert theirs is not None
    if rank != first:
        return (yield from _told(units, unit, rank, theirs, sides))
    found = yield from _doubling(units, unit, merged([own, theirs]), sides)
    yield Exchange(neighbour, found.whole, None)
    if not sides:
        return found
    for each in (found.before, found.after):
        if each is not None:
            yield Exchange(neighbour, each, None)
    after = theirs if found.after is None else merged([theirs, found.after])
    return Merged(found.before, after, found.whole)


def _told(units: _Units, unit: int, rank: int, left: State, sides: bool) -> Steps:
    """The second of a pair: what the first one found."""
    whole = yield Exchange(rank - 1, None, (0, units.ranks))
    assert whole is not None
    if not sides:
        return Merged(None, None, whole)
    before, after = left, None
    if unit > 0:
        far = yield Exchange(rank - 1, None, (0, rank - 1))
        assert far is not None
        before = merged([far, left])
    if rank + 1 < units.ranks:
        after = yield Exchange(rank - 1, None, (rank + 1, units.ranks))
    return Merged(before, after, whole)


def _doubling(units: _Units, unit: int, own: State, sides: bool) -> Steps:
    """After step k each unit has the state of its aligned block of 2^k units."""
    before: State | None = None
    after: State | None = None
    whole, size = own, 1
    while size < units.count:
        other = unit ^ size
        block = other & -size
        wanted = (units.first(block), units.first(block + size))
        theirs = yield Exchange(units.first(other), whole, wanted)
        assert theirs is not None
        if other < unit:
            whole = merged([theirs, whole])
            before = (theirs if before is None else merged([theirs, before])) if sides else None
        else:
            whole = merged([whole, theirs])
            after = (theirs if after is None else merged([after, theirs])) if sides else None
        size *= 2
    return Merged(before, after, whole)
