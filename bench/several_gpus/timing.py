"""Microseconds a call of what every rank does at once: calls in a stream, and replays of a graph of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch

from .worlds import World

SAMPLES = 7
SAMPLE_US = 2000.0  # about what a sample takes
MOST_CALLS = 20
OF_GRAPH = 5  # calls that are captured

Call = Callable[[], None]
Make = Callable[[int], Call]


def _events() -> tuple[torch.cuda.Event, torch.cuda.Event]:
    return torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)


def _sample(world: World, rank: int, call: Call, calls: int, meet: Call) -> float:
    """Us of so many calls, on this rank; the ranks begin together."""
    begin, end = _events()
    world.wait(rank)
    meet()
    begin.record()
    for _ in range(calls):
        call()
    end.record()
    end.synchronize()
    return 1e3 * begin.elapsed_time(end)


def captured(call: Call, calls: int = 1) -> torch.cuda.CUDAGraph:
    """Of this thread's current stream alone: other ranks capture at the same time."""
    graph = torch.cuda.CUDAGraph()
    graph.capture_begin(capture_error_mode="thread_local")
    try:
        for _ in range(calls):
            call()
    finally:
        graph.capture_end()
    return graph


def us_a_call(world: World, make: Make, graph: bool, alone: bool = False) -> float:
    """The slowest rank's median. make: a rank's call, made in its own thread. alone: the first rank's, others idle."""
    if world.device(0).type != "cuda":
        return _played(world, make, alone)
    shared: dict[str, int] = {}
    meet = (lambda: None) if alone else world.meet

    def run(rank: int) -> float:
        if alone and rank != 0:
            return 0.0
        call, at_once = make(rank), 1
        call()
        world.wait(rank)
        if graph:
            call, at_once = captured(call, OF_GRAPH).replay, OF_GRAPH
        first = min(_sample(world, rank, call, 1, meet) for _ in range(3))
        if rank == 0:
            shared["calls"] = max(1, min(MOST_CALLS, round(SAMPLE_US / max(first, 1.0))))
        meet()
        calls = shared["calls"]
        return statistics.median(_sample(world, rank, call, calls, meet) for _ in range(SAMPLES)) / calls / at_once

    return max(world.on_every_rank(run))


def _played(world: World, make: Make, alone: bool) -> float:
    """That it can be called: what is played says nothing of time."""
    began = time.perf_counter()
    world.on_every_rank(lambda rank: None if alone and rank else make(rank)())
    return 1e6 * (time.perf_counter() - began)
