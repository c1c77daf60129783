"""The limits that threadpoolctl, joblib and Dask set hold for the host device, whichever is imported first."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def output(program: str, **environment: str) -> list[str]:
    inherited = {
        name: value for name, value in os.environ.items() if name not in ("OMP_NUM_THREADS", "WARP_REDUCE_THREADS")
    }
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={**inherited, **environment}
    )
    return run.stdout.split()


IMPORTS = ["import warp_reduce, threadpoolctl", "import threadpoolctl, warp_reduce"]


@pytest.mark.parametrize("imports", IMPORTS)
def test_threadpoolctl_limits_and_takes_back(imports: str) -> None:
    program = f"""
{imports}
with threadpoolctl.threadpool_limits(1):
    print(warp_reduce.host.threads)
    print(warp_reduce.sum([1.0, 2.0]))
print(warp_reduce.host.threads)
with threadpoolctl.threadpool_limits(1, user_api="blas"):
    print(warp_reduce.host.threads)
with threadpoolctl.threadpool_limits({{"warp_reduce": 1}}):
    print(warp_reduce.host.threads)
"""
    allowed = str(warp_threads())
    assert output(program) == ["1", "3.0", allowed, allowed, "1"]


def warp_threads() -> int:
    return int(output("import warp_reduce; print(warp_reduce.host.threads)")[0])


def test_threadpoolctl_lists_it_once() -> None:
    program = """
import threadpoolctl, warp_reduce, numpy
for each in threadpoolctl.threadpool_info():
    if each["user_api"] == "warp_reduce":
        print(each["num_threads"], each["version"] == warp_reduce.library_version())
"""
    assert output(program) == [str(warp_threads()), "True"]


def test_threadpoolctl_goes_on_where_the_library_is_missing() -> None:
    program = """
import threadpoolctl, warp_reduce
with threadpoolctl.threadpool_limits(1):
    print("on")
"""
    assert output(program, WARP_REDUCE_LIBRARY="/nowhere/libwarp_reduce.so") == ["on"]


def test_joblib_limits_its_workers() -> None:
    program = """
import joblib

def threads():
    import warp_reduce
    return warp_reduce.host.threads

with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
    print(*joblib.Parallel(n_jobs=2)(joblib.delayed(threads)() for _ in range(2)))
"""
    assert output(program) == ["1", "1"]


def test_what_dask_sets_for_its_workers_counts() -> None:
    """distributed.nanny.pre-spawn-environ has OMP_NUM_THREADS=1; the package's own variable comes before it."""
    program = "import warp_reduce; print(warp_reduce.host.threads)"
    assert output(program, OMP_NUM_THREADS="1") == ["1"]
    assert output(program, OMP_NUM_THREADS="1", WARP_REDUCE_THREADS="0") == [str(warp_threads())]
