"""A job as the argument struct of our call."""

from __future__ import annotations

from typing import Any

from warp_reduce._library import ReduceArgs, SegmentsArgs, SoftmaxArgs, SoftmaxBackwardArgs
from warp_reduce._operators import OPERATORS

from .shapes import BACKWARD, Job


def arguments(job: Job, elements: int | None = None) -> Any:
    """Without pointers; `elements` is how many ragged rows have together."""
    if job.operation in BACKWARD:
        return _backward_arguments(job)
    if job.operation in ("softmax", "log_softmax"):
        args = SoftmaxArgs(dtype=job.element.code, output_dtype=job.output.code)
        args.log = int(job.operation == "log_softmax")
        args.outer, args.axis, args.inner = job.outer, job.axis, job.inner
        if job.ragged:
            args.axis = elements or job.elements
        _set_causal(args, job)
        return args
    if job.ragged:
        args = SegmentsArgs(op=OPERATORS[job.operation], dtype=job.element.code)
        args.output_dtype, args.segments = job.output.code, job.outer
        return args
    args = ReduceArgs(op=OPERATORS[job.operation], dtype=job.element.code)
    args.output_dtype = job.output.code
    args.weights_dtype = job.weights.code if job.weights else 0
    args.outer, args.axis, args.inner = job.outer, job.axis, job.inner
    return args


def _backward_arguments(job: Job) -> SoftmaxBackwardArgs:
    args = SoftmaxBackwardArgs(dtype=job.element.code)
    args.log = int(job.operation.startswith("log"))
    args.outer, args.axis, args.inner = job.outer, job.axis, job.inner
    _set_causal(args, job)
    return args


def _set_causal(args: Any, job: Job) -> None:
    if job.causal:
        args.causal, args.causal_first = 1, 1
