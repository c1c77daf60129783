"""Hypothesis looks for shapes, strides, types and axes with which a result is not NumPy's, or not the copy's bits."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import warp_reduce
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

TYPES = [np.float64, np.float32, np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn]
TYPES += [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.bool_]
FLOATS = TYPES[:6]
NAMES = ["sum", "prod", "mean", "min", "max", "argmin", "argmax", "any", "all", "count_nonzero", "norm", "logsumexp"]
QUICK = settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def views(draw: st.DrawFn, types: list[type] = TYPES, least: int = 0) -> np.ndarray:
    """An array whose memory lies in any order, with steps, backwards, or broadcast."""
    dtype = draw(st.sampled_from(types))
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=5, min_side=least, max_side=6))
    order = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from([1, 1, 1, 2, 3, -1, -2])) for _ in shape]
    memory = np.empty([length * abs(step) for length, step in zip(shape, steps)])
    memory = draw(st.randoms(use_true_random=False)).randbytes(memory.size)
    values = (np.frombuffer(memory, np.uint8) % 9).astype(np.int64)
    if dtype is np.bool_:
        values //= 5
    elif not np.issubdtype(dtype, np.unsignedinteger):
        values -= 4
    base = values.astype(dtype).reshape([shape[d] * abs(steps[d]) for d in order])
    view = base.transpose(np.argsort(order))[tuple(slice(None, None, step) for step in steps)]
    if draw(st.booleans()):
        widths = [draw(st.integers(1, 3)) if length == 1 else length for length in view.shape]
        view = np.broadcast_to(view, widths)
    return view


def axes_of(x: np.ndarray) -> st.SearchStrategy:
    rank = x.ndim
    several = st.lists(st.integers(0, rank - 1), unique=True, max_size=rank).map(tuple)
    return st.one_of(st.none(), st.integers(-rank, rank - 1), several)


def bits(x: object) -> tuple[np.dtype, tuple[int, ...], bytes]:
    x = np.asarray(x)
    return x.dtype, x.shape, x.tobytes()


@QUICK
@given(st.data())
def test_a_view_has_the_bits_of_its_copy(data: st.DataObject) -> None:
    x = data.draw(views(least=1))
    axis, keepdims = data.draw(axes_of(x)), data.draw(st.booleans())
    name = data.draw(
        st.sampled_from(
            [
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
            ]
        )
    )
    function = getattr(warp_reduce, name)
    copy = np.array(x, order="C")
    expected = function(copy, axis=axis, keepdims=keepdims)
    assert bits(function(x, axis=axis, keepdims=keepdims)) == bits(expected)
    out = np.empty(np.shape(expected), np.asarray(expected).dtype)
    function(x, axis=axis, keepdims=keepdims, out=out)
    assert bits(out) == bits(expected)


@QUICK
@given(st.data())
def test_exact_results_are_numpys(data: st.DataObject) -> None:
    types = [np.float64, np.float32, *TYPES[6:]]
    x = data.draw(views(types))
    axis, keepdims = data.draw(axes_of(x)), data.draw(st.booleans())
    name = data.draw(st.sampled_from(["sum", "min", "max", "any", "all"]))
    try:
        expected = getattr(np, name)(x, axis=axis, keepdims=keepdims)
    except ValueError:  # extremes of nothing
        expected = None
    try:
        ours = getattr(warp_reduce, name)(x, axis=axis, keepdims=keepdims)
    except ValueError:
        ours = None
    assert (ours is None) == (expected is None)
    if expected is not None:
        assert np.asarray(ours).dtype == np.asarray(expected).dtype
        assert np.shape(ours) == np.shape(expected)
        np.testing.assert_array_equal(ours, expected)


@QUICK
@given(st.data())
def test_where_is_the_reduction_of_what_is_chosen(data: st.DataObject) -> None:
    x = data.draw(views([np.float64, np.float32, np.int32, np.uint8], least=1))
    chosen = data.draw(
        hnp.arrays(
            np.bool_,
            hnp.broadcastable_shapes(x.shape, max_dims=x.ndim).filter(
                lambda shape: np.broadcast_shapes(shape, x.shape) == x.shape
            ),
        )
    )
    axis = data.draw(st.integers(0, x.ndim - 1))
    name = data.draw(st.sampled_from(["sum", "prod", "any", "all", "count_nonzero"]))
    expected = (
        np.count_nonzero(np.where(chosen, x, 0), axis)
        if name == "count_nonzero"
        else getattr(np, name)(x, axis=axis, where=chosen)
    )
    np.testing.assert_array_equal(getattr(warp_reduce, name)(x, axis=axis, where=chosen), expected)


@QUICK
@given(st.data())
def test_softmax_of_a_view_has_the_bits_of_its_copy(data: st.DataObject) -> None:
    x = data.draw(views(FLOATS))
    axis = data.draw(axes_of(x))
    options = {"scale": data.draw(st.sampled_from([1.0, 0.5, -2.0]))}
    if data.draw(st.booleans()):
        options["mask"] = data.draw(hnp.arrays(np.bool_, x.shape))
    name = data.draw(st.sampled_from(["softmax", "log_softmax"]))
    function, backward = getattr(warp_reduce, name), getattr(warp_reduce, f"{name}_backward")
    copy = np.array(x, order="C")
    expected = function(copy, axis, **options)
    assert bits(function(x, axis, **options)) == bits(expected)
    assert bits(backward(x, x[::-1], axis, **options)) == bits(backward(copy, copy[::-1], axis, **options))
    if x.size and axis is not None and not isinstance(axis, tuple):
        rows, results = np.moveaxis(copy, axis, -1), np.moveaxis(expected, axis, -1)
        chosen = np.moveaxis(options["mask"], axis, -1) if "mask" in options else np.ones(rows.shape, bool)
        first = (0,) * (x.ndim - 1)
        alone = function(np.ascontiguousarray(rows[first]), mask=chosen[first], scale=options["scale"])
        assert bits(alone) == bits(results[first])
