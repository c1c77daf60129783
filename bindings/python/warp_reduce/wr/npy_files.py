""".npy files: opened without reading them, refused in one sentence, written whole or not at all."""

from __future__ import annotations

import errno
import itertools
import math
import os
import stat
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from .._elements import ElementType
from .elements import element_of_file
from .errors import WrError

# What NumPy can hold.
MOST_DIMENSIONS = 64 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 32
MOST_BYTES = np.iinfo(np.intp).max


@dataclass(frozen=True)
class NpyArray:
    """A file's elements, memory-mapped in the order of the file."""

    path: str
    words: np.ndarray  # one-dimensional
    shape: tuple[int, ...]  # of elements
    element: ElementType


def open_npy(path: str, wanted: ElementType | None) -> NpyArray:
    """Opens path; `wanted` says what its words mean where NumPy has no such type (bf16, field elements)."""
    with _opened(path) as file:
        shape, fortran_order, dtype = _read_header(file)
        _check_order(shape, fortran_order)
        element = element_of_file(dtype, wanted)
        _check_length(file, shape, dtype)
        shape = _shape_of_elements(shape, dtype, element)
        words = _map(file, math.prod(shape), element)
    return NpyArray(path, words, shape, element)


def open_array(path: str, takes: Callable[[np.dtype], bool], taken: str) -> np.ndarray:
    """Opens path as the array that NumPy calls it, in any order; `taken` says in words which types it may have."""
    with _opened(path) as file:
        shape, fortran_order, dtype = _read_header(file)
        if not takes(dtype):
            raise WrError(f"its elements are {dtype}; {taken}")
        _check_length(file, shape, dtype)
        if math.prod(shape) == 0:
            return np.zeros(shape, dtype)
        order = "F" if fortran_order else "C"
        return np.memmap(file, dtype, "r", offset=file.tell(), shape=shape, order=order)


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    """The file, with its name put before what goes wrong with it."""
    try:
        _check_regular(path)
        with open(path, "rb") as file:
            yield file
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


def _read_header(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype]:
    if file.read(len(np.lib.format.MAGIC_PREFIX)) != np.lib.format.MAGIC_PREFIX:
        raise WrError("is not a .npy file; numpy.save writes one")
    file.seek(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a header that reads all the same is no failure
            shape, fortran_order, dtype = _parse_header(file)
    except (OSError, WrError):
        raise
    except Exception as error:  # NumPy evaluates the header's text, and what that raises depends on the text
        raise _damaged(next(iter(str(error).splitlines()), type(error).__name__)) from None
    _check_shape(shape, dtype)
    return shape, fortran_order, dtype


def _parse_header(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype]:
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    version = np.lib.format.read_magic(file)
    if version not in readers:
        raise WrError(
            f"has .npy format {version[0]}.{version[1]}; save it again with numpy.save (1.0 and 2.0 are read)"
        )
    return readers[version](file)


def _damaged(what: str) -> WrError:
    return WrError(f"its .npy header is damaged ({what}); save it again with numpy.save")


def _check_shape(shape: tuple[int, ...], dtype: np.dtype) -> None:
    """Refuses what is no shape of an array, also where a zero among the lengths hides the others."""
    if any(type(length) is not int or length < 0 for length in shape):
        raise _damaged("a shape of other than natural numbers")
    if len(shape) > MOST_DIMENSIONS:
        raise _damaged(f"{len(shape)} dimensions, more than the {MOST_DIMENSIONS} that an array can have")
    if math.prod(filter(None, shape)) * dtype.itemsize > MOST_BYTES:
        raise _damaged("a shape larger than any memory")


def _check_order(shape: tuple[int, ...], fortran_order: bool) -> None:
    if fortran_order and sum(length != 1 for length in shape) > 1:
        raise WrError("is in Fortran order; save it with numpy.ascontiguousarray(a)")


def _check_length(file: BinaryIO, shape: tuple[int, ...], dtype: np.dtype) -> None:
    present = os.fstat(file.fileno()).st_size - file.tell()
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
    try:
        with _replacing(path) as file:
            _write_header(file, shape, element)
            count = math.prod(shape)
            if count == 0:
                yield np.zeros(0, element.storage)
            else:
                _reserve(file, count * element.size)
                array = np.memmap(file, element.storage, "r+", offset=file.tell(), shape=(count,))
                yield array
                array.flush()
    except OSError as error:
        raise WrError(f"{path}: {error.strerror or error}") from None


@contextmanager
def _replacing(path: str) -> Iterator[BinaryIO]:
    """A file beside `path` that takes its place, and its permissions, when the context is left without an exception."""
    mode = _mode_of_target(path)
    target = os.path.realpath(path)  # of a link it is the file that is replaced, not the link
    with _new_file(os.path.dirname(target)) as file:
        try:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            yield file
            file.flush()
            os.replace(file.name, target)
        except BaseException:
            with suppress(OSError):  # the first failure is the one to report
                os.unlink(file.name)
            raise


def _mode_of_target(path: str) -> int | None:
    """The permissions of the file that is there already."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise WrError(f"{path}: is no regular file, so it cannot become a .npy file")
    return stat.S_IMODE(status.st_mode)


def _new_file(folder: str) -> BinaryIO:
    """Its name is short, so that it can be made wherever the file can that it becomes."""
    for number in itertools.count():
        with suppress(FileExistsError):
            return open(os.path.join(folder, f".wr.{os.getpid()}.{number}.part"), "x+b")


def _write_header(file: BinaryIO, shape: tuple[int, ...], element: ElementType) -> None:
    stored_shape = shape if element.words == 1 else (*shape, element.words)
    descr = np.lib.format.dtype_to_descr(element.word)
    header = {"descr": descr, "fortran_order": False, "shape": stored_shape}
    np.lib.format.write_array_header_1_0(file, header)


def _reserve(file: BinaryIO, size: int) -> None:
    """Takes the disk's space now: a write to mapped memory that finds none is no exception but the program's end."""
    file.flush()
    if not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(file.fileno(), file.tell(), size)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):  # which say that the file system cannot
            raise
