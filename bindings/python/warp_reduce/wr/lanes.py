"""Reading a file and computing at the same time: lanes, each with a buffer of its own, take one piece after another.

While one lane reads, others compute; on a GPU each has a stream and pinned memory, so copies and kernels overlap too.
"""

from __future__ import annotations

import mmap
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import TypeVar, Union

import numpy as np

from .. import _native
from .._library import Args, Library
from .cuda_lanes import CudaLane, Input, Output
from .devices import CudaDevice, Device
from .file_pieces import FilePiece, OutputPiece, Piece

Result = TypeVar("Result")

DEFAULT_MEMORY = 512 << 20
LEAST_MEMORY = 1 << 20
PIECE_ON_HOST = 4 << 20  # stays in a core's cache between reading and computing
# Of 4, 8 and 16 MiB beside an H200: with less the calls take the time, with more the CPU's caches.
PIECE_ON_GPU = 8 << 20
MOST_LANES_OF_GPU = 16
MOST_OF_PYTHONS = 8  # of those: more only wait for each other


@dataclass(frozen=True)
class Sizes:
    """How many lanes there are, how many bytes of a file each has memory for, and all that are in memory together."""

    lanes: int
    piece: int
    memory: int = 0  # 0: as much as the lanes have

    @property
    def total(self) -> int:
        return self.memory or self.lanes * self.piece

    def lanes_for(self, pieces: int, largest: int) -> int:
        """How many lanes there are for so many pieces. An earlier run may have had more memory, and larger pieces."""
        return max(1, min(self.lanes, pieces, self.lanes * self.piece // largest))


def sizes_of(library: Library, device: Device, memory: int, times: float = 1.0) -> Sizes:
    """`times`: how many bytes a lane needs for a byte of the file."""
    cores = max(1, _native.host_threads(library.number))
    lanes = max(2, min(cores, MOST_LANES_OF_GPU)) if device.is_gpu else cores
    piece = PIECE_ON_GPU if device.is_gpu else PIECE_ON_HOST
    share = int(memory / times)
    lanes = max(1, min(lanes, share // min(piece, LEAST_MEMORY // 2)))
    return Sizes(lanes, min(piece, share // lanes), share)


class HostLane:
    def __init__(self, library: Library, size: int) -> None:
        self._library = library
        self._memory: dict[str, np.ndarray] = {}
        self._buffer("input", size)

    def _buffer(self, name: str, size: int) -> np.ndarray:
        """Memory for what is read or written of that name; the same each time."""
        if name not in self._memory or self._memory[name].size < size:
            self._memory[name] = np.frombuffer(mmap.mmap(-1, max(size, 1)), np.uint8)
        return self._memory[name][:size]

    def call(self, args: Args, inputs: dict[str, Input], outputs: dict[str, Output]) -> None:
        for name, each in inputs.items():
            array = each.read(partial(self._buffer, name)) if isinstance(each, FilePiece) else each
            setattr(args, name, array.ctypes.data)
        places = {
            name: self._buffer(name, each.nbytes) if isinstance(each, OutputPiece) else each
            for name, each in outputs.items()
        }
        for name, array in places.items():
            setattr(args, name, array.ctypes.data)
        self._library.call(args, self._library.host_stream)
        for name, each in outputs.items():
            if isinstance(each, OutputPiece):
                each.write(places[name])

    def begin(self) -> None:
        pass

    def close(self) -> None:
        pass


Lane = Union[HostLane, CudaLane]


@contextmanager
def lanes_of(library: Library, device: Device, sizes: Sizes, pieces: int, largest: int) -> Iterator[list[Lane]]:
    """Lanes for so many pieces, of at most `largest` bytes. On the host device a piece is one thread's while they are
    open: threads share pieces, not a piece."""
    count = sizes.lanes_for(pieces, largest)
    if device.is_gpu:
        count = min(count, MOST_OF_PYTHONS)
    with ExitStack() as stack:
        lanes: list[Lane] = []
        for _ in range(count):
            is_gpu = isinstance(device, CudaDevice)
            made = CudaLane(library, device, largest) if is_gpu else HostLane(library, largest)
            stack.callback(made.close)
            lanes.append(made)
        if not device.is_gpu and count > 1:
            before = _native.host_threads(library.number)
            _native.set_host_threads(library.number, 1)
            stack.callback(_native.set_host_threads, library.number, before)
        yield lanes


def in_order(
    pieces: Iterable[Piece], lanes: list[Lane], work: Callable[[Lane, Piece], Result]
) -> Iterator[tuple[Piece, Result]]:
    """What `work` makes of each piece, in the pieces' order, while further pieces are worked on."""
    crew = _Crew(enumerate(pieces), lanes, work)
    try:
        yield from crew.results()
    finally:
        crew.stop()


class _Crew:
    """A thread for each lane. They are ahead of whoever takes the results by a few pieces at most."""

    def __init__(
        self, pieces: Iterator[tuple[int, Piece]], lanes: list[Lane], work: Callable[[Lane, Piece], Result]
    ) -> None:
        self._pieces = pieces
        self._work = work
        self._taking = threading.Lock()
        self._ahead = threading.Semaphore(4 * len(lanes))
        self._stopped = False
        self._done: SimpleQueue = SimpleQueue()
        self._threads = [threading.Thread(target=self._run, args=(lane,), daemon=True) for lane in lanes]
        for each in self._threads:
            each.start()

    def results(self) -> Iterator[tuple[Piece, Result]]:
        waiting: dict[int, tuple[Piece, Result]] = {}
        running, wanted = len(self._threads), 0
        while running or waiting:
            number, piece, result = self._done.get()
            if piece is None:
                if result is not None:
                    raise result
                running -= 1
                continue
            waiting[number] = piece, result
            while wanted in waiting:
                yield waiting.pop(wanted)
                self._ahead.release()
                wanted += 1

    def stop(self) -> None:
        self._stopped = True
        for _ in self._threads:
            self._ahead.release()
        for each in self._threads:
            each.join()

    def _run(self, lane: Lane) -> None:
        failure = None
        try:
            lane.begin()
            while True:
                self._ahead.acquire()
                with self._taking:
                    number, piece = next(self._pieces, (0, None))
                if piece is None or self._stopped:
                    break
                self._done.put((number, piece, self._work(lane, piece)))
        except BaseException as error:  # raised where the results are taken
            failure = error
        self._done.put((0, None, failure))
