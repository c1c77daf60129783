"""warp_reduce.dask: the bits of the function of the whole array, for every chunking, on threads and on processes."""

from __future__ import annotations

import doctest
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask.array as da
import ml_dtypes
import numpy as np
import pytest
import warp_reduce
import warp_reduce.dask as wd
from dask.sizeof import sizeof

SHAPE = (7, 5, 1301)
CHUNKS = ((7, 5, 1301), (2, 5, 100), (7, 2, 1), (3, 2, 1024), (1, 1, 700))
AXES: tuple[Any, ...] = (None, 0, 1, 2, (0, 2), (1, 2), (0, 1, 2))
FUNCTIONS = ("sum", "prod", "mean", "min", "max", "any", "all", "count_nonzero", "norm", "logsumexp")


def array(dtype: Any, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    x = np.random.default_rng(len(shape)).standard_normal(shape) * 4
    return x.astype(dtype)


def chunked(x: np.ndarray, chunks: tuple[int, ...]) -> da.Array:
    """Chunks of one element along the last axis would be many: there they are of few and of many."""
    last: Any = (1, 1022, 1, 0, 277) if chunks[2] == 1 else chunks[2]
    return da.from_array(x, chunks=(*chunks[:2], last))


def same(found: Any, expected: Any) -> bool:
    found, expected = np.asarray(found), np.asarray(expected)
    return found.dtype == expected.dtype and found.shape == expected.shape and found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_reductions(name: str, chunks: tuple[int, ...]) -> None:
    x = array(np.float32)
    y = chunked(x, chunks)
    for axis in AXES:
        for keepdims in (False, True):
            found = getattr(wd, name)(y, axis=axis, keepdims=keepdims, **({"split_every": 2} if keepdims else {}))
            expected = getattr(warp_reduce, name)(x, axis=axis, keepdims=keepdims)
            assert found.shape == np.shape(expected) and found.dtype == expected.dtype
            assert same(found.compute(scheduler="sync"), expected), axis


@pytest.mark.parametrize("dtype", [np.float64, np.float16, ml_dtypes.bfloat16, np.int8, np.uint64, np.bool_])
def test_element_types(dtype: Any) -> None:
    x = array(dtype) if dtype not in (np.uint64,) else np.abs(array(np.float64)).astype(dtype)
    y = chunked(x, CHUNKS[3])
    for name in FUNCTIONS:
        for axis in (None, 1, (0, 2)):
            found = getattr(wd, name)(y, axis=axis)
            expected = getattr(warp_reduce, name)(x, axis=axis)
            assert found.dtype == expected.dtype
            assert same(found.compute(scheduler="sync"), expected), (name, axis)


def test_types_of_results() -> None:
    x, whole = array(np.float32), array(np.int32)
    for name, given, dtype in (
        ("sum", x, np.float64),
        ("sum", x, np.float16),
        ("sum", x, np.int32),
        ("mean", x, np.float64),
        ("norm", x, np.float64),
        ("sum", whole, np.float64),
        ("sum", whole, np.int32),
        ("prod", whole, np.uint8),
        ("mean", whole, np.float32),
    ):
        found = getattr(wd, name)(chunked(given, CHUNKS[1]), axis=2, dtype=dtype).compute(scheduler="sync")
        assert same(found, getattr(warp_reduce, name)(given, axis=2, dtype=dtype)), (name, dtype)


@pytest.mark.parametrize("chunks", CHUNKS)
def test_indices_count_through_the_whole_array(chunks: tuple[int, ...]) -> None:
    x = np.round(array(np.float32))
    for name in ("argmin", "argmax"):
        for axis in AXES:
            found = getattr(wd, name)(chunked(x, chunks), axis=axis)
            assert same(found.compute(scheduler="sync"), getattr(warp_reduce, name)(x, axis=axis)), axis


@pytest.mark.parametrize("chunks", CHUNKS)
def test_exact_sums_norms_and_dots(chunks: tuple[int, ...]) -> None:
    x = array(np.float64) * 2.0 ** np.linspace(-300, 300, SHAPE[2])
    y, vector = chunked(x, chunks), x[0, 0]
    for axis in (None, 2, (0, 2)):
        for ord in (1, 2, np.inf):
            found = wd.norm(y, axis=axis, ord=ord).compute(scheduler="sync")
            assert same(found, warp_reduce.norm(x, axis=axis, ord=ord))
        found = wd.sum(y, axis, exact=True).compute(scheduler="sync")
        assert same(found, warp_reduce.sum(x, axis, exact=True))
    for exact in (False, True):
        found = wd.dot(y, vector, exact=exact).compute(scheduler="sync")
        assert same(found, warp_reduce.dot(x, vector, exact=exact))
    assert int(wd.sum(da.ones(5, dtype=np.int16, chunks=2), exact=True)) == 5


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("chunks", CHUNKS)
def test_softmax(chunks: tuple[int, ...], dtype: Any) -> None:
    x = array(dtype, (3, 5, 3301))
    y = chunked(x, chunks) if chunks[2] != 1 else da.from_array(x, chunks=(3, 2, (1, 3000, 300)))
    for name in ("softmax", "log_softmax"):
        for axis in (-1, 1, (1, 2), None):
            found = getattr(wd, name)(y, axis, scale=0.5)
            assert found.shape == x.shape and found.dtype == dtype
            assert same(found.compute(scheduler="sync"), getattr(warp_reduce, name)(x, axis, scale=0.5)), axis
    found = wd.softmax(y, dtype=np.float32).compute(scheduler="sync") if dtype != np.float64 else None
    assert found is None or same(found, warp_reduce.softmax(x, dtype=np.float32))


def test_nothing_is_computed_before_it_is_asked_for() -> None:
    def load(block_info: Any = None) -> np.ndarray:
        raise RuntimeError("loaded")

    x = da.map_blocks(load, chunks=((5, 5), (2048, 100)), dtype=np.float32)
    lazy = [wd.sum(x), wd.softmax(x), wd.argmax(x, 1), wd.sum(x, exact=True), wd.dot(x, np.ones(2148, np.float32))]
    for each in lazy:
        with pytest.raises(RuntimeError, match="loaded"):
            each.compute(scheduler="sync")


def test_empty_arrays_and_chunks() -> None:
    none = da.zeros((0, 3), chunks=(1, 2))
    assert same(wd.sum(none, 0).compute(), np.zeros(3)) and np.isnan(wd.mean(none).compute())
    for function in (wd.min, wd.max, wd.argmin, wd.argmax):
        with pytest.raises(ValueError, match="zero-size array"):
            function(none, 0)
    x = np.array([3.0, 1.0, 2.0])
    gaps = da.from_array(x, chunks=((0, 1, 0, 2, 0),))
    for name in ("sum", "min", "max", "argmin", "argmax", "mean"):
        assert same(getattr(wd, name)(gaps).compute(scheduler="sync"), getattr(warp_reduce, name)(x))
    assert same(wd.sum(da.from_array(x), axis=()).compute(), x)


def test_what_cannot_be_is_refused_at_once() -> None:
    x = da.ones((4, 4), chunks=2)
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        wd.sum(x[x > 0])
    with pytest.raises(np.exceptions.AxisError):
        wd.sum(x, axis=2)
    with pytest.raises(ValueError, match="ord"):
        wd.norm(x, ord=3)
    with pytest.raises(ValueError, match="differ"):
        wd.dot(x, np.ones(3))
    with pytest.raises(TypeError, match="not taken"):
        wd.sum(x.astype(np.complex128))


def test_what_a_state_takes_is_known_and_travels_without_a_copy() -> None:
    state = warp_reduce.state("sum", array(np.float32, (32, 50_000)), axis=0)
    assert 200_000 < sizeof(state) < 201_000
    buffers: list[Any] = []
    rest = pickle.dumps(state, protocol=5, buffer_callback=buffers.append)
    assert len(rest) < 1000 and [each.raw().nbytes for each in buffers] == [state.nbytes]
    assert pickle.loads(rest, buffers=buffers) == state


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    from distributed import Client, LocalCluster

    how = {"n_workers": 3, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with LocalCluster(**how) as processes, Client(processes) as client:
        yield client


def test_a_cluster_of_processes_has_the_same_bits(cluster: Any) -> None:
    x = array(np.float32, (33, 20011))
    y = da.from_array(x, chunks=(10, 3000))
    jobs = {
        "sum": (wd.sum(y), warp_reduce.sum(x)),
        "mean": (wd.mean(y, 1), warp_reduce.mean(x, 1)),
        "argmax": (wd.argmax(y), warp_reduce.argmax(x)),
        "exact": (wd.sum(y, 1, exact=True), warp_reduce.sum(x, 1, exact=True)),
        "norm": (wd.norm(y, axis=0), warp_reduce.norm(x, axis=0)),
        "softmax": (wd.softmax(y), warp_reduce.softmax(x)),
    }
    found = cluster.gather(cluster.compute([each for each, _ in jobs.values()]))
    for name, one in zip(jobs, found):
        assert same(one, jobs[name][1]), name


def test_axes_of_chunks_whose_rows_do_not_touch() -> None:
    for dtype in (np.float32, np.int32):
        x = array(dtype, (40, 30, 50))
        y = da.from_array(x, chunks=(13, 11, 17))
        for name in ("min", "max", "any", "all", "count_nonzero", "sum", "prod"):
            for axis in (None, (0, 1), (1, 2), (0, 2)):
                found = getattr(wd, name)(y, axis=axis, keepdims=axis is None).compute(scheduler="sync")
                assert same(found, getattr(warp_reduce, name)(x, axis=axis, keepdims=axis is None)), (name, axis)


def test_the_example_stays_within_its_memory() -> None:
    """An array of five times what the process may have at all."""
    program = Path(os.environ["WARP_REDUCE_SOURCE"], "examples", "dask_beyond_memory.py")
    command = [sys.executable, str(program), "--gigabytes", "4", "--memory", "0.8"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "Completed" in done.stdout and "other chunks, the same bits: True" in done.stdout


def test_examples() -> None:
    failed, tried = doctest.testmod(wd)
    assert tried and not failed
