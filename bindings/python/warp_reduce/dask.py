"""Reductions and softmax of Dask arrays, lazily: the same bits for every chunking, on every scheduler.

The functions are called as NumPy's are and give Dask arrays. What they give is what the function of `warp_reduce` gives
of the whole array at once, whose chunks may be NumPy's or CuPy's. Each chunk becomes a state (`warp_reduce.state`),
neighbours' states are merged in a tree, and the last one is finished.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import dask.array as da
import numpy as np
from dask.array.reductions import _tree_reduce

from . import _pieces, _reductions
from . import _softmax as _rows
from ._elements import F64
from ._general import default_kind
from ._geometry import axes_of
from ._states import _operator_named, merged
from ._types import Kind, kind_named, numpy_dtype, numpy_kind

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "dot",
    "log_softmax",
    "logsumexp",
    "max",
    "mean",
    "min",
    "norm",
    "prod",
    "softmax",
    "sum",
]

Axis = Any  # an integer, a tuple of them, or None for all
_BLOCK = 1024  # elements of a base block of softmax

# Of partial results of which the whole one is made in any order, and by which function.
_ANY_ORDER = {"min": "min", "max": "max", "any": "any", "all": "all", "count_nonzero": "sum"}
_WITHOUT_IDENTITY = ("min", "max", "argmin", "argmax")


def _known(x: Any) -> da.Array:
    x = da.asanyarray(x)
    if builtins.any(math.isnan(length) for length in x.shape):
        raise ValueError("the lengths of the chunks are not known: call x.compute_chunk_sizes() first")
    return x


def _in_order(x: da.Array, axes: tuple[int, ...], multiple: int = 1) -> da.Array:
    """Cut along the first of the reduced dimensions alone, so that each chunk is a piece of their row-major order; and
    there between multiples of so many of their elements."""
    if not axes:
        return x
    x = x.rechunk(dict.fromkeys(axes[1:], -1))
    step = multiple // math.gcd(multiple, math.prod(x.shape[d] for d in axes[1:]) or 1)
    if step == 1:
        return x
    length, ends = x.shape[axes[0]], np.cumsum(x.chunks[axes[0]]).tolist()
    cuts = sorted({0, length, *((end + step // 2) // step * step for end in ends if end < length)})
    cuts = [cut for cut in cuts if cut <= length]
    chunks = tuple(end - begin for begin, end in zip(cuts, cuts[1:]))
    return x.rechunk({axes[0]: chunks or (length,)})


def _first(location: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    """The index of a chunk's first element, in the row-major order of the reduced dimensions."""
    return location[axes[0]][0] * math.prod(shape[d] for d in axes[1:]) if axes else 0


def _piece(x: Any, *y: Any, op: str, axes: tuple[int, ...], options: dict[str, Any], block_info: Any = None) -> Any:
    first = _first(block_info[0]["array-location"], block_info[0]["shape"], axes)
    part = {"y": y[0]} if y else {}
    return _pieces.state(op, x, first, axes, **options, **part)


def _pieces_of(op: str, x: da.Array, axes: tuple[int, ...], options: dict[str, Any], *y: da.Array) -> da.Array:
    """An array of states, one in each chunk of the reduced dimensions."""
    chunks = tuple((1,) * len(c) if d in axes else c for d, c in enumerate(x.chunks))
    how = {"op": op, "axes": axes, "options": options}
    meta = np.empty((0,) * x.ndim, object)
    return x.map_blocks(_piece, *y, **how, dtype=object, chunks=chunks, meta=meta, name=_name(op, x, how, y))


def _name(op: str, *what: Any) -> str:
    from dask.base import tokenize

    return f"warp-reduce-{op}-{tokenize(*what)}"


def _flat(states: Any) -> Iterator[Any]:
    if isinstance(states, (list, tuple)):
        for each in states:
            yield from _flat(each)
    else:
        yield states


def _merged(states: Any, **_: Any) -> Any:
    return merged(list(_flat(states)))


def _finished(states: Any, axis: Iterable[int], keepdims: bool) -> Any:
    result = _merged(states).finish()
    return _module_of(result).expand_dims(result, tuple(axis)) if keepdims else result


def _module_of(x: Any) -> Any:
    if type(x).__module__.partition(".")[0] == "cupy":
        import cupy

        return cupy
    return np


def _by_states(
    op: str,
    x: da.Array,
    axes: tuple[int, ...],
    keepdims: bool,
    output: np.dtype,
    options: dict[str, Any],
    split_every: int | None,
    *y: da.Array,
) -> da.Array:
    states = _pieces_of(op, x, axes, options, *y)
    result = _tree_of_merges(states, _finished, axes, keepdims, output, split_every, _name(op, states, keepdims))
    result._meta = _meta(x, result.ndim, output)
    return result


def _tree_of_merges(
    states: da.Array,
    aggregate: Callable[..., Any],
    axes: tuple[int, ...],
    keepdims: bool,
    dtype: Any,
    split_every: int | None,
    name: str,
) -> da.Array:
    """What da.reduction does with its chunks' results. Its chunk function is not told where a chunk lies, so that the
    states would be a layer of their own, whose tasks cost as much as those of the chunks."""
    how = {"split_every": split_every, "combine": _merged, "concatenate": False}
    return _tree_reduce(states, aggregate, axes, keepdims, dtype, name=name[len("warp-reduce-") :], **how)


def _meta(x: da.Array, rank: int, dtype: np.dtype) -> Any:
    return _module_of(x._meta).empty((0,) * rank, dtype)


def _partial(function: Callable[..., Any], x: Any, axis: Any, keepdims: bool) -> Any:
    return function(x, axis=tuple(axis), keepdims=keepdims)


def _in_steps(function: Callable[..., Any], again: Callable[..., Any], x: Any, axis: Any, keepdims: bool) -> Any:
    """Several axes of a chunk whose rows do not touch one after the other, which would be copied as one."""
    *others, last = sorted(axis)
    if not others or x.flags.c_contiguous:
        return _partial(function, x, axis, keepdims)
    return again(function(x, axis=last, keepdims=True), axis=axis, keepdims=keepdims)


def _alone(function: Callable[..., Any], blocks: Any, **how: Any) -> Any:
    """Of the one block that there is along the dimensions that are gone."""
    (block,) = _flat(blocks)
    return function(block, **how)


def _reduced(
    op: str,
    x: Any,
    axis: Axis,
    dtype: Any,
    keepdims: bool,
    split_every: int | None,
    ord: float = 2,
) -> da.Array:
    x = _known(x)
    axes = axes_of(axis, x.ndim)
    operator = _operator_named(op, ord)
    kind = _kind(operator, x, dtype)
    if operator == "sum_exact" and kind[0].kind != "float":
        op = operator = "sum"
    output = kind_named(dtype) if dtype is not None else default_kind(operator, kind)
    if operator in _WITHOUT_IDENTITY and not math.prod(x.shape[d] for d in axes):
        raise ValueError(f"zero-size array to reduction operation {op} which has no identity")
    options = {"dtype": dtype} if dtype is not None else {}
    if op == "norm":
        options["ord"] = ord
    if builtins.all(x.numblocks[d] == 1 for d in axes):
        return _by_chunks(op, x, axes, keepdims, numpy_dtype(output), options)
    merge = _ANY_ORDER.get(operator)
    if merge is None and op in ("sum", "prod") and kind[0].kind == "integer" and output[0].kind == "integer":
        merge = op
    if merge and not builtins.any(0 in x.chunks[d] for d in axes):
        return _by_results(op, merge, x, axes, keepdims, numpy_dtype(output), split_every, dtype)
    if operator != "sum_exact":
        x = _in_order(x, axes)
    return _by_states(op, x, axes, keepdims, numpy_dtype(output), options, split_every)


def _kind(operator: str, x: da.Array, dtype: Any) -> Kind:
    """Of the elements that are reduced, where they are converted first."""
    kind = numpy_kind(x.dtype)
    wanted = kind_named(dtype) if dtype is not None else None
    if kind[0].kind == "integer" and operator in ("norm_max", "logsumexp"):
        return wanted if wanted and wanted[0].kind == "float" else (F64, False)
    if kind[0].kind == "float" and wanted and wanted[0].kind == "integer":
        return wanted
    return kind


def _by_chunks(
    op: str, x: da.Array, axes: tuple[int, ...], keepdims: bool, output: np.dtype, options: dict[str, Any]
) -> da.Array:
    """Where each chunk has the reduced dimensions whole."""
    name, _, exact = op.partition("_")
    options = {**options, "exact": True} if exact == "exact" else options
    function = getattr(_reductions, op if exact != "exact" else name)
    partly = partial(_partial, partial(function, **options), axis=axes, keepdims=keepdims)
    if keepdims:
        chunks = tuple((1,) if d in axes else c for d, c in enumerate(x.chunks))
        return x.map_blocks(partly, dtype=output, chunks=chunks, meta=_meta(x, x.ndim, output))
    # Not by map_blocks, which would copy the blocks along the dimensions that it drops into one.
    kept = tuple(d for d in range(x.ndim) if d not in axes)
    return da.blockwise(
        *(partial(_alone, partly), kept, x, tuple(range(x.ndim))),
        concatenate=False,
        dtype=output,
        meta=_meta(x, len(kept), output),
    )


def _by_results(
    op: str,
    merge: str,
    x: da.Array,
    axes: tuple[int, ...],
    keepdims: bool,
    output: np.dtype,
    split_every: int | None,
    dtype: Any,
) -> da.Array:
    """What is exact in any order is reduced chunk by chunk, and then once more."""
    typed = {"dtype": dtype} if dtype is not None else {}
    again = partial(_partial, partial(getattr(_reductions, merge), **(typed if merge in ("sum", "prod") else {})))
    first = partial(_in_steps, partial(getattr(_reductions, op), **typed), again)
    rank = x.ndim if keepdims else x.ndim - len(axes)
    return da.reduction(
        *(x, first, again),
        combine=again,
        axis=axes,
        keepdims=keepdims,
        dtype=output,
        split_every=split_every,
        name=_name(op, x, axes, keepdims, dtype)[len("warp-reduce-") :],
        meta=_meta(x, rank, output),
    )


def sum(
    x: Any,
    axis: Axis = None,
    dtype: Any = None,
    keepdims: bool = False,
    *,
    exact: bool = False,
    split_every: int | None = None,
) -> da.Array:
    """The sum of all elements, or along one or more axes; as `warp_reduce.sum`, of a Dask array, lazily.

    Where several axes are reduced and the order of the elements matters (floats), the array is cut along the first of
    them alone; with exact=True, whose order does not matter, it stays as it is.
    x: a Dask array of any shape, of elements that `warp_reduce.sum` takes; anything else becomes one of one chunk.
    split_every: how many chunks' results become one in a step, as of dask.array.sum.
    NaN, what nothing gives, dtype and errors as there; the errors come when the graph is made, but for those of a chunk
    itself. ValueError where the lengths of chunks are not known.

    >>> import dask.array as da, numpy as np, warp_reduce, warp_reduce.dask
    >>> x = np.random.default_rng(0).standard_normal((100, 1000))
    >>> found = {float(warp_reduce.dask.sum(da.from_array(x, chunks=c))) for c in ((7, 130), (100, 1000), (33, 999))}
    >>> found == {float(warp_reduce.sum(x))}
    True
    """
    return _reduced("sum_exact" if exact else "sum", x, axis, dtype, keepdims, split_every)


def prod(
    x: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False, *, split_every: int | None = None
) -> da.Array:
    """The product, as `warp_reduce.prod`; otherwise as `sum`.

    >>> import dask.array as da, warp_reduce.dask
    >>> x = da.from_array([[1.0, 2.0], [3.0, 6.0]], chunks=1)
    >>> float(warp_reduce.dask.prod(x))
    36.0
    """
    return _reduced("prod", x, axis, dtype, keepdims, split_every)


def mean(
    x: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False, *, split_every: int | None = None
) -> da.Array:
    """The mean: the sum divided by the number of elements, as `warp_reduce.mean`; otherwise as `sum`.

    >>> import dask.array as da, warp_reduce.dask
    >>> x = da.from_array([[1.0, 2.0], [3.0, 6.0]], chunks=1)
    >>> warp_reduce.dask.mean(x, axis=0).compute()
    array([2., 4.])
    """
    return _reduced("mean", x, axis, dtype, keepdims, split_every)


def min(x: Any, axis: Axis = None, keepdims: bool = False, *, split_every: int | None = None) -> da.Array:
    """The smallest element; -0 is below +0, and a NaN wins. ValueError of nothing. Otherwise as `sum`.

    >>> import dask.array as da, warp_reduce.dask
    >>> x = da.from_array([[1.0, 2.0], [3.0, 6.0]], chunks=1)
    >>> warp_reduce.dask.min(x, axis=1).compute()
    array([1., 3.])
    """
    return _reduced("min", x, axis, None, keepdims, split_every)


def max(x: Any, axis: Axis = None, keepdims: bool = False, *, split_every: int | None = None) -> da.Array:
    """The largest element; as `min`.

    >>> import dask.array as da, warp_reduce.dask
    >>> x = da.from_array([[1.0, 2.0], [3.0, 6.0]], chunks=1)
    >>> float(warp_reduce.dask.max(x))
    6.0
    """
    return _reduced("max", x, axis, None, keepdims, split_every)


def argmin(x: Any, axis: Axis = None, keepdims: bool = False, *, split_every: int | None = None) -> da.Array:
    """The index of the first smallest element, along an axis or in row-major order of several; as `min`.

    >>> import dask.array as da, warp_reduce.dask
    >>> x = da.from_array([[1.0, 2.0], [3.0, 6.0]], chunks=1)
    >>> int(warp_reduce.dask.argmin(x))
    0
    """
    return _reduced("argmin", x, axis, None, keepdims, split_every)


def argmax(x: Any, axis: Axis = None, keepdims: bool = False, *, split_every: int | None = None) -> da.Array:
    """The index of the first largest element; as `argmin`.

    >>> import dask.array as da, warp_reduce.dask
    >>> int(warp_reduce.dask.argmax(da.from_array([3, 9, 2, 9], chunks=1)))
    1
    """
    return _reduced("argmax", x, axis, None, keepdims, split_every)


def any(x: Any, axis: Axis = None, keepdims: bool = False, *, split_every: int | None = None) -> da.Array:
    """Whether any element differs from zero, as `warp_reduce.any`; of nothing False. Otherwise as `sum`.

    >>> import dask.array as da, warp_reduce.dask
    >>> x = da.from_array([[1.0, 2.0], [3.0, 6.0]], chunks=1)
    >>> warp_reduce.dask.any(x > 5, axis=1).compute()
    array([False,  True])
    """
    return _reduced("any", x, axis, None, keepdims, split_every)


def all(x: Any, axis: Axis = None, keepdims: bool = False, *, split_every: int | None = None) -> da.Array:
    """Whether every element differs from zero; as `any`, of nothing True.

    >>> import dask.array as da, warp_reduce.dask
    >>> x = da.from_array([[1.0, 2.0], [3.0, 6.0]], chunks=1)
    >>> bool(warp_reduce.dask.all(x))
    True
    """
    return _reduced("all", x, axis, None, keepdims, split_every)


def count_nonzero(x: Any, axis: Axis = None, keepdims: bool = False, *, split_every: int | None = None) -> da.Array:
    """How many elements differ from zero; int64. As `any`, of nothing 0.

    >>> import dask.array as da, warp_reduce.dask
    >>> x = da.from_array([[1.0, 2.0], [3.0, 6.0]], chunks=1)
    >>> int(warp_reduce.dask.count_nonzero(x - 2))
    3
    """
    return _reduced("count_nonzero", x, axis, None, keepdims, split_every)


def norm(
    x: Any,
    *,
    axis: Axis = None,
    ord: float = 2,
    keepdims: bool = False,
    dtype: Any = None,
    split_every: int | None = None,
) -> da.Array:
    """The norm of the orders 1, 2 and infinity, as `warp_reduce.norm`. ValueError for others; otherwise as `sum`.

    >>> import dask.array as da, warp_reduce.dask
    >>> x = da.from_array([[1.0, 2.0], [3.0, 6.0]], chunks=1)
    >>> warp_reduce.dask.norm(x, axis=0, ord=1).compute()
    array([4., 8.])
    """
    return _reduced("norm", x, axis, dtype, keepdims, split_every, ord)


def logsumexp(
    x: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False, *, split_every: int | None = None
) -> da.Array:
    """log(sum of exp(x)), with the bits that belong to `softmax`, as `warp_reduce.logsumexp`; otherwise as `sum`.

    >>> import dask.array as da, warp_reduce.dask
    >>> float(warp_reduce.dask.logsumexp(da.from_array([1000.0, 1000.0], chunks=1)))
    1000.6931471805599
    """
    return _reduced("logsumexp", x, axis, dtype, keepdims, split_every)


def dot(x: Any, y: Any, dtype: Any = None, *, exact: bool = False, split_every: int | None = None) -> da.Array:
    """The dot product of two vectors; of an array with a vector, of each of its rows; as `warp_reduce.dot`.

    x, y: floats or integers, brought to one type as NumPy does; y's chunks become those of x's last dimension.
    ValueError for shapes that do not go together; otherwise as `sum`.

    >>> import dask.array as da, numpy as np, warp_reduce.dask
    >>> x = da.from_array(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), chunks=2)
    >>> warp_reduce.dask.dot(x, np.array([1.0, 10.0, 100.0])).compute()
    array([321., 654.])
    """
    x, y = _known(x), _known(y)
    if not x.ndim or y.ndim != 1:
        raise ValueError(f"dot takes an array and a vector, not shapes {x.shape} and {y.shape}")
    if x.shape[-1] != y.shape[0]:
        raise ValueError(f"shapes {x.shape} and {y.shape} differ in the dimension that is summed over")
    common = np.result_type(x.dtype, y.dtype)
    x, y = x.astype(common), y.astype(common).rechunk((x.chunks[-1],))
    kind = numpy_kind(x.dtype)
    op = "dot_exact" if exact and kind[0].kind == "float" else "dot"
    output = kind_named(dtype) if dtype is not None else default_kind("sum", kind)
    options = {"dtype": dtype} if dtype is not None else {}
    return _by_states(op, x, (x.ndim - 1,), False, numpy_dtype(output), options, split_every, y)


def _softmax_piece(x: Any, whole: Any, log: bool, axes: tuple[int, ...], into: Any, block_info: Any = None) -> Any:
    first = _first(block_info[0]["array-location"], block_info[0]["shape"], axes)
    function = _pieces.log_softmax_from_state if log else _pieces.softmax_from_state
    return function(x, whole, first, axes, dtype=into)


def _softmax(log: bool, x: Any, axis: Axis, scale: float, dtype: Any, split_every: int | None) -> da.Array:
    x = _known(x)
    axes = axes_of(axis, x.ndim)
    kind = numpy_kind(x.dtype)
    output = numpy_dtype(kind_named(dtype)) if dtype is not None else numpy_dtype(default_kind("mean", kind))
    if builtins.all(x.numblocks[d] == 1 for d in axes):
        function = partial(_rows.log_softmax if log else _rows.softmax, axis=axes, scale=scale, dtype=dtype)
        return x.map_blocks(function, dtype=output, meta=_meta(x, x.ndim, output))
    x = _in_order(x, axes, _BLOCK)
    states = _pieces_of("logsumexp", x, axes, {"scale": scale})
    whole = _tree_of_merges(states, _merged, axes, True, object, split_every, _name("states", states))
    whole._meta = np.empty((0,) * x.ndim, object)
    how = {"log": log, "axes": axes, "into": dtype}
    name = _name("softmax", x, whole, how)
    return x.map_blocks(_softmax_piece, whole, **how, name=name, dtype=output, meta=_meta(x, x.ndim, output))


def softmax(
    x: Any, axis: Axis = -1, *, scale: float = 1.0, dtype: Any = None, split_every: int | None = None
) -> da.Array:
    """exp(scale * x) / sum of exp(scale * x) along an axis; as `warp_reduce.softmax`.

    x: a Dask array of any shape, of floats, integers or bool. Along the axis the array is cut between multiples of 1024
    elements, where that is not so already. scale is one number. NaN, empty arrays and errors as there; and as of `sum`.

    >>> import dask.array as da, numpy as np, warp_reduce, warp_reduce.dask
    >>> x = np.random.default_rng(0).standard_normal((4, 5000))
    >>> y = warp_reduce.dask.softmax(da.from_array(x, chunks=(3, 777)))
    >>> np.array_equal(y.compute(), warp_reduce.softmax(x))
    True
    """
    return _softmax(False, x, axis, scale, dtype, split_every)


def log_softmax(
    x: Any, axis: Axis = -1, *, scale: float = 1.0, dtype: Any = None, split_every: int | None = None
) -> da.Array:
    """The logarithm of `softmax`, as `warp_reduce.log_softmax`; all as of `softmax`.

    >>> import dask.array as da, warp_reduce.dask
    >>> warp_reduce.dask.log_softmax(da.from_array([7.0, -float("inf")], chunks=1)).compute()
    array([  0., -inf])
    """
    return _softmax(True, x, axis, scale, dtype, split_every)
