"""The operators of warp_reduce.h, and what each gives where no type is asked for."""

from __future__ import annotations

from ._elements import I64, U8, ElementType

# wr_op
OPERATORS = {
    "sum": 1,
    "product": 2,
    "min": 3,
    "max": 4,
    "argmin": 5,
    "argmax": 6,
    "mean": 7,
    "sum_of_squares": 8,
    "norm_l1": 9,
    "norm_l2": 10,
    "norm_max": 11,
    "any": 12,
    "all": 13,
    "count_nonzero": 14,
    "bit_and": 15,
    "bit_or": 16,
    "bit_xor": 17,
    "logsumexp": 18,
    "sum_exact": 19,
}
GIVE_AN_INDEX = ("argmin", "argmax")
_OUTPUTS = {"argmin": I64, "argmax": I64, "count_nonzero": I64, "any": U8, "all": U8}


def default_output(operator: str, element: ElementType, weights: ElementType | None = None) -> ElementType:
    """The result's type where none is asked for; a sum with weights of the extension is of the extension."""
    if weights is not None and weights.words > element.words:
        return weights
    return _OUTPUTS.get(operator, element)
