"""Exact results to hold the library's against: integers and fractions, and decimals of forty digits for exp."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal, localcontext
from fractions import Fraction

from .._elements import ElementType

# significand bits, exponent of the smallest normal number
_FORMATS = {"f64": (53, -1022), "f32": (24, -126), "f16": (11, -14), "bf16": (8, -126)}
DECIMAL_DIGITS = 40


def exact_sum(values: Iterable[float]) -> Fraction:
    """The sum of finite floats or integers with no rounding at all."""
    ratios = [value.as_integer_ratio() for value in values]
    scale = max((denominator for _, denominator in ratios), default=1)  # powers of two: the largest is common
    return Fraction(sum(numerator * (scale // denominator) for numerator, denominator in ratios), scale)


def unit_in_last_place(value: Fraction | Decimal, element: ElementType) -> Fraction:
    """The spacing of the type's numbers at value; 1 for integers."""
    if element.kind != "float":
        return Fraction(1)
    bits, smallest = _FORMATS[element.name]
    magnitude = abs(Fraction(value))
    exponent = smallest
    if magnitude:
        exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
        exponent -= magnitude < Fraction(2) ** exponent
    return Fraction(2) ** (max(exponent, smallest) - bits + 1)


def units_apart(result: float, exact: Fraction | Decimal, element: ElementType, at_least: int = 0) -> float:
    """How far a result is from the exact value, in units in the last place of its type there (or at `at_least`)."""
    if not math.isfinite(result):
        return math.inf
    return float(abs(Fraction(result) - Fraction(exact)) / unit_in_last_place(max(abs(exact), at_least), element))


def exact_softmax(row: list[float]) -> tuple[list[Decimal], list[Decimal]]:
    """Softmax and log-softmax."""
    with localcontext() as context:
        context.prec = DECIMAL_DIGITS
        weights = [Decimal(value).exp() for value in row]
        total = sum(weights)
        logarithm = total.ln()
        return [weight / total for weight in weights], [Decimal(value) - logarithm for value in row]
