"""Words and the numbers they stand for, rounding to a float format, and a fused multiply-add, all in exact integers.

Every float of every format is held as a Python float, which is an IEEE f64 and holds them all exactly.
"""

import math
import struct
from dataclasses import dataclass


@dataclass(frozen=True)
class FloatFormat:
    """precision counts the leading bit; lowest is the exponent of the smallest subnormal."""

    name: str
    bits: int
    precision: int
    lowest: int
    highest: int
    canonical_nan: int


FLOATS = {
    "f16": FloatFormat("f16", 16, 11, -24, 15, 0x7E00),
    "bf16": FloatFormat("bf16", 16, 8, -133, 127, 0x7FC0),
    "f32": FloatFormat("f32", 32, 24, -149, 127, 0x7FC00000),
    "f64": FloatFormat("f64", 64, 53, -1074, 1023, 0x7FF8000000000000),
}

# name: (bits, signed)
INTEGERS = {
    "i8": (8, True),
    "i16": (16, True),
    "i32": (32, True),
    "i64": (64, True),
    "u8": (8, False),
    "u16": (16, False),
    "u32": (32, False),
    "u64": (64, False),
    "koalabear": (32, False),
}


def word_digits(name):
    return (FLOATS[name].bits if name in FLOATS else INTEGERS[name][0]) // 4


def decode(word, name):
    """The number that a word stands for."""
    if name == "f64":
        return struct.unpack("<d", struct.pack("<Q", word))[0]
    if name == "f32":
        return struct.unpack("<f", struct.pack("<I", word))[0]
    if name == "f16":
        return struct.unpack("<e", struct.pack("<H", word))[0]
    if name == "bf16":
        return struct.unpack("<f", struct.pack("<I", word << 16))[0]
    bits, signed = INTEGERS[name]
    return word - (1 << bits) if signed and word >> (bits - 1) else word


def encode(value, name):
    """The word of a number: a float is rounded to nearest even, an integer wraps, a NaN becomes the canonical one."""
    if name in INTEGERS:
        return value & ((1 << INTEGERS[name][0]) - 1)
    form = FLOATS[name]
    if math.isnan(value):
        return form.canonical_nan
    value = round_float(value, form)
    if name == "f64":
        return struct.unpack("<Q", struct.pack("<d", value))[0]
    if name == "f16":
        return struct.unpack("<H", struct.pack("<e", value))[0]
    word = struct.unpack("<I", struct.pack("<f", value))[0]
    return word >> 16 if name == "bf16" else word


def integer_and_exponent(value):
    """(m, e) with value = m * 2^e, for a finite value."""
    fraction, exponent = math.frexp(value)
    return int(math.ldexp(fraction, 53)), exponent - 53


def round_exact(m, e, form):
    """m * 2^e rounded to nearest, ties to even, as an f64 that the format holds; overflow gives infinity."""
    if m == 0:
        return 0.0
    sign = -1.0 if m < 0 else 1.0
    m = abs(m)
    drop = max(m.bit_length() - form.precision, form.lowest - e)
    if drop > 0:
        rest = m & ((1 << drop) - 1)
        half = 1 << (drop - 1)
        m >>= drop
        e += drop
        if rest > half or (rest == half and m & 1):
            m += 1
    if m.bit_length() - 1 + e > form.highest:
        return sign * math.inf
    return sign * math.ldexp(m, e)


def round_float(value, form):
    if value == 0 or not math.isfinite(value):
        return value
    return round_exact(*integer_and_exponent(value), form)


def round_integer(value, form):
    return round_exact(value, 0, form)


def fused_multiply_add(a, b, c, form):
    """a * b + c, rounded once."""
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return a * b + c
    if a == 0 or b == 0:
        return a * b + c
    ma, ea = integer_and_exponent(a)
    mb, eb = integer_and_exponent(b)
    mc, ec = integer_and_exponent(c)
    m, e = ma * mb, ea + eb
    low = min(e, ec)
    return round_exact((m << (e - low)) + (mc << (ec - low)), low, form)
