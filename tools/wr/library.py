"""warp_reduce.h by way of ctypes: how a program loads libwarp_reduce at run time and calls it."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from ctypes import (
    POINTER,
    Structure,
    byref,
    c_char_p,
    c_double,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_ssize_t,
    c_uint32,
    c_void_p,
)
from pathlib import Path
from typing import Union

from .errors import WrError

LIBRARY_NAMES = ("libwarp_reduce.so", "libwarp_reduce.so.0")
OVERRIDE = "WARP_REDUCE_LIBRARY"

SUCCESS = 0
ERROR_UNSUPPORTED = 5


class ReduceArgs(Structure):
    """wr_reduce_args"""

    _fields_ = (
        ("struct_size", c_size_t),
        ("op", c_int),
        ("dtype", c_int),
        ("output_dtype", c_int),
        ("accumulate_dtype", c_int),
        ("nan_mode", c_int),
        ("add_to_output", c_int32),
        ("weights_dtype", c_int),
        ("input", c_void_p),
        ("weights", c_void_p),
        ("output", c_void_p),
        ("values", c_void_p),
        ("outer", c_size_t),
        ("axis", c_size_t),
        ("inner", c_size_t),
        ("outer_stride", c_ssize_t),
        ("axis_stride", c_ssize_t),
        ("inner_stride", c_ssize_t),
        ("workspace", c_void_p),
        ("workspace_bytes", c_size_t),
    )


class SegmentsArgs(Structure):
    """wr_reduce_segments_args"""

    _fields_ = (
        ("struct_size", c_size_t),
        ("op", c_int),
        ("dtype", c_int),
        ("output_dtype", c_int),
        ("accumulate_dtype", c_int),
        ("nan_mode", c_int),
        ("add_to_output", c_int32),
        ("offsets_dtype", c_int),
        ("input", c_void_p),
        ("output", c_void_p),
        ("values", c_void_p),
        ("offsets", c_void_p),
        ("segments", c_size_t),
        ("input_count", c_size_t),
        ("workspace", c_void_p),
        ("workspace_bytes", c_size_t),
    )


class DotArgs(Structure):
    """wr_dot_args"""

    _fields_ = (
        ("struct_size", c_size_t),
        ("dtype", c_int),
        ("right_dtype", c_int),
        ("output_dtype", c_int),
        ("accumulate_dtype", c_int),
        ("add_to_output", c_int32),
        ("left", c_void_p),
        ("right", c_void_p),
        ("output", c_void_p),
        ("count", c_size_t),
        ("workspace", c_void_p),
        ("workspace_bytes", c_size_t),
    )


class SoftmaxArgs(Structure):
    """wr_softmax_args"""

    _fields_ = (
        ("struct_size", c_size_t),
        ("dtype", c_int),
        ("output_dtype", c_int),
        ("log", c_int32),
        ("empty_row", c_int),
        ("causal", c_int32),
        ("scale", c_double),
        ("input", c_void_p),
        ("output", c_void_p),
        ("logsumexp", c_void_p),
        ("maximum", c_void_p),
        ("mask", c_void_p),
        ("lengths", c_void_p),
        ("causal_first", c_int64),
        ("causal_rows", c_size_t),
        ("offsets", c_void_p),
        ("outer", c_size_t),
        ("axis", c_size_t),
        ("inner", c_size_t),
        ("outer_stride", c_ssize_t),
        ("axis_stride", c_ssize_t),
        ("inner_stride", c_ssize_t),
        ("workspace", c_void_p),
        ("workspace_bytes", c_size_t),
    )


class SoftmaxBackwardArgs(Structure):
    """wr_softmax_backward_args"""

    _fields_ = (
        ("struct_size", c_size_t),
        ("dtype", c_int),
        ("output_gradient_dtype", c_int),
        ("input_gradient_dtype", c_int),
        ("log", c_int32),
        ("empty_row", c_int),
        ("causal", c_int32),
        ("add_to_input_gradient", c_int32),
        ("scale", c_double),
        ("output", c_void_p),
        ("input", c_void_p),
        ("logsumexp", c_void_p),
        ("output_gradient", c_void_p),
        ("input_gradient", c_void_p),
        ("mask", c_void_p),
        ("lengths", c_void_p),
        ("causal_first", c_int64),
        ("causal_rows", c_size_t),
        ("offsets", c_void_p),
        ("outer", c_size_t),
        ("axis", c_size_t),
        ("inner", c_size_t),
        ("outer_stride", c_ssize_t),
        ("axis_stride", c_ssize_t),
        ("inner_stride", c_ssize_t),
        ("gradient_outer_stride", c_ssize_t),
        ("gradient_axis_stride", c_ssize_t),
        ("gradient_inner_stride", c_ssize_t),
        ("workspace", c_void_p),
        ("workspace_bytes", c_size_t),
    )


# name: result, arguments
_FUNCTIONS = {
    "wr_host_stream": (c_void_p, ()),
    "wr_version": (c_uint32, ()),
    "wr_status_name": (c_char_p, (c_int,)),
    "wr_status_string": (c_char_p, (c_int,)),
    "wr_cuda_status": (c_int, ()),
    "wr_reduce_ex": (c_int, (POINTER(ReduceArgs), c_void_p)),
    "wr_reduce_workspace_size": (c_int, (POINTER(ReduceArgs), POINTER(c_size_t))),
    "wr_reduce_segments_ex": (c_int, (POINTER(SegmentsArgs), c_void_p)),
    "wr_reduce_segments_workspace_size": (c_int, (POINTER(SegmentsArgs), POINTER(c_size_t))),
    "wr_dot_ex": (c_int, (POINTER(DotArgs), c_void_p)),
    "wr_dot_workspace_size": (c_int, (POINTER(DotArgs), POINTER(c_size_t))),
    "wr_softmax_ex": (c_int, (POINTER(SoftmaxArgs), c_void_p)),
    "wr_softmax_workspace_size": (c_int, (POINTER(SoftmaxArgs), POINTER(c_size_t))),
    "wr_softmax_backward_ex": (c_int, (POINTER(SoftmaxBackwardArgs), c_void_p)),
    "wr_softmax_backward_workspace_size": (c_int, (POINTER(SoftmaxBackwardArgs), POINTER(c_size_t))),
}

_WORKSPACE_QUERIES = {
    ReduceArgs: "wr_reduce_workspace_size",
    SegmentsArgs: "wr_reduce_segments_workspace_size",
    DotArgs: "wr_dot_workspace_size",
    SoftmaxArgs: "wr_softmax_workspace_size",
    SoftmaxBackwardArgs: "wr_softmax_backward_workspace_size",
}

Args = Union[ReduceArgs, SegmentsArgs, DotArgs, SoftmaxArgs, SoftmaxBackwardArgs]


class Refused(WrError):
    """The library answered a call with a status other than WR_SUCCESS."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Library:
    """A loaded libwarp_reduce. Its methods are the header's functions, with a refused call raised as Refused."""

    def __init__(self, handle: ctypes.CDLL, found: str) -> None:
        self.found = found  # why this one was taken, for `wr info`
        self._functions = {}
        for name, (result, arguments) in _FUNCTIONS.items():
            try:
                function = handle[name]
            except AttributeError:
                raise WrError(f"{found} is no libwarp_reduce that this wr can use: it has no {name}") from None
            function.restype, function.argtypes = result, arguments
            self._functions[name] = function
        self.host_stream: int = self._functions["wr_host_stream"]()

    @property
    def version(self) -> str:
        packed = self._functions["wr_version"]()
        return f"{packed >> 16}.{packed >> 8 & 255}.{packed & 255}"

    def status_name(self, status: int) -> str:
        return self._functions["wr_status_name"](status).decode()

    def status_string(self, status: int) -> str:
        return self._functions["wr_status_string"](status).decode()

    def cuda_status(self) -> int:
        return self._functions["wr_cuda_status"]()

    def function(self, name: str) -> Callable[..., int]:
        """A function as it is, for callers that time it: nothing is checked."""
        return self._functions[name]

    def reduce(self, args: ReduceArgs, stream: int) -> None:
        self._check(self._functions["wr_reduce_ex"](byref(args), stream))

    def reduce_segments(self, args: SegmentsArgs, stream: int) -> None:
        self._check(self._functions["wr_reduce_segments_ex"](byref(args), stream))

    def dot(self, args: DotArgs, stream: int) -> None:
        self._check(self._functions["wr_dot_ex"](byref(args), stream))

    def softmax(self, args: SoftmaxArgs, stream: int) -> None:
        self._check(self._functions["wr_softmax_ex"](byref(args), stream))

    def softmax_backward(self, args: SoftmaxBackwardArgs, stream: int) -> None:
        self._check(self._functions["wr_softmax_backward_ex"](byref(args), stream))

    def workspace_size(self, args: Args) -> int:
        size = c_size_t()
        self._check(self._functions[_WORKSPACE_QUERIES[type(args)]](byref(args), byref(size)))
        return size.value

    def _check(self, status: int) -> None:
        if status != SUCCESS:
            raise Refused(status, f"{self.status_string(status)} ({self.status_name(status)})")


def load_library() -> Library:
    """The library that WARP_REDUCE_LIBRARY names, or the one beside this program, or the system's."""
    override = os.environ.get(OVERRIDE)
    if override:
        return _open(override, f"{override} (from {OVERRIDE})")
    for path in _beside_this_program():
        if path.exists():
            return _open(str(path), str(path))
    for name in LIBRARY_NAMES:
        try:
            return Library(ctypes.CDLL(name), f"{_mapped_path(name)} (from the system's search path)")
        except OSError:
            continue
    raise WrError(f"libwarp_reduce.so was not found; build it, or set {OVERRIDE} to where it is")


def _beside_this_program() -> list[Path]:
    # This file is LIB/wr/wr/library.py, and the launcher is BIN/wr with LIB usually BIN/../lib.
    return [Path(__file__).resolve().parents[2] / name for name in LIBRARY_NAMES]


def _open(path: str, found: str) -> Library:
    try:
        return Library(ctypes.CDLL(path), found)
    except OSError as error:
        hint = f"set {OVERRIDE} to where libwarp_reduce.so is"
        raise WrError(f"the library {found} could not be loaded ({error}); {hint}") from None


def _mapped_path(name: str) -> str:
    """Where the dynamic loader found a library that it was given by name alone."""
    lines = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    return next((line.split(maxsplit=5)[5] for line in lines if f"/{name}" in line), name)
