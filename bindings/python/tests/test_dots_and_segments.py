"""Dot products beside NumPy's, ragged rows beside each row's own reduction."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import warp_reduce

RANDOM = np.random.default_rng(5)


def test_dot_of_vectors_and_rows() -> None:
    x, y = RANDOM.integers(-8, 9, (6, 40)) / 4, RANDOM.integers(-8, 9, 40) / 4
    for dtype in (np.float64, np.float32):
        rows, vector = x.astype(dtype), y.astype(dtype)
        for each in (rows, np.asfortranarray(rows), rows[::-1, ::-1].copy()[::-1, ::-1], rows.reshape(2, 3, 40)):
            ours = warp_reduce.dot(each, vector)
            assert ours.dtype == dtype
            np.testing.assert_array_equal(ours, np.dot(each, vector))
        np.testing.assert_array_equal(warp_reduce.dot(rows[0], vector[::-1]), np.dot(rows[0], vector[::-1]))
        assert isinstance(warp_reduce.dot(rows[0], vector), dtype)


def test_dot_of_integers_is_of_64_bits() -> None:
    x = np.full(1000, 100, np.int8)
    assert warp_reduce.dot(x, x) == 10_000_000
    assert warp_reduce.dot(x, x).dtype == np.int64
    assert warp_reduce.dot(x, x, dtype=np.int8) == np.dot(x, x)


def test_dot_of_two_types() -> None:
    x, y = np.array([1, 2, 3], np.int32), np.array([0.5, 0.25, 2.0], np.float32)
    ours = warp_reduce.dot(x, y)
    assert (ours, ours.dtype) == (7.0, np.result_type(x, y))
    half = np.array([0.5, 2.0], ml_dtypes.bfloat16)
    assert warp_reduce.dot(half, half, dtype=np.float32) == np.float32(4.25)


def test_dot_into_an_array() -> None:
    x, y = np.arange(6.0).reshape(2, 3), np.ones(3)
    out = np.empty(2)
    assert warp_reduce.dot(x, y, out=out) is out
    np.testing.assert_array_equal(out, [3, 12])


def test_dot_of_nothing_and_of_wrong_shapes() -> None:
    assert warp_reduce.dot(np.empty(0), np.empty(0)) == 0
    for x, y in ((np.ones(3), np.ones(4)), (np.ones((2, 3)), np.ones((3, 2))), (np.ones(()), np.ones(3))):
        with pytest.raises(ValueError, match=r"shapes|differ"):
            warp_reduce.dot(x, y)


OPERATORS = (
    "sum",
    "prod",
    "mean",
    "min",
    "max",
    "argmin",
    "argmax",
    "any",
    "all",
    "count_nonzero",
    "norm",
    "logsumexp",
)


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16, np.bool_], ids=lambda each: each.__name__)
def test_each_segment_has_the_bits_of_its_own_reduction(op: str, dtype: type) -> None:
    x = (RANDOM.integers(-3, 4, 300)).astype(dtype)
    offsets = np.array([2, 5, 6, 100, 101, 300])
    for each in (x, np.repeat(x, 2)[::2]):
        for starts in (offsets, offsets.astype(np.int32), offsets.astype(np.uint16), list(offsets)):
            ours = warp_reduce.segment_reduce(op, each, starts)
            theirs = [getattr(warp_reduce, op)(x[a:b]) for a, b in zip(offsets, offsets[1:])]
            assert ours.dtype == np.asarray(theirs).dtype
            np.testing.assert_array_equal(ours, theirs)


def test_empty_segments() -> None:
    x, offsets = np.array([1.0, 2.0]), [0, 0, 2]
    expected = {"sum": 0, "prod": 1, "mean": np.nan, "min": np.inf, "max": -np.inf, "argmin": -1, "argmax": -1}
    expected.update({"any": False, "all": True, "count_nonzero": 0, "norm": 0, "logsumexp": -np.inf})
    for op in OPERATORS:
        np.testing.assert_array_equal(warp_reduce.segment_reduce(op, x, offsets)[0], expected[op])
    assert warp_reduce.segment_reduce("sum", np.empty(0), [0, 0, 0]).tolist() == [0, 0]
    assert warp_reduce.segment_reduce("sum", x, [0]).shape == (0,)


def test_wrong_segments() -> None:
    x = np.ones(4)
    for offsets in ([0, 3, 2], [-1, 2], [0, 5]):
        with pytest.raises(ValueError, match="offset"):
            warp_reduce.segment_reduce("sum", x, offsets)
    with pytest.raises(ValueError, match="without elements"):
        warp_reduce.segment_reduce("sum", np.empty(0), [0, 2])
    with pytest.raises(ValueError, match="no operator of segments; choose from sum"):
        warp_reduce.segment_reduce("median", x, [0, 4])
    with pytest.raises(ValueError, match=r"give x\.reshape"):
        warp_reduce.segment_reduce("sum", x.reshape(2, 2), [0, 4])
    with pytest.raises(TypeError, match="offsets must be integers"):
        warp_reduce.segment_reduce("sum", x, [0.0, 4.0])
    with pytest.raises(ValueError, match="offsets has one dimension"):
        warp_reduce.segment_reduce("sum", x, [])


def test_segments_into_an_array() -> None:
    out = np.empty(2, np.float32)
    assert warp_reduce.segment_reduce("sum", np.arange(4.0, dtype=np.float32), [0, 1, 4], out=out) is out
    np.testing.assert_array_equal(out, [0, 6])


def test_products_that_are_minus_zero_sum_to_it() -> None:
    """Whatever the length, as a sum of -0 is -0, and so it is in softmax's gradients: dy - (sum of y * dy) is +0."""
    for dtype in (np.float32, np.float64, np.float16):
        for n in (1, 7, 40, 300, 513, 1000, 1025, 5000, 100_000):
            y, minus_zeros = np.full((2, n), 0.5, dtype), np.full((2, n), -0.0, dtype)
            assert np.signbit(warp_reduce.dot(y, minus_zeros[0])).all(), (dtype, n)
            assert not np.signbit(warp_reduce.softmax_backward(y, minus_zeros)).any(), (dtype, n)
            assert not np.signbit(warp_reduce.softmax_backward(y.T, minus_zeros.T, 0)).any(), (dtype, n)
