"""The definition of every reduction of one axis, to one output word.

Written from the published contract and sharing nothing with the library. Slow and plain: one element at a time.
"""

import functools
import math
import operator
from fractions import Fraction

from exact_contract import exact_word
from number_formats import FIELDS, FLOATS, INTEGERS, encode, round_exact, round_float, round_integer
from rounded_arithmetic import (
    add_f32,
    add_f64,
    divide_f32,
    divide_f64,
    multiply_f32,
    multiply_f64,
    square_root_f64,
    tree,
)
from softmax_contract import logsumexp_row

# ---- float operators that add up: what each element becomes, and what an absent one is in its place


def mapped_float(op, value, weight, multiply):
    if op == "sum_of_squares":
        return multiply(value, value)
    if op == "norm_l1":
        return abs(value)
    return value if weight is None else multiply(value, weight)


def float_result(op, values, accumulate, ignore=False, weights=None):
    """The finished sum, product, mean or norm, in the type that it is kept in."""
    narrow = accumulate == "f32"
    multiply = multiply_f32 if narrow else multiply_f64
    left = sum(not (ignore and math.isnan(v)) for v in values)
    if left == 0:
        return {"product": 1.0, "mean": math.nan}.get(op, 0.0)
    if op == "norm_l2":
        return norm([0.0 if ignore and math.isnan(v) else v for v in values], FLOATS[accumulate])
    absent = 1.0 if op == "product" else -0.0
    items = [
        absent if ignore and math.isnan(v) else mapped_float(op, v, None if weights is None else weights[i], multiply)
        for i, v in enumerate(values)
    ]
    if op == "product":
        return tree(items, multiply)
    total = tree(items, add_f32 if narrow else add_f64)
    if op == "mean":
        count = round_integer(left, FLOATS[accumulate])
        return divide_f32(total, count) if narrow else divide_f64(total, count)
    return total


def to_precision(number, form):
    """A Fraction rounded to nearest even in the format's precision, with an exponent of any size."""
    if number == 0:
        return number
    # between one and two bits more than the precision, to the left of the point
    shift = form.precision - (number.numerator.bit_length() - number.denominator.bit_length())
    scaled = number * Fraction(2) ** shift
    while scaled >= 2**form.precision:
        shift -= 1
        scaled /= 2
    return round(scaled) * Fraction(2) ** -shift


def root_to_precision(number, form):
    """The root of a Fraction, rounded to nearest in the format's precision: it is never half way between two."""
    half = (number.numerator.bit_length() - number.denominator.bit_length()) // 2 - form.precision - 4
    whole = math.isqrt(math.floor(number / Fraction(4) ** half))
    inexact = whole * whole * Fraction(4) ** half != number
    return to_precision((2 * whole + int(inexact)) * Fraction(2) ** (half - 1), form)


def norm(values, form):
    """The root of the tree of squares, in which no number leaves the range."""
    if any(math.isnan(v) for v in values):
        return math.nan
    if any(math.isinf(v) for v in values):
        return math.inf
    squares = [to_precision(Fraction(v) ** 2, form) for v in values]
    total = tree(squares, lambda a, b: to_precision(a + b, form))
    if total == 0:
        return 0.0
    root = root_to_precision(total, form)
    return round_exact(root.numerator, 1 - root.denominator.bit_length(), form)


def float_order(value):
    """-0 is below +0."""
    return value, math.copysign(1.0, value)


def float_extreme(values, largest):
    """IEEE 754-2019 minimum and maximum: a NaN wins, -0 is below +0."""
    if not values:
        return -math.inf if largest else math.inf
    if any(math.isnan(v) for v in values):
        return math.nan
    order = sorted(values, key=float_order)
    return order[-1] if largest else order[0]


def float_index(values, largest, ignore):
    """The first NaN, if there is one, else the first of the extremes; -1 of nothing."""
    places = [i for i, v in enumerate(values) if not (ignore and math.isnan(v))]
    for place in places:
        if math.isnan(values[place]):
            return place
    return first_extreme([float_order(v) for v in values], places, largest)


def first_extreme(keys, places, largest):
    best = -1
    for place in places:
        if best < 0 or (keys[place] > keys[best] if largest else keys[place] < keys[best]):
            best = place
    return best


def count_result(op, differ, output):
    """differ: of each element that is there, whether it is not zero."""
    count = sum(differ)
    result = {"any": count > 0, "all": count == len(differ), "count_nonzero": count}[op]
    return encode(int(result) if output in INTEGERS else round_integer(int(result), FLOATS[output]), output)


def reduce_floats(op, values, dtype, accumulate, output, ignore, weights):
    if accumulate == "-":
        accumulate = "f64" if dtype == "f64" else "f32"
    left = [v for v in values if not (ignore and math.isnan(v))]
    if op in ("any", "all", "count_nonzero"):
        return count_result(op, [v != 0 for v in left], output)
    if op in ("argmin", "argmax"):
        return encode(float_index(values, op == "argmax", ignore), output)
    if op in ("min", "max"):
        return encode(float_extreme(left, op == "max"), output)
    if op == "norm_max":
        return encode(float_extreme([abs(v) for v in left], True) if left else 0.0, output)
    return encode(float_result(op, values, accumulate, ignore, weights), output)


# ---- integers: exact, wrapped at the end


def integer_result(op, values, weights):
    if op == "product":
        return math.prod(values)
    if op in ("sum_of_squares", "norm_l2"):
        return sum(v * v for v in values)
    if op == "norm_l1":
        return sum(abs(v) for v in values)
    if op == "norm_max":
        return max((abs(v) for v in values), default=0)
    if op == "bit_and":
        return functools.reduce(operator.and_, values, -1)
    if op == "bit_or":
        return functools.reduce(operator.or_, values, 0)
    if op == "bit_xor":
        return functools.reduce(operator.xor, values, 0)
    return sum(values) if weights is None else sum(v * w for v, w in zip(values, weights))


def terms_as_f64(op, values, weights):
    """What enters the tree of f64 that says how large the result is."""
    near = [round_integer(v, FLOATS["f64"]) for v in values]
    if op in ("sum_of_squares", "norm_l2"):
        return [v * v for v in near]
    if op == "norm_l1":
        return [abs(v) for v in near]
    return near if weights is None else [v * round_integer(w, FLOATS["f64"]) for v, w in zip(near, weights)]


def integer_for_a_float(op, values, weights):
    """The exact result; of one that is 2^100 or more in a tree of f64, that tree."""
    exact = integer_result(op, values, weights)
    if not values:
        return exact
    near = tree(terms_as_f64(op, values, weights), operator.mul if op == "product" else add_f64)
    if math.isnan(near):
        return 0
    return exact if abs(near) < 2.0**100 else near


def round_number(value, form):
    return round_integer(value, form) if isinstance(value, int) else round_float(value, form)


def integer_extreme(values, dtype, largest):
    bits, signed = INTEGERS[dtype]
    least = -(2 ** (bits - 1)) if signed else 0
    empty = least if largest else least + 2**bits - 1
    return (max if largest else min)(values, default=empty)


def reduce_integers(op, values, dtype, output, weights):
    if op in ("any", "all", "count_nonzero"):
        return count_result(op, [v != 0 for v in values], output)
    if op in ("argmin", "argmax"):
        return encode(first_extreme(values, range(len(values)), op == "argmax"), output)
    if op in ("min", "max"):
        return encode(integer_extreme(values, dtype, op == "max"), output)
    result = integer_result("sum" if op == "mean" else op, values, weights)
    if output in INTEGERS:
        return encode(result, output)
    result = integer_for_a_float("sum" if op == "mean" else op, values, weights)
    if op == "mean":
        return encode(divide_f64(round_number(result, FLOATS["f64"]), float(len(values))), output)
    if op == "norm_l2":
        return encode(square_root_f64(round_number(result, FLOATS["f64"])), output)
    return encode(round_number(result, FLOATS[output]), output)


# ---- fields: elements are tuples of words


def field_product(a, b, field):
    """Polynomials in x, x^4 = residue; in Montgomery form a word product is a * b * 2^-32."""
    words = [0] * 4
    scale = pow(2**32, -1, field.prime) if field.montgomery else 1
    for i, left in enumerate(a):
        for j, right in enumerate(b):
            fold = field.residue if i + j >= 4 else 1
            words[(i + j) % 4] += left * right * scale * fold
    return tuple(word % field.prime for word in words[: field.degree])


def field_sum(a, b, field):
    return tuple((x + y) % field.prime for x, y in zip(a, b))


def field_one(field):
    return ((2**32 if field.montgomery else 1) % field.prime,) + (0,) * (field.degree - 1)


def reduce_fields(op, values, dtype, output, weights):
    # a word of Goldilocks may be any 64 bits, and the prime stands for 0 in Mersenne31
    values = [tuple(word % FIELDS[dtype].prime for word in value) for value in values]
    if op in ("any", "all", "count_nonzero"):
        return count_result(op, [any(v) for v in values], output)
    field = FIELDS[output]
    if op == "product":
        return encode(functools.reduce(lambda a, b: field_product(a, b, field), values, field_one(field)), output)
    if op == "sum_of_squares":
        values = [field_product(v, v, field) for v in values]
    if weights is not None:
        values = [field_product(v, w, field) for v, w in zip(values, weights)]
    return encode(functools.reduce(lambda a, b: field_sum(a, b, field), values, (0,) * field.degree), output)


def reduce_axis(op, values, dtype, accumulate, output, ignore=False, weights=None):
    if op == "logsumexp":
        return encode(logsumexp_row(values, dtype), output)
    if op == "sum_exact":
        return exact_word(values, output, ignore, weights)
    if dtype in FLOATS:
        return reduce_floats(op, values, dtype, accumulate, output, ignore, weights)
    if dtype in FIELDS:
        return reduce_fields(op, values, dtype, output, weights)
    return reduce_integers(op, values, dtype, output, weights)
