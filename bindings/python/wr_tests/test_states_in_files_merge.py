"""wr state: pieces that are reduced apart, merged in any order, give the bits of wr reduce on all of it."""

from __future__ import annotations

import unittest

import numpy as np
import warp_reduce
from support import ToolTest
from warp_reduce.wr.saved_state import SavedState

CUTS = (0, 333, 1024, 1500, 3000)


class StatesInFiles(ToolTest):
    def setUp(self) -> None:
        super().setUp()
        self.words = np.random.default_rng(21).standard_normal((3, 3000)).astype(np.float32)
        self.words[1, 700] = np.nan
        self.save("all.npy", self.words)
        for at, (first, end) in enumerate(zip(CUTS, CUTS[1:])):
            self.save(f"{at}.npy", self.words[:, first:end])

    def reduce_pieces(self, operator: str, *options: str) -> None:
        for at, first in enumerate(CUTS[:-1]):
            place = ("--first", first) if first else ()
            self.succeeds("state", "reduce", operator, f"{at}.npy", "--axis", 1, *place, *options, "-o", f"{at}.state")

    def test_merged_in_any_order(self) -> None:
        jobs = (
            ("mean",),
            ("norm_l2", "--nan", "ignore"),
            ("argmax", "--nan", "ignore"),
            ("logsumexp",),
            ("sum_exact",),
            ("sum", "--accumulate-dtype", "f64"),
        )
        for operator, *options in jobs:
            self.reduce_pieces(operator, *options)
            self.succeeds("state", "merge", "3.state", "2.state", "-o", "right.state")
            self.succeeds("state", "merge", "1.state", "right.state", "0.state", "-o", "whole.state")
            kind = ("--output-dtype", "f64") if "--accumulate-dtype" in options else ()
            index = ("--values", "values.npy") if operator == "argmax" else ()
            self.succeeds("state", "finish", "whole.state", "-o", "out.npy", *kind, *index)
            found = [self.load("out.npy"), *([self.load("values.npy")] if index else [])]
            self.succeeds("reduce", operator, "all.npy", "--axis", 1, *options, *kind, *index, "-o", "out.npy")
            expected = [self.load("out.npy"), *([self.load("values.npy")] if index else [])]
            for one, other in zip(found, expected):
                self.assert_same_bits(one, other, operator)

    def test_integers_words_of_fields_and_weights(self) -> None:
        words = np.random.default_rng(22).integers(0, 200, (2, 500)).astype(np.uint8)
        for at, half in enumerate((words[:, :123], words[:, 123:])):
            np.ascontiguousarray(half).tofile(self.folder / f"{at}.raw")
            self.save(f"w{at}.npy", half[0])
        files = (("0.raw", "0"), ("1.raw", "123"))
        for dtype, operator, weighted, expected in (
            ("u8", "sum", False, words.sum(1, dtype=np.uint64)),
            ("u8", "sum", True, (words.astype(np.int64) @ words[0]).astype(np.uint64)),
            ("i8", "max", False, words.view(np.int8).max(1)),
            ("f8_e5m2", "count_nonzero", False, np.count_nonzero(words & 127, axis=1)),
        ):
            for at, (file, first) in enumerate(files):
                weights = ("--weights", f"w{at}.npy") if weighted else ()
                options = ("--dtype", dtype, "--shape=2,-1", "--axis", -1, "--first", first, *weights)
                self.succeeds("state", "reduce", operator, file, *options, "-o", f"{at}.state")
            self.succeeds("state", "merge", "0.state", "1.state", "-o", "0.state")
            self.succeeds("state", "finish", "0.state", "-o", "out.npy")
            self.assert_same_bits(self.load("out.npy"), expected, (dtype, operator))

    def test_bytes_are_those_of_the_package(self) -> None:
        self.succeeds("state", "reduce", "sum", "1.npy", "--axis", "1", "--first", CUTS[1], "-o", "1.state")
        state = warp_reduce.state("sum", self.words[:, CUTS[1] : CUTS[2]], CUTS[1], axis=1)
        self.assertEqual((self.folder / "1.state").read_bytes(), bytes(state))

    def test_what_is_shown(self) -> None:
        text = self.succeeds("state", "reduce", "mean", "1.npy", "--axis", "1", "--first", 333, "-o", "1.state")
        self.assertRegex(
            text, r"(?m)^state +1.state, \d+ bytes *\nof +mean of f32, 3 results .*\nelements +333 up to 1024"
        )
        self.assertEqual(self.succeeds("state", "show", "1.state"), text)
        self.succeeds("state", "reduce", "min", "0.npy", "-o", "0.state")
        text = self.succeeds("state", "finish", "0.state")
        self.assertRegex(text, rf"(?m)^result +{self.words[:, :333].min()!s}  \(f32\)")
        self.assertEqual(float(self.succeeds("state", "finish", "0.state", "-q")), self.words[:, :333].min())

    def test_the_state_of_a_job_is_shown_too(self) -> None:
        saved = SavedState(str(self.folder / "a.state"), {"operator": "sum", "shape": (1, 9, 1)}, 0.0)
        saved.write({"steps": (1, 4, 1), "pieces": 2}, {})
        text = self.succeeds("state", "show", "a.state")
        self.assertRegex(text, r"(?m)^state +a.state, of a job that goes on from it *\noperator +sum")
        self.assertRegex(text, r"(?m)^done +2 pieces of 1 x 4 x 1 elements")

    def test_what_is_refused(self) -> None:
        self.reduce_pieces("mean")
        message = self.fails(1, "state", "merge", "0.state", "2.state", "-o", "x")
        self.assertIn("2.state begins with element 1024, and the states before it end before element 333", message)
        message = self.fails(1, "state", "merge", "0.state", "0.state", "-o", "x")
        self.assertIn("0.state begins with element 0, and the states before it end before element 333", message)
        message = self.fails(1, "state", "finish", "1.state")
        self.assertIn("1.state: begins with element 333; merge it with the states of what lies before it", message)
        self.succeeds("state", "reduce", "sum", "1.npy", "--axis", "1", "--first", 333, "-o", "sum.state")
        message = self.fails(1, "state", "merge", "0.state", "sum.state", "-o", "x")
        self.assertIn("0.state and sum.state are states of different reductions", message)
        good = (self.folder / "0.state").read_bytes()
        for data in (b"", b"x", good[:-1], good + b"\0", good[:9] + b"\7" + good[10:]):
            (self.folder / "bad.state").write_bytes(data)
            for command in (("show", "bad.state"), ("finish", "bad.state"), ("merge", "bad.state", "-o", "x")):
                self.assertIn("bad.state: is no state of a piece", self.fails(1, "state", *command))
        self.assertIn("No such file", self.fails(1, "state", "show", "nowhere"))
        self.assertIn("--values goes with argmin", self.fails(2, "state", "finish", "0.state", "--values", "v.npy"))
        self.assertIn(
            "'-1' is no natural number", self.fails(2, "state", "reduce", "sum", "0.npy", "--first=-1", "-o", "x")
        )
        self.assertIn("arguments are required: WHAT", self.fails(2, "state"))
        message = self.fails(1, "state", "reduce", "max", "0.npy", "-o", "x", "--dtype", "f32", "--output-dtype", "i8")
        self.assertIn("max of f32 into i8: ", message)
        self.assertFalse((self.folder / "x").exists())


if __name__ == "__main__":
    unittest.main()
