"""Softmax of an array on a device, in pieces of whole rows where the array is large."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np

from .._elements import ELEMENT_TYPES, F32, F64, ElementType
from .._library import ERROR_UNSUPPORTED, Library, Refused, SoftmaxArgs
from .devices import Device
from .errors import WrError
from .npy_files import open_array

PIECE_BYTES = 256 << 20


@dataclass(frozen=True)
class Softmax:
    element: ElementType
    output: ElementType
    log: bool = False
    scale: float = 0.0  # 0 stands for 1
    zero_empty_rows: bool = False

    def logsumexp_element(self) -> ElementType:
        return F64 if self.element is F64 else F32


@dataclass(frozen=True)
class Selection:
    """Which elements take part: those whose byte in `mask` ([outer][axis][inner]) is not 0, among the first
    `lengths` ([outer][inner]) of their rows. None: all."""

    mask: np.ndarray | None = None
    lengths: np.ndarray | None = None

    def of_rows(self, rows: slice) -> Selection:
        return Selection(*(None if each is None else each[rows] for each in (self.mask, self.lengths)))


def read_mask(path: str, shape: tuple[int, ...]) -> np.ndarray:
    mask = open_array(path, lambda dtype: dtype.kind in "biu" and dtype.itemsize == 1, "a mask is of bool or uint8")
    return _of_shape(path, mask, shape, "the input's").view(np.uint8)


def read_lengths(path: str, shape: tuple[int, ...]) -> np.ndarray:
    lengths = open_array(
        path,
        lambda dtype: dtype.kind in "iu" and np.can_cast(dtype, np.int64),
        "lengths are integers of up to int64",
    )
    return _of_shape(path, lengths, shape, "the input's without its axis").astype(np.int64)


def _of_shape(path: str, array: np.ndarray, shape: tuple[int, ...], whose: str) -> np.ndarray:
    if array.shape != shape:
        raise WrError(f"{path}: its shape is {list(array.shape)}, and {whose} is {list(shape)}")
    return np.ascontiguousarray(array).reshape(shape)


def softmax_args(
    job: Softmax,
    source: int,
    target: int,
    shape: tuple[int, ...],
    logsumexp: int | None = None,
    mask: int | None = None,
    lengths: int | None = None,
) -> SoftmaxArgs:
    outer, axis, inner = shape
    return SoftmaxArgs(
        dtype=job.element.code,
        output_dtype=job.output.code,
        log=int(job.log),
        empty_row=int(job.zero_empty_rows),
        scale=job.scale,
        input=source,
        output=target,
        logsumexp=logsumexp,
        mask=mask,
        lengths=lengths,
        outer=outer,
        axis=axis,
        inner=inner,
    )


def types_of_softmax(library: Library) -> list[ElementType]:
    """The element types that softmax takes and gives."""
    return [each for each in ELEMENT_TYPES if _is_offered(library, Softmax(each, each))]


def _is_offered(library: Library, job: Softmax) -> bool:
    try:
        library.workspace_size(softmax_args(job, 0, 0, (1, 1, 1)))
    except Refused as refusal:
        if refusal.status != ERROR_UNSUPPORTED:
            raise
        return False
    return True


def floats_only(library: Library) -> str:
    return f"softmax takes and gives floats only: {' '.join(each.name for each in types_of_softmax(library))}"


def run_softmax(
    library: Library,
    device: Device,
    job: Softmax,
    words: np.ndarray,
    result: np.ndarray,
    logsumexp: np.ndarray,
    advance: Callable[[int], None] = lambda _: None,
    piece_bytes: int = PIECE_BYTES,
    selection: Selection | None = None,
) -> float:
    """words and result are [outer][axis][inner], logsumexp [outer][inner]; gives the seconds inside the library."""
    outer = words.shape[0]
    selection = selection or Selection()
    step = max(1, piece_bytes * outer // words.nbytes) if words.nbytes else max(1, outer)
    seconds = 0.0
    for at in range(0, outer, step):
        rows = slice(at, at + step)
        seconds += _call(library, device, job, words[rows], result[rows], logsumexp[rows], selection.of_rows(rows))
        advance(words[rows].nbytes)
    return seconds


def run_ragged_softmax(
    library: Library,
    device: Device,
    job: Softmax,
    words: np.ndarray,
    offsets: np.ndarray,
    result: np.ndarray,
    logsumexp: np.ndarray,
    advance: Callable[[int], None] = lambda _: None,
    piece_bytes: int = PIECE_BYTES,
    selection: Selection | None = None,
) -> float:
    """words, result and a mask are one-dimensional, offsets as read_offsets gives them, logsumexp and lengths [rows]:
    in groups of whole rows."""
    selection = selection or Selection()
    rows, limit, at, seconds = len(offsets) - 1, piece_bytes // job.element.size, 0, 0.0
    while at < rows:
        end = int(np.searchsorted(offsets, int(offsets[at]) + limit, side="right")) - 1
        group = slice(at, max(at + 1, min(end, rows)))
        part = slice(int(offsets[group.start]), int(offsets[group.stop]))
        starts = offsets[group.start : group.stop + 1].astype(np.int64) - part.start
        chosen = Selection(
            None if selection.mask is None else selection.mask[part],
            None if selection.lengths is None else selection.lengths[group],
        )
        seconds += _call(library, device, job, words[part], result[part], logsumexp[group], chosen, starts)
        advance(words[part].nbytes)
        at = group.stop
    return seconds


def _call(
    library: Library,
    device: Device,
    job: Softmax,
    words: np.ndarray,
    result: np.ndarray,
    logsumexp: np.ndarray,
    selection: Selection,
    offsets: np.ndarray | None = None,
) -> float:
    """offsets: words are ragged rows, one after the other."""
    shape = words.shape if offsets is None else (len(offsets) - 1, words.size, 1)
    try:
        with ExitStack() as stack:
            source = stack.enter_context(device.reading(np.ascontiguousarray(words)))
            chosen = [
                None if each is None else stack.enter_context(device.reading(each))
                for each in (selection.mask, selection.lengths)
            ]
            target = stack.enter_context(device.writing(result))
            sums = stack.enter_context(device.writing(logsumexp))
            args = softmax_args(job, source, target, shape, sums, *chosen)
            if offsets is not None:
                args.offsets = stack.enter_context(device.reading(offsets))
            return device.seconds(lambda: library.softmax(args, device.stream))
    except Refused as refusal:
        if refusal.status != ERROR_UNSUPPORTED:
            raise
        types = f"{job.element.name} into {job.output.name}"
        raise Refused(refusal.status, f"softmax of {types}: {refusal}; {floats_only(library)}") from None
