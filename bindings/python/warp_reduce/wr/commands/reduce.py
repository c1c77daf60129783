"""wr reduce: one operator over a whole array, along one of its axes, or over ragged segments."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..._operators import GIVE_AN_INDEX, OPERATORS
from ..arguments import (
    STREAMED_ABOVE,
    add_device_option,
    add_element_options,
    add_file_options,
    add_state_options,
    checked,
    file_name,
    open_input,
    refuse_same_file,
)
from ..errors import UsageError, WrError
from ..operators import ALIASES, WEIGHTED, WIDENED, operator_named, output_of_command

if TYPE_CHECKING:
    import numpy as np

    from ..._elements import ElementType
    from ..._library import Library
    from ..file_pieces import FileElements
    from ..npy_files import NpyArray
    from ..reduction import Reduction
    from ..saved_state import SavedState

SHOWN = 12

EPILOG = f"""operators: {" ".join(list(OPERATORS)[:9])}
           {" ".join(list(OPERATORS)[9:])}
           (short: {" ".join(ALIASES)})
element types: f32 f64 f16 bf16 f8_e4m3 f8_e5m2 i8 i16 i32 i64 u8 u16 u32 u64 koalabear babybear mersenne31 goldilocks
           koalabear_x4 babybear_x4. What NumPy has no name for is stored as unsigned integers of its size, and named by
           --dtype; an element of an extension (x4) is four uint32 along the last axis, which --axis does not count.
           'wr ops' lists which operator takes and gives which types.

examples:
  wr reduce sum data.npy                                  everything, one number
  wr reduce mean data.npy --axis -1 -o means.npy          each row of a matrix, into a file
  wr reduce argmax data.npy --axis 0 --values peaks.npy   where each column's largest element is, and what it is
  wr reduce norm_l2 data.npy --nan ignore --device cuda:0
  wr reduce logsumexp logits.npy --axis -1                log(sum of exp(x)) of each row
  wr reduce sum pixels.npy                                u8 or any other integers, in 64 bits
  wr reduce sum pixels.npy --output-dtype u8              modulo 256
  wr reduce mean weights.npz:layer1 --axis 0              an array of a .npz file
  wr reduce sum prices.npy --axis 1 --weights amounts.npy each row times one vector
  wr reduce max data.npy --offsets starts.npy             ragged rows: elements starts[s] up to starts[s + 1]
  wr reduce sum words.npy --dtype koalabear               words of the prime field 2^31 - 2^24 + 1
  wr reduce sum today.npy --add-to total.npy -o total.npy the sum so far, and today's
  wr reduce mean huge.raw --dtype f32 --shape=-1,1000 --axis 0 --memory 1G
                                                          a raw file larger than memory, in pieces of 1 GiB together
  wr reduce sum huge.npy --state sum.state                to be stopped, and gone on with by the same command"""


@dataclass(frozen=True)
class Results:
    output: np.ndarray
    values: np.ndarray | None  # the elements at the indices
    took: str
    saved: SavedState | None = None
    share_before: float = 0.0  # of the file that an earlier run has reduced


def add_parser(subparsers: Any) -> None:
    from ..elements import element_named

    element = checked(element_named)
    parser = subparsers.add_parser(
        "reduce",
        help="sum, mean, max, argmax, norm and all other operators over a .npy file",
        description="Reduces a .npy file: all of it, each line of elements along one axis, or ragged segments.",
        epilog=EPILOG,
    )
    parser.add_argument("operator", type=checked(operator_named), metavar="OPERATOR", help="what to compute, see below")
    parser.add_argument("file", type=file_name, metavar="FILE", help="the .npy file, or FILE.npz:NAME")
    parser.add_argument("--axis", type=int, metavar="K", help="reduce this axis only; negative counts from the last")
    parser.add_argument(
        "--offsets", type=file_name, metavar="FILE", help="reduce ragged segments: where each starts, and the end"
    )
    add_element_options(parser)
    add_file_options(parser)
    add_state_options(parser)
    parser.add_argument(
        "--accumulate-dtype", type=element, metavar="T", help="what float sums and products are kept in: f32 or f64"
    )
    parser.add_argument(
        "--nan",
        choices=("propagate", "ignore"),
        default="propagate",
        help="whether a NaN counts (default) or is absent",
    )
    parser.add_argument(
        "--weights",
        type=file_name,
        metavar="FILE",
        help="multiply the elements along the axis with these first (sum, sum_exact)",
    )
    parser.add_argument("--weights-dtype", type=element, metavar="T", help="what the weights are, if not the same")
    parser.add_argument(
        "--values", type=file_name, metavar="FILE", help="argmin, argmax: write the elements there to this .npy file"
    )
    parser.add_argument(
        "--add-to", type=file_name, metavar="FILE", help="combine the results with those in this file, by the operator"
    )
    add_device_option(parser)
    parser.add_argument("-o", "--output", type=file_name, metavar="FILE", help="write the results to this .npy file")
    parser.add_argument("-q", "--quiet", action="store_true", help="print the results alone, one a line")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from ..._library import load_library
    from ..hints import advice_on_reduction, advising
    from ..npy_files import open_npy
    from ..npy_writing import write_all_npy
    from ..reduction import Reduction

    _check(options)
    source = open_input(options.file, options)
    weights = open_npy(options.weights, options.weights_dtype or source.element) if options.weights else None
    weights_type = weights.element if weights else None
    job = Reduction(
        operator=options.operator,
        element=source.element,
        output=_output(options, source.element, weights_type),
        accumulate=options.accumulate_dtype,
        weights=weights_type,
        ignore_nan=options.nan == "ignore",
    )
    library = load_library()
    with advising(lambda: advice_on_reduction(library, job, add=bool(options.add_to))):
        if options.offsets:
            results = _segments(library, options, job, source)
        else:
            results = _array(library, options, job, source, weights)
    write_all_npy([(options.output, results.output, job.output), (options.values, results.values, job.element)])
    if results.saved:
        results.saved.remove()
    if options.quiet:
        _print_bare(results.output, job.output)
    else:
        _print_table(options, source, job, results)


def _output(options: argparse.Namespace, element: ElementType, weights: ElementType | None) -> ElementType:
    """What is asked for; otherwise, of integers, what the results have to which these are added."""
    from ..npy_files import open_npy

    if options.output_dtype:
        return options.output_dtype
    if options.add_to and element.kind == "integer" and options.operator in WIDENED:
        return open_npy(options.add_to, None).element
    return output_of_command(options.operator, element, weights)


def _check(options: argparse.Namespace) -> None:
    if options.offsets and (options.axis is not None or options.weights):
        raise UsageError(
            "--offsets divides the file's elements as they lie, and goes with neither --axis nor --weights"
        )
    if options.state and (options.offsets or options.add_to):
        raise UsageError("--state goes with neither --offsets nor --add-to")
    if options.weights_dtype and not options.weights:
        raise UsageError("--weights-dtype says what the file of --weights holds; add --weights FILE")
    if options.weights and options.operator not in WEIGHTED:
        raise UsageError(f"--weights goes with the operators {' and '.join(WEIGHTED)}, not with {options.operator}")
    if options.values and options.operator not in GIVE_AN_INDEX:
        raise UsageError(f"--values goes with argmin and argmax, not with {options.operator}")
    refuse_same_file("--values", options.values, options.output)


def _array(
    library: Library, options: argparse.Namespace, job: Reduction, source: NpyArray, weights: NpyArray | None
) -> Results:
    from ..devices import open_device
    from ..reduction import Reducer
    from ..screen import duration, progress
    from ..shapes import split_at_axis, without_axis

    if _is_streamed(library, options, job, source):
        return _streamed(library, options, job, source, weights)
    words = source.array.reshape(split_at_axis(source.shape, options.axis))
    shape = without_axis(source.shape, options.axis)
    outer, axis, inner = words.shape
    _check_weights(weights, axis)
    values = _place_for_values(job, (outer, inner))
    old = _old_results(options, job, shape)
    with progress(f"{job.operator} of {options.file}", words.nbytes) as advance:
        reducer = Reducer(library, open_device(library, options.device), advance)
        result = reducer.run(
            job,
            words,
            weights=None if weights is None else weights.words,
            old=None if old is None else old.reshape(outer, inner),
            values=values,
        )
    return Results(result.reshape(shape), None if values is None else values.reshape(shape), duration(reducer.seconds))


def _is_streamed(library: Library, options: argparse.Namespace, job: Reduction, source: NpyArray) -> bool:
    """Whether the file is read in pieces beside the computing. Results are added to where all is mapped memory."""
    from ..states import States

    can_be = not options.add_to and source.place is not None and States(library, job, 1, 1).are_offered
    if options.state and not can_be:
        raise WrError(f"{source.path}: --state is for files in C order and operators that have states")
    return can_be and (bool(options.memory) or bool(options.state) or source.array.nbytes > STREAMED_ABOVE)


def _streamed(
    library: Library, options: argparse.Namespace, job: Reduction, source: NpyArray, weights: NpyArray | None
) -> Results:
    from ..devices import open_device
    from ..file_pieces import FileElements
    from ..lanes import DEFAULT_MEMORY, sizes_of
    from ..screen import pace_in_words, progress
    from ..shapes import split_at_axis, without_axis
    from ..streamed_reduction import StreamedReduction

    elements = FileElements(source, split_at_axis(source.shape, options.axis))
    shape = without_axis(source.shape, options.axis)
    _check_weights(weights, elements.shape[1])
    device = open_device(library, options.device)
    with progress(f"{job.operator} of {options.file}", elements.nbytes) as advance:
        times = 1 + (job.weights.size / job.element.size if job.weights else 0)
        sizes = sizes_of(library, device, options.memory or DEFAULT_MEMORY, times)
        reduction = StreamedReduction(library, device, sizes, advance)
        saved = _saved(options, job, elements, weights) if options.state else None
        factors = FileElements(weights, (1, elements.shape[1], 1)) if weights else None
        result, values = reduction.run(job, elements, factors, saved)
    values = None if values is None else values.reshape(shape)
    share = reduction.bytes_before / max(elements.nbytes, 1)
    return Results(result.reshape(shape), values, pace_in_words(reduction.pace), saved, share)


def _saved(options: argparse.Namespace, job: Reduction, elements: FileElements, weights: NpyArray | None) -> SavedState:
    import hashlib

    from ..saved_state import SavedState, identity_of

    described = {
        **identity_of(elements.place[0]),
        "shape": elements.shape,
        "operator": job.operator,
        "element type": job.element.name,
        "output type": job.output.name,
        "accumulator type": job.accumulate.name if job.accumulate else None,
        "treatment of NaNs": options.nan,
        "weights' type": job.weights.name if job.weights else None,
        "weights' digest": hashlib.sha256(weights.words).hexdigest() if weights else None,
    }
    return SavedState(options.state, described, options.state_every)


def _check_weights(weights: NpyArray | None, axis: int) -> None:
    if weights is not None and weights.words.size != axis:
        raise WrError(f"{weights.path}: there are {weights.words.size} weights for {axis} elements along the axis")


def _segments(library: Library, options: argparse.Namespace, job: Reduction, source: NpyArray) -> Results:
    from ..devices import open_device
    from ..screen import duration, progress
    from ..segments import SegmentReducer, read_offsets

    offsets = read_offsets(options.offsets, source.words.size)
    segments = len(offsets) - 1
    values = _place_for_values(job, (segments,))
    old = _old_results(options, job, (segments,))
    total = int(offsets[-1] - offsets[0]) * job.element.size
    with progress(f"{job.operator} of {options.file}", total) as advance:
        reducer = SegmentReducer(library, open_device(library, options.device), advance)
        result = reducer.run(job, source.words, offsets, old=old, values=values)
    return Results(result, values, duration(reducer.seconds))


def _place_for_values(job: Reduction, shape: tuple[int, ...]) -> np.ndarray | None:
    import numpy as np

    return np.empty(shape, job.element.storage) if job.operator in GIVE_AN_INDEX else None


def _old_results(options: argparse.Namespace, job: Reduction, shape: tuple[int, ...]) -> np.ndarray | None:
    from ..npy_files import open_npy

    if not options.add_to:
        return None
    old = open_npy(options.add_to, job.output)
    if old.shape != shape:
        raise WrError(f"{options.add_to}: its shape is {list(old.shape)}, that of the results is {list(shape)}")
    return old.words.reshape(shape)


def _print_bare(result: np.ndarray, output: ElementType) -> None:
    from ..elements import text_of, values_of

    for value in values_of(result.reshape(-1), output):
        print(text_of(value))


def _print_table(options: argparse.Namespace, source: NpyArray, job: Reduction, results: Results) -> None:
    from ..screen import console, facts

    along = "everything" if options.axis is None else f"axis {options.axis}"
    along = f"the segments of {options.offsets}" if options.offsets else along
    weighted = f" times {options.weights}" if options.weights else ""
    rows = [
        ("input", f"{source.path}, {source.element.name} {list(source.shape)}"),
        ("reduced", f"{job.operator} of {along}{weighted}, on {options.device} in {results.took}"),
    ]
    if results.share_before:
        rows.append(("went on", f"from {options.state}, behind {results.share_before:.1%} of the file"))
    screen = console()
    if results.output.shape == ():
        text, *value = _texts(job, results, 0)
        where = f", where {value[0]} is" if value else ""
        screen.print(facts([*rows, ("result", f"{text}  ({job.output.name}){where}")]))
    else:
        screen.print(facts([*rows, ("results", f"{job.output.name} {list(results.output.shape)}")]))
        _print_results(options, job, results)
    for path in filter(None, (options.output, options.values)):
        screen.print(f"written to {path}")


def _print_results(options: argparse.Namespace, job: Reduction, results: Results) -> None:
    import numpy as np

    from ..screen import console, table

    screen, listing = console(), table()
    for heading in ("at", job.operator, *(["value"] if results.values is not None else [])):
        listing.add_column(heading, justify="right")
    for position in range(min(SHOWN, results.output.size)):
        index = [int(each) for each in np.unravel_index(position, results.output.shape)]
        listing.add_row(str(index), *_texts(job, results, position))
    screen.print(listing)
    if results.output.size > SHOWN:
        hint = "" if options.output else " (-o FILE writes all of them)"
        screen.print(f"and {results.output.size - SHOWN} more{hint}")


def _texts(job: Reduction, results: Results, position: int) -> list[str]:
    """A result, and for an index the element that it leads to."""
    from ..elements import text_of, values_of

    pairs = [(results.output, job.output)] + ([(results.values, job.element)] if results.values is not None else [])
    return [text_of(values_of(words.reshape(-1)[position : position + 1], element)[0]) for words, element in pairs]
