"""Inputs made from a seed by 32-bit integer arithmetic, so that a test in any language can make them too."""

import math

from number_formats import FIELDS, INTEGERS, encode

MASK32 = 2**32 - 1


def hash32(x):
    x &= MASK32
    x ^= x >> 16
    x = x * 0x7FEB352D & MASK32
    x ^= x >> 15
    x = x * 0x846CA68B & MASK32
    return x ^ x >> 16


def draw(seed, i):
    """64 bits: element i of the stream of a seed."""
    return hash32(seed + 2 * i) << 32 | hash32(seed + 2 * i + 1)


# significant bits of the integers of `line`, by element type
LINE_BITS = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53, "e4m3": 4, "e5m2": 3}


def line(dtype, seed, count, k):
    bits = LINE_BITS[dtype]
    integers = ((draw(seed, i) >> (64 - bits)) - 2 ** (bits - 1) for i in range(count))
    return [encode(math.ldexp(v, k), dtype) for v in integers]


def wide(dtype, seed, count):
    words = []
    for i in range(count):
        r = draw(seed, i)
        sign = r >> 63
        if dtype == "f32":
            words.append(sign << 31 | (107 + (r >> 32 & 31)) << 23 | r & 0x7FFFFF)
        elif dtype == "f64":
            words.append(sign << 63 | (1003 + (r >> 52 & 63)) << 52 | r & 0xFFFFFFFFFFFFF)
        elif dtype == "f16":
            words.append(sign << 15 | (5 + (r >> 32 & 15)) << 10 | r & 0x3FF)
        elif dtype == "e4m3":
            words.append(sign << 7 | (4 + (r >> 32 & 7)) << 3 | r & 7)
        elif dtype == "e5m2":
            words.append(sign << 7 | (8 + (r >> 32 & 15)) << 2 | r & 3)
        else:
            words.append(sign << 15 | (107 + (r >> 32 & 31)) << 7 | r & 0x7F)
    return words


def integers(dtype, seed, count):
    if dtype in INTEGERS:
        return [draw(seed, i) >> (64 - INTEGERS[dtype][0]) for i in range(count)]
    field = FIELDS[dtype]
    words = [(draw(seed, i) >> (64 - field.word_bits)) % field.prime for i in range(count * field.degree)]
    return [encode(words[i : i + field.degree], dtype) for i in range(0, len(words), field.degree)]


def blocks(dtype, seed, count, k, drop, start):
    return [encode(math.ldexp(draw(seed, i) >> 59, k) - (i // 1024) * drop + start, dtype) for i in range(count)]


def mask(_, seed, count):
    return [int(draw(seed, i) >> 62 != 0) for i in range(count)]


GENERATORS = {"line": line, "wide": wide, "integers": integers, "blocks": blocks, "mask": mask}


def generate(text, dtype, count):
    """The words of `@name seed parameters...`, all decimal."""
    name, seed, *parameters = text[1:].split()
    return GENERATORS[name](dtype, int(seed), count, *(int(p) for p in parameters))
