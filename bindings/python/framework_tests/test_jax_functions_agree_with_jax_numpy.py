"""warp_reduce.jax under jit, vmap, grad and shard_map, against jax.numpy in f64 and the bits of NumPy arrays."""

from __future__ import annotations

import doctest
import math
import os
from pathlib import Path
from typing import Any

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import warp_reduce
import warp_reduce.jax as wj
from jax.test_util import check_grads

jax.config.update("jax_enable_x64", True)

FLOATS = (jnp.float32, jnp.float64, jnp.float16, jnp.bfloat16)
AXES: tuple[Any, ...] = (None, 0, -1, (0, 2), (1, 2), (0, 1, 2))
PAIRS = {
    "sum": (wj.sum, jnp.sum),
    "mean": (wj.mean, jnp.mean),
    "prod": (wj.prod, jnp.prod),
    "max": (wj.max, jnp.max),
    "min": (wj.min, jnp.min),
    "logsumexp": (wj.logsumexp, jax.nn.logsumexp),
}


def array(dtype: Any, *shape: int) -> jax.Array:
    return jnp.asarray(np.random.default_rng(len(shape)).standard_normal(shape), dtype)


def close(found: jax.Array, expected: jax.Array) -> None:
    kept_in = 2e-15 if found.dtype == jnp.float64 else 1e-5
    eps = float(jnp.finfo(found.dtype).eps)
    np.testing.assert_allclose(
        np.asarray(found, np.float64), np.asarray(expected, np.float64), rtol=2 * eps + kept_in, atol=kept_in
    )


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("name", PAIRS)
def test_reductions(name: str, axis: Any, keepdims: bool) -> None:
    mine, theirs = PAIRS[name]
    for dtype in FLOATS:
        x = array(dtype, 3, 4, 5)
        found = jax.jit(lambda x: mine(x, axis=axis, keepdims=keepdims))(x)
        assert found.dtype == x.dtype
        close(found, theirs(x.astype(jnp.float64), axis=axis, keepdims=keepdims))


@pytest.mark.parametrize("axis", AXES)
def test_norms(axis: Any) -> None:
    x = array(jnp.float64, 3, 4, 5)
    for order in (1, 2, jnp.inf):
        close(wj.norm(x, order, axis), jnp.linalg.vector_norm(x, axis=axis, ord=order))


def test_exact_sums_are_those_of_fsum() -> None:
    x = array(jnp.float64, 3, 400) * jnp.exp2(jnp.linspace(-60, 60, 400))
    for dtype in (jnp.float32, jnp.float64):
        given = x.astype(dtype)
        expected = np.array([math.fsum(row) for row in np.asarray(given, np.float64).tolist()]).astype(dtype)
        for each in (given, given[:, ::-1]):
            assert np.array_equal(jax.jit(lambda x: wj.sum(x, 1, exact=True))(each), expected)
            assert np.array_equal(jax.vmap(lambda x: wj.sum(x, exact=True))(each), expected)
    check_grads(lambda x: wj.sum(x, 1, exact=True), (array(jnp.float64, 3, 4),), order=1, modes=["rev"])
    whole = jnp.arange(24, dtype=jnp.int32).reshape(4, 6)
    assert jnp.array_equal(wj.sum(whole, 1, exact=True), jnp.sum(whole, 1, dtype=jnp.int32))
    assert wj.sum(whole, dtype=jnp.float32, exact=True) == 276


def test_softmax_indices_integers_and_types() -> None:
    for dtype in FLOATS:
        x = array(dtype, 3, 4, 5)
        for axis in (0, 1, -1):
            close(wj.softmax(x, axis), jax.nn.softmax(x.astype(jnp.float64), axis))
            close(wj.log_softmax(x, axis), jax.nn.log_softmax(x.astype(jnp.float64), axis))
            assert jnp.array_equal(wj.argmax(x, axis), jnp.argmax(x, axis))
            assert jnp.array_equal(wj.argmin(x, axis, keepdims=True), jnp.argmin(x, axis, keepdims=True))
    whole = jnp.arange(24, dtype=jnp.int32).reshape(2, 3, 4)
    for axis in AXES:
        assert jnp.array_equal(wj.sum(whole, axis), jnp.sum(whole, axis, dtype=jnp.int32))
        assert jnp.array_equal(wj.max(whole, axis), jnp.max(whole, axis))
    assert wj.sum(whole, dtype=jnp.float64).dtype == jnp.float64 and wj.mean(whole).dtype == jnp.float32
    assert int(wj.sum(whole > 3)) == 20
    assert float(wj.sum(jnp.full(3, 0.1, jnp.float32), dtype=jnp.float64)) == float(np.float64(np.float32(0.1)) * 3)


def test_vmap_is_the_batch() -> None:
    x = array(jnp.float32, 3, 4, 5)
    for mine, _ in PAIRS.values():
        assert jnp.array_equal(jax.vmap(lambda x, f=mine: f(x, axis=0))(x), mine(x, axis=1))
        assert jnp.array_equal(jax.vmap(lambda x, f=mine: f(x), in_axes=1)(x), mine(x, axis=(0, 2)))
    assert jnp.array_equal(jax.vmap(jax.vmap(wj.softmax))(x), wj.softmax(x))
    assert jnp.array_equal(jax.vmap(lambda x: wj.log_softmax(x, 0), in_axes=2, out_axes=2)(x), wj.log_softmax(x, 0))
    slopes = jax.vmap(jax.grad(lambda x: wj.log_softmax(x)[1]))(x[0])
    assert jnp.array_equal(slopes[2], jax.grad(lambda x: wj.log_softmax(x)[1])(x[0, 2]))


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("name", PAIRS)
def test_gradients(name: str, axis: Any) -> None:
    x = array(jnp.float64, 2, 3, 2)
    check_grads(lambda x: PAIRS[name][0](x, axis=axis), (x,), order=1, modes=("rev",))
    check_grads(lambda x: wj.norm(x, 2, axis), (x,), order=2, modes=("rev",))


def test_gradients_of_rows_and_of_products_with_zeros() -> None:
    x = array(jnp.float64, 2, 3, 2)
    for axis in (0, 1, 2):
        check_grads(lambda x, a=axis: wj.softmax(x, a), (x,), order=2, modes=("rev",))
        check_grads(lambda x, a=axis: wj.log_softmax(x, a), (x,), order=2, modes=("rev",))
    zeros = x.at[0, :2, 0].set(0)
    for axis in (1, None):
        expected = jax.grad(lambda x, a=axis: jnp.prod(x, a).sum())(zeros)
        close(jax.grad(lambda x, a=axis: wj.prod(x, a).sum())(zeros), expected)


def test_a_means_gradient_is_a_product_with_the_rounded_reciprocal() -> None:
    """Compiled or not, as in PyTorch."""
    slope = jnp.linspace(1, 2, 1000, dtype=jnp.float32)
    product = np.asarray(slope) * np.float32(1 / 7)
    assert (product != np.asarray(slope) / np.float32(7)).any()
    for dtype in (jnp.float32, jnp.bfloat16):
        x = jnp.zeros((1000, 7), dtype)
        back = jax.vjp(lambda x: wj.mean(x, 1, dtype=jnp.float32), x)[1]
        for found in (back(slope)[0], jax.jit(lambda slope, b=back: b(slope)[0])(slope)):
            assert found.dtype == dtype
            assert jnp.array_equal(found, jnp.broadcast_to(jnp.asarray(product, dtype)[:, None], (1000, 7)))


def test_a_row_has_the_same_bits_in_every_batch_and_as_a_numpy_array() -> None:
    for dtype in FLOATS:
        x = array(dtype, 33, 5003)
        plain = np.asarray(x)
        for mine, other in ((wj.softmax, warp_reduce.softmax), (wj.log_softmax, warp_reduce.log_softmax)):
            together = np.asarray(jax.jit(mine)(x))
            assert together.tobytes() == np.asarray(other(plain)).tobytes()
            assert np.asarray(mine(x[7:8]))[0].tobytes() == together[7].tobytes()
        for mine, other in ((wj.sum, warp_reduce.sum), (wj.mean, warp_reduce.mean)):
            together = np.asarray(jax.jit(lambda x, f=mine: f(x, axis=1))(x))
            assert together.tobytes() == np.asarray(other(plain, axis=1)).tobytes()
            assert np.asarray(mine(x[7])).tobytes() == together[7].tobytes()


def test_shard_map_works_on_each_shard() -> None:
    assert jax.device_count() == 2
    mesh = jax.make_mesh((2,), ("rows",), axis_types=(jax.sharding.AxisType.Auto,))
    rows = jax.sharding.PartitionSpec("rows")
    x = array(jnp.float32, 6, 1000)
    for function in (wj.softmax, lambda x: wj.sum(x, axis=1)):
        sharded = jax.shard_map(function, mesh=mesh, in_specs=rows, out_specs=rows, check_vma=False)
        assert jnp.array_equal(jax.jit(sharded)(x), function(x))


def test_errors_say_what_is_wrong() -> None:
    x = array(jnp.float32, 3, 4)
    with pytest.raises(ValueError, match="out of bounds"):
        wj.sum(x, axis=2)
    with pytest.raises(ValueError, match="duplicate"):
        wj.sum(x, axis=(0, -2))
    with pytest.raises(ValueError, match="no identity"):
        wj.max(jnp.zeros((0, 3)), axis=0)
    with pytest.raises(ValueError, match="ord must be"):
        wj.norm(x, 3)
    with pytest.raises(TypeError, match="complex"):
        wj.sum(jnp.ones(2, jnp.complex64))


def test_nothing_gives_what_it_gives() -> None:
    none = jnp.zeros((0, 3), jnp.float32)
    assert wj.sum(none, axis=0).tolist() == [0, 0, 0] and wj.prod(none, axis=0).tolist() == [1, 1, 1]
    assert bool(jnp.isnan(wj.mean(none, axis=0)).all()) and bool(jnp.isneginf(wj.logsumexp(none, axis=0)).all())
    assert wj.sum(none, axis=1).shape == (0,) and wj.softmax(none).shape == (0, 3)
    assert float(wj.sum(jnp.float32(3))) == 3 and float(wj.softmax(jnp.float32(3))) == 1


def test_docstrings() -> None:
    with jax.enable_x64(False):
        failed, tried = doctest.testmod(wj)
    assert tried and not failed


def test_the_page_of_jax() -> None:
    page = Path(os.environ["WARP_REDUCE_SOURCE"]) / "docs/jax.md"
    text = page.read_text(encoding="utf-8").replace("```python", "").replace("```", "")
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    assert test.examples
    with jax.enable_x64(False):
        assert not doctest.DocTestRunner().run(test).failed
