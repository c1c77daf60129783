"""Softmax of an array on a device, in pieces of whole rows where the array is large."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import sizeof
from dataclasses import dataclass

import numpy as np

from .devices import Device
from .elements import F32, F64, ElementType
from .library import ERROR_UNSUPPORTED, Library, Refused, SoftmaxArgs

PIECE_BYTES = 256 << 20


@dataclass(frozen=True)
class Softmax:
    element: ElementType
    output: ElementType
    log: bool = False
    scale: float = 0.0  # 0 stands for 1
    zero_empty_rows: bool = False

    def logsumexp_element(self) -> ElementType:
        return F64 if self.element is F64 else F32


def softmax_args(
    job: Softmax, source: int, target: int, shape: tuple[int, ...], logsumexp: int | None = None
) -> SoftmaxArgs:
    outer, axis, inner = shape
    return SoftmaxArgs(
        struct_size=sizeof(SoftmaxArgs),
        dtype=job.element.code,
        output_dtype=job.output.code,
        log=int(job.log),
        empty_row=int(job.zero_empty_rows),
        scale=job.scale,
        input=source,
        output=target,
        logsumexp=logsumexp,
        outer=outer,
        axis=axis,
        inner=inner,
    )


def run_softmax(
    library: Library,
    device: Device,
    job: Softmax,
    words: np.ndarray,
    result: np.ndarray,
    logsumexp: np.ndarray,
    advance: Callable[[int], None] = lambda _: None,
    piece_bytes: int = PIECE_BYTES,
) -> float:
    """words and result are [outer][axis][inner], logsumexp [outer][inner]; gives the seconds inside the library."""
    outer = words.shape[0]
    step = max(1, piece_bytes * outer // words.nbytes) if words.nbytes else max(1, outer)
    seconds = 0.0
    for at in range(0, outer, step):
        rows = slice(at, at + step)
        seconds += _call(library, device, job, words[rows], result[rows], logsumexp[rows])
        advance(words[rows].nbytes)
    return seconds


def _call(
    library: Library, device: Device, job: Softmax, words: np.ndarray, result: np.ndarray, logsumexp: np.ndarray
) -> float:
    try:
        with device.reading(words) as source, device.writing(result) as target, device.writing(logsumexp) as sums:
            args = softmax_args(job, source, target, words.shape, sums)
            return device.seconds(lambda: library.softmax(args, device.stream))
    except Refused as refusal:
        if refusal.status != ERROR_UNSUPPORTED:
            raise
        types = f"{job.element.name} into {job.output.name}"
        raise Refused(refusal.status, f"softmax of {types}: {refusal}") from None
