"""The host device beside NumPy, SciPy and PyTorch, whichever are installed: the same jobs on the same memory.

Each job runs in turn with its peers, so that a machine that slows down slows all of them, and the least time of several
rounds counts: what the machine can do where nothing disturbs it. A round is as many calls as take some milliseconds.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from .._elements import BF16, F32, I64, ElementType
from .._library import Library
from .reduction import Reduction, reduce_args
from .softmax import Softmax, softmax_args

ROUNDS = 15
SECONDS_A_ROUND = 0.004
INDEX_OPERATORS = ("argmax", "argmin")

Call = Callable[[], Any]


@dataclass(frozen=True)
class PeerJob:
    """A reduction or a softmax over the middle one of three axes."""

    operator: str
    shape: tuple[int, int, int]
    element: ElementType = F32

    @property
    def title(self) -> str:
        outer, axis, inner = self.shape
        if inner > 1:
            where = f"columns {axis} x {inner}" if outer == 1 else f"middle axis {outer} x {axis} x {inner}"
        else:
            where = f"{axis}" if outer == 1 else f"rows {outer} x {axis}"
        return f"{self.operator} {where}{'' if self.element is F32 else ' ' + self.element.name}"


def _table() -> Iterator[PeerJob]:
    for count in (1000, 1 << 16, 1 << 20, 1 << 26):
        for operator in ("sum", "max", "argmax"):
            yield PeerJob(operator, (1, count, 1))
    rows, columns, middle = (4096, 1024, 1), (1, 4096, 1024), (64, 128, 512)
    for operator in ("sum", "softmax"):
        yield PeerJob(operator, rows)
        yield PeerJob(operator, rows, BF16)
        yield PeerJob(operator, columns)
        yield PeerJob(operator, middle)
    yield PeerJob("softmax", (100_000, 10, 1))
    yield PeerJob("logsumexp", (100_000, 10, 1))
    yield PeerJob("softmax", (1, 151_936, 1))


TABLE = tuple(_table())


@dataclass(frozen=True)
class Times:
    """Seconds of one call; None where a peer is not installed or does not know the type."""

    ours: float
    numpy: float | None  # or SciPy, for what NumPy does not have
    torch: float | None


def optional_module(name: str) -> ModuleType | None:
    try:
        return __import__(name, fromlist=["_"])
    except ImportError:
        return None


def random_input(job: PeerJob) -> np.ndarray:
    """In the words of the element; values from -4 to 4."""
    values = np.random.default_rng(54).random(job.shape, np.float32)
    values *= 8
    values -= 4
    return values if job.element is F32 else (values.view(np.uint32) >> 16).astype(np.uint16)


def our_call(library: Library, job: PeerJob, words: np.ndarray) -> Call:
    outer, axis, inner = job.shape
    softmax = job.operator == "softmax"
    index = job.operator in INDEX_OPERATORS
    output_type = I64 if index else job.element
    output = np.empty(job.shape if softmax else (outer, inner), output_type.word)
    source, target = words.ctypes.data, output.ctypes.data
    if softmax:
        args = softmax_args(Softmax(job.element, job.element), source, target, job.shape)
    else:
        args = reduce_args(Reduction(job.operator, job.element, output_type), source, target, job.shape)
    call = library.prepared(args, library.host_stream)
    if call() != 0:
        raise RuntimeError(f"{job.title} was refused")
    call.memory = (args, output)  # lives as long as the call
    return call


def numpy_call(job: PeerJob, words: np.ndarray) -> Call | None:
    """NumPy's function, or SciPy's where NumPy has none."""
    if job.element is not F32:
        return None
    array = words.reshape(-1) if words.size == words.shape[1] else words
    axis = None if array.ndim == 1 else 1
    if job.operator in ("softmax", "logsumexp"):
        special = optional_module("scipy.special")
        return None if special is None else partial(getattr(special, job.operator), array, axis=axis)
    return partial(getattr(array, job.operator), axis=axis)


def torch_call(job: PeerJob, words: np.ndarray) -> Call | None:
    torch = optional_module("torch")
    if torch is None:
        return None
    tensor = torch.from_numpy(words if job.element is F32 else words.view(np.int16).view())
    tensor = tensor if job.element is F32 else tensor.view(torch.bfloat16)
    if job.operator == "softmax":
        return partial(torch.softmax, tensor, 1)
    if words.size == words.shape[1] and job.operator != "logsumexp":
        return partial(getattr(torch, job.operator), tensor.view(-1))
    return partial(getattr(torch, "amax" if job.operator == "max" else job.operator), tensor, 1)


def least_times(calls: list[Call | None], rounds: int = ROUNDS) -> list[float | None]:
    """Seconds of one call of each, the calls in turns."""
    repeats = [0 if call is None else max(1, int(SECONDS_A_ROUND / max(_seconds(call, 1), 1e-7))) for call in calls]
    least: list[float | None] = [None] * len(calls)
    for _ in range(rounds):
        for i, call in enumerate(calls):
            if call is not None:
                seconds = _seconds(call, repeats[i]) / repeats[i]
                least[i] = min(seconds, least[i] or seconds)
    return least


def _seconds(call: Call, repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return time.perf_counter() - start


def measured(library: Library, job: PeerJob, rounds: int = ROUNDS) -> Times:
    words = random_input(job)
    calls = [our_call(library, job, words), numpy_call(job, words), torch_call(job, words)]
    for call in calls:
        if call is not None:
            call()
    ours, numpy, torch = least_times(calls, rounds)
    assert ours is not None
    return Times(ours, numpy, torch)


@contextmanager
def on_cores(count: int) -> Iterator[None]:
    """Holds this thread, its peers' threads and ours to so many cores."""
    allowed = os.sched_getaffinity(0)
    torch = optional_module("torch")
    threads = torch.get_num_threads() if torch else 0
    os.sched_setaffinity(0, set(sorted(allowed)[:count]))
    if torch:
        torch.set_num_threads(count)
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
        if torch:
            torch.set_num_threads(threads)
