"""CUB, and the rate at which memory is read, from the library that native_peers.cu makes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import c_int, c_int64, c_size_t, c_void_p
from pathlib import Path

import torch

from .data import Data
from .elements import operator
from .shapes import Job

Call = Callable[[], object]
TEMPORARY_BYTES = 64 << 20


class NativePeers:
    def __init__(self, path: Path, stream: int) -> None:
        library = ctypes.CDLL(str(path))
        self._reduce, self._segments, self._read = library.gate_cub_reduce, library.gate_cub_segments, library.gate_read
        self._reduce.argtypes = (c_int, c_int, c_void_p, c_void_p, c_int64, c_int64, c_void_p, c_size_t, c_void_p)
        self._segments.argtypes = (c_void_p, c_void_p, c_void_p, c_int64, c_void_p, c_size_t, c_void_p)
        self._read.argtypes = (c_void_p, c_size_t, c_void_p, c_void_p)
        self._temporary = torch.empty(TEMPORARY_BYTES, dtype=torch.uint8, device="cuda")
        self._stream = stream

    def cub(self, job: Job, data: Data) -> Call | None:
        """None where CUB has no such function."""
        temporary = (self._temporary.data_ptr(), TEMPORARY_BYTES, self._stream)
        if job.ragged and job.operation == "sum" and job.element.name == "f32":
            arrays = (data.x.data_ptr(), data.out.data_ptr(), data.offsets.data_ptr(), job.outer)
            return lambda: _must(self._segments(*arrays, *temporary))
        if (
            job.ragged
            or job.inner != 1
            or job.operation not in ("sum", "max")
            or job.element.name not in ("f32", "bf16")
        ):
            return None
        arrays = (data.x.data_ptr(), data.out.data_ptr(), job.outer, job.axis)
        which = (operator(job.operation), int(job.element.name == "bf16"))
        return lambda: _must(self._reduce(*which, *arrays, *temporary))

    def read(self, data: torch.Tensor) -> Call:
        size = data.numel() * data.element_size()
        return lambda: _must(self._read(data.data_ptr(), size, self._temporary.data_ptr(), self._stream))


def _must(error: int) -> None:
    if error:
        raise RuntimeError(f"the native peers: CUDA error {error}")
