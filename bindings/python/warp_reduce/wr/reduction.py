"""A reduction of an array on a device, in pieces where the array is large.

The pieces rest on the library's promise that floats are combined pairwise in natural order: every aligned piece of 2^k
elements is a subtree, so the results of pieces, combined by the same rule, are the result of the whole, bit for bit.
Everything else is exact in any order, but for logsumexp and exact sums of floats, whose axis is never cut.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace

import numpy as np

from .._elements import F32, F64, I64, U8, U64, ElementType
from .._library import ERROR_UNSUPPORTED, Library, ReduceArgs, Refused
from .._operators import GIVE_AN_INDEX, OPERATORS
from .devices import Device
from .elements import nan_word

PIECE_BYTES = 256 << 20

# What is formed of each piece, and how these are combined; operators that are not here are their own, twice.
_OF_PIECES = {
    "mean": ("sum", "sum"),
    "sum_of_squares": ("sum_of_squares", "sum"),
    "norm_l1": ("norm_l1", "sum"),
    "norm_l2": ("sum_of_squares", "sum"),
    "count_nonzero": ("count_nonzero", "sum"),
}
_NOT_CUT = ("logsumexp", "sum_exact")  # nothing combines the results of its pieces into the bits of the whole
# Of integers for a float output, and up to which width of elements 64 bits hold the exact results of pieces.
_WIDEST_CUT = {"sum": 4, "mean": 4, "norm_l1": 4, "sum_of_squares": 2, "norm_l2": 2, "product": 0}
_NEVER_NEGATIVE = ("sum_of_squares", "norm_l1", "norm_l2", "norm_max")


@dataclass(frozen=True)
class Reduction:
    """What is computed: an operator, the element types it goes through, and what NaNs do."""

    operator: str
    element: ElementType
    output: ElementType
    accumulate: ElementType | None = None
    weights: ElementType | None = None
    ignore_nan: bool = False

    @property
    def is_cut(self) -> bool:
        """Whether the results of pieces make the result of the whole."""
        if self.element.kind == "integer" and self.output.kind == "float" and self.operator in _WIDEST_CUT:
            width = self.element.size + (self.weights.size if self.weights else 0)
            return width <= _WIDEST_CUT[self.operator]
        if self.operator == "norm_l2" and self.element.kind == "float":
            return False  # squares of pieces have limits that those of the whole have not
        return self.operator not in _NOT_CUT

    def of_a_piece(self) -> Reduction:
        return replace(self, operator=_OF_PIECES.get(self.operator, (self.operator,))[0], output=self._between())

    def of_the_pieces(self) -> Reduction:
        """Up to the division of a mean and the root of a norm."""
        between = self._between()
        output = between if self.operator in ("mean", "norm_l2") else self.output
        return Reduction(_OF_PIECES.get(self.operator, (self.operator,))[-1], between, output)

    def _between(self) -> ElementType:
        """The type in which a piece's result is exact, or rounded as inside the whole."""
        if self.operator == "count_nonzero":
            return I64
        if self.operator in ("any", "all"):
            return U8
        if self.operator in ("min", "max", "bit_and", "bit_or", "bit_xor"):
            # E4M3 has no infinity for the extremes of nothing.
            return F32 if self.element.name == "f8_e4m3" else self.element
        if self.element.kind == "integer":
            return I64 if self.element.is_signed and self.operator not in _NEVER_NEGATIVE else U64
        if self.element.kind == "field":
            return self.output
        if self.operator == "norm_max":
            return self.element
        return self.accumulate or (F64 if self.element is F64 else F32)


def reduce_args(job: Reduction, source: int | None, target: int | None, shape: tuple[int, ...]) -> ReduceArgs:
    outer, axis, inner = shape
    return ReduceArgs(
        op=OPERATORS[job.operator],
        dtype=job.element.code,
        output_dtype=job.output.code,
        accumulate_dtype=job.accumulate.code if job.accumulate else 0,
        nan_mode=int(job.ignore_nan),
        weights_dtype=job.weights.code if job.weights else 0,
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

    def run(
        self,
        job: Reduction,
        words: np.ndarray,
        *,
        weights: np.ndarray | None = None,
        old: np.ndarray | None = None,
        values: np.ndarray | None = None,
    ) -> np.ndarray:
        """words is [outer][axis][inner] in the order of memory; the result is [outer][inner].

        weights: [axis]. old: results that these are combined with. values: receives the elements at the indices.
        """
        self._check(job, words.shape)
        return self._run(job, words, weights, old, values)

    def _check(self, job: Reduction, shape: tuple[int, ...]) -> None:
        """Refuses what the library would refuse of the whole, before the first piece."""
        try:
            self._library.workspace_size(reduce_args(job, None, None, shape))
        except Refused as refusal:
            raise explained(refusal, job) from None

    def _run(
        self,
        job: Reduction,
        words: np.ndarray,
        weights: np.ndarray | None,
        old: np.ndarray | None,
        values: np.ndarray | None,
    ) -> np.ndarray:
        outer, axis, inner = words.shape
        if words.nbytes <= self._piece_bytes:
            return self._piece(job, words, weights, old, values)
        if outer > 1:
            step = max(1, self._piece_bytes * outer // words.nbytes)
            groups = [slice(at, at + step) for at in range(0, outer, step)]
            parts = [self._run(job, words[each], weights, _part(old, each), _part(values, each)) for each in groups]
            return np.concatenate(parts)
        rows = self._piece_bytes // (inner * words.itemsize)
        if rows < 2 or not job.is_cut:
            return self._piece(job, words, weights, old, values)
        rows = 1 << (rows.bit_length() - 1)
        pieces = [slice(at, at + rows) for at in range(0, axis, rows)]
        if job.operator in GIVE_AN_INDEX:
            return self._index_along_axis(job, words, pieces, values)
        if job.ignore_nan and job.element.kind == "float" and job.operator in ("sum", "mean"):
            return self._sum_of_present(job, words, pieces, old)
        partials = [self._piece(job.of_a_piece(), words[:, each], _part(weights, each)) for each in pieces]
        return self._combined(job, np.stack(partials, axis=1), old, axis)

    def _combined(
        self, job: Reduction, partials: np.ndarray, old: np.ndarray | None, count: int | np.ndarray
    ) -> np.ndarray:
        """The pieces' results as one: `count` elements went into it."""
        whole = self._call(job.of_the_pieces(), partials, old=old)
        if job.operator not in ("mean", "norm_l2"):
            return whole
        between = F64 if job.element.kind == "integer" else job.of_the_pieces().output
        finished = whole.astype(between.storage)
        with np.errstate(all="ignore"):  # IEEE 754's answers are the right ones
            if job.operator == "mean":
                finished = finished / np.asarray(count).astype(between.storage)
            else:
                finished = np.sqrt(finished)
        # The sum of one element rounds it to the output's type.
        return self._call(Reduction("sum", between, job.output), finished[:, np.newaxis])

    def _sum_of_present(
        self, job: Reduction, words: np.ndarray, pieces: list[slice], old: np.ndarray | None
    ) -> np.ndarray:
        """A sum or mean that leaves NaNs out, and so must know how many elements are left."""
        partials = np.stack([self._piece(job.of_a_piece(), words[:, each]) for each in pieces], axis=1)
        present = np.stack([self._present(job.element, words[:, each]) for each in pieces], axis=1)
        count = present.sum(axis=1)
        # A piece of NaNs alone must add nothing, not even turn -0 into +0; in a whole of NaNs alone it is +0.
        partials[(present == 0) & (count != 0)[:, np.newaxis]] = -0.0
        return self._combined(job, partials, old, count)

    def _present(self, element: ElementType, words: np.ndarray) -> np.ndarray:
        """How many elements are not NaN: counts differ by the NaNs, which are not zero."""
        with_nan, without = (
            self._call(Reduction("count_nonzero", element, I64, ignore_nan=ignore), words) for ignore in (False, True)
        )
        return words.shape[1] - (with_nan - without)

    def _index_along_axis(
        self, job: Reduction, words: np.ndarray, pieces: list[slice], values: np.ndarray | None
    ) -> np.ndarray:
        """Where the first of the pieces' extremes stands, of which each is the first of its piece."""
        job_of_i64 = replace(job, output=I64)
        shape = (words.shape[0], len(pieces), words.shape[2])
        found, extremes = np.empty(shape, np.int64), np.empty(shape, job.element.storage)
        for number, each in enumerate(pieces):
            extreme = np.empty((shape[0], shape[2]), job.element.storage)
            found[:, number] = self._piece(job_of_i64, words[:, each], values=extreme)
            extremes[:, number] = extreme
        if job.ignore_nan and job.element.kind == "float":
            extremes[found < 0] = nan_word(job.element)  # pieces with nothing left are left out as their elements were
        which = self._call(job_of_i64, extremes, values=values)
        inside = np.take_along_axis(found, np.maximum(which, 0)[:, np.newaxis], axis=1)[:, 0]
        starts = np.array([each.start for each in pieces])
        return np.where(which < 0, -1, starts[which] + inside).astype(job.output.storage)

    def _piece(
        self,
        job: Reduction,
        words: np.ndarray,
        weights: np.ndarray | None = None,
        old: np.ndarray | None = None,
        values: np.ndarray | None = None,
    ) -> np.ndarray:
        result = self._call(job, words, weights, old, values)
        self._advance(words.nbytes)
        return result

    def _call(
        self,
        job: Reduction,
        words: np.ndarray,
        weights: np.ndarray | None = None,
        old: np.ndarray | None = None,
        values: np.ndarray | None = None,
    ) -> np.ndarray:
        words = np.ascontiguousarray(words)
        result = np.empty((words.shape[0], words.shape[2]), job.output.storage) if old is None else np.array(old)
        device = self._device
        with ExitStack() as stack:
            source = stack.enter_context(device.reading(words))
            target = stack.enter_context(device.writing(result) if old is None else device.updating(result))
            args = reduce_args(job, source, target, words.shape)
            args.add_to_output = int(old is not None)
            if weights is not None:
                args.weights = stack.enter_context(device.reading(weights))
            if values is not None:
                args.values = stack.enter_context(device.writing(values))
            try:
                self.seconds += device.seconds(lambda: self._library.reduce(args, device.stream))
            except Refused as refusal:
                raise explained(refusal, job) from None
        return result


def _part(array: np.ndarray | None, which: slice) -> np.ndarray | None:
    return None if array is None else array[which]


def explained(refusal: Refused, job: Reduction) -> Refused:
    """The refusal; where a combination is not offered, it says which."""
    if refusal.status != ERROR_UNSUPPORTED:
        return refusal
    types = job.element.name if job.output is job.element else f"{job.element.name} into {job.output.name}"
    weights = f" with weights of {job.weights.name}" if job.weights else ""
    return Refused(refusal.status, f"{job.operator} of {types}{weights}: {refusal}")
