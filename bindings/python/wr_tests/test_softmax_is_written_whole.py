"""wr softmax: the right numbers along the right axis, in a file that appears only when it is complete."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from unittest import mock

import numpy as np
from support import LAUNCHER, ToolTest
from warp_reduce._elements import F32
from warp_reduce.wr.errors import WrError
from warp_reduce.wr.npy_writing import writing_npy

# wr, whose computing waits for a line on stdin. With a word behind it, as nohup starts it.
WAITING = """
import signal, sys
import warp_reduce.wr.softmax as softmax
from warp_reduce.wr.main import main

def wait(*arguments, **options):
    print("computing", flush=True)
    sys.stdin.readline()
    return compute(*arguments, **options)

compute, softmax.run_softmax = softmax.run_softmax, wait
signal.signal(signal.SIGHUP, signal.SIG_IGN if sys.argv[1:] else signal.SIG_DFL)
sys.argv = ["wr", "softmax", "in.npy", "out.npy"]
main()
"""

ON_A_DISK_OF_64_KIB = ["unshare", "-rm", "sh", "-c", 'mount -t tmpfs -o size=64k none full && exec "$@"', "sh"]


def reference(values: np.ndarray, axis: int, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Softmax and logsumexp in f64."""
    logits = values.astype(np.float64) * scale
    top = logits.max(axis, keepdims=True)
    total = np.exp(logits - top).sum(axis, keepdims=True)
    return np.exp(logits - top) / total, np.squeeze(top + np.log(total), axis)


class SoftmaxFiles(ToolTest):
    def setUp(self) -> None:
        super().setUp()
        self.logits = (np.random.default_rng(5).standard_normal((6, 70, 4)) * 5).astype(np.float32)
        self.save("in.npy", self.logits)

    def test_along_every_axis(self) -> None:
        self.succeeds("softmax", "in.npy", "out.npy")
        np.testing.assert_allclose(self.load("out.npy"), reference(self.logits, -1)[0], rtol=1e-6)
        for axis in (0, 1, 2, -2):
            self.succeeds("softmax", "in.npy", "out.npy", "--axis", axis)
            result = self.load("out.npy")
            self.assertEqual((result.dtype, result.shape), (self.logits.dtype, self.logits.shape))
            np.testing.assert_allclose(result, reference(self.logits, axis)[0], rtol=1e-6)

    def test_logarithm_scale_and_logsumexp(self) -> None:
        self.succeeds("softmax", "in.npy", "out.npy", "--axis", 1, "--log", "--scale", "-0.5", "--lse", "lse.npy")
        probabilities, sums = reference(self.logits, 1, -0.5)
        np.testing.assert_allclose(self.load("out.npy"), np.log(probabilities), rtol=1e-5)
        self.assertEqual(self.load("lse.npy").shape, (6, 4))
        np.testing.assert_allclose(self.load("lse.npy"), sums, rtol=1e-6)

    def test_other_types(self) -> None:
        self.save("in.npy", self.logits.astype(np.float64))
        self.succeeds("softmax", "in.npy", "out.npy", "--output-dtype", "f32", "--lse", "lse.npy")
        self.assertEqual((self.load("out.npy").dtype, self.load("lse.npy").dtype), (np.float32, np.float64))
        self.save("in.npy", (self.logits.view(np.uint32) >> 16).astype(np.uint16))
        self.succeeds("softmax", "in.npy", "out.npy", "--dtype", "bf16", "--output-dtype", "f32")
        narrow = (self.logits.view(np.uint32) & 0xFFFF0000).view(np.float32)
        np.testing.assert_allclose(self.load("out.npy"), reference(narrow, -1)[0], rtol=1e-6)

    def test_a_row_of_minus_infinity(self) -> None:
        self.save("in.npy", np.full((1, 3), -np.inf, np.float32))
        self.succeeds("softmax", "in.npy", "out.npy")
        self.assertTrue(np.isnan(self.load("out.npy")).all())
        self.succeeds("softmax", "in.npy", "out.npy", "--empty-row", "zero")
        self.assertFalse(self.load("out.npy").any())

    def test_a_mask_and_lengths_leave_elements_out(self) -> None:
        random = np.random.default_rng(6)
        mask = random.integers(0, 3, self.logits.shape) > 0
        lengths = random.integers(1, 71, (6, 4))
        mask[:, 0] = True
        self.save("mask.npy", mask)
        self.save("lengths.npy", lengths)
        options = ("--mask", "mask.npy", "--lengths", "lengths.npy", "--lse", "l.npy")
        self.succeeds("softmax", "in.npy", "out.npy", "--axis", 1, *options)
        taking_part = mask & (np.arange(70)[None, :, None] < lengths[:, None, :])
        expected, sums = reference(np.where(taking_part, self.logits, -np.inf), 1)
        result = self.load("out.npy")
        self.assertFalse(result[~taking_part].any())
        np.testing.assert_allclose(result, expected, rtol=1e-6)
        np.testing.assert_allclose(self.load("l.npy"), sums, rtol=1e-6)

    def test_masks_and_lengths_of_every_type_and_order(self) -> None:
        random = np.random.default_rng(7)
        mask, lengths = random.integers(0, 2, self.logits.shape), random.integers(0, 71, (6, 4))
        self.save("mask.npy", mask.astype(bool))
        self.save("lengths.npy", lengths)
        options = ("--axis", 1, "--mask", "mask.npy", "--lengths", "lengths.npy")
        self.succeeds("softmax", "in.npy", "expected.npy", *options)
        for mask_type, lengths_type in (("u1", "i1"), ("i1", ">i2"), ("?", "u4"), ("u1", ">i8"), ("?", "u2")):
            self.save("mask.npy", np.asfortranarray(mask.astype(mask_type)))
            self.save("lengths.npy", np.asfortranarray(lengths.astype(lengths_type)))
            self.succeeds("softmax", "in.npy", "out.npy", *options)
            self.assert_same_bits(self.load("out.npy"), self.load("expected.npy"), (mask_type, lengths_type))

    def test_causal_rows(self) -> None:
        scores = np.random.default_rng(8).standard_normal((2, 5, 7)).astype(np.float32)
        self.save("in.npy", scores)
        self.save("lengths.npy", np.full((2, 5), 4))
        query, key = np.arange(5)[:, None], np.arange(7)
        for options, seen in (
            (("--causal",), key <= query),
            (("--causal", 3), key < query + 3),
            (("--causal", 3, "--lengths", "lengths.npy"), (key < query + 3) & (key < 4)),
        ):
            self.succeeds("softmax", "in.npy", "out.npy", "--lse", "l.npy", *options)
            expected, sums = reference(np.where(seen, scores, -np.inf), -1)
            np.testing.assert_allclose(self.load("out.npy"), expected, rtol=1e-6)
            np.testing.assert_allclose(self.load("l.npy"), sums, rtol=1e-6)
        self.succeeds("softmax", "in.npy", "out.npy", "--causal=-1", "--empty-row", "zero")
        self.assertFalse(self.load("out.npy")[:, :2].any())

    def test_ragged_rows(self) -> None:
        offsets = np.array([3, 10, 10, 900, 1680])
        flat, mask = self.logits.reshape(-1), np.random.default_rng(9).integers(0, 3, self.logits.shape) > 0
        self.save("starts.npy", offsets.astype(np.int32))
        self.save("mask.npy", mask)
        self.save("lengths.npy", np.array([5, 1, 1000, 100]))
        for options in ((), ("--log",), ("--mask", "mask.npy", "--lengths", "lengths.npy")):
            text = self.succeeds("softmax", "in.npy", "out.npy", "--offsets", "starts.npy", "--lse", "l.npy", *options)
            self.assertRegex(text, r"(?m)^logsumexp +l.npy, f32 \[4\]")
            result, sums = self.load("out.npy").reshape(-1), self.load("l.npy")
            self.assertFalse(result[:3].any())
            for row, (first, end) in enumerate(zip(offsets, offsets[1:])):
                logits = flat[first:end].copy()
                if "--mask" in options:
                    logits[~mask.reshape(-1)[first:end]] = -np.inf
                    logits[[5, 1, 1000, 100][row] :] = -np.inf
                if first == end:
                    self.assertEqual(sums[row], -np.inf)
                    continue
                expected, total = reference(logits, 0)
                expected = np.log(expected) if "--log" in options else expected
                np.testing.assert_allclose(result[first:end], expected, rtol=1e-5)
                np.testing.assert_allclose(sums[row], total, rtol=1e-6)

    def test_causal_and_ragged_rows_that_make_no_sense(self) -> None:
        self.save("v.npy", np.zeros(5, np.float32))
        self.save("o.npy", np.array([0, 3, 2]))
        message = self.fails(1, "softmax", "v.npy", "out.npy", "--causal")
        self.assertIn("--causal is for matrices; the shape is [5]", message)
        self.assertIn(
            "--causal is along the last axis", self.fails(2, "softmax", "in.npy", "o", "--causal", "--axis=0")
        )
        for options in (("--axis", "0"), ("--causal",)):
            message = self.fails(2, "softmax", "v.npy", "out.npy", "--offsets", "o.npy", *options)
            self.assertIn("--offsets divides the file's elements as they lie", message)
        message = self.fails(1, "softmax", "v.npy", "out.npy", "--offsets", "o.npy")
        self.assertIn("o.npy: offset 2 is below the one before it", message)
        self.assertFalse((self.folder / "out.npy").exists())

    def test_a_mask_of_no_elements(self) -> None:
        self.save("in.npy", np.zeros((0, 5), np.float32))
        self.save("mask.npy", np.zeros((0, 5), bool))
        self.save("lengths.npy", np.zeros(0, np.int64))
        self.succeeds("softmax", "in.npy", "out.npy", "--mask", "mask.npy", "--lengths", "lengths.npy")

    def test_a_mask_of_another_shape_or_type_is_refused(self) -> None:
        self.save("mask.npy", np.ones((6, 70), np.uint8))
        self.assertIn("its shape is [6, 70]", self.fails(1, "softmax", "in.npy", "out.npy", "--mask", "mask.npy"))
        self.save("mask.npy", np.ones((6, 70, 4), np.float32))
        self.assertIn("bool or uint8", self.fails(1, "softmax", "in.npy", "out.npy", "--mask", "mask.npy"))
        self.save("lengths.npy", np.ones((6, 70)))
        self.assertIn("integers", self.fails(1, "softmax", "in.npy", "out.npy", "--lengths", "lengths.npy"))
        self.assertIn("no such file", self.fails(1, "softmax", "in.npy", "out.npy", "--lengths", "none.npy"))

    def test_the_input_may_be_the_output(self) -> None:
        self.succeeds("softmax", "in.npy", "out.npy")
        self.succeeds("softmax", "in.npy", "in.npy")
        self.assert_same_bits(self.load("in.npy"), self.load("out.npy"))
        self.assertEqual(sorted(os.listdir(self.folder)), ["in.npy", "out.npy"])

    def test_an_output_that_is_a_link_stays_one(self) -> None:
        (self.folder / "link.npy").symlink_to("real.npy")
        self.succeeds("softmax", "in.npy", "link.npy")
        self.assertTrue((self.folder / "link.npy").is_symlink())
        self.assertEqual(self.load("real.npy").shape, self.logits.shape)

    def test_two_outputs_in_one_file_are_refused(self) -> None:
        (self.folder / "old.npy").write_bytes(b"old")
        (self.folder / "link.npy").symlink_to("in.npy")
        for output, sums in (
            ("in.npy", "in.npy"),
            ("link.npy", "in.npy"),
            ("old.npy", "./old.npy"),
            ("o.npy", "o.npy"),
        ):
            message = self.fails(2, "softmax", "in.npy", output, "--lse", sums)
            self.assertIn(f"--lse {sums} is the file of the results too; name another", message)
        self.assert_same_bits(self.load("in.npy"), self.logits)
        self.assertEqual((self.folder / "old.npy").read_bytes(), b"old")
        self.assertEqual(sorted(os.listdir(self.folder)), ["in.npy", "link.npy", "old.npy"])

    def test_no_rows(self) -> None:
        self.save("in.npy", np.zeros((0, 5), np.float32))
        self.succeeds("softmax", "in.npy", "out.npy")
        self.assertEqual(self.load("out.npy").shape, (0, 5))


class OutputFiles(ToolTest):
    def setUp(self) -> None:
        super().setUp()
        self.save("in.npy", np.zeros((4, 6000), np.float32))

    def write(self, count: int = 1 << 18) -> None:
        with writing_npy(str(self.folder / "out.npy"), (count,), F32) as array:
            array[:] = 1

    def test_the_disks_space_is_taken_before_anything_is_computed(self) -> None:
        with writing_npy(str(self.folder / "out.npy"), (1 << 18,), F32):
            (partial,) = self.folder.glob(".*")
            self.assertGreaterEqual(partial.stat().st_blocks * 512, 1 << 20)

    def test_no_space_is_a_failure_that_leaves_nothing(self) -> None:
        full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        with mock.patch("os.posix_fallocate", side_effect=full), self.assertRaises(WrError) as caught:
            self.write()
        self.assertEqual(str(caught.exception), f"{self.folder}/out.npy: No space left on device")
        self.assertEqual(os.listdir(self.folder), ["in.npy"])

    def test_a_file_system_that_cannot_reserve_is_written_all_the_same(self) -> None:
        for number in (errno.EOPNOTSUPP, errno.EINVAL):
            with mock.patch("os.posix_fallocate", side_effect=OSError(number, "")):
                self.write()
            self.assert_same_bits(self.load("out.npy"), np.ones(1 << 18, np.float32))

    def test_a_full_disk(self) -> None:
        (self.folder / "full").mkdir()
        if subprocess.run([*ON_A_DISK_OF_64_KIB, "true"], cwd=self.folder, capture_output=True, check=False).returncode:
            self.skipTest("nothing can be mounted here")
        command = [*ON_A_DISK_OF_64_KIB, LAUNCHER, "softmax", "in.npy", "full/out.npy"]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, "wr: full/out.npy: No space left on device\n")

    def test_a_file_that_an_ended_wr_left_is_no_hindrance(self) -> None:
        left = self.folder / f".wr.{os.getpid()}.0.part"
        left.write_bytes(b"left")
        self.write()
        self.assertEqual((left.read_bytes(), self.load("out.npy").shape), (b"left", (1 << 18,)))

    def test_names_of_up_to_255_bytes(self) -> None:
        for length in (246, 255):
            name = "o" * (length - 4) + ".npy"
            self.succeeds("softmax", "in.npy", name)
            self.assertEqual(self.load(name).shape, (4, 6000))
        name = "o" * 252 + ".npy"
        for line in (("softmax", "in.npy", name), ("reduce", "sum", "in.npy", "-o", name)):
            self.assertEqual(self.fails(1, *line), f"wr: {name}: File name too long\n")

    def test_a_file_is_no_folder(self) -> None:
        for line in (("softmax", "in.npy", "in.npy/x.npy"), ("reduce", "sum", "in.npy", "-o", "in.npy/x.npy")):
            self.assertEqual(self.fails(1, *line), "wr: in.npy/x.npy: Not a directory\n")

    def test_a_pipe_at_stdout_is_no_output(self) -> None:
        for line in (("softmax", "in.npy", "/dev/stdout"), ("reduce", "sum", "in.npy", "-o", "/dev/stdout")):
            self.assertIn("wr: /dev/stdout: is no regular file", self.fails(1, *line))

    def test_a_replaced_file_keeps_its_permissions(self) -> None:
        for mode in (0o600, 0o640, 0o444):
            (self.folder / "out.npy").write_bytes(b"old")
            (self.folder / "out.npy").chmod(mode)
            with writing_npy(str(self.folder / "out.npy"), (1,), F32):
                (partial,) = self.folder.glob(".*")
                self.assertEqual(partial.stat().st_mode & 0o7777, mode)
            self.succeeds("softmax", "in.npy", "out.npy")
            self.assertEqual((self.folder / "out.npy").stat().st_mode & 0o7777, mode)
            (self.folder / "out.npy").unlink()


class Signals(ToolTest):
    def start(self, *words: str) -> subprocess.Popen:
        self.save("in.npy", np.zeros((2, 3), np.float32))
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen([sys.executable, "-c", WAITING, *words], cwd=self.folder, text=True, **pipes)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "computing\n")
        self.assertEqual(len(os.listdir(self.folder)), 2)
        return process

    def test_a_signal_that_ends_wr_leaves_no_file(self) -> None:
        for number in (signal.SIGTERM, signal.SIGHUP):
            process = self.start()
            process.send_signal(number)
            self.assertEqual(process.wait(timeout=60), -number)
            self.assertEqual(process.stderr.read(), "")
            self.assertEqual(os.listdir(self.folder), ["in.npy"])

    def test_a_hangup_that_nohup_ignores_stays_ignored(self) -> None:
        process = self.start("ignored")
        process.send_signal(signal.SIGHUP)
        process.communicate("go on\n", timeout=60)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(self.load("out.npy").shape, (2, 3))
