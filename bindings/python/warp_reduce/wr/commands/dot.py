"""wr dot: the dot product of two .npy files."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ..arguments import (
    STREAMED_ABOVE,
    add_device_option,
    add_element_options,
    add_file_options,
    add_state_options,
    checked,
    file_name,
    open_input,
)
from ..errors import UsageError, WrError

if TYPE_CHECKING:
    import numpy as np

    from ..._elements import ElementType
    from ..._library import Library
    from ..file_pieces import FileElements
    from ..npy_files import NpyArray
    from ..reduction import Reduction
    from ..saved_state import SavedState

EPILOG = """The elements of both files are taken in the order in which they lie. Each product is rounded once (floats),
and then added as 'wr reduce sum' adds. Floats of any type, integers (in 64 bits, or that of --output-dtype), and field
elements; one file may hold elements of an extension and the other of its base field. With --exact neither products nor
sums are rounded, but the result once. --shape, --memory and --state are for both files alike.

examples:
  wr dot a.npy b.npy
  wr dot a.npy b.npy --exact                              the correctly rounded dot product of floats
  wr dot a.npy b.npy --accumulate-dtype f64 --output-dtype f64
  wr dot counts.npy prices.npz:today
  wr dot today.npy prices.npy --add-to total.npy -o total.npy
  wr dot huge.raw other.raw --dtype bf16 --shape=-1 --memory 2G --state dot.state
  wr dot words.npy powers.npy --dtype koalabear --right-dtype koalabear_x4 --device cuda:0"""


def add_parser(subparsers: Any) -> None:
    from ..elements import element_named

    element = checked(element_named)
    parser = subparsers.add_parser(
        "dot",
        help="the dot product of two .npy files",
        description="Multiplies two .npy files element by element and adds the products.",
        epilog=EPILOG,
    )
    parser.add_argument("left", type=file_name, metavar="LEFT", help="a .npy file, or FILE.npz:NAME")
    parser.add_argument("right", type=file_name, metavar="RIGHT", help="another of the same shape; may be the same")
    add_element_options(parser)
    parser.add_argument("--right-dtype", type=element, metavar="T", help="what RIGHT holds, if not the same as LEFT")
    parser.add_argument(
        "--exact", action="store_true", help="the exact sum of the exact products, rounded once (floats)"
    )
    parser.add_argument("--accumulate-dtype", type=element, metavar="T", help="what a float sum is kept in: f32 or f64")
    parser.add_argument(
        "--add-to", type=file_name, metavar="FILE", help="add the one number in this file to the result"
    )
    add_file_options(parser)
    add_state_options(parser)
    add_device_option(parser)
    parser.add_argument("-o", "--output", type=file_name, metavar="FILE", help="write the result to this .npy file")
    parser.add_argument("-q", "--quiet", action="store_true", help="print the result alone")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from ..._library import load_library
    from ..hints import advice_on_dot, advising
    from ..npy_writing import writing_npy
    from ..reduction import Reduction

    _check(options)
    library = load_library()
    left = open_input(options.left, options)
    right = open_input(options.right, options, options.right_dtype or left.element)
    if left.shape != right.shape:
        raise WrError(
            f"{left.path} has the shape {list(left.shape)}, {right.path} {list(right.shape)}; save them alike"
        )
    output = _output(options, left.element, right.element)
    # A dot product is by definition a sum with weights, and so has its pieces.
    operator = "sum_exact" if options.exact else "sum"
    job = Reduction(operator, left.element, output, options.accumulate_dtype, right.element)
    with advising(lambda: advice_on_dot(library, job, add=bool(options.add_to))):
        if _is_streamed(library, options, job, left, right):
            result, took, before, saved = _streamed(library, options, job, left, right)
        else:
            result, took, before, saved = *_mapped(library, options, job, left, right), 0.0, None
    if options.output:
        with writing_npy(options.output, (), output) as array:
            array[:] = result
    if saved:
        saved.remove()
    _print(options, left, right, output, result, took, before)


def _check(options: argparse.Namespace) -> None:
    if options.exact and (options.accumulate_dtype or options.add_to):
        raise UsageError("--exact rounds once, at the end, and goes with neither --accumulate-dtype nor --add-to")
    if options.state and options.add_to:
        raise UsageError("--state does not go with --add-to")


def _output(options: argparse.Namespace, left: ElementType, right: ElementType) -> ElementType:
    """What is asked for; otherwise, of integers, what the number has that is added."""
    from ..npy_files import open_npy
    from ..operators import output_of_command

    if options.output_dtype:
        return options.output_dtype
    if options.add_to and left.kind == "integer":
        return open_npy(options.add_to, None).element
    return output_of_command("sum", left, right)


def _is_streamed(
    library: Library, options: argparse.Namespace, job: Reduction, left: NpyArray, right: NpyArray
) -> bool:
    from ..states import States

    in_place = all(each.place is not None for each in (left, right))
    can_be = in_place and not options.add_to and States(library, job, 1, 1).are_offered
    if options.state and not can_be:
        raise WrError(f"{left.path}: --state is for files in C order, and for types whose sum with weights has states")
    return can_be and (bool(options.memory) or bool(options.state) or left.array.nbytes > STREAMED_ABOVE)


def _mapped(
    library: Library, options: argparse.Namespace, job: Reduction, left: NpyArray, right: NpyArray
) -> tuple[np.ndarray, str]:
    from ..devices import open_device
    from ..npy_files import open_npy
    from ..reduction import Reducer
    from ..screen import duration, progress

    old = open_npy(options.add_to, job.output).words if options.add_to else None
    if old is not None and old.size != 1:
        raise WrError(f"{options.add_to}: has {old.size} elements; the result is one number")
    with progress(_label(options), left.words.nbytes) as advance:
        reducer = Reducer(library, open_device(library, options.device), advance)
        old = None if old is None else old.reshape(1, 1)
        result = reducer.run(job, left.words.reshape(1, -1, 1), weights=right.words, old=old)
    return result.reshape(()), duration(reducer.seconds)


def _streamed(
    library: Library, options: argparse.Namespace, job: Reduction, left: NpyArray, right: NpyArray
) -> tuple[np.ndarray, str, float, SavedState | None]:
    """The result, how long it took, the share of the work that an earlier run has done, and its state."""
    from ..devices import open_device
    from ..file_pieces import FileElements
    from ..lanes import DEFAULT_MEMORY, sizes_of
    from ..screen import pace_in_words, progress
    from ..streamed_reduction import StreamedReduction

    elements, factors = (FileElements(each, (1, left.array.size, 1)) for each in (left, right))
    device = open_device(library, options.device)
    times = 1 + right.element.size / left.element.size
    sizes = sizes_of(library, device, options.memory or DEFAULT_MEMORY, times)
    with progress(_label(options), elements.nbytes) as advance:
        reduction = StreamedReduction(library, device, sizes, advance)
        saved = _saved(options, job, elements, factors) if options.state else None
        result, _ = reduction.run(job, elements, factors, saved)
    share = reduction.bytes_before / max(elements.nbytes, 1)
    return result.reshape(()), pace_in_words(reduction.pace), share, saved


def _saved(options: argparse.Namespace, job: Reduction, left: FileElements, right: FileElements) -> SavedState:
    from ..saved_state import SavedState, identity_of

    described = {
        **identity_of(left.place[0]),
        **{f"right {name}": each for name, each in identity_of(right.place[0]).items()},
        "shape": left.shape,
        "operator": "exact dot product" if options.exact else "dot product",
        "element type": job.element.name,
        "right element type": right.element.name,
        "output type": job.output.name,
        "accumulator type": job.accumulate.name if job.accumulate else None,
    }
    return SavedState(options.state, described, options.state_every)


def _label(options: argparse.Namespace) -> str:
    return f"{options.left} times {options.right}"


def _print(
    options: argparse.Namespace,
    left: NpyArray,
    right: NpyArray,
    output: ElementType,
    result: np.ndarray,
    took: str,
    before: float,
) -> None:
    from ..elements import text_of, values_of
    from ..screen import console, facts

    text = text_of(values_of(result.reshape(1), output)[0])
    if options.quiet:
        print(text)
        return
    name = "exact dot product" if options.exact else "dot product"
    rows = [
        ("left", f"{left.path}, {left.element.name} {list(left.shape)}"),
        ("right", f"{right.path}, {right.element.name} {list(right.shape)}"),
        ("computed", f"{name}, on {options.device} in {took}"),
    ]
    if before:
        rows.append(("went on", f"from {options.state}, behind {before:.1%} of the files"))
    console().print(facts([*rows, ("result", f"{text}  ({output.name})")]))
    if options.output:
        console().print(f"written to {options.output}")
