"""Reductions and softmax with the same bits everywhere: NumPy arrays on the CPU, CuPy's and PyTorch's on GPUs too.

The functions are called as NumPy's are, and the result is an array of the framework that the input came from.
Importing this package imports no framework; NumPy comes with the first call.
"""

from typing import TYPE_CHECKING
from typing import Any as _Any

from . import _thread_limits
from ._devices import CudaStatus, cuda_status, host, library_version
from ._errors import Failed, LibraryNotFound, WarpReduceError
from ._pieces import log_softmax_from_state, softmax_from_state, state
from ._reductions import (
    all,
    any,
    argmax,
    argmin,
    count_nonzero,
    dot,
    logsumexp,
    max,
    mean,
    min,
    norm,
    prod,
    segment_reduce,
    sum,
)
from ._softmax import log_softmax, log_softmax_backward, softmax, softmax_backward

__all__ = [
    "CudaStatus",
    "Failed",
    "LibraryNotFound",
    "State",
    "WarpReduceError",
    "all",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "cuda_status",
    "dot",
    "host",
    "library_version",
    "log_softmax",
    "log_softmax_backward",
    "log_softmax_from_state",
    "logsumexp",
    "max",
    "mean",
    "min",
    "norm",
    "prod",
    "segment_reduce",
    "softmax",
    "softmax_backward",
    "softmax_from_state",
    "state",
    "sum",
]

if TYPE_CHECKING:
    from ._states import State

_thread_limits.make_known()


def __getattr__(name: str) -> _Any:
    if name == "State":  # which needs NumPy
        from ._states import State

        return State
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
