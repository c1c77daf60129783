"""Softmax of a file that need not fit memory: whole rows piece by piece, and a row that is larger than a piece in two
passes, the states of its parts first and its outputs then."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from contextlib import closing

import numpy as np

from .._library import ERROR_UNSUPPORTED, Library, Refused, SoftmaxFromStateArgs
from .devices import Device
from .file_pieces import FileElements, Piece, cut_of
from .lanes import Lane, Sizes, in_order, lanes_of
from .reduction import Reduction
from .softmax import Softmax, floats_only, softmax_args
from .states import Growing, Part, States

BLOCK = 1024  # elements of a base block: pieces that end where one does need nothing of their neighbours


class StreamedSoftmax:
    def __init__(
        self, library: Library, device: Device, sizes: Sizes, advance: Callable[[int], None] = lambda _: None
    ) -> None:
        self._library, self._device, self._sizes, self._advance = library, device, sizes, advance

    def run(self, job: Softmax, source: FileElements, result: np.ndarray, logsumexp: np.ndarray) -> float:
        """result is [outer][axis][inner], logsumexp [outer][inner]; gives the seconds that it took."""
        began = time.perf_counter()
        cut = cut_of(source.shape, self._sizes.piece // job.element.size, BLOCK)
        count, size = min(self._sizes.lanes, cut.count), cut.largest * job.element.size
        whole: list[Piece] = []
        try:
            with lanes_of(self._library, self._device, count, size) as lanes:
                task = _Task(self._library, job, source, result, logsumexp, lanes, self._advance)
                if cut.steps[1] >= source.shape[1]:
                    task.whole_rows(cut.pieces())
                    return time.perf_counter() - began
                for piece in cut.pieces():
                    whole.append(piece)
                    if piece.ends_axis:
                        task.in_two_passes(whole)
                        whole = []
        except Refused as refusal:
            if refusal.status != ERROR_UNSUPPORTED:
                raise
            types = f"{job.element.name} into {job.output.name}"
            raise Refused(refusal.status, f"softmax of {types}: {refusal}; {floats_only(self._library)}") from None
        return time.perf_counter() - began


class _Task:
    def __init__(
        self,
        library: Library,
        job: Softmax,
        source: FileElements,
        result: np.ndarray,
        logsumexp: np.ndarray,
        lanes: list[Lane],
        advance: Callable[[int], None],
    ) -> None:
        self._library, self._job, self._source, self._lanes, self._advance = library, job, source, lanes, advance
        self._result, self._logsumexp = result, logsumexp
        self._reduction = Reduction("logsumexp", job.element, job.logsumexp_element())

    def whole_rows(self, pieces: Iterable[Piece]) -> None:
        def work(lane: Lane, piece: Piece) -> None:
            words = self._source.read(piece, lane.buffer)
            output, sums = self._output(piece), self._sums(piece)
            args = softmax_args(self._job, 0, 0, piece.shape)
            lane.call(args, {"input": words}, {"output": output, "logsumexp": sums})
            self._put(piece, output)
            self._logsumexp[piece.outer, piece.inner] = sums

        self._each(pieces, work, 1.0)

    def in_two_passes(self, pieces: list[Piece]) -> None:
        """The pieces of one whole axis."""
        outer, _, inner = pieces[0].shape
        states = States(self._library, self._reduction, outer, inner, self._job.scale)
        growing = Growing(states)

        def state(lane: Lane, piece: Piece) -> Part:
            words = self._source.read(piece, lane.buffer)
            part = states.new(piece.axis.start, piece.shape[1])
            lane.call(states.args_of(part), {"input": words}, {"state": part.state})
            return part

        self._each(pieces, state, 0.5, growing.append)
        whole = growing.whole()
        sums = self._sums(pieces[0])
        states.finish(whole, sums, None)
        self._logsumexp[pieces[0].outer, pieces[0].inner] = sums

        def outputs(lane: Lane, piece: Piece) -> None:
            words, output = self._source.read(piece, lane.buffer), self._output(piece)
            args = SoftmaxFromStateArgs(
                dtype=self._job.element.code,
                output_dtype=self._job.output.code,
                log=int(self._job.log),
                empty_row=int(self._job.zero_empty_rows),
                scale=self._job.scale,
                first=piece.axis.start,
                count=whole.count,
            )
            args.outer, args.axis, args.inner = piece.shape
            lane.call(args, {"input": words, "whole": whole.state}, {"output": output})
            self._put(piece, output)

        self._each(pieces, outputs, 0.5)

    def _each(
        self,
        pieces: Iterable[Piece],
        work: Callable[[Lane, Piece], object],
        share: float,
        take: Callable[..., None] | None = None,
    ) -> None:
        """share: what part of the work on a piece this is."""
        with closing(in_order(pieces, self._lanes, work)) as done:
            for piece, made in done:
                if take:
                    take(made)
                self._advance(int(math.prod(piece.shape) * self._job.element.size * share))

    def _output(self, piece: Piece) -> np.ndarray:
        return np.empty(piece.shape, self._job.output.storage)

    def _sums(self, piece: Piece) -> np.ndarray:
        return np.empty((piece.shape[0], piece.shape[2]), self._job.logsumexp_element().storage)

    def _put(self, piece: Piece, output: np.ndarray) -> None:
        self._result[piece.outer, piece.axis, piece.inner] = output
