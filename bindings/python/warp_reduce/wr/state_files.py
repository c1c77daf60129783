"""Files that hold the state of a piece of an axis, in the format of docs/states.md, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from .._elements import ELEMENT_TYPES, ElementType
from .._errors import WarpReduceError
from .._library import Library
from .._operators import GIVE_AN_INDEX
from .._states import State
from .errors import WrError
from .reduction import Reduction
from .saved_state import replace_file
from .states import Part, States

_BY_CODE = {each.code: each for each in ELEMENT_TYPES}


@dataclass(frozen=True)
class PieceState:
    """The state of one piece; that of an exact sum lies nowhere, and has first and count 0."""

    path: str
    job: Reduction  # whose output may be of another type of the same accumulators
    outer: int
    inner: int
    scale: float
    part: Part

    @property
    def is_exact(self) -> bool:
        return self.job.operator == "sum_exact"

    def goes_with(self, other: PieceState) -> bool:
        return (self.job, self.outer, self.inner, self.scale) == (other.job, other.outer, other.inner, other.scale)

    def states(self, library: Library) -> States:
        return States(library, self.job, self.outer, self.inner, self.scale)


def read_piece_state(path: str) -> PieceState:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise WrError(f"{path}: {error.strerror or error}") from None
    try:
        state = State.from_bytes(data)
    except (WarpReduceError, ValueError):
        raise WrError(f"{path}: is no state of a piece (as 'wr state reduce' writes them), or is damaged") from None
    reduction = state._reduction
    job = Reduction(
        operator=reduction.operator,
        element=reduction.kind[0],
        output=reduction.output[0],
        accumulate=_BY_CODE.get(reduction.accumulate),
        weights=_BY_CODE.get(reduction.weights),
        ignore_nan=bool(reduction.nan_mode),
    )
    part = Part(state.first or 0, state.count or 0, state.array)
    return PieceState(path, job, reduction.outer, reduction.inner, reduction.scale, part)


def write_piece_state(path: str, state: np.ndarray) -> None:
    try:
        replace_file(path, [state])
    except OSError as error:
        raise WrError(f"{path}: {error.strerror or error}") from None


def merged(library: Library, pieces: list[PieceState]) -> Part:
    """In the order in which they lie along the axis."""
    pieces = sorted(pieces, key=lambda each: each.part.first)
    whole = pieces[0].part
    for last, piece in zip(pieces, pieces[1:]):
        if not last.goes_with(piece):
            raise WrError(
                f"{last.path} and {piece.path} are states of different reductions: operator, types, options and shape"
                " must be the same ('wr state show' lists them)"
            )
        if not piece.is_exact and piece.part.first != whole.end:
            raise WrError(
                f"{piece.path} begins with element {piece.part.first}, and the states before it end before element"
                f" {whole.end}; what lies along an axis must be there once"
            )
        whole = piece.states(library).merged(whole, piece.part)
    return whole


def finished(
    library: Library, piece: PieceState, output: ElementType | None
) -> tuple[np.ndarray, np.ndarray | None, Reduction]:
    """The results, the elements at the indices where they are indices, and the reduction whose output they have."""
    if piece.part.first:
        raise WrError(
            f"{piece.path}: begins with element {piece.part.first}; merge it with the states of what lies before it"
        )
    job = replace(piece.job, output=output or piece.job.output)
    shape = (piece.outer, piece.inner)
    result = np.empty(shape, job.output.storage)
    values = np.empty(shape, job.element.storage) if job.operator in GIVE_AN_INDEX else None
    States(library, job, piece.outer, piece.inner, piece.scale).finish(piece.part, result, values)
    return result, values, job
