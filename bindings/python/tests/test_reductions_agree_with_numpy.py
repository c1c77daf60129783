"""Every reduction gives what NumPy's function of that name gives: types, shapes, axes, keepdims, out, where."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest
import scipy.special
import warp_reduce

FLOATS = (np.float64, np.float32, np.float16)
INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
SHAPE = (4, 5, 6)
AXES = (None, 0, 1, 2, -1, (0, 1), (1, 2), (0, 2), (2, 0), (0, 1, 2), ())


def array(dtype: type, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    random = np.random.default_rng(1)
    if dtype is np.bool_:
        return random.integers(0, 2, shape).astype(bool)
    if np.issubdtype(dtype, np.integer):
        low = 0 if np.issubdtype(dtype, np.unsignedinteger) else -100
        return random.integers(low, 100, shape).astype(dtype)
    return random.integers(-8, 9, shape).astype(dtype) / dtype(4)  # whose sums are exact in any order


def layouts(x: np.ndarray) -> dict[str, np.ndarray]:
    """The same values in other orders of memory."""
    apart = np.repeat(np.repeat(x, 2, axis=0), 3, axis=2)[::2, :, ::3]
    backwards = x[::-1, :, ::-1].copy()[::-1, :, ::-1]
    moved = np.ascontiguousarray(x.transpose(2, 0, 1)).transpose(1, 2, 0)
    return {"C": x, "Fortran": np.asfortranarray(x), "apart": apart, "backwards": backwards, "moved": moved}


def same(ours: object, theirs: object) -> None:
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, np.bool_], ids=lambda each: each.__name__)
@pytest.mark.parametrize("name", ["sum", "mean", "min", "max", "any", "all"])
def test_reduction(name: str, dtype: type) -> None:
    for (place, x), axis, keepdims in itertools.product(layouts(array(dtype)).items(), AXES, (False, True)):
        theirs = getattr(np, name)(x, axis=axis, keepdims=keepdims)
        if name == "mean" and np.issubdtype(x.dtype, np.inexact):  # which NumPy rounds otherwise
            theirs = np.asarray(np.mean(x.astype(np.float64), axis=axis, keepdims=keepdims)).astype(dtype)[()]
        same(getattr(warp_reduce, name)(x, axis=axis, keepdims=keepdims), theirs), (place, axis)


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.uint8, np.bool_], ids=lambda each: each.__name__)
def test_prod(dtype: type) -> None:
    x = np.where(array(dtype) == 0, dtype(1), dtype(2)).astype(dtype)
    for axis in AXES:
        same(warp_reduce.prod(x, axis=axis), np.prod(x, axis=axis))


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, np.bool_], ids=lambda each: each.__name__)
@pytest.mark.parametrize("name", ["argmin", "argmax"])
def test_index(name: str, dtype: type) -> None:
    for x, axis, keepdims in itertools.product(layouts(array(dtype)).values(), (None, 0, 1, -1), (False, True)):
        same(getattr(warp_reduce, name)(x, axis, keepdims=keepdims), getattr(np, name)(x, axis, keepdims=keepdims))


def test_the_index_in_several_axes_counts_in_row_major_order() -> None:
    x = array(np.float32)
    same(warp_reduce.argmax(x, axis=(0, 2)), x.transpose(1, 0, 2).reshape(5, -1).argmax(axis=1))


def test_count_nonzero() -> None:
    for dtype, axis in itertools.product((*FLOATS, *INTEGERS, np.bool_), AXES):
        x = array(dtype)
        same(warp_reduce.count_nonzero(x, axis), np.asarray(np.count_nonzero(x, axis), np.int64))


@pytest.mark.parametrize("order", [1, 2, np.inf])
def test_norm(order: float) -> None:
    for dtype, axis in itertools.product((np.float64, np.int32, np.uint8), (0, 1, -1)):
        x = array(dtype)
        ours = warp_reduce.norm(x, axis=axis, ord=order)
        assert ours.dtype == np.float64
        np.testing.assert_allclose(ours, np.linalg.norm(x, axis=axis, ord=order), rtol=1e-15)
    with pytest.raises(ValueError, match="ord must be 1, 2 or infinity"):
        warp_reduce.norm(array(np.float64), ord=3)


def test_logsumexp() -> None:
    for dtype, axis in itertools.product((np.float64, np.float32, np.int16), AXES):
        x = array(dtype)
        theirs = scipy.special.logsumexp(x.astype(np.float64), axis=axis if axis != () else None)
        if axis == ():
            theirs = x.astype(np.float64)
        np.testing.assert_allclose(warp_reduce.logsumexp(x, axis), theirs, rtol=1e-6)


def test_floats_of_ml_dtypes() -> None:
    for dtype in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2):
        x = np.array([[0.5, 1.5, -1.0], [2.0, 0.0, 8.0]], dtype)
        for name in ("sum", "min", "max"):
            result = getattr(warp_reduce, name)(x, axis=1)
            assert result.dtype == x.dtype
            np.testing.assert_array_equal(
                result.astype(np.float32), getattr(np, name)(x.astype(np.float32), axis=1).astype(dtype).astype("f4")
            )
        same(warp_reduce.argmax(x, axis=0), np.array([1, 0, 1]))
        same(warp_reduce.sum(x, dtype=np.float32), np.float32(11))


def test_dtype_is_the_results() -> None:
    x = array(np.float32)
    assert warp_reduce.sum(x, dtype=np.float64) == x.astype(np.float64).sum()
    same(warp_reduce.sum(array(np.int32), dtype=np.int8), np.sum(array(np.int32), dtype=np.int8))
    same(warp_reduce.sum(array(np.int32), dtype="float32"), np.float32(array(np.int32).sum()))
    same(warp_reduce.sum(np.array([1.7, 2.7]), dtype=int), np.sum(np.array([1.7, 2.7]), dtype=int))
    same(warp_reduce.mean(array(np.uint8), dtype=np.float32), np.float32(array(np.uint8).mean()))
    same(warp_reduce.sum(x, dtype="bfloat16"), ml_dtypes.bfloat16(x.sum()))


def test_a_result_of_f64_is_summed_in_f64() -> None:
    x = np.random.default_rng(10).standard_normal((40, 50)).astype(np.float32)
    wide = x.astype(np.float64)
    for name in ("sum", "mean"):
        expected = getattr(np, name)(wide, axis=1)
        place = np.empty(40)
        for ours in (
            getattr(warp_reduce, name)(x, axis=1, dtype=np.float64),  # in one step
            getattr(warp_reduce, name)(list(x), axis=1, dtype="f64"),  # the general way
            getattr(warp_reduce, name)(x, axis=1, out=place),
        ):
            np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-13)
    np.testing.assert_allclose(warp_reduce.norm(x, dtype=np.float64), np.linalg.norm(wide), rtol=1e-15)


def test_float_sums_go_in_row_major_order_whatever_the_memory() -> None:
    x = np.random.default_rng(11).standard_normal((30, 40, 50)).astype(np.float32)
    for view in (x.T, x.transpose(1, 0, 2), x[::-1, :, ::-1]):
        for axis in (None, (0, 1), (1, 2), (0, 2)):
            for function in (warp_reduce.sum, warp_reduce.mean, warp_reduce.logsumexp):
                same(function(view, axis=axis), function(view.copy("C"), axis=axis))


def test_sums_of_integers_do_not_wrap_in_their_type() -> None:
    same(warp_reduce.sum(np.full(1000, 127, np.int8)), np.int64(127000))
    same(warp_reduce.sum(np.full(1000, 255, np.uint8)), np.uint64(255000))
    same(warp_reduce.prod(np.full(9, 100, np.int16)), np.int64(10**18))


def test_out() -> None:
    x = array(np.float32)
    for place in (np.empty((4, 6), np.float32), np.empty((4, 6), np.float64), np.empty((6, 4), np.float32).T):
        assert warp_reduce.sum(x, axis=1, out=place) is place
        np.testing.assert_array_equal(place, x.sum(axis=1))
    flags = np.empty(4, bool)
    warp_reduce.any(x, axis=(1, 2), out=flags)
    assert flags.all()
    own = x.copy()
    warp_reduce.max(own, axis=0, out=own[1])
    np.testing.assert_array_equal(own[1], x.max(axis=0))


@pytest.mark.parametrize(
    "name", ["sum", "prod", "mean", "min", "max", "any", "all", "count_nonzero", "norm", "logsumexp"]
)
def test_where(name: str) -> None:
    x = array(np.float64) / 4
    chosen = np.random.default_rng(2).integers(0, 2, (5, 6)).astype(bool)
    chosen[0] = True
    ours = getattr(warp_reduce, name)(x, axis=1, where=chosen)
    rows = [[x[i, chosen[:, k], k] for k in range(6)] for i in range(4)]
    theirs = np.array([[getattr(warp_reduce, name)(row) for row in each] for each in rows])
    np.testing.assert_allclose(ours, theirs, rtol=1e-15)
    assert ours.dtype == theirs.dtype


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "min", "max", "any", "all", "argmin", "argmax"])
def test_arrays_without_dimensions(name: str) -> None:
    ours, theirs = getattr(warp_reduce, name), getattr(np, name)
    for x in (np.float32(3), np.array(-2), np.array(True), 2.5):
        for axis, keepdims in itertools.product((None, 0, -1), (False, True)):
            expected = theirs(
                x, axis=None if name == "mean" else axis, keepdims=keepdims
            )  # NumPy's mean has None alone
            same(ours(x, axis=axis, keepdims=keepdims), expected)
        for axis in (1, -2, (0,)):
            with pytest.raises(np.exceptions.AxisError):
                ours(x, axis=axis)
    out = np.zeros((), ours(np.float64(3)).dtype)
    assert ours(np.float64(3), axis=0, out=out) is out and out == theirs(np.float64(3))


def test_nothing_chosen() -> None:
    x, nothing = np.ones((2, 3)), np.zeros((2, 3), bool)
    assert warp_reduce.sum(x, where=nothing) == 0
    assert np.isnan(warp_reduce.mean(x, where=nothing))
    assert warp_reduce.min(x, where=nothing) == np.inf
    assert warp_reduce.max(np.ones(3, np.int8), where=nothing[0]) == -128
    assert warp_reduce.logsumexp(x, where=nothing) == -np.inf
    truths = np.array([True, False])
    assert warp_reduce.min(truths, where=nothing[0, :2]) and not warp_reduce.max(truths, where=nothing[0, :2])
    assert warp_reduce.min(truths[None].repeat(2, 0), 1, where=nothing[:, :2]).view(np.uint8).tolist() == [1, 1]


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int32, np.uint8, np.bool_], ids=lambda d: d.__name__)
def test_where_of_any_layout(dtype: type) -> None:
    """Views and masks that are broadcast, of fewer dimensions, backwards: as of a copy in which they are filled in."""
    for x in layouts(array(dtype)).values():
        random = np.random.default_rng(7).integers(0, 2, SHAPE).astype(bool)
        for chosen in (random, random[:1], random[0], random[:, :, :1], random[0, 0, ::-1], random[0, 0, 0], True):
            for axis in (None, 0, (0, 2), -1, ()):
                for name, empty in (("sum", 0), ("any", 0), ("all", 1), ("count_nonzero", 0), ("max", None)):
                    if empty is None:
                        empty = x.min()
                    filled = np.where(chosen, x, np.asarray(empty, x.dtype))
                    found = getattr(warp_reduce, name)(x, axis=axis, where=np.asarray(chosen))
                    if name == "max":
                        found = np.maximum(found, empty)
                    same(found, getattr(warp_reduce, name)(filled, axis=axis))


def test_empty_arrays() -> None:
    x = np.empty((0, 3))
    for name in ("sum", "prod", "any", "all", "count_nonzero"):
        for axis in (None, 0, 1):
            np.testing.assert_array_equal(getattr(warp_reduce, name)(x, axis), getattr(np, name)(x, axis))
    assert np.isnan(warp_reduce.mean(x, axis=0)).all()
    for name in ("min", "max", "argmin", "argmax"):
        assert getattr(warp_reduce, name)(x, axis=1).shape == (0,)
        for axis in (None, 0):
            with pytest.raises(ValueError, match="zero-size array|empty sequence"):
                getattr(warp_reduce, name)(x, axis=axis)


def test_numbers_and_lists() -> None:
    assert warp_reduce.sum(3.5) == 3.5
    assert warp_reduce.max([[1, 2], [7, 3]]) == 7
    assert isinstance(warp_reduce.sum(np.ones(3)), np.float64)
    assert warp_reduce.sum(np.float32(2.5), keepdims=True).shape == ()


def test_what_numpy_can_and_the_library_cannot_walk() -> None:
    """Another byte order, misaligned fields, strides that are no whole elements: copied first."""
    x = array(np.float64)
    packed = np.zeros(SHAPE, np.dtype([("tag", "u1"), ("value", "f8")]))
    packed["value"] = x
    for each in (
        x.astype(">f8"),
        packed["value"],
        np.frombuffer(b"x" + x.tobytes(), "u1")[1:].view("f8").reshape(SHAPE),
    ):
        same(warp_reduce.sum(each, axis=1), x.sum(axis=1))
        same(warp_reduce.softmax(each), warp_reduce.softmax(x))


def test_broadcast_views() -> None:
    row = array(np.float32, (6,))
    for x in (np.broadcast_to(row, (5, 6)), np.broadcast_to(row[:, None], (6, 5)), np.broadcast_to(row[:1], (4, 5))):
        for axis in (None, 0, 1):
            same(warp_reduce.sum(x, axis=axis), x.copy().sum(axis=axis))
            same(warp_reduce.argmax(x, axis=axis), x.copy().argmax(axis=axis))


def test_nan_and_zeros() -> None:
    x = np.array([1.0, np.nan, -np.inf, np.nan])
    assert np.isnan(warp_reduce.sum(x)) and np.isnan(warp_reduce.min(x)) and np.isnan(warp_reduce.norm(x))
    assert warp_reduce.argmin(x) == warp_reduce.argmax(x) == 1
    assert warp_reduce.any(x) and warp_reduce.count_nonzero(x) == 4
    assert np.isnan(warp_reduce.sum(np.array([np.inf, -np.inf])))
    assert np.signbit(warp_reduce.min(np.array([0.0, -0.0]))) and not np.signbit(warp_reduce.max(np.array([-0.0, 0.0])))
