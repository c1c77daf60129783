"""The operators of warp_reduce.h, the functions called for them, and what each gives where no type is asked for.

Importing it imports nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._elements import ElementType

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
_OUTPUTS = {"argmin": "i64", "argmax": "i64", "count_nonzero": "i64", "any": "u8", "all": "u8"}

# The operators of functions, and of norms by their `ord`.
FUNCTIONS = {
    **{name: name for name in ("sum", "mean", "min", "max", "argmin", "argmax", "any", "all", "count_nonzero")},
    "prod": "product",
    "logsumexp": "logsumexp",
}
NORMS = {1: "norm_l1", 2: "norm_l2", float("inf"): "norm_max"}
SEGMENTED = {**FUNCTIONS, "norm": NORMS[2]}  # functions of segments


def default_output(operator: str, element: ElementType, weights: ElementType | None = None) -> ElementType:
    """The result's type where none is asked for; a sum with weights of the extension is of the extension."""
    if weights is not None and weights.words > element.words:
        return weights
    if operator in _OUTPUTS:
        from ._elements import BY_NAME

        return BY_NAME[_OUTPUTS[operator]]
    return element
