"""The element types of warp_reduce.h, how each is named on the command line and stored in a .npy file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .errors import UsageError, WrError


@dataclass(frozen=True)
class ElementType:
    name: str
    code: int  # wr_dtype
    storage: np.dtype  # what holds one element in memory
    kind: str  # "float", "integer" or "field"
    alias: str | None = None  # NumPy's name, where NumPy has the type
    words: int = 1  # of an element of an extension field: its coordinates, uint32 each

    @property
    def size(self) -> int:
        return self.storage.itemsize

    @property
    def is_signed(self) -> bool:
        return self.kind == "integer" and self.storage.kind == "i"

    @property
    def alignment(self) -> int:
        return self.size // self.words

    @property
    def word(self) -> np.dtype:
        """What a .npy file holds: the element, or along a last axis each of its words."""
        return self.storage if self.words == 1 else WORD


WORD = np.dtype("<u4")


def _type(name: str, code: int, storage: str, kind: str, alias: str | None = None, words: int = 1) -> ElementType:
    return ElementType(name, code, np.dtype(storage), kind, alias, words)


ELEMENT_TYPES = (
    _type("f32", 1, "<f4", "float", "float32"),
    _type("f64", 2, "<f8", "float", "float64"),
    _type("f16", 3, "<f2", "float", "float16"),
    _type("bf16", 4, "<u2", "float", "bfloat16"),
    _type("f8_e4m3", 5, "|u1", "float"),
    _type("f8_e5m2", 6, "|u1", "float"),
    _type("i8", 7, "|i1", "integer", "int8"),
    _type("i16", 8, "<i2", "integer", "int16"),
    _type("i32", 9, "<i4", "integer", "int32"),
    _type("i64", 10, "<i8", "integer", "int64"),
    _type("u8", 11, "|u1", "integer", "uint8"),
    _type("u16", 12, "<u2", "integer", "uint16"),
    _type("u32", 13, "<u4", "integer", "uint32"),
    _type("u64", 14, "<u8", "integer", "uint64"),
    _type("koalabear", 15, "<u4", "field"),
    _type("babybear", 16, "<u4", "field"),
    _type("mersenne31", 17, "<u4", "field"),
    _type("goldilocks", 18, "<u8", "field"),
    _type("koalabear_x4", 19, "V16", "field", words=4),
    _type("babybear_x4", 20, "V16", "field", words=4),
)

FLOATS = tuple(each.name for each in ELEMENT_TYPES if each.kind == "float")
BY_NAME = {each.name: each for each in ELEMENT_TYPES} | {each.alias: each for each in ELEMENT_TYPES if each.alias}
F32, F64, BF16 = BY_NAME["f32"], BY_NAME["f64"], BY_NAME["bf16"]
I32, I64, U8, U64 = BY_NAME["i32"], BY_NAME["i64"], BY_NAME["u8"], BY_NAME["u64"]

# The word of each float type that stands for NaN.
NAN_BITS = {"f64": 0x7FF8 << 48, "f32": 0x7FC0 << 16, "f16": 0x7E00, "bf16": 0x7FC0, "f8_e4m3": 0x7F, "f8_e5m2": 0x7E}

# The types that NumPy knows by itself: a file of such elements needs no --dtype.
_NATIVE = {each.storage: each for each in ELEMENT_TYPES if each.alias and each is not BF16}


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
    bare_bytes = dtype.kind == "V" and dtype.names is None and dtype.subdtype is None
    if dtype != wanted.word and not (bare_bytes and dtype.itemsize == wanted.size):
        stored = f"{wanted.word}" if wanted.words == 1 else f"{wanted.word} with a last axis of {wanted.words}"
        raise WrError(f"its elements are {dtype}, which cannot hold {wanted.name} (stored as {stored})")
    return wanted


def _native_element(dtype: np.dtype) -> ElementType:
    if dtype.newbyteorder("<") in _NATIVE:
        return _NATIVE[dtype.newbyteorder("<")]
    if dtype.kind == "V" and dtype.itemsize == 2 and dtype.names is None:
        raise WrError("its elements are 2 bytes without a type; add --dtype bf16 if that is what they are")
    hints = {"b": "save it with a.astype('int32')", "c": "save its real and imaginary parts apart"}
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
