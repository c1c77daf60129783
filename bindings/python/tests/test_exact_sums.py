"""sum and dot with exact=True are the exact results, rounded once, whatever the order."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import warp_reduce

FLOATS = (np.float16, np.float32, np.float64)


def wide(random: np.random.Generator, shape: tuple[int, ...], dtype: type) -> np.ndarray:
    scale = 2.0 ** random.integers(-8, 8, shape) if dtype is np.float16 else 2.0 ** random.integers(-60, 60, shape)
    return (random.standard_normal(shape) * scale).astype(dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_sums_are_those_of_fsum(dtype: type) -> None:
    random = np.random.default_rng(1)
    x = wide(random, (40, 37), dtype)
    expected = np.array([math.fsum(row) for row in x.astype(np.float64)])
    # fsum has rounded to f64: of f32, and of f16 all the more, its result is then far from the middle of two numbers.
    np.testing.assert_array_equal(warp_reduce.sum(x, axis=1, exact=True), expected.astype(dtype))
    np.testing.assert_array_equal(warp_reduce.sum(x[:, ::-1], axis=1, exact=True), expected.astype(dtype))
    assert warp_reduce.sum(x, exact=True, dtype=np.float64) == math.fsum(x.astype(np.float64).ravel())


@pytest.mark.parametrize("dtype", FLOATS)
def test_dots_are_those_of_fractions(dtype: type) -> None:
    random = np.random.default_rng(2)
    x, y = wide(random, (20, 31), dtype), wide(random, (31,), dtype)
    expected = [float(sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(row, y))) for row in x]
    np.testing.assert_array_equal(warp_reduce.dot(x, y, dtype=np.float64, exact=True), expected)


def test_what_overflows_on_the_way_does_not() -> None:
    assert warp_reduce.sum(np.array([1e308, 1e308, -1e308]), exact=True) == 1e308
    assert warp_reduce.sum(np.array([1e16, 1.0, -1e16]), exact=True) == 1.0


def test_integers_are_exact_anyway() -> None:
    assert warp_reduce.sum(np.arange(5), exact=True) == 10
    assert warp_reduce.dot(np.arange(5), np.arange(5), exact=True) == 30


def test_elements_left_out_count_as_0() -> None:
    x, where = np.array([1.0, 2.0, 4.0]), np.array([True, False, True])
    assert warp_reduce.sum(x, where=where, exact=True) == 5.0
