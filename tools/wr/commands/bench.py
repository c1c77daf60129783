"""wr bench: how long reductions and softmax take here, and how many bytes that is a second."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..arguments import add_device_option, checked

if TYPE_CHECKING:
    from ..devices import Device
    from ..elements import ElementType
    from ..library import Library
    from ..reduction_jobs import Job

LARGEST = {"host": 26, "gpu": 30}  # log2 of the elements of the largest job

EPILOG = """A time is the median of several samples, in microseconds; GB/s counts what must be read and written once, in
units of 10^9 bytes. On a GPU the calls run back to back in one stream with a workspace of the caller's; at a few
microseconds the figure includes what Python needs to make a call. Data that fits a cache is read from the cache.

'wr bench reduce' has many kinds of reductions of one size, on the host device and on the GPU if there is one, beside a
ceiling: the fastest that NumPy (host) or the driver (GPU) reads or copies as many bytes, measured in the same run.

examples:
  wr bench                                      sums and softmax, from small to large
  wr bench softmax --dtype bf16 --device cuda:0
  wr bench reduce                               operators, rows, columns, segments, fields, beside the ceiling
  wr bench reduce --dtype i8 --largest 20       every operator over 2^20 elements of one type"""


@dataclass(frozen=True)
class Case:
    job: str  # sum or softmax
    shape: tuple[int, int, int]

    @property
    def elements(self) -> int:
        outer, axis, inner = self.shape
        return outer * axis * inner

    @property
    def layout(self) -> str:
        outer, axis, inner = self.shape
        if inner > 1:
            return f"columns of {_count(axis)} x {_count(inner)}"
        return f"{_count(axis)}" if outer == 1 else f"rows {_count(outer)} x {_count(axis)}"

    def moved_bytes(self, size: int) -> int:
        outer, _, inner = self.shape
        return (self.elements + (outer * inner if self.job == "sum" else self.elements)) * size


def _count(number: int) -> str:
    """2^k in Ki, Mi or Gi."""
    for shift, unit in ((30, " Gi"), (20, " Mi"), (10, " Ki")):
        if number >= 1 << shift:
            return f"{number >> shift}{unit}"
    return str(number)


def add_parser(subparsers: Any) -> None:
    from ..elements import element_named

    parser = subparsers.add_parser(
        "bench",
        help="microseconds and GB/s of sizes from small to large",
        description="Times sums (whole array, rows, columns) and softmax over a range of sizes, or every kind of\n"
        "reduction at one size.",
        epilog=EPILOG,
    )
    parser.add_argument(
        "what", nargs="?", choices=("reduce", "softmax"), metavar="reduce|softmax", help="one of the two, in full"
    )
    parser.add_argument("--dtype", type=checked(element_named), metavar="T", help="element type (default: f32)")
    parser.add_argument(
        "--largest",
        type=checked(_exponent),
        metavar="K",
        help="go up to 2^K elements (with 'reduce': as many bytes as 2^K elements of f32, or of --dtype)",
    )
    add_device_option(parser, default=None)
    parser.set_defaults(run=run)


def _exponent(text: str) -> int:
    from ..errors import UsageError

    if not text.isdigit() or not 10 <= int(text) <= 36:
        raise UsageError(f"'{text}' is no whole number from 10 to 36")
    return int(text)


def run(options: argparse.Namespace) -> None:
    from ..devices import open_device
    from ..elements import F32
    from ..library import load_library

    library = load_library()
    if options.what == "reduce":
        _bench_reductions(library, options)
        return
    device = open_device(library, options.device or "host")
    element = options.dtype or F32
    largest = options.largest or _largest_that_fits(device, element)
    for job in ("reduce", "softmax") if options.what is None else (options.what,):
        _bench(library, device, element, list(_reductions(largest) if job == "reduce" else _softmaxes(largest)))


def _bench_reductions(library: Library, options: argparse.Namespace) -> None:
    from ..devices import open_devices
    from ..elements import F32
    from ..reduction_jobs import REPRESENTATIVE, every_operator
    from ..screen import console

    devices, remark = open_devices(library, options.device)
    jobs = list(every_operator(library, options.dtype)) if options.dtype else REPRESENTATIVE
    for device in devices:
        element = options.dtype or F32
        size = element.size << (options.largest or _largest_that_fits(device, element))
        _bench_beside_ceiling(library, device, jobs, size)
    if remark:
        console().print(remark, markup=False)


def _bench_beside_ceiling(library: Library, device: Device, jobs: Sequence[Job], size: int) -> None:
    from ..ceiling import measured_ceiling
    from ..reduction_jobs import ready_to_run
    from ..screen import binary_size, console, progress, table
    from ..timing import median_seconds

    listing = table()
    for heading in ("reduction", "type"):
        listing.add_column(heading)
    for heading in ("us", "GB/s", "of the ceiling"):
        listing.add_column(heading, justify="right")
    with progress("measuring", len(jobs) + 1, bytes_counted=False) as advance:
        ceiling = measured_ceiling(device, size)
        for job in jobs:
            advance(1)
            with ready_to_run(library, device, job, size) as (call, moved):
                seconds = median_seconds(device, call)
            rate = moved / seconds
            share = f"{rate / ceiling.bytes_per_second:.0%}"
            listing.add_row(job.title, job.types, f"{seconds * 1e6:.1f}", f"{rate / 1e9:.1f}", share)
    screen = console()
    screen.print(f"reductions of {binary_size(size)} on {_where(device)}", style="bold")
    screen.print(f"ceiling: {ceiling.bytes_per_second / 1e9:.1f} GB/s, {ceiling.what}", highlight=False)
    screen.print(listing)


def _where(device: Device) -> str:
    cores = len(os.sched_getaffinity(0))
    return device.model if device.is_gpu else f"host, {cores} core{'' if cores == 1 else 's'}"


def _largest_that_fits(device: Device, element: ElementType) -> int:
    if not device.is_gpu:
        return LARGEST["host"]
    # Input and output of softmax, with half of the memory left alone.
    return min(LARGEST["gpu"], (device.free_memory() // (4 * element.size)).bit_length() - 1)


def _reductions(largest: int) -> Iterator[Case]:
    for exponent in sorted({*range(10, largest + 1, 4), largest}):
        yield Case("sum", (1, 1 << exponent, 1))
    for columns in (5, 10):
        yield Case("sum", (1 << max(0, largest - 2 - columns), 1 << columns, 1))
    yield Case("sum", (1, 1 << max(0, largest - 12), 1 << min(10, largest)))


def _softmaxes(largest: int) -> Iterator[Case]:
    for axis in (7, 10, 13, 16):
        yield Case("softmax", (1 << max(0, largest - 2 - axis), 1 << min(axis, largest), 1))
    yield Case("softmax", (1, 1 << min(18, largest), 1))


def _bench(library: Library, device: Device, element: ElementType, cases: list[Case]) -> None:
    from ..screen import console, progress, table

    cores = len(os.sched_getaffinity(0))
    compare_cores = not device.is_gpu and cores > 1
    listing = table()
    listing.add_column("elements")
    for heading in ("one core", "all cores") if compare_cores else ("",):
        listing.add_column(f"{heading} us".strip(), justify="right")
        listing.add_column("GB/s", justify="right")
    with progress("measuring", len(cases), bytes_counted=False) as advance:
        for case in cases:
            times = _times(library, device, element, case, compare_cores)
            cells = [
                (f"{seconds * 1e6:.1f}", f"{case.moved_bytes(element.size) / seconds / 1e9:.1f}") for seconds in times
            ]
            listing.add_row(case.layout, *(cell for pair in cells for cell in pair))
            advance(1)
    screen = console()
    screen.print(f"{cases[0].job} of {element.name} on {_where(device)}", style="bold")
    screen.print(listing)


def _times(library: Library, device: Device, element: ElementType, case: Case, compare_cores: bool) -> list[float]:
    from ..reduction import Reduction, reduce_args
    from ..reduction_jobs import BLOCK, random_words
    from ..softmax import Softmax, softmax_args
    from ..timing import median_seconds

    outer, _, inner = case.shape
    results = outer * inner if case.job == "sum" else case.elements
    block = random_words(element, min(case.elements, BLOCK))
    with device.repeating(block, case.elements) as source, device.memory(results * element.size) as target:
        if case.job == "sum":
            args = reduce_args(Reduction("sum", element, element), source, target, case.shape)
            call = library.reduce
        else:
            args = softmax_args(Softmax(element, element), source, target, case.shape)
            call = library.softmax
        args.workspace_bytes = library.workspace_size(args)
        with device.memory(args.workspace_bytes) as workspace:
            args.workspace = workspace if args.workspace_bytes else None
            everywhere = median_seconds(device, lambda: call(args, device.stream))
            if not compare_cores:
                return [everywhere]
            with _one_core():
                return [median_seconds(device, lambda: call(args, device.stream)), everywhere]


@contextmanager
def _one_core() -> Iterator[None]:
    """Holds this thread, and the threads that it starts, on one core."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
