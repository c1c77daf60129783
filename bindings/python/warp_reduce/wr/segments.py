"""A reduction of ragged rows on a device, in groups of whole segments where the array is large."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import numpy as np

from .._elements import BY_NAME
from .._library import Library, Refused, SegmentsArgs
from .._operators import OPERATORS
from .devices import Device
from .errors import WrError
from .npy_files import open_npy
from .reduction import PIECE_BYTES, Reducer, Reduction, explained

OFFSET_TYPES = {np.dtype("<i8"): BY_NAME["i64"], np.dtype("<i4"): BY_NAME["i32"]}


def read_offsets(path: str, elements: int) -> np.ndarray:
    """The offsets of segments of `elements` elements, checked: on a GPU the library takes them as they are."""
    file = open_npy(path, None)
    if file.element not in OFFSET_TYPES.values() or len(file.shape) != 1 or not file.words.size:
        raise WrError(f"{path}: offsets are int64 or int32 of one axis, one more of them than there are segments")
    offsets = np.array(file.words)
    backwards = np.flatnonzero(offsets[1:] < offsets[:-1])
    if backwards.size:
        raise WrError(f"{path}: offset {backwards[0] + 1} is below the one before it; offsets must not decrease")
    if offsets[0] < 0 or offsets[-1] > elements:
        raise WrError(f"{path}: offsets lie from {offsets[0]} to {offsets[-1]}, the elements from 0 to {elements}")
    return offsets


def segments_args(
    job: Reduction, source: int | None, target: int | None, offsets: int | None, segments: int, offsets_code: int
) -> SegmentsArgs:
    return SegmentsArgs(
        op=OPERATORS[job.operator],
        dtype=job.element.code,
        output_dtype=job.output.code,
        accumulate_dtype=job.accumulate.code if job.accumulate else 0,
        nan_mode=int(job.ignore_nan),
        offsets_dtype=offsets_code,
        input=source,
        output=target,
        offsets=offsets,
        segments=segments,
    )


class SegmentReducer:
    """Runs segmented reductions on one device; a segment that is larger than a piece is a reduction of its own."""

    def __init__(
        self,
        library: Library,
        device: Device,
        advance: Callable[[int], None] = lambda _: None,
        piece_bytes: int = PIECE_BYTES,
    ) -> None:
        self._library = library
        self._device = device
        self._advance = advance
        self._piece_bytes = piece_bytes
        self._alone = Reducer(library, device, advance, piece_bytes)
        self._seconds = 0.0

    @property
    def seconds(self) -> float:
        return self._seconds + self._alone.seconds

    def run(
        self,
        job: Reduction,
        words: np.ndarray,
        offsets: np.ndarray,
        *,
        old: np.ndarray | None = None,
        values: np.ndarray | None = None,
    ) -> np.ndarray:
        """words is one-dimensional, offsets as read_offsets gives them; the result has an element for each segment."""
        segments = len(offsets) - 1
        self._check(job, segments)
        result = np.empty(segments, job.output.storage) if old is None else np.array(old)
        limit = self._piece_bytes // job.element.size
        at = 0
        while at < segments:
            end = int(np.searchsorted(offsets, int(offsets[at]) + limit, side="right")) - 1
            group = slice(at, max(at + 1, min(end, segments)))
            part = words[int(offsets[group.start]) : int(offsets[group.stop])]
            into = (result[group], old is not None, None if values is None else values[group])
            if end <= at:
                self._one(job, part, *into)
            else:
                self._group(job, part, offsets[group.start : group.stop + 1] - offsets[group.start], *into)
            at = group.stop
        return result

    def _check(self, job: Reduction, segments: int) -> None:
        try:
            self._library.workspace_size(segments_args(job, None, None, None, segments, 0))
        except Refused as refusal:
            raise explained(refusal, job) from None

    def _one(self, job: Reduction, words: np.ndarray, result: np.ndarray, add: bool, values: np.ndarray | None) -> None:
        old, value = result.reshape(1, 1) if add else None, None if values is None else values.reshape(1, 1)
        result[:] = self._alone.run(job, words.reshape(1, -1, 1), old=old, values=value)[0]

    def _group(
        self,
        job: Reduction,
        words: np.ndarray,
        offsets: np.ndarray,
        result: np.ndarray,
        add: bool,
        values: np.ndarray | None,
    ) -> None:
        device, code = self._device, OFFSET_TYPES[offsets.dtype].code
        with ExitStack() as stack:
            source = stack.enter_context(device.reading(np.ascontiguousarray(words)))
            target = stack.enter_context(device.updating(result) if add else device.writing(result))
            starts = stack.enter_context(device.reading(offsets))
            args = segments_args(job, source, target, starts, result.size, code)
            args.add_to_output = int(add)
            if values is not None:
                args.values = stack.enter_context(device.writing(values))
            try:
                self._seconds += device.seconds(lambda: self._library.reduce_segments(args, device.stream))
            except Refused as refusal:
                raise explained(refusal, job) from None
        self._advance(words.nbytes)
