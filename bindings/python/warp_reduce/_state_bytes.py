"""States from their bytes (docs/states.md)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._arrays import NUMPY, Array, adopt
from ._elements import ELEMENT_TYPES
from ._errors import WarpReduceError, exception_of
from ._general import run
from ._library import StateMergeArgs, load_library
from ._operators import OPERATORS
from ._states import HEADER_BYTES, Reduction, State, empty_state, outputs_of, piece_of

_HEADER = struct.Struct("<8sII6i6Qd")
_MAGIC = b"WRSTATE\0"
_INVALID_STATE = 18

_BY_CODE = {each.code: each for each in ELEMENT_TYPES}
_BY_OP = {code: name for name, code in OPERATORS.items()}
_FUNCTIONS = {"product": "prod", "norm_l1": "norm", "norm_l2": "norm", "norm_max": "norm"}
_KIND = slice(28, 32)  # of the accumulators


def read_state(cls: type[State], data: Any, like: Array | None, shape: Sequence[int] | None) -> State:
    array = np.frombuffer(data, np.uint8).copy()
    if array.size < HEADER_BYTES or bytes(array[:8]) != _MAGIC:
        raise _refused(_INVALID_STATE)
    _, _, _, op, dtype, weights, _, ignore_nan, _, outer, inner, first, count, _, _, scale = _HEADER.unpack_from(
        bytes(array[:HEADER_BYTES])
    )
    if op not in _BY_OP or dtype not in _BY_CODE:
        raise _refused(_INVALID_STATE)
    try:
        reduction = _reduction(_BY_OP[op], dtype, weights, ignore_nan, outer, inner, scale, array)
        _check(reduction, first, count, array)
    except (WarpReduceError, TypeError, ValueError):  # the library has no such reduction, or not these bytes of it
        raise _refused(_INVALID_STATE) from None
    made = cls(reduction, *piece_of(reduction, first, count), _shape(shape, outer * inner), _placed(array, like))
    if like is not None:
        made._framework = adopt(like)[0]
    return made


def _refused(status: int) -> Exception:
    return exception_of(load_library(), status, "State.from_bytes")


def _placed(array: np.ndarray, like: Array | None) -> Array:
    if like is None:
        return array
    framework, like = adopt(like)
    return framework.beside(array, like)


def _shape(shape: Sequence[int] | None, results: int) -> tuple[int, ...]:
    if shape is None:
        return () if results == 1 else (results,)
    if int(np.prod(shape, dtype=object)) != results:
        raise ValueError(f"the state is of {results} results, which have not the shape {tuple(shape)}")
    return tuple(shape)


def _reduction(
    operator: str, dtype: int, weights: int, ignore_nan: int, outer: int, inner: int, scale: float, array: np.ndarray
) -> Reduction:
    """With the output that the state is for, which its accumulators tell."""
    function = _FUNCTIONS.get(operator, operator)
    if weights:
        function = {"sum": "dot", "sum_exact": "dot_exact"}.get(operator, operator)
    element = _BY_CODE[dtype]
    for output, accumulate in outputs_of(operator, element):
        found = Reduction(
            *(function, operator, (element, False), output, outer, inner),
            accumulate=accumulate,
            weights=weights,
            nan_mode=ignore_nan,
            scale=scale or (1.0 if operator == "logsumexp" else 0.0),
        )
        if bytes(empty_state(found, 0)[_KIND]) == bytes(array[_KIND]):
            return found
    raise _refused(_INVALID_STATE)


def _check(reduction: Reduction, first: int, count: int, array: np.ndarray) -> None:
    """By merging it with nothing, which tells whether it is whole."""
    nothing = empty_state(reduction, first + count)
    size = reduction.size(first, count)
    if size != array.size:
        raise _refused(_INVALID_STATE)
    merged = np.empty(size, np.uint8)
    args = StateMergeArgs(
        **reduction.fields(),
        **{"first": first, "count": count, "right_count": 0},
        **{"state": array.ctypes.data, "state_bytes": size},
        **{"right": nothing.ctypes.data, "right_bytes": nothing.size},
        **{"merged": merged.ctypes.data, "merged_bytes": size},
    )
    run(args, NUMPY, array, "State.from_bytes")
