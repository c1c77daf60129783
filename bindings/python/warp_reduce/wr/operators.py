"""The names of the operators on the command line."""

from __future__ import annotations

from .._elements import F64, I64, U64, ElementType
from .._operators import OPERATORS, default_output
from .errors import UsageError

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

# Of integers they are given in 64 bits.
WIDENED = ("sum", "product", "sum_of_squares", "norm_l1", "norm_max")

WEIGHTED = ("sum", "sum_exact")


def operator_named(name: str) -> str:
    plain = name.replace("-", "_")
    operator = ALIASES.get(plain, plain)
    if operator not in OPERATORS:
        raise UsageError(f"'{name}' is no operator; choose from {', '.join(OPERATORS)}")
    return operator


def output_of_command(operator: str, element: ElementType, weights: ElementType | None = None) -> ElementType:
    """The result's type where the command line asks for none: integers are added in 64 bits, as in NumPy."""
    if element.kind != "integer":
        return default_output(operator, element, weights)
    if operator in ("mean", "norm_l2"):
        return F64
    if operator in WIDENED:
        return I64 if element.is_signed and operator in ("sum", "product") else U64
    return default_output(operator, element)
