"""The definition of every result, written from the published contract and sharing nothing with the library.

Slow and plain: one row at a time, one element at a time. NumPy's float32 gives the single roundings of f32.
"""

import math

import numpy as np
from number_formats import FLOATS, INTEGERS, encode, fused_multiply_add, round_float, round_integer

KOALABEAR = 2**31 - 2**24 + 1


# ---- the pairwise tree


def tree(items, combine):
    """T(x[0..n)) = T(x[0..h)) + T(x[h..n)), h the largest power of two below n."""
    if len(items) == 1:
        return items[0]
    half = 1 << ((len(items) - 1).bit_length() - 1)
    return combine(tree(items[:half], combine), tree(items[half:], combine))


def add_f32(a, b):
    with np.errstate(all="ignore"):
        return float(np.float32(a) + np.float32(b))


def multiply_f32(a, b):
    with np.errstate(all="ignore"):
        return float(np.float32(a) * np.float32(b))


def divide_f32(a, b):
    with np.errstate(all="ignore"):
        return float(np.float32(a) / np.float32(b))


def divide_f64(a, b):
    with np.errstate(all="ignore"):
        return float(np.float64(a) / np.float64(b))


def add_f64(a, b):
    return a + b


# ---- reductions: each takes the values of one axis and gives one output word


def float_sum(values, accumulate):
    if not values:
        return 0.0
    return tree(values, add_f32 if accumulate == "f32" else add_f64)


def float_mean(values, accumulate):
    if not values:
        return math.nan
    form = FLOATS[accumulate]
    count = round_integer(len(values), form)
    total = float_sum(values, accumulate)
    return divide_f32(total, count) if accumulate == "f32" else divide_f64(total, count)


def float_extreme(values, largest):
    """IEEE 754-2019 minimum and maximum: a NaN wins, -0 is below +0."""
    if not values:
        return -math.inf if largest else math.inf
    if any(math.isnan(v) for v in values):
        return math.nan
    order = sorted(values, key=lambda v: (v, math.copysign(1.0, v)))
    return order[-1] if largest else order[0]


def wrap_signed_64(value):
    value &= 2**64 - 1
    return value - 2**64 if value >> 63 else value


def reduce_floats(op, values, dtype, accumulate, output):
    if accumulate == "-":
        accumulate = "f64" if dtype == "f64" else "f32"
    if op == "sum":
        return encode(float_sum(values, accumulate), output)
    if op == "mean":
        return encode(float_mean(values, accumulate), output)
    return encode(float_extreme(values, op == "max"), output)


def reduce_integers(op, values, dtype, output):
    if dtype == "koalabear":
        return sum(values) % KOALABEAR
    if op == "sum":
        total = sum(values)
        if output in INTEGERS:
            return encode(total, output)
        return encode(round_integer(wrap_signed_64(total), FLOATS[output]), output)
    if op == "mean":
        total = round_integer(wrap_signed_64(sum(values)), FLOATS["f64"])
        return encode(divide_f64(total, float(len(values))), output)
    bits = INTEGERS[dtype][0]
    empty = -(2 ** (bits - 1)) if op == "max" else 2 ** (bits - 1) - 1
    return encode((max if op == "max" else min)(values, default=empty), output)


def reduce_axis(op, values, dtype, accumulate, output):
    if dtype in FLOATS:
        return reduce_floats(op, values, dtype, accumulate, output)
    return reduce_integers(op, values, dtype, output)


# ---- the exponential

BLOCK = 1024


class Exponential32:
    form = FLOATS["f32"]
    magic = 12582912.0
    log2e_high = float.fromhex("0x1.715476p+0")
    log2e_low = float.fromhex("0x1.4ae0cp-26")
    reach = 86.0
    # of 2^r, from the highest power down
    coefficients = [
        float.fromhex(c)
        for c in (
            "0x1.47977cp-13",
            "0x1.5f87dcp-10",
            "0x1.3b2546p-7",
            "0x1.c6ae0cp-5",
            "0x1.ebfbecp-3",
            "0x1.62e432p-1",
            "0x1p+0",
        )
    ]


class Exponential64:
    form = FLOATS["f64"]
    magic = 6755399441055744.0
    log2e_high = float.fromhex("0x1.71547652b82fep+0")
    log2e_low = float.fromhex("0x1.777d0ffda0d24p-56")
    reach = 708.0
    coefficients = [
        float.fromhex(c)
        for c in (
            "0x1.c6d9963b37ba6p-36",
            "0x1.ea14217bbfb65p-32",
            "0x1.e4cd9d8260277p-28",
            "0x1.b524d0eb6c041p-24",
            "0x1.62c0229a6571fp-20",
            "0x1.ffcbfc7ac2ec9p-17",
            "0x1.430912f85994p-13",
            "0x1.5d87fe78a130fp-10",
            "0x1.3b2ab6fba4ea8p-7",
            "0x1.c6b08d704a0d6p-5",
            "0x1.ebfbdff82c58ep-3",
            "0x1.62e42fefa39efp-1",
            "0x1p+0",
        )
    ]


def block_exponent(maximum, exponential):
    """N, the integer nearest to maximum * log2 e."""
    magic = exponential.magic
    return int(fused_multiply_add(maximum, exponential.log2e_high, magic, exponential.form) - magic)


def scaled_exponential(x, block_n, exponential):
    """exp(x) * 2^-N."""
    form = exponential.form
    magic = exponential.magic - block_n
    t = fused_multiply_add(x, exponential.log2e_high, magic, form)
    n = t - magic
    r = fused_multiply_add(x, exponential.log2e_high, -n, form)
    r = fused_multiply_add(x, exponential.log2e_low, r, form)
    p = exponential.coefficients[0]
    for coefficient in exponential.coefficients[1:]:
        p = fused_multiply_add(p, r, coefficient, form)
    return math.ldexp(p, int(n) - block_n)


# ---- softmax of one row


def power_of_two(k, lowest):
    return 0.0 if k < lowest else math.ldexp(1.0, k)


def merge_states(f32_sums):
    """Two states (N, s) into one; N is None in a block of -infinity alone."""

    def merge(a, b):
        if a[0] is None:
            return b
        if b[0] is None:
            return a
        top = max(a[0], b[0])
        if f32_sums:
            scaled = [multiply_f32(s, power_of_two(n - top, -126)) for n, s in (a, b)]
            return top, add_f32(*scaled)
        scaled = [s * power_of_two(n - top, -1000) for n, s in (a, b)]
        return top, scaled[0] + scaled[1]

    return merge


def softmax_block(values, exponential, f32_sums):
    """The block's exponentials and its state (N, s)."""
    maximum = max(values)
    if maximum == -math.inf:
        return [0.0] * len(values), (None, 0.0)
    if abs(maximum) >= 2.0**20:
        raise ValueError("a block of large logits has approximate vectors only")
    n = block_exponent(maximum, exponential)
    lowest = round_float(maximum - exponential.reach, exponential.form)
    e = [scaled_exponential(v, n, exponential) if v > lowest else 0.0 for v in values]
    return e, (n, tree(e, add_f32 if f32_sums else add_f64))


def block_factor(gap, total, arithmetic):
    """2^gap / total in two pieces."""
    numerator = power_of_two(gap, -1000)
    high = divide_f64(numerator, total)
    if arithmetic == "f64":
        return high, divide_f64(fused_multiply_add(-high, total, numerator, FLOATS["f64"]), total)
    narrow = round_float(high, FLOATS["f32"])
    return narrow, round_float(high - narrow, FLOATS["f32"])


def softmax_row(values, dtype, output, empty_row):
    """Output words of one row of scaled logits."""
    if any(math.isnan(v) or v == math.inf for v in values):
        return [encode(math.nan, output)] * len(values)
    if all(v == -math.inf for v in values):
        return [encode(math.nan if empty_row == "nan" else 0.0, output)] * len(values)
    arithmetic = "f64" if dtype == "f64" else "f32"
    exponential = Exponential64 if dtype == "f64" else Exponential32
    f32_sums = dtype in ("f16", "bf16")
    blocks = [
        softmax_block(values[start : start + BLOCK], exponential, f32_sums) for start in range(0, len(values), BLOCK)
    ]
    top, total = tree([state for _, state in blocks], merge_states(f32_sums))
    multiply = multiply_f32 if arithmetic == "f32" else (lambda a, b: a * b)
    words = []
    for exponentials, (n, _) in blocks:
        high, low = (0.0, 0.0) if n is None else block_factor(n - top, total, arithmetic)
        for e in exponentials:
            if output in ("f32", "f64"):
                y = fused_multiply_add(e, high, multiply(e, low), exponential.form)
            else:
                y = multiply(e, high)
            words.append(encode(y, output))
    return words


def scaled_logits(values, dtype, scale):
    """Each logit times the scale, rounded once to the arithmetic's type; 0 means 1."""
    scale = scale if scale != 0 else 1.0
    if dtype == "f64":
        return [v * scale for v in values]
    return [multiply_f32(v, round_float(scale, FLOATS["f32"])) for v in values]
