"""Needs a GPU: the same files give the same bits on cuda:0 as on the host device. Without one it is skipped."""

from __future__ import annotations

import numpy as np
from gpu_support import gpu_or_skip
from support import ToolTest
from warp_reduce._elements import BY_NAME
from warp_reduce._library import load_library
from warp_reduce._operators import default_output
from warp_reduce.wr.devices import HostDevice
from warp_reduce.wr.reduction import Reducer, Reduction


class Gpu(ToolTest):
    @classmethod
    def setUpClass(cls) -> None:
        cls.library = load_library()
        cls.gpu = gpu_or_skip(cls.library)

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
        for operator in ("sum", "product", "mean", "min", "argmax", "norm_l2", "count_nonzero", "logsumexp"):
            job = Reduction(operator, BY_NAME["f32"], default_output(operator, BY_NAME["f32"]))
            host = Reducer(self.library, HostDevice(self.library)).run(job, words)
            gpu = Reducer(self.library, self.gpu, piece_bytes=5000).run(job, words)
            self.assert_same_bits(gpu, host, operator)

    def test_segments_weights_values_and_old_results(self) -> None:
        random = np.random.default_rng(3)
        self.save("a.npy", random.standard_normal((300, 70)).astype(np.float32))
        self.save("w.npy", random.standard_normal(300).astype(np.float32))
        self.save("old.npy", random.standard_normal(70).astype(np.float32))
        self.save("o.npy", np.sort(random.integers(0, 21_000, 500)))
        for options in (
            ("argmin", "--offsets", "o.npy", "--values", "values.npy"),
            ("argmax", "--axis", 0, "--values", "values.npy", "--nan", "ignore"),
            ("sum", "--axis", 0, "--weights", "w.npy", "--add-to", "old.npy"),
        ):
            operator, *rest = options
            results = []
            for device in ("host", "cuda:0"):
                self.succeeds("reduce", operator, "a.npy", *rest, "-o", "out.npy", "--device", device)
                results.append([self.load("out.npy"), *([self.load("values.npy")] if "values.npy" in rest else [])])
            for host, gpu in zip(*results):
                self.assert_same_bits(gpu, host, options)

    def test_demo_and_bench(self) -> None:
        self.assertIn("agree in every bit", self.succeeds("demo"))
        self.assertIn("GB/s", self.succeeds("bench", "--largest", "16", "--device", "cuda:0"))
        self.assertIn(
            "device-to-device copy", self.succeeds("bench", "reduce", "--largest", "20", "--device", "cuda:0")
        )
        text = self.succeeds("bench", "softmax", "--largest", "20", "--device", "cuda:0")
        self.assertRegex(text, r"(?m)^ gradient of rows of 4096, from logits +bf16 +[\d.]+ +[\d.]+ +\d+%")
        self.assertRegex(self.succeeds("info"), r"CUDA streams +ready")
