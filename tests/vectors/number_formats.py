"""Words and the numbers they stand for, rounding to a float format, and a fused multiply-add, all in exact integers.

Every float of every format is held as a Python float, which is an IEEE f64 and holds them all exactly.
"""

import math
import struct
from dataclasses import dataclass


@dataclass(frozen=True)
class FloatFormat:
    """precision counts the leading bit; lowest: the exponent of the smallest subnormal; largest: the last number."""

    name: str
    bits: int
    precision: int
    lowest: int
    highest: int
    canonical_nan: int
    largest: float


FLOATS = {
    "f16": FloatFormat("f16", 16, 11, -24, 15, 0x7E00, 65504.0),
    "bf16": FloatFormat("bf16", 16, 8, -133, 127, 0x7FC0, 2.0**128 - 2.0**120),
    "f32": FloatFormat("f32", 32, 24, -149, 127, 0x7FC00000, 2.0**128 - 2.0**104),
    "f64": FloatFormat("f64", 64, 53, -1074, 1023, 0x7FF8000000000000, math.ldexp(2.0**53 - 1, 971)),
    "e4m3": FloatFormat("e4m3", 8, 4, -9, 8, 0x7F, 448.0),
    "e5m2": FloatFormat("e5m2", 8, 3, -16, 15, 0x7E, 57344.0),
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
}


@dataclass(frozen=True)
class Field:
    """Words below the prime; with Montgomery form a word is 2^32 times its number. x^degree is the residue."""

    prime: int
    word_bits: int
    montgomery: bool
    degree: int = 1
    residue: int = 0


KOALABEAR_PRIME = 2**31 - 2**24 + 1
BABYBEAR_PRIME = 2**31 - 2**27 + 1

FIELDS = {
    "koalabear": Field(KOALABEAR_PRIME, 32, True),
    "babybear": Field(BABYBEAR_PRIME, 32, True),
    "mersenne31": Field(2**31 - 1, 32, False),
    "goldilocks": Field(2**64 - 2**32 + 1, 64, False),
    "koalabear_x4": Field(KOALABEAR_PRIME, 32, True, 4, 3),
    "babybear_x4": Field(BABYBEAR_PRIME, 32, True, 4, 11),
}


def word_bits(name):
    """Bits of an element, which in an extension is four words, the first the most significant."""
    if name in FLOATS:
        return FLOATS[name].bits
    if name in INTEGERS:
        return INTEGERS[name][0]
    return FIELDS[name].word_bits * FIELDS[name].degree


def word_digits(name):
    return word_bits(name) // 4


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
    if name == "e5m2":
        return struct.unpack("<e", struct.pack("<H", word << 8))[0]
    if name == "e4m3":
        return decode_e4m3(word)
    if name in FIELDS:
        return coordinates(word, FIELDS[name])
    bits, signed = INTEGERS[name]
    return word - (1 << bits) if signed and word >> (bits - 1) else word


def decode_e4m3(word):
    """OCP's format without infinities: 0x7F and 0xFF are its NaNs."""
    exponent, mantissa = word >> 3 & 15, word & 7
    if word & 0x7F == 0x7F:
        return math.nan
    magnitude = math.ldexp(mantissa, -9) if exponent == 0 else math.ldexp(8 + mantissa, exponent - 10)
    return -magnitude if word >> 7 else magnitude


def encode_e4m3(value):
    magnitude = abs(value)
    if magnitude > 448.0:
        return 0x7F
    exponent = max(math.frexp(magnitude)[1] + 6, 1) if magnitude else 1
    units = int(math.ldexp(magnitude, 10 - exponent))
    word = units if units < 8 else (exponent << 3) + units - 8
    return word | (0x80 if math.copysign(1.0, value) < 0 else 0)


def coordinates(word, field):
    """The words of a field element, the constant coordinate first."""
    mask = (1 << field.word_bits) - 1
    return tuple(word >> field.word_bits * (field.degree - 1 - k) & mask for k in range(field.degree))


def encode(value, name):
    """The word of a number: a float is rounded to nearest even, an integer wraps, a NaN becomes the canonical one."""
    if name in INTEGERS:
        return value & ((1 << INTEGERS[name][0]) - 1)
    if name in FIELDS:
        word = 0
        for coordinate in value:
            word = word << FIELDS[name].word_bits | coordinate
        return word
    form = FLOATS[name]
    if math.isnan(value):
        return form.canonical_nan
    value = round_float(value, form)
    if name == "e4m3":
        return encode_e4m3(value)
    if name == "e5m2":
        return struct.unpack("<H", struct.pack("<e", value))[0] >> 8
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
    if m.bit_length() - 1 + e > form.highest or math.ldexp(m, e) > form.largest:
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
