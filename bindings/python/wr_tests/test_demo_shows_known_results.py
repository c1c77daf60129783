"""wr demo and wr bench run on the host device; the demo's results are the ones that the data have."""

from __future__ import annotations

import math
import re
from fractions import Fraction

from support import ToolTest
from warp_reduce._elements import BY_NAME
from warp_reduce._operators import OPERATORS
from warp_reduce.wr.exact import exact_sum, units_apart


class Demo(ToolTest):
    def test_known_results(self) -> None:
        text = self.succeeds("demo", "--device", "host")
        for known in (
            "15373.4",
            "190.2",
            "373.9",
            "29.24 (1998)",
            "257 (1957)",
            "42.555 (1800s)",
            "561718.0",
            "the word for 561718",
        ):
            self.assertIn(known, text)
        self.assertRegex(text, r"most probable class is the digit that was written in 1740 of 1797")
        sums = [float(each) for each in re.findall(r"f32 +(\d\.\de-\d\d)", text)]
        self.assertEqual(len(sums), 2)
        self.assertLess(max(sums), 1e-6)
        distances = [float(each) for each in re.findall(r"([\d.]+|inf) ulp\b", text)]
        self.assertGreater(len(distances), 8)
        self.assertLess(max(distances), 12)

    def test_missing_data(self) -> None:
        message = self.fails_after_output("demo", "--device", "host", "--data", "nowhere")
        self.assertIn("nowhere/sunspots.npy: there is no such file", message)

    def fails_after_output(self, *arguments: str) -> str:
        done = self.wr(*arguments)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count("\n"), 1)
        return done.stderr


class Bench(ToolTest):
    def test_a_table_of_sizes(self) -> None:
        text = self.succeeds("bench", "--largest", "12")
        self.assertRegex(text, r"(?m)^ 1 Ki +[\d.]+ +[\d.]+")
        self.assertIn("softmax of f32", text)

    def test_kinds_of_reductions_beside_the_ceiling(self) -> None:
        text = self.succeeds("bench", "reduce", "--largest", "12", "--device", "host")
        self.assertRegex(text, r"(?m)^reductions of 16.0 KiB on host")
        self.assertRegex(text, r"(?m)^ceiling: [\d.]+ GB/s, NumPy's ")
        for job in ("argmax +f32 > i64", "dot, two halves +f32", "sum of one huge segment and tiny ones +f32"):
            self.assertRegex(text, rf"(?m)^ {job} +[\d.]+ +[\d.]+ +\d+%")
        self.assertNotIn("softmax", text)

    def test_every_operator_of_one_type(self) -> None:
        text = self.succeeds("bench", "reduce", "--largest", "10", "--dtype", "u16", "--device", "host")
        for operator in set(OPERATORS) - {"logsumexp", "sum_exact"}:
            self.assertRegex(text, rf"(?m)^ {operator} +u16")
        text = self.succeeds("bench", "reduce", "--largest", "10", "--dtype", "f16", "--device", "host")
        self.assertRegex(text, r"(?m)^ logsumexp +f16 ")
        text = self.succeeds("bench", "reduce", "--largest", "10", "--dtype", "babybear_x4", "--device", "host")
        self.assertRegex(text, r"(?m)^ product +babybear_x4 ")
        self.assertNotRegex(text, r"(?m)^ max ")


class ExactReference(ToolTest):
    def test_sums_without_rounding(self) -> None:
        self.assertEqual(exact_sum([1e300, 1.0, -1e300, 5e-324]), 1 + Fraction(5e-324))
        self.assertEqual(exact_sum([]), 0)

    def test_units_in_the_last_place(self) -> None:
        f32, f64, bf16 = BY_NAME["f32"], BY_NAME["f64"], BY_NAME["bf16"]
        self.assertEqual(units_apart(1 + 2.0**-23, Fraction(1), f32), 1)
        self.assertEqual(units_apart(1 - 2.0**-24, Fraction(1), f32), 0.5)
        self.assertEqual(units_apart(2.0**-149, Fraction(0), f32), 1)
        self.assertEqual(units_apart(math.nextafter(100.0, 200), Fraction(100), f64), 1)
        self.assertEqual(units_apart(257.0, Fraction(256), bf16), 0.5)
        self.assertEqual(units_apart(math.nan, Fraction(1), f32), math.inf)
