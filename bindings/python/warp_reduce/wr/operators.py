"""The names of the operators on the command line."""

from __future__ import annotations

from .._operators import OPERATORS
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


def operator_named(name: str) -> str:
    plain = name.replace("-", "_")
    operator = ALIASES.get(plain, plain)
    if operator not in OPERATORS:
        raise UsageError(f"'{name}' is no operator; choose from {', '.join(OPERATORS)}")
    return operator
