"""NumPy's functions of this package take PyTorch's tensors, on the CPU and on GPUs, with NumPy's bits."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
import warp_reduce

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from framework_arrays import X, bits, check_all  # noqa: E402


def test_pytorch_on_the_cpu() -> None:
    check_all(torch, torch.from_numpy)
    half = torch.from_numpy(X).bfloat16()
    assert warp_reduce.sum(half).dtype == torch.bfloat16
    assert warp_reduce.sum(half, dtype=torch.float32).dtype == torch.float32
    with pytest.raises(TypeError, match=r"give x\.detach\(\)"):
        warp_reduce.sum(torch.ones(3, requires_grad=True))


def test_pytorch_on_a_gpu() -> None:
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
