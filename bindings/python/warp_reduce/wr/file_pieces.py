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
    def last(self) -> Piece | None:
        """Its state may be larger than those of the others, which are whole subtrees."""
        if 0 in self.shape:
            return None
        o, a, i = (slice((length - 1) // step * step, length) for length, step in zip(self.shape, self.steps))
        return Piece(o, a, i, True)

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

    @property
    def cut_short(self) -> str:
        return f"{self.path}: has become shorter while it was read"

    def at(self, piece: Piece) -> FilePiece:
        return FilePiece(self, piece)

    def read(self, piece: Piece, memory: np.ndarray) -> np.ndarray:
        """The piece's elements, in memory of as many bytes."""
        words = memory.view(self.element.storage).reshape(piece.shape)
        if self.place is not None and _is_contiguous(piece, self.shape):
            self._read_bytes(self._offset(piece), memory)
        else:
            np.copyto(words, self._words[piece.outer, piece.axis, piece.inner])
        return words

    def place_of(self, piece: Piece) -> tuple[int, int] | None:
        """The open file and the offset in it, where the piece's elements lie one after the other in a file."""
        if self.place is None or not _is_contiguous(piece, self.shape):
            return None
        file, begin = self.place
        return file, begin + self._offset(piece)

    def _offset(self, piece: Piece) -> int:
        return _begin(piece, self.shape) * self.element.size

    def _read_bytes(self, offset: int, target: np.ndarray) -> None:
        file, begin = self.place
        memory = memoryview(target)
        while memory.nbytes:
            read = os.preadv(file, [memory], begin + offset)
            if read == 0:
                raise WrError(self.cut_short)
            memory, offset = memory[read:], offset + read


class FileOutputs:
    """Where elements [outer][axis][inner] are written piece by piece: an array, which may be a mapped file."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        # Writing to a file that is new costs a third of writing to its pages where they are mapped.
        self._file = os.open(array.filename, os.O_WRONLY) if isinstance(array, np.memmap) else None

    def at(self, piece: Piece) -> OutputPiece:
        return OutputPiece(self, piece)

    def write(self, piece: Piece, memory: np.ndarray) -> None:
        words = memory.view(self.array.dtype).reshape(piece.shape)
        if self._file is None or not _is_contiguous(piece, self.array.shape):
            self.array[piece.outer, piece.axis, piece.inner] = words
            return
        offset = self.array.offset + _begin(piece, self.array.shape) * self.array.itemsize
        left = memoryview(memory)
        while left.nbytes:
            written = os.pwrite(self._file, left, offset)
            left, offset = left[written:], offset + written

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)


def _is_contiguous(piece: Piece, shape: Shape) -> bool:
    """Whether its elements lie one after the other in an array of that shape."""
    outer, axis, inner = piece.shape
    rows = inner == shape[2] and (axis == shape[1] or outer == 1)
    return rows or outer == axis == 1


def _begin(piece: Piece, shape: Shape) -> int:
    return (piece.outer.start * shape[1] + piece.axis.start) * shape[2] + piece.inner.start


@dataclass(frozen=True)
class FilePiece:
    """A piece of a file's elements, which is to be read."""

    source: FileElements
    piece: Piece

    @property
    def nbytes(self) -> int:
        return math.prod(self.piece.shape) * self.source.element.size

    def read(self, memory: Callable[[int], np.ndarray]) -> np.ndarray:
        """Its elements, in memory that is given for so many bytes."""
        return self.source.read(self.piece, memory(self.nbytes))


@dataclass(frozen=True)
class OutputPiece:
    """A piece of outputs, which is to be written."""

    target: FileOutputs
    piece: Piece

    @property
    def nbytes(self) -> int:
        return math.prod(self.piece.shape) * self.target.array.itemsize

    def write(self, memory: np.ndarray) -> None:
        self.target.write(self.piece, memory)
