"""Needs a GPU: files in pieces, and jobs that are killed on one device and gone on with on the other, have the bits of
one call on the host device. Without a GPU it is skipped."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import time
import unittest

import numpy as np
from gpu_support import gpu_or_skip
from streamed_support import StreamedTest
from support import LAUNCHER
from test_pieces_give_the_bits_of_the_whole import jobs, random_words
from warp_reduce._elements import BY_NAME
from warp_reduce._library import load_library
from warp_reduce.wr.devices import HostDevice
from warp_reduce.wr.driver import DRIVER_NAME
from warp_reduce.wr.errors import WrError
from warp_reduce.wr.file_pieces import FileElements
from warp_reduce.wr.lanes import Sizes
from warp_reduce.wr.npy_files import open_raw
from warp_reduce.wr.reduction import Reduction
from warp_reduce.wr.states import States
from warp_reduce.wr.streamed_reduction import StreamedReduction

SIZES = Sizes(3, 8192)
MANY_PARTS = Sizes(3, 8192, 1 << 20)  # pieces that several threads bring
DEVICES = ("cuda:0", "host")


class GpuBeyondMemory(StreamedTest):
    @classmethod
    def setUpClass(cls) -> None:
        cls.library = load_library()
        cls.device = gpu_or_skip(cls.library)
        cls.host = HostDevice(cls.library)
        cls.random = np.random.default_rng(12)

    def setUp(self) -> None:
        super().setUp()
        live = getattr(ctypes.CDLL(DRIVER_NAME), "stand_in_live_allocations", None)
        if live is not None:  # the driver is the stand-in, which counts them
            self.addCleanup(lambda: self.assertEqual(live(), 0))

    def test_every_operator_on_every_type(self) -> None:
        for job in jobs(self.library):
            if States(self.library, job, 1, 1).are_offered:
                for shape in ((1, 9000, 1), (3, 250, 30)):
                    self.assert_streamed_agrees(
                        job, random_words(self.random, job.element.name, shape, job.operator), None, (SIZES, MANY_PARTS)
                    )

    def test_a_file_that_becomes_shorter_while_it_is_read(self) -> None:
        job = Reduction("sum", BY_NAME["f32"], BY_NAME["f32"])
        path = self.raw(np.ones(40_000, np.float32))
        source = FileElements(open_raw(path, job.element, (1, 40_000, 1)), (1, 40_000, 1))
        os.truncate(path, 100_000)
        with self.assertRaisesRegex(WrError, "a.raw: has become shorter while it was read"):
            StreamedReduction(self.library, self.device, SIZES).run(job, source)

    def test_what_the_library_refuses_of_a_piece_is_said(self) -> None:
        job = Reduction("sum", BY_NAME["f32"], BY_NAME["u8"])
        shape = (10, 4000, 1)
        source = FileElements(open_raw(self.raw(np.ones(40_000, np.float32)), job.element, shape), shape)
        with self.assertRaisesRegex(WrError, "sum of f32 into u8"):
            StreamedReduction(self.library, self.device, SIZES).run(job, source)

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
                self.assert_streamed_agrees(job, random_words(self.random, name, shape), weights, (SIZES, MANY_PARTS))

    def test_softmax_of_rows_in_one_and_in_two_passes(self) -> None:
        self.assert_streamed_softmax_agrees((SIZES,))

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
