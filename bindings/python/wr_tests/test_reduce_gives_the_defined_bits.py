"""wr reduce gives what docs/numerics.md defines, for every operator, type and axis, whatever the layout of the file."""

from __future__ import annotations

import numpy as np
from support import ToolTest

KOALABEAR_PRIME = 2**31 - 2**24 + 1


def neighbours_added(values: np.ndarray) -> np.generic:
    """A sum by its definition from below: pad with -0 to a power of two, add neighbours again and again."""
    length = 1 << max(0, len(values) - 1).bit_length()
    padded = np.full(length, -0.0, values.dtype)
    padded[: len(values)] = values
    while len(padded) > 1:
        padded = padded[0::2] + padded[1::2]
    return padded[0]


def along(function, array: np.ndarray, axis: int) -> np.ndarray:
    return np.apply_along_axis(function, axis, array)


class Reduce(ToolTest):
    def setUp(self) -> None:
        super().setUp()
        self.random = np.random.default_rng(7)

    def reduced(self, operator: str, array: np.ndarray, *options: object) -> np.ndarray:
        name = self.save("a.npy", array)
        self.succeeds("reduce", operator, name, "-o", "out.npy", *options)
        return self.load("out.npy")

    def test_float_sums_are_pairwise_in_natural_order(self) -> None:
        for dtype in (np.float32, np.float64):
            for count in (1, 2, 3, 1000, 1024, 1025, 70001):
                values = (self.random.standard_normal(count) * 1e3).astype(dtype)
                self.assert_same_bits(self.reduced("sum", values), np.asarray(neighbours_added(values)), count)

    def test_every_axis_of_three(self) -> None:
        array = self.random.standard_normal((5, 37, 11)).astype(np.float32)
        for axis in (0, 1, 2, -1, -2, -3):
            expected = along(neighbours_added, array, axis)
            self.assert_same_bits(self.reduced("sum", array, "--axis", axis), expected, axis)
            mean = expected / np.float32(array.shape[axis])
            self.assert_same_bits(self.reduced("mean", array, "--axis", axis), mean, axis)
            self.assert_same_bits(self.reduced("min", array, "--axis", axis), array.min(axis), axis)
            self.assert_same_bits(self.reduced("max", array, "--axis", axis), array.max(axis), axis)

    def test_f16_is_added_in_f32_and_rounded_once(self) -> None:
        array = self.random.standard_normal((40, 50)).astype(np.float16)
        wide = along(neighbours_added, array.astype(np.float32), 1)
        self.assert_same_bits(self.reduced("sum", array, "--axis", 1), wide.astype(np.float16))
        self.assert_same_bits(self.reduced("sum", array, "--axis", 1, "--output-dtype", "f32"), wide)

    def test_bf16_from_uint16_and_from_two_bytes_without_a_type(self) -> None:
        values = self.random.standard_normal((40, 50)).astype(np.float32)
        words = (values.view(np.uint32) >> 16).astype(np.uint16)
        wide = along(neighbours_added, (words.astype(np.uint32) << 16).view(np.float32), 0)
        for stored in (words, words.view("V2")):
            options = ("--axis", 0, "--dtype", "bf16")
            self.assert_same_bits(self.reduced("sum", stored, *options, "--output-dtype", "f32"), wide)
            bits = wide.view(np.uint32)
            rounded = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
            self.assert_same_bits(self.reduced("sum", stored, *options), rounded)

    def test_integers_are_added_in_64_bits_unless_another_type_is_asked_for(self) -> None:
        for dtype, name in ((np.int16, "i16"), (np.int32, "i32"), (np.int64, "i64"), (np.uint8, "u8")):
            limits = np.iinfo(dtype)
            array = self.random.integers(limits.min, limits.max, (30, 40), dtype, endpoint=True)
            self.assert_same_bits(self.reduced("sum", array, "--axis", 0), array.sum(axis=0))
            own = self.reduced("sum", array, "--axis", 0, "--output-dtype", name)
            self.assert_same_bits(own, array.sum(axis=0, dtype=dtype))
            self.assert_same_bits(self.reduced("max", array), np.asarray(array.max()))

    def test_a_mean_of_integers_is_f64(self) -> None:
        array = self.random.integers(-1000, 1000, (30, 40), np.int32)
        expected = array.sum(axis=1, dtype=np.int64) / np.float64(40)
        self.assert_same_bits(self.reduced("mean", array, "--axis", 1), expected)

    def test_an_f64_accumulator_for_f32(self) -> None:
        values = self.random.standard_normal(5000).astype(np.float32)
        options = ("--accumulate-dtype", "f64", "--output-dtype", "f64")
        self.assert_same_bits(
            self.reduced("sum", values, *options), np.asarray(neighbours_added(values.astype(np.float64)))
        )

    def test_koalabear_words(self) -> None:
        words = self.random.integers(0, KOALABEAR_PRIME, (200, 30), np.uint32)
        expected = (words.astype(np.uint64).sum(axis=0) % KOALABEAR_PRIME).astype(np.uint32)
        self.assert_same_bits(self.reduced("sum", words, "--axis", 0, "--dtype", "koalabear"), expected)

    def test_empty_arrays(self) -> None:
        nothing = np.zeros((0, 3), np.float32)
        self.assert_same_bits(self.reduced("sum", nothing, "--axis", 0), np.zeros(3, np.float32))
        self.assert_same_bits(self.reduced("sum", nothing, "--axis", 1), np.zeros(0, np.float32))
        self.assert_same_bits(self.reduced("max", nothing), np.asarray(np.float32(-np.inf)))

    def test_an_array_without_dimensions(self) -> None:
        self.assert_same_bits(self.reduced("mean", np.asarray(3.25)), np.asarray(3.25))

    def test_a_column_vector_may_be_in_either_order(self) -> None:
        column = np.arange(5, dtype=np.float64).reshape(5, 1)
        self.save("plain.npy", column)
        text = (self.folder / "plain.npy").read_bytes().replace(b"'fortran_order': False", b"'fortran_order': True ")
        (self.folder / "fortran.npy").write_bytes(text)
        self.assertEqual(self.succeeds("reduce", "sum", "fortran.npy", "-q"), "10.0\n")

    def test_header_of_version_2_and_elements_off_their_alignment(self) -> None:
        values = np.arange(7, dtype=np.float64)
        header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (7,), }"
        for padding in range(1, 9):
            text = header + b" " * padding + b"\n"
            content = b"\x93NUMPY\x02\x00" + len(text).to_bytes(4, "little") + text + values.tobytes()
            (self.folder / "a.npy").write_bytes(content)
            self.assertEqual(self.succeeds("reduce", "sum", "a.npy", "--quiet"), "21.0\n")


class Printed(ToolTest):
    def test_the_number_alone(self) -> None:
        self.save("a.npy", np.array([[1.5, 2.5], [0.1, 0.0]], np.float32))
        self.assertEqual(self.succeeds("reduce", "sum", "a.npy", "--axis", "-1", "-q"), "4.0\n0.1\n")

    def test_a_table_of_the_first_results(self) -> None:
        self.save("a.npy", np.arange(200, dtype=np.int32).reshape(50, 4))
        text = self.succeeds("reduce", "max", "a.npy", "--axis", 1)
        self.assertIn("i32 [50, 4]", text)
        self.assertRegex(text, r"(?m)^ +\[11\] +47 *$")
        self.assertIn("and 38 more (-o FILE writes all of them)", text)

    def test_the_result_of_everything(self) -> None:
        self.save("a.npy", np.full((1000, 3), 0.5, np.float16))
        self.assertRegex(self.succeeds("reduce", "mean", "a.npy"), r"(?m)^result +0\.5  \(f16\)")
