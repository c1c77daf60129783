"""A reduction of an array on a device, in pieces where the array is large.

The pieces rest on the library's promise that a sum is pairwise in natural order: every aligned piece of 2^k
elements is a subtree, so sums of pieces, added up by the same rule, are the sum of the whole, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from ctypes import sizeof
from dataclasses import dataclass, replace

import numpy as np

from .devices import Device
from .elements import F32, F64, I64, ElementType
from .library import ERROR_UNSUPPORTED, OPERATORS, Library, ReduceArgs, Refused

PIECE_BYTES = 256 << 20


@dataclass(frozen=True)
class Reduction:
    """What is computed: an operator and the element types it goes through."""

    operator: str
    element: ElementType
    output: ElementType
    accumulate: ElementType | None = None

    def accumulator(self) -> ElementType:
        """The type in which the sum of a piece is exact or rounded as inside the whole."""
        if self.operator in ("min", "max") or self.element.kind == "field":
            return self.element
        if self.element.kind == "integer":
            return I64
        return self.accumulate or (F64 if self.element is F64 else F32)


def reduce_args(job: Reduction, source: int, target: int, shape: tuple[int, ...]) -> ReduceArgs:
    outer, axis, inner = shape
    return ReduceArgs(
        struct_size=sizeof(ReduceArgs),
        op=OPERATORS[job.operator],
        dtype=job.element.code,
        output_dtype=job.output.code,
        accumulate_dtype=job.accumulate.code if job.accumulate else 0,
        input=source,
        output=target,
        outer=outer,
        axis=axis,
        inner=inner,
    )


class Reducer:
    """Runs reductions on one device, adds up the time inside the library, and reports each finished piece."""

    def __init__(
        self,
        library: Library,
        device: Device,
        advance: Callable[[int], None] = lambda _: None,
        piece_bytes: int = PIECE_BYTES,
    ) -> None:
        self._library = library
        self._device = device
        self._advance = advance
        self._piece_bytes = piece_bytes
        self.seconds = 0.0

    def run(self, job: Reduction, words: np.ndarray) -> np.ndarray:
        """words is [outer][axis][inner] in the order of memory; the result is [outer][inner]."""
        outer, axis, inner = words.shape
        if words.nbytes <= self._piece_bytes:
            return self._piece(job, words)
        if outer > 1:
            step = max(1, self._piece_bytes * outer // words.nbytes)
            return np.concatenate([self.run(job, words[at : at + step]) for at in range(0, outer, step)])
        rows = self._piece_bytes // (inner * words.itemsize)
        if rows < 2:
            return self._piece(job, words)
        return self._run_along_axis(job, words, 1 << (rows.bit_length() - 1))

    def _run_along_axis(self, job: Reduction, words: np.ndarray, rows: int) -> np.ndarray:
        operator = "sum" if job.operator == "mean" else job.operator
        between = job.accumulator()
        first = replace(job, operator=operator, output=between)
        axis = words.shape[1]
        partials = [self._piece(first, words[:, at : at + rows]) for at in range(0, axis, rows)]
        second = Reduction(operator, between, job.output if job.operator != "mean" else between)
        whole = self._call(second, np.stack(partials, axis=1))
        return whole if job.operator != "mean" else self._divide(job, whole, axis)

    def _divide(self, job: Reduction, whole: np.ndarray, axis: int) -> np.ndarray:
        divisor = F64 if job.element.kind == "integer" else job.accumulator()
        mean = whole.astype(divisor.storage) / divisor.storage.type(axis)
        return self._call(Reduction("sum", divisor, job.output), mean[:, np.newaxis, :])

    def _piece(self, job: Reduction, words: np.ndarray) -> np.ndarray:
        result = self._call(job, words)
        self._advance(words.nbytes)
        return result

    def _call(self, job: Reduction, words: np.ndarray) -> np.ndarray:
        words = np.ascontiguousarray(words)
        result = np.empty((words.shape[0], words.shape[2]), job.output.storage)
        try:
            with self._device.reading(words) as source, self._device.writing(result) as target:
                args = reduce_args(job, source, target, words.shape)
                self.seconds += self._device.seconds(lambda: self._library.reduce(args, self._device.stream))
        except Refused as refusal:
            raise _explained(refusal, job) from None
        return result


def _explained(refusal: Refused, job: Reduction) -> Refused:
    if refusal.status != ERROR_UNSUPPORTED:
        return refusal
    types = job.element.name if job.output is job.element else f"{job.element.name} into {job.output.name}"
    return Refused(refusal.status, f"{job.operator} of {types}: {refusal}{_hint(job)}")


def _hint(job: Reduction) -> str:
    if job.operator == "mean" and job.element.kind == "integer" and job.output.kind != "float":
        return "; add --output-dtype f64"
    return "; if these are field elements, add --dtype koalabear" if job.element.name == "u32" else ""
