"""Softmax of a file that need not fit memory: whole rows piece by piece, and a row that is larger than a piece in two
passes, the states of its parts first and its outputs then."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from .._library import ERROR_UNSUPPORTED, Library, Refused, SoftmaxFromStateArgs
from .cuda_lanes import Input, Output
from .devices import Device
from .file_pieces import Cut, FileElements, FileOutputs, Piece, cut_of
from .lanes import Lane, Sizes, in_order, lanes_of
from .reduction import Reduction
from .saved_state import SavedState
from .softmax import Softmax, floats_only, softmax_args
from .states import Growing, Part, States
from .timing import Pace

BLOCK = 1024  # elements of a base block: pieces that end where one does need nothing of their neighbours


class StreamedSoftmax:
    """Writes the outputs of a file's softmax, and says how long it has taken."""

    def __init__(
        self, library: Library, device: Device, sizes: Sizes, advance: Callable[[int], None] = lambda _: None
    ) -> None:
        self._library, self._device, self._sizes, self._advance = library, device, sizes, advance
        self.pace = Pace(0.0, 0.0, 0)
        self.bytes_before = 0  # of the file that an earlier run has done

    def run(
        self,
        job: Softmax,
        source: FileElements,
        result: np.ndarray,
        logsumexp: np.ndarray,
        saved: SavedState | None = None,
    ) -> None:
        """result is [outer][axis][inner], logsumexp [outer][inner].

        saved: goes on from there, and is written from time to time and where the job is ended.
        """
        began = time.perf_counter()
        cut = cut_of(source.shape, self._sizes.piece // job.element.size, BLOCK)
        found = saved.found if saved else None
        if found:
            cut = replace(cut, steps=tuple(found[0]["steps"]))
        size = max(1, cut.largest * job.element.size)
        opened = lanes_of(self._library, self._device, self._sizes, cut.count, size)
        with closing(FileOutputs(result)) as outputs, opened as lanes:
            ready = time.perf_counter()
            task = _Task(self._library, job, source, cut, outputs, logsumexp, lanes, self._advance, saved)
            if found:
                task.go_on(*found)
                self.bytes_before = task.bytes_done
                self._advance(self.bytes_before)
            try:
                task.run()
            except Refused as refusal:
                if refusal.status != ERROR_UNSUPPORTED:
                    raise
                types = f"{job.element.name} into {job.output.name}"
                raise Refused(refusal.status, f"softmax of {types}: {refusal}; {floats_only(self._library)}") from None
            except BaseException:
                if saved:
                    saved.write(*task.so_far())
                raise
        ended, opening = time.perf_counter(), self._device.opening_seconds
        self.pace = Pace(ended - began + opening, ready - began + opening, source.nbytes - self.bytes_before)


class _Task:
    def __init__(
        self,
        library: Library,
        job: Softmax,
        source: FileElements,
        cut: Cut,
        outputs: FileOutputs,
        logsumexp: np.ndarray,
        lanes: list[Lane],
        advance: Callable[[int], None],
        saved: SavedState | None,
    ) -> None:
        self._library, self._job, self._source, self._cut = library, job, source, cut
        self._lanes, self._advance, self._saved = lanes, advance, saved
        self._outputs, self._logsumexp = outputs, logsumexp
        self._reduction = Reduction("logsumexp", job.element, job.logsumexp_element())
        self._done = 0  # pieces whose outputs are written
        self._growing: Growing | None = None  # of the axis whose outputs are not: the states of its pieces so far

    def so_far(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """What a later run goes on from."""
        position: dict[str, Any] = {"steps": self._cut.steps, "pieces": self._done}
        if self._growing is None or self._growing.end == 0:
            return position, {}
        part = self._growing.whole()
        return {**position, "count": part.count}, {"state": part.state}

    def go_on(self, position: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """From what an earlier run has saved."""
        self._done = position["pieces"]
        if "state" in arrays:
            self._growing = Growing(self._states(next(islice(self._cut.pieces(), self._done, None))))
            self._growing.begin_with(Part(0, position["count"], arrays["state"]))

    @property
    def bytes_done(self) -> int:
        """Of the file; a byte whose state is there and whose output is not counts half."""
        size, pieces = self._job.element.size, self._cut.pieces()
        done = sum(math.prod(piece.shape) * size for piece in islice(pieces, self._done))
        following = next(pieces, None)
        if self._growing and following:
            outer, _, inner = following.shape
            done += (self._growing.end - following.axis.start) * outer * inner * size // 2
        return done

    def run(self) -> None:
        pieces = self._cut.pieces()
        if self._cut.along <= 1:
            self._whole_rows(islice(pieces, self._done, None))
            return
        for begin in range(0, self._cut.count, self._cut.along):
            axis = list(islice(pieces, self._cut.along))
            if self._done < begin + len(axis):
                self._in_two_passes(axis, self._done - begin)

    def _whole_rows(self, pieces: Iterable[Piece]) -> None:
        def work(lane: Lane, piece: Piece) -> None:
            sums = self._sums(piece)
            args = softmax_args(self._job, 0, 0, piece.shape)
            outputs: dict[str, Output] = {"output": self._outputs.at(piece), "logsumexp": sums}
            lane.call(args, {"input": self._source.at(piece)}, outputs)
            self._logsumexp[piece.outer, piece.inner] = sums

        self._each(pieces, work, 1.0, self._count_piece)

    def _in_two_passes(self, pieces: list[Piece], done: int) -> None:
        """The pieces of one whole axis, of which the outputs of the first `done` are written."""
        states = self._states(pieces[0])
        growing = self._growing = self._growing or Growing(states)

        def state(lane: Lane, piece: Piece) -> Part:
            part = states.new(piece.axis.start, piece.shape[1])
            lane.call(states.args_of(part), {"input": self._source.at(piece)}, {"state": part.state})
            return part

        self._each((piece for piece in pieces if piece.axis.start >= growing.end), state, 0.5, growing.append)
        whole = growing.whole()
        sums = self._sums(pieces[0])
        states.finish(whole, sums, None)
        self._logsumexp[pieces[0].outer, pieces[0].inner] = sums

        def outputs(lane: Lane, piece: Piece) -> None:
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
            inputs: dict[str, Input] = {"input": self._source.at(piece), "whole": whole.state}
            lane.call(args, inputs, {"output": self._outputs.at(piece)})

        self._each(pieces[done:], outputs, 0.5, self._count_piece)
        self._growing = None

    def _each(
        self,
        pieces: Iterable[Piece],
        work: Callable[[Lane, Piece], Any],
        share: float,
        take: Callable[[Any], None],
    ) -> None:
        """share: what part of the work on a piece this is. take: of what was made of each, in the pieces' order."""
        with closing(in_order(pieces, self._lanes, work)) as made:
            for piece, result in made:
                take(result)
                self._advance(int(math.prod(piece.shape) * self._job.element.size * share))
                if self._saved and self._saved.is_due:
                    self._saved.write(*self.so_far())

    def _count_piece(self, _: None) -> None:
        self._done += 1

    def _states(self, piece: Piece) -> States:
        outer, _, inner = piece.shape
        return States(self._library, self._reduction, outer, inner, self._job.scale)

    def _sums(self, piece: Piece) -> np.ndarray:
        return np.empty((piece.shape[0], piece.shape[2]), self._job.logsumexp_element().storage)
