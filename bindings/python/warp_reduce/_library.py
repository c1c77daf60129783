"""libwarp_reduce: where it is found, and its calls."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from . import _native
from ._errors import LibraryNotFound, Refused

LIBRARY_NAMES = ("libwarp_reduce.so", "libwarp_reduce.so.0")
OVERRIDE = "WARP_REDUCE_LIBRARY"

SUCCESS = 0
ERROR_UNSUPPORTED = 5

_opening = threading.Lock()
_library: Library | None = None


class Args:
    """The fields of an args struct of warp_reduce.h, by name; what is not named is zero."""

    call: int  # which of the calls below `_native` means by it

    def __init__(self, **fields: int | float | None) -> None:
        self.__dict__.update(fields)

    def __setattr__(self, name: str, value: int | float | None) -> None:
        self.__dict__[name] = value

    def __getattr__(self, name: str) -> int | float | None:
        """Only asked for what has not been set."""
        return 0


class ReduceArgs(Args):
    """wr_reduce_args"""

    call = 0


class SegmentsArgs(Args):
    """wr_reduce_segments_args"""

    call = 1


class DotArgs(Args):
    """wr_dot_args"""

    call = 2


class SoftmaxArgs(Args):
    """wr_softmax_args"""

    call = 3


class SoftmaxBackwardArgs(Args):
    """wr_softmax_backward_args"""

    call = 4


class StateReduceArgs(Args):
    """wr_state_args"""

    call = 5


class StateMergeArgs(Args):
    """wr_state_args"""

    call = 6


class StateFinishArgs(Args):
    """wr_state_args"""

    call = 7


class SoftmaxStateArgs(Args):
    """wr_softmax_args and the other arguments of wr_softmax_state"""

    call = 8


class SoftmaxFromStateArgs(Args):
    """wr_softmax_args and the other arguments of wr_softmax_from_state"""

    call = 9


class Library:
    """A library that is open. Its methods are the header's functions, with a refused call raised as Refused."""

    def __init__(self, path: str, found: str) -> None:
        number = _native.open(path)
        if isinstance(number, str):
            raise LibraryNotFound(_why(found, number))
        self.number = number
        self.found = found  # why this one was taken
        self.host_stream = _native.host_stream(number)

    @property
    def version(self) -> str:
        packed = _native.version(self.number)
        return f"{packed >> 16}.{packed >> 8 & 255}.{packed & 255}"

    def status_name(self, status: int) -> str:
        return _native.status_name(self.number, status)

    def status_string(self, status: int) -> str:
        return _native.status_string(self.number, status)

    def cuda_status(self) -> int:
        return _native.cuda_status(self.number)

    def status_of(self, args: Args, stream: int) -> int:
        """The status of the call that takes such args."""
        return _native.call(self.number, args.call, vars(args), stream)

    def call(self, args: Args, stream: int) -> None:
        self._check(self.status_of(args, stream))

    reduce = reduce_segments = dot = softmax = softmax_backward = call

    def prepared(self, args: Args, stream: int) -> Callable[[], int]:
        """The call as a function without arguments that gives its status, for those who time it."""
        return partial(_native.run, _native.prepare(self.number, args.call, vars(args), stream))

    def workspace_size(self, args: Args) -> int:
        status, size = _native.workspace_size(self.number, args.call, vars(args))
        self._check(status)
        return size

    def refusal(self, status: int) -> Refused:
        return Refused(status, f"{self.status_string(status)} ({self.status_name(status)})")

    def _check(self, status: int) -> None:
        if status != SUCCESS:
            raise self.refusal(status)


def _why(found: str, reason: str) -> str:
    if reason.startswith("it has no "):
        return f"{found} is no libwarp_reduce that this package can use: {reason}"
    return f"the library {found} could not be loaded ({reason}); set {OVERRIDE} to where libwarp_reduce.so is"


def load_library() -> Library:
    """The library that WARP_REDUCE_LIBRARY names, or the one beside this package, or the system's; opened once."""
    global _library
    if _library is None:
        with _opening:
            if _library is None:
                found = _load()
                _native.use(found.number)
                _library = found
    return _library


def _load() -> Library:
    override = os.environ.get(OVERRIDE)
    if override:
        return Library(override, f"{override} (from {OVERRIDE})")
    for path in _beside_this_package():
        if path.exists():
            return Library(str(path), str(path))
    for name in LIBRARY_NAMES:
        with suppress(LibraryNotFound):
            library = Library(name, name)
            library.found = f"{_mapped_path(name)} (from the system's search path)"
            return library
    raise LibraryNotFound(f"libwarp_reduce.so was not found; build it, or set {OVERRIDE} to where it is")


def _beside_this_package() -> list[Path]:
    """In it, where pip has put it, or in the folder LIB of a build's or an installation's LIB/wr/warp_reduce."""
    package = Path(__file__).resolve().parent
    return [folder / name for folder in (package, package.parents[1]) for name in LIBRARY_NAMES]


def _mapped_path(name: str) -> str:
    """Where the dynamic loader found a library that it was given by name alone."""
    lines = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    return next((line.split(maxsplit=5)[5] for line in lines if f"/{name}" in line), name)
