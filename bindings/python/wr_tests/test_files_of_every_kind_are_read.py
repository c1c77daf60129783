"""What people's .npy and .npz files hold: 8-bit floats of ml_dtypes, bools, Fortran order, new headers, archives."""

from __future__ import annotations

import io
import itertools

import numpy as np
from support import ToolTest


class Files(ToolTest):
    def setUp(self) -> None:
        super().setUp()
        self.random = np.random.default_rng(57)

    def reduced(self, operator: str, *line: object) -> np.ndarray:
        self.succeeds("reduce", operator, *line, "-o", "out.npy")
        return self.load("out.npy")

    def save_header(self, name: str, header: bytes, data: bytes, version: bytes = b"\1\0") -> None:
        size = len(header).to_bytes(2 if version == b"\1\0" else 4, "little")
        (self.folder / name).write_bytes(b"\x93NUMPY" + version + size + header + data)

    def test_a_map_of_16_bit_integers_does_not_wrap(self) -> None:
        heights = self.random.integers(0, 4000, (100, 200), np.int16)
        self.save("a.npy", heights)
        self.assertEqual(self.succeeds("reduce", "sum", "a.npy", "-q"), f"{heights.sum()}\n")
        self.assert_same_bits(self.reduced("sum", "a.npy", "--axis", 0), heights.sum(axis=0))
        self.save("total.npy", np.array(5, np.int64))
        more = ("reduce", "sum", "a.npy", "-q", "--add-to")
        self.assertEqual(self.succeeds(*more, "total.npy"), f"{heights.sum() + 5}\n")
        self.save("narrow.npy", np.array(5, np.int16))
        total = (heights.sum() + 5).astype(np.int16)
        self.assertEqual(self.succeeds(*more, "narrow.npy"), f"{total}\n")

    def test_8_bit_floats_as_numpy_writes_those_of_ml_dtypes(self) -> None:
        words = self.random.integers(0, 0x7C, 64, np.uint8)
        e5m2 = (words.astype(np.uint16) << 8).view(np.float16).astype(np.float32)
        for descr in (b"'<f1'", b"'|f1'"):
            header = b"{'descr': " + descr + b", 'fortran_order': False, 'shape': (64,), }\n"
            self.save_header("a.npy", header, words.tobytes())
            self.assert_same_bits(self.reduced("max", "a.npy", "--output-dtype", "f32"), np.asarray(e5m2.max()))
        for descr in ("|V1", "<V1"):
            header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': (64,), }}\n".encode()
            self.save_header("a.npy", header, words.tobytes())
            options = ("--dtype", "f8_e5m2", "--output-dtype", "f32")
            self.assert_same_bits(self.reduced("max", "a.npy", *options), np.asarray(e5m2.max()))
            message = self.fails(1, "reduce", "max", "a.npy")
            self.assertIn("1 byte without a type; add --dtype f8_e4m3 if that is what they are", message)

    def test_bools(self) -> None:
        flags = self.random.integers(0, 2, (20, 30)).astype(bool)
        self.save("a.npy", flags)
        self.assert_same_bits(self.reduced("count_nonzero", "a.npy", "--axis", 1), np.count_nonzero(flags, 1))
        self.assert_same_bits(self.reduced("sum", "a.npy", "--axis", 1).astype(np.int64), flags.sum(axis=1))
        self.assert_same_bits(self.reduced("any", "a.npy", "--axis", 0), flags.any(axis=0).view(np.uint8))
        self.assert_same_bits(self.reduced("all", "a.npy"), np.asarray(flags.all()).view(np.uint8))

    def test_fortran_order_gives_the_bits_of_the_same_array_in_c_order(self) -> None:
        array = self.random.standard_normal((6, 7, 8)).astype(np.float32)
        self.save("c.npy", array)
        self.save("f.npy", np.asfortranarray(array))
        for operator, axis in itertools.product(("sum", "argmax"), ((), ("--axis", 0), ("--axis", 1), ("--axis", -1))):
            expected = self.reduced(operator, "c.npy", *axis)
            self.assert_same_bits(self.reduced(operator, "f.npy", *axis), expected, (operator, axis))
        for axis in (0, 1, 2):
            self.succeeds("softmax", "c.npy", "c_out.npy", "--axis", axis)
            self.succeeds("softmax", "f.npy", "f_out.npy", "--axis", axis)
            self.assert_same_bits(self.load("f_out.npy"), self.load("c_out.npy"))
        self.assertEqual(self.succeeds("dot", "f.npy", "c.npy", "-q"), self.succeeds("dot", "c.npy", "c.npy", "-q"))
        words = self.random.integers(0, 1 << 30, (5, 4), np.uint32)
        self.save("w.npy", np.asfortranarray(words))
        self.assert_same_bits(
            self.reduced("sum", "w.npy", "--dtype", "koalabear_x4"),
            (words.astype(np.uint64).sum(axis=0) % (2**31 - 2**24 + 1)).astype(np.uint32),
        )

    def test_headers_of_every_format(self) -> None:
        array = np.arange(6.0)
        for version in ((1, 0), (2, 0), (3, 0)):
            file = io.BytesIO()
            np.lib.format.write_array(file, array, version)
            (self.folder / "a.npy").write_bytes(file.getvalue())
            self.assertEqual(self.succeeds("reduce", "sum", "a.npy", "-q"), "15.0\n")

    def test_arrays_of_an_archive(self) -> None:
        first, second = np.arange(6.0).reshape(2, 3), np.full(4, 200, np.uint8)
        for save in (np.savez, np.savez_compressed):
            save(self.folder / "two.npz", first=first, second=second)
            self.assertEqual(self.succeeds("reduce", "sum", "two.npz:second", "-q"), "800\n")
            self.assert_same_bits(self.reduced("sum", "two.npz:first", "--axis", 0), first.sum(axis=0))
            save(self.folder / "one.npz", first)
            self.assertEqual(self.succeeds("reduce", "sum", "one.npz", "-q"), "15.0\n")
            self.succeeds("softmax", "two.npz:first", "out.npy")
            self.assertEqual(self.load("out.npy").shape, (2, 3))
        message = self.fails(1, "reduce", "sum", "two.npz")
        self.assertIn("two.npz: holds 2 arrays; name one, as in FILE.npz:NAME (there are: first, second)", message)
        message = self.fails(1, "reduce", "sum", "two.npz:third")
        self.assertIn("two.npz:third: has no array 'third' (there are: first, second)", message)
        (self.folder / "bad.npz").write_bytes(b"PK no archive")
        self.assertIn("is not a .npz file that can be read", self.fails(1, "reduce", "sum", "bad.npz"))
        self.assertIn("there is no such file", self.fails(1, "reduce", "sum", "none.npz:first"))
        whole = (self.folder / "two.npz").read_bytes()
        (self.folder / "cut.npz").write_bytes(whole[: len(whole) // 2])
        self.assertIn("is not a .npz file that can be read", self.fails(1, "reduce", "sum", "cut.npz:first"))

    def test_an_array_without_dimensions(self) -> None:
        self.save("a.npy", np.array(2.5))
        self.assertEqual(self.succeeds("reduce", "sum", "a.npy", "-q"), "2.5\n")
