"""A reduction of a file that need not fit memory: its pieces are read while others are reduced."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import islice
from typing import Any, Union

import numpy as np

from .._library import Library, Refused
from .._operators import GIVE_AN_INDEX
from .devices import CudaDevice, Device
from .file_crew import SLOTS, Asked, crew_of, room_for
from .file_pieces import Cut, FileElements, FilePiece, Piece, Shape, cut_of
from .lanes import Lane, Sizes, in_order, lanes_of
from .reduction import Reduction, explained, reduce_args
from .saved_state import SavedState
from .states import Growing, Part, States
from .timing import Pace

# Of pieces that lie in columns: along the axis at least so many elements, or what a state's merging costs is felt.
LEAST_ROWS = 64

Made = Union[Part, tuple[np.ndarray, Union[np.ndarray, None]]]  # of a piece: its state, or its results


class StreamedReduction:
    """Makes the results of a file's reduction, [outer][inner], and says how long it has taken."""

    def __init__(
        self, library: Library, device: Device, sizes: Sizes, advance: Callable[[int], None] = lambda _: None
    ) -> None:
        self._library, self._device, self._sizes, self._advance = library, device, sizes, advance
        self.pace = Pace(0.0, 0.0, 0)
        self.bytes_before = 0  # of the file that an earlier run has reduced

    def run(
        self,
        job: Reduction,
        source: FileElements,
        weights: FileElements | None = None,
        saved: SavedState | None = None,
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """The results, and the elements at the indices where they are indices. weights: [1][axis][1].

        saved: goes on from there, and is written from time to time and where the job is ended.
        """
        began = time.perf_counter()
        outer, _, inner = source.shape
        result = np.empty((outer, inner), job.output.storage)
        values = np.empty((outer, inner), job.element.storage) if job.operator in GIVE_AN_INDEX else None
        work = _Work(self._library, job, source, weights)
        cut = self._cut_of(source.shape, work)
        found = saved.found if saved else None
        if found:
            cut = replace(cut, steps=tuple(found[0]["steps"]))
        made = _Results(self._library, job, cut, result, values)
        if found:
            made.go_on(*found)
            self._begin_behind(cut, made.done, job)
        try:
            seconds = self._take_all(cut, work, made, saved)
        except Refused as refusal:
            raise explained(refusal, job) from None
        whole = time.perf_counter() - began + self._device.opening_seconds
        self.pace = Pace(whole, whole - seconds, source.nbytes - self.bytes_before)
        return result, values

    def _cut_of(self, shape: Shape, work: _Work) -> Cut:
        size = self._sizes.piece
        if self._device.is_gpu:
            room = room_for(self._library, self._sizes)
            cut = cut_of(shape, room.parts * room.part // work.element_size, LEAST_ROWS)
            if self._goes_by_threads(cut, work):
                return cut
            size //= SLOTS
        return cut_of(shape, size // work.element_size, LEAST_ROWS)

    def _goes_by_threads(self, cut: Cut, work: _Work) -> bool:
        """Whether the adapter's threads bring the pieces: to a GPU, of what lies in files as it is needed."""
        first = next(cut.pieces(), None)
        return isinstance(self._device, CudaDevice) and first is not None and work.lies_in_files(first)

    def _take_all(self, cut: Cut, work: _Work, made: _Results, saved: SavedState | None) -> float:
        """How long it took between the set-up and giving back what that took."""
        with self._ways(cut, work) as in_order:
            ready = time.perf_counter()
            try:
                with closing(in_order(islice(cut.pieces(), made.done, None))) as done:
                    for piece, results in done:
                        made.take(piece, results)
                        self._advance(math.prod(piece.shape) * work.element_size)
                        if saved and saved.is_due:
                            saved.write(*made.so_far())
            except Refused:
                raise
            except BaseException:
                if saved:
                    saved.write(*made.so_far())
                raise
            return time.perf_counter() - ready

    @contextmanager
    def _ways(self, cut: Cut, work: _Work) -> Iterator[Callable[[Iterable[Piece]], Iterator[tuple[Piece, Any]]]]:
        """How pieces become results."""
        size = max(1, cut.largest * work.element_size)
        if self._goes_by_threads(cut, work):
            largest = [work.asked(piece)[0] for piece in (next(cut.pieces()), cut.last)]
            with crew_of(self._library, self._device, room_for(self._library, self._sizes, size), largest) as crew:
                yield lambda pieces: crew.in_order(pieces, work.asked)
            return
        with lanes_of(self._library, self._device, self._sizes, cut.count, size) as lanes:
            yield lambda pieces: in_order(pieces, lanes, work)

    def _begin_behind(self, cut: Cut, done: int, job: Reduction) -> None:
        for piece in islice(cut.pieces(), done):
            self.bytes_before += math.prod(piece.shape) * job.element.size
        self._advance(self.bytes_before)


class _Work:
    """What a lane does with a piece: its results where it has the whole axis, else its state."""

    def __init__(self, library: Library, job: Reduction, source: FileElements, weights: FileElements | None) -> None:
        self._library, self._job, self._source, self._weights = library, job, source, weights

    @property
    def element_size(self) -> int:
        return self._job.element.size

    def lies_in_files(self, piece: Piece) -> bool:
        """Whether a piece, and so each of them, is one run of bytes of a file."""
        return all(each.source.place_of(each.piece) for each in self._inputs(piece).values())

    def __call__(self, lane: Lane, piece: Piece) -> Made:
        asked, made = self.asked(piece)
        lane.call(*asked)
        return made

    def asked(self, piece: Piece) -> tuple[Asked, Made]:
        job, (outer, axis, inner) = self._job, piece.shape
        inputs = self._inputs(piece)
        if piece.is_whole:
            output = np.empty((outer, inner), job.output.storage)
            values = np.empty((outer, inner), job.element.storage) if job.operator in GIVE_AN_INDEX else None
            outputs = {"output": output} if values is None else {"output": output, "values": values}
            return Asked(reduce_args(job, None, None, piece.shape), inputs, outputs), (output, values)
        states = States(self._library, job, outer, inner)
        part = states.new(piece.axis.start, axis)
        return Asked(states.args_of(part), inputs, {"state": part.state}), part

    def _inputs(self, piece: Piece) -> dict[str, FilePiece]:
        inputs = {"input": self._source.at(piece)}
        if self._weights is not None:
            inputs["weights"] = self._weights.at(Piece(slice(0, 1), piece.axis, slice(0, 1), piece.ends_axis))
        return inputs


class _Results:
    """Takes what the lanes have made, in the pieces' order."""

    def __init__(
        self, library: Library, job: Reduction, cut: Cut, result: np.ndarray, values: np.ndarray | None
    ) -> None:
        self._library, self._job, self._cut = library, job, cut
        self._result, self._values = result, values
        self._growing: Growing | None = None  # the axis that is not complete
        self._last: Piece | None = None
        self.done = 0  # pieces

    def so_far(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """What a later run goes on from."""
        position: dict[str, Any] = {"steps": self._cut.steps, "pieces": self.done}
        rows = self._last.outer.stop if self._last else 0
        arrays = {"results": self._result[:rows]}
        if self._values is not None:
            arrays["values"] = self._values[:rows]
        if self._growing:
            part = self._growing.whole()
            position |= {"first": part.first, "count": part.count}
            arrays["state"] = part.state
        return position, arrays

    def go_on(self, position: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """From what an earlier run has saved."""
        self.done = position["pieces"]
        for array, name in ((self._result, "results"), (self._values, "values")):
            if array is not None:
                array.reshape(-1).view(np.uint8)[: arrays[name].size] = arrays[name]
        self._last = next(islice(self._cut.pieces(), self.done - 1, None)) if self.done else None
        if "state" in arrays:
            outer, _, inner = self._last.shape
            self._growing = Growing(States(self._library, self._job, outer, inner))
            self._growing.begin_with(Part(position["first"], position["count"], arrays["state"]))

    def take(self, piece: Piece, made: Made) -> None:
        if isinstance(made, Part):
            self._take_part(piece, made)
        else:
            self._put(piece, *made)
        self._last, self.done = piece, self.done + 1

    def _take_part(self, piece: Piece, made: Part) -> None:
        outer, _, inner = piece.shape
        states = States(self._library, self._job, outer, inner)
        if self._growing is None:
            self._growing = Growing(states)
        self._growing.append(made)
        if piece.ends_axis:
            output = np.empty((outer, inner), self._job.output.storage)
            values = None if self._values is None else np.empty((outer, inner), self._job.element.storage)
            states.finish(self._growing.whole(), output, values)
            self._growing = None
            self._put(piece, output, values)

    def _put(self, piece: Piece, output: np.ndarray, values: np.ndarray | None) -> None:
        self._result[piece.outer, piece.inner] = output
        if self._values is not None:
            self._values[piece.outer, piece.inner] = values
