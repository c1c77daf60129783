"""The lines of reductions, dot products and segments."""

import math

from generated_inputs import generate
from number_formats import FIELDS, FLOATS, INTEGERS, encode
from vector_lines import dot_line, hexadecimal, reduce_line, segments_line, value_words

SIZES = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 255, 256, 257]
SIZES += [1023, 1024, 1025, 2000]
LAYOUTS = [(5, 33, 1), (1, 33, 5), (3, 17, 4), (2, 129, 3), (4, 1, 5), (33, 4, 1), (1, 8, 33), (2, 0, 3)]
REDUCED = ["f32", "f64", "f16", "bf16", "i32", "i64", "koalabear"]
ALL_TYPES = [*FLOATS, *INTEGERS, *FIELDS]
OUTPUT_FLOATS = ["f16", "bf16", "f32", "f64"]
SOFTMAX_TYPES = ["f32", "f64", "f16", "bf16"]


def operators(dtype):
    if dtype == "koalabear":
        return ["sum"]
    return ["sum", "mean", "min", "max"] if dtype in FLOATS else ["sum", "min", "max"]


# line: values about 1; wide: magnitudes over many binades, so that the order of additions shows in the bits
ONES = {"f32": -23, "f64": -52, "f16": -10, "bf16": -7, "e4m3": -3, "e5m2": -2}


def reduction_input(dtype, seed):
    if dtype not in FLOATS:
        return f"@integers {seed}"
    return f"@line {seed} {ONES[dtype]}" if seed % 3 == 0 else f"@wide {seed}"


def input_text(dtype, seed, count):
    text = reduction_input(dtype, seed)
    return hexadecimal(generate(text, dtype, count), dtype) if count <= 9 else text


def sizes_and_layouts():
    seed = 1000
    for dtype in REDUCED:
        for op in operators(dtype):
            for size in SIZES:
                seed += 100000
                yield reduce_line(op, dtype, "-", dtype, (1, size, 1), input_text(dtype, seed, size))
        for op in [o for o in operators(dtype) if o != "max"]:
            for shape in LAYOUTS:
                seed += 100000
                yield reduce_line(op, dtype, "-", dtype, shape, input_text(dtype, seed, math.prod(shape)))
    for op, dtype, size in [
        ("sum", "f32", 65537),
        ("mean", "f32", 100003),
        ("sum", "bf16", 40000),
        ("sum", "f64", 9999),
    ]:
        seed += 1000000
        yield reduce_line(op, dtype, "-", dtype, (1, size, 1), f"@wide {seed}")


def output_types():
    seed = 7
    for dtype in SOFTMAX_TYPES:
        for accumulate in ("-", "f32", "f64"):
            if dtype == "f64" and accumulate == "f32":
                continue
            for output in OUTPUT_FLOATS:
                for op in ("sum", "mean"):
                    seed += 1000
                    yield reduce_line(op, dtype, accumulate, output, (1, 100, 1), input_text(dtype, seed, 100))
        for output in OUTPUT_FLOATS:
            for op in ("min", "max"):
                seed += 1000
                yield reduce_line(op, dtype, "-", output, (2, 9, 1), input_text(dtype, seed, 18))
    for dtype in ("i32", "i64"):
        for output in ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"):
            seed += 1000
            yield reduce_line("sum", dtype, "-", output, (1, 33, 2), input_text(dtype, seed, 66))
        for output in OUTPUT_FLOATS:
            seed += 1000
            yield reduce_line("mean", dtype, "-", output, (3, 7, 1), input_text(dtype, seed, 21))
            yield reduce_line("mean", dtype, "-", output, (1, 3, 1), value_words(dtype, [1, -2, 2]))
            yield reduce_line("mean", dtype, "-", output, (1, 0, 1), "")
    yield reduce_line("min", "i32", "-", "i64", (2, 33, 1), input_text("i32", seed, 66))
    yield reduce_line("max", "i32", "-", "i64", (2, 33, 1), input_text("i32", seed, 66))


def runs(dtype, values_and_times):
    return " ".join(f"{value_words(dtype, [value])}*{times}" for value, times in values_and_times)


def special_floats(dtype):
    form = FLOATS[dtype]
    sign = 1 << (form.bits - 1)
    infinity = encode(math.inf, dtype)
    largest, smallest = infinity - 1, 1
    one = encode(1.0, dtype)
    quiet, signalling, negative = form.canonical_nan, infinity + 1, form.canonical_nan | sign | 5
    rows = [
        [one, quiet, one],
        [one, negative, infinity],
        [signalling, one, one],
        [infinity, one, one],
        [infinity | sign, one, one],
        [infinity, infinity | sign],
        [infinity, one, one, infinity | sign, one],
        [sign],
        [sign, sign, sign, sign, sign],
        [sign, 0, sign],
        [0, sign],
        [smallest],
        [smallest, smallest, smallest | sign],
        [smallest | sign, smallest],
        [one, one | sign, sign],
        [largest, largest],
        [largest | sign, largest | sign, largest],
        [largest, smallest, largest | sign],
        [one] * 7 + [quiet],
        [sign] * 8,
    ]
    for row in rows:
        for op in operators(dtype):
            yield reduce_line(op, dtype, "-", dtype, (1, len(row), 1), hexadecimal(row, dtype))


def special_reductions():
    for dtype in SOFTMAX_TYPES:
        yield from special_floats(dtype)
    for output in ("f16", "bf16"):
        for value in (65504.0, 65519.0, 65520.0, 1.0009765625, 1.00048828125, 1.001953125, 1.00390625, 1.01171875):
            for sign in (1, -1):
                yield reduce_line("sum", "f32", "-", output, (1, 1, 1), value_words("f32", [sign * value]))
        for value in (2.0**-24, 2.0**-25, 1.5 * 2.0**-25, 2.0**-133, 2.0**-134, 3.3895313892515355e38, 3.4e38):
            yield reduce_line("sum", "f32", "-", output, (1, 1, 1), value_words("f32", [value]))
    # to 16 bits from f64 at once, not by way of f32
    for output, value in (("f16", 1 + 2.0**-11 + 2.0**-40), ("bf16", 1 + 2.0**-8 + 2.0**-40)):
        yield reduce_line("sum", "f64", "-", output, (1, 1, 1), value_words("f64", [value]))
    for value in (1e300, 3.4028235677973366e38, 3.4028235677973362e38, 1e-46, 7.1e-46):
        yield reduce_line("sum", "f64", "-", "f32", (1, 1, 1), value_words("f64", [value]))
    # f32 overflows where f64 does not; the tree's order decides which sums cancel
    big = [3e38, 3e38, -3e38, -3e38]
    for accumulate in ("-", "f64"):
        yield reduce_line("sum", "f32", accumulate, "f32", (1, 4, 1), value_words("f32", big))
        yield reduce_line("sum", "f32", accumulate, "f64", (1, 3, 1), value_words("f32", [2.0**24, 1.0, 1.0]))
        yield reduce_line("sum", "f32", accumulate, "f64", (1, 5, 1), value_words("f32", [1e8, 1.0, -1e8, 1.0, 0.1]))
    yield reduce_line("sum", "f16", "-", "f32", (1, 3, 1), value_words("f16", [65504.0] * 3))
    yield reduce_line("sum", "f16", "-", "f16", (1, 3, 1), value_words("f16", [65504.0, 65504.0, -65504.0]))
    for dtype in ("i32", "i64"):
        bits = INTEGERS[dtype][0]
        low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        for row in ([high, 1], [low, -1], [low, low], [high, low, 0], [-1, 0, 1], [low], [high]):
            for op in ("sum", "min", "max"):
                yield reduce_line(op, dtype, "-", dtype, (1, len(row), 1), value_words(dtype, row))
            yield reduce_line("sum", dtype, "-", "i64", (1, len(row), 1), value_words(dtype, row))
            yield reduce_line("sum", dtype, "-", "f64", (1, len(row), 1), value_words(dtype, row))
    p = 2**31 - 2**24 + 1
    for row in ([p - 1], [p - 1, 1], [p - 1, p - 1], [p - 1] * 9, [0, 0], [1, p - 2]):
        yield reduce_line("sum", "koalabear", "-", "koalabear", (1, len(row), 1), hexadecimal(row, "koalabear"))


# ---- every operator over every type


def outputs_of(op, dtype):
    """What the operator gives of this type by itself, then some that may be asked for; nothing where it has none."""
    if op in ("any", "all"):
        return ["u8", "i32"]
    if op == "count_nonzero":
        return ["i64", "u8", "f32"]
    if dtype in FIELDS:
        return [dtype] if op in ("sum", "product", "sum_of_squares") else []
    if op in ("argmin", "argmax"):
        return ["i64", "i32"]
    if op.startswith("bit_"):
        return [dtype] if dtype in INTEGERS else []
    if dtype in FLOATS:
        return [dtype, "f32", "e4m3", "e5m2"]
    if op in ("mean", "norm_l2"):
        return ["f64", "f16", "e5m2"]
    if op in ("min", "max"):
        return [dtype]
    return [dtype, "i64", "u16"] if op == "norm_max" else [dtype, "i64", "u16", "f32"]


ALL_OPERATORS = ["sum", "product", "min", "max", "argmin", "argmax", "mean", "sum_of_squares", "norm_l1", "norm_l2"]
ALL_OPERATORS += ["norm_max", "any", "all", "count_nonzero", "bit_and", "bit_or", "bit_xor"]
FEW_SIZES = [31, 33, 64, 100, 129, 257, 1025]


def telling_input(op, dtype, seed, count):
    """Values that the operator does not turn into the same result whatever it does."""
    if dtype in FLOATS and op == "product":
        return f"@line {seed} {ONES[dtype] + 1}"
    return input_text(dtype, seed, count)


def few_values(dtype, rng, count):
    """Equal elements and zeros: what indices and counts can get wrong."""
    if dtype in FLOATS:
        return value_words(dtype, [rng.choice([-0.0, 0.0, 1.0, -1.0, 0.0]) for _ in range(count)])
    if dtype in FIELDS:
        return hexadecimal([encode([rng.choice([0, 0, 1])] * FIELDS[dtype].degree, dtype) for _ in range(count)], dtype)
    return value_words(dtype, [rng.choice([0, 0, 1, -1]) for _ in range(count)])


def every_operator(rng):
    seed = 77000000
    turn = 0
    for op in ALL_OPERATORS:
        for dtype in ALL_TYPES:
            for which, output in enumerate(outputs_of(op, dtype)):
                turn += 1
                seed += 100000
                # an empty axis of E4M3 extremes has no infinity to give
                sizes = [0] if turn % 4 == 0 and dtype != "e4m3" else [3 + turn % 3] if which > 0 else []
                sizes += [FEW_SIZES[turn % len(FEW_SIZES)]] if which == 0 else []
                for size in sizes:
                    yield reduce_line(op, dtype, "-", output, (1, size, 1), telling_input(op, dtype, seed + size, size))
            if op in ("argmin", "argmax", "any", "all", "count_nonzero", "min", "max") and outputs_of(op, dtype):
                output = outputs_of(op, dtype)[0]
                yield reduce_line(op, dtype, "-", output, (3, 3, 2), few_values(dtype, rng, 18))


def words_beyond_the_prime(rng):
    """Any 64 bits are a word of Goldilocks, and Mersenne31 has a second zero."""
    for dtype, words in (
        ("goldilocks", [2**64 - 1] * 5),
        ("goldilocks", [2**64 - 2**32 + 1]),
        ("goldilocks", [2**64 - 2**32 + 1 + draw for draw in (0, 1, 2, 0, 2**32 - 2)] + [0, 1]),
        ("goldilocks", [rng.getrandbits(64) | 2**63 for _ in range(7)]),
        ("mersenne31", [2**31 - 1]),
        ("mersenne31", [2**31 - 1, 0, 5, 2**31 - 1, 2**31 - 2]),
    ):
        for op in ("sum", "product", "sum_of_squares", "any", "all", "count_nonzero"):
            for output in outputs_of(op, dtype)[:1]:
                yield reduce_line(op, dtype, "-", output, (1, len(words), 1), hexadecimal(words, dtype))


def integers_into_floats(rng):
    """Sums, products and norms beyond 64 bits, and at the ends of the types' ranges."""
    for dtype, (bits, signed) in INTEGERS.items():
        least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        for op in ("sum", "product", "mean", "sum_of_squares", "norm_l1", "norm_l2"):
            for output in ("f64", "f16") if op in ("mean", "norm_l2") else ("f64", "f32"):
                for values in (
                    [least] * 4,
                    [most] * 6,
                    [most, 1],
                    [rng.choice([least, most, most - 1, 1]) for _ in range(9)],
                    [rng.randint(least, most) for _ in range(9)],
                ):
                    yield reduce_line(op, dtype, "-", output, (1, len(values), 1), value_words(dtype, values))
        for left in ([least, most, 3], [rng.randint(least, most) for _ in range(7)]):
            right = [rng.choice([least, most, 2]) for _ in left]
            texts = value_words(dtype, left), value_words(dtype, right)
            yield dot_line(dtype, dtype, "-", "f64", len(left), *texts)
            yield dot_line(dtype, dtype, "-", "f32", len(left), *texts)


def norms_of_any_exponent(rng):
    """Squares beyond every end of the range, beside others."""
    for dtype, exponents in (("f32", (-149, 127)), ("bf16", (-133, 127)), ("f64", (-1074, 1023))):
        for count in (1, 2, 3, 9, 9, 33):
            values = [math.ldexp(1 + rng.random(), rng.randint(exponents[0], exponents[1])) for _ in range(count)]
            yield reduce_line("norm_l2", dtype, "-", dtype, (1, count, 1), value_words(dtype, values))
        for power in (*exponents, exponents[0] // 2, exponents[1] // 2, -36, 60, -450, 300):
            if exponents[0] <= power <= exponents[1]:
                values = [math.ldexp(rng.choice([1, 1.25, 1.5]), power) for _ in range(8)] + [0.0]
                yield reduce_line("norm_l2", dtype, "-", dtype, (1, 9, 1), value_words(dtype, values))


def ignored_nans(rng):
    nan = math.nan
    for dtype in FLOATS:
        for op in ALL_OPERATORS:
            if not outputs_of(op, dtype):
                continue
            output = outputs_of(op, dtype)[0]
            row = [rng.choice([nan, 1.5, -2.0, 0.5, -0.0]) for _ in range(21)]
            yield reduce_line(op, dtype, "-", output, (3, 7, 1), value_words(dtype, row), ignore=True)
            yield reduce_line(op, dtype, "-", output, (1, 3, 1), value_words(dtype, [nan, -0.0, nan]), ignore=True)
            if dtype != "e4m3":
                yield reduce_line(op, dtype, "-", output, (1, 3, 1), value_words(dtype, [nan] * 3), ignore=True)


WEIGHTS = [(dtype, dtype) for dtype in ALL_TYPES]
for base in ("koalabear", "babybear"):
    WEIGHTS += [(base, base + "_x4"), (base + "_x4", base)]


def dots():
    seed = 99000000
    for turn, (dtype, right) in enumerate(WEIGHTS):
        own = right if right.endswith("_x4") else dtype
        for count in (1, 3, 33, FEW_SIZES[turn % len(FEW_SIZES)]):
            seed += 100000
            texts = input_text(dtype, seed, count), input_text(right, seed + 50000, count)
            yield dot_line(dtype, right, "-", own, count, *texts)
            if dtype in FLOATS:
                yield dot_line(dtype, right, "f64", "f64", count, *texts)


def ragged():
    seed = 101000000
    for turn, dtype in enumerate(ALL_TYPES):
        ops = ["sum", "sum_of_squares"] if dtype in FIELDS else ["sum", "argmax", "min"]
        for op in ops:
            seed += 100000
            offsets = [0, 0, 1, 4, 4, 37 + turn, 40 + turn, 140]
            if dtype == "e4m3" and op == "min":
                offsets = [0, 1, 4, 37, 140]
            yield segments_line(op, dtype, outputs_of(op, dtype)[0], offsets, reduction_input(dtype, seed))


def words_of_integers(dtype, elements):
    """The words of field elements that are given as numbers."""
    field = FIELDS[dtype]
    radix = 2**32 if field.montgomery else 1
    return hexadecimal([encode([v * radix % field.prime for v in e], dtype) for e in elements], dtype)


def special_fields():
    known = [[0x34167C58], [0x61F3207B]]
    yield reduce_line("product", "koalabear", "-", "koalabear", (1, 2, 1), words_of_integers("koalabear", known))
    for dtype, field in FIELDS.items():
        p = field.prime
        rows = [[p - 1] * 5, [0, p - 1, 1], [2**k % p for k in (16, 31, 33, 47)]]
        for row in rows:
            elements = [[(v + 3 * k) % p for k in range(field.degree)] for v in row]
            for op in ("sum", "product", "sum_of_squares"):
                text = words_of_integers(dtype, elements)
                yield reduce_line(op, dtype, "-", dtype, (1, len(row), 1), text)
    for dtype in ("koalabear_x4", "babybear_x4"):
        for row in ([[0, 1, 0, 0], [0, 0, 0, 1]], [[0, 0, 0, 1], [0, 0, 0, 1]], [[1, 2, 3, 4], [5, 6, 7, 8]]):
            yield reduce_line("product", dtype, "-", dtype, (1, 2, 1), words_of_integers(dtype, row))


def special_integers():
    for dtype in ("i8", "i64", "u8", "u64"):
        bits, signed = INTEGERS[dtype]
        low = -(2 ** (bits - 1)) if signed else 0
        high = low + 2**bits - 1
        for row in ([low], [low, low, high], [high, high, low]):
            text = value_words(dtype, row)
            for op in ("norm_l1", "norm_max", "sum_of_squares", "argmin", "argmax"):
                yield reduce_line(op, dtype, "-", outputs_of(op, dtype)[0], (1, len(row), 1), text)
            for op in ("sum", "sum_of_squares", "norm_l1", "mean", "norm_l2"):
                yield reduce_line(op, dtype, "-", "f64", (1, len(row), 1), text)
