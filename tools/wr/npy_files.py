""".npy files: opened without reading them, refused in one sentence, written whole or not at all."""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from .elements import ElementType, element_of_file
from .errors import WrError


@dataclass(frozen=True)
class NpyArray:
    """A file's elements, memory-mapped in the order of the file."""

    path: str
    words: np.ndarray  # one-dimensional
    shape: tuple[int, ...]  # of elements
    element: ElementType


def open_npy(path: str, wanted: ElementType | None) -> NpyArray:
    """Opens path; `wanted` says what its words mean where NumPy has no such type (bf16, field elements)."""
    try:
        with open(path, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise WrError("is no regular file; save the array to disk first")
            shape, fortran_order, dtype = _read_header(file)
            _check_order(shape, fortran_order)
            element = element_of_file(dtype, wanted)
            _check_length(os.fstat(file.fileno()).st_size - file.tell(), shape, dtype)
            shape = _shape_of_elements(shape, dtype, element)
            words = _map(file, math.prod(shape), element)
    except FileNotFoundError:
        raise WrError(f"{path}: there is no such file") from None
    except OSError as error:
        raise WrError(f"{path}: {error.strerror or error}") from None
    except WrError as error:
        raise WrError(f"{path}: {error}") from None
    return NpyArray(path, words, shape, element)


def _read_header(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype]:
    if file.read(len(np.lib.format.MAGIC_PREFIX)) != np.lib.format.MAGIC_PREFIX:
        raise WrError("is not a .npy file; numpy.save writes one")
    file.seek(0)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    try:
        version = np.lib.format.read_magic(file)
        if version not in readers:
            raise WrError(
                f"has .npy format {version[0]}.{version[1]}; save it again with numpy.save (1.0 and 2.0 are read)"
            )
        shape, fortran_order, dtype = readers[version](file)
    except ValueError as error:
        raise WrError(f"its .npy header is damaged ({str(error).splitlines()[0]})") from None
    if any(length < 0 for length in shape):
        raise WrError(f"its .npy header is damaged (a negative length in the shape {shape})")
    return shape, fortran_order, dtype


def _check_order(shape: tuple[int, ...], fortran_order: bool) -> None:
    if fortran_order and sum(length != 1 for length in shape) > 1:
        raise WrError("is in Fortran order; save it with numpy.ascontiguousarray(a)")


def _check_length(present: int, shape: tuple[int, ...], dtype: np.dtype) -> None:
    needed = math.prod(shape) * dtype.itemsize
    if present < needed:
        raise WrError(f"is truncated: shape {list(shape)} of {dtype} needs {needed} bytes, {present} are there")
    if present > needed:
        raise WrError(f"has {present - needed} bytes after the array's end; save it again with numpy.save")


def _shape_of_elements(shape: tuple[int, ...], dtype: np.dtype, element: ElementType) -> tuple[int, ...]:
    """Without the last axis where that holds the words of an element."""
    if dtype.itemsize == element.size:
        return shape
    if shape[-1:] != (element.words,):
        raise WrError(f"its shape is {list(shape)}; {element.name} needs a last axis of {element.words} words")
    return shape[:-1]


def _map(file: BinaryIO, count: int, element: ElementType) -> np.ndarray:
    if count == 0:
        return np.zeros(0, element.storage)
    words = np.memmap(file, element.storage, "r", offset=file.tell(), shape=(count,))
    # A header whose length is no multiple of the element's size leaves the elements misaligned.
    return words if words.ctypes.data % element.alignment == 0 else words.copy()


@contextmanager
def writing_npy(path: str, shape: tuple[int, ...], element: ElementType) -> Iterator[np.ndarray]:
    """A one-dimensional array that becomes the file `path` when the context is left without an exception.

    `shape` counts elements; those of an extension are stored as their words, along a last axis.
    It is written beside its final place and then renamed, so a failure leaves what was there before.
    """
    stored_shape = shape if element.words == 1 else (*shape, element.words)
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise WrError(f"{path}: is no regular file, so it cannot become a .npy file")
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        if math.prod(shape) == 0:
            with open(partial, "xb") as file:
                np.save(file, np.zeros(stored_shape, element.word))
            yield np.zeros(0, element.storage)
        else:
            array = np.lib.format.open_memmap(partial, "w+", element.word, stored_shape)
            yield array.reshape(-1).view(element.storage)
            array.flush()
        os.replace(partial, target)
    except OSError as error:
        raise WrError(f"{path}: {error.strerror or error}") from None
    finally:
        partial.unlink(missing_ok=True)
