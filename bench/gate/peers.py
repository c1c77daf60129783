"""PyTorch at the same jobs: its own kernels, and what torch.compile makes of the same functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch

from .data import TORCH_TYPES, Data
from .shapes import BACKWARD, Job

Call = Callable[[], object]

REDUCTIONS = {
    "sum": torch.sum,
    "mean": torch.mean,
    "max": torch.amax,
    "argmax": torch.argmax,
    "product": torch.prod,
    "logsumexp": torch.logsumexp,
}
MINUS_INFINITY = float("-inf")


def _norm(x: torch.Tensor, dim: int, out: torch.Tensor | None = None) -> torch.Tensor:
    return torch.linalg.vector_norm(x, 2, dim, out=out)


def _has_peer(job: Job) -> bool:
    is_float = TORCH_TYPES[job.element.name].is_floating_point
    return is_float and not (job.ragged and job.is_of_rows) and job.weights is None and not job.logits


def eager(job: Job, data: Data) -> Call | None:
    """None where PyTorch has no such function."""
    if not _has_peer(job):
        return None
    if job.operation in BACKWARD:
        return _eager_backward(job, data)
    if job.ragged:
        return partial(torch.segment_reduce, data.x, job.operation, offsets=data.offsets, unsafe=True)
    if job.operation in ("softmax", "log_softmax"):
        return _eager_softmax(job, data)
    function = _norm if job.operation == "norm_l2" else REDUCTIONS[job.operation]
    return partial(function, data.x, data.dim, out=data.out)


def _eager_backward(job: Job, data: Data) -> Call:
    """What is left out has an output of 0 there, and so a gradient of 0: no mask is needed."""
    aten = torch.ops.aten
    if job.operation == "softmax_backward":
        function = aten._softmax_backward_data.out
        return partial(function, data.gradient, data.x, data.dim, data.x.dtype, grad_input=data.out)
    function = aten._log_softmax_backward_data.out
    return partial(function, data.gradient, data.x, data.dim, data.x.dtype, out=data.out)


def _eager_softmax(job: Job, data: Data) -> Call:
    function = torch.softmax if job.operation == "softmax" else torch.log_softmax
    if data.excluded is not None or data.lengths is not None:
        expression = selected(job, data)
        return lambda: function(expression(data.x), data.dim)
    if job.output != job.element:
        if job.output.name == "f32":
            return partial(function, data.x, data.dim, dtype=torch.float32)
        return lambda: function(data.x, data.dim).to(TORCH_TYPES[job.output.name])
    return partial(function, data.x, data.dim, out=data.out)


def selected(job: Job, data: Data) -> Callable[[torch.Tensor], torch.Tensor]:
    """The logits with -infinity in the place of what is left out."""
    if data.lengths is not None:
        positions = torch.arange(job.axis, device=data.x.device)
        return lambda x: x.masked_fill(positions >= data.lengths[:, None], MINUS_INFINITY)
    if job.causal:
        rows = data.excluded.shape[0]
        return lambda x: x.view(-1, rows, job.axis).masked_fill(data.excluded, MINUS_INFINITY).view(x.shape)
    return lambda x: x.masked_fill(data.excluded, MINUS_INFINITY)


def _function(job: Job, data: Data) -> Callable[..., torch.Tensor]:
    """The same job as a function of tensors, for torch.compile."""
    dim, operation = data.dim, job.operation
    if operation == "softmax_backward":
        return lambda y, dy: y * (dy - (y * dy).sum(dim, keepdim=True))
    if operation == "log_softmax_backward":
        return lambda y, dy: dy - y.exp() * dy.sum(dim, keepdim=True)
    if operation in ("softmax", "log_softmax"):
        function = torch.softmax if operation == "softmax" else torch.log_softmax
        if data.excluded is None and data.lengths is None:
            return lambda x: function(x, dim)
        expression = selected(job, data)
        return lambda x: function(expression(x), dim)
    function = _norm if operation == "norm_l2" else REDUCTIONS[operation]
    return lambda x: function(x, dim)


def compiler(job: Job, data: Data) -> Callable[[Data], Call] | None:
    """torch.compile's function of the job, as a call on any of its data; compiled when it is first called."""
    if not _has_peer(job) or job.ragged or job.output != job.element and job.operation in ("softmax", "log_softmax"):
        return None
    torch._dynamo.reset()
    function = torch.compile(_function(job, data), dynamic=False)
    if job.operation in BACKWARD:
        return lambda one: partial(function, one.x, one.gradient)
    return lambda one: partial(function, one.x)
