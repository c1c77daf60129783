"""Strides that the library can walk cost no memory but the result's."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
import warp_reduce

X = np.ones((256, 512, 8), np.float32)
SMALL = 64 << 10


def memory_of(call: Callable[[], object]) -> int:
    call()
    tracemalloc.start()
    call()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize(
    "call",
    [
        lambda: warp_reduce.sum(X, axis=(0, 1)),
        lambda: warp_reduce.sum(X, axis=(1, 2)),
        lambda: warp_reduce.max(X.T, axis=(0, 1)),
        lambda: warp_reduce.sum(X.view(np.int32).T, axis=(0, 1)),
        lambda: warp_reduce.sum(X[::2, ::-1], axis=1),
        lambda: warp_reduce.sum(X[:, :, 3]),
        lambda: warp_reduce.max(X.transpose(1, 0, 2), axis=1),
        lambda: warp_reduce.argmax(X[:, ::3, 0], axis=1),
        lambda: warp_reduce.mean(X.transpose(2, 0, 1)[::-1], axis=0, out=np.empty((256, 512), np.float32)),
        lambda: warp_reduce.sum(X, dtype=np.float64),
        lambda: warp_reduce.sum(np.broadcast_to(X[0], (256, 512, 8)), axis=0),
        lambda: warp_reduce.max(np.broadcast_to(X[0, 0], (256, 512, 8)), axis=(0, 1)),
        lambda: warp_reduce.argmax(np.broadcast_to(X[:, :1, 0], (256, 4096)), axis=1),
    ],
)
def test_no_copy_of_the_input(call: Callable[[], object]) -> None:
    assert memory_of(call) < SMALL + 256 * 512 * 4 + 2000 < X.nbytes / 4


def test_softmax_makes_its_result_alone() -> None:
    for x in (X.T, X[:, :, ::-1], X.transpose(1, 0, 2), np.broadcast_to(X[0], X.shape)):
        assert memory_of(lambda x=x: warp_reduce.softmax(x)) < x.size * 4 + SMALL
