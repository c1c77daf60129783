"""CuPy's arrays, on their GPU, with NumPy's bits."""

from __future__ import annotations

import pytest
import warp_reduce
from framework_arrays import check_all


def test_cupy() -> None:
    cupy = pytest.importorskip("cupy")
    if not cupy.cuda.is_available() or not warp_reduce.cuda_status():
        pytest.skip("there is no GPU that CuPy and the library can use")
    check_all(cupy, cupy.asarray)
