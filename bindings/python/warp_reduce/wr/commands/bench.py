"""wr bench: how long reductions and softmax take here, and how many bytes that is a second."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..arguments import add_device_option, checked, file_name

if TYPE_CHECKING:
    from ..._elements import ElementType
    from ..._library import Library
    from ..ceiling import Ceiling
    from ..devices import Device
    from ..rate_plot import Rate

    # title, types, and what puts its memory in place and gives the call and the bytes that it moves
    OpenedJob = tuple[str, str, Callable[[], AbstractContextManager[tuple[Callable[[], None], int]]]]

LARGEST = {"host": 26, "gpu": 30}  # log2 of the elements of the largest job
LARGEST_SOFTMAX = {"host": 20, "gpu": 29}
SECONDS_A_TABLE = 4.0  # of samples, where there are many jobs

EPILOG = """A time is the median of several samples, in microseconds; GB/s and TB/s count what must be read and written
once, in units of 10^9 and 10^12 bytes. On a GPU the calls run back to back in one stream with a workspace of the
caller's; at a few microseconds the figure includes what Python needs to make a call. Data that fits a cache is read
from the cache.

'wr bench reduce' has many kinds of reductions of one size, on the host device and on the GPU if there is one, beside a
ceiling: the fastest that NumPy (host) or the driver (GPU) reads or copies as many bytes, measured in the same run.
'wr bench softmax' likewise has rows of all lengths, columns, masks, lengths, gradients and logsumexp, beside a copy.

examples:
  wr bench --peers                              the host device beside NumPy, SciPy and PyTorch
  wr bench                                      sums and softmax, from small to large
  wr bench softmax                              the softmax family, f32 and bf16, beside a copy
  wr bench softmax --dtype f16 --device cuda:0
  wr bench softmax --plot rates.svg             also a plot over the length of rows (needs matplotlib)
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
    from ..._elements import FLOATS
    from ..elements import element_named

    parser = subparsers.add_parser(
        "bench",
        help="microseconds and GB/s of sizes from small to large",
        description="Times sums (whole array, rows, columns) and softmax over a range of sizes, or every kind of\n"
        "reduction or of softmax at one size.",
        epilog=EPILOG,
    )
    parser.add_argument(
        "what", nargs="?", choices=("reduce", "softmax"), metavar="reduce|softmax", help="one of the two, in full"
    )
    parser.add_argument(
        "--dtype",
        type=checked(element_named),
        metavar="T",
        help=f"element type (default: f32); softmax takes floats only: {' '.join(FLOATS)}",
    )
    parser.add_argument(
        "--largest",
        type=checked(_exponent),
        metavar="K",
        help="go up to 2^K elements (with 'reduce' and 'softmax': as many bytes as 2^K elements of f32, or of --dtype)",
    )
    parser.add_argument(
        "--plot",
        type=checked(_plot_name),
        metavar="FILE",
        help="with 'softmax': draw bytes a second over the length of rows, .svg or .png",
    )
    parser.add_argument(
        "--peers",
        type=file_name,
        nargs="?",
        const=True,
        metavar="FILE",
        help="alone: the host device beside NumPy, SciPy and PyTorch, where they are installed;\n"
        "with --plot and FILE: also what bench/peers.py printed into this file",
    )
    add_device_option(parser, default=None)
    parser.set_defaults(run=run)


def _exponent(text: str) -> int:
    from ..errors import UsageError

    if not text.isdigit() or not 10 <= int(text) <= 36:
        raise UsageError(f"'{text}' is no whole number from 10 to 36")
    return int(text)


def _plot_name(text: str) -> str:
    from ..errors import UsageError
    from ..rate_plot import FORMATS

    if Path(text).suffix.lower() not in FORMATS:
        raise UsageError(f"'{text}' is no name of a plot, which ends in {' or '.join(FORMATS)}")
    return text


def run(options: argparse.Namespace) -> None:
    from ..._elements import F32
    from ..._library import load_library
    from ..devices import open_device
    from ..errors import UsageError
    from ..screen import console
    from ..softmax import floats_only, types_of_softmax

    if options.peers is True and not (options.what or options.plot):
        _bench_peers(load_library())
        return
    if (options.plot and options.what != "softmax") or (options.peers and not options.plot) or options.peers is True:
        raise UsageError("--plot goes with 'wr bench softmax', and --peers with --plot")
    library = load_library()
    if options.what == "reduce":
        _bench_reductions(library, options)
        return
    if options.what == "softmax":
        _bench_softmax(library, options)
        return
    device = open_device(library, options.device or "host")
    element = options.dtype or F32
    largest = options.largest or _largest_that_fits(device, element, LARGEST)
    has_softmax = element in types_of_softmax(library)
    for cases in (_reductions, _softmaxes) if has_softmax else (_reductions,):
        _bench(library, device, element, list(cases(largest)))
    if not has_softmax:
        console().print(f"{floats_only(library)}; skipped for {element.name}")


def _bench_reductions(library: Library, options: argparse.Namespace) -> None:
    from ..._elements import F32
    from ..ceiling import measured_ceiling
    from ..devices import open_devices
    from ..reduction_jobs import REPRESENTATIVE, every_operator, ready_to_run
    from ..screen import console

    devices, remark = open_devices(library, options.device)
    jobs = list(every_operator(library, options.dtype)) if options.dtype else REPRESENTATIVE
    for device in devices:
        element = options.dtype or F32
        size = element.size << (options.largest or _largest_that_fits(device, element, LARGEST))
        opened = [(job.title, job.types, partial(ready_to_run, library, device, job, size)) for job in jobs]
        _bench_beside_ceiling(device, "reduction", size, partial(measured_ceiling, device, size), opened)
    if remark:
        console().print(remark)


def _bench_softmax(library: Library, options: argparse.Namespace) -> None:
    from ..._elements import F32
    from ..ceiling import copy_ceiling
    from ..devices import open_devices
    from ..errors import UsageError
    from ..rate_plot import WHO, Rate, check_place, draw_rates, new_figure
    from ..screen import binary_size, console
    from ..softmax import floats_only, types_of_softmax
    from ..softmax_jobs import jobs_of, ready_to_run, representative

    if options.dtype and options.dtype not in types_of_softmax(library):
        raise UsageError(f"--dtype {options.dtype.name}: {floats_only(library)}")
    if options.plot:
        check_place(options.plot)
    theirs = _rates_of_peers(options.peers) if options.peers else []
    figure = new_figure() if options.plot else None
    devices, remark = open_devices(library, options.device)
    for device in devices:
        element = options.dtype or F32
        size = element.size << (options.largest or _largest_that_fits(device, element, LARGEST_SOFTMAX))
        jobs = list(jobs_of(options.dtype)) if options.dtype else representative()
        shaped = [(job, job.shape(size // job.element.size)) for job in jobs]
        shaped = [(job, shape) for job, shape in shaped if shape is not None]
        opened = [
            (job.title, job.element.name, partial(ready_to_run, library, device, job, shape)) for job, shape in shaped
        ]
        ceiling, rates = _bench_beside_ceiling(device, "softmax", size, partial(copy_ceiling, device, 2 * size), opened)
    if figure is not None:
        ours = [
            Rate(WHO[None], job.element.name, job.width, rate) for (job, _), rate in zip(shaped, rates) if job.width
        ]
        title = f"softmax of rows, {binary_size(size)} in and as many out, {_where(device)}"
        draw_rates(figure, [*ours, *theirs], ceiling.bytes_per_second, title, options.plot)
    if remark:
        console().print(remark)


def _bench_peers(library: Library) -> None:
    from ..host_peers import TABLE, measured, on_cores
    from ..screen import console, progress, table

    cores = len(os.sched_getaffinity(0))
    counts = (1, cores) if cores > 1 else (1,)
    listing = table()
    listing.add_column("f32 unless said")
    for count in counts:
        heading = "one core" if count == 1 else f"{count} cores"
        for column in (f"{heading}, us", "NumPy, SciPy", "PyTorch"):
            listing.add_column(column, justify="right")
    with progress("measuring", len(TABLE) * len(counts), bytes_counted=False) as advance:
        for job in TABLE:
            cells = []
            for count in counts:
                with on_cores(count):
                    times = measured(library, job)
                peers = ("-" if peer is None else f"{peer / times.ours:.2f}" for peer in (times.numpy, times.torch))
                cells += [f"{times.ours * 1e6:.1f}", *peers]
                advance(1)
            listing.add_row(job.title, *cells)
    screen = console()
    screen.print(f"host device beside its peers: a peer's time over ours, on {cores} cores", style="bold")
    screen.print(listing)


def _rates_of_peers(path: str) -> list[Rate]:
    from ..errors import WrError
    from ..rate_plot import LOG2_OF_SMALLEST_JOB, rates_in

    try:
        rates = rates_in(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise WrError(f"{path}: {getattr(error, 'strerror', None) or 'is no text'}") from None
    if not rates:
        raise WrError(
            f"{path}: has no rate to draw; it must hold what bench/peers.py prints, lines such as"
            f" 'torch softmax f32 1048576 x 1024 2130.00 us 4.03 TB/s' of 2^{LOG2_OF_SMALLEST_JOB} elements or more"
        )
    return rates


def _bench_beside_ceiling(
    device: Device, what: str, size: int, measure: Callable[[], Ceiling], jobs: Sequence[OpenedJob]
) -> tuple[Ceiling, list[float]]:
    """Prints the table; gives the ceiling and each job's bytes a second."""
    from ..screen import binary_size, console, progress, table
    from ..timing import SAMPLES, SECONDS_A_SAMPLE, median_seconds

    sample = min(SECONDS_A_SAMPLE, SECONDS_A_TABLE / (SAMPLES * len(jobs)))
    unit, unit_name, digits = (1e12, "TB/s", 2) if device.is_gpu else (1e9, "GB/s", 1)
    listing, rates = table(), []
    for heading in (what, "type"):
        listing.add_column(heading)
    for heading in ("us", unit_name, "of the ceiling"):
        listing.add_column(heading, justify="right")
    with progress("measuring", len(jobs) + 1, bytes_counted=False) as advance:
        ceiling = measure()
        for title, types, open_job in jobs:
            advance(1)
            with open_job() as (call, moved):
                seconds = median_seconds(device, call, sample)
            rate = moved / seconds
            rates.append(rate)
            share = f"{rate / ceiling.bytes_per_second:.0%}"
            listing.add_row(title, types, f"{seconds * 1e6:.1f}", f"{rate / unit:.{digits}f}", share)
    screen = console()
    noun = "reductions" if what == "reduction" else what
    screen.print(f"{noun} of {binary_size(size)} on {_where(device)}", style="bold")
    ceiling_rate = f"{ceiling.bytes_per_second / unit:.{digits}f} {unit_name}"
    screen.print(f"ceiling: {ceiling_rate}, {ceiling.what}", highlight=False)
    screen.print(listing)
    return ceiling, rates


def _where(device: Device) -> str:
    cores = len(os.sched_getaffinity(0))
    return device.model if device.is_gpu else f"host, {cores} core{'' if cores == 1 else 's'}"


def _largest_that_fits(device: Device, element: ElementType, largest: dict[str, int]) -> int:
    if not device.is_gpu:
        return largest["host"]
    # Input and output of softmax, with half of the memory left alone.
    return min(largest["gpu"], (device.free_memory() // (4 * element.size)).bit_length() - 1)


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
