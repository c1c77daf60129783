"""Fused Triton kernels of the softmax family, one program a row: what people write for themselves."""

from __future__ import annotations

from collections.abc import Callable

import triton
import triton.language as tl

from .data import Data
from .shapes import Job

LONGEST = 65536
OPERATIONS = ("softmax", "log_softmax", "logsumexp", "softmax_backward", "log_softmax_backward")


@triton.jit
def softmax_kernel(x, out, axis: tl.constexpr, block: tl.constexpr, log: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, block)
    v = tl.load(x + row * axis + at, mask=at < axis, other=-float("inf")).to(tl.float32)
    v = v - tl.max(v, 0)
    e = tl.exp(v)
    total = tl.sum(e, 0)
    result = v - tl.log(total) if log else e / total
    tl.store(out + row * axis + at, result.to(out.dtype.element_ty), mask=at < axis)


@triton.jit
def logsumexp_kernel(x, out, axis: tl.constexpr, block: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, block)
    v = tl.load(x + row * axis + at, mask=at < axis, other=-float("inf")).to(tl.float32)
    largest = tl.max(v, 0)
    result = largest + tl.log(tl.sum(tl.exp(v - largest), 0))
    tl.store(out + row, result.to(out.dtype.element_ty))


@triton.jit
def backward_kernel(y, dy, out, axis: tl.constexpr, block: tl.constexpr, log: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, block)
    saved = tl.load(y + row * axis + at, mask=at < axis, other=0.0).to(tl.float32)
    given = tl.load(dy + row * axis + at, mask=at < axis, other=0.0).to(tl.float32)
    if log:  # noqa: SIM108 - decided when the kernel is compiled
        result = given - tl.exp(saved) * tl.sum(given, 0)
    else:
        result = saved * (given - tl.sum(saved * given, 0))
    tl.store(out + row * axis + at, result.to(out.dtype.element_ty), mask=at < axis)


def _warps(block: int) -> int:
    if block <= 512:
        return 1 if block <= 128 else 2
    return {1024: 4, 2048: 8, 4096: 8, 8192: 16}.get(block, 32)


def takes(job: Job) -> bool:
    plain = job.mask == 1 and not (job.lengths or job.causal or job.ragged or job.statistics or job.logits)
    return (
        job.operation in OPERATIONS and job.inner == 1 and job.axis <= LONGEST and plain and job.element.name != "f64"
    )


def kernel_call(job: Job, data: Data) -> Callable[[], object] | None:
    """None where such a kernel does not do the job."""
    if not takes(job):
        return None
    block = triton.next_power_of_2(job.axis)
    options = {"axis": job.axis, "block": block, "num_warps": _warps(block)}
    grid, log = (job.outer,), job.operation.startswith("log_")
    if job.operation == "logsumexp":
        return lambda: logsumexp_kernel[grid](data.x, data.out, **options)
    if data.gradient is not None:
        return lambda: backward_kernel[grid](data.x, data.gradient, data.out, log=log, **options)
    return lambda: softmax_kernel[grid](data.x, data.out, log=log, **options)
