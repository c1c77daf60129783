"""wr state: the states of pieces of an axis, made one by one, merged and finished."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ..arguments import add_element_options, add_shape_option, checked, file_name, open_input, refuse_same_file
from ..errors import UsageError, WrError
from ..operators import WEIGHTED, operator_named, output_of_command

if TYPE_CHECKING:
    import numpy as np

    from ..._library import Library
    from ..reduction import Reduction
    from ..state_files import PieceState

SHOWN = 6

EPILOG = """A state stands for a piece of an axis, from element --first on: one file of many, what one machine has.
States of neighbours merge, in any bracketing, to the bits that one call gives for all of it; those of sum_exact in any
order. The bytes are those of docs/states.md, which the library, Python's warp_reduce.State and others read.

examples:
  wr state reduce mean part0.npy -o 0.state
  wr state reduce mean part1.npy -o 1.state --first 1000000    where the first one has 1000000 elements
  wr state merge 0.state 1.state -o whole.state                in any order
  wr state finish whole.state -o mean.npy
  wr state show *.state                                        also how far a job has come that has --state"""


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "state",
        help="states of pieces of an axis: made, merged, finished, shown",
        description="Reduces an axis that is in several files, piece by piece, to the bits of one call.",
        epilog=EPILOG,
    )
    what = parser.add_subparsers(title="what", metavar="WHAT", required=True)
    _add_reduce(what)
    _add_merge(what)
    _add_finish(what)
    _add_show(what)


def _add_reduce(what: Any) -> None:
    from ..elements import element_named

    element = checked(element_named)
    parser = what.add_parser("reduce", help="the state of a file's elements", epilog=EPILOG)
    parser.add_argument("operator", type=checked(operator_named), metavar="OPERATOR", help="one of 'wr reduce --help'")
    parser.add_argument("file", type=file_name, metavar="FILE", help="the .npy file, or FILE.npz:NAME")
    parser.add_argument(
        "--first", type=checked(_position), default=0, metavar="N", help="where the piece begins (default: 0)"
    )
    parser.add_argument("--axis", type=int, metavar="K", help="the axis that is in pieces; all elements if left out")
    add_element_options(parser)
    add_shape_option(parser)
    parser.add_argument("--accumulate-dtype", type=element, metavar="T", help="what float sums are kept in: f32 or f64")
    parser.add_argument("--nan", choices=("propagate", "ignore"), default="propagate", help="as of 'wr reduce'")
    parser.add_argument("--weights", type=file_name, metavar="FILE", help="the piece's own weights (sum, sum_exact)")
    parser.add_argument("-o", "--output", type=file_name, required=True, metavar="STATE", help="the file to write")
    parser.set_defaults(run=run_reduce)


def _add_merge(what: Any) -> None:
    parser = what.add_parser("merge", help="the states of neighbours as one", epilog=EPILOG)
    parser.add_argument("states", nargs="+", type=file_name, metavar="STATE", help="in any order")
    parser.add_argument("-o", "--output", type=file_name, required=True, metavar="STATE", help="the file to write")
    parser.set_defaults(run=run_merge)


def _add_finish(what: Any) -> None:
    from ..elements import element_named

    parser = what.add_parser("finish", help="the results of a whole axis' state", epilog=EPILOG)
    parser.add_argument("state", type=file_name, metavar="STATE", help="of elements from 0 on")
    parser.add_argument("--output-dtype", type=checked(element_named), metavar="T", help="element type of the results")
    parser.add_argument(
        "--values", type=file_name, metavar="FILE", help="argmin, argmax: write the elements there to this .npy file"
    )
    parser.add_argument("-o", "--output", type=file_name, metavar="FILE", help="write the results to this .npy file")
    parser.add_argument("-q", "--quiet", action="store_true", help="print the results alone, one a line")
    parser.set_defaults(run=run_finish)


def _add_show(what: Any) -> None:
    parser = what.add_parser("show", help="what states are of", epilog=EPILOG)
    parser.add_argument(
        "states", nargs="+", type=file_name, metavar="STATE", help="of pieces, or of a job with --state"
    )
    parser.set_defaults(run=run_show)


def _position(text: str) -> int:
    if not text.isdecimal() or int(text) >= 1 << 62:
        raise UsageError(f"'{text}' is no natural number")
    return int(text)


def run_reduce(options: argparse.Namespace) -> None:
    import numpy as np

    from ..._library import load_library
    from ..hints import advice_on_reduction, advising
    from ..npy_files import open_npy
    from ..reduction import Reduction
    from ..shapes import split_at_axis
    from ..state_files import write_piece_state

    if options.weights and options.operator not in WEIGHTED:
        raise UsageError(f"--weights goes with the operators {' and '.join(WEIGHTED)}, not with {options.operator}")
    library = load_library()
    source = open_input(options.file, options)
    weights = open_npy(options.weights, source.element) if options.weights else None
    job = Reduction(
        operator=options.operator,
        element=source.element,
        output=options.output_dtype or output_of_command(options.operator, source.element),
        accumulate=options.accumulate_dtype,
        weights=weights.element if weights else None,
        ignore_nan=options.nan == "ignore",
    )
    words = np.ascontiguousarray(source.array).reshape(split_at_axis(source.shape, options.axis))
    if weights and weights.words.size != words.shape[1]:
        raise WrError(
            f"{weights.path}: there are {weights.words.size} weights for {words.shape[1]} elements along the axis"
        )
    with advising(lambda: advice_on_reduction(library, job, add=False)):
        state = _state_of(library, job, words, options.first, weights.words if weights else None)
    write_piece_state(options.output, state)
    run_show(argparse.Namespace(states=[options.output]))


def _state_of(
    library: Library, job: Reduction, words: np.ndarray, first: int, weights: np.ndarray | None
) -> np.ndarray:
    from ..._library import Refused
    from ..reduction import explained
    from ..states import States

    try:
        states = States(library, job, words.shape[0], words.shape[2])
        part = states.new(first, words.shape[1])
        args = states.args_of(part)
        args.input, args.state = words.ctypes.data, part.state.ctypes.data
        if weights is not None:
            args.weights = weights.ctypes.data
        library.call(args, library.host_stream)
    except Refused as refusal:
        raise explained(refusal, job) from None
    return part.state


def run_merge(options: argparse.Namespace) -> None:
    from ..._library import load_library
    from ..state_files import merged, read_piece_state, write_piece_state

    pieces = [read_piece_state(path) for path in options.states]
    write_piece_state(options.output, merged(load_library(), pieces).state)
    run_show(argparse.Namespace(states=[options.output]))


def run_finish(options: argparse.Namespace) -> None:
    from ..._library import load_library
    from ..._operators import GIVE_AN_INDEX
    from ..elements import text_of, values_of
    from ..npy_writing import write_all_npy
    from ..screen import console, facts
    from ..state_files import finished, read_piece_state

    piece = read_piece_state(options.state)
    if options.values and piece.job.operator not in GIVE_AN_INDEX:
        raise UsageError(f"--values goes with argmin and argmax, and {options.state} is of {piece.job.operator}")
    refuse_same_file("--values", options.values, options.output)
    result, values, job = finished(load_library(), piece, options.output_dtype)
    shape = () if result.size == 1 else (result.size,)
    values = None if values is None else values.reshape(shape)
    write_all_npy([(options.output, result.reshape(shape), job.output), (options.values, values, job.element)])
    texts = [text_of(each) for each in values_of(result.reshape(-1)[: None if options.quiet else SHOWN], job.output)]
    if options.quiet:
        print("\n".join(texts))
        return
    more = f" and {result.size - SHOWN} more" if result.size > SHOWN else ""
    name = "result" if result.size == 1 else f"{result.size} results"
    console().print(facts([*_facts(piece), (name, f"{'  '.join(texts)}{more}  ({job.output.name})")]))
    for path in filter(None, (options.output, options.values)):
        console().print(f"written to {path}")


def run_show(options: argparse.Namespace) -> None:
    from ..saved_state import described
    from ..screen import console, facts
    from ..state_files import read_piece_state

    for path in options.states:
        job = described(path)
        rows = [("state", f"{path}, of a job that goes on from it"), *job] if job else _facts(read_piece_state(path))
        console().print(facts(rows))


def _facts(piece: PieceState) -> list[tuple[str, str]]:
    job, results = piece.job, piece.outer * piece.inner
    weights = f" with weights of {job.weights.name}" if job.weights else ""
    accumulate = f", kept in {job.accumulate.name}" if job.accumulate else ""
    ignoring = ", NaNs left out" if job.ignore_nan else ""
    many = "" if results == 1 else f", {results} results ([{piece.outer}][axis][{piece.inner}])"
    where = "any (exact sums merge in any order)" if piece.is_exact else f"{piece.part.first} up to {piece.part.end}"
    return [
        ("state", f"{piece.path}, {piece.part.state.size} bytes"),
        ("of", f"{job.operator} of {job.element.name}{weights}{accumulate}{ignoring}{many}"),
        ("elements", where),
    ]
