"""Softmax, log-softmax and their gradients beside SciPy and the formulas, with every option and layout."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import scipy.special
import warp_reduce

SHAPE = (3, 5, 7)
AXES = (-1, 0, 1, 2, None, (0, 1), (1, 2), (0, 2))


def logits(dtype: type = np.float64, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    return (np.random.default_rng(3).standard_normal(shape) * 3).astype(dtype)


def same(ours: np.ndarray, theirs: np.ndarray) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=1e-14)


def layouts(x: np.ndarray) -> list[np.ndarray]:
    apart = np.repeat(x, 2, axis=-1)[..., ::2]
    return [x, np.asfortranarray(x), apart, x[:, ::-1].copy()[:, ::-1], np.broadcast_to(x, (2, *x.shape))[1]]


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=lambda each: each.__name__)
def test_every_axis_and_layout(dtype: type) -> None:
    tolerance = 1e-14 if dtype is np.float64 else 1e-6
    for x in layouts(logits(dtype)):
        for axis in AXES:
            ours = warp_reduce.softmax(x, axis)
            assert (ours.dtype, ours.shape) == (x.dtype, x.shape)
            np.testing.assert_allclose(ours, scipy.special.softmax(x.astype(np.float64), axis), rtol=tolerance)
            ours = warp_reduce.log_softmax(x, axis)
            theirs = scipy.special.log_softmax(x.astype(np.float64), axis)
            np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def test_narrow_floats_and_integers() -> None:
    for dtype in (np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn):
        x = logits(np.float32).astype(dtype)
        ours = warp_reduce.softmax(x)
        assert ours.dtype == x.dtype
        theirs = scipy.special.softmax(x.astype(np.float64), -1)
        rounding = float(ml_dtypes.finfo(dtype).eps) / 2
        smallest = float(ml_dtypes.finfo(dtype).smallest_subnormal)
        np.testing.assert_allclose(ours.astype(np.float64), theirs, rtol=rounding * 1.01, atol=smallest)
        wide = warp_reduce.softmax(x, dtype=np.float32)
        np.testing.assert_allclose(wide, theirs, rtol=1e-6)
    np.testing.assert_allclose(warp_reduce.softmax([1, 2, 3]), scipy.special.softmax([1.0, 2.0, 3.0]), rtol=1e-15)


def test_scale() -> None:
    x = logits()
    same(warp_reduce.softmax(x, scale=0.25), scipy.special.softmax(x * 0.25, -1))
    for scale in (0, np.nan, np.inf):
        with pytest.raises(ValueError, match="scale must be finite and not zero"):
            warp_reduce.softmax(x, scale=scale)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16], ids=lambda each: each.__name__)
def test_a_scale_for_each_row_gives_the_bits_of_calls_with_each(dtype: type) -> None:
    scales = np.array([[1.0, -0.5, 2.0, 0.3, 7.0], [0.25, 1.5, -3.0, 1e-3, 0.1], [-1.0, 1.0, 0.7, 11.0, 2.5]])
    for x in layouts(logits(dtype)):
        ours, logarithms = warp_reduce.softmax(x, scale=scales), warp_reduce.log_softmax(x, scale=scales)
        gradients = warp_reduce.softmax_backward(ours, x, scale=scales)
        for at in np.ndindex(3, 5):
            np.testing.assert_array_equal(ours[at], warp_reduce.softmax(x[at], scale=scales[at]))
            np.testing.assert_array_equal(logarithms[at], warp_reduce.log_softmax(x[at], scale=scales[at]))
            theirs = warp_reduce.softmax_backward(ours[at], x[at], scale=scales[at])
            np.testing.assert_array_equal(gradients[at], theirs)
        columns = warp_reduce.softmax(x, 0, scale=scales[0, :, None].astype(np.float32))
        for at in np.ndindex(5, 7):
            theirs = warp_reduce.softmax(x[:, at[0], at[1]], scale=float(np.float32(scales[0, at[0]])))
            np.testing.assert_array_equal(columns[:, at[0], at[1]], theirs)


def test_a_scale_for_each_row_that_is_none() -> None:
    x = logits(shape=(3, 7))
    ours = warp_reduce.softmax(x, scale=np.array([0, 2, np.nan]))
    np.testing.assert_array_equal(ours[0], warp_reduce.softmax(x[0]))
    np.testing.assert_array_equal(ours[1], warp_reduce.softmax(x[1], scale=2))
    assert np.isnan(ours[2]).all()
    np.testing.assert_array_equal(warp_reduce.softmax(x, scale=np.array([2])), warp_reduce.softmax(x, scale=2))
    with pytest.raises(ValueError, match="shape"):
        warp_reduce.softmax(x, scale=np.ones(2))


def left_out(x: np.ndarray, chosen: np.ndarray, axis: int = -1) -> np.ndarray:
    return scipy.special.softmax(np.where(chosen, x, -np.inf), axis)


def test_mask() -> None:
    x = logits()
    chosen = np.random.default_rng(4).integers(0, 2, SHAPE).astype(bool)
    chosen[:, 0], chosen[:, :, 0], chosen[0] = True, True, True
    for axis in (-1, 0, 1):
        for each in layouts(x):
            np.testing.assert_allclose(
                warp_reduce.softmax(each, axis, mask=chosen), left_out(x, chosen, axis), rtol=1e-14
            )
    same(warp_reduce.softmax(x, mask=chosen[1]), left_out(x, chosen[1]))
    with pytest.raises(TypeError, match="mask must be an array of bool"):
        warp_reduce.softmax(x, mask=chosen.astype(float))


def test_lengths() -> None:
    x = logits()
    lengths = np.array([[1, 2, 3, 4, 5], [7, 9, 1, 1, 1], [2, 2, 2, 2, 7]])
    chosen = np.arange(7) < lengths[..., None]
    np.testing.assert_allclose(
        warp_reduce.softmax(x, lengths=lengths.astype(np.int32)), left_out(x, chosen), rtol=1e-14
    )
    same(warp_reduce.softmax(x, lengths=3), left_out(x, np.arange(7) < 3))
    moved = np.ascontiguousarray(x.transpose(1, 0, 2)).transpose(1, 0, 2)  # which goes in the order of its memory
    for each in layouts(moved):
        same(warp_reduce.softmax(each, lengths=lengths), left_out(x, chosen))
        same(warp_reduce.softmax(each, lengths=lengths, mask=chosen), left_out(x, chosen))
    columns = np.arange(3)[:, None, None] < np.ones((5, 7), int)
    np.testing.assert_allclose(
        warp_reduce.softmax(x, 0, lengths=np.ones((5, 7), int)), left_out(x, columns, 0), rtol=1e-14
    )


def test_causal() -> None:
    x = logits(shape=(2, 4, 4))
    same(warp_reduce.softmax(x, causal=True), left_out(x, np.tri(4, dtype=bool)))
    wide = logits(shape=(2, 3, 5))
    chosen = np.tri(3, 5, 2, dtype=bool)
    same(warp_reduce.softmax(wide, causal=3), left_out(wide, chosen))
    np.testing.assert_allclose(
        warp_reduce.softmax(np.asfortranarray(wide), causal=3), left_out(wide, chosen), rtol=1e-14
    )
    for axis in (0, 1):
        with pytest.raises(ValueError, match="causal is for matrices of scores"):
            warp_reduce.softmax(x, axis, causal=True)


def test_out() -> None:
    x = logits()
    theirs = scipy.special.softmax(x, -1)
    for place in (np.empty(SHAPE), np.empty(SHAPE[::-1]).T, np.empty(SHAPE, np.float32)):
        assert warp_reduce.softmax(x, out=place) is place
        np.testing.assert_allclose(place, theirs, rtol=1e-6)
    own = x.copy()
    warp_reduce.softmax(own, out=own)
    np.testing.assert_allclose(own, theirs, rtol=1e-14)


def test_nothing_and_everything() -> None:
    assert warp_reduce.softmax(np.empty((3, 0))).shape == (3, 0)
    assert warp_reduce.softmax(np.empty((0, 3)), axis=0).shape == (0, 3)
    assert warp_reduce.softmax(3.0, axis=None) == 1
    assert np.isnan(warp_reduce.softmax(np.array([1.0, np.nan]))).all()
    assert np.isnan(warp_reduce.softmax(np.full(3, -np.inf))).all()


@pytest.mark.parametrize("axis", [-1, 0, 1, None, (0, 2)])
def test_gradients(axis: object) -> None:
    x, dy = logits(), logits()[::-1].copy()
    summed = tuple(range(3)) if axis is None else axis
    for y_layout, dy_layout in zip(layouts(scipy.special.softmax(x, axis)), layouts(dy)):
        theirs = y_layout * (dy_layout - (y_layout * dy_layout).sum(summed, keepdims=True))
        np.testing.assert_allclose(warp_reduce.softmax_backward(y_layout, dy_layout, axis), theirs, atol=1e-14)
    y = scipy.special.log_softmax(x, axis)
    theirs = dy - np.exp(y) * dy.sum(summed, keepdims=True)
    np.testing.assert_allclose(warp_reduce.log_softmax_backward(y, dy, axis), theirs, atol=1e-13)
    place = np.empty(SHAPE)
    assert warp_reduce.log_softmax_backward(y, dy, axis, out=place) is place
    np.testing.assert_allclose(place, theirs, atol=1e-13)


def test_gradients_with_options() -> None:
    x, dy = logits(shape=(4, 4)), logits(shape=(4, 4))[::-1].copy()
    y = warp_reduce.softmax(x, scale=0.5, causal=True)
    ours = warp_reduce.softmax_backward(y, dy, scale=0.5, causal=True)
    theirs = 0.5 * y * (dy - (y * dy).sum(-1, keepdims=True))
    np.testing.assert_allclose(ours, theirs, atol=1e-15)
    assert not ours[np.triu_indices(4, 1)].any()


def test_gradients_of_other_types() -> None:
    y = warp_reduce.softmax(logits(np.float32)).astype(ml_dtypes.bfloat16)
    dy = logits(np.float32)
    ours = warp_reduce.softmax_backward(y, dy, dtype=np.float32)
    wide = y.astype(np.float64)
    np.testing.assert_allclose(ours, wide * (dy - (wide * dy).sum(-1, keepdims=True)), atol=1e-6)
    with pytest.raises(ValueError, match="output_gradient has the shape"):
        warp_reduce.softmax_backward(y, dy[0])


def test_a_row_has_its_bits_in_any_batch() -> None:
    x = logits(np.float32, (64, 1000))
    whole = warp_reduce.softmax(x)
    for row in range(0, 64, 7):
        np.testing.assert_array_equal(warp_reduce.softmax(x[row]), whole[row])
