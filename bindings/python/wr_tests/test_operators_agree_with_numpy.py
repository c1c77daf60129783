"""wr reduce and wr dot: every operator and option against NumPy's functions and Python's integers."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce

import numpy as np
from support import ToolTest

KOALABEAR, BABYBEAR = 2**31 - 2**24 + 1, 2**31 - 2**27 + 1
GOLDILOCKS, MERSENNE31 = 2**64 - 2**32 + 1, 2**31 - 1
MONTGOMERY = 2**32


def montgomery_product(left: int, right: int, prime: int) -> int:
    return left * right * pow(MONTGOMERY, -1, prime) % prime


def extension_product(left: list[int], right: list[int], prime: int, power_four: int) -> list[int]:
    """Of Montgomery forms, modulo x^4 - power_four."""
    result = [0] * 4
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            result[(i + j) % 4] += montgomery_product(a, b, prime) * (power_four if i + j > 3 else 1)
    return [each % prime for each in result]


class AgainstNumpy(ToolTest):
    def setUp(self) -> None:
        super().setUp()
        self.random = np.random.default_rng(11)

    def reduced(self, operator: str, array: np.ndarray, *options: object) -> np.ndarray:
        name = self.save("a.npy", array)
        self.succeeds("reduce", operator, name, "-o", "out.npy", *options)
        return self.load("out.npy")

    def test_exact_operators_of_floats(self) -> None:
        array = self.random.integers(-3, 4, (40, 50)).astype(np.float32)
        for operator, function in (
            ("argmin", np.argmin),
            ("argmax", np.argmax),
            ("count_nonzero", np.count_nonzero),
            ("any", np.any),
            ("all", np.all),
            ("sum_of_squares", lambda values, axis: np.square(values).sum(axis, dtype=np.float32)),
            ("norm_l1", lambda values, axis: np.abs(values).sum(axis)),
            ("norm_l2", lambda values, axis: np.sqrt(np.square(values).sum(axis, dtype=np.float32))),
            ("norm_max", lambda values, axis: np.abs(values).max(axis)),
        ):
            for axis in (0, 1):
                expected = function(array, axis=axis)
                kind = np.uint8 if expected.dtype == bool else expected.dtype
                self.assert_same_bits(self.reduced(operator, array, "--axis", axis), expected.astype(kind), operator)

    def test_products_of_powers_of_two(self) -> None:
        array = np.ldexp(np.float64(1), self.random.integers(-3, 4, (30, 20)))
        self.assert_same_bits(self.reduced("prod", array, "--axis", 0), array.prod(axis=0))

    def test_logsumexp(self) -> None:
        array = self.random.standard_normal((30, 20)) * 5
        for name, expected in (
            ("logsumexp", np.log(np.exp(array).sum(axis=0))),
            ("lse", np.logaddexp.reduce(array, axis=0)),
        ):
            np.testing.assert_allclose(self.reduced(name, array, "--axis", 0), expected, rtol=1e-14)
        narrow = array.astype(np.float32)
        self.save("a.npy", narrow)
        self.succeeds("softmax", "a.npy", "out.npy", "--lse", "lse.npy")
        self.assert_same_bits(self.reduced("logsumexp", narrow, "--axis", -1), self.load("lse.npy"))
        self.assert_same_bits(self.reduced("lse", np.zeros(0, np.float32)), np.array(-np.inf, np.float32))

    def test_integers(self) -> None:
        for dtype in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64):
            limits = np.iinfo(dtype)
            array = self.random.integers(limits.min, limits.max, (9, 20), dtype, endpoint=True)
            functions = (
                ("product", np.multiply.reduce(array, axis=1)),
                ("min", array.min(axis=1)),
                ("argmax", array.argmax(axis=1)),
                ("bit_and", np.bitwise_and.reduce(array, axis=1)),
                ("or", np.bitwise_or.reduce(array, axis=1)),
                ("bit-xor", np.bitwise_xor.reduce(array, axis=1)),
            )
            for operator, expected in functions:
                self.assert_same_bits(self.reduced(operator, array, "--axis", 1), expected, (operator, dtype))

    def test_narrow_integers_into_wide_ones(self) -> None:
        array = self.random.integers(-128, 127, (200, 30), np.int8, endpoint=True)
        wide = array.astype(np.int64)
        for operator, expected in (
            ("sum", wide.sum(axis=0)),
            ("squares", np.square(wide).sum(axis=0)),
            ("l1", np.abs(wide).sum(axis=0)),
            ("linf", np.abs(wide).max(axis=0)),
            ("max", wide.max(axis=0)),
        ):
            self.assert_same_bits(self.reduced(operator, array, "--axis", 0, "--output-dtype", "i64"), expected)
        roots = np.sqrt(np.square(wide).sum(axis=0).astype(np.float64))
        self.assert_same_bits(self.reduced("l2", array, "--axis", 0, "--output-dtype", "f64"), roots)

    def test_f8_is_added_in_f32(self) -> None:
        words = self.random.integers(0, 0x7C, (30, 40), np.uint8)  # E5M2 is the upper half of f16
        values = (words.astype(np.uint16) << 8).view(np.float16).astype(np.float32)
        for operator, expected in (("max", values.max(axis=1)), ("norm_max", np.abs(values).max(axis=1))):
            options = ("--axis", 1, "--dtype", "f8_e5m2", "--output-dtype", "f32")
            self.assert_same_bits(self.reduced(operator, words, *options), expected)

    def test_nan_is_absent_if_asked_for(self) -> None:
        array = self.random.integers(-9, 9, (20, 30)).astype(np.float64)
        array[self.random.random(array.shape) < 0.4] = np.nan
        for operator, function in (
            ("sum", np.nansum),
            ("mean", np.nanmean),
            ("min", np.nanmin),
            ("argmax", np.nanargmax),
        ):
            self.assertTrue(operator == "argmax" or np.isnan(self.reduced(operator, array)))
            expected = np.asarray(function(array, axis=1))
            self.assert_same_bits(self.reduced(operator, array, "--axis", 1, "--nan", "ignore"), expected, operator)

    def test_values_at_the_indices(self) -> None:
        array = self.random.standard_normal((20, 30)).astype(np.float32)
        places = self.reduced("argmin", array, "--axis", 0, "--values", "values.npy", "--output-dtype", "i32")
        self.assert_same_bits(places, array.argmin(axis=0).astype(np.int32))
        self.assert_same_bits(self.load("values.npy"), array.min(axis=0))

    def test_weights_along_the_axis(self) -> None:
        array = self.random.integers(-99, 99, (20, 30))
        weights = self.random.integers(-99, 99, 20)
        self.save("w.npy", weights)
        expected = (array * weights[:, np.newaxis]).sum(axis=0)
        self.assert_same_bits(self.reduced("sum", array, "--axis", 0, "--weights", "w.npy"), expected)

    def test_results_are_combined_with_old_ones(self) -> None:
        array = self.random.integers(0, 99, (20, 30))
        old = self.random.integers(0, 99, 30)
        self.save("old.npy", old)
        for operator, function, combine in (("sum", np.sum, np.add), ("max", np.max, np.maximum)):
            result = self.reduced(operator, array, "--axis", 0, "--add-to", "old.npy")
            self.assert_same_bits(result, combine(function(array, axis=0), old))
        self.assert_same_bits(self.load("old.npy"), old)
        self.succeeds("reduce", "sum", "a.npy", "--axis", 0, "--add-to", "old.npy", "-o", "old.npy")
        self.assert_same_bits(self.load("old.npy"), old + array.sum(axis=0))

    def test_segments(self) -> None:
        array = self.random.integers(-99, 99, 1000).astype(np.float32)
        for kind in (np.int64, np.int32):
            offsets = np.array([3, 3, 10, 11, 500, 1000, 1000], kind)
            self.save("o.npy", offsets)
            rows = [array[start:end] for start, end in zip(offsets, offsets[1:])]
            sums = np.array([row.sum() for row in rows], np.float32)
            self.assert_same_bits(self.reduced("sum", array, "--offsets", "o.npy"), sums)
            places = self.reduced("argmax", array, "--offsets", "o.npy", "--values", "v.npy")
            self.assert_same_bits(places, np.array([row.argmax() if row.size else -1 for row in rows]))
            tops = np.array([row.max() if row.size else -np.inf for row in rows], np.float32)
            self.assert_same_bits(self.load("v.npy"), tops)
        self.save("o.npy", np.array([7]))
        self.assert_same_bits(self.reduced("sum", array, "--offsets", "o.npy"), np.zeros(0, np.float32))


class Fields(ToolTest):
    def setUp(self) -> None:
        super().setUp()
        self.random = np.random.default_rng(12)

    def test_sums_and_products_of_words(self) -> None:
        for name, prime, montgomery in (
            ("koalabear", KOALABEAR, True),
            ("babybear", BABYBEAR, True),
            ("mersenne31", MERSENNE31, False),
            ("goldilocks", GOLDILOCKS, False),
        ):
            words = self.random.integers(0, prime, 300, np.uint64)
            self.save("a.npy", words.astype(np.uint64 if name == "goldilocks" else np.uint32))
            numbers = [int(word) for word in words]
            product = reduce(
                (lambda a, b: montgomery_product(a, b, prime)) if montgomery else (lambda a, b: a * b % prime),  # noqa: B023
                numbers,
            )
            for operator, expected in (("sum", sum(numbers) % prime), ("product", product)):
                text = self.succeeds("reduce", operator, "a.npy", "--dtype", name, "-q")
                self.assertEqual(int(text), expected, (operator, name))

    def test_elements_of_an_extension_are_four_words(self) -> None:
        for name, prime, power_four in (("koalabear_x4", KOALABEAR, 3), ("babybear_x4", BABYBEAR, 11)):
            words = self.random.integers(0, prime, (5, 7, 4), np.uint32)
            for stored in (words, words.view("V16")[..., 0]):
                self.save("a.npy", stored)
                self.succeeds("reduce", "sum", "a.npy", "--dtype", name, "--axis", 0, "-o", "out.npy")
                expected = (words.astype(np.uint64).sum(axis=0) % np.uint64(prime)).astype(np.uint32)
                self.assert_same_bits(self.load("out.npy"), expected, name)
            products = reduce(lambda a, b: extension_product(a, b, prime, power_four), words.reshape(-1, 4).tolist())  # noqa: B023
            text = self.succeeds("reduce", "product", "a.npy", "--dtype", name, "-q")
            self.assertEqual([int(each) for each in text.split()], products, name)

    def test_elements_of_an_extension_off_their_alignment(self) -> None:
        header = b"{'descr': '<u4', 'fortran_order': False, 'shape': (3, 4), }"
        for padding in range(1, 5):
            text = header + b" " * padding + b"\n"
            words = np.arange(12, dtype=np.uint32)
            content = b"\x93NUMPY\x02\x00" + len(text).to_bytes(4, "little") + text + words.tobytes()
            (self.folder / "a.npy").write_bytes(content)
            text = self.succeeds("reduce", "sum", "a.npy", "--dtype", "koalabear_x4", "-q")
            self.assertEqual(text, "12 15 18 21\n")

    def test_no_elements_of_an_extension(self) -> None:
        self.save("a.npy", np.zeros((2, 0, 4), np.uint32))
        self.succeeds("reduce", "sum", "a.npy", "--dtype", "babybear_x4", "--axis", 0, "-o", "out.npy")
        self.assert_same_bits(self.load("out.npy"), np.zeros((0, 4), np.uint32))
        self.succeeds("reduce", "sum", "a.npy", "--dtype", "babybear_x4", "--axis", 1, "-o", "out.npy")
        self.assert_same_bits(self.load("out.npy"), np.zeros((2, 4), np.uint32))

    def test_weights_of_the_extension(self) -> None:
        words, weights = (self.random.integers(0, KOALABEAR, shape, np.uint32) for shape in ((50, 6), (50, 4)))
        self.save("a.npy", words)
        self.save("w.npy", weights)
        options = ("--dtype", "koalabear", "--weights", "w.npy", "--weights-dtype", "koalabear_x4", "--axis", 0)
        self.succeeds("reduce", "sum", "a.npy", *options, "-o", "out.npy")
        expected = [
            [
                sum(montgomery_product(int(words[row, column]), int(weights[row, k]), KOALABEAR) for row in range(50))
                % KOALABEAR
                for k in range(4)
            ]
            for column in range(6)
        ]
        self.assert_same_bits(self.load("out.npy"), np.array(expected, np.uint32))


class Dot(ToolTest):
    def test_floats_and_integers(self) -> None:
        random = np.random.default_rng(13)
        left, right = random.integers(-99, 99, (2, 30, 40))
        for kind, options in ((np.float32, ()), (np.int64, ()), (np.int16, ())):
            self.save("a.npy", left.astype(kind))
            self.save("b.npy", right.astype(kind))
            self.assertEqual(float(self.succeeds("dot", "a.npy", "b.npy", "-q", *options)), np.vdot(left, right))
        self.succeeds("dot", "a.npy", "a.npy", "-o", "out.npy", "--output-dtype", "f64")
        self.assert_same_bits(self.load("out.npy"), np.asarray(np.float64(np.vdot(left, left))))

    def test_exact(self) -> None:
        random = np.random.default_rng(15)
        left, right = (
            random.standard_normal(1000).astype(np.float32) * 2.0 ** random.integers(-60, 60, 1000) for _ in "ab"
        )
        left, right = (np.concatenate([each, [1e30, -1e30, 1.0]]).astype(np.float32) for each in (left, right))
        right[-2] = right[-3]  # what is largest cancels
        self.save("a.npy", left)
        self.save("b.npy", right)
        exact = sum((Fraction(float(a)) * Fraction(float(b)) for a, b in zip(left, right)), Fraction(0))
        self.assertEqual(self.succeeds("dot", "a.npy", "b.npy", "-q", "--exact"), f"{np.float32(float(exact))!s}\n")
        self.succeeds("dot", "a.npy", "b.npy", "--exact", "-o", "out.npy", "--output-dtype", "f64")
        self.assertEqual(float(self.load("out.npy")), float(exact))
        self.assertNotEqual(float(self.succeeds("dot", "a.npy", "b.npy", "-q")), float(np.float32(float(exact))))
        text = self.succeeds("reduce", "sum_exact", "a.npy", "--weights", "b.npy", "-q", "--output-dtype", "f64")
        self.assertEqual(float(text), float(exact))

    def test_added_to_a_number(self) -> None:
        self.save("a.npy", np.array([1.5, 2.0], np.float32))
        self.save("total.npy", np.float32(100))
        for total in (106.25, 112.5):
            self.succeeds("dot", "a.npy", "a.npy", "--add-to", "total.npy", "-o", "total.npy")
            self.assertEqual(float(self.load("total.npy")), total)
        self.save("i.npy", np.array([200, 3], np.uint8))
        self.save("total.npy", np.array([7], np.uint64))
        self.assertEqual(self.succeeds("dot", "i.npy", "i.npy", "--add-to", "total.npy", "-q"), "40016\n")

    def test_words_of_a_field(self) -> None:
        random = np.random.default_rng(14)
        left, right = random.integers(0, GOLDILOCKS, (2, 100), np.uint64)
        self.save("a.npy", left)
        self.save("b.npy", right)
        expected = sum(int(a) * int(b) for a, b in zip(left, right)) % GOLDILOCKS
        self.assertEqual(int(self.succeeds("dot", "a.npy", "b.npy", "-q", "--dtype", "goldilocks")), expected)

    def test_what_is_shown(self) -> None:
        self.save("a.npy", np.array([1.5, 2.0], np.float32))
        text = self.succeeds("dot", "a.npy", "a.npy")
        self.assertRegex(text, r"(?m)^left +a.npy, f32 \[2\]")
        self.assertRegex(text, r"(?m)^result +6\.25  \(f32\)")

    def test_no_elements(self) -> None:
        self.save("a.npy", np.zeros(0, np.float32))
        self.assertEqual(self.succeeds("dot", "a.npy", "a.npy", "-q"), "0.0\n")
