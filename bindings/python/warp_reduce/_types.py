"""Element types by what programs call them: NumPy's and ml_dtypes' dtypes, other frameworks' by their names."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._elements import BY_NAME, ELEMENT_TYPES, FIELDS, U8, ElementType

# Types that NumPy has from ml_dtypes, and PyTorch and JAX of their own, by the one name that all have for them.
OTHER_NAMES = {"bfloat16": BY_NAME["bf16"], "float8_e4m3fn": BY_NAME["f8_e4m3"], "float8_e5m2": BY_NAME["f8_e5m2"]}
NAMES = {each.alias: each for each in ELEMENT_TYPES if each.alias} | OTHER_NAMES

_OWN = {each.storage: each for each in ELEMENT_TYPES if each.alias and each.alias not in OTHER_NAMES}
_PYTHON = {float: "float64", int: "int64", bool: "bool"}

# The same by dtype, for `_native`: filled as arrays of them are met, which imports nothing.
other_types: dict[np.dtype, int] = {}

Kind = tuple[ElementType, bool]  # and whether it is a truth value, stored as u8


def numpy_kind(dtype: np.dtype) -> Kind:
    """TypeError where the library has no such type."""
    if dtype.kind == "b":
        return U8, True
    own = _OWN.get(dtype.newbyteorder("="))
    if own:
        return own, False
    if dtype.name in OTHER_NAMES:
        element = OTHER_NAMES[dtype.name]
        other_types[dtype] = element.code
        return element, False
    raise TypeError(f"arrays of {dtype} are not taken; convert it to one of {', '.join(NAMES)} or bool")


def numpy_dtype(kind: Kind) -> np.dtype:
    """ImportError where the type is ml_dtypes' and that is not installed."""
    element, is_bool = kind
    if is_bool:
        return np.dtype(np.bool_)
    for name, other in OTHER_NAMES.items():
        if other is element:
            import ml_dtypes

            return np.dtype(getattr(ml_dtypes, name))
    return np.dtype(element.alias) if element.alias else element.word


def kind_named(dtype: Any) -> Kind:
    """What the argument `dtype` means: a dtype of any framework, its name, or Python's float, int, bool."""
    name = _PYTHON.get(dtype) if isinstance(dtype, type) else None
    name = name or (dtype if isinstance(dtype, str) else str(dtype).rpartition(".")[2])
    if name in NAMES:
        return NAMES[name], False
    if name in BY_NAME:
        return BY_NAME[name], False
    if name == "bool":
        return U8, True
    try:
        return numpy_kind(np.dtype(dtype))
    except TypeError:
        known = ", ".join([*NAMES, "bool", *FIELDS])
        raise TypeError(f"{dtype!r} is no element type of this library; choose from {known}") from None


def field_named(dtype: Any) -> ElementType | None:
    """The prime field that `dtype` says the array's words are of."""
    return FIELDS.get(dtype) if isinstance(dtype, str) else None
