"""How element types are named on the command line, stored in a .npy file, and shown."""

from __future__ import annotations

import numpy as np

from .._elements import BF16, BY_NAME, ELEMENT_TYPES, NAN_BITS, U8, ElementType
from .errors import UsageError, WrError

# The types that NumPy knows by itself: a file of such elements needs no --dtype.
_NATIVE = {each.storage: each for each in ELEMENT_TYPES if each.alias and each is not BF16}

# As NumPy stores what only ml_dtypes has a name for.
_UNNAMED = {1: ("1 byte", "f8_e4m3"), 2: ("2 bytes", "bf16")}


def element_named(name: str) -> ElementType:
    if name not in BY_NAME:
        raise UsageError(f"'{name}' is no element type; choose from {', '.join(each.name for each in ELEMENT_TYPES)}")
    return BY_NAME[name]


def element_of_file(dtype: np.dtype, wanted: ElementType | None) -> ElementType:
    """The type of a file's elements: what NumPy calls them, or what the caller says that the words mean."""
    if dtype.byteorder == ">":
        raise WrError(
            f"its elements are big-endian ({dtype.str}); save it with a.astype('{dtype.newbyteorder('<').str}')"
        )
    if wanted is None:
        return _native_element(dtype)
    if dtype.kind == "b" and wanted is U8:
        return U8
    bare_bytes = dtype.kind == "V" and dtype.names is None and dtype.subdtype is None
    if dtype != wanted.word and not (bare_bytes and dtype.itemsize == wanted.size):
        stored = f"{wanted.word}" if wanted.words == 1 else f"{wanted.word} with a last axis of {wanted.words}"
        raise WrError(f"its elements are {dtype}, which cannot hold {wanted.name} (stored as {stored})")
    return wanted


def _native_element(dtype: np.dtype) -> ElementType:
    if dtype.newbyteorder("<") in _NATIVE:
        return _NATIVE[dtype.newbyteorder("<")]
    if dtype.kind == "b":
        return U8
    if dtype.kind == "V" and dtype.itemsize in _UNNAMED and dtype.names is None:
        size, name = _UNNAMED[dtype.itemsize]
        raise WrError(f"its elements are {size} without a type; add --dtype {name} if that is what they are")
    hints = {"c": "save its real and imaginary parts apart"}
    hint = hints.get(dtype.kind, "save it as one of the types that 'wr reduce --help' lists")
    raise WrError(f"its elements are {dtype}, a type that wr does not take; {hint}")


def values_of(words: np.ndarray, element: ElementType) -> np.ndarray:
    """The numbers that stored words stand for, as an array that NumPy can print and compare; exact.

    Elements of an extension are their words, along a last axis.
    """
    if element.words > 1:
        return np.ascontiguousarray(words).view(element.word).reshape(*words.shape, element.words)
    if element is BF16:
        return (words.astype(np.uint32) << 16).view(np.float32)
    if element.name == "f8_e5m2":
        return (words.astype(np.uint16) << 8).view(np.float16)
    if element.name == "f8_e4m3":
        return _values_of_e4m3(words)
    return words


def _values_of_e4m3(words: np.ndarray) -> np.ndarray:
    exponent, fraction = (words >> 3) & 15, (words & 7).astype(np.float32)
    magnitude = np.where(exponent == 0, np.ldexp(fraction, -9), np.ldexp(8 + fraction, exponent.astype(np.int32) - 10))
    magnitude = np.where((words & 0x7F) == 0x7F, np.nan, magnitude)
    return np.where(words & 0x80, -magnitude, magnitude).astype(np.float32)


def nan_word(element: ElementType) -> np.generic:
    """The canonical NaN of a float type, as it is stored."""
    return np.array(NAN_BITS[element.name], f"<u{element.size}").view(element.storage)[()]


def text_of(value: np.generic | np.ndarray) -> str:
    """The shortest decimal that reads back as the same value of its type; of several words each."""
    if isinstance(value, np.ndarray):
        return " ".join(text_of(each) for each in value)
    if isinstance(value, np.floating):
        plain = value == 0 or 1e-4 <= abs(float(value)) < 1e16
        return np.format_float_positional(value, trim="0") if plain else np.format_float_scientific(value, trim="0")
    return str(value)
