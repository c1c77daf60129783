"""wr softmax: softmax or its logarithm along one axis, from one .npy file into another."""

from __future__ import annotations

import argparse
import math
import os
from contextlib import ExitStack
from dataclasses import dataclass
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
    refuse_same_file,
)
from ..errors import UsageError, WrError

if TYPE_CHECKING:
    import numpy as np

    from ..._elements import ElementType
    from ..._library import Library
    from ..file_pieces import FileElements
    from ..npy_files import NpyArray
    from ..saved_state import SavedState
    from ..softmax import Selection, Softmax

EPILOG = """element types: f32 f64 f16 bf16 f8_e4m3 f8_e5m2; in a .npy file bf16 is uint16 (or V2) with --dtype bf16,
f8 is uint8 (or V1, f1) with --dtype f8_e4m3 or f8_e5m2.

examples:
  wr softmax logits.npy probabilities.npy
  wr softmax logits.npy log_probabilities.npy --log
  wr softmax logits.npy cool.npy --scale 0.5 --axis 0     temperature 2, down the columns
  wr softmax scores.npy p.npy --mask allowed.npy --lengths lengths.npy
  wr softmax attention.npy p.npy --causal                 of [...][query][key], each query the keys up to its own
  wr softmax logits.npy p.npy --offsets starts.npy        ragged rows: elements starts[s] up to starts[s + 1]
  wr softmax logits.npy p.npy --lse lse.npy --device cuda:0
  wr softmax huge.raw p.npy --dtype f32 --shape=-1 --memory 1G
                                                          one row larger than memory, in two passes
  wr softmax huge.npy p.npy --state softmax.state         to be stopped, and gone on with by the same command"""


@dataclass(frozen=True)
class Done:
    took: str
    files: list[tuple[str, tuple[int, ...], Any]]  # path, shape and element type of what is written
    share_before: float = 0.0  # of the work that an earlier run has done


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "softmax",
        help="softmax of a .npy file, into another",
        description="Writes exp(x) / sum of exp(x) along an axis of a .npy file to another of the same shape.",
        epilog=EPILOG,
    )
    parser.add_argument("file", type=file_name, metavar="INPUT", help="the .npy file, or FILE.npz:NAME")
    parser.add_argument("output", type=file_name, metavar="OUTPUT", help="the .npy file to write; may be the input")
    parser.add_argument("--axis", type=int, metavar="K", help="the axis that sums to 1 (default: -1, the last)")
    parser.add_argument(
        "--offsets",
        type=file_name,
        metavar="FILE",
        help="softmax of ragged rows: where each starts, and the end; elements in no row become 0",
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
        "--causal",
        type=int,
        nargs="?",
        const=1,
        metavar="FIRST",
        help="row 0 of each matrix (the axis before the last) takes its first FIRST elements alone (default: 1), and"
        " each further row one more",
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
    add_state_options(parser)
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
    from ..._library import load_library
    from ..softmax import Softmax

    _check(options)
    library = load_library()
    source = open_input(options.file, options)
    _check_scale(options.scale, source.element)
    job = Softmax(
        element=source.element,
        output=options.output_dtype or source.element,
        log=options.log,
        scale=options.scale,
        zero_empty_rows=options.empty_row == "zero",
    )
    if _is_streamed(options, source):
        done = _streamed(library, options, job, source)
    else:
        done = _mapped(library, options, job, source)
    _print_facts(options, job, source, done)


def _check(options: argparse.Namespace) -> None:
    refuse_same_file("--lse", options.lse, options.output)
    if options.state and _selects(options):
        raise UsageError("--state goes with none of --mask, --lengths, --causal and --offsets")
    if options.offsets and (options.axis is not None or options.causal is not None):
        raise UsageError("--offsets divides the file's elements as they lie, and goes with neither --axis nor --causal")
    if options.causal is not None and options.axis not in (None, -1):
        raise UsageError("--causal is along the last axis; leave --axis out")
    options.axis = -1 if options.axis is None else options.axis
    if options.state and os.path.realpath(options.file) == os.path.realpath(options.output):
        raise UsageError("with --state the input must be there until the job is done; name another OUTPUT")


def _selects(options: argparse.Namespace) -> bool:
    return bool(options.mask or options.lengths or options.offsets) or options.causal is not None


def _is_streamed(options: argparse.Namespace, source: NpyArray) -> bool:
    """Whether the file is read in pieces beside the computing. What leaves elements out goes with mapped memory."""
    can_be = source.place is not None and not _selects(options)
    if options.state and not can_be:
        raise WrError(f"{source.path}: --state is for files in C order; save it with numpy.ascontiguousarray")
    return can_be and (bool(options.memory) or bool(options.state) or source.array.nbytes > STREAMED_ABOVE)


def _files(
    options: argparse.Namespace, job: Softmax, source: NpyArray, rows: tuple[int, ...] | None = None
) -> list[tuple[str, tuple[int, ...], Any]]:
    """What is written: path, shape and element type of each. rows: their shape, where they are ragged."""
    from ..shapes import without_axis

    files = [(options.output, source.shape, job.output)]
    if options.lse:
        rows = without_axis(source.shape, options.axis) if rows is None else rows
        files.append((options.lse, rows, job.logsumexp_element()))
    return files


def _sums(job: Softmax, arrays: list[np.ndarray], rows: int) -> np.ndarray:
    """Where the logsumexps go, whether they are written or not."""
    import numpy as np

    return arrays[1] if len(arrays) > 1 else np.empty(rows, job.logsumexp_element().storage)


def _mapped(library: Library, options: argparse.Namespace, job: Softmax, source: NpyArray) -> Done:
    from ..devices import open_device
    from ..npy_writing import writing_npy
    from ..screen import duration, progress
    from ..softmax import run_ragged_softmax, run_softmax

    device = open_device(library, options.device)
    shape, offsets, selection = _rows(options, source)
    outer, _, inner = shape
    files = _files(options, job, source, None if offsets is None else (outer,))
    with ExitStack() as stack:
        arrays = [stack.enter_context(writing_npy(*file)) for file in files]
        advance = stack.enter_context(progress(f"softmax of {options.file}", source.array.nbytes))
        result, sums = arrays[0], _sums(job, arrays, outer * inner)
        if offsets is None:
            words, places = source.array.reshape(shape), (result.reshape(shape), sums.reshape(outer, inner))
            seconds = run_softmax(library, device, job, words, *places, advance, selection=selection)
        else:
            seconds = run_ragged_softmax(
                library, device, job, source.words, offsets, result, sums, advance, selection=selection
            )
    return Done(duration(seconds), files)


def _rows(options: argparse.Namespace, source: NpyArray) -> tuple[tuple[int, int, int], np.ndarray | None, Selection]:
    """[outer][axis][inner], or of ragged rows [rows][elements][1] and their offsets; and what takes part in them."""
    from ..segments import read_offsets
    from ..shapes import split_at_axis, without_axis
    from ..softmax import Selection, read_lengths, read_mask

    mask = read_mask(options.mask, source.shape) if options.mask else None
    if options.offsets:
        offsets = read_offsets(options.offsets, source.words.size)
        rows = len(offsets) - 1
        lengths = read_lengths(options.lengths, (rows,)) if options.lengths else None
        return (rows, source.words.size, 1), offsets, Selection(None if mask is None else mask.reshape(-1), lengths)
    shape = outer, _, inner = split_at_axis(source.shape, options.axis)
    rows_shape = without_axis(source.shape, options.axis)
    lengths = read_lengths(options.lengths, rows_shape).reshape(outer, inner) if options.lengths else None
    if options.causal is not None:
        lengths = _causal_lengths(options.causal, source.shape, lengths)
    return shape, None, Selection(None if mask is None else mask.reshape(shape), lengths)


def _causal_lengths(first: int, shape: tuple[int, ...], lengths: np.ndarray | None) -> np.ndarray:
    """How many elements each row of [...][query][key] sees, which are leading ones."""
    import numpy as np

    if len(shape) < 2:
        raise WrError(f"--causal is for matrices; the shape is {list(shape)}")
    queries = np.arange(shape[-2], dtype=np.int64) + first
    seen = np.broadcast_to(queries, shape[:-1]).reshape(-1, 1)
    return np.ascontiguousarray(seen if lengths is None else np.minimum(seen, lengths))


def _streamed(library: Library, options: argparse.Namespace, job: Softmax, source: NpyArray) -> Done:
    from ..devices import open_device
    from ..file_pieces import FileElements
    from ..lanes import DEFAULT_MEMORY, sizes_of
    from ..npy_writing import writing_npy
    from ..screen import pace_in_words, progress
    from ..shapes import split_at_axis
    from ..streamed_softmax import StreamedSoftmax
    from ..unfinished_npy import writing_over_runs

    elements = FileElements(source, split_at_axis(source.shape, options.axis))
    device = open_device(library, options.device)
    saved = _saved(options, job, elements) if options.state else None
    files = _files(options, job, source)
    # A lane has memory for a piece's output too.
    times = 1 + job.output.size / job.element.size
    sizes = sizes_of(library, device, options.memory or DEFAULT_MEMORY, times)
    with ExitStack() as stack:
        if saved:
            arrays = stack.enter_context(writing_over_runs(saved, files))
        else:
            arrays = [stack.enter_context(writing_npy(*file)) for file in files]
        advance = stack.enter_context(progress(f"softmax of {options.file}", source.array.nbytes))
        softmax = StreamedSoftmax(library, device, sizes, advance)
        outer, _, inner = elements.shape
        sums = _sums(job, arrays, outer * inner).reshape(outer, inner)
        softmax.run(job, elements, arrays[0].reshape(elements.shape), sums, saved)
    if saved:
        saved.remove()
    return Done(pace_in_words(softmax.pace), files, softmax.bytes_before / max(elements.nbytes, 1))


def _saved(options: argparse.Namespace, job: Softmax, elements: FileElements) -> SavedState:
    from ..saved_state import SavedState, identity_of

    described = {
        **identity_of(elements.place[0]),
        "shape": elements.shape,
        "operator": "log-softmax" if job.log else "softmax",
        "element type": job.element.name,
        "output type": job.output.name,
        "scale": job.scale,
        "empty rows' output": options.empty_row,
        "output file": os.path.realpath(options.output),
        "logsumexps' file": os.path.realpath(options.lse) if options.lse else None,
    }
    return SavedState(options.state, described, options.state_every)


def _print_facts(options: argparse.Namespace, job: Softmax, source: NpyArray, done: Done) -> None:
    from ..screen import console, facts

    name = "log-softmax" if options.log else "softmax"
    along = f"of the rows of {options.offsets}" if options.offsets else f"along axis {options.axis}"
    rows = [
        ("input", f"{source.path}, {source.element.name} {list(source.shape)}"),
        ("computed", f"{name} {along}, on {options.device} in {done.took}"),
    ]
    if done.share_before:
        rows.append(("went on", f"from {options.state}, behind {done.share_before:.1%} of the work"))
    for what, (path, shape, element) in zip(("written", "logsumexp"), done.files):
        rows.append((what, f"{path}, {element.name} {list(shape)}"))
    console().print(facts(rows))
