#!/usr/bin/env python3
"""Measures axes in shards on several GPUs (warp_reduce_nccl.h): bits against one GPU, time against one GPU and against
NCCL's all-reduces, errors and ranks that are gone."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parent
sys.path.insert(0, str(BENCH))

NOT_RUN = 77
EPILOG = """examples:
  bench/several_gpus.py --library build/lib/libwarp_reduce.so --output now.json    1, 2, 4, ... of the GPUs there are
  bench/several_gpus.py --library build/lib/libwarp_reduce.so --ranks 2,4
  bench/several_gpus.py --rehearse --library build/tests/nccl/libplayed_warp_reduce.so \\
      --nccl build/tests/nccl/libnccl.so.2 --ranks 1,2,4          small jobs by the stand-ins of tests/nccl, no GPU

exit status: 0 all bits and errors are as promised, 1 they are not, 2 an argument is wrong, 77 no GPU or no PyTorch"""


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--library", type=Path, required=True, metavar="FILE", help="the libwarp_reduce.so to measure")
    parser.add_argument("--ranks", metavar="LIST", help="numbers of GPUs; without it 1, 2, 4, ... of those there are")
    parser.add_argument("--parts", default="bits,faults,scaling", help="a list of bits, faults, scaling")
    parser.add_argument("--only", metavar="TEXT", default="", help="only jobs of scaling whose names have this text")
    parser.add_argument(
        "--budget", type=float, metavar="SECONDS", default=1e9, help="what is not begun then is left out"
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="where all that is found goes, as JSON")
    parser.add_argument("--small", action="store_true", help="small jobs, as in a rehearsal")
    parser.add_argument("--rehearse", action="store_true", help="on the stand-ins of tests/nccl; times mean nothing")
    parser.add_argument("--nccl", type=Path, metavar="FILE", help="the stand-in for NCCL")
    asked = parser.parse_args()
    asked.parts = asked.parts.split(",")
    if unknown := set(asked.parts) - {"bits", "faults", "scaling"}:
        parser.error(f"no part is called '{min(unknown)}'")
    try:
        asked.ranks = [int(each) for each in asked.ranks.split(",")] if asked.ranks else []
    except ValueError:
        parser.error(f"--ranks takes numbers, not '{asked.ranks}'")
    if any(each < 1 for each in asked.ranks):
        parser.error("--ranks takes numbers from 1 on")
    if asked.rehearse and not asked.nccl:
        parser.error("--rehearse needs --nccl, the stand-in")
    for path in filter(None, (asked.library, asked.nccl)):
        if not path.is_file():
            parser.error(f"{path} is not there")
    return asked


class Run:
    """Writes what it has after each step: what is cut off is not lost."""

    def __init__(self, asked: argparse.Namespace) -> None:
        from several_gpus.library import Library

        self.asked = asked
        self.library = Library(asked.library)
        self.end = time.monotonic() + asked.budget
        self.found: dict[str, Any] = {
            "machine": machine(asked),
            "bits": [],
            "faults": [],
            "scaling": [],
            "left out": [],
        }
        self.small = asked.small or asked.rehearse

    def world(self, ranks: int) -> Any:
        from several_gpus.worlds import Gpus, Played

        return Played(ranks, self.asked.nccl) if self.asked.rehearse else Gpus(ranks)

    def put(self, part: str, *results: dict[str, Any]) -> None:
        self.found[part] += results
        if self.asked.output:
            self.asked.output.write_text(json.dumps(self.found, indent=1), encoding="utf-8")

    def in_time(self, what: str) -> bool:
        if time.monotonic() < self.end:
            return True
        self.found["left out"].append(what)
        return False

    def bits(self, world: Any) -> None:
        from several_gpus import bits

        self.put("bits", *bits.check(world, self.library, self.small))

    def scaling(self, world: Any) -> None:
        from several_gpus import scaling

        for scaled in scaling.jobs(self.small):
            if self.asked.only in scaled.job.name and self.in_time(f"{scaled.job.name} on {world.ranks}"):
                self.put("scaling", scaling.measure(world, self.library, scaled))
                print(".", end="", file=sys.stderr, flush=True)

    def faults(self, world: Any) -> None:
        from several_gpus import faults

        self.put("faults", faults.refused(world, self.library))
        if world.ranks > 1:
            self.put("faults", faults.differing(world, self.library))
        if self.asked.rehearse:
            self.put("faults", *faults.played(world, self.library))

    def gone(self, ranks: int) -> list[dict[str, Any]]:
        """On communicators of their own, which are of no use afterwards."""
        from several_gpus import faults

        before = len(self.found["faults"])
        for op in ("sum", "sum_exact", "log_softmax"):
            world = self.world(ranks)
            self.put("faults", faults.gone(world, self.library, op))
            world.close()
        self.put("faults", faults.goes_on_with_fewer(self.library, ranks - 1))
        return self.found["faults"][before:]

    def ranks(self, ranks: int) -> None:
        world = self.world(ranks)
        for part in self.asked.parts:
            if self.in_time(f"{part} on {ranks}"):
                getattr(self, part)(world)
        world.close()


def machine(asked: argparse.Namespace) -> dict[str, Any]:
    import torch
    from gate.builds import Build

    found = {"PyTorch": torch.__version__, "warp-reduce": Build(asked.library).version}
    if asked.rehearse:
        return {**found, "GPUs": "played by the host device: times mean nothing"}
    return {
        **found,
        "GPUs": [torch.cuda.get_device_name(each) for each in range(torch.cuda.device_count())],
        "NCCL": ".".join(map(str, torch.cuda.nccl.version())),
        "CUDA": torch.version.cuda,
        "peers": [
            [torch.cuda.can_device_access_peer(a, b) for b in range(torch.cuda.device_count()) if a != b]
            for a in range(torch.cuda.device_count())
        ],
    }


def numbers_of_ranks(asked: argparse.Namespace) -> list[int]:
    import torch

    if asked.ranks:
        return asked.ranks
    there = 4 if asked.rehearse else torch.cuda.device_count()
    return [each for each in (1, 2, 4, 8, 16) if each <= there]


def main() -> int:
    asked = options()
    try:
        import torch
    except ImportError:
        print("several_gpus.py: PyTorch is not here", file=sys.stderr)
        return NOT_RUN
    if not asked.rehearse and torch.cuda.device_count() < max(asked.ranks or [1]):
        print(f"several_gpus.py: {torch.cuda.device_count()} GPUs are here", file=sys.stderr)
        return NOT_RUN
    from several_gpus import table

    run = Run(asked)
    numbers = numbers_of_ranks(asked)
    for ranks in numbers:
        run.ranks(ranks)
    run.put("scaling")
    found = run.found
    print(f"\n{json.dumps(found['machine'])}\n\n{table.scaling(found['scaling'])}\n")
    print(table.checks(found["bits"], found["faults"]), flush=True)
    # Last: what comes of it is the least sure, and nothing else is lost by it.
    if "faults" in asked.parts and not asked.rehearse and max(numbers) > 1 and run.in_time("a rank that is gone"):
        print(table.checks([], run.gone(max(numbers))))
    if found["left out"]:
        print(f"left out for lack of time: {', '.join(found['left out'])}")
    return 0 if all(each["ok"] for part in ("bits", "faults", "scaling") for each in found[part]) else 1


if __name__ == "__main__":
    sys.exit(main())
