"""Needs a GPU: files in pieces, and jobs that are killed on one device and gone on with on the other, have the bits of
one call on the host device. Without a GPU it is skipped."""

from __future__ import annotations

import itertools
import signal
import subprocess
import time
import unittest

import numpy as np
from support import LAUNCHER, ToolTest
from test_files_beyond_memory import factors_of
from test_pieces_give_the_bits_of_the_whole import as_words, jobs, random_words
from warp_reduce._elements import BY_NAME
from warp_reduce._library import load_library
from warp_reduce._operators import GIVE_AN_INDEX
from warp_reduce.wr.devices import HostDevice, open_device
from warp_reduce.wr.errors import WrError
from warp_reduce.wr.file_pieces import FileElements
from warp_reduce.wr.lanes import Sizes
from warp_reduce.wr.npy_files import open_raw
from warp_reduce.wr.reduction import Reducer, Reduction
from warp_reduce.wr.softmax import Softmax, run_softmax
from warp_reduce.wr.states import States
from warp_reduce.wr.streamed_reduction import StreamedReduction
from warp_reduce.wr.streamed_softmax import StreamedSoftmax

SIZES = Sizes(3, 8192)
DEVICES = ("cuda:0", "host")


class GpuBeyondMemory(ToolTest):
    @classmethod
    def setUpClass(cls) -> None:
        cls.library = load_library()
        try:
            cls.gpu = open_device(cls.library, "cuda:0")
        except WrError as error:
            raise unittest.SkipTest(f"needs a GPU: {error}") from None
        cls.host = HostDevice(cls.library)
        cls.random = np.random.default_rng(12)

    def raw(self, words: np.ndarray) -> str:
        words.tofile(self.folder / "a.raw")
        return str(self.folder / "a.raw")

    def assert_streamed_agrees(self, job: Reduction, words: np.ndarray, weights: np.ndarray | None = None) -> None:
        shape = (words.shape[0], words.shape[2])
        values = np.zeros(shape, job.element.storage) if job.operator in GIVE_AN_INDEX else None
        whole = Reducer(self.library, self.host).run(job, words, weights=weights, values=values)
        source = FileElements(open_raw(self.raw(words), job.element, words.shape), words.shape)
        result, found = StreamedReduction(self.library, self.gpu, SIZES).run(job, source, factors_of(job, weights))
        self.assert_same_bits(result, whole, (job, words.shape))
        if values is not None:
            self.assert_same_bits(found, values, (job, words.shape))

    def test_every_operator_on_every_type(self) -> None:
        for job in jobs(self.library):
            if States(self.library, job, 1, 1).are_offered:
                for shape in ((1, 9000, 1), (3, 250, 30)):
                    self.assert_streamed_agrees(job, random_words(self.random, job.element.name, shape, job.operator))

    def test_weights(self) -> None:
        for name, operator in (
            ("f32", "sum"),
            ("bf16", "sum"),
            ("i64", "sum"),
            ("koalabear", "sum"),
            ("f32", "sum_exact"),
        ):
            element = BY_NAME[name]
            job = Reduction(operator, element, element, weights=element)
            for shape in ((1, 9000, 1), (7, 900, 1), (3, 250, 30)):
                weights = random_words(self.random, name, (shape[1],))
                self.assert_streamed_agrees(job, random_words(self.random, name, shape), weights)

    def test_softmax_of_rows_in_one_and_in_two_passes(self) -> None:
        shapes = ((1, 70_000, 1), (2, 9000, 1), (30, 700, 1), (1, 3000, 7), (2, 2100, 40))
        for name, shape in itertools.product(("f32", "f64", "bf16", "f16"), shapes):
            element = BY_NAME[name]
            words = as_words(self.random.standard_normal(shape) * 5, element)
            words[..., -1:] = as_words(np.full(1, -np.inf), element) if shape[2] == 7 else words[..., -1:]
            source = FileElements(open_raw(self.raw(words), element, shape), shape)
            for log, scale in itertools.product((False, True), (0.0, 0.3)):
                job = Softmax(element, element, log=log, scale=scale, zero_empty_rows=log)
                results = [
                    (np.zeros(shape, element.storage), np.zeros(shape[::2], job.logsumexp_element().storage))
                    for _ in range(2)
                ]
                run_softmax(self.library, self.host, job, words, *results[0])
                StreamedSoftmax(self.library, self.gpu, SIZES).run(job, source, *results[1])
                for whole, streamed in zip(*results):
                    self.assert_same_bits(streamed, whole, (job, shape))

    def kill_and_go_on(self, arguments: list[str], devices: tuple[str, str]) -> None:
        """Kills a run on the one device when it has saved a state twice, and lets it go on on the other."""
        killed, other = ([*arguments, "--state", "a.state", "--device", device] for device in devices)
        process = subprocess.Popen(
            [LAUNCHER, *killed, "--state-every", "0"], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        state, seen, limit = self.folder / "a.state", set(), time.monotonic() + 60
        while len(seen) < 2 and process.poll() is None and time.monotonic() < limit:
            if state.exists():
                seen.add(state.stat().st_mtime_ns)
            time.sleep(0.0005)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        self.assertEqual(process.returncode, -signal.SIGKILL, arguments)
        self.assertRegex(self.succeeds(*other), "went on +from a.state, behind", arguments)

    def test_killed_on_one_device_and_gone_on_with_on_the_other(self) -> None:
        self.raw(self.random.standard_normal(1 << 24).astype(np.float32))
        options = ("--dtype", "f32", "--memory", "2M")
        for job in (
            ("reduce", "sum", "a.raw", "--shape=-1"),
            ("reduce", "norm_l2", "a.raw", "--shape=-1,64", "--axis", "0"),
            ("reduce", "argmax", "a.raw", "--shape=4,-1", "--axis", "1"),
        ):
            self.succeeds(*job, "--dtype", "f32", "-o", "whole.npy")
            for devices in (DEVICES, DEVICES[::-1]):
                self.kill_and_go_on([*job, *options, "-o", "out.npy"], devices)
                self.assert_same_bits(self.load("out.npy"), self.load("whole.npy"), (job, devices))
        for rows in (("--shape=-1",), ("--shape=-1,64",), ("--shape=4,-1,256", "--axis", "1")):
            job = ("softmax", "a.raw", "out.npy", "--lse", "l.npy", *rows)
            self.succeeds("softmax", "a.raw", "whole.npy", "--lse", "wl.npy", "--dtype", "f32", *rows)
            for devices in (DEVICES, DEVICES[::-1]):
                self.kill_and_go_on([*job, *options], devices)
                self.assert_same_bits(self.load("out.npy"), self.load("whole.npy"), (rows, devices))
                self.assert_same_bits(self.load("l.npy"), self.load("wl.npy"), (rows, devices))


if __name__ == "__main__":
    unittest.main()
