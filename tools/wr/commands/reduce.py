"""wr reduce: one operator over a whole array, or along one of its axes."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ..arguments import add_device_option, add_element_options, checked
from ..library import OPERATORS

if TYPE_CHECKING:
    import numpy as np

    from ..npy_files import NpyArray
    from ..reduction import Reduction

SHOWN = 12

EPILOG = """element types: f32 f64 f16 bf16 (all operators), i32 i64 (sum, min, max; mean with a float --output-dtype),
koalabear (sum). In a .npy file bf16 is uint16 (or V2) with --dtype bf16, koalabear uint32 with --dtype koalabear.

examples:
  wr reduce sum data.npy                                  everything, one number
  wr reduce mean data.npy --axis -1 -o means.npy          each row of a matrix, into a file
  wr reduce max data.npy --axis 0 --device cuda:0         each column, on the first GPU
  wr reduce sum words.npy --dtype koalabear               words of the prime field 2^31 - 2^24 + 1
  wr reduce sum half.npy --dtype bf16 --output-dtype f32  added in f32 and left there
  wr reduce mean counts.npy --output-dtype f64            the mean of integers"""


def add_parser(subparsers: Any) -> None:
    from ..elements import element_named

    parser = subparsers.add_parser(
        "reduce",
        help="sum, mean, min or max of a .npy file",
        description="Reduces a .npy file: all of it, or each line of elements along one axis.",
        epilog=EPILOG,
    )
    parser.add_argument("operator", choices=list(OPERATORS), metavar="OPERATOR", help="sum, mean, min or max")
    parser.add_argument("file", metavar="FILE", help="the .npy file, in C order")
    parser.add_argument("--axis", type=int, metavar="K", help="reduce this axis only; negative counts from the last")
    add_element_options(parser)
    parser.add_argument(
        "--accumulate-dtype",
        type=checked(element_named),
        metavar="T",
        help="type that a float sum is kept in: f32 or f64",
    )
    add_device_option(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="write the results to this .npy file")
    parser.add_argument("-q", "--quiet", action="store_true", help="print the results alone, one a line")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from ..devices import open_device
    from ..library import load_library
    from ..npy_files import open_npy
    from ..reduction import Reducer, Reduction
    from ..screen import progress
    from ..shapes import split_at_axis, without_axis

    library = load_library()
    source = open_npy(options.file, options.dtype)
    words = source.words.reshape(split_at_axis(source.shape, options.axis))
    output = options.output_dtype or source.element
    job = Reduction(options.operator, source.element, output, options.accumulate_dtype)
    with progress(f"{job.operator} of {options.file}", words.nbytes) as advance:
        reducer = Reducer(library, open_device(library, options.device), advance)
        result = reducer.run(job, words).reshape(without_axis(source.shape, options.axis))
    if options.output:
        _write(options.output, result, output)
    if options.quiet:
        _print_bare(result, job)
    else:
        _print_table(options, source, job, result, reducer.seconds)


def _write(path: str, result: np.ndarray, output: Any) -> None:
    from ..npy_files import writing_npy

    with writing_npy(path, result.shape, output) as array:
        array[:] = result.reshape(-1)


def _print_bare(result: np.ndarray, job: Reduction) -> None:
    from ..elements import text_of, values_of

    for value in values_of(result.reshape(-1), job.output):
        print(text_of(value))


def _print_table(
    options: argparse.Namespace, source: NpyArray, job: Reduction, result: np.ndarray, seconds: float
) -> None:
    import numpy as np

    from ..elements import text_of, values_of
    from ..screen import console, duration, facts, table

    along = "everything" if options.axis is None else f"axis {options.axis}"
    rows = [
        ("input", f"{source.path}, {source.element.name} {list(source.shape)}"),
        ("reduced", f"{job.operator} of {along}, on {options.device} in {duration(seconds)}"),
    ]
    screen = console()
    if options.axis is None:
        screen.print(
            facts([*rows, ("result", f"{text_of(values_of(result.reshape(-1), job.output)[0])}  ({job.output.name})")])
        )
    else:
        screen.print(facts([*rows, ("results", f"{job.output.name} {list(result.shape)}")]))
        listing = table()
        listing.add_column("at", justify="right")
        listing.add_column(job.operator, justify="right")
        shown = values_of(result.reshape(-1)[:SHOWN], job.output)
        for position, value in enumerate(shown):
            index = [int(each) for each in np.unravel_index(position, result.shape)]
            listing.add_row(str(index), text_of(value))
        screen.print(listing)
        if result.size > SHOWN:
            hint = "" if options.output else " (-o FILE writes all of them)"
            screen.print(f"and {result.size - SHOWN} more{hint}", markup=False)
    if options.output:
        screen.print(f"written to {options.output}", markup=False)
