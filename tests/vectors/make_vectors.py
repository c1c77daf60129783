"""Makes vectors.txt: inputs and the bits that every device must give for them. README.md describes the file.

python make_vectors.py            writes vectors.txt beside this program
python make_vectors.py --check    says whether vectors.txt is what this program makes (exit status 1: it is not)
"""

import argparse
import math
import random
import sys
from dataclasses import dataclass
from pathlib import Path

from contract import (
    gradient_row,
    logsumexp_row,
    reduce_axis,
    scaled_logits,
    selected_row,
    softmax_row,
    weights_of_logits,
    weights_of_outputs,
)
from exact_softmax import exact_row
from generated_inputs import generate
from number_formats import FIELDS, FLOATS, INTEGERS, coordinates, decode, encode, round_float, word_digits

SIZES = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 255, 256, 257]
SIZES += [1023, 1024, 1025, 2000]
LAYOUTS = [(5, 33, 1), (1, 33, 5), (3, 17, 4), (2, 129, 3), (4, 1, 5), (33, 4, 1), (1, 8, 33), (2, 0, 3)]
REDUCED = ["f32", "f64", "f16", "bf16", "i32", "i64", "koalabear"]
ALL_TYPES = [*FLOATS, *INTEGERS, *FIELDS]
OUTPUT_FLOATS = ["f16", "bf16", "f32", "f64"]
SOFTMAX_TYPES = ["f32", "f64", "f16", "bf16"]


def hexadecimal(words, name):
    """The four words of an element of an extension stand one after another."""
    if name in FIELDS:
        field = FIELDS[name]
        words = [part for word in words for part in coordinates(word, field)]
        return " ".join(f"{word:0{field.word_bits // 4}x}" for word in words)
    return " ".join(f"{word:0{word_digits(name)}x}" for word in words)


def input_words(text, dtype, count):
    """The words of an input as the file gives it: `word` or `word*times` again and again, or a generator."""
    if text.startswith("@"):
        return generate(text, dtype, count)
    words = []
    for item in text.split():
        word, _, times = item.partition("*")
        words += [int(word, 16)] * int(times or 1)
    if dtype in FIELDS:
        degree = FIELDS[dtype].degree
        words = [encode(words[i : i + degree], dtype) for i in range(0, len(words), degree)]
    if len(words) != count:
        raise ValueError(f"{len(words)} words for {count} elements: {text}")
    return words


def slices(values, outer, axis, inner):
    """The positions of each axis, in the order of the outputs."""
    for o in range(outer):
        for i in range(inner):
            yield [o * axis * inner + a * inner + i for a in range(axis)]


# ---- lines


def reduce_line(op, dtype, accumulate, output, shape, text, ignore=False):
    values = [decode(word, dtype) for word in input_words(text, dtype, math.prod(shape))]
    words = [
        reduce_axis(op, [values[p] for p in positions], dtype, accumulate, output, ignore)
        for positions in slices(values, *shape)
    ]
    head = f"{'ignore' if ignore else 'reduce'} {op} {dtype} {accumulate} {output} {' '.join(map(str, shape))}"
    return f"{head} : {text} : {hexadecimal(words, output)}".rstrip()


def dot_line(dtype, right, accumulate, output, count, left_text, right_text):
    left = [decode(word, dtype) for word in input_words(left_text, dtype, count)]
    weights = [decode(word, right) for word in input_words(right_text, right, count)]
    word = reduce_axis("sum", left, dtype, accumulate, output, weights=weights)
    head = f"dot {dtype} {right} {accumulate} {output} {count}"
    return f"{head} : {left_text} ; {right_text} : {hexadecimal([word], output)}"


def segments_line(op, dtype, output, offsets, text):
    values = [decode(word, dtype) for word in input_words(text, dtype, offsets[-1])]
    words = [reduce_axis(op, values[start:end], dtype, "-", output) for start, end in zip(offsets[:-1], offsets[1:])]
    head = f"segments {op} {dtype} {output} {len(offsets) - 1} {offsets[-1]}"
    return f"{head} : {' '.join(map(str, offsets))} ; {text} : {hexadecimal(words, output)}"


def rows_of(dtype, scale, shape, text):
    values = [decode(word, dtype) for word in input_words(text, dtype, math.prod(shape))]
    for positions in slices(values, *shape):
        yield positions, scaled_logits([values[p] for p in positions], dtype, scale)


def softmax_line(dtype, output, shape, text, scale=0.0, empty_row="nan", step=1):
    words = [0] * math.prod(shape)
    for positions, logits in rows_of(dtype, scale, shape, text):
        for position, word in zip(positions, softmax_row(logits, dtype, output, empty_row)):
            words[position] = word
    head = f"softmax {dtype} {output} {empty_row} {encode(scale, 'f64'):016x} {' '.join(map(str, shape))} {step}"
    return f"{head} : {text} : {hexadecimal(words[::step], output)}"


def gradient_line(form, dtype, gradient_dtype, shape, saved_text, gradient_text, scale=0.0, step=1):
    count = math.prod(shape)
    saved = [decode(word, dtype) for word in input_words(saved_text, dtype, count)]
    gradients = [decode(word, gradient_dtype) for word in input_words(gradient_text, gradient_dtype, count)]
    words = [0] * count
    for positions in slices(saved, *shape):
        weights = weights_of_outputs(form, [saved[p] for p in positions], dtype)
        all_of_them = [True] * len(positions)
        row = gradient_row(form, weights, [gradients[p] for p in positions], all_of_them, dtype, scale, gradient_dtype)
        for position, word in zip(positions, row):
            words[position] = word
    head = f"gradient {form} {dtype} {gradient_dtype} {encode(scale, 'f64'):016x} {' '.join(map(str, shape))} {step}"
    return f"{head} : {saved_text} ; {gradient_text} : {hexadecimal(words[::step], gradient_dtype)}"


@dataclass(frozen=True)
class Selection:
    """Which elements take part: mask and lengths as the file writes them, empty for all; causal is (first, rows)."""

    mask: str = ""
    lengths: tuple = ()
    causal: tuple = ()

    def of_rows(self, shape):
        """Of each row, in the order of `slices`, whether its elements take part."""
        outer, axis, inner = shape
        bytes_of_mask = input_words(self.mask, "u8", math.prod(shape)) if self.mask else [1] * math.prod(shape)
        for row, positions in enumerate(slices(None, *shape)):
            limit = min(axis, self.lengths[row]) if self.lengths else axis
            if self.causal:
                first, rows = self.causal
                limit = min(limit, row // inner % (rows or axis) + first)
            yield [bytes_of_mask[p] != 0 and i < limit for i, p in enumerate(positions)]

    @property
    def head(self):
        return "/".join(map(str, self.causal)) or "-"

    @property
    def parts(self):
        return f"{self.mask} ; {' '.join(map(str, self.lengths))}"


def selected_line(function, dtype, output, shape, text, selection, scale=0.0, empty_row="nan", step=1):
    outputs = shape[0] * shape[2] if function == "logsumexp" else math.prod(shape)
    words = [0] * outputs
    rows = zip(rows_of(dtype, scale, shape, text), selection.of_rows(shape))
    for row, ((positions, logits), takes_part) in enumerate(rows):
        places = [row] if function == "logsumexp" else positions
        for place, word in zip(places, selected_row(function, logits, takes_part, dtype, output, empty_row)):
            words[place] = word
    head = f"selected {function} {dtype} {output} {empty_row} {encode(scale, 'f64'):016x}"
    head += f" {' '.join(map(str, shape))} {step} {selection.head}"
    return f"{head} : {text} ; {selection.parts} : {hexadecimal(words[::step], output)}"


def state_dtype(dtype):
    return "f64" if dtype == "f64" else "f32"


def backward_line(form, dtype, gradient_dtype, shape, saved_text, gradient_text, selection, **options):
    """logsumexp: numbers, one a row, with which the saved elements are logits; None: they are outputs."""
    scale, empty_row = options.get("scale", 0.0), options.get("empty_row", "nan")
    step, logsumexp = options.get("step", 1), options.get("logsumexp")
    count = math.prod(shape)
    saved = [decode(word, dtype) for word in input_words(saved_text, dtype, count)]
    gradients = [decode(word, gradient_dtype) for word in input_words(gradient_text, gradient_dtype, count)]
    words = [0] * count
    for row, (positions, takes_part) in enumerate(zip(slices(saved, *shape), selection.of_rows(shape))):
        values = [saved[p] for p in positions]
        if logsumexp is None:
            weights = weights_of_outputs(form, values, dtype)
        else:
            weights = weights_of_logits(values, scale, logsumexp[row], dtype, empty_row)
        results = gradient_row(
            form, weights, [gradients[p] for p in positions], takes_part, dtype, scale, gradient_dtype
        )
        for position, word in zip(positions, results):
            words[position] = word
    head = f"backward {form} {dtype} {gradient_dtype} {empty_row} {encode(scale, 'f64'):016x}"
    head += f" {' '.join(map(str, shape))} {step} {selection.head}"
    sums = "" if logsumexp is None else value_words(state_dtype(dtype), logsumexp)
    inputs = f"{saved_text} ; {gradient_text} ; {sums} ; {selection.parts}"
    return f"{head} : {inputs} : {hexadecimal(words[::step], gradient_dtype)}"


# ulps of the output type; the half beyond 12 is that of the exact value's own rounding to f64
TOLERANCE = {"f32": "4", "f64": "12.5", "f16": "0.51", "bf16": "0.51"}


def approximate_line(function, dtype, output, shape, text, scale=0.0, step=1):
    outputs = shape[0] * shape[2] if function == "logsumexp" else math.prod(shape)
    results = [0.0] * outputs
    for row, (positions, logits) in enumerate(rows_of(dtype, scale, shape, text)):
        places = [row] if function == "logsumexp" else positions
        for place, value in zip(places, exact_row(function, logits)):
            results[place] = value
    head = f"approx {function} {dtype} {output} {encode(scale, 'f64'):016x} {' '.join(map(str, shape))} {step}"
    words = hexadecimal([encode(value, "f64") for value in results[::step]], "f64")
    return f"{head} {TOLERANCE[output]} : {text} : {words}"


# ---- reductions


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


def value_words(dtype, values):
    return hexadecimal([encode(v, dtype) for v in values], dtype)


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


# ---- softmax


def random_row(dtype, rng, count, spread, offset):
    return value_words(dtype, [offset + spread * (rng.random() - 0.5) for _ in range(count)])


def short_rows(rng):
    for dtype in SOFTMAX_TYPES:
        offsets = [0.0, 3.0, -700.0, 40000.0] if dtype == "f16" else [0.0, 3.0, -700.0, 1040000.0, -1040000.0]
        for count in (1, 2, 3, 4, 5, 8, 9, 17, 33):
            spread, offset = rng.choice([0.1, 1.0, 8.0, 32.0, 200.0]), rng.choice(offsets)
            yield softmax_line(dtype, dtype, (1, count, 1), random_row(dtype, rng, count, spread, offset))
        for output in OUTPUT_FLOATS:
            if output != dtype:
                yield softmax_line(dtype, output, (1, 9, 1), random_row(dtype, rng, 9, 12.0, 1.0))
        for scale in (0.125, -1.5, 0.1, 1.0, 3.7e-3):
            yield softmax_line(dtype, dtype, (1, 7, 1), random_row(dtype, rng, 7, 20.0, 2.0), scale)
        for shape in ((5, 6, 1), (1, 6, 5), (2, 5, 3), (3, 1, 2)):
            yield softmax_line(dtype, dtype, shape, random_row(dtype, rng, math.prod(shape), 9.0, 0.0))
        for count in (3, 7, 10, 64):
            yield softmax_line(dtype, dtype, (1, count, 1), value_words(dtype, [0.3] * count))


# k: the logits are integers of the type's width times 2^k
def long_rows():
    unit = ONES
    seed = 40000000
    for dtype in SOFTMAX_TYPES:
        for count, step, more in (
            (100, 1, 3),
            (257, 3, 5),
            (1023, 31, 0),
            (1024, 31, 3),
            (1025, 31, 4),
            (2000, 53, 6),
            (2049, 61, 2),
            (5000, 211, 3),
        ):
            seed += 100000
            yield softmax_line(dtype, dtype, (1, count, 1), f"@line {seed} {unit[dtype] + more}", step=step)
        for shape, step in (((3, 1500, 1), 101), ((1, 1100, 3), 89)):
            seed += 100000
            yield softmax_line(dtype, dtype, shape, f"@line {seed} {unit[dtype] + 3}", step=step)
        # blocks whose maxima lie `drop` apart, up to more powers of two than an f32 has; all exact in bf16
        for drop, count in ((64, 3000), (128, 3000), (-128, 4100), (0, 9000)):
            seed += 100000
            yield softmax_line(dtype, dtype, (1, count, 1), f"@blocks {seed} 2 {drop} 0", step=count // 40)
    for dtype, drop, count, start in (
        ("f32", 350, 5000, 1000000),
        ("f32", -720, 3100, -1000000),
        ("f64", 650, 3000, 0),
    ):
        seed += 100000
        yield softmax_line(dtype, dtype, (1, count, 1), f"@blocks {seed} 1 {drop} {start}", step=count // 50)
    for output in ("f32", "f64", "bf16"):
        for dtype in ("bf16", "f32"):
            seed += 100000
            yield softmax_line(dtype, output, (1, 2500, 1), f"@line {seed} {unit[dtype] + 2}", step=97)
    seed += 100000
    yield softmax_line("f32", "f32", (1, 33000, 1), f"@line {seed} {-20}", step=997)


def special_softmax():
    inf, nan = math.inf, math.nan
    rows = [
        [0.0],
        [-0.0, 0.0],
        [5.0, -inf],
        [-inf, 1.0, 2.0, -inf, 0.5],
        [1.0, nan, 2.0],
        [1.0, inf, 2.0],
        [inf, -inf],
        [nan, -inf],
        [-inf, -inf, -inf],
        [-inf],
    ]
    for dtype in SOFTMAX_TYPES:
        for row in rows:
            for empty_row in ("nan", "zero"):
                text = value_words(dtype, row)
                yield softmax_line(dtype, dtype, (1, len(row), 1), text, empty_row=empty_row)
        # both sides of the distance at which an element counts as 0
        reach = 708.0 if dtype == "f64" else 86.0
        near = [reach - 0.5, reach - 0.25, reach, reach + 0.25, reach + 1.0, reach * 1.25]
        output = "f64" if dtype == "f64" else "f32"
        yield softmax_line(dtype, output, (1, 7, 1), value_words(dtype, [0.0, *(-v for v in near)]))
        yield softmax_line(dtype, dtype, (1, 3, 1), value_words(dtype, [2.0**-14, -(2.0**-14), 0.0]))
    # a block of -infinity alone between others
    for dtype in ("f32", "bf16"):
        text = runs(dtype, [(0.5, 8), (-inf, 2050), (1.5, 3)])
        yield softmax_line(dtype, dtype, (1, 2061, 1), text, step=5)
    # maxima next to 2^20, the edge of the definition
    for edge in (1048575.9375, -1048575.9375):
        row = [edge - d for d in (0.0, 0.0625, 1.0, 60.0, 85.9375, 87.0)]
        yield softmax_line("f32", "f32", (1, 6, 1), value_words("f32", row))


TOP = 3.4028234663852886e38
LARGE_ROWS = [
    ("f32", [2.0**20, 2.0**20 - 1, 2.0**20 + 2]),
    ("f32", [2.0**20 - 1, 2.0**20 + 0.125]),
    ("f32", [-(2.0**20), -(2.0**20) - 3, -(2.0**20) - 10]),
    ("f32", [123456789.0, 123456781.0, 123456773.0]),
    ("f32", [1e30, 1e30, 9e29]),
    ("f32", [TOP, TOP, -TOP]),
    ("f32", [-TOP, -TOP, -TOP]),
    ("f32", [1e7, 0.0, -1e7]),
    ("bf16", [2.0**20, 2.0**20, 2.0**20 - 8192]),
    ("bf16", [3e38, 3e38, 1.0]),
    ("f64", [2.0**20 + 0.3, 2.0**20 - 1.7, 2.0**20 + 5.1]),
    ("f64", [1e12, 1e12 + 3.5, 1e12 - 1.25]),
    ("f64", [-1e15, -1e15 - 2.125, -1e15 - 0.5]),
    ("f64", [1.7e308, 1.7e308, 1e308]),
]


def approximate(rng):
    for dtype in SOFTMAX_TYPES:
        for function in ("softmax", "log_softmax", "logsumexp"):
            output = ("f64" if dtype == "f64" else "f32") if function == "logsumexp" else dtype
            for count, spread, offset in (
                (1, 1, 0),
                (2, 1, 5),
                (5, 10, -30),
                (17, 60, 100),
                (33, 0.1, 7),
                (12, 300, 0),
            ):
                text = random_row(dtype, rng, count, spread, offset)
                yield approximate_line(function, dtype, output, (1, count, 1), text)
            yield approximate_line(function, dtype, output, (2, 4, 3), random_row(dtype, rng, 24, 8, 0), 0.25)
            unit = ONES[dtype]
            text = f"@line {rng.randrange(10**6)} {unit + 3}"
            yield approximate_line(function, dtype, output, (1, 3000, 1), text, step=300)
        yield approximate_line("log_softmax", dtype, dtype, (1, 3, 1), value_words(dtype, [1.0, -math.inf, 2.0]))
    for dtype, row in LARGE_ROWS:
        yield approximate_line("softmax", dtype, dtype, (1, len(row), 1), value_words(dtype, row))
        # more than one block, each with large logits of its own
        text = runs(dtype, [(value, 700) for value in row])
        yield approximate_line("softmax", dtype, dtype, (1, 700 * len(row), 1), text, step=97)
    # two blocks whose powers of two lie further apart than 64-bit integers do
    text = runs("f32", [(-3e18, 1024), (3.41e18, 1024)])
    yield approximate_line("softmax", "f32", "f32", (1, 2048, 1), text, step=89)


# ---- softmax of f8, and gradients


def f8_softmax(rng):
    for dtype in ("e4m3", "e5m2"):
        for count in (1, 2, 5, 33, 129):
            for output in (dtype, "f32", "bf16"):
                yield softmax_line(dtype, output, (1, count, 1), random_row(dtype, rng, count, 16.0, 1.0))
        yield softmax_line(dtype, "f32", (2, 7, 3), random_row(dtype, rng, 42, 9.0, 0.0), 0.3)
        yield softmax_line(dtype, "f32", (1, 2500, 1), f"@line 90 {ONES[dtype]}", step=97)


def saved_row(form, dtype, rng, count):
    """What softmax might have given: weights, or logarithms of some."""
    if form == "softmax":
        return value_words(dtype, [2.0 * rng.random() / count for _ in range(count)])
    return value_words(dtype, [-12.0 * rng.random() for _ in range(count)])


def gradients(rng):
    for form in ("softmax", "log_softmax"):
        for dtype in ("f32", "f64", "f16", "bf16", "e4m3", "e5m2"):
            for count in (1, 2, 3, 5, 8, 33, 100):
                saved = saved_row(form, dtype, rng, count)
                yield gradient_line(form, dtype, dtype, (1, count, 1), saved, random_row(dtype, rng, count, 4.0, 0.5))
            saved, gradient = saved_row(form, dtype, rng, 30), random_row(dtype, rng, 30, 4.0, 0.0)
            yield gradient_line(form, dtype, dtype, (2, 5, 3), saved, gradient, 0.7)
            if dtype not in ("f32", "f64"):
                gradient = random_row("f32", rng, 30, 4.0, 0.0)
                yield gradient_line(form, dtype, "f32", (1, 30, 1), saved, gradient)
            gradient = f"@line 91 {ONES[dtype]}"
            for count in (1024, 1025, 2600):
                yield gradient_line(form, dtype, dtype, (1, count, 1), f"@line 92 {ONES[dtype]}", gradient, step=61)
            row = value_words(dtype, [0.25, math.nan, 0.5])
            yield gradient_line(form, dtype, dtype, (1, 3, 1), row, value_words(dtype, [1.0, 2.0, -3.0]))
            row = value_words(dtype, [0.0, -0.0, 0.0])
            yield gradient_line(form, dtype, dtype, (1, 3, 1), row, value_words(dtype, [1.0, -2.0, 4.0]))


# ---- elements left out, logarithms and logsumexp with their bits, gradients from logits

FLOAT_TYPES = ("f32", "f64", "f16", "bf16", "e4m3", "e5m2")
FUNCTIONS = ("softmax", "log_softmax", "logsumexp")


def selected_output(function, dtype):
    """E4M3 has no -infinity for the logarithm of what is left out."""
    if function == "logsumexp":
        return state_dtype(dtype)
    return "f32" if dtype == "e4m3" and function == "log_softmax" else dtype


def random_mask(rng, count):
    return " ".join(rng.choice(("00", "01", "80", "ff")) for _ in range(count))


def selections(rng):
    """Shapes, and what is left out there. In most of them some row has nothing left."""
    yield (4, 9, 1), Selection(mask=f"{random_mask(rng, 18)} 00*9 {random_mask(rng, 9)}")
    yield (2, 7, 3), Selection(lengths=(-1, 0, 3, 7, 9, 5))
    yield (6, 5, 1), Selection(causal=(1, 0))
    yield (7, 4, 1), Selection(causal=(-1, 3))
    yield (1, 6, 4), Selection(mask=random_mask(rng, 24), lengths=(6, 1, 4, 2))
    yield (5, 8, 2), Selection(random_mask(rng, 80), (8, 8, 5, 1, 9, 6, 0, 3, 7, 2), (2, 4))


def selected_rows(rng):
    for dtype in FLOAT_TYPES:
        for function in FUNCTIONS:
            output = selected_output(function, dtype)
            for turn, (shape, selection) in enumerate(selections(rng)):
                text = random_row(dtype, rng, math.prod(shape), (2.0, 20.0, 120.0)[turn % 3], (0.0, -40.0)[turn % 2])
                scale, empty_row = (0.0, 0.37)[turn % 2], ("nan", "zero")[turn // 2 % 2]
                yield selected_line(function, dtype, output, shape, text, selection, scale, empty_row)


def rows_with_nothing_left():
    """Every way to leave nothing, under both policies, and what a NaN or an infinity does that takes part or not."""
    inf, nan = math.inf, math.nan
    rows = [
        ((1.0, 2.0, 3.0), Selection(mask="00*3")),
        ((1.0, 2.0, 3.0), Selection(lengths=(0,))),
        ((1.0, 2.0, 3.0), Selection(lengths=(-5,))),
        ((1.0, 2.0, 3.0), Selection(causal=(0, 1))),
        ((1.0, 2.0, 3.0), Selection(mask="00 00 01", lengths=(2,))),
        ((-inf, -inf, 3.0), Selection(mask="01 01 00")),
        ((nan, 2.0, inf), Selection(mask="00 01 00")),
        ((1.0, nan, 3.0), Selection(mask="01 01 00")),
        ((1.0, 2.0, inf), Selection(mask="01 00 01")),
        ((nan, inf, 3.0), Selection(mask="01 01 00")),
        ((-inf, 2.0, -inf), Selection()),
    ]
    for dtype in ("f32", "f64", "f16", "bf16", "e5m2"):
        for values, selection in rows:
            for function in FUNCTIONS:
                for empty_row in ("nan", "zero"):
                    output = selected_output(function, dtype)
                    text = value_words(dtype, values)
                    yield selected_line(function, dtype, output, (1, 3, 1), text, selection, 0.0, empty_row)


def long_selected_rows():
    seed = 110000000
    for dtype in ("f32", "f64", "bf16", "f16"):
        for function in FUNCTIONS:
            output = selected_output(function, dtype)
            for count, selection in (
                (1500, Selection(mask="@mask 31")),
                (3000, Selection(lengths=(1024,))),
                (2600, Selection(mask="@mask 32", lengths=(2049,))),
                (3100, Selection()),
            ):
                seed += 100000
                text, step = f"@line {seed} {ONES[dtype] + 3}", 1 if function == "logsumexp" else 67
                yield selected_line(function, dtype, output, (1, count, 1), text, selection, 0.7, step=step)
        # the block of the largest logits is left out, and then a block that had counted for nothing remains
        text = f"@blocks {seed} 2 64 0"
        selection = Selection(mask="00*1024 01*1976")
        yield selected_line("softmax", dtype, dtype, (1, 3000, 1), text, selection, step=71)


def large_logits(rng):
    """Magnitudes of 2^20 and more, alone and beside blocks of ordinary logits, up to the largest f32."""
    rows = [
        *LARGE_ROWS,
        ("f16", [65504.0, 65472.0, -65504.0]),
        ("e5m2", [57344.0, 57344.0, -57344.0]),
        ("f32", [2.0**62, 2.0**62 * (1 + 2.0**-23), 1.0]),
        ("f32", [2.0**61, 2.0**61 * (1 + 2.0**-23), 2.0**61 * (1 - 2.0**-24)]),
        ("f64", [2.0**61 + 512, 2.0**61, 2.0**61 - 256]),
        ("bf16", [-3e38, -3e38, -math.inf]),
    ]
    for dtype, row in rows:
        for function in FUNCTIONS:
            output = selected_output(function, dtype)
            for scale in (0.0, 16.0) if abs(row[0]) < 2.0**40 else (0.0,):
                text = value_words(dtype, row)
                yield selected_line(function, dtype, output, (1, len(row), 1), text, Selection(), scale)
                text = runs(dtype, [(value, 700) for value in row])
                step = 1 if function == "logsumexp" else 97
                yield selected_line(
                    function, dtype, output, (1, 700 * len(row), 1), text, Selection(), scale, step=step
                )
    # from ordinary to large within a row, some of them close enough to count
    for dtype, scale in (("f32", 0.0), ("f64", 0.0), ("bf16", 16384.0), ("f16", 1000.0)):
        for base in (2.0**20, -(2.0**20)):
            values = [(base + 60.0 * (rng.random() - 0.5)) / (scale or 1.0) for _ in range(12)]
            for function in FUNCTIONS:
                output = selected_output(function, dtype)
                text = value_words(dtype, values)
                yield selected_line(function, dtype, output, (1, 12, 1), text, Selection(), scale)
                text = runs(dtype, [(value, 300) for value in values])
                step = 1 if function == "logsumexp" else 71
                yield selected_line(function, dtype, output, (1, 3600, 1), text, Selection(), scale, step=step)
    for function in FUNCTIONS:
        text = runs("f32", [(-3e18, 1024), (3.41e18, 1024)])
        step = 1 if function == "logsumexp" else 89
        yield selected_line(function, "f32", "f32", (1, 2048, 1), text, Selection(), step=step)


def logsumexps(rng):
    """As a reduction: the bits that softmax's output of that name has."""
    for dtype in FLOAT_TYPES:
        for count in (1, 2, 3, 9, 33, 100):
            text = random_row(dtype, rng, count, rng.choice([0.5, 12.0, 100.0]), rng.choice([0.0, 5.0, -30.0]))
            yield reduce_line("logsumexp", dtype, "-", dtype, (1, count, 1), text)
        for output in OUTPUT_FLOATS:
            text = random_row(dtype, rng, 30, 9.0, 1.0)
            yield reduce_line("logsumexp", dtype, "-", output, (2, 5, 3), text)
        yield reduce_line("logsumexp", dtype, "-", state_dtype(dtype), (1, 0, 1), "")
        for count in (1024, 1025, 2600):
            yield reduce_line("logsumexp", dtype, "-", state_dtype(dtype), (1, count, 1), f"@line 93 {ONES[dtype] + 1}")
        for row in ((-0.0,), (0.0, -math.inf), (-math.inf,), (math.inf, 1.0), (math.nan, math.inf)):
            if dtype != "e4m3":
                text = value_words(dtype, row)
                yield reduce_line("logsumexp", dtype, "-", dtype, (1, len(row), 1), text)


def logsumexp_of_rows(dtype, scale, shape, text, selection):
    """What the forward call would have saved."""
    for (_, logits), takes_part in zip(rows_of(dtype, scale, shape, text), selection.of_rows(shape)):
        yield logsumexp_row([v if part else -math.inf for v, part in zip(logits, takes_part)], dtype)


def selected_gradients(rng):
    for form in ("softmax", "log_softmax"):
        for dtype in FLOAT_TYPES:
            for turn, (shape, selection) in enumerate(selections(rng)):
                count, scale = math.prod(shape), (0.0, 0.7)[turn % 2]
                gradient_dtype = "f32" if turn % 3 == 0 and dtype != "f64" else dtype
                gradient = random_row(gradient_dtype, rng, count, 4.0, 0.5)
                text = saved_row(form, dtype, rng, count)
                yield backward_line(form, dtype, gradient_dtype, shape, text, gradient, selection, scale=scale)
                text = random_row(dtype, rng, count, (3.0, 30.0)[turn % 2], (0.0, 40.0)[turn // 2 % 2])
                sums = list(logsumexp_of_rows(dtype, scale, shape, text, selection))
                options = {"logsumexp": sums, "scale": scale, "empty_row": ("nan", "zero")[turn // 2 % 2]}
                yield backward_line(form, dtype, gradient_dtype, shape, text, gradient, selection, **options)


def gradients_from_logits():
    inf, nan = math.inf, math.nan
    for form in ("softmax", "log_softmax"):
        for dtype in FLOAT_TYPES:
            # the difference is far from the sum's own last place, so what its rounding loses shows in the weights
            text, gradient = value_words(dtype, [-3.1, 60.7, 41.3]), value_words(dtype, [1.0, -2.0, 0.5])
            for logsumexp in (60.70001, 65.3, 3.3e4, -20.0, -inf, inf, nan):
                for empty_row in ("nan", "zero"):
                    sums = [round_float(logsumexp, FLOATS[state_dtype(dtype)])]
                    options = {"logsumexp": sums, "empty_row": empty_row}
                    yield backward_line(form, dtype, dtype, (1, 3, 1), text, gradient, Selection(), **options)
            text, gradient = value_words(dtype, [-inf, 1.0, nan]), value_words(dtype, [3.0, -1.5, 2.0])
            for selection in (Selection(), Selection(mask="01 01 00"), Selection(mask="00*3")):
                options = {"logsumexp": [1.0], "scale": 0.5}
                yield backward_line(form, dtype, dtype, (1, 3, 1), text, gradient, selection, **options)
            for count, mask in ((1025, ""), (2600, "@mask 33")):
                text, gradient, selection = f"@line 94 {ONES[dtype]}", f"@line 95 {ONES[dtype]}", Selection(mask=mask)
                sums = list(logsumexp_of_rows(dtype, 0.9, (1, count, 1), text, selection))
                options = {"logsumexp": sums, "scale": 0.9, "step": 61}
                yield backward_line(form, dtype, dtype, (1, count, 1), text, gradient, selection, **options)


def make():
    rng = random.Random(20)
    lines = ["# Made by make_vectors.py; README.md describes the lines."]
    lines += sizes_and_layouts()
    lines += output_types()
    lines += special_reductions()
    lines += special_fields()
    lines += special_integers()
    lines += short_rows(rng)
    lines += long_rows()
    lines += special_softmax()
    lines += approximate(rng)
    lines += every_operator(rng)
    lines += ignored_nans(rng)
    lines += dots()
    lines += ragged()
    lines += f8_softmax(rng)
    lines += gradients(rng)
    lines += selected_rows(rng)
    lines += rows_with_nothing_left()
    lines += long_selected_rows()
    lines += logsumexps(rng)
    lines += selected_gradients(rng)
    lines += gradients_from_logits()
    lines += large_logits(rng)
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description="Makes vectors.txt.")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    check = parser.parse_args().check
    path = Path(__file__).with_name("vectors.txt")
    text = make()
    if not check:
        path.write_text(text, encoding="ascii", newline="\n")
        return 0
    if path.is_file() and path.read_bytes() == text.encode("ascii"):
        return 0
    print("vectors.txt is not what make_vectors.py makes", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
