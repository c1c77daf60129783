"""A .npy file that more than one run may write: it stays beside its place, unfinished, until it is complete."""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

import numpy as np

from .._elements import ElementType
from .errors import WrError
from .npy_writing import mode_of_target, new_file, reserve, write_header
from .saved_state import SavedState
from .signals import held


class UnfinishedNpy:
    """`place`: where an earlier run has left it, as `place` of that run's said."""

    def __init__(self, path: str, shape: tuple[int, ...], element: ElementType, place: dict[str, Any] | None) -> None:
        self._path, self._target = path, os.path.realpath(path)
        self._mode = mode_of_target(path)
        try:
            with held():
                self._file = self._opened(place) if place else new_file(os.path.dirname(self._target))
            if not place:
                write_header(self._file, shape, element)
                reserve(self._file, math.prod(shape) * element.size)
            self.array = self._mapped(math.prod(shape), element)
        except BaseException:
            if not place and "_file" in vars(self):
                self.discard()
            raise

    def _opened(self, place: dict[str, Any]) -> BinaryIO:
        """At its own name, or at the final one, where a run was killed that had completed it."""
        for path in (os.path.join(os.path.dirname(self._target), place["file"]), self._target):
            with suppress(FileNotFoundError):
                file = open(path, "r+b")  # noqa: SIM115
                status = os.fstat(file.fileno())
                if stat.S_ISREG(status.st_mode) and (status.st_ino, status.st_size) == (place["inode"], place["size"]):
                    return file
                file.close()
        raise WrError(
            f"{self._path}: what an earlier run has written of it ({place['file']} beside it) is there no longer;"
            " remove the file of --state to begin anew"
        )

    def _mapped(self, count: int, element: ElementType) -> np.ndarray:
        """The elements, which are the file's end."""
        if count == 0:
            return np.zeros(0, element.storage)
        begin = os.fstat(self._file.fileno()).st_size - count * element.size
        return np.memmap(self._file, element.storage, "r+", offset=begin, shape=(count,))

    @property
    def place(self) -> dict[str, Any]:
        status = os.fstat(self._file.fileno())
        return {"file": os.path.basename(self._file.name), "inode": status.st_ino, "size": status.st_size}

    def flush(self) -> None:
        """What has been written is on the disk when it returns."""
        if isinstance(self.array, np.memmap):
            self.array.flush()
        self._file.flush()
        os.fsync(self._file.fileno())

    def complete(self) -> None:
        self.flush()
        if self._mode is not None:
            os.fchmod(self._file.fileno(), self._mode)
        if self._file.name != self._target:
            os.replace(self._file.name, self._target)

    def discard(self) -> None:
        with suppress(OSError):  # the failure that led here is the one to report
            os.unlink(self._file.name)


@contextmanager
def writing_over_runs(saved: SavedState, files: list[tuple[str, tuple[int, ...], ElementType]]) -> Iterator[list[Any]]:
    """The arrays of files that are given as path, shape and element type. Complete when the context is left without an
    exception; after one they are kept where a state has been saved that goes on with them."""
    places = saved.found[0]["outputs"] if saved.found else [None] * len(files)
    outputs: list[UnfinishedNpy] = []
    path = ""
    try:
        for (path, shape, element), place in zip(files, places):
            outputs.append(UnfinishedNpy(path, shape, element, place))
        saved.outputs = outputs
        yield [each.array for each in outputs]
        for each in outputs:
            each.complete()
    except BaseException as error:
        if not saved.is_there:
            for each in outputs:
                each.discard()
        if isinstance(error, OSError):
            raise WrError(f"{error.filename or path}: {error.strerror or error}") from None
        raise
