"""Reading a file and computing at the same time: lanes, each with a buffer of its own, take one piece after another.

While one lane reads, others compute; on a GPU each has a stream and pinned memory, so copies and kernels overlap too.
"""

from __future__ import annotations

import mmap
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from ctypes import byref, c_ubyte, c_uint64, c_void_p
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TypeVar, Union

import numpy as np

from .. import _native
from .._library import Args, Library
from .devices import CudaDevice, Device
from .driver import STREAM_NON_BLOCKING, Driver
from .file_pieces import Piece

Result = TypeVar("Result")

DEFAULT_MEMORY = 512 << 20
LEAST_MEMORY = 1 << 20
PIECE_ON_HOST = 4 << 20  # stays in a core's cache between reading and computing
PIECE_ON_GPU = 16 << 20
MOST_LANES_OF_GPU = 8


@dataclass(frozen=True)
class Sizes:
    """How many lanes there are, and how many bytes of a file each has memory for."""

    lanes: int
    piece: int

    def lanes_for(self, pieces: int, largest: int) -> int:
        """How many lanes there are for so many pieces. An earlier run may have had more memory, and larger pieces."""
        return max(1, min(self.lanes, pieces, self.lanes * self.piece // largest))


def sizes_of(library: Library, device: Device, memory: int, times: float = 1.0) -> Sizes:
    """`times`: how many bytes a lane needs for a byte of the file."""
    cores = max(1, _native.host_threads(library.number))
    lanes = min(cores, MOST_LANES_OF_GPU) if device.is_gpu else cores
    lanes = max(2, lanes) if device.is_gpu else lanes
    piece = PIECE_ON_GPU if device.is_gpu else PIECE_ON_HOST
    share = int(memory / times)
    lanes = max(1, min(lanes, share // min(piece, LEAST_MEMORY // 2)))
    return Sizes(lanes, min(piece, share // lanes))


class HostLane:
    def __init__(self, library: Library, size: int) -> None:
        self._library = library
        self._memory: dict[str, np.ndarray] = {}
        self.buffer("input", size)

    def buffer(self, name: str, size: int) -> np.ndarray:
        """Memory for what is read of that name; the same each time."""
        if name not in self._memory or self._memory[name].size < size:
            self._memory[name] = np.frombuffer(mmap.mmap(-1, max(size, 1)), np.uint8)
        return self._memory[name][:size]

    def call(self, args: Args, inputs: dict[str, np.ndarray], outputs: dict[str, np.ndarray]) -> None:
        for name, array in (*inputs.items(), *outputs.items()):
            setattr(args, name, array.ctypes.data)
        self._library.call(args, self._library.host_stream)

    def begin(self) -> None:
        pass

    def close(self) -> None:
        pass


class CudaLane:
    """A stream, pinned memory for what is read, and memory of the GPU for each array of a call."""

    def __init__(self, library: Library, device: CudaDevice, size: int) -> None:
        self._library = library
        self._driver: Driver = device.driver
        self._context = device.context
        self._pinned: dict[str, tuple[int, np.ndarray]] = {}
        self._memory: dict[str, tuple[int, int]] = {}
        stream = c_void_p()
        self._driver.call("cuStreamCreate", byref(stream), STREAM_NON_BLOCKING)
        self._stream = stream.value
        self.buffer("input", size)

    def begin(self) -> None:
        """A thread's calls of the driver are for the context that it has been told."""
        self._driver.call("cuCtxSetCurrent", self._context)

    def call(self, args: Args, inputs: dict[str, np.ndarray], outputs: dict[str, np.ndarray]) -> None:
        """Outputs are there when it returns."""
        driver, stream = self._driver, self._stream
        for name, array in inputs.items():
            pointer = self._gpu_memory(name, array.nbytes)
            setattr(args, name, pointer)
            if array.nbytes:
                driver.call("cuMemcpyHtoDAsync_v2", pointer, array.ctypes.data, array.nbytes, stream)
        for name, array in outputs.items():
            setattr(args, name, self._gpu_memory(name, array.nbytes))
        self._library.call(args, stream)
        landed = {name: self.buffer(name, array.nbytes) for name, array in outputs.items()}
        for name, array in outputs.items():
            if array.nbytes:
                pointer = self._memory[name][0]
                driver.call("cuMemcpyDtoHAsync_v2", landed[name].ctypes.data, pointer, array.nbytes, stream)
        driver.call("cuStreamSynchronize", stream)
        for name, array in outputs.items():
            array[...] = landed[name].view(array.dtype).reshape(array.shape)

    def close(self) -> None:
        self._driver.call("cuStreamSynchronize", self._stream)
        for pointer, _ in self._memory.values():
            self._driver.call("cuMemFree_v2", pointer)
        for pointer, _ in self._pinned.values():
            self._driver.call("cuMemFreeHost", pointer)
        self._driver.call("cuStreamDestroy_v2", self._stream)

    def _gpu_memory(self, name: str, size: int) -> int:
        pointer, room = self._memory.pop(name, (0, 0))
        if room < max(size, 1):
            if room:
                self._driver.call("cuMemFree_v2", pointer)
            fresh = c_uint64()
            self._driver.call("cuMemAlloc_v2", byref(fresh), max(size, 1))
            pointer, room = fresh.value or 0, max(size, 1)
        self._memory[name] = pointer, room
        return pointer

    def buffer(self, name: str, size: int) -> np.ndarray:
        """Pinned memory for what is read of that name, or for what comes from the GPU; the same each time."""
        pointer, array = self._pinned.pop(name, (0, np.empty(0, np.uint8)))
        if array.size < max(size, 1):
            if array.size:
                self._driver.call("cuMemFreeHost", pointer)
            fresh = c_void_p()
            self._driver.call("cuMemHostAlloc", byref(fresh), max(size, 1), 0)
            pointer = fresh.value or 0
            array = np.frombuffer((c_ubyte * max(size, 1)).from_address(pointer), np.uint8)
        self._pinned[name] = pointer, array
        return array[:size]


Lane = Union[HostLane, CudaLane]


@contextmanager
def lanes_of(library: Library, device: Device, count: int, size: int) -> Iterator[list[Lane]]:
    """On the host device a piece is one thread's while they are open: threads share pieces, not a piece."""
    with ExitStack() as stack:
        lanes: list[Lane] = []
        for _ in range(count):
            lane = CudaLane(library, device, size) if isinstance(device, CudaDevice) else HostLane(library, size)
            stack.callback(lane.close)
            lanes.append(lane)
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
