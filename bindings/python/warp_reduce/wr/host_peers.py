"""The host device beside NumPy, SciPy and PyTorch, whichever are installed: the same jobs on the same memory.

Each job runs in turn with its peers, so that a machine that slows down slows all of them, and the least time of several
rounds counts: what the machine can do where nothing disturbs it. A round is as many calls as take some milliseconds. On
several cores it begins once the threads of the one before it sleep, for OpenMP's watch for work for some time, up to 30
ms where a processor takes 100 ns to pause, and with half as many calls that are not timed: the first ones wake threads
and find the data in other cores' caches.
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

from .._elements import BF16, BY_NAME, F32, F64, I32, I64, U8, ElementType
from .._library import Args, DotArgs, Library, SoftmaxBackwardArgs
from .reduction import Reduction, reduce_args
from .segments import segments_args
from .softmax import Softmax, softmax_args

ROUNDS = 15
SECONDS_A_ROUND = 0.004
SECONDS_TO_FALL_ASLEEP = 0.1  # at most
SECONDS_A_LOOK = 0.005  # longer than a tick of the system's clock, by which it knows what running threads took
CALLS_TO_WARM_UP = 10
F16 = BY_NAME["f16"]
SEGMENT = 32  # elements of each segment of a ragged sum

# Those whose result has the shape of the input.
OF_EVERY_ELEMENT = ("softmax", "log_softmax", "softmax_backward")

Call = Callable[[], Any]


@dataclass(frozen=True)
class PeerJob:
    """A reduction, a softmax or its gradient over the middle one of three axes; a dot product or a sum of segments of a
    whole array."""

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
        return f"{self.operator.replace('_', ' ')} {where}{'' if self.element is F32 else ' ' + self.element.name}"


def _table() -> Iterator[PeerJob]:
    for count in (1000, 1 << 16, 1 << 20, 1 << 26):
        for operator in ("sum", "max", "argmax"):
            yield PeerJob(operator, (1, count, 1))
    rows, columns, middle = (4096, 1024, 1), (1, 4096, 1024), (64, 128, 512)
    for operator in ("sum", "softmax"):
        yield PeerJob(operator, rows)
        yield PeerJob(operator, rows, BF16)
        for shape in (columns, middle):
            for element in (F32, BF16, F64):
                yield PeerJob(operator, shape, element)
    yield PeerJob("softmax", (100_000, 10, 1))
    yield PeerJob("logsumexp", (100_000, 10, 1))
    yield PeerJob("softmax", (1, 151_936, 1))
    million = (1, 1 << 20, 1)
    for element in (F64, F16, BF16, I64, I32, U8):
        yield PeerJob("sum", million, element)
        yield PeerJob("max", million, element)
    yield PeerJob("norm_l2", million)
    yield PeerJob("norm_l2", rows)
    yield PeerJob("dot", million)
    yield PeerJob("segments", million)
    for element in (F32, F64, F16):
        yield PeerJob("log_softmax", rows, element)
    for shape in (rows, columns, middle):
        yield PeerJob("softmax_backward", shape)
    for shape in (rows, columns):
        yield PeerJob("softmax_backward", shape, BF16)


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
    """In the words of the element; floats from -4 to 4 (weights from 0.1 to 1), integers from 0 to 99."""
    generator = np.random.default_rng(54)
    if job.element.kind == "integer":
        return generator.integers(0, 100, job.shape, job.element.storage)
    values = generator.random(job.shape, np.float32)
    values *= 8
    values -= 4
    if job.operator == "softmax_backward":
        values = (values + np.float32(5)) / np.float32(9)
    return (values.view(np.uint32) >> 16).astype(np.uint16) if job.element is BF16 else values.astype(job.element.word)


def our_call(library: Library, job: PeerJob, words: np.ndarray) -> Call:
    args, memory = _our_args(job, words)
    call = library.prepared(args, library.host_stream)
    if call() != 0:
        raise RuntimeError(f"{job.title} was refused")
    call.memory = (args, *memory)  # lives as long as the call; the output is the first array
    return call


def _our_args(job: PeerJob, words: np.ndarray) -> tuple[Args, list[np.ndarray]]:
    outer, axis, inner = job.shape
    code, source = job.element.code, words.ctypes.data
    if job.operator in OF_EVERY_ELEMENT:
        output = np.empty(job.shape, job.element.word)
        target = output.ctypes.data
        if job.operator == "softmax_backward":
            args = SoftmaxBackwardArgs(dtype=code, output=source, output_gradient=source, input_gradient=target)
            args.outer, args.axis, args.inner = job.shape
            return args, [output]
        forward = Softmax(job.element, job.element, log=job.operator == "log_softmax")
        return softmax_args(forward, source, target, job.shape), [output]
    output_type = _output_type(job)
    if job.operator == "dot":
        output = np.empty(1, output_type.word)
        return DotArgs(dtype=code, left=source, right=source, output=output.ctypes.data, count=axis), [output]
    if job.operator == "segments":
        offsets = np.arange(0, axis + 1, SEGMENT)
        output = np.empty(offsets.size - 1, output_type.word)
        sum_of = Reduction("sum", job.element, output_type)
        places = source, output.ctypes.data, offsets.ctypes.data
        return segments_args(sum_of, *places, output.size, I64.code), [output, offsets]
    output = np.empty((outer, inner), output_type.word)
    return reduce_args(Reduction(job.operator, job.element, output_type), source, output.ctypes.data, job.shape), [
        output
    ]


def _output_type(job: PeerJob) -> ElementType:
    """An index's type, or the type in which NumPy and PyTorch sum."""
    sums_of_integers = job.operator == "sum" and job.element.kind == "integer"
    if sums_of_integers and not job.element.is_signed:
        return BY_NAME["u64"]
    return I64 if sums_of_integers or job.operator in ("argmax", "argmin") else job.element


def numpy_call(job: PeerJob, words: np.ndarray) -> Call | None:
    """NumPy's function, or SciPy's where NumPy has none."""
    if job.element is BF16 or job.operator == "softmax_backward":
        return None
    array = words.reshape(-1) if words.size == words.shape[1] else words
    axis = None if array.ndim == 1 else 1
    if job.operator in ("softmax", "log_softmax", "logsumexp"):
        special = optional_module("scipy.special")
        return None if special is None else partial(getattr(special, job.operator), array, axis=axis)
    if job.operator == "norm_l2":
        return partial(np.linalg.norm, array if axis is None else array[:, :, 0], axis=axis)
    if job.operator == "dot":
        return partial(np.dot, array, array)
    if job.operator == "segments":
        return partial(np.add.reduceat, array, np.arange(0, array.size, SEGMENT))
    return partial(getattr(array, job.operator), axis=axis)


def torch_call(job: PeerJob, words: np.ndarray) -> Call | None:
    torch = optional_module("torch")
    if torch is None:
        return None
    tensor = torch.from_numpy(words.view(np.int16) if job.element is BF16 else words)
    tensor = tensor.view(torch.bfloat16) if job.element is BF16 else tensor
    whole = tensor.view(-1)
    if job.operator == "softmax_backward":
        return partial(torch.ops.aten._softmax_backward_data, tensor, tensor, 1, tensor.dtype)
    if job.operator in ("softmax", "log_softmax"):
        return partial(getattr(torch, job.operator), tensor, 1)
    if job.operator == "norm_l2":
        return partial(torch.linalg.vector_norm, tensor, 2, 1)
    if job.operator == "dot":
        return partial(torch.dot, whole, whole)
    if job.operator == "segments":
        offsets = torch.arange(0, whole.numel() + 1, SEGMENT)
        return partial(torch.segment_reduce, whole, "sum", offsets=offsets)
    if words.size == words.shape[1] and job.operator != "logsumexp":
        return partial(getattr(torch, job.operator), whole)
    return partial(getattr(torch, "amax" if job.operator == "max" else job.operator), tensor, 1)


def least_times(calls: list[Call | None], rounds: int = ROUNDS) -> list[float | None]:
    """Seconds of one call of each, the calls in turns."""
    repeats = [0 if call is None else _calls_a_round(call) for call in calls]
    least: list[float | None] = [None] * len(calls)
    for _ in range(rounds):
        for i, call in enumerate(calls):
            if call is not None:
                if len(os.sched_getaffinity(0)) > 1:
                    _let_threads_fall_asleep()
                    _seconds(call, (repeats[i] + 1) // 2)
                seconds = _seconds(call, repeats[i]) / repeats[i]
                least[i] = min(seconds, least[i] or seconds)
    return least


def _let_threads_fall_asleep() -> None:
    """Returns once this process, all threads together, no longer takes as much as a quarter of one core."""
    give_up = time.perf_counter() + SECONDS_TO_FALL_ASLEEP
    while time.perf_counter() < give_up:
        start, spent = time.perf_counter(), time.process_time()
        time.sleep(SECONDS_A_LOOK)
        if time.process_time() - spent < (time.perf_counter() - start) / 4:
            return


def _calls_a_round(call: Call) -> int:
    """By the quickest of some: those before it wake threads, or find memory that nothing has touched."""
    return max(1, int(SECONDS_A_ROUND / max(min(_seconds(call, 1) for _ in range(CALLS_TO_WARM_UP)), 1e-7)))


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
