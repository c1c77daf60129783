"""The operators of warp_reduce.h: their names on the command line, and what each gives where no type is asked for."""

from __future__ import annotations

from .elements import I64, U8, ElementType
from .errors import UsageError

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
}
ALIASES = {
    "prod": "product",
    "squares": "sum_of_squares",
    "l1": "norm_l1",
    "l2": "norm_l2",
    "linf": "norm_max",
    "count": "count_nonzero",
    "and": "bit_and",
    "or": "bit_or",
    "xor": "bit_xor",
    "lse": "logsumexp",
}
GIVE_AN_INDEX = ("argmin", "argmax")
_OUTPUTS = {"argmin": I64, "argmax": I64, "count_nonzero": I64, "any": U8, "all": U8}


def operator_named(name: str) -> str:
    plain = name.replace("-", "_")
    operator = ALIASES.get(plain, plain)
    if operator not in OPERATORS:
        raise UsageError(f"'{name}' is no operator; choose from {', '.join(OPERATORS)}")
    return operator


def default_output(operator: str, element: ElementType, weights: ElementType | None = None) -> ElementType:
    """The result's type where none is asked for; a sum with weights of the extension is of the extension."""
    if weights is not None and weights.words > element.words:
        return weights
    return _OUTPUTS.get(operator, element)
