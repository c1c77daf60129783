"""Dot products and segments in general."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import Array, Framework, adopt
from ._elements import I32, I64, ElementType
from ._general import Job, _fits, check_out, finished, run
from ._geometry import layout_of, plan_reduction
from ._library import ReduceArgs, SegmentsArgs
from ._operators import SEGMENTED
from ._types import field_named


def dot(x: Any, y: Any, dtype: Any, out: Array | None, exact: bool = False) -> Any:
    """The sum over x's last dimension, weighted with y."""
    fields = _field_pair(dtype)
    framework, x = adopt(x)
    y = framework.beside(y, x)
    if fields is None:
        x, y = _alike(framework, x, y)
    operator = "sum_exact" if exact and framework.kind(x)[0].kind == "float" else "sum"
    left = Job(operator, x, fields[0].name if fields else dtype, out, framework)
    right = Job("sum", y, fields[1].name if fields else None, None, framework)
    if not left.shape or len(right.shape) != 1:
        raise ValueError(
            f"dot takes an array and a vector, not shapes {left.shape} and {right.shape}; it multiplies no matrices"
        )
    if left.shape[-1] != right.shape[0]:
        raise ValueError(f"shapes {left.shape} and {right.shape} differ in the dimension that is summed over")
    if fields and right.kind[0].words > left.kind[0].words:
        left.output = right.kind
    if not fields and left.kind != right.kind:  # dtype made the left side another
        right.x, right.kind = right.framework.converted(right.x, left.kind), left.kind
    return _weighted_sum(left, right, out)


def _weighted_sum(left: Job, right: Job, out: Array | None) -> Any:
    framework, rank = left.framework, len(left.shape)
    plan = plan_reduction(framework, left.x, (rank - 1,), left.words)
    weights = framework.contiguous(right.x)
    words = (left.output[0].words,) if left.output[0].words > 1 else ()
    shape = (*left.shape[:-1], *words)
    if plan.kept is not None:
        left.x = framework.contiguous(left.x)
        plan = plan_reduction(framework, left.x, (rank - 1,), left.words)
    kind = left.stored_kind(left.output)
    target = None
    if out is not None:
        check_out(framework, out, shape)
        if _fits(framework, out, left.x, kind) and not framework.overlap(out, weights):
            target = out
    target = framework.empty(left.x, shape, kind) if target is None else target
    pointer = framework.pointer
    args = ReduceArgs(
        **left.fields(),
        **plan.fields(),
        weights_dtype=right.kind[0].code,
        input=pointer(plan.array),
        weights=pointer(weights),
        output=pointer(target),
    )
    run(args, framework, plan.array, f"dot of {left.kind[0].name} and {right.kind[0].name}")
    return finished(framework, target, out)


def _field_pair(dtype: Any) -> tuple[ElementType, ElementType] | None:
    """One name for both sides, or a pair of them."""
    names = dtype if isinstance(dtype, tuple) else (dtype, dtype)
    if len(names) != 2:
        raise ValueError("dtype of a dot product is one type, or a pair of fields: one for each side")
    found = [field_named(name) for name in names]
    return (found[0], found[1]) if found[0] and found[1] else None


def _alike(framework: Framework, x: Array, y: Array) -> tuple[Array, Array]:
    """Both of one type, as NumPy promotes them."""
    if framework.kind(x) == framework.kind(y):
        return x, y
    if isinstance(x, np.ndarray):
        common = np.result_type(x, y)
    else:
        common = (x[:0].reshape(-1)[:0] + y[:0].reshape(-1)[:0]).dtype
    return (x if x.dtype == common else _as(x, common)), (y if y.dtype == common else _as(y, common))


def _as(x: Array, dtype: Any) -> Array:
    return x.astype(dtype) if hasattr(x, "astype") else x.to(dtype)


def segment_reduce(op: str, x: Any, offsets: Any, dtype: Any, out: Array | None) -> Any:
    if op not in SEGMENTED:
        raise ValueError(f"{op!r} is no operator of segments; choose from {', '.join(SEGMENTED)}")
    job = Job(SEGMENTED[op], x, dtype, out)
    framework = job.framework
    if len(job.shape) != 1:
        raise ValueError(f"segments are of one dimension, not of the shape {job.shape}; give x.reshape(-1)")
    offsets = framework.beside(offsets, job.x)
    if len(framework.shape(offsets)) != 1 or not framework.shape(offsets)[0]:
        raise ValueError("offsets has one dimension, and one element more than there are segments")
    if framework.kind(offsets)[0] not in (I32, I64):
        if framework.kind(offsets)[0].kind != "integer":
            raise TypeError("offsets must be integers")
        offsets = framework.converted(offsets, (I64, False))
    return _segments(job, framework.contiguous(offsets), out)


def _segments(job: Job, offsets: Array, out: Array | None) -> Any:
    framework = job.framework
    x = framework.contiguous(job.x)
    count = layout_of(framework, x, job.words).shape[0]
    if not count:  # which the library would take for "as many as the last offset says"
        offsets = _all_zero(job, offsets)
    segments = framework.shape(offsets)[0] - 1
    words = (job.output[0].words,) if job.output[0].words > 1 else ()
    kind = job.stored_kind(job.output)
    target = None
    if out is not None:
        check_out(framework, out, (segments, *words))
        if _fits(framework, out, x, kind) and not framework.overlap(out, offsets):
            target = out
    target = framework.empty(job.x, (segments, *words), kind) if target is None else target
    args = SegmentsArgs(
        **job.fields(),
        offsets_dtype=framework.kind(offsets)[0].code,
        input=framework.pointer(x),
        output=framework.pointer(target),
        offsets=framework.pointer(offsets),
        segments=segments,
        input_count=count,
    )
    run(args, framework, x, f"segments: {job.title}")
    return finished(framework, target, out)


def _all_zero(job: Job, offsets: Array) -> Array:
    """Offsets into nothing."""
    if job.framework.on_host and offsets.any():
        raise ValueError("offsets lead beyond an array without elements")
    return offsets * 0
