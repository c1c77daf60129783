"""Makes vectors.txt: inputs and the bits that every device must give for them. README.md describes the file.

python make_vectors.py            writes vectors.txt beside this program
python make_vectors.py --check    says whether vectors.txt is what this program makes (exit status 1: it is not)
"""

import argparse
import math
import random
import sys
from pathlib import Path

from contract import reduce_axis, scaled_logits, softmax_row
from exact_softmax import exact_row
from generated_inputs import generate
from number_formats import FLOATS, INTEGERS, decode, encode, word_digits

SIZES = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 255, 256, 257]
SIZES += [1023, 1024, 1025, 2000]
LAYOUTS = [(5, 33, 1), (1, 33, 5), (3, 17, 4), (2, 129, 3), (4, 1, 5), (33, 4, 1), (1, 8, 33), (2, 0, 3)]
REDUCED = ["f32", "f64", "f16", "bf16", "i32", "i64", "koalabear"]
SOFTMAX_TYPES = ["f32", "f64", "f16", "bf16"]


def hexadecimal(words, name):
    return " ".join(f"{word:0{word_digits(name)}x}" for word in words)


def input_words(text, dtype, count):
    """The words of an input as the file gives it: `word` or `word*times` again and again, or a generator."""
    if text.startswith("@"):
        return generate(text, dtype, count)
    words = []
    for item in text.split():
        word, _, times = item.partition("*")
        words += [int(word, 16)] * int(times or 1)
    if len(words) != count:
        raise ValueError(f"{len(words)} words for {count} elements: {text}")
    return words


def slices(values, outer, axis, inner):
    """The positions of each axis, in the order of the outputs."""
    for o in range(outer):
        for i in range(inner):
            yield [o * axis * inner + a * inner + i for a in range(axis)]


# ---- lines


def reduce_line(op, dtype, accumulate, output, shape, text):
    values = [decode(word, dtype) for word in input_words(text, dtype, math.prod(shape))]
    words = [
        reduce_axis(op, [values[p] for p in positions], dtype, accumulate, output)
        for positions in slices(values, *shape)
    ]
    sizes = " ".join(map(str, shape))
    return f"reduce {op} {dtype} {accumulate} {output} {sizes} : {text} : {hexadecimal(words, output)}".rstrip()


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
def reduction_input(dtype, seed):
    if dtype in INTEGERS:
        return f"@integers {seed}"
    ones = {"f32": -23, "f64": -52, "f16": -10, "bf16": -7}[dtype]
    return f"@line {seed} {ones}" if seed % 3 == 0 else f"@wide {seed}"


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
            for output in FLOATS:
                for op in ("sum", "mean"):
                    seed += 1000
                    yield reduce_line(op, dtype, accumulate, output, (1, 100, 1), input_text(dtype, seed, 100))
        for output in FLOATS:
            for op in ("min", "max"):
                seed += 1000
                yield reduce_line(op, dtype, "-", output, (2, 9, 1), input_text(dtype, seed, 18))
    for dtype in ("i32", "i64"):
        for output in ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"):
            seed += 1000
            yield reduce_line("sum", dtype, "-", output, (1, 33, 2), input_text(dtype, seed, 66))
        for output in FLOATS:
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


# ---- softmax


def random_row(dtype, rng, count, spread, offset):
    return value_words(dtype, [offset + spread * (rng.random() - 0.5) for _ in range(count)])


def short_rows(rng):
    for dtype in SOFTMAX_TYPES:
        offsets = [0.0, 3.0, -700.0, 40000.0] if dtype == "f16" else [0.0, 3.0, -700.0, 1040000.0, -1040000.0]
        for count in (1, 2, 3, 4, 5, 8, 9, 17, 33):
            spread, offset = rng.choice([0.1, 1.0, 8.0, 32.0, 200.0]), rng.choice(offsets)
            yield softmax_line(dtype, dtype, (1, count, 1), random_row(dtype, rng, count, spread, offset))
        for output in FLOATS:
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
    unit = {"f32": -23, "f64": -52, "f16": -10, "bf16": -7}
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
            unit = {"f32": -23, "f64": -52, "f16": -10, "bf16": -7}[dtype]
            text = f"@line {rng.randrange(10**6)} {unit + 3}"
            yield approximate_line(function, dtype, output, (1, 3000, 1), text, step=300)
        yield approximate_line("log_softmax", dtype, dtype, (1, 3, 1), value_words(dtype, [1.0, -math.inf, 2.0]))
    # large logits
    top = 3.4028234663852886e38
    rows = [
        ("f32", [2.0**20, 2.0**20 - 1, 2.0**20 + 2]),
        ("f32", [2.0**20 - 1, 2.0**20 + 0.125]),
        ("f32", [-(2.0**20), -(2.0**20) - 3, -(2.0**20) - 10]),
        ("f32", [123456789.0, 123456781.0, 123456773.0]),
        ("f32", [1e30, 1e30, 9e29]),
        ("f32", [top, top, -top]),
        ("f32", [-top, -top, -top]),
        ("f32", [1e7, 0.0, -1e7]),
        ("bf16", [2.0**20, 2.0**20, 2.0**20 - 8192]),
        ("bf16", [3e38, 3e38, 1.0]),
        ("f64", [2.0**20 + 0.3, 2.0**20 - 1.7, 2.0**20 + 5.1]),
        ("f64", [1e12, 1e12 + 3.5, 1e12 - 1.25]),
        ("f64", [-1e15, -1e15 - 2.125, -1e15 - 0.5]),
        ("f64", [1.7e308, 1.7e308, 1e308]),
    ]
    for dtype, row in rows:
        yield approximate_line("softmax", dtype, dtype, (1, len(row), 1), value_words(dtype, row))
        # more than one block, each with large logits of its own
        text = runs(dtype, [(value, 700) for value in row])
        yield approximate_line("softmax", dtype, dtype, (1, 700 * len(row), 1), text, step=97)
    # two blocks whose powers of two lie further apart than 64-bit integers do
    text = runs("f32", [(-3e18, 1024), (3.41e18, 1024)])
    yield approximate_line("softmax", "f32", "f32", (1, 2048, 1), text, step=89)


def make():
    rng = random.Random(20)
    lines = ["# Made by make_vectors.py; README.md describes the lines."]
    lines += sizes_and_layouts()
    lines += output_types()
    lines += special_reductions()
    lines += short_rows(rng)
    lines += long_rows()
    lines += special_softmax()
    lines += approximate(rng)
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
