#!/usr/bin/env python3
"""Counts the results, ours and PyTorch's, whose bits depend on the rows beside theirs, or on the device."""

from __future__ import annotations

import argparse
import ctypes
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from gate import header  # noqa: E402
from gate.builds import Build  # noqa: E402
from gate.elements import ELEMENT_TYPES, operator  # noqa: E402

try:
    import torch
except ImportError:
    torch = None

NOT_RUN = 77
ROWS = 8
BATCHES = (1, 8, 64, 512)
LENGTHS = (1000, 4096, 32000, 50257, 128256, 151936)
ON_TWO_DEVICES = (64, 50257)

EPILOG = """Each of 8 rows of f32 is reduced alone and among 8, 64 and 512 rows; a row counts where its bits are
not always the same. Then 64 x 50257 f32 are computed on the GPU and on the CPU, and results that differ are counted.

exit status: 0 done, 1 one of ours changed, 2 there is no library, 77 no GPU or no PyTorch

example:
  bench/batch_invariance.py --library build/lib/libwarp_reduce.so --output invariance.json"""


class Ours:
    def __init__(self, build: Build) -> None:
        self._build = build

    def _run(self, args: Any, x: Any, out: Any) -> Any:
        """On the device that x lies on."""
        args.dtype = ELEMENT_TYPES["f32"].code
        args.input, args.output = x.data_ptr(), out.data_ptr()
        args.outer, args.axis, args.inner = *x.shape, 1
        self._build.workspace_size(args)
        stream = torch.cuda.current_stream().cuda_stream if x.is_cuda else self._build.host_stream
        status = self._build.call_of(args)(ctypes.byref(args), stream)
        if status:
            raise SystemExit(f"batch_invariance: {self._build.said(status)}")
        return out

    def reduce(self, operation: str, x: Any) -> Any:
        args = header.args("wr_reduce_args", op=operator(operation))
        return self._run(args, x, torch.empty(len(x), device=x.device))

    def softmax(self, x: Any, log: bool = False) -> Any:
        return self._run(header.args("wr_softmax_args", log=int(log)), x, torch.empty_like(x))


def rows_that_change(function: Callable[[Any], Any], x: Any) -> int:
    alone = torch.stack([function(x[row : row + 1])[0] for row in range(ROWS)])
    same = torch.ones(ROWS, dtype=torch.bool, device=x.device)
    for batch in BATCHES[1:]:
        among = function(x[:batch])[:ROWS]
        equal = among.view(torch.int32) == alone.view(torch.int32)
        same &= equal.view(ROWS, -1).all(1)
    return int((~same).sum())


def elements_that_differ(function: Callable[[Any], Any], x: Any) -> int:
    on_gpu, on_cpu = function(x), function(x.cpu())
    return int((on_gpu.cpu().view(torch.int32) != on_cpu.view(torch.int32)).sum())


def functions(ours: Ours) -> dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]]:
    """PyTorch's and ours."""
    return {
        "sum": (lambda x: x.sum(1), lambda x: ours.reduce("sum", x)),
        "mean": (lambda x: x.mean(1), lambda x: ours.reduce("mean", x)),
        "logsumexp": (lambda x: x.logsumexp(1), lambda x: ours.reduce("logsumexp", x)),
        "softmax": (lambda x: x.softmax(1), ours.softmax),
        "log-softmax": (lambda x: x.log_softmax(1), lambda x: ours.softmax(x, log=True)),
    }


def count(ours: Ours) -> dict[str, Any]:
    found: dict[str, Any] = {"rows": ROWS, "batches": BATCHES, "changed": [], "differ": []}
    for length in LENGTHS:
        x = torch.randn(BATCHES[-1], length, device="cuda")
        for name, (torchs, our) in functions(ours).items():
            one = {"function": name, "length": length}
            found["changed"].append({**one, "torch": rows_that_change(torchs, x), "ours": rows_that_change(our, x)})
    x = torch.randn(*ON_TWO_DEVICES, device="cuda")
    for name, (torchs, our) in functions(ours).items():
        results = our(x).numel()
        one = {"function": name, "shape": ON_TWO_DEVICES, "results": results}
        found["differ"].append({**one, "torch": elements_that_differ(torchs, x), "ours": elements_that_differ(our, x)})
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--library", type=Path, metavar="FILE", required=True, help="the libwarp_reduce.so to ask")
    parser.add_argument("--output", type=Path, metavar="FILE", help="where the counts go, as JSON")
    asked = parser.parse_args()
    if torch is None or not torch.cuda.is_available():
        print(f"not run: PyTorch {'is not installed' if torch is None else 'sees no GPU'}", file=sys.stderr)
        return NOT_RUN
    if not asked.library.is_file():
        parser.error(f"{asked.library} is not there")
    build = Build(asked.library)
    torch.manual_seed(1)
    found = count(Ours(build))
    found["machine"] = f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, warp-reduce {build.version}"
    print(found["machine"])
    print(f"\nof {ROWS} rows, how many change their bits with the batch around them: PyTorch, ours")
    for one in found["changed"]:
        print(f"  {one['function']:<12} of {one['length']:>6}   {one['torch']:>4} {one['ours']:>6}")
    print("\nof 64 x 50257, how many results differ between the GPU and the CPU: PyTorch, ours")
    for one in found["differ"]:
        print(f"  {one['function']:<12} {one['results']:>9}   {one['torch']:>9} {one['ours']:>6}")
    if asked.output:
        asked.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 1 if any(one["ours"] for one in found["changed"] + found["differ"]) else 0


if __name__ == "__main__":
    sys.exit(main())
