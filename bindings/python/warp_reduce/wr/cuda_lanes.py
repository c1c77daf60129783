"""Lanes of a GPU: each has a stream and the GPU's memory for a piece, and all share the threads that carry bytes.

A file's bytes go through small pinned buffers, two a thread, so that they stay in the CPU's caches between reading and
copying while many threads read, and pieces are large, so that little is said a byte.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from ctypes import byref, c_ubyte, c_uint64, c_void_p
from queue import SimpleQueue
from typing import Union

import numpy as np

from .._library import Args, Library
from .devices import CudaDevice
from .driver import EVENT_DISABLE_TIMING, STREAM_NON_BLOCKING, Driver
from .file_pieces import FilePiece, OutputPiece

BUFFERS = 2  # a thread: one is filled while the other is copied

Input = Union[np.ndarray, FilePiece]
Output = Union[np.ndarray, OutputPiece]


class PinnedBuffer:
    """Memory that copies run to and from beside everything else; `wait` until the last of them is over."""

    def __init__(self, driver: Driver, size: int) -> None:
        self._driver = driver
        pointer, event = c_void_p(), c_void_p()
        driver.call("cuEventCreate", byref(event), EVENT_DISABLE_TIMING)
        try:
            driver.call("cuMemHostAlloc", byref(pointer), size, 0)
        except BaseException:
            driver.call("cuEventDestroy_v2", event)
            raise
        self._pointer, self._event = pointer.value or 0, event.value
        self._memory = np.frombuffer((c_ubyte * size).from_address(self._pointer), np.uint8)

    def memory(self, size: int) -> np.ndarray:
        return self._memory[:size]

    def to_gpu(self, target: int, size: int, stream: int | None) -> None:
        self._driver.call("cuMemcpyHtoDAsync_v2", target, self._pointer, size, stream)
        self._driver.call("cuEventRecord", self._event, stream)

    def from_gpu(self, source: int, size: int, stream: int | None) -> None:
        self._driver.call("cuMemcpyDtoHAsync_v2", self._pointer, source, size, stream)
        self._driver.call("cuEventRecord", self._event, stream)

    def wait(self) -> None:
        self._driver.call("cuEventSynchronize", self._event)

    def close(self) -> None:
        self.wait()
        self._driver.call("cuEventDestroy_v2", self._event)
        self._driver.call("cuMemFreeHost", self._pointer)


class _Batch:
    """Tasks of which somebody waits for the last."""

    def __init__(self, count: int) -> None:
        self._left, self._failure = count, None
        self._lock, self._over = threading.Lock(), threading.Event()

    def one_is_done(self, failure: BaseException | None) -> None:
        with self._lock:
            self._failure = self._failure or failure
            self._left -= 1
            if self._left == 0:
                self._over.set()

    def wait(self) -> None:
        self._over.wait()
        if self._failure is not None:
            raise self._failure


class Carriers:
    """Threads, each with pinned buffers of `grain` bytes, that do the tasks which lanes give them."""

    def __init__(self, device: CudaDevice, threads: int, grain: int) -> None:
        self.grain = grain
        self._device = device
        self._tasks: SimpleQueue[tuple[Callable[[PinnedBuffer], None], _Batch] | None] = SimpleQueue()
        ready = _Batch(threads)
        self._threads = [threading.Thread(target=self._run, args=(ready,), daemon=True) for _ in range(threads)]
        for each in self._threads:
            each.start()
        try:
            ready.wait()
        except BaseException:
            self.close()
            raise

    def carry(self, tasks: list[Callable[[PinnedBuffer], None]]) -> None:
        """Returns when all are done, which is when their last copies have been given to the GPU."""
        batch = _Batch(len(tasks))
        for each in tasks:
            self._tasks.put((each, batch))
        batch.wait()

    def close(self) -> None:
        for _ in self._threads:
            self._tasks.put(None)
        for each in self._threads:
            each.join()

    def _run(self, ready: _Batch) -> None:
        buffers: list[PinnedBuffer] = []
        try:
            self._device.driver.call("cuCtxSetCurrent", self._device.context)
            buffers += (PinnedBuffer(self._device.driver, self.grain) for _ in range(BUFFERS))
        except BaseException as failure:  # raised where the lanes are opened
            for each in buffers:
                each.close()
            ready.one_is_done(failure)
            return
        ready.one_is_done(None)
        turn = 0
        while True:
            task = self._tasks.get()
            if task is None:
                break
            turn = (turn + 1) % BUFFERS
            work, batch = task
            try:
                buffers[turn].wait()
                work(buffers[turn])
                batch.one_is_done(None)
            except BaseException as failure:  # raised where the batch is waited for
                batch.one_is_done(failure)
        for each in buffers:
            each.close()


class CudaLane:
    """A stream, and memory of the GPU for each array of a call."""

    def __init__(self, library: Library, device: CudaDevice, carriers: Carriers) -> None:
        self._library, self._carriers = library, carriers
        self._driver: Driver = device.driver
        self._context = device.context
        self._memory: dict[str, tuple[int, int]] = {}
        stream = c_void_p()
        self._driver.call("cuStreamCreate", byref(stream), STREAM_NON_BLOCKING)
        self._stream = stream.value

    def begin(self) -> None:
        """A thread's calls of the driver are for the context that it has been told."""
        self._driver.call("cuCtxSetCurrent", self._context)

    def call(self, args: Args, inputs: dict[str, Input], outputs: dict[str, Output]) -> None:
        """Outputs are there when it returns."""
        for name, each in inputs.items():
            setattr(args, name, self.load(name, each))
        for name, place in outputs.items():
            setattr(args, name, self._gpu_memory(name, place.nbytes))
        self._library.call(args, self._stream)
        for name, place in outputs.items():
            self._store(self._memory[name][0], place)
        self._driver.call("cuStreamSynchronize", self._stream)

    def load(self, name: str, each: Input) -> int:
        """Where in the GPU's memory it will be for what comes later in the stream."""
        pointer = self._gpu_memory(name, each.nbytes)
        if isinstance(each, FilePiece):
            self._carriers.carry([self._loading(part, pointer + at) for part, at in each.grains(self._carriers.grain)])
        elif each.nbytes:
            self._driver.call("cuMemcpyHtoDAsync_v2", pointer, each.ctypes.data, each.nbytes, self._stream)
        return pointer

    def _loading(self, part: FilePiece, pointer: int) -> Callable[[PinnedBuffer], None]:
        def task(buffer: PinnedBuffer) -> None:
            part.read(buffer.memory)
            buffer.to_gpu(pointer, part.nbytes, self._stream)

        return task

    def _store(self, pointer: int, place: Output) -> None:
        """To a file it is written by many threads, which is most of the work."""
        if isinstance(place, OutputPiece):
            self._carriers.carry([self._storing(pointer + at, part) for part, at in place.grains(self._carriers.grain)])
        elif place.nbytes:
            self._driver.call("cuMemcpyDtoHAsync_v2", place.ctypes.data, pointer, place.nbytes, self._stream)

    def _storing(self, pointer: int, part: OutputPiece) -> Callable[[PinnedBuffer], None]:
        def task(buffer: PinnedBuffer) -> None:
            buffer.from_gpu(pointer, part.nbytes, self._stream)
            buffer.wait()
            part.write(buffer.memory(part.nbytes))

        return task

    def close(self) -> None:
        self._driver.call("cuStreamSynchronize", self._stream)
        for pointer, _ in self._memory.values():
            self._driver.call("cuMemFree_v2", pointer)
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
