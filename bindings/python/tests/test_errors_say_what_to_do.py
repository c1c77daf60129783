"""A wrong argument is the exception that NumPy's users expect, with words that help; nothing is written before."""

from __future__ import annotations

import numpy as np
import pytest
import warp_reduce

X = np.arange(6.0).reshape(2, 3)


def test_axes() -> None:
    for axis in (2, -3, (0, 2)):
        for function in (warp_reduce.sum, warp_reduce.argmax, warp_reduce.softmax):
            with pytest.raises(ValueError, match="axis .* is out of bounds for array of dimension 2"):
                function(X, axis=axis)
            with pytest.raises(IndexError):  # NumPy's AxisError is both
                function(X, axis=axis)
    with pytest.raises(ValueError, match="duplicate value in 'axis'"):
        warp_reduce.sum(X, axis=(0, -2))
    for axis in (1.0, "0", [0]):
        with pytest.raises(TypeError):
            warp_reduce.sum(X, axis=axis)


def test_element_types() -> None:
    for x in (X.astype(complex), X.astype(object), np.array(["a"]), X.astype("datetime64[s]"), X.astype(np.longdouble)):
        for function in (warp_reduce.sum, warp_reduce.softmax):
            with pytest.raises(TypeError, match=r"are not taken; convert it to one of float32, float64"):
                function(x)
    for dtype in ("float99", complex, "U3"):
        with pytest.raises(TypeError, match=r"no element type of this library; choose from float32"):
            warp_reduce.sum(X, dtype=dtype)
    with pytest.raises(TypeError, match="softmax"):
        warp_reduce.softmax(X, dtype=np.int32)


def test_outputs() -> None:
    for function in (warp_reduce.sum, warp_reduce.softmax):
        with pytest.raises(ValueError, match=r"out has the shape \(5,\)"):
            function(X, axis=1, out=np.empty(5))
        with pytest.raises(TypeError, match="out must be an array of the input"):
            function(X, axis=1, out=[0.0, 0.0])
    locked = np.zeros(2)
    locked.flags.writeable = False
    with pytest.raises(ValueError, match="out is read-only"):
        warp_reduce.sum(X, axis=1, out=locked)
    assert not locked.any()
    with pytest.raises(TypeError, match="cannot be stored in an array of int64"):
        warp_reduce.mean(X, axis=1, out=np.empty(2, np.int64))


def test_truth_values_and_bytes_are_two_types() -> None:
    numbers = np.array([[7, 2], [3, 9]], np.uint8)
    with pytest.raises(TypeError, match="cannot be stored in an array of bool"):
        warp_reduce.max(numbers, axis=1, out=np.empty(2, bool))
    flags = np.empty(2, np.uint8)
    assert warp_reduce.any(numbers, axis=1, out=flags).tolist() == [1, 1]


def test_where() -> None:
    with pytest.raises(TypeError, match="where must be an array of bool"):
        warp_reduce.sum(X, where=np.ones(3))
    with pytest.raises(ValueError):
        warp_reduce.sum(X, where=np.ones(4, bool))


def test_masked_arrays_are_not_taken_for_plain_ones() -> None:
    with pytest.raises(TypeError, match=r"where=~x\.mask"):
        warp_reduce.sum(np.ma.masked_array([1.0, 2.0], [True, False]))


def test_read_only_inputs_are_fine() -> None:
    x = X.copy()
    x.flags.writeable = False
    assert warp_reduce.sum(x) == 15
    assert warp_reduce.softmax(x).shape == (2, 3)
