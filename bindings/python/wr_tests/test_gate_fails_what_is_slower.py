"""bench/gate.py: what it times, that the library takes each job, and which runs it fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from ctypes import c_void_p, sizeof
from pathlib import Path

from support import ToolTest

BENCH = Path(os.environ["WR_DOCUMENTS"]).parent / "bench"
sys.path.append(str(BENCH))

from gate import SECTIONS, header  # noqa: E402
from gate.arguments import arguments  # noqa: E402
from gate.builds import Build  # noqa: E402
from gate.shapes import jobs  # noqa: E402

LIBRARY = Path(os.environ["WARP_REDUCE_LIBRARY"])
GRID_OPERATIONS = 8 + 3  # of rows, of columns


class Shapes(ToolTest):
    def test_what_people_run_is_there_in_f32_and_bf16(self) -> None:
        common = {job.name for job in jobs(("common",))}
        both = {name[:-5] for name in common if name.endswith(", f32")}
        both &= {name[:-6] for name in common if name.endswith(", bf16")}
        self.assertGreaterEqual(len(both), 80)
        for use in ("vocabulary 32000", "vocabulary 50257", "vocabulary 128256", "vocabulary 151936"):
            self.assertTrue(any(use in name for name in both), use)

    def test_no_job_is_named_or_timed_twice(self) -> None:
        listed = jobs(("small", "common", "rare"))
        self.assertEqual(len({job.name for job in listed}), len(listed))
        self.assertEqual(len({_without_names(job) for job in listed}), len(listed))

    def test_the_grid_has_every_cell(self) -> None:
        cells = {(job.name.split(",")[0], _without_names(job)) for job in jobs(("grid",))}
        self.assertEqual(len(cells), 5 * 8 * 2 * GRID_OPERATIONS)

    def test_the_library_takes_every_job(self) -> None:
        build = Build(LIBRARY)
        for job in jobs(SECTIONS):
            with self.subTest(job.name):
                build.workspace_size(arguments(job))


class OlderBuilds(ToolTest):
    def test_an_older_build_is_told_no_more_than_it_knows(self) -> None:
        known = header.struct("wr_softmax_args")
        newer = type("wr_softmax_args", (known,), {"_fields_": [("more", c_void_p), ("and_more", c_void_p)]})
        args = newer(struct_size=sizeof(newer), dtype=1, outer=8, axis=1 << 20, inner=1)
        Build(LIBRARY).workspace_size(args)
        self.assertEqual(args.struct_size, sizeof(known))

    def test_what_a_build_refuses_is_said_in_words(self) -> None:
        with self.assertRaisesRegex(ValueError, "element type"):
            Build(LIBRARY).workspace_size(header.args("wr_softmax_args", dtype=99, outer=1, axis=1, inner=1))

    def test_structs_are_the_headers(self) -> None:
        """The library knows their sizes, which a field too many or too few would change."""
        for name in ("wr_reduce", "wr_reduce_segments", "wr_dot", "wr_softmax", "wr_softmax_backward"):
            args = header.args(f"{name}_args")
            size = args.struct_size
            with self.assertRaises(ValueError):  # of no type
                Build(LIBRARY).workspace_size(args)
            self.assertEqual(args.struct_size, size, name)


class Verdicts(ToolTest):
    def run_of(self, name: str, *jobs: dict[str, object]) -> str:
        whole = {"results": [{**_job(), **job} for job in jobs], "not_timed": []}
        (self.folder / name).write_text(json.dumps(whole), encoding="utf-8")
        return name

    def gate(self, *asked: str) -> tuple[int, str]:
        command = [sys.executable, str(BENCH / "gate.py"), *asked]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.stderr, "", asked)
        return done.returncode, done.stdout

    def loses(self, before: float, after: float, may_lose: float) -> bool:
        old = self.run_of("old.json", {"us": {"ours": before}, "may_lose": may_lose})
        new = self.run_of("new.json", {"us": {"ours": after}, "may_lose": may_lose})
        beside = self.run_of("beside.json", {"us": {"ours": after, "baseline": before}, "may_lose": may_lose})
        statuses = {self.gate("--compare", old, new)[0], self.gate("--compare", beside)[0]}
        self.assertEqual(len(statuses), 1)
        return statuses == {1}

    def test_a_job_may_lose_what_its_kind_may(self) -> None:
        self.assertFalse(self.loses(100.0, 104.9, 0.05))
        self.assertTrue(self.loses(100.0, 105.1, 0.05))
        self.assertFalse(self.loses(100.0, 119.9, 0.20))
        self.assertTrue(self.loses(100.0, 120.1, 0.20))
        self.assertFalse(self.loses(100.0, 50.0, 0.05))

    def test_each_loss_is_named(self) -> None:
        old = self.run_of("old.json", {"name": "one", "us": {"ours": 10.0}}, {"name": "two", "us": {"ours": 10.0}})
        new = self.run_of("new.json", {"name": "one", "us": {"ours": 20.0}}, {"name": "two", "us": {"ours": 10.0}})
        status, said = self.gate("--compare", old, new)
        self.assertEqual(status, 1)
        self.assertIn("one: 10.00 us, now 20.00", said)
        self.assertNotIn("two:", said)

    def test_wrong_results_and_other_bits_fail(self) -> None:
        old = self.run_of("old.json", {})
        for wrong in ({"error": "ValueError: wrong result"}, {"bits": "differ"}):
            self.assertEqual(self.gate("--compare", old, self.run_of("new.json", wrong))[0], 1, wrong)

    def test_a_comparison_with_nothing_fails(self) -> None:
        new = self.run_of("new.json", {})
        self.assertEqual(self.gate("--compare", new)[0], 1)
        self.assertEqual(self.gate("--compare", self.run_of("old.json", {"name": "another"}), new)[0], 1)

    def test_the_grid_fails_where_a_peer_is_more_than_5_percent_ahead(self) -> None:
        for ours, status in ((104.9, 0), (105.1, 1)):
            run = self.run_of("run.json", {"section": "grid", "us": {"ours": ours, "torch": 100.0, "triton": 300.0}})
            self.assertEqual(self.gate("--grid", run)[0], status, ours)

    def test_bad_arguments_are_refused_in_words(self) -> None:
        for asked in ((), ("--library", "missing.so"), ("--compare", "a", "b", "c"), ("--sections", "none")):
            command = [sys.executable, str(BENCH / "gate.py"), *asked]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 2, asked)
            self.assertRegex(done.stderr, r"gate.py: error: \S")


def _job() -> dict[str, object]:
    return {"name": "job", "section": "common", "operation": "sum", "may_lose": 0.05, "us": {"ours": 1.0}}


def _without_names(job: object) -> tuple[str, ...]:
    return tuple(str(value) for field, value in vars(job).items() if field not in ("name", "section"))
