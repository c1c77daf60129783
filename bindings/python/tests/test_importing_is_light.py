"""`import warp_reduce` takes less than 100 ms and brings no framework, not even NumPy."""

from __future__ import annotations

import subprocess
import sys

TIMED = "import time; begun = time.process_time(); import warp_reduce; print(time.process_time() - begun)"
LISTED = "import sys; import warp_reduce; print(*sys.modules)"


def output(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


def test_it_is_quick() -> None:
    assert min(float(output(TIMED)) for _ in range(5)) < 0.1


def test_it_imports_no_framework() -> None:
    modules = set(output(LISTED).split())
    assert "warp_reduce._native" in modules
    assert not modules & {"numpy", "torch", "jax", "cupy", "ml_dtypes", "rich", "ctypes"}


def test_a_missing_library_is_said_when_it_is_needed() -> None:
    program = """
import os, warp_reduce
os.environ["WARP_REDUCE_LIBRARY"] = "/nowhere/libwarp_reduce.so"
for call in (warp_reduce.cuda_status, lambda: warp_reduce.sum([1.0])):
    try:
        call()
    except ImportError as error:
        print(error)
"""
    lines = output(program).splitlines()
    assert len(lines) == 2
    for line in lines:
        assert line.startswith("the library /nowhere/libwarp_reduce.so (from WARP_REDUCE_LIBRARY) could not be loaded")
