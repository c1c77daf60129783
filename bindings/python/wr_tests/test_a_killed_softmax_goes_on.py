"""wr softmax --state: a run that is killed, wherever it is, is gone on with to the bits of one that was not."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import time
import unittest
from pathlib import Path

import numpy as np
from support import LAUNCHER, ToolTest
from warp_reduce.wr.saved_state import unfinished_state

ELEMENTS = 3 << 21
RUNS = 5  # a run may be over before it is killed


class KilledSoftmax(ToolTest):
    def setUp(self) -> None:
        super().setUp()
        self.words = (np.random.default_rng(4).standard_normal(ELEMENTS) * 5).astype(np.float32)
        self.words.tofile(self.folder / "a.raw")
        self.state = self.folder / "a.state"

    def arguments(self, *options: str, every: float = 0.0) -> list[str]:
        files = ["softmax", "a.raw", "out.npy", "--lse", "lse.npy", "--dtype", "f32", *options]
        return [*files, "--memory", "1M", "--state", "a.state", "--state-every", str(every)]

    def whole(self, *options: str) -> tuple[np.ndarray, np.ndarray]:
        self.succeeds("softmax", "a.raw", "w.npy", "--lse", "l.npy", "--dtype", "f32", *options)
        return self.load("w.npy"), self.load("l.npy")

    def position(self) -> dict:
        try:
            data = self.state.read_bytes()
        except FileNotFoundError:
            return {}
        return json.loads(data[16 : 16 + struct.unpack_from("<Q", data, 8)[0]])["position"]

    def kill_where(self, arguments: list[str], reached: str, least: int) -> None:
        """Kills a run once what it has saved says that `reached`, which is counted, is at least so much."""
        for _ in range(RUNS):
            process = subprocess.Popen([LAUNCHER, *arguments], cwd=self.folder, stdout=subprocess.PIPE)
            limit = time.monotonic() + 60
            while process.poll() is None and time.monotonic() < limit:
                if self.position().get(reached, 0) >= least:
                    break
                time.sleep(0.0005)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            if process.returncode == -signal.SIGKILL:
                self.assertFalse((self.folder / "out.npy").exists())
                return
            for name in ("out.npy", "lse.npy"):
                (self.folder / name).unlink()
        self.fail(f"{RUNS} runs were over before they could be killed: {arguments}")

    def assert_goes_on(self, arguments: list[str], whole: tuple[np.ndarray, np.ndarray]) -> None:
        self.assertRegex(self.succeeds(*arguments), r"went on +from a.state, behind \d+\.\d% of the work")
        for name, expected in zip(("out.npy", "lse.npy"), whole):
            self.assert_same_bits(self.load(name), expected, arguments)
            (self.folder / name).unlink()
        self.assertFalse(self.state.exists())
        self.assertEqual(list(self.folder.glob(".wr.*")), [])

    def test_killed_and_gone_on_with(self) -> None:
        """Whole rows; one row, while its states are made and while its outputs are; rows of several pieces; columns."""
        jobs = (
            (("--shape=-1,64",), "pieces", 2),
            (("--shape=-1", "--log"), "count", 100_000),
            (("--shape=-1", "--scale", "0.3"), "pieces", 2),
            (("--shape=3,-1", "--log"), "pieces", 30),
            (("--shape=-1,64", "--axis", "0"), "pieces", 2),
        )
        for options, reached, least in jobs:
            whole, arguments = self.whole(*options), self.arguments(*options)
            self.kill_where(arguments, reached, least)
            self.kill_where(arguments, reached, least)
            self.assert_goes_on(arguments, whole)

    def test_what_is_done_is_not_done_again(self) -> None:
        """Elements before the place that was saved, changed with the file's time kept, no longer count."""
        arguments, whole = self.arguments("--shape=-1,64"), self.whole("--shape=-1,64")
        self.kill_where(arguments, "pieces", 2)
        path = self.folder / "a.raw"
        before = path.stat()
        with open(path, "r+b") as file:
            file.write(np.float32(100).tobytes())
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        self.assert_goes_on(arguments, whole)

    def test_ended_by_a_signal_it_writes_where_it_is(self) -> None:
        arguments, whole = self.arguments("--shape=-1", every=1000.0), self.whole("--shape=-1")
        ended = []
        for pause in (0.0, 0.005, 0.01, 0.02):
            process = subprocess.Popen([LAUNCHER, *arguments], cwd=self.folder, stdout=subprocess.PIPE)
            while process.poll() is None and not list(self.folder.glob(".wr.*")):
                time.sleep(0.0005)
            time.sleep(pause)
            process.send_signal(signal.SIGTERM)
            process.communicate()
            ended.append(process.returncode)
        self.assertLessEqual(set(ended), {0, -signal.SIGTERM})
        self.assertIn(-signal.SIGTERM, ended)
        self.succeeds(*arguments)
        self.assert_same_bits(self.load("out.npy"), whole[0])
        self.assertEqual(list(self.folder.glob(".wr.*")), [])

    def test_a_run_that_fails_before_a_state_leaves_nothing(self) -> None:
        arguments = self.arguments("--shape=-1")
        self.fails(1, *arguments, "--device", "cuda:9")
        self.fails(1, *(each.replace("lse.npy", "nowhere/lse.npy") for each in arguments))
        with open(self.folder / "a.raw", "r+b") as file:
            file.truncate(4000)
        self.fails(1, *(each.replace("=-1", "=1001") for each in arguments))
        self.assertEqual(sorted(each.name for each in self.folder.iterdir()), ["a.raw"])

    def test_killed_when_the_output_was_in_its_place(self) -> None:
        arguments, whole = self.arguments("--shape=-1"), self.whole("--shape=-1")
        self.kill_where(arguments, "pieces", 2)
        os.rename(self.folder / self.position()["outputs"][0]["file"], self.folder / "out.npy")
        self.assert_goes_on(arguments, whole)

    def test_killed_while_a_state_was_written(self) -> None:
        arguments, whole = self.arguments("--shape=-1", every=1000.0), self.whole("--shape=-1")
        self.kill_where(self.arguments("--shape=-1"), "pieces", 2)
        Path(unfinished_state(str(self.state.resolve()))).write_bytes(b"half")
        self.assert_goes_on(arguments, whole)

    def test_an_unfinished_output_that_is_gone(self) -> None:
        arguments = self.arguments("--shape=-1")
        self.kill_where(arguments, "pieces", 2)
        part = self.folder / self.position()["outputs"][0]["file"]
        part.rename(self.folder / "elsewhere")
        saved = self.state.read_bytes()
        for _ in range(2):
            message = self.fails(1, *arguments)
            self.assertRegex(message, r"out.npy: what an earlier run has written of it \(\.wr\..* is there no longer")
            part.write_bytes(b"another")
        self.assertEqual(self.state.read_bytes(), saved)

    def test_states_of_other_jobs_are_refused(self) -> None:
        self.kill_where(self.arguments("--shape=-1"), "pieces", 2)
        others = (
            (self.arguments("--shape=-1", "--log"), "operator was softmax and not log-softmax"),
            (self.arguments("--shape=-1", "--scale", "2"), "scale was 0.0 and not 2.0"),
            (self.arguments("--shape=-1,2", "--axis", "0"), "shape was"),
            (["out2.npy" if each == "out.npy" else each for each in self.arguments("--shape=-1")], "output file was"),
        )
        for other, what in others:
            self.assertRegex(self.fails(1, *other), f"a.state: is the state of another job, whose {what}")
        job = ("reduce", "sum", "a.raw", "--dtype", "f32", "--shape=-1", "--state", "a.state")
        self.assertIn("is the state of another job", self.fails(1, *job))

    def test_what_has_no_state_to_save(self) -> None:
        self.save("f.npy", np.asfortranarray(np.ones((3, 4), np.float32)))
        message = self.fails(1, "softmax", "f.npy", "out.npy", "--state", "a.state")
        self.assertIn("f.npy: --state is for files in C order", message)
        for option in (("--mask", "m.npy"), ("--lengths", "m.npy"), ("--offsets", "m.npy"), ("--causal",)):
            message = self.fails(2, "softmax", "f.npy", "out.npy", *option, "--state", "a.state")
            self.assertIn("--state goes with none of --mask, --lengths, --causal and --offsets", message)
        message = self.fails(2, "softmax", "f.npy", "./f.npy", "--state", "a.state")
        self.assertIn("with --state the input must be there until the job is done; name another OUTPUT", message)


if __name__ == "__main__":
    unittest.main()
