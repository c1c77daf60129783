"""Medians of alternated samples: replays of CUDA graphs, calls in a stream, and calls that are waited for."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

import torch

Call = Callable[[], object]

SAMPLES = 9
SAMPLE_US = 250.0  # about what one sample of a short job takes
MOST_CALLS = 100  # in a graph
REPLAYS = 2  # of a short job's graph a sample: the second is launched while the first runs


class Timer:
    """On one stream of its own, which is PyTorch's current stream from then on."""

    def __init__(self) -> None:
        self.stream = torch.cuda.Stream()
        torch.cuda.set_stream(self.stream)
        self._pool = torch.cuda.graph_pool_handle()
        self._keeps_the_pool = self._capture([lambda: torch.empty(1, device="cuda")])
        self._begin = torch.cuda.Event(enable_timing=True)
        self._end = torch.cuda.Event(enable_timing=True)

    def _capture(self, calls: Sequence[Call]) -> torch.cuda.CUDAGraph:
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        graph.capture_begin(pool=self._pool, capture_error_mode="thread_local")
        try:
            for call in calls:
                call()
        finally:
            graph.capture_end()
        return graph

    def _sample(self, job: Call) -> float:
        self._begin.record()
        job()
        self._end.record()
        self._end.synchronize()
        return 1e3 * self._begin.elapsed_time(self._end)

    def _alternated(self, jobs: dict[str, Call], samples: int) -> dict[str, float]:
        times: dict[str, list[float]] = {name: [] for name in jobs}
        for sample in range(-1, samples):
            for name, job in jobs.items():
                us = self._sample(job)
                if sample >= 0:
                    times[name].append(us)
        return {name: statistics.median(found) for name, found in times.items()}

    def graphs(
        self, contenders: dict[str, Sequence[Call]], samples: int = SAMPLES, uncaptured: Sequence[str] = ()
    ) -> dict[str, float]:
        """Microseconds a call. A contender has a call for each set of buffers, taken in turn; what is `uncaptured` is
        called in the stream instead."""
        jobs, counts = {}, {}
        for name, sets in contenders.items():
            for call in sets:
                call()
            estimate = max(self._sample(sets[0]), 0.5)
            calls = min(max(round(SAMPLE_US / estimate), len(sets) if estimate < SAMPLE_US else 1), MOST_CALLS)
            replays = REPLAYS if calls > 1 else 1
            in_turn = [sets[at % len(sets)] for at in range(calls)]
            once = _each(in_turn) if name in uncaptured else self._capture(in_turn).replay
            jobs[name] = _repeated(once, replays)
            counts[name] = calls * replays
        found = self._alternated(jobs, samples)
        return {name: found[name] / counts[name] for name in contenders}

    def in_stream(self, contenders: dict[str, Call], calls: int = 200, samples: int = SAMPLES) -> dict[str, float]:
        """Microseconds a call of many, back to back: of small jobs the processor's time."""
        found = self._alternated({name: _repeated(call, calls) for name, call in contenders.items()}, samples)
        return {name: us / calls for name, us in found.items()}

    def awaited(self, contenders: dict[str, Call], calls: int = 50, samples: int = SAMPLES) -> dict[str, float]:
        """Microseconds of a call and the synchronisation behind it."""
        times: dict[str, list[float]] = {name: [] for name in contenders}
        for sample in range(-1, samples):
            for name, call in contenders.items():
                torch.cuda.synchronize()
                began = time.perf_counter()
                for _ in range(calls):
                    call()
                    torch.cuda.synchronize()
                if sample >= 0:
                    times[name].append(1e6 * (time.perf_counter() - began) / calls)
        return {name: statistics.median(found) for name, found in times.items()}


def _each(jobs: Sequence[Call]) -> Call:
    def run() -> None:
        for job in jobs:
            job()

    return run


def _repeated(job: Call, times: int) -> Call:
    return job if times == 1 else _each([job] * times)
