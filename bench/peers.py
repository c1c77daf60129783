"""What PyTorch takes for the jobs of gpu_bench and softmax_bench: medians of CUDA-event timings, in lines like theirs.

A line of `compiled` is what torch.compile made of the same function.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial

try:
    import torch
except ImportError:
    torch = None

NOT_RUN = 77
GIB = 1 << 30
SAMPLES = 11
WARM_UPS = 2
REST_SECONDS = 0.1  # before each job, as the benchmarks have it
WIDTHS = [1 << log2 for log2 in range(5, 21)]
AWKWARD_WIDTHS = [33, 768, 1000, 5000, 32000, 50257]
FEW_ROWS = [(1, 32000), (1, 131072), (1, 262144), (1, 1 << 27), (32, 32000), (64, 131072)]


def microseconds(job: Callable[[], object], calls: int) -> float:
    """Of one call, called back to back `calls` times; the median of the samples."""
    torch.cuda.synchronize()
    time.sleep(REST_SECONDS)
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


def run(name: str, bytes_moved: int, job: Callable[[], object], who: str = "torch") -> None:
    us = microseconds(job, 200 if bytes_moved < 1e8 else 4)
    print(f"{who} {name:<36} {us:10.2f} us {bytes_moved / us * 1e-6:6.2f} TB/s", flush=True)


# ---- sums


def whole_arrays() -> None:
    print("\nsum of the whole array")
    values = torch.rand(GIB, device="cuda")
    total = torch.empty((), device="cuda")
    for n in (GIB, GIB // 4, 100_000_000):
        array = values[:n]
        run(f"sum f32 {n}", 4 * n, partial(torch.sum, array, 0, out=total))
    for log2 in (14, 16, 18, 20, 22):
        array = values[: 1 << log2]
        run(f"sum f32 2^{log2}", 4 << log2, partial(torch.sum, array, 0, out=total))
    for dtype, name in ((torch.bfloat16, "bf16"), (torch.float16, "f16")):
        array = torch.rand(2 * GIB, device="cuda", dtype=dtype)
        run(f"sum {name} 2^31 into f32", 4 * GIB, partial(torch.sum, array, 0, dtype=torch.float32, out=total))
        del array


def rows_and_columns() -> None:
    print("\nrows, f32")
    values = torch.rand(GIB, device="cuda")
    shapes = [(GIB // 64, 32), (GIB // 256, 128), (GIB // 2048, 1024), (65536, 8192), (16, GIB // 64)]
    for rows, width in [*shapes, (GIB // 2000, 1000), (GIB // 66, 33)]:
        matrix = values[: rows * width].view(rows, width)
        sums = torch.empty(rows, device="cuda")
        moved = 4 * rows * (width + 1)
        run(f"rows {rows} x {width}", moved, partial(torch.sum, matrix, 1, out=sums))
    print("\ncolumns, f32")
    for rows, width in [(GIB // 64, 32), (GIB // 2048, 1024), (32768, 16384), (GIB // 512, 128)]:
        matrix = values[: rows * width].view(rows, width)
        sums = torch.empty(width, device="cuda")
        moved = 4 * (rows + 1) * width
        run(f"columns {rows} x {width}", moved, partial(torch.sum, matrix, 0, out=sums))


# ---- softmax, each of one type


def logits(dtype: torch.dtype) -> torch.Tensor:
    """2 GiB of them."""
    return torch.empty(2 * GIB // dtype.itemsize, device="cuda", dtype=dtype).uniform_(-4, 4)


def rows_of(buffer: torch.Tensor, width: int) -> torch.Tensor:
    rows = buffer.numel() // width
    return buffer[: rows * width].view(rows, width)


def softmax_of_rows(dtype: torch.dtype, name: str) -> None:
    print(f"\nsoftmax {name}, 2 GiB in and 2 GiB out")
    values = logits(dtype)
    results = torch.empty_like(values)
    for width in [*WIDTHS, *AWKWARD_WIDTHS]:
        matrix, out = rows_of(values, width), rows_of(results, width)
        moved = 2 * matrix.numel() * dtype.itemsize
        job = partial(torch.softmax, matrix, 1, out=out)
        run(f"softmax {name} {len(matrix)} x {width}", moved, job)
    matrix, out = rows_of(values, 4096), rows_of(results, 4096)
    run(f"log-softmax {name} {len(matrix)} x 4096", 4 * GIB, partial(torch.log_softmax, matrix, 1, out=out))


def compiled_softmax_of_rows(dtype: torch.dtype, name: str) -> None:
    """One kernel for each length: what is compiled for any length would be slower."""
    print(f"\ntorch.compile(softmax) {name}, 2 GiB in and 2 GiB out")
    values = logits(dtype)
    for width in WIDTHS:
        matrix = rows_of(values, width)
        torch._dynamo.reset()
        function = torch.compile(lambda x: torch.softmax(x, 1), dynamic=False)
        name_of_job = f"softmax {name} {len(matrix)} x {width}"
        run(name_of_job, 4 * GIB, partial(function, matrix), "compiled")


def softmax_of_few_rows(dtype: torch.dtype, name: str) -> None:
    print(f"\nsoftmax of few rows, {name}")
    values = logits(dtype)
    results = torch.empty_like(values)
    for rows, width in FEW_ROWS:
        matrix, out = (buffer[: rows * width].view(rows, width) for buffer in (values, results))
        moved = 2 * rows * width * dtype.itemsize
        job = partial(torch.softmax, matrix, 1, out=out)
        run(f"softmax {name} {rows} x {width}", moved, job)


def softmax_of_columns(dtype: torch.dtype, name: str) -> None:
    print(f"\nsoftmax of columns, {name}, 2 GiB in and 2 GiB out")
    values = logits(dtype)
    results = torch.empty_like(values)
    for height in (1024, 4096, 32768):
        matrix, out = values.view(height, -1), results.view(height, -1)
        job = partial(torch.softmax, matrix, 0, out=out)
        run(f"softmax of axis 0, {name} {height} x {matrix.shape[1]}", 4 * GIB, job)


def softmax_of_channels(dtype: torch.dtype, name: str) -> None:
    print(f"\nsoftmax of an image's channels, {name}: arrays of 2 GiB")
    values, gradients_of_outputs = logits(dtype), logits(dtype)
    results = torch.empty_like(values)
    pixels = 65536
    for channels in (2, 4, 8, 21, 64, 150, 512):
        images = values.numel() // channels // pixels
        shape = (images, channels, pixels)
        elements = images * channels * pixels
        array, given, out = (buffer[:elements].view(shape) for buffer in (values, gradients_of_outputs, results))
        moved = elements * dtype.itemsize
        of = f"of {channels} channels, {name}, {pixels} pixels"
        run(f"softmax {of}", 2 * moved, partial(torch.softmax, array, 1, out=out))
        run(f"log-softmax {of}", 2 * moved, partial(torch.log_softmax, array, 1, out=out))
        run(f"backward {of}", 3 * moved, partial(torch._softmax_backward_data, given, array, 1, array.dtype))


def gradients(dtype: torch.dtype, name: str) -> None:
    print(f"\nsoftmax's gradient from outputs, {name}: 3 arrays of 2 GiB")
    outputs, output_gradients = logits(dtype), logits(dtype)
    for width in [1 << log2 for log2 in range(10, 19)]:
        saved, given = rows_of(outputs, width), rows_of(output_gradients, width)
        job = partial(torch._softmax_backward_data, given, saved, 1, saved.dtype)
        run(f"backward {name} {len(saved)} x {width}", 6 * GIB, job)


def logsumexps(dtype: torch.dtype, name: str) -> None:
    print(f"\nlogsumexp, {name}, 2 GiB")
    values = logits(dtype)
    for width in [1 << log2 for log2 in range(5, 21, 5)]:
        matrix = rows_of(values, width)
        moved = (matrix.numel() + len(matrix)) * dtype.itemsize
        run(f"logsumexp {name} {len(matrix)} x {width}", moved, partial(torch.logsumexp, matrix, 1))


SUMS = {"whole": whole_arrays, "lines": rows_and_columns}
SOFTMAXES = {
    "rows": softmax_of_rows,
    "compiled": compiled_softmax_of_rows,
    "few": softmax_of_few_rows,
    "columns": softmax_of_columns,
    "channels": softmax_of_channels,
    "backward": gradients,
    "logsumexp": logsumexps,
}
EPILOG = """parts:
  whole      sums of whole arrays          lines      sums of rows and of columns
  rows       softmax of rows of 32 to 2^20, and of awkward lengths
  compiled   torch.compile(softmax) of the same; compiles a minute and more
  few        softmax of few rows           columns    softmax along axis 0
  channels   softmax of an image's channels, and its gradient
  backward   softmax's gradient            logsumexp  logsumexp of rows

examples:
  bench/peers.py
  bench/peers.py rows compiled > peers.txt       for wr bench softmax --plot rates.svg --peers peers.txt"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = [*SUMS, *SOFTMAXES]
    parser.add_argument("part", nargs="*", metavar="PART", help="what to time; without one all but 'compiled'")
    asked = parser.parse_args().part or [part for part in parts if part != "compiled"]
    unknown = [part for part in asked if part not in parts]
    if unknown:
        parser.error(f"'{unknown[0]}' is no part; the parts are {', '.join(parts)}")
    if torch is None or not torch.cuda.is_available():
        print(f"peers: not run: PyTorch {'is not installed' if torch is None else 'sees no GPU'}")
        sys.exit(NOT_RUN)
    device = torch.cuda.get_device_name()
    print(f"{device}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}; medians of {SAMPLES} samples")
    for part in asked:
        if part in SUMS:
            SUMS[part]()
            continue
        for dtype, name in ((torch.float32, "f32"), (torch.bfloat16, "bf16")):
            SOFTMAXES[part](dtype, name)


if __name__ == "__main__":
    main()
