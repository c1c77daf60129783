"""What PyTorch takes for the jobs of gpu_bench: medians of CUDA-event timings, in lines of the same form."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable

NOT_RUN = 77

try:
    import torch
except ImportError:
    print("peers: not run: PyTorch is not installed")
    sys.exit(NOT_RUN)

GIB = 1 << 30
SAMPLES = 11
WARM_UPS = 2


def microseconds(job: Callable[[], object], calls: int) -> float:
    """Of one call, called back to back `calls` times; the median of the samples."""
    times = []
    for _ in range(WARM_UPS + SAMPLES):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(calls):
            job()
        end.record()
        end.synchronize()
        times.append(1e3 * begin.elapsed_time(end) / calls)
    return statistics.median(times[WARM_UPS:])


def run(name: str, bytes_moved: int, job: Callable[[], object]) -> None:
    us = microseconds(job, 200 if bytes_moved < 1e8 else 4)
    print(f"torch {name:<36} {us:10.2f} us {bytes_moved / us * 1e-6:6.2f} TB/s", flush=True)


def whole_arrays(values: torch.Tensor) -> None:
    print("\nsum of the whole array")
    total = torch.empty((), device="cuda")
    for n in (GIB, GIB // 4, 100_000_000):
        array = values[:n]
        run(f"sum f32 {n}", 4 * n, lambda array=array: torch.sum(array, 0, out=total))
    for log2 in (14, 16, 18, 20, 22):
        array = values[: 1 << log2]
        run(f"sum f32 2^{log2}", 4 << log2, lambda array=array: torch.sum(array, 0, out=total))
    for dtype, name in ((torch.bfloat16, "bf16"), (torch.float16, "f16")):
        array = torch.rand(2 * GIB, device="cuda", dtype=dtype)
        run(
            f"sum {name} 2^31 into f32",
            4 * GIB,
            lambda array=array: torch.sum(array, 0, dtype=torch.float32, out=total),
        )
        del array


def rows_and_columns(values: torch.Tensor) -> None:
    print("\nrows, f32")
    shapes = [(GIB // 64, 32), (GIB // 256, 128), (GIB // 2048, 1024), (65536, 8192), (16, GIB // 64)]
    for rows, width in [*shapes, (GIB // 2000, 1000), (GIB // 66, 33)]:
        matrix = values[: rows * width].view(rows, width)
        sums = torch.empty(rows, device="cuda")
        moved = 4 * rows * (width + 1)
        run(f"rows {rows} x {width}", moved, lambda matrix=matrix, sums=sums: torch.sum(matrix, 1, out=sums))
    print("\ncolumns, f32")
    for rows, width in [(GIB // 64, 32), (GIB // 2048, 1024), (32768, 16384), (GIB // 512, 128)]:
        matrix = values[: rows * width].view(rows, width)
        sums = torch.empty(width, device="cuda")
        moved = 4 * (rows + 1) * width
        run(f"columns {rows} x {width}", moved, lambda matrix=matrix, sums=sums: torch.sum(matrix, 0, out=sums))


def softmaxes(dtype: torch.dtype, name: str) -> None:
    print(f"\nsoftmax {name}, 2 GiB in and 2 GiB out")
    size = dtype.itemsize
    total = 2 * GIB // size
    values = torch.empty(total, device="cuda", dtype=dtype).uniform_(-4, 4)
    results = torch.empty_like(values)
    for width in [*(1 << log2 for log2 in range(10, 19)), 1000, 32000, 50257]:
        rows = total // width
        matrix, out = (buffer[: rows * width].view(rows, width) for buffer in (values, results))
        run(
            f"softmax {name} {rows} x {width}",
            2 * rows * width * size,
            lambda matrix=matrix, out=out: torch.softmax(matrix, 1, out=out),
        )
    matrix, out = values.view(-1, 4096), results.view(-1, 4096)
    run(f"log-softmax {name} x 4096", 4 * GIB, lambda: torch.log_softmax(matrix, 1, out=out))
    across, out_across = values.view(4096, -1), results.view(4096, -1)
    run(
        f"softmax {name} axis 0, 4096 x {total // 4096}",
        4 * GIB,
        lambda: torch.softmax(across, 0, out=out_across),
    )


def main() -> None:
    if not torch.cuda.is_available():
        print("peers: not run: PyTorch sees no GPU")
        sys.exit(NOT_RUN)
    device = torch.cuda.get_device_name()
    print(f"{device}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}; medians of {SAMPLES} samples")
    values = torch.rand(GIB, device="cuda")
    whole_arrays(values)
    rows_and_columns(values)
    del values
    softmaxes(torch.float32, "f32")
    softmaxes(torch.bfloat16, "bf16")


if __name__ == "__main__":
    main()
