"""The tree in which many ranks merge their states: played by one process, message by message, up to 10^4 ranks."""

from __future__ import annotations

import math
from collections import deque

import numpy as np
import pytest
import warp_reduce
from warp_reduce import State
from warp_reduce.torch._merge_tree import Merged, merge_tree


class Network:
    """Messages between ranks, in the order in which they were sent; how many there were, and of how many bytes."""

    def __init__(self, owns: list[State], sides: bool) -> None:
        ranks = len(owns)
        self.steps = [merge_tree(rank, ranks, own, sides) for rank, own in enumerate(owns)]
        self.waiting: dict[tuple[int, int], deque[State]] = {}
        self.found: list[Merged | None] = [None] * ranks
        self.sent, self.bytes, self.exchanges = [0] * ranks, [0] * ranks, [0] * ranks

    def run(self, firsts: list[int]) -> list[Merged]:
        ready = deque((rank, None) for rank in range(len(self.steps)))
        blocked: dict[tuple[int, int], tuple[int, int]] = {}
        while ready:
            rank, came = ready.popleft()
            try:
                step = self.steps[rank].send(came)
            except StopIteration as done:
                self.found[rank] = done.value
                continue
            self.exchanges[rank] += 1
            if step.sent is not None:
                self._send(rank, step.partner, step.sent)
                if (rank, step.partner) in blocked:
                    ready.append((step.partner, self._take(rank, step.partner, firsts, blocked)))
            if step.wanted is None:
                ready.append((rank, None))
                continue
            blocked[step.partner, rank] = step.wanted
            if self.waiting.get((step.partner, rank)):
                ready.append((rank, self._take(step.partner, rank, firsts, blocked)))
        assert not blocked and not any(self.waiting.values())
        assert all(each is not None for each in self.found)
        return [each for each in self.found if each is not None]

    def _send(self, rank: int, to: int, state: State) -> None:
        self.waiting.setdefault((rank, to), deque()).append(state)
        self.sent[rank] += 1
        self.bytes[rank] += state.nbytes

    def _take(self, rank: int, to: int, firsts: list[int], blocked: dict[tuple[int, int], tuple[int, int]]) -> State:
        begin, end = blocked.pop((rank, to))
        state = self.waiting[rank, to].popleft()
        assert (state.first, state.count) == (firsts[begin], firsts[end] - firsts[begin])
        return state


def parts(ranks: int, length: int) -> tuple[np.ndarray, list[int]]:
    """Parts of `length` elements, or fewer, or none."""
    random = np.random.default_rng(ranks)
    lengths = [length if random.integers(3) else int(random.integers(length)) for _ in range(ranks)]
    firsts = np.concatenate([[0], np.cumsum(lengths)]).tolist()
    return (random.standard_normal(firsts[-1]) ** 3).astype(np.float32), firsts


def states(op: str, x: np.ndarray, firsts: list[int]) -> list[State]:
    return [warp_reduce.state(op, x[begin:end], begin, 0) for begin, end in zip(firsts, firsts[1:])]


@pytest.mark.parametrize("op", ["sum", "argmax", "logsumexp"])
def test_every_number_of_ranks_gives_each_the_whole_and_its_sides(op: str) -> None:
    for ranks in [*range(1, 35), 63, 64, 65, 100]:
        x, firsts = parts(ranks, 50)
        whole = warp_reduce.state(op, x, 0, 0)
        for sides in (True, False):
            for rank, found in enumerate(Network(states(op, x, firsts), sides).run(firsts)):
                assert found.whole == whole, (ranks, rank)
                begin, end = firsts[rank], firsts[rank + 1]
                if sides:
                    assert (found.before is None) == (rank == 0)
                    assert (found.after is None) == (rank == ranks - 1)
                    assert found.before is None or found.before == warp_reduce.state(op, x[:begin], 0, 0)
                    assert found.after is None or found.after == warp_reduce.state(op, x[end:], end, 0)


def test_ten_thousand_ranks() -> None:
    ranks = 10_000
    x, firsts = parts(ranks, 100)
    network = Network(states("sum", x, firsts), sides=False)
    found = network.run(firsts)
    assert all(each.whole == found[0].whole for each in found[:: ranks // 100])
    assert found[-1].whole.finish() == warp_reduce.sum(x)
    assert max(network.sent) <= math.floor(math.log2(ranks)) + 2
    assert max(network.exchanges) == math.floor(math.log2(ranks)) + 2
    gathered = sum(warp_reduce.state("sum", x[a:b], a, 0).nbytes for a, b in zip(firsts, firsts[1:]))
    assert max(network.bytes) * 100 < gathered
