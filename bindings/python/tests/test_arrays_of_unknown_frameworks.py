"""Arrays of a framework that is not known are lent to one that is, without a copy."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest
import warp_reduce
from framework_arrays import X, bits


class Lent:
    """An array of a framework that nobody knows."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __dlpack__(self, **options: Any) -> Any:
        return self.x.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.x.__dlpack_device__()


def test_an_unknown_framework_on_the_cpu() -> None:
    assert bits(warp_reduce.sum(Lent(X), axis=1)) == bits(warp_reduce.sum(X, axis=1))


def test_an_unknown_framework_on_a_gpu() -> None:
    class Array:
        __cuda_array_interface__ = {"shape": (2,), "typestr": "<f4", "data": (4096, False), "version": 3}

    if any(importlib.util.find_spec(name) for name in ("cupy", "torch")):
        pytest.skip("CuPy or PyTorch is here and would take it")
    with pytest.raises(TypeError, match="need CuPy or PyTorch"):
        warp_reduce.sum(Array())
