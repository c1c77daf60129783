"""How fast memory is here, measured without this library: what a reduction can at best reach."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from .devices import CudaDevice, Device
from .timing import median_seconds


@dataclass(frozen=True)
class Ceiling:
    what: str
    bytes_per_second: float


def measured_ceiling(device: Device, size: int) -> Ceiling:
    """The fastest that `size` bytes were read, or half of them copied to the other half."""
    if isinstance(device, CudaDevice):
        return _copy_on_gpu(device, size)
    return max(_on_host(device, size), key=lambda each: each.bytes_per_second)


def copy_ceiling(device: Device, size: int) -> Ceiling:
    """How fast half of `size` bytes were copied to the other half."""
    return _copy_on_gpu(device, size) if isinstance(device, CudaDevice) else _on_host(device, size)[1]


def _copy_on_gpu(device: CudaDevice, size: int) -> Ceiling:
    half = size // 2
    with device.memory(2 * half) as source:
        seconds = median_seconds(device, lambda: device.copy(source + half, source, half))
    return Ceiling("the driver's device-to-device copy, bytes read and written", 2 * half / seconds)


def _on_host(device: Device, size: int) -> tuple[Ceiling, Ceiling]:
    """Reading and copying by NumPy on all cores; it lets other threads run while it reads or copies."""
    cores = len(os.sched_getaffinity(0))
    words = np.ones(max(size // 8, 2 * cores), np.uint64)
    parts = np.array_split(words, cores)
    with ThreadPoolExecutor(cores) as pool:

        def on_all_cores(job: Callable[[np.ndarray], object]) -> float:
            return words.nbytes / median_seconds(device, lambda: list(pool.map(job, parts)))

        read = Ceiling("NumPy's bitwise or on all cores, bytes read", on_all_cores(np.bitwise_or.reduce))
        copy = Ceiling("NumPy's copy on all cores, bytes read and written", on_all_cores(_copy_half))
    return read, copy


def _copy_half(words: np.ndarray) -> None:
    half = len(words) // 2
    np.copyto(words[half : 2 * half], words[:half])
