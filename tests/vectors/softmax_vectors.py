"""The lines of softmax, its gradients and logsumexp."""

import math

from number_formats import FLOATS, round_float
from reduction_vectors import ONES, runs
from softmax_contract import logsumexp_row
from vector_lines import (
    Selection,
    approximate_line,
    backward_line,
    gradient_line,
    reduce_line,
    rows_of,
    selected_line,
    softmax_line,
    state_dtype,
    value_words,
)

OUTPUT_FLOATS = ["f16", "bf16", "f32", "f64"]
SOFTMAX_TYPES = ["f32", "f64", "f16", "bf16"]


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
