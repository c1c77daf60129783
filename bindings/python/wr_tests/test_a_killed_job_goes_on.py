"""wr reduce --state: a run that is killed, wherever it is, is gone on with to the bits of one that was not."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import unittest
from pathlib import Path

import numpy as np
from support import LAUNCHER, ToolTest

RAW = ("--dtype", "f32", "--memory", "1M")


class KilledJobs(ToolTest):
    def setUp(self) -> None:
        super().setUp()
        self.words = np.random.default_rng(3).standard_normal(1 << 24).astype(np.float32)
        self.words.tofile(self.folder / "a.raw")
        self.state = self.folder / "a.state"

    def arguments(self, operator: str, *options: str, every: float = 0.0) -> list[str]:
        return [*("reduce", operator, "a.raw", *RAW, *options), "--state", "a.state", "--state-every", str(every)]

    def end_after_some_states(self, arguments: list[str], number: int, states: int) -> int:
        """Sends the signal once the file of state has been written anew so often; gives the exit status."""
        process = subprocess.Popen([LAUNCHER, *arguments, "-o", "never.npy"], cwd=self.folder, stderr=subprocess.PIPE)
        seen, limit = set(), time.monotonic() + 60
        while len(seen) < states and process.poll() is None and time.monotonic() < limit:
            if self.state.exists():
                seen.add(self.state.stat().st_mtime_ns)
            time.sleep(0.0005)
        process.send_signal(number)
        process.communicate()
        return process.returncode

    def test_killed_and_gone_on_with(self) -> None:
        jobs = (
            ("sum", "--shape=-1"),
            ("norm_l2", "--shape=4,-1", "--axis", "1"),
            ("argmax", "--shape=-1,64", "--axis", "0"),
            ("mean", "--shape=-1,64", "--axis", "1"),
            ("max", "--shape=2,64,-1", "--axis", "1"),
            ("logsumexp", "--shape=-1"),
            ("sum_exact", "--shape=-1"),
        )
        for operator, *options in jobs:
            whole = self.result("reduce", operator, "a.raw", "--dtype", "f32", *options)
            arguments = self.arguments(operator, *options)
            for states in (1, 2):
                status = self.end_after_some_states(arguments, signal.SIGKILL, states)
                self.assertEqual(status, -signal.SIGKILL, operator)
            self.assertTrue(self.state.exists())
            shown = self.succeeds(*arguments, "-o", "out.npy")
            self.assertRegex(shown, r"went on +from a.state, behind \d+\.\d% of the file", operator)
            self.assert_same_bits(self.load("out.npy"), whole, operator)
            self.assertFalse(self.state.exists())
            self.assertFalse((self.folder / "never.npy").exists())

    def test_a_dot_product_killed_and_gone_on_with(self) -> None:
        self.words[::-1].tofile(self.folder / "b.raw")
        files = ("dot", "a.raw", "b.raw", "--dtype", "f32", "--shape=-1")
        for options in ((), ("--exact",)):
            whole = self.result(*files, *options)
            arguments = [*files, *options, "--memory", "1M", "--state", "a.state", "--state-every", "0"]
            for states in (1, 2):
                self.assertEqual(self.end_after_some_states(arguments, signal.SIGKILL, states), -signal.SIGKILL)
            other = ["dot", "b.raw", "a.raw", *arguments[3:]]
            self.assertRegex(self.fails(1, *other), "is the state of another job, whose file's time of change was")
            self.assertRegex(
                self.succeeds(*arguments, "-o", "out.npy"), r"went on +from a.state, behind \d+\.\d% of the files"
            )
            self.assert_same_bits(self.load("out.npy"), whole, options)
            self.assertFalse(self.state.exists())

    def result(self, *arguments: str) -> np.ndarray:
        self.succeeds(*arguments, "-o", "out.npy")
        return self.load("out.npy")

    def test_what_is_said_goes_on_from_the_last_state(self) -> None:
        """And not from the beginning: elements before it, changed with the file's time kept, no longer count."""
        arguments = self.arguments("sum", "--shape=-1")
        self.end_after_some_states(arguments, signal.SIGKILL, 2)
        whole = self.result("reduce", "sum", "a.raw", "--dtype", "f32", "--shape=-1")
        path = self.folder / "a.raw"
        before = path.stat()
        with open(path, "r+b") as file:
            file.write(np.float32(1e30).tobytes())
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        self.assert_same_bits(self.result(*arguments), whole)

    def test_ended_by_a_signal_it_writes_where_it_is(self) -> None:
        arguments = self.arguments("sum", "--shape=-1", every=1000.0)
        whole = self.result("reduce", "sum", "a.raw", "--dtype", "f32", "--shape=-1")
        for pause in (0.5, 0.7, 1.0):
            process = subprocess.Popen([LAUNCHER, *arguments], cwd=self.folder, stdout=subprocess.PIPE)
            time.sleep(pause)
            process.send_signal(signal.SIGTERM)
            process.communicate()
            self.assertIn(process.returncode, (0, -signal.SIGTERM))
        self.assert_same_bits(self.result(*arguments), whole)

    def saved(self) -> tuple[list[str], bytes]:
        arguments = self.arguments("sum", "--shape=-1")
        self.end_after_some_states(arguments, signal.SIGKILL, 1)
        return arguments, self.state.read_bytes()

    def test_damaged_states_are_refused(self) -> None:
        arguments, good = self.saved()
        damaged = [b"", b"WRSTATES", good[:-1], good + b"\0", good[:40]]
        for at in (0, 8, 15, 16, 60, len(good) // 2, len(good) - 40, len(good) - 1):
            damaged.append(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
        for data in damaged:
            self.state.write_bytes(data)
            message = self.fails(1, *arguments)
            self.assertIn("a.state: is no state of a job, or is damaged; remove it to begin anew", message)
            self.assertEqual(self.state.read_bytes(), data)

    def test_states_of_other_jobs_and_files_are_refused(self) -> None:
        arguments, good = self.saved()
        others = (
            (self.arguments("mean", "--shape=-1"), "operator was sum and not mean"),
            (
                self.arguments("sum", "--shape=-1,2", "--axis", "0"),
                r"shape was \[1, 16777216, 1\] and not \[1, 838",
            ),
            (self.arguments("sum", "--shape=-1", "--nan", "ignore"), "treatment of NaNs was propagate and not ignore"),
            (self.arguments("sum", "--shape=-1", "--output-dtype", "f64"), "output type was f32 and not f64"),
        )
        for other, what in others:
            self.assertRegex(self.fails(1, *other), f"a.state: is the state of another job, whose {what}")
        path: Path = self.folder / "a.raw"
        os.utime(path)
        self.assertIn("whose file's time of change was", self.fails(1, *arguments))
        self.words[:-1].tofile(path)
        self.assertIn("whose file's size was 67108864 and not 67108860", self.fails(1, *arguments))
        self.assertEqual(self.state.read_bytes(), good)

    def test_what_has_no_state_to_save(self) -> None:
        np.save(self.folder / "f.npy", np.asfortranarray(np.ones((3, 4), np.float32)))
        message = self.fails(1, "reduce", "sum", "f.npy", "--state", "a.state")
        self.assertIn("f.npy: --state is for files in C order and operators that have states", message)
        message = self.fails(2, "reduce", "sum", "f.npy", "--add-to", "g.npy", "--state", "a.state")
        self.assertIn("--state goes with neither --offsets nor --add-to", message)
        for text in ("x", "-1", "inf"):
            message = self.fails(2, "reduce", "sum", "f.npy", f"--state-every={text}")
            self.assertIn("is no number of seconds", message)


if __name__ == "__main__":
    unittest.main()
