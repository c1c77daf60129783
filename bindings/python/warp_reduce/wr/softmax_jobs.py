"""The jobs that `wr bench softmax` times: rows of all lengths, few rows, columns, knobs, gradients, logsumexp."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import numpy as np

from .._elements import BF16, F32, ElementType
from .._library import Library, ReduceArgs, SoftmaxArgs, SoftmaxBackwardArgs
from .devices import Device
from .reduction_jobs import BLOCK, random_words
from .softmax import Softmax, softmax_args

WIDTHS = tuple(1 << exponent for exponent in range(5, 21))
AWKWARD_WIDTHS = (33, 768, 1000, 5000, 32000, 50257)
FEW_ROWS = ((1, 32000), (1, 131072), (1, 262144), (1, 1 << 27), (32, 32000), (64, 131072))
KNOBS = {
    "log": "log-softmax",
    "logsumexp": "with logsumexp",
    "mask": "masked",
    "lengths": "of 0 to 4096",
    "causal": "causal",
}
LOGSUMEXP = 18  # wr_op
Shape = tuple[int, int, int]


@dataclass(frozen=True)
class Job:
    """A call of the softmax family. `shape` makes [outer][axis][inner] of a number of elements; None: too few."""

    title: str
    element: ElementType
    shape: Callable[[int], Shape | None]
    what: str = "softmax"  # or gradient, logsumexp
    knob: str = ""
    shift: int = 0  # elements from a boundary of 16 bytes
    width: int = 0  # of plain rows, for a plot


def _rows(width: int) -> Callable[[int], Shape | None]:
    return lambda count: (count // width, width, 1) if count >= width else None


def _columns(height: int) -> Callable[[int], Shape | None]:
    return lambda count: (1, height, count // height) if count >= height else None


def _exactly(rows: int, width: int) -> Callable[[int], Shape | None]:
    return lambda count: (rows, width, 1) if count >= rows * width else None


def jobs_of(element: ElementType) -> Iterator[Job]:
    for width in WIDTHS:
        yield Job(f"rows of {width}", element, _rows(width), width=width)
    for width in AWKWARD_WIDTHS:
        yield Job(f"rows of {width}", element, _rows(width), width=width)
    for width in (1000, 32768):
        yield Job(f"rows of {width}, off by one element", element, _rows(width), shift=1)
    for rows, width in FEW_ROWS:
        yield Job(f"{rows} x {width}", element, _exactly(rows, width))
    for height in (1024, 4096, 32768):
        yield Job(f"columns of {height}", element, _columns(height))
    for knob, title in KNOBS.items():
        yield Job(f"rows of 4096, {title}", element, _rows(4096), knob=knob)
    for width in (1024, 4096, 32768, 262144):
        yield Job(f"gradient of rows of {width}", element, _rows(width), "gradient")
    yield Job("gradient of rows of 4096, log", element, _rows(4096), "gradient", "log")
    yield Job("gradient of rows of 4096, from logits", element, _rows(4096), "gradient", "logsumexp")
    for width in (32, 1024, 32768, 1 << 20):
        yield Job(f"logsumexp of rows of {width}", element, _rows(width), "logsumexp")


def representative() -> list[Job]:
    return [*jobs_of(F32), *jobs_of(BF16)]


class _Memory:
    """A job's arrays on a device, and how many bytes of them it must read and write."""

    def __init__(self, device: Device, job: Job, stack: ExitStack) -> None:
        self._device, self._job, self._stack = device, job, stack
        self.moved = 0

    def input(self, count: int, read: int | None = None) -> int:
        """Random elements, of which the job reads `read`, or all."""
        element, shift = self._job.element, self._job.shift
        block = random_words(element, min(count + shift, BLOCK))
        self.moved += (count if read is None else read) * element.size
        return self._stack.enter_context(self._device.repeating(block, count + shift)) + shift * element.size

    def output(self, count: int, element: ElementType) -> int:
        offset = self._job.shift * element.size
        self.moved += count * element.size
        return self._stack.enter_context(self._device.memory(count * element.size + offset)) + offset

    def numbers(self, array: np.ndarray) -> int:
        self.moved += array.nbytes
        return self._stack.enter_context(self._device.reading(array))

    def mask(self, count: int) -> int:
        """Of 64 elements one is left out, at random."""
        block = (np.random.default_rng(3).integers(0, 64, min(count, BLOCK)) != 0).astype(np.uint8)
        self.moved += count
        return self._stack.enter_context(self._device.repeating(block, count))

    def workspace(self, size: int) -> int | None:
        return self._stack.enter_context(self._device.memory(size)) if size else None


def _state(job: Job) -> ElementType:
    return Softmax(job.element, job.element).logsumexp_element()


def _softmax(job: Job, shape: Shape, memory: _Memory) -> SoftmaxArgs:
    outer, axis, inner = shape
    read = outer * axis * inner
    args = softmax_args(Softmax(job.element, job.element, log=job.knob == "log"), 0, 0, shape)
    if job.knob == "logsumexp":
        args.logsumexp = memory.output(outer * inner, _state(job))
    elif job.knob == "mask":
        args.mask = memory.mask(read)
    elif job.knob == "lengths":
        lengths = np.random.default_rng(4).integers(0, axis, outer * inner, endpoint=True)
        args.lengths, read = memory.numbers(lengths), int(lengths.sum())
    elif job.knob == "causal":
        args.causal, args.causal_first = 1, 1
        read = int((np.arange(outer) % axis + 1).sum()) * inner
    args.input = memory.input(outer * axis * inner, read)
    args.output = memory.output(outer * axis * inner, job.element)
    return args


def _gradient(job: Job, shape: Shape, memory: _Memory) -> SoftmaxBackwardArgs:
    outer, axis, inner = shape
    count = outer * axis * inner
    args = SoftmaxBackwardArgs(dtype=job.element.code)
    args.outer, args.axis, args.inner = shape
    args.log = int(job.knob == "log")
    args.output_gradient = memory.input(count)
    if job.knob == "logsumexp":
        args.input = memory.input(count)
        args.logsumexp = memory.numbers(np.full(outer * inner, np.log(axis), _state(job).storage))
    else:
        args.output = memory.input(count)
    args.input_gradient = memory.output(count, job.element)
    return args


def _logsumexp(job: Job, shape: Shape, memory: _Memory) -> ReduceArgs:
    outer, axis, inner = shape
    return ReduceArgs(
        op=LOGSUMEXP,
        dtype=job.element.code,
        input=memory.input(outer * axis * inner),
        output=memory.output(outer * inner, job.element),
        outer=outer,
        axis=axis,
        inner=inner,
    )


_ARGS = {"softmax": _softmax, "gradient": _gradient, "logsumexp": _logsumexp}


@contextmanager
def ready_to_run(library: Library, device: Device, job: Job, shape: Shape) -> Iterator[tuple[Callable[[], None], int]]:
    """The call, with all its memory and a workspace in place, and how many bytes it must read and write."""
    with ExitStack() as stack:
        memory = _Memory(device, job, stack)
        args = _ARGS[job.what](job, shape, memory)
        args.workspace_bytes = library.workspace_size(args)
        args.workspace = memory.workspace(args.workspace_bytes)
        functions = {
            SoftmaxArgs: library.softmax,
            SoftmaxBackwardArgs: library.softmax_backward,
            ReduceArgs: library.reduce,
        }
        call = functions[type(args)]
        yield lambda: call(args, device.stream), memory.moved
