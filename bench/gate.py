#!/usr/bin/env python3
"""Times the shapes that people run beside PyTorch, torch.compile, Triton, CUB and an older build of the library."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parent
sys.path.insert(0, str(BENCH))

from gate import SECTIONS, compare, table  # noqa: E402

NOT_RUN = 77
SECONDS_TO_COMPILE = 120
EPILOG = """sections:
  grid     few to many rows, short to long, of sums, extremes and the softmax family: one buffer
  small    figures of small and middling reductions that were once behind
  common   the shapes that people run: may lose 5 % against an older build
  rare     shapes that are watched: may lose 20 %, or what bench/shapes.json says of one
  calls    small sums in a stream, and waited for, with and without a workspace

examples:
  bench/gate.py --library build/lib/libwarp_reduce.so --peers build/lib/libgate_peers.so --output now.json
  bench/gate.py --library new.so --baseline-library old.so --sections common,rare --output now.json
  bench/gate.py --compare old.json now.json       fails where a job lost more than it may
  bench/gate.py --compare now.json                against the older build that the run had beside it
  bench/gate.py --grid now.json                   what of the grid is behind the best peer; fails if anything is
  bench/gate.py --table now.json                  every job
  bench/gate.py --library build/lib/libwarp_reduce.so --rehearse     the small jobs on the host device, no GPU

exit status: 0 passed, 1 something is slower than it may be or wrong, 2 an argument is wrong, 77 no GPU or no PyTorch"""


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--library", type=Path, metavar="FILE", help="the libwarp_reduce.so to time")
    parser.add_argument("--baseline-library", type=Path, metavar="FILE", help="an older build, timed in turn with it")
    parser.add_argument(
        "--peers", type=Path, metavar="FILE", help="libgate_peers.so, for CUB and the ceiling of reading"
    )
    parser.add_argument("--sections", default="grid,small,common,rare,calls", help="a list; without it all of them")
    parser.add_argument("--only", metavar="TEXT", help="only jobs whose names have this text")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="what is not timed by then is left out")
    parser.add_argument("--compile", type=float, metavar="SECONDS", default=0.0, help="time torch.compile may take")
    parser.add_argument("--output", type=Path, metavar="FILE", help="where the figures go, as JSON")
    parser.add_argument("--rehearse", action="store_true", help="check small jobs on the host device; time nothing")
    parser.add_argument("--compare", type=Path, nargs="+", metavar="JSON", help="[OLD] NEW: what lost more than it may")
    parser.add_argument("--grid", type=Path, metavar="JSON", help="a run's grid beside the best peer")
    parser.add_argument("--table", type=Path, metavar="JSON", help="a run as a table")
    parser.add_argument("--warm-share", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    asked.sections = tuple(asked.sections.split(","))
    unknown = [name for name in asked.sections if name not in (*SECTIONS, "calls")]
    if unknown:
        parser.error(f"no section is called '{unknown[0]}'; they are {', '.join((*SECTIONS, 'calls'))}")
    reads = asked.compare or asked.grid or asked.table or asked.warm_share
    if not reads and not asked.library:
        parser.error("--library names what is to be timed")
    if asked.compare and len(asked.compare) > 2:
        parser.error("--compare takes one run or two")
    for path in (asked.library, asked.baseline_library, asked.peers, asked.grid, asked.table, *(asked.compare or ())):
        if path and not path.is_file():
            parser.error(f"{path} is not there")
    return asked


def chosen_jobs(asked: argparse.Namespace) -> list[Any]:
    from gate.shapes import jobs

    found = jobs(tuple(name for name in asked.sections if name in SECTIONS))
    return [job for job in found if not asked.only or asked.only in job.name]


def compare_runs(paths: list[Path]) -> int:
    new = compare.read(paths[-1])
    old = compare.of_other_run(compare.read(paths[0])) if len(paths) == 2 else compare.of_same_run(new)
    lost, wrong = compare.losses(old, new), compare.errors(new)
    compared = sum(one["name"] in old and "us" in one for one in new["results"])
    print(table.verdict(lost, wrong, compared), end="")
    return 1 if lost or wrong or not compared else 0


def machine(library: Any, path: Path) -> dict[str, str]:
    import torch
    import triton

    properties = torch.cuda.get_device_properties(0)
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    driver = subprocess.run(query, capture_output=True, text=True, check=False).stdout.split("\n")[0]
    return {
        "gpu": f"{properties.name}, {properties.multi_processor_count} multiprocessors",
        "driver": driver,
        "CUDA": str(torch.version.cuda),
        "PyTorch": torch.__version__,
        "Triton": triton.__version__,
        "Python": platform.python_version(),
        "warp-reduce": library.version,
        "library": f"{path.stat().st_size} bytes",
    }


def rehearse(asked: argparse.Namespace) -> int:
    from gate.arguments import arguments
    from gate.builds import Build
    from gate.session import Session

    library = Build(asked.library)
    older = Build(asked.baseline_library) if asked.baseline_library else None
    session = Session(library, older, device="cpu")
    found = chosen_jobs(asked)
    for job in found:
        library.workspace_size(arguments(job))
    session.run([job for job in found if job.bytes < 1 << 22])
    wrong = compare.errors({"results": session.results})
    print(f"{len(found)} jobs have arguments that the library takes; {len(session.results)} gave right results", end="")
    print(f", {len(wrong)} did not" if wrong else "", *wrong, sep="\n  ")
    return 1 if wrong else 0


def measure(asked: argparse.Namespace) -> int:
    from gate import calls, warm
    from gate.builds import Build
    from gate.native_peer import NativePeers
    from gate.session import Session, say
    from gate.timing import Timer

    began = time.monotonic()
    library = Build(asked.library)
    older = Build(asked.baseline_library) if asked.baseline_library else None
    workers = warm.start(str(Path(__file__)), asked.sections, asked.only, asked.compile > 0)
    timer = Timer()
    native = NativePeers(asked.peers, timer.stream.cuda_stream) if asked.peers else None
    session = Session(library, older, native, timer, compile_seconds=asked.compile)
    if asked.budget:
        session.deadline = began + asked.budget
    run = {"machine": machine(library, asked.library), "results": session.results, "not_timed": session.not_timed}
    try:
        say("compiling side by side")
        warm.wait(workers, min(SECONDS_TO_COMPILE, 0.4 * (asked.budget or 1e9)))
        say(f"compiled, {time.monotonic() - began:.0f} s")
        run["ceilings"] = session.ceilings()
        if "calls" in asked.sections:
            run["calls"] = calls.run(session)
        session.run(chosen_jobs(asked))
        # Cold, or after a rest, a GPU reads more slowly: the ceiling is the better of two.
        run["ceilings"] = {name: max(rate, run["ceilings"][name]) for name, rate in session.ceilings().items()}
    finally:
        for worker in workers:
            worker.kill()
        if asked.output and session.results:
            write(run, asked.output)
    say(f"{len(session.results)} jobs, {time.monotonic() - began:.0f} s")
    print(table.summary(run), end="")
    lost = compare.losses(compare.of_same_run(run), run)
    wrong = compare.errors(run)
    if older:
        print(table.verdict(lost, wrong, len(compare.of_same_run(run))), end="")
    else:
        print(*wrong, sep="\n")
    return 1 if lost or wrong else 0


def write(run: dict[str, Any], path: Path) -> None:
    """A line a job, so that two runs can be compared by eye too."""
    lists = {name: value for name, value in run.items() if name in ("results", "calls")}
    head = {name: value for name, value in run.items() if name not in lists}
    text = ",\n".join(
        f'"{name}": [\n' + ",\n".join(json.dumps(one) for one in value) + "\n]" for name, value in lists.items()
    )
    path.write_text(json.dumps(head, indent=1)[:-2] + ",\n" + text + "\n}\n", encoding="utf-8")


def main() -> int:
    asked = options()
    if asked.compare:
        return compare_runs(asked.compare)
    if asked.grid:
        run = compare.read(asked.grid)
        print(table.grid(run), end="")
        return 1 if compare.behind(run, "grid") else 0
    if asked.table:
        print(table.whole(compare.read(asked.table)), end="")
        return 0
    # What is compiled side by side is compiled by processes of our own.
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    try:
        import torch
    except ImportError:
        print("gate: not run: PyTorch is not installed", file=sys.stderr)
        return NOT_RUN
    torch.set_grad_enabled(False)
    torch.manual_seed(1)
    if asked.rehearse:
        return rehearse(asked)
    if not torch.cuda.is_available():
        print("gate: not run: PyTorch sees no GPU", file=sys.stderr)
        return NOT_RUN
    if asked.warm_share:
        from gate import warm

        share, workers = map(int, asked.warm_share.split("/"))
        warm.run_share(chosen_jobs(asked), share, workers, asked.compile > 0)
        return 0
    return measure(asked)


if __name__ == "__main__":
    sys.exit(main())
