"""The header of a .npy file, read by NumPy's own reader, of every format and with the types that NumPy cannot name."""

from __future__ import annotations

import io
import math
import struct
import warnings
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from .._elements import BY_NAME, ElementType
from .errors import WrError

# What NumPy can hold.
MOST_DIMENSIONS = 64 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 32
MOST_BYTES = np.iinfo(np.intp).max


# How NumPy describes ml_dtypes' float8_e5m2, which its reader does not know again.
NAMED_F1 = (b"'<f1'", b"'|f1'")


@dataclass(frozen=True)
class Header:
    shape: tuple[int, ...]
    fortran_order: bool
    dtype: np.dtype
    element: ElementType | None  # where the header says what NumPy's dtype cannot


def read_header(file: BinaryIO) -> Header:
    """Leaves the file where its elements begin."""
    if file.read(len(np.lib.format.MAGIC_PREFIX)) != np.lib.format.MAGIC_PREFIX:
        raise WrError("is not a .npy file; numpy.save writes one")
    file.seek(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a header that reads all the same is no failure
            header = _parse_header(file)
    except (OSError, WrError):
        raise
    except Exception as error:  # NumPy evaluates the header's text, and what that raises depends on the text
        raise _damaged(next(iter(str(error).splitlines()), type(error).__name__)) from None
    _check_shape(header.shape, header.dtype)
    return header


def _parse_header(file: BinaryIO) -> Header:
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise WrError(f"has .npy format {version[0]}.{version[1]}; save it again with numpy.save (1.0 to 3.0 are read)")
    size, pack = (2, "<H") if version == (1, 0) else (4, "<I")
    text = file.read(*struct.unpack(pack, file.read(size)))
    element = None
    if version == (3, 0):
        text = text.decode("utf-8").encode("latin-1", "backslashreplace")  # the names of fields, which nobody reads
    for name in NAMED_F1:
        if name in text:
            text, element = text.replace(name, b"'|V1'"), BY_NAME["f8_e5m2"]
    shape, fortran_order, dtype = np.lib.format.read_array_header_2_0(io.BytesIO(struct.pack("<I", len(text)) + text))
    return Header(shape, fortran_order, dtype, element)


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
