"""Arrays inside a .npz file, a zip archive of .npy files: FILE.npz:NAME, or FILE.npz where it has one alone."""

from __future__ import annotations

import os
import shutil
import tempfile
import zipfile
from typing import BinaryIO

from .errors import WrError

SUFFIX = ".npz"
SHOWN = 8


def split_member(path: str) -> tuple[str, str | None]:
    """The file, and which array of it; None for a file that is no archive, an empty name where none is said."""
    archive, colon, member = path.rpartition(SUFFIX + ":")
    if colon and not os.path.exists(path):
        return archive + SUFFIX, member
    return path, "" if path.endswith(SUFFIX) else None


def member_of(file: BinaryIO, name: str) -> BinaryIO:
    """The .npy file inside, unpacked to where temporary files lie, without a name: it is gone when it is closed."""
    try:
        with zipfile.ZipFile(file) as archive:
            unpacked: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115
            with archive.open(_entry(archive, name)) as packed:
                shutil.copyfileobj(packed, unpacked, 1 << 20)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise WrError(f"is not a .npz file that can be read ({error}); numpy.savez writes one") from None
    unpacked.flush()
    unpacked.seek(0)
    return unpacked


def _entry(archive: zipfile.ZipFile, name: str) -> str:
    names = [each[: -len(".npy")] for each in archive.namelist() if each.endswith(".npy")]
    if not name and len(names) == 1:
        return names[0] + ".npy"
    if name not in names:
        shown = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
        what = f"has no array '{name}'" if name else f"holds {len(names)} arrays; name one, as in FILE.npz:NAME"
        raise WrError(f"{what} (there are: {shown or 'none'})")
    return name + ".npy"
