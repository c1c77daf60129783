#!/usr/bin/env python3
"""What a call from Python costs beside the C call inside it, of small arrays, with the framework's own beside it."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent / "build" / "lib" / "wr"))

import warp_reduce as wr  # noqa: E402
from warp_reduce._arrays import adopt  # noqa: E402
from warp_reduce._library import (  # noqa: E402
    Args,
    ReduceArgs,
    SegmentsArgs,
    SoftmaxArgs,
    SoftmaxBackwardArgs,
    load_library,
)
from warp_reduce._operators import OPERATORS  # noqa: E402

F32, F64 = 1, 2
CALLS_A_ROUND, ROUNDS, GPU_ROUNDS = 2000, 15, 5

EPILOG = """Microseconds of the processor, the least of several rounds in turns. The C call is the library's, of the
same job with its arguments in place; Python asks for it in 0.1 us, which are in the figure.

example:
  bench/python_calls.py
  bench/python_calls.py --framework cupy --framework torch      arrays of 4 x 64 on the GPU, launches included"""


def jobs() -> list[tuple[str, Callable[[], object], Args, Callable[[], object] | None]]:
    x, out = np.linspace(0, 1, 64, dtype=np.float32), np.empty(64, np.float32)
    square, mask, offsets = x.reshape(8, 8), x > 0.5, np.array([0, 3, 64])
    shape = {"outer": 1, "axis": 64, "inner": 1}
    pointers = {"dtype": F32, "input": x.ctypes.data, "output": out.ctypes.data}
    rows = {"dtype": F32, "output": x.ctypes.data, "output_gradient": x.ctypes.data, "input_gradient": out.ctypes.data}

    def reduction(operator: str = "sum", **fields: int) -> ReduceArgs:
        return ReduceArgs(op=OPERATORS[operator], **{**pointers, **shape, **fields})

    columns = {"outer": 1, "axis": 8, "inner": 8}
    segments = SegmentsArgs(op=1, **pointers, offsets=offsets.ctypes.data, segments=2, input_count=64)
    softmax = SoftmaxArgs(**pointers, **shape)
    masked = SoftmaxArgs(**pointers, **shape, mask=mask.ctypes.data)
    return [
        ("sum(x)", lambda: wr.sum(x), reduction(), lambda: np.sum(x)),
        ("sum(x, axis=0)", lambda: wr.sum(square, axis=0), reduction(**columns), lambda: np.sum(square, axis=0)),
        ("sum(x, axis=(0, 1))", lambda: wr.sum(square, (0, 1)), reduction(), lambda: np.sum(square, (0, 1))),
        (
            "sum(x, dtype=float64)",
            lambda: wr.sum(x, dtype=np.float64),
            reduction(output_dtype=F64, accumulate_dtype=F64),
            lambda: np.sum(x, dtype=np.float64),
        ),
        (
            "max(x, axis=0, out=y)",
            lambda: wr.max(square, 0, out[:8]),
            reduction("max", **columns),
            lambda: np.max(square, 0, out[:8]),
        ),
        ("sum(x, where=m)", lambda: wr.sum(x, where=mask), reduction(), lambda: np.sum(x, where=mask)),
        ("dot(x, y)", lambda: wr.dot(x, x), reduction(weights=x.ctypes.data, weights_dtype=F32), lambda: np.dot(x, x)),
        (
            "segment_reduce",
            lambda: wr.segment_reduce("sum", x, offsets),
            segments,
            lambda: np.add.reduceat(x, offsets[:2]),
        ),
        ("softmax(x)", lambda: wr.softmax(x), softmax, None),
        ("softmax(x, mask=m)", lambda: wr.softmax(x, mask=mask), masked, None),
        ("softmax_backward(y, dy)", lambda: wr.softmax_backward(x, x), SoftmaxBackwardArgs(**rows, **shape), None),
    ]


def on_gpu(name: str) -> tuple[Any, Callable[[], None]]:
    """4 x 64 floats, and what waits for the GPU."""
    if name == "cupy":
        import cupy

        return cupy.linspace(0, 1, 256, dtype="f4").reshape(4, 64), cupy.cuda.get_current_stream().synchronize
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.linspace(0, 1, 256, device=device).reshape(4, 64), torch.cuda.synchronize if device == "cuda" else None


def framework_jobs(
    name: str, x: Any, y: Any
) -> list[tuple[str, Callable[[], object], Args, Callable[[], object] | None]]:
    mask, framework = x > 0.5, adopt(x)[0]
    wr.sum(x)
    pointers = {"dtype": F32, "input": framework.pointer(x), "output": framework.pointer(y)}
    rows = {"outer": 4, "axis": 64, "inner": 1}
    own_softmax = (lambda: x.softmax(1)) if name == "torch" else None
    return [
        ("sum(x, 1)", lambda: wr.sum(x, 1), ReduceArgs(op=1, **pointers, **rows), lambda: x.sum(1)),
        ("argmax(x, 1)", lambda: wr.argmax(x, 1), ReduceArgs(op=6, **pointers, **rows), lambda: x.argmax(1)),
        ("softmax(x)", lambda: wr.softmax(x), SoftmaxArgs(**pointers, **rows), own_softmax),
        ("sum(x, 1, where=m)", lambda: wr.sum(x, 1, where=mask), ReduceArgs(op=1, **pointers, **rows), None),
    ]


def show_framework(name: str) -> None:
    library = load_library()
    x, wait = on_gpu(name)
    y, framework = x + 0, adopt(x)[0]
    print(f"{name + ', 4 x 64 floats':26s}{'Python':>8s}{'C call':>8s}{'over it':>9s}{'its own':>8s}   us")
    with framework.device(x):
        for title, ours, args, theirs in framework_jobs(name, x, y):
            python, c, own = least([ours, library.prepared(args, framework.stream(x)), theirs], wait)
            beside = f"{own:8.2f}" if theirs else ""
            print(f"{title:26s}{python:8.2f}{c:8.2f}{python - c:9.2f}{beside}", flush=True)


def least(calls: list[Callable[[], object] | None], wait: Callable[[], object] | None = None) -> list[float]:
    """Microseconds of one call of each; with `wait` by the clock, until the GPU is done."""
    clock, rounds = (time.perf_counter, GPU_ROUNDS) if wait else (time.process_time, ROUNDS)
    wait = wait or (lambda: None)
    found = [float("inf")] * len(calls)
    for _ in range(rounds):
        for place, call in enumerate(calls):
            if call is None:
                continue
            wait()
            begun = clock()
            for _ in range(CALLS_A_ROUND):
                call()
            wait()
            found[place] = min(found[place], (clock() - begun) / CALLS_A_ROUND * 1e6)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--framework", choices=("cupy", "torch"), action="append", help="its arrays instead")
    given = parser.parse_args()
    library = load_library()
    for name in given.framework or ():
        show_framework(name)
    if given.framework:
        return 0
    print(f"{'64 floats':26s}{'Python':>8s}{'C call':>8s}{'over it':>9s}{'NumPy':>8s}   us")
    for title, ours, args, numpys in jobs():  # whose functions keep the arrays that the args lead to
        ours()
        python, c, numpy = least([ours, library.prepared(args, library.host_stream), numpys])
        beside = f"{numpy:8.2f}" if numpys else " " * 8
        print(f"{title:26s}{python:8.2f}{c:8.2f}{python - c:9.2f}{beside}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
