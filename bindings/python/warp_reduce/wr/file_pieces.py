"""How an array in a file is cut into pieces of bounded size, and how a piece is read."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from .errors import WrError
from .npy_files import NpyArray

Shape = tuple[int, int, int]


@dataclass(frozen=True)
class Piece:
    """A part of [outer][axis][inner]."""

    outer: slice
    axis: slice
    inner: slice
    ends_axis: bool  # with it the axis of its outer and inner elements is complete

    @property
    def shape(self) -> Shape:
        outer, axis, inner = (part.stop - part.start for part in (self.outer, self.axis, self.inner))
        return outer, axis, inner

    @property
    def is_whole(self) -> bool:
        """Whether it has the whole axis."""
        return self.ends_axis and self.axis.start == 0


@dataclass(frozen=True)
class Cut:
    """An array's shape, and how many elements of each kind a piece has at most."""

    shape: Shape
    steps: Shape

    def pieces(self) -> Iterator[Piece]:
        """The pieces of one axis follow one another."""
        outer, axis, inner = (list(_slices(*each)) for each in zip(self.shape, self.steps))
        for o in outer:
            for i in inner:
                for a in axis:
                    yield Piece(o, a, i, a.stop == self.shape[1])

    @property
    def count(self) -> int:
        return math.prod(-(-length // step) for length, step in zip(self.shape, self.steps))

    @property
    def along(self) -> int:
        """Pieces that an axis is cut into."""
        return -(-self.shape[1] // self.steps[1])

    @property
    def largest(self) -> int:
        """Elements of the largest piece."""
        return math.prod(min(length, step) for length, step in zip(self.shape, self.steps))


def _slices(length: int, step: int) -> Iterator[slice]:
    for at in range(0, length, step):
        yield slice(at, min(at + step, length))


def cut_of(shape: Shape, elements: int, least_rows: int) -> Cut:
    """Pieces of about `elements` elements at most: whole rows ([axis][inner]) where they fit, else a power of two of
    elements along the axis, at least `least_rows` of them, which are a subtree of the sum and whole base blocks."""
    outer, axis, inner = shape
    row = axis * inner
    if row <= elements:
        return Cut(shape, (max(1, elements // max(row, 1)), max(axis, 1), max(inner, 1)))
    along = elements // inner
    if along >= least_rows:
        return Cut(shape, (1, 1 << (along.bit_length() - 1), inner))
    along = min(least_rows, 1 << axis.bit_length())
    return Cut(shape, (1, along, max(1, min(inner, elements // along))))


class FileElements:
    """An array's elements as [outer][axis][inner], read piece by piece."""

    def __init__(self, source: NpyArray, shape: Shape) -> None:
        self.path, self.element, self.shape = source.path, source.element, shape
        self.place = source.place
        self.nbytes = math.prod(shape) * source.element.size
        self._words = source.array.reshape(shape)

    def read(self, piece: Piece, buffer: Callable[[int], np.ndarray]) -> np.ndarray:
        """The piece's elements, in memory that `buffer` gives for so many bytes."""
        memory = buffer(math.prod(piece.shape) * self.element.size)
        words = memory.view(self.element.storage).reshape(piece.shape)
        if self.place is not None and self._is_contiguous(piece):
            self._read_bytes(self._offset(piece), memory)
        else:
            np.copyto(words, self._words[piece.outer, piece.axis, piece.inner])
        return words

    def _is_contiguous(self, piece: Piece) -> bool:
        outer, axis, inner = piece.shape
        return inner == self.shape[2] and (axis == self.shape[1] or outer == 1)

    def _offset(self, piece: Piece) -> int:
        _, axis, inner = self.shape
        return (piece.outer.start * axis + piece.axis.start) * inner * self.element.size

    def _read_bytes(self, offset: int, target: np.ndarray) -> None:
        file, begin = self.place
        memory = memoryview(target)
        while memory.nbytes:
            read = os.preadv(file, [memory], begin + offset)
            if read == 0:
                raise WrError(f"{self.path}: has become shorter while it was read")
            memory, offset = memory[read:], offset + read
