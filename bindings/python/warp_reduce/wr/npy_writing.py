""".npy files, written whole or not at all."""

from __future__ import annotations

import errno
import itertools
import math
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import BinaryIO

import numpy as np

from .._elements import ElementType
from .errors import WrError


@contextmanager
def writing_npy(path: str, shape: tuple[int, ...], element: ElementType) -> Iterator[np.ndarray]:
    """A one-dimensional array that becomes the file `path` when the context is left without an exception.

    `shape` counts elements; those of an extension are stored as their words, along a last axis.
    It is written beside its final place and then renamed, so a failure leaves what was there before.
    """
    try:
        with _replacing(path) as file:
            write_header(file, shape, element)
            count = math.prod(shape)
            if count == 0:
                yield np.zeros(0, element.storage)
            else:
                reserve(file, count * element.size)
                array = np.memmap(file, element.storage, "r+", offset=file.tell(), shape=(count,))
                yield array
                array.flush()
    except OSError as error:
        raise WrError(f"{path}: {error.strerror or error}") from None


def write_all_npy(files: list[tuple[str | None, np.ndarray | None, ElementType]]) -> None:
    """Those that have a name, with the array's elements and shape: all of them, or none where one cannot be written."""
    with ExitStack() as stack:
        wanted = [(path, array, element) for path, array, element in files if path and array is not None]
        places = [stack.enter_context(writing_npy(path, array.shape, element)) for path, array, element in wanted]
        for place, (_, array, _) in zip(places, wanted):
            place[:] = array.reshape(-1)


@contextmanager
def _replacing(path: str) -> Iterator[BinaryIO]:
    """A file beside `path` that takes its place, and its permissions, when the context is left without an exception."""
    mode = mode_of_target(path)
    target = os.path.realpath(path)  # of a link it is the file that is replaced, not the link
    with new_file(os.path.dirname(target)) as file:
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


def mode_of_target(path: str) -> int | None:
    """The permissions of the file that is there already."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise WrError(f"{path}: is no regular file, so it cannot become a .npy file")
    return stat.S_IMODE(status.st_mode)


def new_file(folder: str) -> BinaryIO:
    """Its name is short, so that it can be made wherever the file can that it becomes."""
    for number in itertools.count():
        with suppress(FileExistsError):
            return open(os.path.join(folder, f".wr.{os.getpid()}.{number}.part"), "x+b")


def write_header(file: BinaryIO, shape: tuple[int, ...], element: ElementType) -> None:
    stored_shape = shape if element.words == 1 else (*shape, element.words)
    descr = np.lib.format.dtype_to_descr(element.word)
    header = {"descr": descr, "fortran_order": False, "shape": stored_shape}
    np.lib.format.write_array_header_1_0(file, header)


def reserve(file: BinaryIO, size: int) -> None:
    """Takes the disk's space now: a write to mapped memory that finds none is no exception but the program's end."""
    file.flush()
    if not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(file.fileno(), file.tell(), size)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):  # which say that the file system cannot
            raise
