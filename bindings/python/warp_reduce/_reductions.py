"""The reductions, as NumPy's functions are called."""

from __future__ import annotations

from typing import Any

from . import _native
from ._operators import NORMS, OPERATORS, SEGMENTED

Array = Any
Axis = Any

_reduce_simple = _native.reduce_simple
_SEGMENT_CODES = {name: OPERATORS[operator] for name, operator in SEGMENTED.items()}


def _reduce(operator: str, x: Any, axis: Axis, dtype: Any, out: Any, keepdims: bool, where: Any) -> Any:
    result = _reduce_simple(OPERATORS[operator], x, axis, keepdims, dtype, out, where)
    if result is not NotImplemented:
        return result
    from ._general import reduce

    return reduce(operator, x, axis, dtype, out, keepdims, where)


def sum(
    x: Array,
    axis: Axis = None,
    dtype: Any = None,
    out: Array | None = None,
    keepdims: bool = False,
    *,
    where: Any = True,
    exact: bool = False,
) -> Any:
    """The sum of all elements, or along one or more axes.

    Floats are added pairwise in the order of the elements, in f32 (f64 for f64), and rounded once to the result:
    the same bits on every device, for every layout and batch. Integers and bools are added in 64 bits, as NumPy does.

    x: an array of any shape, of floats, integers or bool; or words of a prime field, which `dtype` names.
    axis: an integer, a tuple or None, for all. Several axes are one, whose elements come in row-major order.
    dtype: the type of the result: any float type of floats; of integers any integer type (which wraps) and float32 or
        float64. Or what field the words are of: koalabear, babybear, mersenne31 (uint32), goldilocks (uint64),
        koalabear_x4, babybear_x4 (uint32 with a last dimension of 4, which `axis` does not count).
    out: an array of the result's shape, which is filled and returned.
    keepdims: reduced axes stay, with one element each.
    where: bool, broadcast to x: elements where it is False count as 0.
    exact: the exact sum of floats, rounded once, whatever the order of the elements; it overflows only where it is
        itself too large. (Sums of integers are exact anyway.)

    A NaN, or infinities of both signs, give NaN. Of nothing the sum is 0.
    Errors: TypeError for element types that are not taken, ValueError for an axis that is not there or a wrong `out`.

    >>> import numpy as np, warp_reduce
    >>> float(warp_reduce.sum(np.array([0.5, 1.5, 4.0])))
    6.0
    >>> warp_reduce.sum(np.array([[200, 100], [50, 50]], np.uint8), axis=1)
    array([300, 100], dtype=uint64)
    >>> int(warp_reduce.sum(np.array([2147483646, 3], np.uint32), dtype="mersenne31"))
    2
    """
    if exact:
        from ._general import reduce

        return reduce("sum_exact", x, axis, dtype, out, keepdims, where)
    return _reduce("sum", x, axis, dtype, out, keepdims, where)


def prod(
    x: Array,
    axis: Axis = None,
    dtype: Any = None,
    out: Array | None = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Any:
    """The product of all elements, or along one or more axes; arguments, types and errors as of `sum`.

    Elements where `where` is False count as 1, and so does nothing. Of KoalaBear's and BabyBear's words, which are
    Montgomery forms, it is the product of the elements in that form.

    >>> import numpy as np, warp_reduce
    >>> int(warp_reduce.prod(np.array([2, 3, 7])))
    42
    """
    return _reduce("product", x, axis, dtype, out, keepdims, where)


def mean(
    x: Array,
    axis: Axis = None,
    dtype: Any = None,
    out: Array | None = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Any:
    """The arithmetic mean, along all or some axes: `sum` divided by the number of elements, correctly rounded.

    x: floats, integers or bool; of the latter two the mean is float64. Arguments otherwise as of `sum`.
    where: bool, broadcast to x: only elements where it is True are added and counted.
    NaN as in `sum`. Of nothing the mean is NaN (NumPy's is too, with a warning).

    >>> import numpy as np, warp_reduce
    >>> warp_reduce.mean(np.array([[1.0, 2.0], [3.0, 6.0]]), axis=0)
    array([2., 4.])
    """
    return _reduce("mean", x, axis, dtype, out, keepdims, where)


def min(
    x: Array,
    axis: Axis = None,
    out: Array | None = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Any:
    """The smallest element, along all or some axes, in x's type; arguments as of `sum`.

    x: floats, integers or bool. -0 is below +0, and a NaN wins.
    where: bool, broadcast to x; a row in which nothing is chosen gives the largest value of the type (+infinity).
    ValueError where a row has no elements.

    >>> import numpy as np, warp_reduce
    >>> warp_reduce.min(np.array([[3, 1], [2, 5]]), axis=1)
    array([1, 2])
    """
    return _reduce("min", x, axis, None, out, keepdims, where)


def max(
    x: Array,
    axis: Axis = None,
    out: Array | None = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Any:
    """The largest element, along all or some axes; as `min`, where nothing is chosen the smallest value of the type.

    >>> import numpy as np, warp_reduce
    >>> float(warp_reduce.max(np.array([-1.5, 2.25, 0.0])))
    2.25
    """
    return _reduce("max", x, axis, None, out, keepdims, where)


def argmin(x: Array, axis: Axis = None, out: Array | None = None, *, keepdims: bool = False) -> Any:
    """The index of the first smallest element, along an axis or in the whole array in row-major order; int64.

    x: floats, integers or bool. Of several axes the index counts their elements in row-major order. -0 is below +0;
    the first NaN wins. ValueError where a row has no elements.

    >>> import numpy as np, warp_reduce
    >>> int(warp_reduce.argmin(np.array([4, 2, 2])))
    1
    """
    return _reduce("argmin", x, axis, None, out, keepdims, True)


def argmax(x: Array, axis: Axis = None, out: Array | None = None, *, keepdims: bool = False) -> Any:
    """The index of the first largest element; as `argmin`.

    >>> import numpy as np, warp_reduce
    >>> warp_reduce.argmax(np.array([[1.0, 9.0], [8.0, 2.0]]), axis=-1)
    array([1, 0])
    """
    return _reduce("argmax", x, axis, None, out, keepdims, True)


def any(
    x: Array,
    axis: Axis = None,
    out: Array | None = None,
    keepdims: bool = False,
    *,
    dtype: Any = None,
    where: Any = True,
) -> Any:
    """Whether any element differs from zero, along all or some axes; bool.

    x: any elements. dtype: the field that words are of. Arguments otherwise and errors as of `sum`. A NaN differs from
    zero. Of nothing: False.

    >>> import numpy as np, warp_reduce
    >>> warp_reduce.any(np.array([[0, 0], [0, 3]]), axis=1)
    array([False,  True])
    """
    return _reduce("any", x, axis, dtype, out, keepdims, where)


def all(
    x: Array,
    axis: Axis = None,
    out: Array | None = None,
    keepdims: bool = False,
    *,
    dtype: Any = None,
    where: Any = True,
) -> Any:
    """Whether every element differs from zero; as `any`. Of nothing: True.

    >>> import numpy as np, warp_reduce
    >>> bool(warp_reduce.all(np.array([1.0, -0.0])))
    False
    """
    return _reduce("all", x, axis, dtype, out, keepdims, where)


def count_nonzero(
    x: Array,
    axis: Axis = None,
    *,
    keepdims: bool = False,
    dtype: Any = None,
    out: Array | None = None,
    where: Any = True,
) -> Any:
    """How many elements differ from zero, along all or some axes; int64. Arguments as of `any`. Of nothing: 0.

    >>> import numpy as np, warp_reduce
    >>> int(warp_reduce.count_nonzero(np.array([0.0, float("nan"), 2.0])))
    2
    """
    return _reduce("count_nonzero", x, axis, dtype, out, keepdims, where)


def norm(
    x: Array,
    *,
    axis: Axis = None,
    ord: float = 2,
    keepdims: bool = False,
    dtype: Any = None,
    out: Array | None = None,
    where: Any = True,
) -> Any:
    """The norm of vectors, as numpy.linalg.vector_norm: of the whole array, or along all or some axes.

    ord: 2 for the root of the sum of squares, 1 for the sum of magnitudes, infinity for the largest magnitude.
    x: floats, integers or bool; of the latter two the norm is float64. Arguments otherwise as of `sum`; elements where
    `where` is False count as 0. NaN gives NaN. Of nothing the norm is 0.
    ValueError for another `ord`.

    >>> import numpy as np, warp_reduce
    >>> float(warp_reduce.norm(np.array([3.0, -4.0])))
    5.0
    >>> float(warp_reduce.norm(np.array([3.0, -4.0]), ord=1))
    7.0
    """
    if ord not in NORMS:
        raise ValueError(f"ord must be 1, 2 or infinity, not {ord!r}")
    return _reduce(NORMS[ord], x, axis, dtype, out, keepdims, where)


def logsumexp(
    x: Array,
    axis: Axis = None,
    dtype: Any = None,
    out: Array | None = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Any:
    """log(sum of exp(x)), along all or some axes, with the bits that belong to `softmax`.

    x: floats; integers and bool become float64. Elements where `where` is False take no part. Arguments otherwise and
    errors as of `sum`.
    A NaN gives NaN, +infinity gives +infinity. Of nothing, or of -infinity alone, it is -infinity.

    >>> import numpy as np, warp_reduce
    >>> float(warp_reduce.logsumexp(np.array([1000.0, 1000.0])))
    1000.6931471805599
    """
    return _reduce("logsumexp", x, axis, dtype, out, keepdims, where)


def dot(x: Array, y: Array, dtype: Any = None, out: Array | None = None, *, exact: bool = False) -> Any:
    """The dot product of two vectors; of an array with a vector, of each of its rows.

    Each product is rounded once (floats), and the sum is that of `sum`. Different types become one as in NumPy.

    x: [..., n] of floats, integers, bool, or words of a field. y: [n].
    dtype: the type of the result, as of `sum`; or the field of both sides, or a pair of them, such as
        ("koalabear", "koalabear_x4"). Integers are added in 64 bits: they do not wrap in x's type as numpy.dot's do.
    out: as of `sum`. Of nothing the product is 0.
    exact: the sum of the exact products of floats, rounded once.
    A NaN, or infinity times 0, gives NaN.
    ValueError for shapes that do not go together (matrices are not multiplied), TypeError for types that are not taken.

    >>> import numpy as np, warp_reduce
    >>> float(warp_reduce.dot(np.array([1.0, 2.0]), np.array([10.0, 0.5])))
    11.0
    >>> warp_reduce.dot(np.array([[1, 2], [3, 4]]), np.array([1, 10]))
    array([21, 43])
    """
    if dtype is None and not exact:
        result = _native.dot_simple(x, y, out)
        if result is not NotImplemented:
            return result
    from ._products import dot as general

    return general(x, y, dtype, out, exact)


def segment_reduce(op: str, x: Array, offsets: Array, *, dtype: Any = None, out: Array | None = None) -> Any:
    """Reduces ragged rows: row s is x[offsets[s]] up to x[offsets[s + 1] - 1]. Each has the bits of its own reduction.

    op: sum, prod, mean, min, max, argmin, argmax, any, all, count_nonzero, norm or logsumexp.
    x: of one dimension. offsets: integers that do not decrease, one more of them than there are rows.
    dtype, out: as of `sum`. The result has one element for each row.
    Empty rows give 0, of prod 1, of mean NaN, of min and max the largest and smallest value of the type, of argmin and
    argmax -1, of all True, of logsumexp -infinity. Indices count from the row's first element.
    NaN as of the reduction that `op` names. TypeError for offsets that are no integers, ValueError for an `op` that is
    not one of these, and for offsets that are negative, decrease or lead beyond x; on a GPU, where they are not looked
    at, nothing outside x is read, rows that lead outside are cut off, and where offsets decrease the result is
    unspecified.

    >>> import numpy as np, warp_reduce
    >>> warp_reduce.segment_reduce("sum", np.array([1.0, 2.0, 4.0, 8.0]), [0, 1, 1, 4])
    array([ 1.,  0., 14.])
    """
    if dtype is None and out is None and op in _SEGMENT_CODES:
        result = _native.segments_simple(_SEGMENT_CODES[op], x, offsets)
        if result is not NotImplemented:
            return result
    from ._products import segment_reduce as general

    return general(op, x, offsets, dtype, out)
