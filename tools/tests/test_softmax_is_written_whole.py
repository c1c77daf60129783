"""wr softmax: the right numbers along the right axis, in a file that appears only when it is complete."""

from __future__ import annotations

import os

import numpy as np
from support import ToolTest


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
