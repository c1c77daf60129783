"""wr dot: the dot product of two .npy files."""

from __future__ import annotations

import argparse
from typing import Any

from ..arguments import add_device_option, add_element_options, checked, file_name
from ..errors import WrError

EPILOG = """The elements of both files are taken in the order in which they lie. Each product is rounded once (floats),
and then added as 'wr reduce sum' adds. Floats of any type, integers (in 64 bits, or that of --output-dtype), and field
elements; one file may hold elements of an extension and the other of its base field.

examples:
  wr dot a.npy b.npy
  wr dot a.npy b.npy --accumulate-dtype f64 --output-dtype f64
  wr dot counts.npy prices.npz:today
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
    parser.add_argument("--accumulate-dtype", type=element, metavar="T", help="what a float sum is kept in: f32 or f64")
    add_device_option(parser)
    parser.add_argument("-o", "--output", type=file_name, metavar="FILE", help="write the result to this .npy file")
    parser.add_argument("-q", "--quiet", action="store_true", help="print the result alone")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from ..._library import load_library
    from ..devices import open_device
    from ..elements import text_of, values_of
    from ..hints import advice_on_dot, advising
    from ..npy_files import open_npy
    from ..npy_writing import writing_npy
    from ..operators import output_of_command
    from ..reduction import Reducer, Reduction
    from ..screen import console, duration, facts, progress

    library = load_library()
    left = open_npy(options.left, options.dtype)
    right = open_npy(options.right, options.right_dtype or left.element)
    if left.shape != right.shape:
        raise WrError(
            f"{left.path} has the shape {list(left.shape)}, {right.path} {list(right.shape)}; save them alike"
        )
    output = options.output_dtype or output_of_command("sum", left.element, right.element)
    # A dot product is by definition a sum with weights, and so has its pieces.
    job = Reduction("sum", left.element, output, options.accumulate_dtype, right.element)
    label = f"{options.left} times {options.right}"
    with advising(lambda: advice_on_dot(library, job)), progress(label, left.words.nbytes) as advance:
        reducer = Reducer(library, open_device(library, options.device), advance)
        result = reducer.run(job, left.words.reshape(1, -1, 1), weights=right.words).reshape(())
    if options.output:
        with writing_npy(options.output, (), output) as array:
            array[:] = result
    text = text_of(values_of(result.reshape(1), output)[0])
    if options.quiet:
        print(text)
        return
    rows = [
        ("left", f"{left.path}, {left.element.name} {list(left.shape)}"),
        ("right", f"{right.path}, {right.element.name} {list(right.shape)}"),
        ("computed", f"dot product, on {options.device} in {duration(reducer.seconds)}"),
        ("result", f"{text}  ({output.name})"),
    ]
    console().print(facts(rows))
    if options.output:
        console().print(f"written to {options.output}")
