"""Any build of the library, by its path: older ones too, which know fewer functions and shorter structs."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint32, c_void_p
from pathlib import Path
from typing import Any

from .header import number


class Build:
    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))
        self.path = path
        self.host_stream: int = self._function("wr_host_stream", c_void_p)()
        self._sizes: dict[type, int] = {}

    def _function(self, name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
        function = self._library[name]
        function.restype, function.argtypes = result, arguments
        return function

    @property
    def version(self) -> str:
        packed = self._function("wr_version", c_uint32)()
        return f"{packed >> 16}.{packed >> 8 & 255}.{packed & 255}"

    def said(self, status: int) -> str:
        return self._function("wr_status_string", c_char_p, c_int)(status).decode()

    def call_of(self, args: ctypes.Structure) -> Callable[[Any, int], int]:
        """The function that takes such a struct, and a stream."""
        return self._function(_name(args) + "_ex", c_int, c_void_p, c_void_p)

    def workspace_size(self, args: ctypes.Structure) -> int:
        """Also shortens the struct to what this build knows: fields are only ever added at its end."""
        query = self._function(_name(args) + "_workspace_size", c_int, c_void_p, c_void_p)
        size = c_size_t()
        args.struct_size = self._sizes.get(type(args), args.struct_size)
        status = query(byref(args), byref(size))
        while status == number("WR_ERROR_STRUCT_SIZE") and args.struct_size > ctypes.alignment(args):
            args.struct_size -= ctypes.alignment(args)
            status = query(byref(args), byref(size))
        if status:
            raise ValueError(f"{self.path}: {self.said(status)}")
        self._sizes[type(args)] = args.struct_size
        return size.value


def _name(args: ctypes.Structure) -> str:
    """wr_softmax of wr_softmax_args"""
    return type(args).__name__[: -len("_args")]
