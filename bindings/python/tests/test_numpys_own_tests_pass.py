"""NumPy's own tests of reductions, as they are installed, with this package's functions in the place of NumPy's.

Left out are those of what this package has not, as docs/python.md says: objects, complex numbers, dates, structures,
masked arrays, `initial`, warnings.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import warp_reduce as wr

OURS = {name: getattr(wr, name) for name in ("sum", "prod", "mean", "min", "max", "any", "all", "argmin", "argmax")}
OURS |= {"count_nonzero": wr.count_nonzero, "amin": wr.min, "amax": wr.max}

TESTS = {
    "test_ufunc": {
        "TestUfunc": (
            *("test_broadcast", "test_type_cast", "test_endian", "test_incontiguous_array", "test_output_argument"),
            *("test_axis_argument", "test_keepdims_argument", "test_innerwt", "test_innerwt_empty", "test_where_warns"),
            *("test_euclidean_pdist", "test_at_negative_indexes", "test_structured_equal"),
        ),
    },
    "test_numeric": {
        "TestNonarrayArgs": ("test_count_nonzero", "test_prod", "test_sum", "test_std_with_mean_keyword_axis_None"),
        "TestBoolArray": ("test_all_any",),
        "TestNonzero": (
            *("test_nonzero_trivial", "test_nonzero_onedim", "test_nonzero_twodim", "test_return_type"),
            *("test_count_nonzero_axis", "test_countnonzero_axis_empty", "test_countnonzero_keepdims"),
            *("test_nonzero_byteorder", "test_count_nonzero_non_aligned_array"),
        ),
        "TestRollaxis": ("test_results",),
    },
    "test_multiarray": {
        "TestBool": ("test_count_nonzero_unaligned",),
        "TestMethods": ("test_all_where", "test_any_where"),
        "TestArgmaxArgminCommon": ("test_np_argmin_argmax_keepdims",),
        "TestArgmax": ("test_combinations", "test_maximum_signed_integers"),
        "TestArgmin": ("test_combinations", "test_minimum_signed_integers"),
        "TestMinMax": ("test_scalar", "test_axis"),
        "TestStats": ("test_mean_values",),
        "TestClip": ("test_max_or_min",),
        "TestWritebackIfCopy": ("test_argmax_with_out", "test_argmin_with_out"),
    },
}
NAMED = [(file, group, name) for file, groups in TESTS.items() for group, names in groups.items() for name in names]


class Counted:
    """How often this package's functions were called."""

    def __init__(self) -> None:
        self.calls = 0
        self.functions = {name: self._counted(function) for name, function in OURS.items()}

    def _counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            self.calls += 1
            return function(*arguments, **options)

        return call


def parameters(test: Any) -> list[dict[str, Any]]:
    """What pytest would call it with, with our functions for NumPy's."""
    sets: list[list[dict[str, Any]]] = []
    for mark in getattr(test, "pytestmark", ()):
        if mark.name != "parametrize":
            continue
        given, several = mark.args
        names = [each.strip() for each in given.split(",")] if isinstance(given, str) else given
        rows = [getattr(each, "values", each if len(names) > 1 else (each,)) for each in several]
        sets.append([dict(zip(names, row)) for row in rows])
    return [{name: value for each in chosen for name, value in each.items()} for chosen in itertools.product(*sets)]


def taken(values: dict[str, Any]) -> bool:
    """Whether this package has the types."""
    arrays = [each[0] for each in values.values() if isinstance(each, tuple) and each and isinstance(each[0], list)]
    return all(np.asarray(each).dtype.kind in "bifu" for each in arrays)


@pytest.mark.parametrize(("file", "group", "name"), NAMED)
def test_numpys(file: str, group: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        module = importlib.import_module(f"numpy._core.tests.{file}")
        test = getattr(getattr(module, group), name)
    except (ImportError, AttributeError):
        pytest.skip("this NumPy has it not")
    counted = Counted()
    ours = types.ModuleType("numpy")
    vars(ours).update({**vars(np), **counted.functions, "__getattr__": lambda name: getattr(np, name)})
    monkeypatch.setattr(module, "np", ours)
    runs = [values for values in parameters(test) if taken(values)]
    assert runs
    for values in runs:
        values = {key: counted.functions.get(getattr(each, "__name__", ""), each) for key, each in values.items()}
        arguments = {key: each for key, each in values.items() if key in inspect.signature(test).parameters}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            instance = getattr(module, group)()
            getattr(instance, "setup_method", lambda: None)()
            getattr(instance, name)(**arguments)
    assert counted.calls, "it called none of our functions"


def test_they_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OURS, "argmax", wr.argmin)
    with pytest.raises(AssertionError):
        test_numpys("test_multiarray", "TestArgmax", "test_combinations", monkeypatch)


def test_nearly_all_were_found() -> None:
    if np.lib.NumpyVersion(np.__version__) < "2.0.0":
        pytest.skip("NumPy 1 has its tests elsewhere")
    there = 0
    for file, group, name in NAMED:
        module = importlib.import_module(f"numpy._core.tests.{file}")
        there += hasattr(getattr(module, group, None), name)
    assert there > 0.8 * len(NAMED)
