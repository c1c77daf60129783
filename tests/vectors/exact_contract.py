"""The definition of exact sums and dot products: the terms as fractions, one rounding at the end."""

import math
from fractions import Fraction

from number_formats import FLOATS, encode, round_exact


def exact_value(terms, form):
    """terms: pairs of f64 whose products are to be summed."""
    if any(math.isnan(x) or math.isnan(y) for x, y in terms):
        return math.nan
    specials = [x * y for x, y in terms if math.isinf(x) or math.isinf(y)]
    if specials:
        return math.nan if any(math.isnan(v) for v in specials) or len(set(specials)) > 1 else specials[0]
    total = sum((Fraction(x) * Fraction(y) for x, y in terms), Fraction(0))
    if total == 0:
        minus = [math.copysign(1.0, x) * math.copysign(1.0, y) < 0 and x * y == 0 and 0 in (x, y) for x, y in terms]
        return -0.0 if terms and all(minus) else 0.0
    return round_exact(total.numerator, 1 - total.denominator.bit_length(), form)


def exact_word(values, output, ignore=False, weights=None):
    terms = list(zip(values, [1.0] * len(values) if weights is None else weights))
    return encode(exact_value([t for t in terms if not (ignore and math.isnan(t[0]))], FLOATS[output]), output)
