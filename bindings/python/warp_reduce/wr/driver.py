"""The part of the CUDA driver API that wr needs, loaded at run time; no CUDA toolkit is involved."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p

from .errors import WrError

DRIVER_NAME = "libcuda.so.1"
STREAM_NON_BLOCKING = 1
EVENT_DEFAULT = 0
COMPUTE_CAPABILITY_MAJOR, COMPUTE_CAPABILITY_MINOR = 75, 76  # CUdevice_attribute

_FUNCTIONS = {
    "cuInit": (c_uint,),
    "cuDriverGetVersion": (POINTER(c_int),),
    "cuGetErrorString": (c_int, POINTER(c_char_p)),
    "cuDeviceGetCount": (POINTER(c_int),),
    "cuDeviceGet": (POINTER(c_int), c_int),
    "cuDeviceGetName": (c_char_p, c_int, c_int),
    "cuDeviceTotalMem_v2": (POINTER(c_size_t), c_int),
    "cuDeviceGetAttribute": (POINTER(c_int), c_int, c_int),
    "cuDevicePrimaryCtxRetain": (POINTER(c_void_p), c_int),
    "cuCtxSetCurrent": (c_void_p,),
    "cuMemGetInfo_v2": (POINTER(c_size_t), POINTER(c_size_t)),
    "cuMemAlloc_v2": (POINTER(c_uint64), c_size_t),
    "cuMemFree_v2": (c_uint64,),
    "cuMemHostAlloc": (POINTER(c_void_p), c_size_t, c_uint),
    "cuMemFreeHost": (c_void_p,),
    "cuMemcpyHtoDAsync_v2": (c_uint64, c_void_p, c_size_t, c_void_p),
    "cuMemcpyDtoHAsync_v2": (c_void_p, c_uint64, c_size_t, c_void_p),
    "cuMemcpyDtoDAsync_v2": (c_uint64, c_uint64, c_size_t, c_void_p),
    "cuStreamCreate": (POINTER(c_void_p), c_uint),
    "cuStreamSynchronize": (c_void_p,),
    "cuStreamDestroy_v2": (c_void_p,),
    "cuStreamWaitEvent": (c_void_p, c_void_p, c_uint),
    "cuEventCreate": (POINTER(c_void_p), c_uint),
    "cuEventRecord": (c_void_p, c_void_p),
    "cuEventSynchronize": (c_void_p,),
    "cuEventElapsedTime": (POINTER(c_float), c_void_p, c_void_p),
    "cuEventDestroy_v2": (c_void_p,),
}


class Driver:
    """The CUDA driver. A call that fails raises WrError with the driver's own words."""

    def __init__(self) -> None:
        self._functions = {}
        try:
            handle = ctypes.CDLL(DRIVER_NAME)
            for name, arguments in _FUNCTIONS.items():
                function = handle[name]
                function.argtypes, function.restype = arguments, c_int
                self._functions[name] = function
        except OSError:
            raise WrError(f"there is no CUDA driver on this machine ({DRIVER_NAME} was not found)") from None
        except AttributeError as error:
            raise WrError(f"the CUDA driver is too old: {error}") from None
        self.call("cuInit", 0)

    def call(self, name: str, *arguments: object) -> None:
        result = self._functions[name](*arguments)
        if result != 0:
            raise self.error(name, result)

    def error(self, name: str, result: int) -> WrError:
        """What a function of that name has answered, in words."""
        text = c_char_p()
        self._functions["cuGetErrorString"](result, byref(text))
        words = text.value.decode() if text.value else "unknown error"
        return WrError(f"the CUDA driver answered {name} with error {result}: {words}")

    def addresses(self, names: Sequence[str]) -> tuple[int, ...]:
        """Of functions, for those who call them from C."""
        return tuple(ctypes.cast(self._functions[name], c_void_p).value or 0 for name in names)

    def _integer(self, name: str, *arguments: object) -> int:
        value = c_int()
        self.call(name, byref(value), *arguments)
        return value.value

    @property
    def version(self) -> str:
        """The newest CUDA version that the driver supports."""
        number = self._integer("cuDriverGetVersion")
        return f"{number // 1000}.{number % 1000 // 10}"

    def device_count(self) -> int:
        return self._integer("cuDeviceGetCount")

    def device(self, ordinal: int) -> int:
        count = self.device_count()
        if ordinal >= count:
            there = ", ".join(f"cuda:{each}" for each in range(count)) or "none"
            raise WrError(f"there is no device cuda:{ordinal}; GPUs of this machine: {there}")
        return self._integer("cuDeviceGet", ordinal)

    def name(self, device: int) -> str:
        buffer = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", buffer, len(buffer), device)
        return buffer.value.decode()

    def total_memory(self, device: int) -> int:
        size = c_size_t()
        self.call("cuDeviceTotalMem_v2", byref(size), device)
        return size.value

    def compute_capability(self, device: int) -> str:
        major = self._integer("cuDeviceGetAttribute", COMPUTE_CAPABILITY_MAJOR, device)
        minor = self._integer("cuDeviceGetAttribute", COMPUTE_CAPABILITY_MINOR, device)
        return f"{major}.{minor}"
