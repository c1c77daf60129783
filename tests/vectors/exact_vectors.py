"""The lines of exact sums and dot products."""

import math

from number_formats import FLOATS, encode
from reduction_vectors import OUTPUT_FLOATS, few_values, input_text
from vector_lines import exact_dot_line, hexadecimal, reduce_line, value_words

SIZES = [0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 256, 511, 512, 513, 1000, 2049]
LAYOUTS = [(5, 33, 1), (1, 33, 5), (3, 17, 4), (2, 70, 33), (4, 1, 5), (2, 0, 3)]


def line(dtype, output, shape, text, ignore=False):
    return reduce_line("sum_exact", dtype, "-", output, shape, text, ignore)


def exact_sums():
    seed = 200000000
    for dtype in FLOATS:
        for size in SIZES:
            seed += 100000
            yield line(dtype, dtype, (1, size, 1), input_text(dtype, seed, size))
        for shape in LAYOUTS:
            seed += 100000
            yield line(dtype, dtype, shape, input_text(dtype, seed, math.prod(shape)))
        for output in [*OUTPUT_FLOATS, "e4m3", "e5m2"]:
            seed += 100000
            yield line(dtype, output, (2, 33, 1), input_text(dtype, seed, 66))
    yield line("f32", "f32", (1, 40000, 1), "@wide 200000007")
    yield line("f64", "f64", (1, 9999, 1), "@wide 200000008")


def every_exponent(rng, dtype, count):
    """Words of finite numbers of any exponent and either sign."""
    form = FLOATS[dtype]
    finite = encode(form.largest, dtype)
    return [rng.randint(0, finite) | rng.getrandbits(1) << (form.bits - 1) for _ in range(count)]


def hard_exact_sums(rng):
    for dtype, form in FLOATS.items():
        sign = 1 << (form.bits - 1)
        for count in (2, 5, 33, 64, 300):
            words = every_exponent(rng, dtype, count)
            yield line(dtype, dtype, (1, count, 1), hexadecimal(words, dtype))
            both = [*words, *(word ^ sign for word in words), 1]
            rng.shuffle(both)
            yield line(dtype, dtype, (1, len(both), 1), hexadecimal(both, dtype))
        largest, one = encode(form.largest, dtype), encode(1.0, dtype)
        half = encode(2.0**-form.precision, dtype)  # of the last place of 1; rounded where the format has none
        for row in (
            [largest, largest, largest | sign],
            [largest, largest],
            [largest | sign, largest | sign, largest],
            [one, half],
            [one + 1, half],
            [one, half, 1],
            [one, half, 1 | sign],
            [one + 1, half, 1 | sign],
            [1, 1, 1 | sign],
            [1 | sign],
            [1, 1 | sign],
            [sign],
            [sign, sign],
            [sign, 0],
            [form.canonical_nan, one],
            [encode(math.inf, dtype), one],
            [encode(math.inf, dtype), one, encode(-math.inf, dtype)],
            [encode(-math.inf, dtype), largest, largest],
        ):
            yield line(dtype, dtype, (1, len(row), 1), hexadecimal(row, dtype))
        for values in (
            [math.nan, -0.0, math.nan],
            [0.0, math.nan, -0.0],
            [math.nan] * 3,
            [math.nan, 1.0, -1.0],
            [1.5, math.nan, 0.25],
        ):
            yield line(dtype, dtype, (1, len(values), 1), value_words(dtype, values), ignore=True)
        yield line(dtype, dtype, (3, 3, 2), few_values(dtype, rng, 18))


def known_hard_f64():
    """What fsum of other systems is tried on: cancellation, ties with something far below, and overflow on the way."""
    tiny = 2.0**-1074
    for values in (
        [1e100, 1.0, -1e100],
        [1.0, 1e100, 1.0, -1e100],
        [2.0**53, -0.5, -(2.0**-54)],
        [2.0**53, 1.0, 2.0**-100],
        [2.0**53 + 10.0, 1.0, 2.0**-100],
        [2.0**53 - 4.0, 0.5, 2.0**-54],
        [1e16, 1.0, 1e-16],
        [1e16 - 2.0, 1.0 - 2.0**-53, -(1e16 - 2.0), -(1.0 - 2.0**-53)],
        [1.0 / n for n in range(1, 201)],
        [2.0**n - 2.0 ** (n + 50) + 2.0 ** (n + 52) for n in range(-1074, 972, 10)] + [-(2.0**1022)],
        [2.0**1023, 2.0**1023, -(2.0**1023)],
        [2.0**1023, 2.0**1023, -(2.0**970)],
        [FLOATS["f64"].largest, 2.0**969],
        [FLOATS["f64"].largest, 2.0**970],
        [FLOATS["f64"].largest, 2.0**970, -tiny],
        [2.0**-1022, -tiny],
        [2.0**-1022, tiny, -(2.0**-1022)],
        [1.0, 2.0**-53, tiny],
        [1.0, 2.0**-53, -tiny],
    ):
        yield line("f64", "f64", (1, len(values), 1), value_words("f64", values))


def exact_dots(rng):
    seed = 300000000
    for dtype, form in FLOATS.items():
        for count in (0, 1, 3, 33, 64, 513):
            seed += 100000
            texts = input_text(dtype, seed, count), input_text(dtype, seed + 50000, count)
            yield exact_dot_line(dtype, dtype, count, *texts)
            yield exact_dot_line(dtype, "f64", count, *texts)
            left, right = every_exponent(rng, dtype, count), every_exponent(rng, dtype, count)
            yield exact_dot_line(dtype, dtype, count, hexadecimal(left, dtype), hexadecimal(right, dtype))
        specials = [0.0, -0.0, 1.0, math.inf, -math.inf, math.nan, form.largest]
        for left in specials:
            for right in specials:
                for more in ([], [1.0]):
                    row = [left, *more], [right, *more]
                    texts = [value_words(dtype, values) for values in row]
                    yield exact_dot_line(dtype, dtype, len(row[0]), *texts)
