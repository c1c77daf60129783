#!/usr/bin/env python3
"""Counts the rows whose bits depend on the batch, for PyTorch's own functions and under warp_reduce.torch's.

    python bench/batch_proof.py                        on the GPU if there is one, otherwise on the CPU
    python bench/batch_proof.py --device cpu --small   in seconds: few widths and batches
    python bench/batch_proof.py --processes 4+9        nine that compile, four for all else, side by side
    python bench/batch_proof.py --seconds 90           so many for each process
    python bench/batch_proof.py --what compiled,f32    so much; of eager, captured, devices, compiled, bf16, f16, f32
    python bench/batch_proof.py --times                how long the calls take, launches included

Each of 129 distinct rows goes through every function alone, forward and backward. Then batches are made of them, and
every row of every batch is compared, bit by bit, with what it was alone: eager; compiled by torch.compile; captured in
a CUDA graph; and the CPU's rows with the GPU's. The table is Markdown. The exit status is 1 if a row of ours differs,
2 if something failed, 3 if the process was told to end before it was done: the table has what was compared until then.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import functools
import gc
import itertools
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # a few kernels: processes to compile them start longer

import torch  # noqa: E402
import torch._dynamo  # noqa: E402
import warp_reduce.torch  # noqa: E402

BATCHES = (1, 2, 3, 7, 32, 127, 129, 1000, 4096)
WIDTHS = (8, 64, 1000, 4096, 32000, 50257, 128256, 151936)
# One row, odd widths and each type are compiled for themselves.
torch._dynamo.config.recompile_limit = 64
TYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
KINDS = ("eager", "captured", "devices", "compiled")
DISTINCT, FEW_DISTINCT = 129, 17
LARGE = 100_000_000  # elements of a batch
PLACES = 2  # for large batches, of all processes

F32 = torch.float32
Function = Callable[[torch.Tensor], torch.Tensor]


def norm(*arguments: Any, **options: Any) -> torch.Tensor:
    return torch.linalg.vector_norm(*arguments, **options)  # another function within batch_invariant()


def _halves(x: torch.Tensor) -> torch.Tensor:
    """[rows, n] as [rows, 2, n / 2], or n of odd numbers as [rows, n, 1]."""
    parts = 2 if x.shape[1] % 2 == 0 else 1
    return x.view(x.shape[0], parts, x.shape[1] // parts)


FUNCTIONS: dict[str, Function] = {
    "softmax": lambda x: torch.softmax(x, -1),
    "softmax, dtype=f32": lambda x: torch.softmax(x, -1, dtype=F32),
    "log_softmax": lambda x: torch.log_softmax(x, -1),
    "log_softmax, dtype=f32": lambda x: torch.log_softmax(x, -1, dtype=F32),
    "sum": lambda x: x.sum(1),
    "sum, dtype=f32": lambda x: x.sum(1, dtype=F32),
    "sum, two axes": lambda x: _halves(x).sum((1, 2)),
    "mean": lambda x: x.mean(1),
    "mean, two axes, dtype=f32": lambda x: _halves(x).mean((1, 2), dtype=F32),
    "logsumexp": lambda x: torch.logsumexp(x, 1),
    "amax": lambda x: x.amax(1),
    "amin": lambda x: x.amin(1),
    "argmax": lambda x: x.argmax(1),
    "argmin": lambda x: x.argmin(1),
    "prod": lambda x: (1 + x / 64).prod(1),
    "vector_norm": lambda x: norm(x, dim=1),
    "vector_norm, ord=1": lambda x: norm(x, 1, dim=1),
    "vector_norm, ord=inf": lambda x: norm(x, float("inf"), dim=1),
}
WORDS = {2: torch.int16, 4: torch.int32, 8: torch.int64}


def rows_of(width: int, dtype: torch.dtype, count: int) -> torch.Tensor:
    """The distinct rows, the same on every machine."""
    generator = torch.Generator().manual_seed(width)
    return (torch.randn(count, width, generator=generator) * 3).to(dtype)


def batch_of(x: torch.Tensor, size: int) -> torch.Tensor:
    return x.repeat(-(-size // len(x)), *[1] * (x.dim() - 1))[:size] if size > len(x) else x[:size].clone()


@functools.cache
def _line(width: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    line = torch.arange(width, device=device) * 37 % 101
    return ((line - 50) / 64).to(dtype)


def slopes(y: torch.Tensor) -> torch.Tensor:
    """The gradient that comes from above: for each element of a row another one, for each row the same."""
    if y.dim() == 1:
        return torch.full_like(y, 0.75)
    return _line(y.shape[1], y.dtype, y.device).expand_as(y)


def both(function: Function, x: torch.Tensor) -> list[torch.Tensor]:
    """The result and the gradient, where there is one."""
    x = x.detach().requires_grad_()
    y = function(x)
    if not y.is_floating_point():
        return [y.detach()]
    return [y.detach(), torch.autograd.grad(y, x, slopes(y))[0]]


def differing(found: torch.Tensor, expected: torch.Tensor) -> int:
    """How many rows of a batch are not, bit by bit, those that the same rows were alone."""
    word = WORDS[found.element_size()]
    found = found.contiguous().view(word).reshape(len(found), -1)
    expected = expected.contiguous().view(word).reshape(len(expected), -1)
    times = len(found) // len(expected)
    whole = found[: times * len(expected)].view(times, *expected.shape)
    rest = found[times * len(expected) :]
    differ = [(whole != expected).any(-1).reshape(-1), (rest != expected[: len(rest)]).any(-1)]
    return int(torch.cat(differ).count_nonzero())


class Counts:
    """Of one function: rows compared and rows that differ, by what was compared."""

    def __init__(self) -> None:
        self.seen: dict[str, int] = {}
        self.different: dict[str, int] = {}

    def add(self, what: str, found: list[torch.Tensor], expected: list[torch.Tensor]) -> None:
        for name, one, other in zip(("forward", "gradient"), found, expected):
            self.seen[f"{what} {name}"] = self.seen.get(f"{what} {name}", 0) + len(one)
            self.different[f"{what} {name}"] = self.different.get(f"{what} {name}", 0) + differing(one, other)


@contextlib.contextmanager
def room_for(elements: int, device: str) -> Iterator[bool]:
    """Of several processes few work at a time on what takes tens of gigabytes, and give them back: then True."""
    if device != "cuda" or elements < LARGE:
        yield False
        return
    place = os.getpid() % PLACES
    with open(os.path.join(tempfile.gettempdir(), f"batch_proof{place}.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        torch.cuda.empty_cache()
        try:
            yield True
        finally:
            torch.cuda.synchronize()
            gc.collect()
            torch.cuda.empty_cache()


Sizes = tuple[int, ...]
Rows = dict[str, list[torch.Tensor]]  # by function: the result and the gradient of each row alone
AllCounts = dict[str, Counts]


def alone(function: Function, x: torch.Tensor, count: int) -> list[torch.Tensor]:
    single = [both(function, x[row : row + 1]) for row in range(min(count, len(x)))]
    return [torch.cat(parts) for parts in zip(*single)]


def all_alone(x: torch.Tensor, count: int) -> dict[str, list[torch.Tensor]]:
    return {name: alone(function, x, count) for name, function in FUNCTIONS.items()}


def compare_batches(x: torch.Tensor, batches: Sizes, counts: AllCounts, what: str, expected: Rows) -> None:
    for size in batches:
        with room_for(size * x.shape[1], x.device.type):
            batch = batch_of(x, size)
            for name, function in FUNCTIONS.items():
                counts[name].add(what, both(function, batch), expected[name])
            del batch


def joined(xs: list[torch.Tensor]) -> list[torch.Tensor]:
    """One graph for the compiler, in which each function has an input, and so a gradient, of its own."""
    return [function(x) for function, x in zip(FUNCTIONS.values(), xs)]


def compare_compiled(x: torch.Tensor, batches: Sizes, counts: AllCounts, compiled: Any) -> None:
    expected = all_alone(x, max(batches))
    for size in batches:
        with room_for(size * x.shape[1], x.device.type):
            compare_one_compiled(x, size, counts, compiled, expected)


def compare_one_compiled(x: torch.Tensor, size: int, counts: AllCounts, compiled: Any, expected: Rows) -> None:
    xs = [batch_of(x, size).requires_grad_() for _ in FUNCTIONS]
    ys = compiled(xs)
    sloped = [number for number, y in enumerate(ys) if y.is_floating_point()]
    tops = [slopes(ys[number]) for number in sloped]
    inputs = [xs[number] for number in sloped]
    gradients = torch.autograd.grad([ys[number] for number in sloped], inputs, tops) if sloped else ()
    for number, name in enumerate(FUNCTIONS):
        own = [gradients[sloped.index(number)]] if number in sloped else []
        counts[name].add("compiled", [ys[number].detach(), *own], expected[name])


def compare_captured(x: torch.Tensor, batches: Sizes, counts: AllCounts, expected: Rows, pool: Any) -> None:
    for size in batches:
        with room_for(size * x.shape[1], x.device.type) as large:
            batch = batch_of(x, size)
            names = [[name] for name in FUNCTIONS] if large else [list(FUNCTIONS)]
            for some in names:
                compare_one_captured(batch, some, counts, expected, None if large else pool)


def compare_one_captured(batch: torch.Tensor, names: list[str], counts: AllCounts, expected: Rows, pool: Any) -> None:
    still = torch.zeros_like(batch)

    def run() -> list[list[torch.Tensor]]:
        return [both(FUNCTIONS[name], still) for name in names]

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        run()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        results = run()
    still.copy_(batch)
    graph.replay()
    torch.cuda.synchronize()
    for name, found in zip(names, results):
        counts[name].add("captured", found, expected[name])


def compare_devices(x: torch.Tensor, counts: AllCounts) -> None:
    gpu = x.cuda()
    for name, function in FUNCTIONS.items():
        counts[name].add("CPU and GPU", [each.cpu() for each in both(function, gpu)], both(function, x))


def table(counts: AllCounts) -> str:
    kinds = list(dict.fromkeys(kind for each in counts.values() for kind in each.seen))
    lines = ["| function | rows | " + " | ".join(kinds) + " |", "|---|--:|" + "--:|" * len(kinds)]
    for name, each in counts.items():
        cells = [f"{each.different[kind]} of {each.seen[kind]}" if kind in each.seen else "" for kind in kinds]
        lines.append(f"| {name} | {sum(each.seen.values())} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


class Plan:
    """What is compared."""

    def __init__(self, device: str, small: bool, kinds: tuple[str, ...] = KINDS, types: tuple[str, ...] = ()) -> None:
        self.device, self.small, self.kinds = device, small, kinds
        self.types = [TYPES[name] for name in types or TYPES]
        self.widths = (8, 1000, 4099) if small else WIDTHS
        self.batches = (1, 2, 7, 17, 40) if small else BATCHES
        self.captured = (1, 40) if small else BATCHES
        self.distinct = FEW_DISTINCT if small else DISTINCT
        self.compiled_types = self.types[::2] if small else self.types
        self.compiled_widths, self.compiled = ((1000,), (40,)) if small else (WIDTHS, BATCHES)


class Progress:
    """Says on stderr how long each kind of comparison has taken."""

    def __init__(self) -> None:
        self.started = self.last = time.perf_counter()
        self.seconds: dict[str, float] = {}

    def done(self, what: str) -> None:
        now = time.perf_counter()
        self.seconds[what] = self.seconds.get(what, 0) + now - self.last
        self.last = now

    def tell(self, title: str) -> None:
        parts = ", ".join(f"{what} {seconds:.1f}" for what, seconds in self.seconds.items())
        print(f"{title}: {time.perf_counter() - self.started:.1f} s ({parts})", file=sys.stderr, flush=True)


def first_graph() -> torch.cuda.CUDAGraph:
    """Of which the memory is used by all others, and lives as long as this."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        torch.zeros(1, device="cuda")
    return graph


def compare_uncompiled(plan: Plan, dtype: torch.dtype, counts: AllCounts, progress: Progress, keeper: Any) -> None:
    for width in plan.widths:
        rows = rows_of(width, dtype, plan.distinct)
        x = rows.to(plan.device)
        if "eager" in plan.kinds:
            compare_batches(x, plan.batches, counts, "PyTorch's", all_alone(x, max(plan.batches)))
            progress.done("PyTorch's")
        with warp_reduce.torch.batch_invariant():
            expected = all_alone(x, max(plan.batches))
            if "eager" in plan.kinds:
                compare_batches(x, plan.batches, counts, "eager", expected)
                progress.done("eager")
            if plan.device == "cuda" and "captured" in plan.kinds:
                compare_captured(x, plan.captured, counts, expected, keeper.pool())
                progress.done("captured")
            if plan.device == "cuda" and "devices" in plan.kinds:
                compare_devices(rows, counts)
                progress.done("CPU and GPU")
    progress.tell(str(dtype))


def compare_all_compiled(plan: Plan, counts: AllCounts, progress: Progress) -> None:
    with warp_reduce.torch.batch_invariant():
        compiled = torch.compile(joined, fullgraph=True, dynamic=True)
        for dtype, width in itertools.product(plan.compiled_types, plan.compiled_widths):
            rows = rows_of(width, dtype, plan.distinct)
            compare_compiled(rows.to(plan.device), plan.compiled, counts, compiled)
            progress.done("compiled")
        progress.tell("compiled")


def compare_all(plan: Plan, counts: AllCounts, progress: Progress) -> None:
    keeper = first_graph() if plan.device == "cuda" and "captured" in plan.kinds else None
    if plan.kinds != ("compiled",):
        for dtype in plan.types:
            compare_uncompiled(plan, dtype, counts, progress, keeper)
    if "compiled" in plan.kinds:
        compare_all_compiled(plan, counts, progress)


class Ended(BaseException):
    """The process is told to end."""


def end(*_: Any) -> None:
    signal.alarm(2)  # again, where it came while exceptions are ignored
    raise Ended


def prove(plan: Plan, seconds: int = 0) -> tuple[AllCounts, int]:
    counts = {name: Counts() for name in FUNCTIONS}
    progress, status = Progress(), 0
    before = [(number, signal.signal(number, end)) for number in (signal.SIGTERM, signal.SIGALRM)]
    signal.alarm(seconds)
    try:
        compare_all(plan, counts, progress)
    except Ended:
        progress.tell("ended before it was done")
        status = 3
    except Exception:
        traceback.print_exc()
        status = 2
    finally:
        signal.alarm(0)
        for number, handler in before:
            signal.signal(number, handler)
    return counts, status


def conclude(counts: AllCounts, device: str, status: int) -> int:
    print(table(counts))
    ours_differ = sum(n for each in counts.values() for kind, n in each.different.items() if "PyTorch" not in kind)
    seen = sum(n for each in counts.values() for kind, n in each.seen.items() if "PyTorch" not in kind)
    print(f"\n{ours_differ} rows of warp_reduce.torch differ, of {seen}. PyTorch {torch.__version__}, {device}")
    return 1 if ours_differ else status


# ---- processes side by side


Part = tuple[int, int, tuple[str, ...]]  # which of how many, by functions; and what of them


def prove_side_by_side(plan: Plan, several: int, compiling: int, seconds: int) -> int:
    """Children of a fork, since PyTorch is imported for a long time."""
    parts: list[Part] = [(i, several, tuple(kind for kind in plan.kinds if kind != "compiled")) for i in range(several)]
    parts += [(i, compiling, ("compiled",)) for i in range(compiling) if "compiled" in plan.kinds]
    with tempfile.TemporaryDirectory() as folder:
        children = {}
        for number, part in enumerate(parts):
            child = os.fork()
            if child == 0:
                os._exit(prove_in_child(plan, part, len(parts), seconds, Path(folder) / str(number)))
            children[child] = number
        status = max((os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) % 256 for child in children), default=0)
        counts = {name: Counts() for name in FUNCTIONS}
        for path in sorted(Path(folder).iterdir()):
            add_stored(counts, json.loads(path.read_text(encoding="utf-8")))
    return conclude(counts, "in several processes", status)


def prove_in_child(plan: Plan, part: Part, processes: int, seconds: int, place: Path) -> int:
    try:
        if plan.device == "cuda" and not can_use_gpu():
            start_anew(plan, part, processes, seconds, place)
        return prove_part(plan, part, processes, seconds, place)
    except BaseException:
        traceback.print_exc()
        return 2


def can_use_gpu() -> bool:
    """Not where something that was imported has looked for one before the fork."""
    try:
        torch.cuda.init()
    except RuntimeError:
        return False
    return True


def start_anew(plan: Plan, part: Part, processes: int, seconds: int, place: Path) -> None:
    first, step, kinds = part
    names = [name for name, dtype in TYPES.items() if dtype in plan.types]
    arguments = ["--device", plan.device, "--what", ",".join([*kinds, *names]), "--part", f"{first}/{step}/{processes}"]
    arguments += ["--seconds", str(seconds), "--store", str(place), *(["--small"] if plan.small else [])]
    os.execv(sys.executable, [sys.executable, __file__, *arguments])


def prove_part(plan: Plan, part: Part, processes: int, seconds: int, place: Path) -> int:
    first, step, plan.kinds = part
    torch.set_num_threads(max(1, torch.get_num_threads() // processes))
    warp_reduce.host.threads = max(1, warp_reduce.host.threads // processes)
    own = dict(list(FUNCTIONS.items())[first::step])
    FUNCTIONS.clear()
    FUNCTIONS.update(own)
    counts, status = prove(plan, seconds)
    place.write_text(json.dumps({name: vars(each) for name, each in counts.items()}), encoding="utf-8")
    return status


def add_stored(counts: AllCounts, stored: dict[str, Any]) -> None:
    for name, each in stored.items():
        for kind in ("seen", "different"):
            found = getattr(counts[name], kind)
            for what, rows in each[kind].items():
                found[what] = found.get(what, 0) + rows


def found_device() -> str:
    return "cuda" if torch.cuda.device_count() > 0 else "cpu"  # which asks without beginning to use one


def device_name(device: str) -> str:
    return torch.cuda.get_device_name() if device == "cuda" else "CPU"


# ---- how long the calls take


def microseconds(function: Callable[[], Any], device: str, seconds: float) -> float:
    """The least of several runs' means."""
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    best, calls = float("inf"), 20
    until = time.perf_counter() + seconds
    while time.perf_counter() < until or best == float("inf"):
        wait()
        begin = time.perf_counter()
        for _ in range(calls):
            function()
        wait()
        spent = (time.perf_counter() - begin) / calls
        best = min(best, spent)
        calls = max(3, min(2000, int(0.01 / spent)))
    return best * 1e6


def times(device: str, small: bool) -> int:
    shapes = ((4, 64), (32, 4096)) if small else ((4, 64), (32, 4096), (4096, 4096), (128, 151936))
    heads = [f"{rows} x {width}" for rows, width in shapes]
    print("us a call, PyTorch's / warp_reduce's\n")
    print("| function | " + " | ".join(heads) + " |\n|---|" + "--:|" * len(heads))
    for name, function in FUNCTIONS.items():
        cells = []
        for rows, width in shapes:
            x = torch.randn(rows, width, device=device, dtype=torch.bfloat16)
            call = functools.partial(function, x)
            theirs = microseconds(call, device, 0.05)
            with warp_reduce.torch.batch_invariant():
                ours = microseconds(call, device, 0.05)
            cells.append(f"{theirs:.1f} / {ours:.1f}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "cuda"))
    parser.add_argument("--small", action="store_true", help="few widths and batches")
    parser.add_argument("--times", action="store_true", help="time the calls instead")
    parser.add_argument("--what", default=",".join(KINDS + tuple(TYPES)), help="kinds and types, with commas between")
    parser.add_argument(
        "--processes", default="0+0", help="I+C: side by side, by functions, C of them for compiled ones"
    )
    parser.add_argument("--seconds", type=int, default=0, help="ends each process after so many; 0: when it is done")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--store", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    wanted = given.what.split(",")
    kinds = tuple(each for each in KINDS if each in wanted) or KINDS
    types = tuple(each for each in TYPES if each in wanted)
    several, compiling = map(int, given.processes.split("+"))
    plan = Plan(given.device or found_device(), given.small, kinds, types)
    if given.part:
        first, step, processes = map(int, given.part.split("/"))
        return prove_part(plan, (first, step, kinds), processes, given.seconds, given.store)
    if several + compiling:
        return prove_side_by_side(plan, several, compiling, given.seconds)
    if given.times:
        return times(plan.device, given.small)
    counts, status = prove(plan, given.seconds)
    return conclude(counts, device_name(plan.device), status)


if __name__ == "__main__":
    sys.exit(main())
