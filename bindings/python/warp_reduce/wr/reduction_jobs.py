"""The reductions that `wr bench reduce` times: shapes and types that people bring, all of one size in bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import numpy as np

from .._elements import BF16, BY_NAME, I64, ElementType
from .._library import DotArgs, Library, ReduceArgs, SegmentsArgs
from .._operators import OPERATORS, default_output
from .devices import Device
from .offers import outputs_of
from .reduction import Reduction, reduce_args
from .segments import segments_args

BLOCK = 1 << 22  # random elements, repeated in larger jobs
TINY_SEGMENTS = 100_000
LONGEST_SEGMENT = 1024


@dataclass(frozen=True)
class Job:
    """A reduction whose input has as many bytes as the bench was told."""

    title: str
    reduction: Reduction
    shape: Callable[[int], tuple[int, int, int]] = field(default=lambda count: (1, count, 1))
    offsets: Callable[[int], np.ndarray] | None = None
    dot: bool = False  # of the input's halves

    @property
    def types(self) -> str:
        element, output = self.reduction.element, self.reduction.output
        return element.name if output is element else f"{element.name} > {output.name}"


def _columns(columns: int) -> Callable[[int], tuple[int, int, int]]:
    return lambda count: (1, max(1, count // columns), columns)


def _rows(columns: int) -> Callable[[int], tuple[int, int, int]]:
    return lambda count: (max(1, count // columns), columns, 1)


def _random_lengths(count: int) -> np.ndarray:
    lengths = np.random.default_rng(2).integers(0, LONGEST_SEGMENT, 1 + 2 * count // LONGEST_SEGMENT, endpoint=True)
    return np.minimum(np.concatenate(([0], np.cumsum(lengths))), count)


def _one_huge(count: int) -> np.ndarray:
    """A segment of nearly everything, and many of four elements."""
    tiny = min(TINY_SEGMENTS, count // 8)
    return np.concatenate(([0], count - 4 * np.arange(tiny, -1, -1)))


def _reduction(operator: str, element: str, output: str | None = None, weighted: bool = False) -> Reduction:
    own = BY_NAME[element]
    given = BY_NAME[output] if output else default_output(operator, own)
    return Reduction(operator, own, given, weights=own if weighted else None)


REPRESENTATIVE = (
    Job("sum", _reduction("sum", "f32")),
    Job("max", _reduction("max", "f32")),
    Job("argmax", _reduction("argmax", "f32")),
    Job("norm_l2", _reduction("norm_l2", "f32")),
    Job("count_nonzero", _reduction("count_nonzero", "f32")),
    Job("dot, two halves", _reduction("sum", "f32", weighted=True), dot=True),
    Job("sum", _reduction("sum", "bf16", "f32")),
    Job("sum", _reduction("sum", "f8_e4m3", "f32")),
    Job("sum", _reduction("sum", "i8", "i32")),
    Job("sum of rows of 16", _reduction("sum", "f32"), _rows(16)),
    Job("sum of rows of 1000", _reduction("sum", "f32"), _rows(1000)),
    Job("argmax of rows of 1000", _reduction("argmax", "f32"), _rows(1000)),
    Job("sum of 16 columns", _reduction("sum", "f32"), _columns(16)),
    Job("sum of 1000 columns", _reduction("sum", "f32"), _columns(1000)),
    Job("weighted sum of 1000 columns", _reduction("sum", "f32", weighted=True), _columns(1000)),
    Job("sum of segments of 0 to 1024", _reduction("sum", "f32"), offsets=_random_lengths),
    Job("sum of one huge segment and tiny ones", _reduction("sum", "f32"), offsets=_one_huge),
    Job("sum", _reduction("sum", "koalabear")),
    Job("sum of 512 columns", _reduction("sum", "koalabear"), _columns(512)),
    Job("dot, two halves", _reduction("sum", "koalabear", weighted=True), dot=True),
    Job("sum", _reduction("sum", "koalabear_x4")),
)


def every_operator(library: Library, element: ElementType) -> Iterator[Job]:
    """The whole array through each operator that takes the type."""
    for operator in OPERATORS:
        offered = outputs_of(library, operator, element)
        default = default_output(operator, element)
        if offered:
            yield Job(operator, Reduction(operator, element, default if default in offered else offered[0]))


@contextmanager
def ready_to_run(library: Library, device: Device, job: Job, size: int) -> Iterator[tuple[Callable[[], None], int]]:
    """The call, with all its memory and a workspace in place, and how many bytes it must read and write."""
    element, output = job.reduction.element, job.reduction.output
    count = max(2, size // element.size)
    with ExitStack() as stack:
        source = stack.enter_context(device.repeating(random_words(element, min(count, BLOCK)), count))
        if job.dot:
            args, results, further = _dot_args(job, source, count // 2), 1, 0
        elif job.offsets:
            offsets = job.offsets(count).astype(np.int64)
            results, further = len(offsets) - 1, offsets.nbytes
            starts = stack.enter_context(device.reading(offsets))
            args = segments_args(job.reduction, source, None, starts, results, I64.code)
        else:
            shape = job.shape(count)
            results, further = shape[0] * shape[2], shape[1] * element.size if job.reduction.weights else 0
            args = reduce_args(job.reduction, source, None, shape)
            if job.reduction.weights:
                args.weights = source  # any numbers will do
        args.output = stack.enter_context(device.memory(results * output.size))
        args.workspace_bytes = library.workspace_size(args)
        if args.workspace_bytes:
            args.workspace = stack.enter_context(device.memory(args.workspace_bytes))
        yield _call(library, device, args), count * element.size + further + results * output.size


def _dot_args(job: Job, source: int, count: int) -> DotArgs:
    return DotArgs(
        dtype=job.reduction.element.code,
        output_dtype=job.reduction.output.code,
        left=source,
        right=source + count * job.reduction.element.size,
        count=count,
    )


def _call(library: Library, device: Device, args: ReduceArgs | SegmentsArgs | DotArgs) -> Callable[[], None]:
    call = {ReduceArgs: library.reduce, SegmentsArgs: library.reduce_segments, DotArgs: library.dot}[type(args)]
    return lambda: call(args, device.stream)


def random_words(element: ElementType, count: int) -> np.ndarray:
    generator = np.random.default_rng(1)
    if element.name in ("f32", "f64", "f16"):
        return generator.standard_normal(count, np.float32).astype(element.storage)
    if element is BF16:
        return (generator.standard_normal(count, np.float32).view(np.uint32) >> 16).astype(element.storage)
    # Small words: no NaN among the f8, canonical in every field.
    return generator.integers(0, 100, count * element.words).astype(element.word).view(element.storage)
