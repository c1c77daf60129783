"""Where a job runs: the host device, or a GPU with its context, stream and memory."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import byref, c_float, c_size_t, c_uint64, c_void_p
from typing import Union

import numpy as np

from .._library import SUCCESS, Library
from .driver import EVENT_DEFAULT, STREAM_NON_BLOCKING, Driver
from .errors import UsageError, WrError


class HostDevice:
    """The CPU: jobs read and write the caller's arrays where they are."""

    name = "host"
    is_gpu = False
    opening_seconds = 0.0

    def __init__(self, library: Library) -> None:
        self.stream = library.host_stream

    @contextmanager
    def reading(self, array: np.ndarray) -> Iterator[int]:
        yield array.ctypes.data

    @contextmanager
    def writing(self, array: np.ndarray) -> Iterator[int]:
        yield array.ctypes.data

    updating = writing

    @contextmanager
    def memory(self, size: int) -> Iterator[int]:
        block = np.zeros(size, np.uint8)
        yield block.ctypes.data

    @contextmanager
    def repeating(self, block: np.ndarray, count: int) -> Iterator[int]:
        """Memory of `count` elements, the block's again and again."""
        with self.reading(np.resize(block, count)) as pointer:
            yield pointer

    def seconds(self, job: Callable[[], None], repeats: int = 1) -> float:
        """How long `repeats` runs of the job take together."""
        start = time.perf_counter()
        for _ in range(repeats):
            job()
        return time.perf_counter() - start


class CudaDevice:
    """A GPU. Arrays are copied to it for a job and back after it, in the order of one stream."""

    is_gpu = True

    def __init__(self, library: Library, ordinal: int) -> None:
        began = time.perf_counter()
        self.name = f"cuda:{ordinal}"
        self.driver = driver = Driver()
        device = driver.device(ordinal)
        self.model = driver.name(device)
        self.context = context = c_void_p()
        stream = c_void_p()
        # The primary context is the one that the CUDA runtime inside libwarp_reduce uses too.
        driver.call("cuDevicePrimaryCtxRetain", byref(context), device)
        driver.call("cuCtxSetCurrent", context)
        status = library.cuda_status()
        if status != SUCCESS:
            raise WrError(f"{self.name} cannot be used: {library.status_string(status)}")
        driver.call("cuStreamCreate", byref(stream), STREAM_NON_BLOCKING)
        self.stream = stream.value
        self.opening_seconds = time.perf_counter() - began

    @contextmanager
    def reading(self, array: np.ndarray) -> Iterator[int]:
        with self._allocated(array.nbytes) as pointer:
            self._upload(array, pointer)
            yield pointer

    @contextmanager
    def writing(self, array: np.ndarray) -> Iterator[int]:
        """Memory for a job's result, which lies in `array` when the context is left."""
        with self._allocated(array.nbytes) as pointer:
            yield pointer
            if array.nbytes:
                self.driver.call("cuMemcpyDtoHAsync_v2", array.ctypes.data, pointer, array.nbytes, self.stream)
            self.driver.call("cuStreamSynchronize", self.stream)

    @contextmanager
    def updating(self, array: np.ndarray) -> Iterator[int]:
        """Like writing, but the job finds in the memory what `array` holds."""
        with self.writing(array) as pointer:
            self._upload(array, pointer)
            yield pointer

    @contextmanager
    def memory(self, size: int) -> Iterator[int]:
        with self._allocated(size) as pointer:
            yield pointer

    @contextmanager
    def repeating(self, block: np.ndarray, count: int) -> Iterator[int]:
        """Memory of `count` elements, the block's again and again."""
        with self._allocated(count * block.itemsize) as pointer:
            self._upload(block[:count], pointer)
            for at in range(block.size, count, block.size):
                self.copy(pointer + at * block.itemsize, pointer, min(block.size, count - at) * block.itemsize)
            yield pointer

    def copy(self, target: int, source: int, size: int) -> None:
        """From the GPU's memory to the GPU's memory, in the stream."""
        self.driver.call("cuMemcpyDtoDAsync_v2", target, source, size, self.stream)

    def free_memory(self) -> int:
        free, total = c_size_t(), c_size_t()
        self.driver.call("cuMemGetInfo_v2", byref(free), byref(total))
        return free.value

    def seconds(self, job: Callable[[], None], repeats: int = 1) -> float:
        """How long `repeats` runs of the job, back to back in the stream, take on the GPU."""
        driver, begin, end, milliseconds = self.driver, c_void_p(), c_void_p(), c_float()
        for event in (begin, end):
            driver.call("cuEventCreate", byref(event), EVENT_DEFAULT)
        try:
            driver.call("cuEventRecord", begin, self.stream)
            for _ in range(repeats):
                job()
            driver.call("cuEventRecord", end, self.stream)
            driver.call("cuEventSynchronize", end)
            driver.call("cuEventElapsedTime", byref(milliseconds), begin, end)
        finally:
            for event in (begin, end):
                driver.call("cuEventDestroy_v2", event)
        return milliseconds.value / 1e3

    def _upload(self, array: np.ndarray, pointer: int) -> None:
        if array.nbytes:
            self.driver.call("cuMemcpyHtoDAsync_v2", pointer, array.ctypes.data, array.nbytes, self.stream)

    @contextmanager
    def _allocated(self, size: int) -> Iterator[int]:
        pointer = c_uint64()
        self.driver.call("cuMemAlloc_v2", byref(pointer), max(size, 1))
        try:
            yield pointer.value or 0
        finally:
            # cuMemFree waits for what still uses the memory.
            self.driver.call("cuMemFree_v2", pointer)


Device = Union[HostDevice, CudaDevice]


def parse_device(text: str) -> str:
    """Checks the form of --device without looking for the device."""
    if text == "cuda":
        return "cuda:0"
    if text != "host" and not re.fullmatch(r"cuda:\d+", text):
        raise UsageError(f"'{text}' is no device; it is 'host' or 'cuda:N', N counting from 0")
    return text


def open_device(library: Library, name: str) -> Device:
    if name == "host":
        return HostDevice(library)
    return CudaDevice(library, int(name.removeprefix("cuda:")))


def open_devices(library: Library, name: str | None) -> tuple[list[Device], str]:
    """The device of that name; without one the host and the first GPU, or why there is no GPU."""
    if name is not None:
        return [open_device(library, name)], ""
    host = open_device(library, "host")
    try:
        return [host, open_device(library, "cuda:0")], ""
    except WrError as error:
        return [host], f"The host device alone: {error}."
