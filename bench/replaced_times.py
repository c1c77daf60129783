#!/usr/bin/env python3
"""Times PyTorch's own functions and the same calls within batch_invariant(), launches included, at the gate's shapes.

    python bench/replaced_times.py                 common and small shapes of bench/shapes.json, on the GPU
    python bench/replaced_times.py --most 1000000  those of at most so many elements
    python bench/replaced_times.py --device cpu --most 100000

Microseconds a call, the least of several runs in turns. Options that PyTorch's functions do not have (masks, ragged
rows, fields) are left out.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import math
import random
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import warp_reduce.torch
from batch_proof import microseconds

SHAPES = Path(__file__).resolve().parent / "shapes.json"
TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "f64": torch.float64}
NOT_PYTORCHS = ("mask", "lengths", "causal", "ragged", "weights", "statistics")
ROUNDS = 2


def _backward(operator: Any, x: torch.Tensor, y: torch.Tensor, _: Any) -> torch.Tensor:
    return operator(x, y, 1, x.dtype)


FUNCTIONS: dict[str, Callable[[torch.Tensor, torch.Tensor, Any], torch.Tensor]] = {
    "softmax": lambda x, _, output: torch.softmax(x, 1, dtype=output),
    "log_softmax": lambda x, _, output: torch.log_softmax(x, 1, dtype=output),
    "softmax_backward": functools.partial(_backward, torch._softmax_backward_data),
    "log_softmax_backward": functools.partial(_backward, torch._log_softmax_backward_data),
    "logsumexp": lambda x, *_: torch.logsumexp(x, 1),
    "sum": lambda x, _, output: x.sum(1, dtype=output),
    "mean": lambda x, _, output: x.mean(1, dtype=output),
    "max": lambda x, *_: x.amax(1),
    "argmax": lambda x, *_: x.argmax(1),
    "norm_l2": lambda x, *_: torch.linalg.vector_norm(x, dim=1),
}


def jobs(most: int) -> Iterator[tuple[str, str, tuple[int, ...], torch.dtype, torch.dtype | None]]:
    given = json.loads(SHAPES.read_text(encoding="utf-8"))
    for entry in given["common"] + given["small"]:
        fits = entry["op"] in FUNCTIONS and not any(entry.get(option) for option in NOT_PYTORCHS)
        if fits and math.prod(entry["shape"]) <= most:
            for name in entry.get("types", ("f32", "bf16")):
                if name in TYPES:
                    yield (
                        f"{entry['name']}, {name}",
                        entry["op"],
                        entry["shape"],
                        TYPES[name],
                        TYPES.get(entry.get("output")),
                    )


def measured(call: Callable[[], Any], device: str, seconds: float) -> tuple[float, float]:
    """PyTorch's own, and ours."""
    theirs, ours = math.inf, math.inf
    for _ in range(ROUNDS):
        theirs = min(theirs, microseconds(call, device, seconds))
        with warp_reduce.torch.batch_invariant():
            ours = min(ours, microseconds(call, device, seconds))
    return theirs, ours


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--most", type=int, default=1 << 40, help="elements of an array")
    parser.add_argument("--seconds", type=float, default=0.01, help="of a run")
    parser.add_argument(
        "--limit", type=float, default=math.inf, help="seconds, then a part is left out, chosen at random"
    )
    given = parser.parse_args()
    ratios: dict[str, list[float]] = {}
    todo, started = list(jobs(given.most)), time.perf_counter()
    if given.limit < math.inf:
        random.Random(0).shuffle(todo)
    print("| job | PyTorch's own, us | within batch_invariant() | of its time |\n|---|--:|--:|--:|")
    for title, name, shape, dtype, output in todo:
        if time.perf_counter() - started > given.limit:
            break
        x = torch.randn(shape, device=given.device, dtype=dtype)
        y = torch.softmax(x, 1) if "backward" in name else x
        call = functools.partial(FUNCTIONS[name], x, y, output)
        theirs, ours = measured(call, given.device, given.seconds)
        ratios.setdefault(name, []).append(ours / theirs)
        print(f"| {title} | {theirs:.1f} | {ours:.1f} | {ours / theirs:.2f} |", flush=True)
    for name, found in ratios.items():
        behind, mean = sum(ratio > 1.03 for ratio in found), statistics.geometric_mean(found)
        print(f"{name}: {mean:.2f} of PyTorch's time on average, {behind} of {len(found)} slower")
    every = list(itertools.chain.from_iterable(ratios.values()))
    print(f"all: {sum(ratio > 1.03 for ratio in every)} of {len(every)} slower; {len(todo) - len(every)} not measured")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
