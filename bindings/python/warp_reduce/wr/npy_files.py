""".npy files, members of .npz files and raw files: opened without reading them, refused in one sentence."""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import BinaryIO

import numpy as np

from .._elements import ElementType
from .elements import element_of_file
from .errors import WrError
from .npy_headers import Header, read_header
from .npz_files import member_of, split_member


@dataclass(frozen=True)
class NpyArray:
    """A file's elements, memory-mapped."""

    path: str
    array: np.ndarray  # of the shape, in the file's order
    element: ElementType
    # An open file and the byte of it where the elements begin; None where they do not lie there as `array` has them.
    place: tuple[int, int] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @cached_property
    def words(self) -> np.ndarray:
        """The elements one after the other, the last axis fastest: of a file in Fortran order a copy."""
        return self.array.reshape(-1)


def open_npy(path: str, wanted: ElementType | None) -> NpyArray:
    """Opens path; `wanted` says what its words mean where NumPy has no such type (bf16, field elements)."""
    with _opened(path) as file:
        header = read_header(file)
        element = wanted or header.element
        element = element_of_file(header.dtype, element)
        _check_length(file, header.shape, header.dtype)
        _check_words(header, element)
        begin = file.tell()
        array = _map(file, header, element)
        lies_so = isinstance(array, np.memmap) and not header.fortran_order
        return NpyArray(path, array, element, (os.dup(file.fileno()), begin) if lies_so else None)


def open_raw(path: str, element: ElementType, shape: tuple[int, ...]) -> NpyArray:
    """Opens a file of nothing but elements; one length may be -1, which is then what the file has elements for."""
    with _opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        shape = _raw_shape(shape, element, size)
        needed = math.prod(shape) * element.size
        if needed != size:
            raise WrError(f"has {size} bytes; shape {list(shape)} of {element.name} needs {needed}")
        array = np.memmap(file, element.storage, "r", shape=shape) if needed else np.zeros(shape, element.storage)
        return NpyArray(path, array, element, (os.dup(file.fileno()), 0))


def _raw_shape(shape: tuple[int, ...], element: ElementType, size: int) -> tuple[int, ...]:
    if -1 not in shape:
        return shape
    others = math.prod(each for each in shape if each != -1) * element.size
    length = size // others if others else 0
    return tuple(length if each == -1 else each for each in shape)


def open_array(path: str, takes: Callable[[np.dtype], bool], taken: str) -> np.ndarray:
    """Opens path as the array that NumPy calls it, in any order; `taken` says in words which types it may have."""
    with _opened(path) as file:
        header = read_header(file)
        shape, dtype = header.shape, header.dtype
        if not takes(dtype):
            raise WrError(f"its elements are {dtype}; {taken}")
        _check_length(file, shape, dtype)
        if math.prod(shape) == 0:
            return np.zeros(shape, dtype)
        order = "F" if header.fortran_order else "C"
        return np.memmap(file, dtype, "r", offset=file.tell(), shape=shape, order=order)


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    """The file, with its name put before what goes wrong with it."""
    try:
        archive, member = split_member(path)
        _check_regular(archive)
        with open(archive, "rb") as file:
            yield member_of(file, member) if member is not None else file
    except FileNotFoundError:
        raise WrError(f"{path}: there is no such file") from None
    except OSError as error:
        raise WrError(f"{path}: {error.strerror or error}") from None
    except WrError as error:
        raise WrError(f"{path}: {error}") from None


def _check_regular(path: str) -> None:
    """Before the file is opened, which for a pipe would wait for its writer."""
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise WrError("is a directory; name a .npy file in it")
    if not stat.S_ISREG(mode):
        raise WrError("is no regular file; save the array to disk first")


def _check_length(file: BinaryIO, shape: tuple[int, ...], dtype: np.dtype) -> None:
    present = os.fstat(file.fileno()).st_size - file.tell()
    needed = math.prod(shape) * dtype.itemsize
    if present < needed:
        raise WrError(f"is truncated: shape {list(shape)} of {dtype} needs {needed} bytes, {present} are there")
    if present > needed:
        raise WrError(f"has {present - needed} bytes after the array's end; save it again with numpy.save")


def _check_words(header: Header, element: ElementType) -> None:
    if header.dtype.itemsize != element.size and header.shape[-1:] != (element.words,):
        raise WrError(f"its shape is {list(header.shape)}; {element.name} needs a last axis of {element.words} words")


def _map(file: BinaryIO, header: Header, element: ElementType) -> np.ndarray:
    """The elements; those of several words, which a file may hold as such along a last axis, one item each."""
    stored = element.word if header.dtype.itemsize != element.size else element.storage
    if math.prod(header.shape) == 0:
        array = np.zeros(header.shape, stored)
    else:
        order = "F" if header.fortran_order else "C"
        array = np.memmap(file, stored, "r", offset=file.tell(), shape=header.shape, order=order)
        # A header whose length is no multiple of the element's size leaves the elements misaligned.
        array = array if array.ctypes.data % element.alignment == 0 else array.copy()
    if stored == element.storage:
        return array
    return np.ascontiguousarray(array).view(element.storage)[..., 0]
