"""Reductions and softmax for PyTorch: the same bits alone, in any batch, on CPU and GPU, forward and backward.

Functions for tensors of the CPU and of CUDA GPUs, with gradients, for torch.compile and CUDA graphs; and
`batch_invariant()`, within which PyTorch's own functions are these. Not replaced: matmul, attention, normalizations.
"""

from . import _autograd, _batching, _general  # they register kernels
from ._functions import amax, amin, argmax, argmin, dot, log_softmax, logsumexp, mean, norm, prod, softmax, sum
from ._replacement import batch_invariant, disable_batch_invariant, enable_batch_invariant, is_batch_invariant

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "batch_invariant",
    "disable_batch_invariant",
    "dot",
    "enable_batch_invariant",
    "is_batch_invariant",
    "log_softmax",
    "logsumexp",
    "mean",
    "norm",
    "prod",
    "softmax",
    "sum",
]

del _autograd, _batching, _general
