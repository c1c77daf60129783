"""JAX's arrays, on the device that they lie on, with NumPy's bits."""

from __future__ import annotations

import numpy as np
import pytest
import warp_reduce
from framework_arrays import X


def test_jax() -> None:
    jax = pytest.importorskip("jax")
    x = jax.numpy.asarray(X)
    for name in ("sum", "mean", "argmax", "any", "norm", "logsumexp", "softmax", "log_softmax"):
        result = getattr(warp_reduce, name)(x, axis=1)
        assert isinstance(result, jax.Array) and result.devices() == x.devices()
        expected = getattr(warp_reduce, name)(X, axis=1)
        assert np.asarray(result).tobytes() == expected.astype(result.dtype).tobytes()
    half = x.astype(jax.numpy.bfloat16)
    assert warp_reduce.max(half).dtype == half.dtype
    assert isinstance(warp_reduce.dot(x[0, :, 0], x[0, :, 0]), jax.Array)
    with pytest.raises(TypeError, match="out must be"):
        warp_reduce.sum(x, axis=0, out=x[0])
    with pytest.raises(Exception, match="traced"):
        jax.jit(warp_reduce.sum)(x)
