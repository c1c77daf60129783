"""Needs a GPU: the same files give the same bits on cuda:0 as on the host device. Without one it is skipped."""

from __future__ import annotations

import unittest

import numpy as np
from support import ToolTest
from wr.devices import HostDevice, open_device
from wr.elements import BY_NAME
from wr.errors import WrError
from wr.library import load_library
from wr.reduction import Reducer, Reduction


class Gpu(ToolTest):
    @classmethod
    def setUpClass(cls) -> None:
        cls.library = load_library()
        try:
            cls.gpu = open_device(cls.library, "cuda:0")
        except WrError as error:
            raise unittest.SkipTest(f"needs a GPU: {error}") from None

    def test_files(self) -> None:
        array = np.random.default_rng(1).standard_normal((300, 700)).astype(np.float32)
        self.save("a.npy", array)
        for axis in (0, 1):
            self.succeeds("reduce", "sum", "a.npy", "--axis", axis, "-o", "host.npy")
            self.succeeds("reduce", "sum", "a.npy", "--axis", axis, "-o", "gpu.npy", "--device", "cuda:0")
            self.assert_same_bits(self.load("gpu.npy"), self.load("host.npy"))
        self.succeeds("softmax", "a.npy", "host.npy", "--lse", "host_lse.npy")
        self.succeeds("softmax", "a.npy", "gpu.npy", "--lse", "gpu_lse.npy", "--device", "cuda:0")
        self.assert_same_bits(self.load("gpu.npy"), self.load("host.npy"))
        self.assert_same_bits(self.load("gpu_lse.npy"), self.load("host_lse.npy"))

    def test_pieces(self) -> None:
        words = np.random.default_rng(2).standard_normal((1, 100_001, 1)).astype(np.float32)
        for operator in ("sum", "mean", "min", "max"):
            job = Reduction(operator, BY_NAME["f32"], BY_NAME["f32"])
            host = Reducer(self.library, HostDevice(self.library)).run(job, words)
            gpu = Reducer(self.library, self.gpu, piece_bytes=5000).run(job, words)
            self.assert_same_bits(gpu, host, operator)

    def test_demo_and_bench(self) -> None:
        self.assertIn("agree in every bit", self.succeeds("demo"))
        self.assertIn("GB/s", self.succeeds("bench", "--largest", "16", "--device", "cuda:0"))
        self.assertRegex(self.succeeds("info"), r"CUDA streams +ready")
