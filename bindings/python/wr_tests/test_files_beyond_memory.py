"""Files are reduced in pieces that are read meanwhile: the bits are those of one call, the memory is what was said."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import unittest

import numpy as np
from streamed_support import StreamedTest
from test_pieces_give_the_bits_of_the_whole import FLOATS, as_words, jobs, random_words
from warp_reduce._elements import BY_NAME
from warp_reduce._library import load_library
from warp_reduce._operators import default_output
from warp_reduce.wr.devices import HostDevice
from warp_reduce.wr.elements import nan_word
from warp_reduce.wr.errors import WrError
from warp_reduce.wr.file_pieces import FileElements, cut_of
from warp_reduce.wr.lanes import Sizes
from warp_reduce.wr.npy_files import open_raw
from warp_reduce.wr.reduction import Reduction
from warp_reduce.wr.states import States
from warp_reduce.wr.streamed_reduction import StreamedReduction

SHAPES = ((1, 5000, 1), (7, 900, 1), (1, 333, 17), (3, 250, 9), (40, 3, 2), (1, 1, 3000), (2, 100, 300))
SIZES = (Sizes(1, 1000), Sizes(3, 4096))

# Runs the command and says what it had in memory at most beyond the start, in bytes; files are not counted.
MEASURED = """
import sys, threading
from warp_reduce.wr.main import main
from warp_reduce.wr import lanes, reduction, states, streamed_reduction, npy_files
import rich.progress
def anonymous():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("RssAnon:"))
from warp_reduce._library import load_library
load_library()
before, most = anonymous(), 0
def watch():
    global most
    while not ended.wait(0.002):
        most = max(most, anonymous())
ended = threading.Event()
watcher = threading.Thread(target=watch)
watcher.start()
try:
    sys.argv = ["wr", *sys.argv[1:]]
    main()
finally:
    ended.set()
    watcher.join()
    print(max(most, anonymous()) - before, file=sys.stderr)
"""


class BeyondMemory(StreamedTest):
    @classmethod
    def setUpClass(cls) -> None:
        cls.library = load_library()
        cls.host = cls.device = HostDevice(cls.library)
        cls.random = np.random.default_rng(11)

    def test_every_operator_on_every_type(self) -> None:
        seen = set()
        for job in jobs(self.library):
            if not States(self.library, job, 1, 1).are_offered:
                continue
            seen.add(job.operator)
            for shape in SHAPES:
                self.assert_streamed_agrees(
                    job, random_words(self.random, job.element.name, shape, job.operator), None, SIZES
                )
        self.assertGreaterEqual(seen, {"sum", "mean", "norm_l2", "logsumexp", "sum_exact", "argmax", "product"})

    def test_nans_left_out(self) -> None:
        for operator, name in itertools.product(("sum", "mean", "max", "argmin", "norm_l2"), FLOATS):
            element = BY_NAME[name]
            job = Reduction(operator, element, default_output(operator, element), ignore_nan=True)
            if not States(self.library, job, 1, 1).are_offered:
                continue
            words = random_words(self.random, name, (3, 250, 9), operator)
            words[self.random.random(words.shape) < 0.9] = nan_word(element)
            self.assert_streamed_agrees(job, words, None, SIZES)

    def test_weights(self) -> None:
        for name, operator in (
            *((each, "sum") for each in ("f32", "bf16", "i64", "koalabear")),
            *((each, "sum_exact") for each in ("f32", "f16")),
        ):
            element = BY_NAME[name]
            job = Reduction(operator, element, element, weights=element)
            for shape in ((1, 5000, 1), (7, 900, 1), (3, 250, 9)):
                weights = random_words(self.random, name, (shape[1],))
                self.assert_streamed_agrees(job, random_words(self.random, name, shape), weights, SIZES)

    def test_softmax_of_rows_in_one_and_in_two_passes(self) -> None:
        self.assert_streamed_softmax_agrees((Sizes(1, 8192), Sizes(3, 20_000)))

    def test_softmax_of_the_command(self) -> None:
        array = self.random.standard_normal((3, 300_000)).astype(np.float32)
        self.save("a.npy", array)
        array.tofile(self.folder / "a.raw")
        for axis in (0, 1):
            self.succeeds("softmax", "a.npy", "whole.npy", "--lse", "l.npy", "--axis", axis)
            for file in (("a.npy",), ("a.raw", "--dtype", "f32", "--shape=3,-1")):
                options = ("--lse", "m.npy", "--axis", axis, "--memory", "1M")
                self.succeeds("softmax", file[0], "out.npy", *file[1:], *options)
                self.assert_same_bits(self.load("out.npy"), self.load("whole.npy"))
                self.assert_same_bits(self.load("m.npy"), self.load("l.npy"))

    def test_dot_of_the_command(self) -> None:
        for name in ("a", "b"):
            array = self.random.standard_normal((3, 400_000)).astype(np.float32)
            self.save(f"{name}.npy", array)
            array.tofile(self.folder / f"{name}.raw")
        for options in ((), ("--exact",), ("--accumulate-dtype", "f64", "--output-dtype", "f64")):
            self.succeeds("dot", "a.npy", "b.npy", *options, "-o", "whole.npy")
            for files in (("a.npy", "b.npy"), ("a.raw", "b.raw", "--dtype", "f32", "--shape=3,-1")):
                text = self.succeeds("dot", *files, *options, "-o", "out.npy", "--memory", "1M")
                self.assertRegex(text, r"(?m)^computed +.*dot product, on host in \d.* m?s: \d+\.\d GB/s *$")
                self.assert_same_bits(self.load("out.npy"), self.load("whole.npy"), (files, options))

    def test_pieces_cover_the_array_once_and_are_no_larger_than_said(self) -> None:
        for shape, elements in itertools.product(SHAPES, (1, 50, 257, 4096, 1 << 20)):
            cut = cut_of(shape, elements, 64)
            covered = np.zeros(shape, int)
            pieces = list(cut.pieces())
            for piece in pieces:
                covered[piece.outer, piece.axis, piece.inner] += 1
                self.assertLessEqual(np.prod(piece.shape), max(elements, 64), (shape, elements))
            self.assertTrue((covered == 1).all(), (shape, elements))
            self.assertEqual(len(pieces), cut.count)

    def test_a_failure_while_reading_ends_the_job(self) -> None:
        path = self.raw(np.ones(100_000, np.float32))
        source = FileElements(open_raw(path, BY_NAME["f32"], (100_000,)), (1, 100_000, 1))
        with open(path, "r+b") as file:
            file.truncate(200_000)
        job = Reduction("sum", BY_NAME["f32"], BY_NAME["f32"])
        with self.assertRaisesRegex(WrError, "a.raw: has become shorter while it was read"):
            StreamedReduction(self.library, self.host, Sizes(3, 4096)).run(job, source)

    def test_layouts_and_axes_of_the_command(self) -> None:
        array = self.random.standard_normal((50, 60, 700)).astype(np.float32)
        self.save("c.npy", array)
        self.save("f.npy", np.asfortranarray(array))
        array.tofile(self.folder / "c.raw")
        axes = ((), *(("--axis", k) for k in (0, 1, 2)))
        for operator, axis in itertools.product(("sum", "norm_l2", "argmax"), axes):
            expected = self.reduced(operator, "c.npy", *axis)
            for file in (("c.npy",), ("f.npy",), ("c.raw", "--dtype", "f32", "--shape", "50,-1,700")):
                reduced = self.reduced(operator, *file, *axis, "--memory", "1M")
                self.assert_same_bits(reduced, expected, (operator, axis, file))

    def reduced(self, *arguments: object) -> np.ndarray:
        self.succeeds("reduce", *arguments, "-o", "out.npy")
        return self.load("out.npy")

    def test_memory_is_what_was_said(self) -> None:
        path = self.folder / "a.raw"
        with open(path, "wb") as file:
            for _ in range(24):
                file.write(as_words(self.random.standard_normal(1 << 20), BY_NAME["f32"]).tobytes())
        jobs = (("reduce", "norm_l2", path), ("dot", path, path), ("softmax", path, self.folder / "out.npy"))
        for memory, job in itertools.product((4, 16), jobs):
            command = [*job, "--dtype", "f32", "--shape", "-1", "--memory", f"{memory}M"]
            done = subprocess.run(
                [sys.executable, "-c", MEASURED, *map(str, command)],
                capture_output=True,
                text=True,
                check=True,
                env=os.environ,
            )
            # Beside the pieces there are threads, the library's own small memory and what Python imports.
            self.assertLess(int(done.stderr), (memory + 8) << 20, command)

    def test_what_is_no_raw_file_or_size(self) -> None:
        np.arange(10, dtype=np.float32).tofile(self.folder / "a.raw")
        message = self.fails(2, "reduce", "sum", "a.raw", "--shape", "10")
        self.assertIn("--shape is for a raw file, whose elements' type --dtype must say", message)
        message = self.fails(1, "reduce", "sum", "a.raw", "--dtype", "f32", "--shape", "3,4")
        self.assertIn("a.raw: has 40 bytes; shape [3, 4] of f32 needs 48", message)
        message = self.fails(1, "reduce", "sum", "a.raw", "--dtype", "f32", "--shape=-1,4")
        self.assertIn("a.raw: has 40 bytes; shape [2, 4] of f32 needs 32", message)
        for shape in ("x", "-2", "-1,-1", ""):
            message = self.fails(2, "reduce", "sum", "a.raw", "--dtype", "f32", f"--shape={shape}")
            self.assertIn("is no shape; it is natural numbers, as in 1000,20, of which one may be -1", message)
        for size, what in (("1X", "is no size"), ("", "is no size"), ("1000", "is too little: at least 1M")):
            self.assertIn(what, self.fails(2, "reduce", "sum", "a.raw", f"--memory={size}"))
        self.assertEqual(self.succeeds("reduce", "sum", "a.raw", "--dtype", "f32", "--shape=5,-1", "-q"), "45.0\n")
        (self.folder / "empty.raw").write_bytes(b"")
        for shape in ("0", "-1", "0,5"):
            options = ("--dtype", "f32", f"--shape={shape}", "--memory", "1M", "-q")
            self.assertEqual(self.succeeds("reduce", "sum", "empty.raw", *options), "0.0\n")


if __name__ == "__main__":
    unittest.main()
