#!/usr/bin/env python3
"""Times PyTorch's own functions and the same calls within batch_invariant(), launches included, at the gate's shapes.

    python bench/replaced_times.py --limit 55              every replaced function at every shape, in so many seconds
    python bench/replaced_times.py --listed                functions only at the shapes that the gate has for them
    python bench/replaced_times.py --device cpu --most 100000

The shapes are the common and small ones of bench/shapes.json. All functions of a shape are timed by turns, PyTorch's
own and ours, each for some calls that the host waits for once; medians are compared, of more turns where the two are
near each other. Printed is what takes more than 5 % longer, on a GPU also when it is replayed from a CUDA graph, which
has no part of the host's in it; the JSON has all.
"""

from __future__ import annotations

import argparse
import functools
import gc
import itertools
import json
import math
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import warp_reduce.torch

STARTED = time.perf_counter()
SHAPES = Path(__file__).resolve().parent / "shapes.json"
TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "f64": torch.float64}
NOT_PYTORCHS = ("mask", "lengths", "causal", "ragged", "weights", "statistics")
SLOWER, NEAR = 1.05, 0.96  # of PyTorch's time
LEAST_TURNS, MOST_TURNS = 3, 9
LONG = 0.02  # seconds of a call, which is then timed once a turn
CAPTURED = 20  # calls in a graph
F32 = torch.float32


def norm(*arguments: Any, **options: Any) -> torch.Tensor:
    return torch.linalg.vector_norm(*arguments, **options)  # another function within batch_invariant()


@dataclass
class Function:
    call: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    op: str  # the gate's, which has shapes for it
    into_f32: bool = False  # from shorter types


def _backward(operator: Any, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return operator(x, y, 1, x.dtype)


FUNCTIONS = {
    "softmax": Function(lambda x, _: torch.softmax(x, 1), "softmax"),
    "softmax, dtype=f32": Function(lambda x, _: torch.softmax(x, 1, dtype=F32), "softmax", True),
    "log_softmax": Function(lambda x, _: torch.log_softmax(x, 1), "log_softmax"),
    "log_softmax, dtype=f32": Function(lambda x, _: torch.log_softmax(x, 1, dtype=F32), "log_softmax", True),
    "softmax's gradient": Function(functools.partial(_backward, torch._softmax_backward_data), "softmax_backward"),
    "log_softmax's gradient": Function(
        functools.partial(_backward, torch._log_softmax_backward_data), "log_softmax_backward"
    ),
    "logsumexp": Function(lambda x, _: torch.logsumexp(x, 1), "logsumexp"),
    "sum": Function(lambda x, _: x.sum(1), "sum"),
    "sum, dtype=f32": Function(lambda x, _: x.sum(1, dtype=F32), "sum", True),
    "mean": Function(lambda x, _: x.mean(1), "mean"),
    "prod": Function(lambda x, _: x.prod(1), "sum"),
    "amax": Function(lambda x, _: x.amax(1), "max"),
    "amin": Function(lambda x, _: x.amin(1), "max"),
    "argmax": Function(lambda x, _: x.argmax(1), "argmax"),
    "argmin": Function(lambda x, _: x.argmin(1), "argmax"),
    "vector_norm": Function(lambda x, _: norm(x, dim=1), "norm_l2"),
    "vector_norm, ord=1": Function(lambda x, _: norm(x, 1, dim=1), "norm_l2"),
    "vector_norm, ord=inf": Function(lambda x, _: norm(x, float("inf"), dim=1), "norm_l2"),
}


@dataclass
class Side:
    """PyTorch's own, or ours."""

    calls: int = 0  # of a turn
    seconds: list[float] = field(default_factory=list)  # of a call, by turns
    replayed: float | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


@dataclass
class Job:
    function: str
    shape: tuple[int, ...]
    dtype: str
    is_listed: bool  # whether the gate has the function at this shape
    call: Callable[[], Any]
    own: Side = field(default_factory=Side)
    ours: Side = field(default_factory=Side)

    @property
    def ratio(self) -> float:
        return self.ours.median / self.own.median

    def is_wanted(self, turn: int) -> bool:
        if max(self.own.median, self.ours.median) > LONG and turn > 0 and self.ratio < NEAR:
            return False
        return turn < LEAST_TURNS or (turn < MOST_TURNS and self.ratio > NEAR)

    def row(self) -> str:
        times = [self.own.median, self.ours.median, self.own.replayed, self.ours.replayed]
        cells = " | ".join("" if each is None else f"{each * 1e6:.1f}" for each in times)
        shape = " x ".join(map(str, self.shape))
        return f"| {self.function}, {shape}, {self.dtype} | {cells} | {self.ratio:.2f} |"

    def report(self) -> dict[str, Any]:
        sides = {"own": self.own, "ours": self.ours}
        found: dict[str, Any] = {f"{name}_us": side.median * 1e6 for name, side in sides.items()}
        found |= {f"{name}_replayed_us": side.replayed * 1e6 for name, side in sides.items() if side.replayed}
        kept = {name: getattr(self, name) for name in ("function", "shape", "dtype", "is_listed", "ratio")}
        return {**kept, "turns": len(self.own.seconds), **found}


def shapes(most: int) -> dict[tuple[int, ...], set[str]]:
    """With the gate's operators at each; those of few long rows, which PyTorch's softmax is slow at, come last."""
    given = json.loads(SHAPES.read_text(encoding="utf-8"))
    found: dict[tuple[int, ...], set[str]] = {}
    ops = {each.op for each in FUNCTIONS.values()}
    for entry in given["common"] + given["small"]:
        fits = entry["op"] in ops and not any(entry.get(option) for option in NOT_PYTORCHS)
        if fits and math.prod(entry["shape"]) <= most and {"f32", "bf16"} & set(entry.get("types", ("f32",))):
            outer, axis, inner = entry["shape"]
            found.setdefault((outer, axis, inner) if inner > 1 else (outer, axis), set()).add(entry["op"])
    last = [shape for shape in found if math.prod(shape) > 1 << 21 and math.prod(shape) // shape[1] <= 256]
    return {shape: found[shape] for shape in [*(each for each in found if each not in last), *last]}


def seconds_of(job: Job, calls: int, wait: Callable[[], None]) -> float:
    wait()
    begin = time.perf_counter()
    for _ in range(calls):
        job.call()
    wait()
    return (time.perf_counter() - begin) / calls


def replayed(job: Job, wait: Callable[[], None]) -> float:
    """Seconds of a call that is replayed from a graph."""
    graph, count = torch.cuda.CUDAGraph(), CAPTURED if job.own.median < 1e-4 else 3
    wait()
    with torch.cuda.graph(graph):
        for _ in range(count):
            job.call()
    graph.replay()
    found = []
    for _ in range(5):
        wait()
        begin = time.perf_counter()
        graph.replay()
        wait()
        found.append((time.perf_counter() - begin) / count)
    return min(found)


class Timing:
    def __init__(self, device: str, seconds: float, limit: float) -> None:
        self.device, self.seconds, self.limit = device, seconds, limit
        self.wait = torch.cuda.synchronize if device == "cuda" else lambda: None
        self.done: list[Job] = []
        self.left = 0

    def jobs_of(self, shape: tuple[int, ...], ops: set[str], dtype: str, listed: bool) -> Iterator[Job]:
        x = torch.empty(shape, device=self.device, dtype=TYPES[dtype]).normal_()
        y = torch.softmax(x, 1) if shape[1] < 1 << 20 else x  # a gradient's time does not depend on it
        for name, function in FUNCTIONS.items():
            if (function.op in ops) == listed and not (function.into_f32 and dtype == "f32"):
                yield Job(name, shape, dtype, listed, functools.partial(function.call, x, y))

    def both_ways(self, jobs: list[Job], take: Callable[[Job, Side], None]) -> None:
        """PyTorch's own of all jobs, then ours."""
        for job in jobs:
            take(job, job.own)
        with warp_reduce.torch.batch_invariant():
            for job in jobs:
                take(job, job.ours)

    def begin(self, job: Job, side: Side) -> None:
        first = seconds_of(job, 1, self.wait)
        spent = first if first > 5 * LONG else seconds_of(job, 2, self.wait)
        side.calls = max(1 if spent > LONG else 3, min(2000, int(self.seconds / spent)))
        side.seconds.append(spent)

    def turn(self, job: Job, side: Side) -> None:
        side.seconds.append(seconds_of(job, side.calls, self.wait))

    def replay(self, job: Job, side: Side) -> None:
        side.replayed = replayed(job, self.wait)

    def take(self, jobs: list[Job]) -> None:
        self.both_ways(jobs, self.begin)
        for turn in range(MOST_TURNS):
            wanted = [job for job in jobs if job.is_wanted(turn)]
            if not wanted:
                break
            self.both_ways(wanted, self.turn)
            if turn == 0:
                for job in wanted:  # the first calls were not to be compared
                    del job.own.seconds[0], job.ours.seconds[0]
        slower = [job for job in jobs if job.ratio > SLOWER]
        if slower and self.device == "cuda":
            self.both_ways(slower, self.replay)
        for job in slower:
            print(job.row(), flush=True)
        for job in jobs:
            job.call = lambda: None  # the tensors' memory is for the next
        self.done += jobs

    def run(self, most: int, listed: bool) -> None:
        """Of the functions that the gate has at each shape, or of the others."""
        for (shape, ops), dtype in itertools.product(shapes(most).items(), ("f32", "bf16")):
            if time.perf_counter() - STARTED > self.limit:
                self.left += 1
            else:
                self.take(list(self.jobs_of(shape, ops, dtype, listed)))


def summary(jobs: list[Job]) -> Iterator[str]:
    for name in FUNCTIONS:
        found = [job.ratio for job in jobs if job.function == name]
        if found:
            slower = sum(ratio > SLOWER for ratio in found)
            yield f"{name}: {statistics.geometric_mean(found):.2f} on average, {slower} of {len(found)} slower"
    for title, some in (("all", jobs), ("the gate's own", [job for job in jobs if job.is_listed])):
        yield f"{title}: {sum(job.ratio > SLOWER for job in some)} of {len(some)} take more than 5 % longer"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--most", type=int, default=1 << 40, help="elements of an array")
    parser.add_argument("--listed", action="store_true", help="functions only at the gate's shapes for them")
    parser.add_argument("--seconds", type=float, default=0.001, help="of a turn")
    parser.add_argument("--limit", type=float, default=math.inf, help="seconds, then the rest is left out")
    parser.add_argument("--output", type=Path, help="a JSON file of all that was timed")
    given = parser.parse_args()
    timing = Timing(given.device, given.seconds, given.limit)
    print("| more than 5 % slower | PyTorch's own, us | ours | PyTorch's, replayed | ours, replayed | of its time |")
    print("|---|--:|--:|--:|--:|--:|")
    gc.disable()
    timing.run(given.most, listed=True)
    if not given.listed:
        timing.run(given.most, listed=False)
    print("\n".join(summary(timing.done)))
    print(f"{timing.left} shapes and types not measured; {time.perf_counter() - STARTED:.0f} s")
    if given.output:
        given.output.write_text(json.dumps([job.report() for job in timing.done]), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
