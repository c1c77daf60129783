"""Pieces of files on their way through a GPU by threads of the adapter, which take no part in Python's lock.

What Python does with a piece, on one thread, is to say where it lies and what is done with it, and to take the result.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .. import _native
from .._library import Args, Library
from .devices import CudaDevice
from .errors import WrError
from .file_pieces import FilePiece, Piece
from .lanes import Sizes

Result = TypeVar("Result")

MOST_THREADS = 12  # of 8, 12, 14 and 16 beside an H200, with parts of 2, 4 and 8 MiB
MEMORY_ALIGNMENT = 256
SLOTS = 2  # parts that a thread has memory for: one is read while the other is copied
# Of a piece, which threads bring side by side: Python has a piece's time for what it does with it. Less where there is
# little memory.
PARTS = (4, 2, 1)
AHEAD = 2  # times the pieces that all threads' parts are of: Python is late sometimes


# As crew_work.h has them.
_FUNCTIONS = (
    *("cuCtxSetCurrent", "cuStreamCreate", "cuStreamSynchronize", "cuStreamDestroy_v2", "cuStreamWaitEvent"),
    *("cuMemAlloc_v2", "cuMemFree_v2", "cuMemHostAlloc", "cuMemFreeHost", "cuMemcpyHtoDAsync_v2"),
    *("cuMemcpyDtoHAsync_v2", "cuEventCreate", "cuEventRecord", "cuEventSynchronize", "cuEventDestroy_v2"),
)


class Asked(NamedTuple):
    """What is to be done with a piece: a call, what it reads of files, and where its results go."""

    args: Args
    inputs: dict[str, FilePiece]
    outputs: dict[str, np.ndarray]


class Room(NamedTuple):
    """Memory for a file's bytes: for SLOTS parts of each thread here, and for so many pieces on the GPU."""

    threads: int
    part: int
    parts: int  # of a piece
    pieces: int


def room_for(library: Library, sizes: Sizes, largest: int = 1) -> Room:
    """largest: bytes of a piece. An earlier run may have had more memory, and larger pieces."""
    threads = max(1, min(MOST_THREADS, _native.host_threads(library.number), sizes.lanes))
    part = max(1, sizes.piece // SLOTS)
    for parts in PARTS:
        under_way = -(-threads * SLOTS // parts)
        pieces = min(sizes.total // (parts * part), 2 + AHEAD * under_way)
        if pieces > under_way:
            break
    return Room(threads, part, parts, max(2, min(pieces, sizes.total // largest)))


class FileCrew:
    def __init__(self, library: Library, device: CudaDevice, room: Room, largest: list[Asked]) -> None:
        """largest: pieces of which one is the largest."""
        self._library, self._driver = library, device.driver
        self._room = room.pieces
        outputs = max(_rounded_sum(asked.outputs.values()) for asked in largest)
        size = max(_rounded_sum(asked.inputs.values()) + self._workspace_of(asked) for asked in largest) + outputs
        functions, context = self._driver.addresses(_FUNCTIONS), device.context.value or 0
        opened = _native.crew_open(
            library.number, functions, context, room.threads, room.part, size, outputs, room.pieces
        )
        if isinstance(opened, tuple):
            raise self._driver.error(*opened)
        self._crew = opened
        # Kept until the threads have ended: the pieces are done with.
        self._under_way: deque[tuple[Piece, Asked, Any]] = deque()

    def _workspace_of(self, asked: Asked) -> int:
        return _rounded(self._library.workspace_size(asked.args))

    def in_order(
        self, pieces: Iterable[Piece], ask: Callable[[Piece], tuple[Asked, Result]]
    ) -> Iterator[tuple[Piece, Result]]:
        """What `ask` says is made of each piece, in the pieces' order, while further pieces are worked on."""
        for piece in pieces:
            if len(self._under_way) == self._room:
                yield self._taken()
            asked, result = ask(piece)
            self._put(asked)
            self._under_way.append((piece, asked, result))
        while self._under_way:
            yield self._taken()

    def close(self) -> None:
        _native.crew_close(self._crew)

    def _put(self, asked: Asked) -> None:
        inputs = tuple((name, *each.source.place_of(each.piece), each.nbytes) for name, each in asked.inputs.items())
        outputs = tuple((name, each.ctypes.data, each.nbytes) for name, each in asked.outputs.items())
        workspace = self._library.workspace_size(asked.args)
        _native.crew_put(self._crew, asked.args.call, vars(asked.args), inputs, outputs, workspace)

    def _taken(self) -> tuple[Piece, Any]:
        piece, asked, result = self._under_way[0]
        ended = None
        while ended is None:
            ended = _native.crew_take(self._crew)
        what, number = ended
        if what == "call":
            raise self._library.refusal(number)
        if what == "read":
            source = asked.inputs["input"].source
            raise WrError(f"{source.path}: {os.strerror(number)}" if number else source.cut_short)
        if what:
            raise self._driver.error(what, number)
        self._under_way.popleft()
        return piece, result


def _rounded(size: int) -> int:
    return -(-size // MEMORY_ALIGNMENT) * MEMORY_ALIGNMENT


def _rounded_sum(arrays: Iterable[FilePiece | np.ndarray]) -> int:
    return sum(_rounded(each.nbytes) for each in arrays)


@contextmanager
def crew_of(library: Library, device: CudaDevice, room: Room, largest: list[Asked]) -> Iterator[FileCrew]:
    crew = FileCrew(library, device, room, largest)
    try:
        yield crew
    finally:
        crew.close()
