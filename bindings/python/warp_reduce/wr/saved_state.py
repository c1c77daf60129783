"""A job's file of state: how far it has come, written whole or not at all, for a run that goes on from there.

bytes 0 to 7    WRSTATES
8 to 15         the header's length, little-endian
then            the header, JSON: what job it is of, how far it has come and into which unfinished files, the arrays'
                lengths in bytes
then            the arrays
last 32         SHA-256 of all before
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import time
import zlib
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import WrError

if TYPE_CHECKING:
    from .unfinished_npy import UnfinishedNpy

MAGIC = b"WRSTATES"
DIGEST_BYTES = 32
MOST_SHARE = 20  # writing takes at most a part in so many of the time


class SavedState:
    """The file `path`: of the job that `job` describes, by names that a person reads."""

    def __init__(self, path: str, job: dict[str, Any], seconds: float) -> None:
        self.path, self._job, self._seconds = path, json.loads(json.dumps(job)), seconds
        self._next = time.monotonic() + seconds
        self.outputs: list[UnfinishedNpy] = []  # on the disk before a state counts that goes on with them
        self._is_written = False

    @property
    def is_there(self) -> bool:
        """Whether there is a state to go on from."""
        return self._is_written or self.found is not None

    @property
    def is_due(self) -> bool:
        return time.monotonic() >= self._next

    def write(self, position: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        began = time.monotonic()
        lengths = {name: array.nbytes for name, array in arrays.items()}
        if self.outputs:
            position = {**position, "outputs": [each.place for each in self.outputs]}
        header = json.dumps({"job": self._job, "position": position, "lengths": lengths}).encode()
        parts = [MAGIC, struct.pack("<Q", len(header)), header]
        parts += [np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in arrays.values()]
        try:
            for each in self.outputs:
                each.flush()
            replace_file(self.path, [*parts, _digest(parts)])
        except OSError as error:
            raise WrError(f"{self.path}: {error.strerror or error}") from None
        self._is_written = True
        took = time.monotonic() - began
        self._next = began + took + max(self._seconds, MOST_SHARE * took if self._seconds else 0.0)

    @cached_property
    def found(self) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
        """The position and the arrays of an earlier run; None without a file. A damaged or another job's is refused."""
        try:
            with open(self.path, "rb") as file:
                data = file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise WrError(f"{self.path}: {error.strerror or error}") from None
        parsed = _parsed(data)
        if parsed is None:
            raise WrError(f"{self.path}: is no state of a job, or is damaged; remove it to begin anew")
        header, body = parsed
        self._check(header["job"])
        arrays, at = {}, 0
        for name, size in header["lengths"].items():
            arrays[name] = np.frombuffer(body, np.uint8, size, at).copy()
            at += size
        return header["position"], arrays

    def _check(self, job: dict[str, Any]) -> None:
        for name in sorted({*job, *self._job}):
            if job.get(name) != self._job.get(name):
                raise WrError(
                    f"{self.path}: is the state of another job, whose {name} was {job.get(name)} and not"
                    f" {self._job.get(name)}; name another file, or remove it to begin anew"
                )

    def remove(self) -> None:
        for path in (self.path, unfinished_state(os.path.realpath(self.path))):
            with suppress(FileNotFoundError):
                os.unlink(path)


def identity_of(file: int) -> dict[str, Any]:
    """By what a file is told from another, or from itself after a change; not by its name."""
    status = os.fstat(file)
    return {"file's size": status.st_size, "file's time of change": status.st_mtime_ns}


def replace_file(path: str, parts: list[Any]) -> None:
    """Writes the parts, one after the other. After a power cut, too, there is the old file or the new one."""
    target = os.path.realpath(path)
    folder, beside = os.path.dirname(target), unfinished_state(target)
    try:
        with open(beside, "wb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise
    directory = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def unfinished_state(target: str) -> str:
    """Always the same, so that what a killed run leaves is written over; short, as a file's own name may not be."""
    return os.path.join(os.path.dirname(target), f".wr.{zlib.crc32(os.fsencode(target)):08x}.state.part")


def _digest(parts: list[Any]) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.digest()


def _parsed(data: bytes) -> tuple[dict[str, Any], bytes] | None:
    """The header, and the arrays' bytes; None of what is no state of a job."""
    body, digest = data[:-DIGEST_BYTES], data[-DIGEST_BYTES:]
    if body[:8] != MAGIC or hashlib.sha256(body).digest() != digest:
        return None
    (length,) = struct.unpack_from("<Q", body, 8)
    return json.loads(body[16 : 16 + length]), body[16 + length :]


def described(path: str) -> list[tuple[str, str]]:
    """What job a file of state is of, for a person; nothing where it is no such file."""
    try:
        with open(path, "rb") as file:
            parsed = _parsed(file.read()) if file.read(8) == MAGIC and not file.seek(0) else None
    except OSError as error:
        raise WrError(f"{path}: {error.strerror or error}") from None
    if parsed is None:
        return []
    header, _ = parsed
    job, position = header["job"], header["position"]
    rows = [(name, str(value)) for name, value in job.items() if value is not None]
    rows.append(("done", f"{position['pieces']} pieces of {' x '.join(map(str, position['steps']))} elements"))
    return [*rows, *(("unfinished", each["file"]) for each in position.get("outputs", ()))]
