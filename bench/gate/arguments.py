"""A job as the argument struct of our call."""

from __future__ import annotations

import ctypes

from . import header
from .elements import operator
from .shapes import BACKWARD, Job


def arguments(job: Job, elements: int | None = None) -> ctypes.Structure:
    """Without pointers; `elements` is how many ragged rows have together."""
    if job.operation in BACKWARD:
        return _of_rows("wr_softmax_backward_args", job)
    if job.operation in ("softmax", "log_softmax"):
        args = _of_rows("wr_softmax_args", job)
        args.output_dtype = job.output.code
        args.axis = (elements or job.elements) if job.ragged else job.axis
        return args
    types = {"op": operator(job.operation), "dtype": job.element.code, "output_dtype": job.output.code}
    if job.ragged:
        return header.args("wr_reduce_segments_args", segments=job.outer, **types)
    weights = job.weights.code if job.weights else 0
    shape = {"outer": job.outer, "axis": job.axis, "inner": job.inner}
    return header.args("wr_reduce_args", weights_dtype=weights, **types, **shape)


def _of_rows(name: str, job: Job) -> ctypes.Structure:
    args = header.args(name, dtype=job.element.code, outer=job.outer, axis=job.axis, inner=job.inner)
    args.log = int(job.operation.startswith("log_"))
    args.causal = args.causal_first = int(job.causal)
    return args
