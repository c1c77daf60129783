"""The definition of the gradient of one row of softmax or log-softmax.

Written from the published contract and sharing nothing with the library. Slow and plain: one element at a time.
"""

import math
import operator

from number_formats import FLOATS, encode, fused_multiply_add, round_float
from rounded_arithmetic import add_f32, add_f64, multiply_f32, tree
from softmax_contract import Exponential32, Exponential64, scaled_exponential, scaled_logits

# The weight in a row of which nothing is left, where that is no NaN.
EMPTY = None


def exponential_in_two_pieces(d, rest, exponential):
    """W(d, r): exp(d + r), and 0 or infinity where d leaves the normal range."""
    if not -exponential.reach < d < exponential.reach:
        return d if math.isnan(d) else math.inf if d > 0 else 0.0
    e = scaled_exponential(d, 0, exponential)
    return fused_multiply_add(e, rest, e, exponential.form)


def weight_of_logit(x, logsumexp, dtype, empty_row):
    """exp(x - logsumexp), with what the rounding of the difference lost."""
    add = add_f64 if dtype == "f64" else add_f32
    if not math.isfinite(logsumexp):
        return EMPTY if logsumexp == -math.inf and empty_row == "zero" else math.nan
    d = add(x, -logsumexp)
    b = add(d, -x)
    rest = add(add(x, -add(d, -b)), -add(logsumexp, b))
    return exponential_in_two_pieces(d, rest, Exponential64 if dtype == "f64" else Exponential32)


def weights_of_outputs(form, saved, dtype):
    if form == "softmax":
        return saved
    exponential = Exponential64 if dtype == "f64" else Exponential32
    return [exponential_in_two_pieces(y, 0.0, exponential) for y in saved]


def weights_of_logits(saved, scale, logsumexp, dtype, empty_row):
    return [weight_of_logit(x, logsumexp, dtype, empty_row) for x in scaled_logits(saved, dtype, scale)]


def gradient_row(form, weights, gradients, takes_part, dtype, scale, output):
    """Output words of one row's gradient; form is softmax or log_softmax. What takes no part brings -0 and gets +0."""
    form_of_numbers = FLOATS["f64" if dtype == "f64" else "f32"]
    add, multiply = (add_f64, operator.mul) if dtype == "f64" else (add_f32, multiply_f32)
    scale = round_float(scale if scale != 0 else 1.0, form_of_numbers)
    if EMPTY in weights and form == "log_softmax":
        takes_part = [False] * len(weights)
    weights = [0.0 if p is EMPTY else p for p in weights]
    terms = [multiply(p, dy) for p, dy in zip(weights, gradients)] if form == "softmax" else gradients
    total = tree([term if part else -0.0 for term, part in zip(terms, takes_part)], add)
    words = []
    for p, dy, part in zip(weights, gradients, takes_part):
        if not part:
            result = 0.0
        elif form == "softmax":
            result = multiply(multiply(p, add(dy, -total)), scale)
        else:
            result = multiply(fused_multiply_add(-p, total, dy, form_of_numbers), scale)
        words.append(encode(result, output))
    return words
