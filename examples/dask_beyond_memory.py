"""Sums an array of many times the memory that this process may use, by Dask, beside dask.array.sum.

    python examples/dask_beyond_memory.py                  8 GB, in a process that may use 1 GB
    python examples/dask_beyond_memory.py --gigabytes 100 --memory 4

It needs warp_reduce, dask[array] and NumPy. The chunks are made when they are needed, and forgotten.
"""

from __future__ import annotations

import argparse
import resource
import time
from typing import Any

import dask.array as da
import numpy as np
from dask.diagnostics import ProgressBar

ROWS, COLUMNS = 2000, 5000  # of a chunk of f32: 40 MB


def chunk(block_id: tuple[int, int]) -> np.ndarray:
    random = np.random.Generator(np.random.SFC64(block_id))
    return random.random((ROWS, COLUMNS), dtype=np.float32)


def timed(what: str, result: Any, gigabytes: float) -> float:
    began = time.perf_counter()
    with ProgressBar():
        found = result.compute()
    seconds = time.perf_counter() - began
    print(f"{what}: {found!r}, {gigabytes:.1f} GB in {seconds:.1f} s, {gigabytes / seconds:.2f} GB/s")
    return float(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--gigabytes", type=float, default=8)
    parser.add_argument("--memory", type=float, default=1, help="GB that the process may use")
    asked = parser.parse_args()
    limit = int(asked.memory * 1e9)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))

    # Behind the limit: the library's threads need memory too.
    import warp_reduce.dask as wd

    blocks = max(1, round(asked.gigabytes * 1e9 / (4 * ROWS * COLUMNS)))
    chunks = ((ROWS,) * blocks, (COLUMNS,))
    x = da.map_blocks(chunk, chunks=chunks, dtype=np.float32, meta=np.empty((0, 0), np.float32))
    gigabytes = x.nbytes / 1e9
    print(f"{gigabytes:.1f} GB in {blocks} chunks, of which {asked.memory:.1f} GB may be in memory")
    timed("dask.array.sum", da.sum(x), gigabytes)
    once = timed("warp_reduce.dask.sum", wd.sum(x), gigabytes)
    exact = timed("warp_reduce.dask.sum, exact", wd.sum(x, exact=True), gigabytes)
    again = timed("warp_reduce.dask.sum of other chunks", wd.sum(x.rechunk((ROWS // 2 - 300, COLUMNS))), gigabytes)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"other chunks, the same bits: {once == again}; exact: {exact!r}; {peak:.2f} GB were used at most")


if __name__ == "__main__":
    main()
