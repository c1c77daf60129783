"""Lanes of a GPU: a stream, pinned memory for what is read and written, and the GPU's memory for each array."""

from __future__ import annotations

from ctypes import byref, c_ubyte, c_uint64, c_void_p
from functools import partial
from typing import Union

import numpy as np

from .._library import Args, Library
from .devices import CudaDevice
from .driver import STREAM_NON_BLOCKING, Driver
from .file_pieces import FilePiece, OutputPiece

Input = Union[np.ndarray, FilePiece]
Output = Union[np.ndarray, OutputPiece]


class CudaLane:
    def __init__(self, library: Library, device: CudaDevice, size: int) -> None:
        self._library = library
        self._driver: Driver = device.driver
        self._context = device.context
        self._pinned: dict[str, tuple[int, np.ndarray]] = {}
        self._memory: dict[str, tuple[int, int]] = {}
        stream = c_void_p()
        self._driver.call("cuStreamCreate", byref(stream), STREAM_NON_BLOCKING)
        self._stream = stream.value
        self._pinned_memory("input", size)

    def begin(self) -> None:
        """A thread's calls of the driver are for the context that it has been told."""
        self._driver.call("cuCtxSetCurrent", self._context)

    def call(self, args: Args, inputs: dict[str, Input], outputs: dict[str, Output]) -> None:
        """Outputs are there when it returns."""
        driver, stream = self._driver, self._stream
        for name, each in inputs.items():
            array = each.read(partial(self._pinned_memory, name)) if isinstance(each, FilePiece) else each
            pointer = self._gpu_memory(name, array.nbytes)
            setattr(args, name, pointer)
            if array.nbytes:
                driver.call("cuMemcpyHtoDAsync_v2", pointer, array.ctypes.data, array.nbytes, stream)
        for name, place in outputs.items():
            setattr(args, name, self._gpu_memory(name, place.nbytes))
        self._library.call(args, stream)
        landed = {name: self._pinned_memory(name, place.nbytes) for name, place in outputs.items()}
        for name, memory in landed.items():
            if memory.nbytes:
                pointer = self._memory[name][0]
                driver.call("cuMemcpyDtoHAsync_v2", memory.ctypes.data, pointer, memory.nbytes, stream)
        driver.call("cuStreamSynchronize", stream)
        for name, place in outputs.items():
            if isinstance(place, OutputPiece):
                place.write(landed[name])
            else:
                place[...] = landed[name].view(place.dtype).reshape(place.shape)

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

    def _pinned_memory(self, name: str, size: int) -> np.ndarray:
        """For what is read of that name, or for what comes from the GPU; the same each time."""
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
