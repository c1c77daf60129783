"""Reductions and softmax with the same bits everywhere: NumPy arrays on the CPU, CuPy's and PyTorch's on GPUs too.

The functions are called as NumPy's are, and the result is an array of the framework that the input came from.
Importing this package imports no framework; NumPy comes with the first call.
"""

from ._devices import CudaStatus, cuda_status, host, library_version
from ._errors import Failed, LibraryNotFound, WarpReduceError
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
    "logsumexp",
    "max",
    "mean",
    "min",
    "norm",
    "prod",
    "segment_reduce",
    "softmax",
    "softmax_backward",
    "sum",
]
