"""What every framework's arrays are held to: NumPy's bits, where they lie, as arrays of their own framework."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp_reduce

RANDOM = np.random.default_rng(8)
X = RANDOM.standard_normal((5, 40, 6)).astype(np.float32)
FUNCTIONS = (
    "sum",
    "mean",
    "prod",
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


def bits(x: Any) -> tuple[tuple[int, ...], bytes]:
    x = np.asarray(x.cpu() if hasattr(x, "cpu") else x.get() if hasattr(x, "get") else x)
    return x.shape, x.tobytes()


def check_all(module: Any, place: Any) -> None:
    """`place` puts a NumPy array where it shall lie."""
    for x in (X, X.transpose(2, 0, 1), X[::2, :, 3]):
        other = place(np.ascontiguousarray(x))
        views = [(x, other), (x.swapaxes(0, 1), other.swapaxes(0, 1))]
        for ours, theirs in views:
            for name in FUNCTIONS:
                for axis in (None, 0, -1):
                    result = getattr(warp_reduce, name)(theirs, axis=axis)
                    assert type(result) is type(theirs)
                    assert bits(result) == bits(getattr(warp_reduce, name)(ours, axis=axis)), (name, axis)
            for name in ("softmax", "log_softmax"):
                assert bits(getattr(warp_reduce, name)(theirs)) == bits(getattr(warp_reduce, name)(ours))
                dy, back = place(np.ascontiguousarray(ours[::-1])), getattr(warp_reduce, f"{name}_backward")
                assert bits(back(theirs, dy)) == bits(back(ours, ours[::-1]))
    flat, starts = X.reshape(-1), np.array([0, 7, 7, 500])
    segments = warp_reduce.segment_reduce("max", place(flat), place(starts))
    assert bits(segments) == bits(warp_reduce.segment_reduce("max", flat, starts))
    assert bits(warp_reduce.dot(place(flat), place(flat))) == bits(warp_reduce.dot(flat, flat))
    mask = place(X[0] > 0)
    assert bits(warp_reduce.sum(place(X), axis=0, where=mask)) == bits(warp_reduce.sum(X, axis=0, where=X[0] > 0))
    check_masked(place)
    assert bits(warp_reduce.softmax(place(X), mask=mask)) == bits(warp_reduce.softmax(X, mask=X[0] > 0))
    assert bits(warp_reduce.softmax(place(X), lengths=place(np.arange(40)))) == bits(
        warp_reduce.softmax(X, lengths=np.arange(40))
    )
    words = RANDOM.integers(0, 2**31 - 2**24, (9, 4), np.uint32)
    assert bits(warp_reduce.sum(place(words), dtype="koalabear_x4")) == bits(
        warp_reduce.sum(words, dtype="koalabear_x4")
    )
    assert bits(warp_reduce.sum(place(X), dtype="float64")) == bits(warp_reduce.sum(X, dtype="float64"))
    out = module.empty_like(place(X[0]))
    assert warp_reduce.sum(place(X), axis=0, out=out) is out
    assert bits(out) == bits(warp_reduce.sum(X, axis=0))


def check_masked(place: Any) -> None:
    """Elements of every size, with masks of the array's own shape, in other orders and broadcast."""
    chosen = RANDOM.random(X.shape) < 0.6
    for dtype in (np.uint8, np.int8, np.float16, np.int16, np.float32, np.uint32, np.float64, np.int64, np.bool_):
        x = (X * 3).astype(np.int64).astype(dtype)
        masks = (
            (x, chosen),
            (x.swapaxes(0, 1), chosen.swapaxes(0, 1)),
            (x, chosen[:, :1]),
            (x[:, ::2], chosen[0, ::2]),
        )
        for array, mask in masks:
            for name in ("sum", "min", "max", "prod", "any", "all", "count_nonzero"):
                function = getattr(warp_reduce, name)
                on_it = function(_placed(place, array), axis=1, where=_placed(place, mask))
                assert bits(on_it) == bits(function(array, axis=1, where=mask)), (name, dtype)
    nothing = np.zeros((3, 0), np.float32)
    assert bits(warp_reduce.sum(place(nothing), 1, where=place(nothing > 0))) == bits(np.zeros(3, np.float32))


def _placed(place: Any, x: np.ndarray) -> Any:
    """With the strides that x has in its own memory, where it is a view of axes the other way round."""
    return place(np.ascontiguousarray(x.swapaxes(0, 1))).swapaxes(0, 1) if not x.flags.c_contiguous else place(x)
