"""What the library can run on here."""

from __future__ import annotations

from dataclasses import dataclass

from . import _native
from ._library import SUCCESS, load_library


class Host:
    """The host device: all cores of this machine's CPU, with the bits of any GPU."""

    @property
    def threads(self) -> int:
        """How many threads a large job uses: this process's cores, or what a container's quota pays for.

        Setting it limits every thread's jobs from now on; 0 takes the limit back. No result depends on it.

        >>> import warp_reduce
        >>> warp_reduce.host.threads = 1
        >>> warp_reduce.host.threads
        1
        >>> warp_reduce.host.threads = 0
        """
        return _native.host_threads(load_library().number)

    @threads.setter
    def threads(self, most: int) -> None:
        _native.set_host_threads(load_library().number, most)

    @property
    def stream(self) -> int:
        """wr_host_stream(): the handle that stands for the host device in the C interface."""
        return load_library().host_stream

    def __repr__(self) -> str:
        return f"<warp_reduce host device, {self.threads} thread{'' if self.threads == 1 else 's'}>"


@dataclass(frozen=True)
class CudaStatus:
    """Whether GPUs can be used, and what is missing; true where they can."""

    code: int  # wr_status
    name: str
    message: str

    def __bool__(self) -> bool:
        return self.code == SUCCESS


host = Host()


def cuda_status() -> CudaStatus:
    """Whether arrays on this thread's current GPU can be worked on; needs neither a driver nor a GPU to ask.

    >>> import warp_reduce
    >>> status = warp_reduce.cuda_status()
    >>> bool(status) == (status.name == "WR_SUCCESS")
    True
    """
    library = load_library()
    code = library.cuda_status()
    return CudaStatus(code, library.status_name(code), library.status_string(code))


def library_version() -> str:
    """The version of libwarp_reduce that is open.

    >>> import warp_reduce
    >>> warp_reduce.library_version().count(".")
    2
    """
    return load_library().version
