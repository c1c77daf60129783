"""Arrays of PyTorch, CuPy and of frameworks that are not known: where they lie, with NumPy's bits, as what they are.

What is not installed, or has no GPU, is listed as not run.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest
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


class Lent:
    """An array of a framework that nobody knows."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __dlpack__(self, **options: Any) -> Any:
        return self.x.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.x.__dlpack_device__()


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


def test_pytorch_on_the_cpu() -> None:
    torch = pytest.importorskip("torch")
    check_all(torch, torch.from_numpy)
    half = torch.from_numpy(X).bfloat16()
    assert warp_reduce.sum(half).dtype == torch.bfloat16
    assert warp_reduce.sum(half, dtype=torch.float32).dtype == torch.float32
    with pytest.raises(TypeError, match=r"give x\.detach\(\)"):
        warp_reduce.sum(torch.ones(3, requires_grad=True))


def test_pytorch_on_a_gpu() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available() or not warp_reduce.cuda_status():
        pytest.skip("there is no GPU that PyTorch and the library can use")
    check_all(torch, lambda x: torch.from_numpy(x).cuda())
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        on_stream = warp_reduce.softmax(torch.from_numpy(X).cuda())
    stream.synchronize()
    assert bits(on_stream) == bits(warp_reduce.softmax(X))
    last = torch.device("cuda", torch.cuda.device_count() - 1)
    assert warp_reduce.sum(torch.from_numpy(X).to(last), axis=0).device == last


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


def test_cupy() -> None:
    cupy = pytest.importorskip("cupy")
    if not cupy.cuda.is_available() or not warp_reduce.cuda_status():
        pytest.skip("there is no GPU that CuPy and the library can use")
    check_all(cupy, cupy.asarray)


def test_an_unknown_framework_on_the_cpu() -> None:
    assert bits(warp_reduce.sum(Lent(X), axis=1)) == bits(warp_reduce.sum(X, axis=1))


def test_an_unknown_framework_on_a_gpu() -> None:
    class Array:
        __cuda_array_interface__ = {"shape": (2,), "typestr": "<f4", "data": (4096, False), "version": 3}

    if any(importlib.util.find_spec(name) for name in ("cupy", "torch")):
        pytest.skip("CuPy or PyTorch is here and would take it")
    with pytest.raises(TypeError, match="need CuPy or PyTorch"):
        warp_reduce.sum(Array())
