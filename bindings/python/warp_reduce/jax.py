"""Reductions and softmax for JAX: under jit, vmap, grad and shard_map, on CPU and CUDA, with the same bits everywhere.

The functions are called as jax.numpy's and jax.nn's are. Types are those of JAX: f32, bf16, f16, f64 (with
jax_enable_x64), and integers, which are added in their own type. Gradients are for reverse mode (grad, vjp).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from . import _native
from ._library import load_library
from ._operators import NORMS, OPERATORS

__all__ = [
    "argmax",
    "argmin",
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

_SUM, _SUM_EXACT, _MEAN, _PRODUCT = (OPERATORS[name] for name in ("sum", "sum_exact", "mean", "product"))
_MAX, _MIN, _ARGMAX, _ARGMIN = (OPERATORS[name] for name in ("max", "min", "argmax", "argmin"))
_LOGSUMEXP = OPERATORS["logsumexp"]
_NORMS = {ord: OPERATORS[name] for ord, name in NORMS.items()}
_F64 = 2  # wr_dtype


def _register() -> None:
    load_library()
    header = Path(jax.ffi.include_dir(), "xla", "ffi", "api", "c_api.h").read_text(encoding="utf-8")
    major, minor = (int(re.search(rf"define XLA_FFI_API_{part} (\d+)", header)[1]) for part in ("MAJOR", "MINOR"))
    if major != 0:
        raise ImportError(
            f"warp_reduce.jax knows version 0 of XLA's foreign functions, and this JAX has {major}.{minor}"
        )
    for name in ("reduce", "dot", "softmax", "softmax_backward"):
        for ours, theirs in (("cpu", "cpu"), ("cuda", "CUDA")):
            capsule = _native.xla_handler(f"{name}_{ours}", minor)
            jax.ffi.register_ffi_target(f"warp_reduce_{name}", capsule, platform=theirs, api_version=1)


_register()


def _axes(axis: Axis, rank: int) -> tuple[int, ...]:
    """Counted from the first, in order."""
    if axis is None:
        return tuple(range(rank))
    given = (axis,) if isinstance(axis, int) else tuple(axis)
    for each in given:
        if not -rank <= each < rank:
            raise ValueError(f"axis {each} is out of bounds for an array of dimension {rank}")
    axes = tuple(sorted(each % rank for each in given))
    if len(set(axes)) != len(axes):
        raise ValueError(f"duplicate value in 'axis': {axis}")
    return axes


def _is_block(axes: Sequence[int]) -> bool:
    """Whether they are neighbours, which are one axis as they lie."""
    return len(axes) == 0 or axes[-1] - axes[0] == len(axes) - 1


def _laid_out(x: jax.Array, axes: tuple[int, ...]) -> tuple[jax.Array, tuple[int, ...], dict[str, int]]:
    """x with its reduced dimensions side by side, those, and how the library is told."""
    if not _is_block(axes):
        last = tuple(range(x.ndim - len(axes), x.ndim))
        x, axes = jnp.moveaxis(x, axes, last), last
    inner = x.ndim - axes[-1] - 1 if axes else 0
    return x, axes, {"axis_rank": len(axes), "inner_rank": inner}


def _call(
    name: str, dtype: Any, shape: tuple[int, ...], arguments: Sequence[jax.Array], **attributes: int
) -> jax.Array:
    call = jax.ffi.ffi_call(f"warp_reduce_{name}", jax.ShapeDtypeStruct(shape, dtype), vmap_method="broadcast_all")
    return call(*arguments, **{key: np.int64(value) for key, value in attributes.items()})


def _accumulated_in(op: int, x: jax.Array, dtype: Any) -> int:
    wide = jnp.issubdtype(x.dtype, jnp.floating) and x.dtype != jnp.float64 and dtype == jnp.float64
    return _F64 if wide and op in (_SUM, _PRODUCT, _MEAN, _NORMS[1], _NORMS[2]) else 0


def _reduced(op: int, x: jax.Array, axes: tuple[int, ...], dtype: Any) -> jax.Array:
    x, axes, where = _laid_out(x, axes)
    shape = tuple(size for d, size in enumerate(x.shape) if d not in axes)
    return _call("reduce", dtype, shape, (x,), op=op, accumulate=_accumulated_in(op, x, dtype), **where)


def _spread(y: jax.Array, x: jax.Array, axes: tuple[int, ...]) -> jax.Array:
    return jnp.broadcast_to(jnp.expand_dims(y, axes), x.shape)


@partial(jax.custom_vjp, nondiff_argnums=(0, 2, 3))
def _reduce(op: int, x: jax.Array, axes: tuple[int, ...], dtype: Any) -> jax.Array:
    return _reduced(op, x, axes, dtype)


def _reduce_forward(op: int, x: jax.Array, axes: tuple[int, ...], dtype: Any) -> tuple[jax.Array, Any]:
    y = _reduce(op, x, axes, dtype)
    return y, (x, y)


def _reduce_backward(op: int, axes: tuple[int, ...], dtype: Any, saved: Any, gradient: jax.Array) -> tuple[jax.Array]:
    x, y = saved
    return (_slope(op, x, y, axes, gradient).astype(x.dtype),)


_reduce.defvjp(_reduce_forward, _reduce_backward)


def _others_product(x: jax.Array, axes: tuple[int, ...]) -> jax.Array:
    """For each element the product of all others: products from both ends."""
    last = tuple(range(x.ndim - len(axes), x.ndim))
    moved = jnp.moveaxis(x, axes, last)
    flat = moved.reshape(*moved.shape[: x.ndim - len(axes)], -1)
    one = jnp.ones_like(flat[..., :1])
    before = jnp.cumprod(jnp.concatenate([one, flat[..., :-1]], -1), -1)
    after = jnp.flip(jnp.cumprod(jnp.concatenate([one, jnp.flip(flat, -1)[..., :-1]], -1), -1), -1)
    return jnp.moveaxis((before * after).reshape(moved.shape), last, axes)


def _slope(op: int, x: jax.Array, y: jax.Array, axes: tuple[int, ...], gradient: jax.Array) -> jax.Array:
    above = _spread(gradient, x, axes)
    if op in (_SUM, _SUM_EXACT):
        return above
    if op == _MEAN:
        count = math.prod(x.shape[d] for d in axes)
        wide = gradient.astype(jnp.promote_types(gradient.dtype, jnp.float32))
        # Not a quotient: XLA makes a product of one where it sees that the divisor is constant.
        return _spread(wide * (1 / count if count else math.inf), x, axes)
    if op == _PRODUCT:
        return above * _others_product(x.astype(y.dtype), axes)
    if op == _LOGSUMEXP:
        return above * _softmax_over(x, axes)
    if op == _NORMS[2]:
        norm = _spread(y, x, axes)
        return x * jnp.where(norm == 0, 0, above / norm)
    if op == _NORMS[1]:
        return jnp.sign(x) * above
    chosen = (jnp.abs(x) if op == _NORMS[math.inf] else x) == _spread(y, x, axes)
    count = _reduce(_SUM, chosen.astype(jnp.int32), axes, jnp.dtype("int32"))
    wide = above.astype(jnp.promote_types(above.dtype, jnp.float32))
    share = jnp.where(chosen, wide / _spread(count, x, axes).astype(wide.dtype), 0)
    return jnp.sign(x) * share if op == _NORMS[math.inf] else share


def _softmax_over(x: jax.Array, axes: tuple[int, ...]) -> jax.Array:
    """Of several axes, which are one row."""
    last = tuple(range(x.ndim - len(axes), x.ndim))
    moved = jnp.moveaxis(x, axes, last)
    flat = moved.reshape(*moved.shape[: x.ndim - len(axes)], -1)
    return jnp.moveaxis(_softmax(False, flat, flat.ndim - 1).reshape(moved.shape), last, axes)


@partial(jax.custom_vjp, nondiff_argnums=(0, 2))
def _softmax(log: bool, x: jax.Array, axis: int) -> jax.Array:
    return _call("softmax", x.dtype, x.shape, (x,), log=int(log), axis_rank=1, inner_rank=x.ndim - axis - 1)


def _softmax_forward(log: bool, x: jax.Array, axis: int) -> tuple[jax.Array, jax.Array]:
    y = _softmax(log, x, axis)
    return y, y


def _softmax_backward(log: bool, axis: int, y: jax.Array, gradient: jax.Array) -> tuple[jax.Array]:
    return (_softmax_gradient(log, gradient, y, axis),)


_softmax.defvjp(_softmax_forward, _softmax_backward)


@partial(jax.custom_vjp, nondiff_argnums=(0, 3))
def _softmax_gradient(log: bool, gradient: jax.Array, y: jax.Array, axis: int) -> jax.Array:
    where = {"axis_rank": 1, "inner_rank": y.ndim - axis - 1}
    return _call("softmax_backward", y.dtype, y.shape, (gradient, y), log=int(log), **where)


def _gradient_forward(log: bool, gradient: jax.Array, y: jax.Array, axis: int) -> tuple[jax.Array, Any]:
    return _softmax_gradient(log, gradient, y, axis), (gradient, y)


def _gradient_backward(log: bool, axis: int, saved: Any, above: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Of y * (g - sum(y * g)), and of g - exp(y) * sum(g)."""
    g, y = saved
    total = lambda z: jnp.expand_dims(_reduce(_SUM, z, (axis,), z.dtype), axis)  # noqa: E731
    if log:
        share = jnp.exp(y)
        return above - total(above * share), -above * share * total(g)
    return y * (above - total(y * above)), above * (g - total(y * g)) - g * total(y * above)


_softmax_gradient.defvjp(_gradient_forward, _gradient_backward)


# ---- dot products


@cache
def _products_summed(op: int, dtype: Any) -> Any:
    """Of rows and a vector. With a vector for each row under vmap, one row after the other is worked on."""

    @jax.custom_batching.custom_vmap
    def call(x: jax.Array, y: jax.Array) -> jax.Array:
        where = {"axis_rank": 1, "inner_rank": 0, "accumulate": _accumulated_in(op, x, dtype)}
        return _call("dot", dtype, x.shape[:-1], (x, y), op=op, **where)

    @call.def_vmap
    def in_batches(size: int, batched: list[bool], x: jax.Array, y: jax.Array) -> tuple[jax.Array, bool]:
        if not batched[1]:
            return call(x, y), True
        rows = x if batched[0] else jnp.broadcast_to(x, (size, *x.shape))
        return jax.lax.map(lambda both: call(*both), (rows, y)), True

    return call


@partial(jax.custom_vjp, nondiff_argnums=(0, 3))
def _dot(op: int, x: jax.Array, y: jax.Array, dtype: Any) -> jax.Array:
    return _products_summed(op, dtype)(x, y)


def _dot_forward(op: int, x: jax.Array, y: jax.Array, dtype: Any) -> tuple[jax.Array, Any]:
    return _dot(op, x, y, dtype), (x, y)


def _dot_backward(op: int, dtype: Any, saved: Any, gradient: jax.Array) -> tuple[jax.Array, jax.Array]:
    """A vector that many rows are multiplied with has the sum of what each of them says."""
    x, y = saved
    above = gradient[..., None]
    rows = above * x
    return (above * y).astype(x.dtype), _reduce(_SUM, rows, tuple(range(x.ndim - 1)), rows.dtype).astype(y.dtype)


_dot.defvjp(_dot_forward, _dot_backward)


# ---- the functions


def _finished(y: jax.Array, axes: tuple[int, ...], keepdims: bool) -> jax.Array:
    return jnp.expand_dims(y, axes) if keepdims else y


def _as_taken(x: jax.Array, dtype: Any, as_float: bool) -> tuple[jax.Array, Any]:
    """x in a type that the library makes such results of, and the type that is asked for, or None."""
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        raise TypeError("complex numbers are not taken; work on the real and the imaginary part")
    if x.dtype == jnp.bool_:
        x = x.astype(jnp.int32)
    whole = jnp.issubdtype(x.dtype, jnp.integer)
    wanted = jax.dtypes.canonicalize_dtype(dtype) if dtype is not None else None
    if whole and (as_float or (wanted is not None and jnp.issubdtype(wanted, jnp.floating))):
        x = x.astype(wanted or jnp.float32)
    elif wanted is not None and jnp.issubdtype(wanted, jnp.integer) and not whole:
        x = x.astype(wanted)
    return x, wanted


def _general(op: int, x: Any, axis: Axis, keepdims: bool, dtype: Any, as_float: bool) -> jax.Array:
    x, wanted = _as_taken(jnp.asarray(x), dtype, as_float)
    if op == _SUM_EXACT and not jnp.issubdtype(x.dtype, jnp.floating):  # whose sums are exact
        op = _SUM
    axes = _axes(axis, x.ndim)
    return _finished(_reduce(op, x, axes, jnp.dtype(wanted or x.dtype)), axes, keepdims)


def sum(x: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False, *, exact: bool = False) -> jax.Array:
    """The sum of all elements, or along one or more axes, pairwise in their order; as jax.numpy.sum.

    x: an array of any shape, of floats (f64, f32, f16, bf16), integers or bool, which is added as int32.
    axis: an integer, a tuple or None, for all. Several axes are one, whose elements come in row-major order.
    dtype: of the result; sums of floats are kept in f32 (f64 for f64 or into it) and rounded once.
    keepdims: reduced axes stay, with one element each.
    exact: the exact sum of floats, rounded once, whatever the order of the elements.

    NaN, or infinities of both signs, give NaN; of nothing the sum is 0. ValueError for an axis that is not there,
    TypeError for complex numbers.

    >>> import jax, jax.numpy as jnp, warp_reduce.jax as wj
    >>> jax.jit(wj.sum)(jnp.array([[1.0, 2.0], [3.0, 4.0]]))
    Array(10., dtype=float32)
    """
    return _general(_SUM_EXACT if exact else _SUM, x, axis, keepdims, dtype, False)


def mean(x: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> jax.Array:
    """The mean: the sum divided by the number of elements, correctly rounded. Of integers it is f32.

    Arguments, NaN and errors as of `sum`. Of nothing the mean is NaN.

    >>> import jax.numpy as jnp, warp_reduce.jax as wj
    >>> wj.mean(jnp.array([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    Array([2., 3.], dtype=float32)
    """
    return _general(_MEAN, x, axis, keepdims, dtype, True)


def prod(x: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> jax.Array:
    """The product; arguments and errors as of `sum`. NaN, or infinity times 0, give NaN; of nothing it is 1.

    >>> import jax.numpy as jnp, warp_reduce.jax as wj
    >>> int(wj.prod(jnp.array([2, 3, 7])))
    42
    """
    return _general(_PRODUCT, x, axis, keepdims, dtype, False)


def dot(x: Any, y: Any, dtype: Any = None, *, exact: bool = False) -> jax.Array:
    """The dot product of two vectors; of an array with a vector, of each of its rows: sums along the last axis.

    x, y: floats or integers, brought to one type; both have gradients. dtype, exact: as in `sum`, of the products,
    which are each rounded once if they are not exact. NaN, or infinity times 0, give NaN; of nothing it is 0.
    ValueError where the shapes do not go together.

    >>> import jax.numpy as jnp, warp_reduce.jax as wj
    >>> wj.dot(jnp.array([[1.0, 2.0], [3.0, 4.0]]), jnp.array([10.0, 1.0]))
    Array([12., 34.], dtype=float32)
    >>> float(wj.dot(jnp.array([1e30, 1.0, -1e30]), jnp.ones(3), exact=True))
    1.0
    """
    x, y = jnp.asarray(x), jnp.asarray(y)
    if x.ndim == 0 or y.ndim != 1:
        raise ValueError(
            f"dot takes an array and a vector, not shapes {x.shape} and {y.shape}; it multiplies no matrices"
        )
    if x.shape[-1] != y.shape[0]:
        raise ValueError(f"shapes {x.shape} and {y.shape} differ in the dimension that is summed over")
    common = jnp.promote_types(x.dtype, y.dtype)
    x, wanted = _as_taken(x.astype(common), dtype, False)
    y, _ = _as_taken(y.astype(common), dtype, False)
    op = _SUM_EXACT if exact and jnp.issubdtype(x.dtype, jnp.floating) else _SUM
    return _dot(op, x, y, jnp.dtype(wanted or x.dtype))


def _extreme(op: int, name: str, x: Any, axis: Axis, keepdims: bool) -> jax.Array:
    x = jnp.asarray(x)
    axes = _axes(axis, x.ndim)
    if math.prod(x.shape[d] for d in axes) == 0:
        raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
    return _general(op, x, axis, keepdims, None, False)


def max(x: Any, axis: Axis = None, keepdims: bool = False) -> jax.Array:
    """The largest element, in x's type; arguments as of `sum`.

    +0 is above -0, a NaN wins, equal ones share the gradient. ValueError of nothing.

    >>> import jax.numpy as jnp, warp_reduce.jax as wj
    >>> float(wj.max(jnp.array([1.0, 3.0, 2.0])))
    3.0
    """
    return _extreme(_MAX, "max", x, axis, keepdims)


def min(x: Any, axis: Axis = None, keepdims: bool = False) -> jax.Array:
    """The smallest element; all as of `max`.

    >>> import jax.numpy as jnp, warp_reduce.jax as wj
    >>> float(wj.min(jnp.array([1.0, 3.0, 2.0])))
    1.0
    """
    return _extreme(_MIN, "min", x, axis, keepdims)


def _index(op: int, name: str, x: Any, axis: int | None, keepdims: bool) -> jax.Array:
    x = jax.lax.stop_gradient(jnp.asarray(x))
    x = x.astype(jnp.int32) if x.dtype == jnp.bool_ else x
    axes = _axes(axis, x.ndim)
    if math.prod(x.shape[d] for d in axes) == 0:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    dtype = jax.dtypes.canonicalize_dtype(jnp.int64)
    return _finished(_reduced(op, x, axes, dtype), axes, keepdims)


def argmax(x: Any, axis: int | None = None, keepdims: bool = False) -> jax.Array:
    """The index of the first largest element, along an axis or in the whole array (in row-major order).

    x: as of `sum`. +0 is above -0, the first NaN wins. int64, or int32 without jax_enable_x64. ValueError of nothing.

    >>> import jax.numpy as jnp, warp_reduce.jax as wj
    >>> int(wj.argmax(jnp.array([4.0, 9.0, 9.0])))
    1
    """
    return _index(_ARGMAX, "argmax", x, axis, keepdims)


def argmin(x: Any, axis: int | None = None, keepdims: bool = False) -> jax.Array:
    """The index of the first smallest element; all as of `argmax`.

    >>> import jax.numpy as jnp, warp_reduce.jax as wj
    >>> int(wj.argmin(jnp.array([4.0, 2.0, 2.0])))
    1
    """
    return _index(_ARGMIN, "argmin", x, axis, keepdims)


def norm(x: Any, ord: float = 2, axis: Axis = None, keepdims: bool = False) -> jax.Array:
    """The norm of vectors of the orders 1, 2 and infinity, of the whole array or along axes. ValueError for others.

    Integers become f32. Arguments otherwise as of `sum`. NaN gives NaN; of nothing the norm is 0.

    >>> import jax.numpy as jnp, warp_reduce.jax as wj
    >>> float(wj.norm(jnp.array([3.0, -4.0])))
    5.0
    """
    if ord not in _NORMS:
        raise ValueError(f"ord must be 1, 2 or infinity, not {ord!r}")
    return _general(_NORMS[ord], x, axis, keepdims, None, True)


def logsumexp(x: Any, axis: Axis = None, keepdims: bool = False) -> jax.Array:
    """log(sum of exp(x)), with the bits that belong to `softmax`, which is its gradient.

    Integers become f32. Arguments and errors otherwise as of `sum`. NaN and +infinity give themselves; of nothing, and
    of -infinity alone, it is -infinity.

    >>> import jax.numpy as jnp, warp_reduce.jax as wj
    >>> float(wj.logsumexp(jnp.array([1000.0]), axis=0))
    1000.0
    """
    return _general(_LOGSUMEXP, x, axis, keepdims, None, True)


def _rows(log: bool, x: Any, axis: int) -> jax.Array:
    x = jnp.asarray(x)
    x = x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(jnp.float32)
    if x.ndim == 0:
        return _rows(log, x[None], 0)[0]
    return _softmax(log, x, _axes(axis, x.ndim)[0])


def softmax(x: Any, axis: int = -1) -> jax.Array:
    """exp(x) / sum of exp(x) along an axis, in an array of x's shape and type; as jax.nn.softmax.

    x: floats of any shape; integers become f32. A NaN or +infinity, or a row of -infinity alone, gives a row of NaN.
    Empty arrays give empty arrays. ValueError for an axis that is not there.

    >>> import jax, jax.numpy as jnp, warp_reduce.jax as wj
    >>> jax.vmap(wj.softmax)(jnp.zeros((2, 4)))[0]
    Array([0.25, 0.25, 0.25, 0.25], dtype=float32)
    """
    return _rows(False, x, axis)


def log_softmax(x: Any, axis: int = -1) -> jax.Array:
    """x - log(sum of exp(x)) along an axis, as jax.nn.log_softmax; all as of `softmax`.

    >>> import jax, jax.numpy as jnp, warp_reduce.jax as wj
    >>> float(jax.grad(lambda x: wj.log_softmax(x)[0])(jnp.zeros(2))[0])
    0.5
    """
    return _rows(True, x, axis)
