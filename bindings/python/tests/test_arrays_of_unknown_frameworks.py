"""Arrays of a framework that is not known are lent to one that is, without a copy."""

from __future__ import annotations

import importlib.util
import weakref
from typing import Any

import numpy as np
import pytest
import warp_reduce
from framework_arrays import X, bits

VERSIONED = np.lib.NumpyVersion(np.__version__) >= "2.1.0"


class Lent:
    """An array of a framework that nobody knows."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __dlpack__(self, **options: Any) -> Any:
        return self.x.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.x.__dlpack_device__()


class Old(Lent):
    """Of the time before DLPack had versions: it knows no other capsules, and is not asked for them twice."""

    def __dlpack__(self, stream: Any = None) -> Any:
        return self.x.__dlpack__()


def test_an_unknown_framework_on_the_cpu() -> None:
    assert bits(warp_reduce.sum(Lent(X), axis=1)) == bits(warp_reduce.sum(X, axis=1))


def test_capsules_of_every_kind() -> None:
    """Old ones, versioned ones, and versioned ones that say that they are read-only."""
    locked = X.copy()
    locked.flags.writeable = False
    for x in (Old(X), Lent(X), Lent(X[:, ::3]), Lent(X[::-1].T), *([Lent(locked)] if VERSIONED else [])):
        for function in (warp_reduce.sum, warp_reduce.argmax, warp_reduce.softmax):
            assert bits(function(x, axis=1)) == bits(function(x.x, axis=1))
    if VERSIONED:
        with pytest.raises(TypeError, match="out must be an array"):
            warp_reduce.sum(X, axis=1, out=Lent(locked[:, 0]))
    assert bits(locked) == bits(X)


def test_a_capsule_is_given_back() -> None:
    class Counting(Lent):
        given: list[Any] = []

        def __dlpack__(self, **options: Any) -> Any:
            array = self.x.copy()
            self.given.append(weakref.ref(array))
            return array.__dlpack__(**options)

    lender = Counting(X)
    for _ in range(3):
        assert bits(warp_reduce.softmax(lender)) == bits(warp_reduce.softmax(X))
        with pytest.raises(ValueError, match="axis"):
            warp_reduce.sum(lender, axis=9)
    assert len(lender.given) == 6 and all(each() is None for each in lender.given)


def test_an_unknown_framework_on_a_gpu() -> None:
    class Array:
        __cuda_array_interface__ = {"shape": (2,), "typestr": "<f4", "data": (4096, False), "version": 3}

    if any(importlib.util.find_spec(name) for name in ("cupy", "torch")):
        pytest.skip("CuPy or PyTorch is here and would take it")
    with pytest.raises(TypeError, match="need CuPy or PyTorch"):
        warp_reduce.sum(Array())
