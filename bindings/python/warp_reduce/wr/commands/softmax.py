"""wr softmax: softmax or its logarithm along one axis, from one .npy file into another."""

from __future__ import annotations

import argparse
import math
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from ..arguments import (
    STREAMED_ABOVE,
    add_device_option,
    add_element_options,
    add_file_options,
    checked,
    file_name,
    open_input,
    refuse_same_file,
)
from ..errors import UsageError

if TYPE_CHECKING:
    from ..._elements import ElementType

EPILOG = """element types: f32 f64 f16 bf16 f8_e4m3 f8_e5m2; in a .npy file bf16 is uint16 (or V2) with --dtype bf16,
f8 is uint8 (or V1, f1) with --dtype f8_e4m3 or f8_e5m2.

examples:
  wr softmax logits.npy probabilities.npy
  wr softmax logits.npy log_probabilities.npy --log
  wr softmax logits.npy cool.npy --scale 0.5 --axis 0     temperature 2, down the columns
  wr softmax scores.npy p.npy --mask allowed.npy --lengths lengths.npy
  wr softmax logits.npy p.npy --lse lse.npy --device cuda:0
  wr softmax huge.raw p.npy --dtype f32 --shape=-1 --memory 1G
                                                          one row larger than memory, in two passes"""


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "softmax",
        help="softmax of a .npy file, into another",
        description="Writes exp(x) / sum of exp(x) along an axis of a .npy file to another of the same shape.",
        epilog=EPILOG,
    )
    parser.add_argument("file", type=file_name, metavar="INPUT", help="the .npy file, or FILE.npz:NAME")
    parser.add_argument("output", type=file_name, metavar="OUTPUT", help="the .npy file to write; may be the input")
    parser.add_argument(
        "--axis", type=int, default=-1, metavar="K", help="the axis that sums to 1 (default: -1, the last)"
    )
    parser.add_argument("--log", action="store_true", help="the logarithm of softmax")
    parser.add_argument(
        "--scale", type=checked(_scale), default=0.0, metavar="S", help="multiplies each logit first: 1 / temperature"
    )
    parser.add_argument(
        "--mask",
        type=file_name,
        metavar="FILE",
        help="leave out the elements where this array of the input's shape is 0 or false",
    )
    parser.add_argument(
        "--lengths",
        type=file_name,
        metavar="FILE",
        help="how many leading elements of each row take part: integers, one a row",
    )
    parser.add_argument(
        "--lse", type=file_name, metavar="FILE", help="also write log(sum of exp(x)) of each row to this .npy file"
    )
    parser.add_argument(
        "--empty-row",
        choices=("nan", "zero"),
        default="nan",
        help="what a row of -infinity alone, or with nothing left, gives (default: nan)",
    )
    add_element_options(parser)
    add_file_options(parser)
    add_device_option(parser)
    parser.set_defaults(run=run)


def _scale(text: str) -> float:
    try:
        scale = float(text)
    except ValueError:
        raise UsageError(f"'{text}' is no number") from None
    # Zero is how the library's interface says "1", so it cannot be asked for.
    if not math.isfinite(scale) or scale == 0:
        raise UsageError(f"the scale {text} must be finite and not zero")
    return scale


def _check_scale(scale: float, element: ElementType) -> None:
    """Refuses the scale that the library would, and says which option it was."""
    import numpy as np

    from ..._elements import F64

    with np.errstate(over="ignore", under="ignore"):
        narrow = np.float32(scale)
    if scale != 0 and element is not F64 and (narrow == 0 or np.isinf(narrow)):
        raise UsageError(
            f"--scale {scale} is {narrow} in f32, in which logits of {element.name} are scaled;"
            " its magnitude must lie from 1e-45 to 3.4e38"
        )


def run(options: argparse.Namespace) -> None:
    import numpy as np

    from ..._library import load_library
    from ..devices import open_device
    from ..file_pieces import FileElements
    from ..lanes import DEFAULT_MEMORY, sizes_of
    from ..npy_writing import writing_npy
    from ..screen import console, duration, facts, progress
    from ..shapes import split_at_axis, without_axis
    from ..softmax import Selection, Softmax, read_lengths, read_mask, run_softmax
    from ..streamed_softmax import StreamedSoftmax

    refuse_same_file("--lse", options.lse, options.output)
    library = load_library()
    source = open_input(options.file, options)
    _check_scale(options.scale, source.element)
    outer, axis, inner = split_at_axis(source.shape, options.axis)
    job = Softmax(
        element=source.element,
        output=options.output_dtype or source.element,
        log=options.log,
        scale=options.scale,
        zero_empty_rows=options.empty_row == "zero",
    )
    rows_shape = without_axis(source.shape, options.axis)
    selection = Selection(
        mask=read_mask(options.mask, source.shape).reshape(outer, axis, inner) if options.mask else None,
        lengths=read_lengths(options.lengths, rows_shape).reshape(outer, inner) if options.lengths else None,
    )
    device = open_device(library, options.device)
    with ExitStack() as stack:
        shape = (outer, axis, inner)
        written = stack.enter_context(writing_npy(options.output, source.shape, job.output)).reshape(shape)
        if options.lse:
            sums = stack.enter_context(writing_npy(options.lse, rows_shape, job.logsumexp_element()))
        else:
            sums = np.empty(outer * inner, job.logsumexp_element().storage)
        advance = stack.enter_context(progress(f"softmax of {options.file}", source.array.nbytes))
        logsumexp = sums.reshape(outer, inner)
        is_large = bool(options.memory) or source.array.nbytes > STREAMED_ABOVE
        if is_large and source.place is not None and not (options.mask or options.lengths):
            # A lane has memory for a piece's output too, and for one that is copied.
            times = 1 + 2 * job.output.size / job.element.size
            sizes = sizes_of(library, device, options.memory or DEFAULT_MEMORY, times)
            streamed = StreamedSoftmax(library, device, sizes, advance)
            seconds = streamed.run(job, FileElements(source, shape), written, logsumexp)
        else:
            words = source.array.reshape(shape)
            seconds = run_softmax(library, device, job, words, written, logsumexp, advance, selection=selection)
    name = "log-softmax" if options.log else "softmax"
    rows = [
        ("input", f"{source.path}, {source.element.name} {list(source.shape)}"),
        ("computed", f"{name} along axis {options.axis}, on {options.device} in {duration(seconds)}"),
        ("written", f"{options.output}, {job.output.name} {list(source.shape)}"),
    ]
    if options.lse:
        rows.append(("logsumexp", f"{options.lse}, {job.logsumexp_element().name} {list(rows_shape)}"))
    console().print(facts(rows))
