"""What this package raises beside Python's own exceptions, and which of those a status becomes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._library import Library


class WarpReduceError(Exception):
    """Something outside the program's own arguments is in the way: a library, a driver, a file."""


class LibraryNotFound(WarpReduceError, ImportError):
    """There is no libwarp_reduce, or one that this package cannot use."""


class Refused(WarpReduceError):
    """The library answered a call with a status other than WR_SUCCESS."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Failed(WarpReduceError, RuntimeError):
    """A GPU or its driver is missing, or CUDA reported an error."""


# wr_status; all others are Failed
_VALUES = (4, 6, 17, 18, 19, 20)
_KINDS: dict[int, type[Exception]] = {**dict.fromkeys(_VALUES, ValueError), 5: TypeError, 11: MemoryError}


def exception_of(library: Library, status: int, what: str) -> Exception:
    """The exception for a call that was refused; `what` says which it was."""
    text = f"{what}: {library.status_string(status)} ({library.status_name(status)})"
    return _KINDS.get(status, Failed)(text)
