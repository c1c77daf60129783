"""Softmax, its logarithm and their gradients."""

from __future__ import annotations

from typing import Any

from . import _native

Array = Any
Axis = Any


def has_rows(scale: Any) -> bool:
    """Whether it is an array of one scale for each row, and not a number."""
    return type(scale) is not float and bool(getattr(scale, "shape", ()))


def _softmax(
    log: bool, x: Array, axis: Axis, scale: Any, mask: Any, lengths: Any, causal: bool | int, dtype: Any, out: Any
) -> Any:
    if lengths is None and causal is False and dtype is None and not has_rows(scale):
        result = _native.softmax_simple(log, x, axis, scale, mask, out)
        if result is not NotImplemented:
            return result
    from ._rows import softmax as general

    return general(log, x, axis, dtype, out, scale, mask, lengths, causal)


def _backward(
    log: bool,
    output: Array,
    gradient: Array,
    axis: Axis,
    scale: Any,
    mask: Any,
    lengths: Any,
    causal: bool | int,
    dtype: Any,
    out: Any,
) -> Any:
    if mask is None and lengths is None and causal is False and dtype is None and not has_rows(scale):
        result = _native.softmax_backward_simple(log, output, gradient, axis, scale, out)
        if result is not NotImplemented:
            return result
    from ._rows import softmax_backward as general

    return general(log, output, gradient, axis, dtype, out, scale, mask, lengths, causal)


def softmax(
    x: Array,
    axis: Axis = -1,
    *,
    scale: float | Array = 1.0,
    mask: Array | None = None,
    lengths: Array | None = None,
    causal: bool | int = False,
    dtype: Any = None,
    out: Array | None = None,
) -> Any:
    """exp(scale * x) / sum of exp(scale * x) along an axis, in an array of x's shape.

    The same bits on every device, in every batch and layout.

    x: floats (f64, f32, f16, bfloat16, both float8); integers and bool become float64.
    axis: an integer, a tuple, or None for all.
    scale: multiplies each element first, in f32 (f64 for f64): the inverse of a temperature. Finite and not 0. An array
        of x's shape without the axis, or broadcast to it, has one for each row, with the bits of a call with that one;
        there 0 is taken for 1, and a row whose scale is not finite is NaN.
    mask: bool, broadcast to x: elements where it is False take no part, and give 0.
    lengths: integers of x's shape without the axis, or broadcast to it: how many leading elements of a row take part.
    causal: True: of a matrix of scores, along its last axis, row r sees its first r + 1 elements alone. An integer k
        other than a bool: row r sees its first r + k.
    dtype: the type of the result, any float type. out: an array of x's shape, which is filled and returned; may be x.

    A NaN or +infinity gives a row of NaN, -infinity gives 0. A row of -infinity alone, or of which nothing takes part,
    is NaN. Empty arrays give empty arrays.
    TypeError for types that are not taken, ValueError for a scale, axis or shape that cannot be.

    >>> import numpy as np, warp_reduce
    >>> warp_reduce.softmax(np.array([[0.0, 0.0], [0.0, -np.inf]]))
    array([[0.5, 0.5],
           [1. , 0. ]])
    >>> warp_reduce.softmax(np.zeros((3, 3), np.float32), causal=True)[1]
    array([0.5, 0.5, 0. ], dtype=float32)
    >>> warp_reduce.softmax(np.array([[0.0, 1.0], [0.0, 1.0]]), scale=np.array([np.log(3.0), -np.log(3.0)]))
    array([[0.25, 0.75],
           [0.75, 0.25]])
    """
    return _softmax(False, x, axis, scale, mask, lengths, causal, dtype, out)


def log_softmax(
    x: Array,
    axis: Axis = -1,
    *,
    scale: float | Array = 1.0,
    mask: Array | None = None,
    lengths: Array | None = None,
    causal: bool | int = False,
    dtype: Any = None,
    out: Array | None = None,
) -> Any:
    """scale * x - log(sum of exp(scale * x)) along an axis: the logarithm of `softmax`.

    Arguments, NaN and errors as of `softmax`. What takes no part gives -infinity, and so does -infinity.

    >>> import numpy as np, warp_reduce
    >>> warp_reduce.log_softmax(np.array([7.0]))
    array([0.])
    """
    return _softmax(True, x, axis, scale, mask, lengths, causal, dtype, out)


def softmax_backward(
    output: Array,
    output_gradient: Array,
    axis: Axis = -1,
    *,
    scale: float | Array = 1.0,
    mask: Array | None = None,
    lengths: Array | None = None,
    causal: bool | int = False,
    dtype: Any = None,
    out: Array | None = None,
) -> Any:
    """The gradient of `softmax`: from its output y and the gradient dy with respect to it, y * (dy - sum of y * dy).

    output: what `softmax` gave, of any shape; output_gradient: floats of the same shape. The other arguments as
        `softmax` had them. dtype: of the gradient; left out, that of `output`.
    Elements that took no part have the gradient 0. A NaN in y or dy makes the row NaN. Empty arrays give empty arrays.
    ValueError where the shapes differ, otherwise errors as of `softmax`.

    >>> import numpy as np, warp_reduce
    >>> warp_reduce.softmax_backward(np.array([0.5, 0.5]), np.array([1.0, 0.0]))
    array([ 0.25, -0.25])
    """
    return _backward(False, output, output_gradient, axis, scale, mask, lengths, causal, dtype, out)


def log_softmax_backward(
    output: Array,
    output_gradient: Array,
    axis: Axis = -1,
    *,
    scale: float | Array = 1.0,
    mask: Array | None = None,
    lengths: Array | None = None,
    causal: bool | int = False,
    dtype: Any = None,
    out: Array | None = None,
) -> Any:
    """The gradient of `log_softmax`: dy - exp(y) * sum of dy, y being its output; arguments as of `softmax_backward`.

    >>> import numpy as np, warp_reduce
    >>> warp_reduce.log_softmax_backward(np.log([0.5, 0.5]), np.array([1.0, 0.0]))
    array([ 0.5, -0.5])
    """
    return _backward(True, output, output_gradient, axis, scale, mask, lengths, causal, dtype, out)
