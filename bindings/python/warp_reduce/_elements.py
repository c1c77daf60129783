"""The element types of warp_reduce.h, and how each is stored in an array of NumPy's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


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

FIELDS = {each.name: each for each in ELEMENT_TYPES if each.kind == "field"}

# The word of each float type that stands for NaN.
NAN_BITS = {"f64": 0x7FF8 << 48, "f32": 0x7FC0 << 16, "f16": 0x7E00, "bf16": 0x7FC0, "f8_e4m3": 0x7F, "f8_e5m2": 0x7E}
