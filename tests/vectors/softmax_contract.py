"""The definition of softmax, log-softmax and logsumexp of one row.

Written from the published contract and sharing nothing with the library. Slow and plain: one element at a time.
"""

import math
import operator
from dataclasses import dataclass

from number_formats import FLOATS, encode, fused_multiply_add, round_float
from rounded_arithmetic import add_f32, add_f64, divide_f32, divide_f64, multiply_f32, tree

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


def horner(coefficients, r, form):
    p = coefficients[0]
    for coefficient in coefficients[1:]:
        p = fused_multiply_add(p, r, coefficient, form)
    return p


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
    return math.ldexp(horner(exponential.coefficients, r, form), int(n) - block_n)


# ---- large logits

LARGE = 2.0**20
BEYOND_REACH = 2.0**62
LOG2E = [float.fromhex(c) for c in ("0x1.71547652b82fep+0", "0x1.777d0ffda0d24p-56", "-0x1.60bb8a5442ab9p-110")]


def fused_f64(a, b, c):
    return fused_multiply_add(a, b, c, FLOATS["f64"])


def large_exponential(m):
    """X(m): (N, g) with e^m = g * 2^N."""
    if abs(m) >= BEYOND_REACH:
        return (2**63 - 1 if m > 0 else -(2**63)), 1.0
    h = m * LOG2E[0]
    h_rest = fused_f64(m, LOG2E[0], -h)
    k = m * LOG2E[1]
    k_rest = fused_f64(m, LOG2E[1], -k)
    a, b, c = float(round(h)), float(round(h_rest)), float(round(k))
    f = ((h - a) + (h_rest - b)) + ((k - c) + (k_rest + m * LOG2E[2]))
    d = float(round(f))
    return int(a) + int(b) + int(c + d), horner(Exponential64.coefficients, f - d, FLOATS["f64"])


# ---- softmax of one row


def power_of_two(k, lowest):
    return 0.0 if k < lowest else math.ldexp(1.0, k)


@dataclass(frozen=True)
class Block:
    """Its maximum, the N of that, its factor g (1 where its logits are ordinary), its exponentials and their sum."""

    maximum: float
    n: int
    g: float
    exponentials: list
    total: float

    def power_of_gap(self, largest, n_of_largest, lowest):
        """2^gap to the row's maximum, 0 where that counts for nothing."""
        if self.maximum == largest:
            return 1.0
        if self.maximum == -math.inf or max(abs(self.maximum), abs(largest)) >= BEYOND_REACH:
            return 0.0
        return power_of_two(self.n - n_of_largest, lowest)


def softmax_block(values, exponential, f32_sums):
    maximum = max(values)
    add = add_f32 if f32_sums else add_f64
    form = exponential.form
    if maximum == -math.inf:
        return Block(maximum, 0, 1.0, [0.0] * len(values), 0.0)
    if abs(maximum) < LARGE:
        n = block_exponent(maximum, exponential)
        lowest = round_float(maximum - exponential.reach, form)
        e = [scaled_exponential(v, n, exponential) if v > lowest else 0.0 for v in values]
        return Block(maximum, n, 1.0, e, tree(e, add))
    below = [round_float(v - maximum, form) for v in values]
    e = [scaled_exponential(d, 0, exponential) if d > -exponential.reach else 0.0 for d in below]
    n, g = large_exponential(maximum)
    g = round_float(g, FLOATS["f32" if f32_sums else "f64"])
    return Block(maximum, n, g, e, (multiply_f32 if f32_sums else operator.mul)(tree(e, add), g))


@dataclass(frozen=True)
class Row:
    blocks: list
    largest: Block
    total: float


def row_of(values, dtype):
    exponential = Exponential64 if dtype == "f64" else Exponential32
    f32_sums = dtype not in ("f32", "f64")
    blocks = [
        softmax_block(values[start : start + BLOCK], exponential, f32_sums) for start in range(0, len(values), BLOCK)
    ]
    largest = max(blocks, key=lambda block: block.maximum)
    multiply, lowest = (multiply_f32, -126) if f32_sums else (operator.mul, -1000)
    scaled = [multiply(b.total, b.power_of_gap(largest.maximum, largest.n, lowest)) for b in blocks]
    return Row(blocks, largest, tree(scaled, add_f32 if f32_sums else add_f64))


def block_factor(block, row, arithmetic):
    """G * 2^gap / S in two pieces."""
    numerator = block.g * block.power_of_gap(row.largest.maximum, row.largest.n, -1000)
    high = divide_f64(numerator, row.total)
    if arithmetic == "f64":
        return high, divide_f64(fused_f64(-high, row.total, numerator), row.total)
    narrow = round_float(high, FLOATS["f32"])
    return narrow, round_float(high - narrow, FLOATS["f32"])


def is_not_a_number(values):
    return any(math.isnan(v) or v == math.inf for v in values)


def is_empty(values):
    return all(v == -math.inf for v in values)


def softmax_row(values, dtype, output, empty_row):
    """Output words of one row of scaled logits."""
    if is_not_a_number(values):
        return [encode(math.nan, output)] * len(values)
    if is_empty(values):
        return [encode(math.nan if empty_row == "nan" else 0.0, output)] * len(values)
    arithmetic = "f64" if dtype == "f64" else "f32"
    row = row_of(values, dtype)
    multiply = multiply_f32 if arithmetic == "f32" else operator.mul
    words = []
    for block in row.blocks:
        high, low = block_factor(block, row, arithmetic)
        for e in block.exponentials:
            if output in ("f32", "f64"):
                y = fused_multiply_add(e, high, multiply(e, low), FLOATS[arithmetic])
            else:
                y = multiply(e, high)
            words.append(encode(y, output))
    return words


# ---- the logarithm, log-softmax and logsumexp of one row


class Logarithm32:
    ln2_high = float.fromhex("0x1.62e4p-1")
    ln2_low = float.fromhex("0x1.7f7d1cp-20")
    # of (atanh(t) / t - 1) / t^2 in powers of t^2, from the highest down
    coefficients = [float.fromhex(c) for c in ("0x1.edb11p-4", "0x1.23e866p-3", "0x1.999be2p-3", "0x1.555554p-2")]


class Logarithm64:
    ln2_high = float.fromhex("0x1.62e42feep-1")
    ln2_low = float.fromhex("0x1.a39ef35793c76p-33")
    coefficients = [
        float.fromhex(c)
        for c in (
            "0x1.1b974a095e453p-4",
            "0x1.0dc85233f9fc5p-4",
            "0x1.3b35f38c40954p-4",
            "0x1.745c49437b40fp-4",
            "0x1.c71c7496c7be2p-4",
            "0x1.24924921dc05cp-3",
            "0x1.999999999c20dp-3",
            "0x1.555555555554fp-2",
        )
    ]


def quotient_in_powers_of_two(total, unit, dtype):
    """k and (s - unit) / (s + unit) with s = total / 2^k, in the type that sums are kept in."""
    in_f32 = dtype not in ("f32", "f64")
    kept_in = "f32" if in_f32 else "f64"
    add, divide = (add_f32, divide_f32) if in_f32 else (add_f64, divide_f64)
    step = 1 << (FLOATS[kept_in].precision - 1)
    k = (encode(total, kept_in) - encode(unit, kept_in) + step // 2) // step
    s = math.ldexp(total, -k)
    return k, divide(add(s, -unit), add(s, unit))


def logarithm_of_quotient(total, unit, dtype):
    """log(total / unit) in three pieces of the arithmetic's type."""
    constants = Logarithm64 if dtype == "f64" else Logarithm32
    form = FLOATS["f64" if dtype == "f64" else "f32"]
    multiply = operator.mul if dtype == "f64" else multiply_f32
    k, t = quotient_in_powers_of_two(total, unit, dtype)
    high = round_float(t, form)
    low = round_float(t - high, form)
    v = multiply(high, high)
    q = horner(constants.coefficients, v, form)
    rest = fused_multiply_add(multiply(2 * high, v), q, 2 * low, form)
    return float(k) * constants.ln2_high, 2 * high, fused_multiply_add(float(k), constants.ln2_low, rest, form)


def exact_sum(a, b, add):
    """The rounded sum and what it lacks."""
    rounded = add(a, b)
    b_part = add(rounded, -a)
    return rounded, add(add(a, -add(rounded, -b_part)), add(b, -b_part))


def logsumexp_pieces(values, dtype):
    """logsumexp of an ordinary row as H + L, two numbers of the arithmetic's type."""
    exponential, add = (Exponential64, add_f64) if dtype == "f64" else (Exponential32, add_f32)
    row = row_of(values, dtype)
    largest = row.largest.maximum
    unit = row.largest.g if abs(largest) >= LARGE else scaled_exponential(largest, row.largest.n, exponential)
    whole, near, rest = logarithm_of_quotient(row.total, unit, dtype)
    first, first_lost = exact_sum(largest, whole, add)
    second, second_lost = exact_sum(first, near, add)
    return exact_sum(second, add(add(first_lost, second_lost), rest), add)


def logsumexp_row(values, dtype):
    if any(math.isnan(v) for v in values):
        return math.nan
    if math.inf in values:
        return math.inf
    return -math.inf if is_empty(values) else logsumexp_pieces(values, dtype)[0]


def log_softmax_row(values, dtype, output, empty_row):
    """Output words of one row of scaled logits."""
    if is_not_a_number(values):
        return [encode(math.nan, output)] * len(values)
    if is_empty(values):
        return [encode(math.nan if empty_row == "nan" else -math.inf, output)] * len(values)
    high, low = logsumexp_pieces(values, dtype)
    add = add_f64 if dtype == "f64" else add_f32
    return [encode(add(add(v, -high), -low), output) for v in values]


def selected_row(function, values, takes_part, dtype, output, empty_row):
    """The same where some elements take no part: logits of -infinity stand for them."""
    values = [v if part else -math.inf for v, part in zip(values, takes_part)]
    if function == "logsumexp":
        return [encode(logsumexp_row(values, dtype), output)]
    row = softmax_row if function == "softmax" else log_softmax_row
    words = row(values, dtype, output, empty_row)
    if is_empty(values):
        return words
    left_out = encode(0.0 if function == "softmax" else -math.inf, output)
    return [word if part else left_out for word, part in zip(words, takes_part)]


def scaled_logits(values, dtype, scale):
    """Each logit times the scale, rounded once to the arithmetic's type; 0 means 1."""
    scale = scale if scale != 0 else 1.0
    if dtype == "f64":
        return [v * scale for v in values]
    return [multiply_f32(v, round_float(scale, FLOATS["f32"])) for v in values]
