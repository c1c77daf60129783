"""Large files are reduced in pieces: the bits are those of one call, for every operator, type and shape."""

from __future__ import annotations

import unittest
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from support import ToolTest
from warp_reduce._elements import BY_NAME, ElementType
from warp_reduce._library import Library, Refused, load_library
from warp_reduce._operators import GIVE_AN_INDEX, OPERATORS, default_output
from warp_reduce.wr.devices import HostDevice
from warp_reduce.wr.elements import nan_word
from warp_reduce.wr.offers import is_offered
from warp_reduce.wr.reduction import Reducer, Reduction
from warp_reduce.wr.segments import SegmentReducer
from warp_reduce.wr.softmax import Selection, Softmax, run_ragged_softmax, run_softmax

SHAPES = ((1, 5000, 1), (1, 4096, 1), (7, 900, 1), (1, 333, 17), (3, 250, 9), (40, 3, 2), (1, 1, 6000), (1, 0, 1))
PIECES = (64, 1000, 4096)

FLOATS = ("f32", "f64", "f16", "bf16", "f8_e4m3", "f8_e5m2")
INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
FIELDS = ("koalabear", "babybear", "mersenne31", "goldilocks", "koalabear_x4", "babybear_x4")

# Types whose results differ from the input's, beside every operator with what it gives by itself:
# operator, element, output, accumulator
WIDER_AND_NARROWER = (
    ("sum", "f32", "f16", None),
    ("sum", "f32", "f64", "f64"),
    ("sum", "f64", "f32", None),
    ("sum", "f8_e4m3", "f32", None),
    ("sum", "i8", "i64", None),
    ("sum", "i32", "f64", None),
    ("sum", "u64", "f32", None),
    ("sum", "i64", "i32", None),
    ("product", "f32", "f64", "f64"),
    ("product", "i8", "u64", None),
    ("product", "i16", "f64", None),
    ("product", "u32", "f32", None),
    ("mean", "f32", "bf16", "f64"),
    ("mean", "i8", "f32", None),
    ("mean", "i64", "f64", None),
    ("mean", "u64", "f16", None),
    ("min", "i32", "i64", None),
    ("max", "f32", "f64", None),
    ("max", "u8", "i16", None),
    ("argmax", "f16", "i32", None),
    ("sum_of_squares", "f16", "f64", "f64"),
    ("sum_of_squares", "i32", "f64", None),
    ("norm_l1", "i8", "u16", None),
    ("norm_l1", "i64", "f32", None),
    ("norm_l2", "f64", "f32", None),
    ("norm_l2", "i32", "f64", None),
    ("norm_l2", "u8", "bf16", None),
    ("norm_max", "i8", "i64", None),
    ("norm_max", "f32", "f16", None),
    ("any", "f32", "i64", None),
    ("count_nonzero", "i32", "f32", None),
    ("count_nonzero", "f8_e5m2", "u8", None),
    ("logsumexp", "f32", "f16", None),
    ("logsumexp", "bf16", "f64", None),
)


def jobs(library: Library) -> Iterator[Reduction]:
    for operator in OPERATORS:
        for name in (*FLOATS, *INTEGERS, *FIELDS):
            element = BY_NAME[name]
            job = Reduction(operator, element, default_output(operator, element))
            if is_offered(library, job):
                yield job
    for operator, element, output, accumulate in WIDER_AND_NARROWER:
        yield Reduction(operator, BY_NAME[element], BY_NAME[output], BY_NAME[accumulate] if accumulate else None)


def random_words(random: np.random.Generator, name: str, shape: tuple[int, ...], operator: str = "") -> np.ndarray:
    """Elements that an operator has work with: products stay finite, most elements of a count are zero."""
    element = BY_NAME[name]
    if element.words > 1:
        return random_words(random, "babybear", (*shape, element.words)).view(element.storage)[..., 0]
    if operator in ("any", "all", "count_nonzero"):
        return (random.integers(0, 1000, shape) // 999).astype(element.storage)
    if element.kind == "float":
        values = random.standard_normal(shape) if operator != "product" else 1 + random.standard_normal(shape) / 100
        return as_words(values * (1 if element.size == 1 or operator == "product" else 100), element)
    if element.kind == "field":
        return random.integers(0, 2**30, shape, element.storage) << (32 if element.size == 8 else 0)
    limits = np.iinfo(element.storage)
    words = random.integers(limits.min, limits.max, shape, element.storage, endpoint=True)
    return words | 1 if operator == "product" else words


def as_words(values: np.ndarray, element: ElementType) -> np.ndarray:
    """Floats cut off to a type's significand; E4M3 has its exponent, without subnormals."""
    if element.name == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if element.name == "f8_e5m2":
        return (values.astype(np.float16).view(np.uint16) >> 8).astype(np.uint8)
    if element.name == "f8_e4m3":
        bits = np.clip(values, -8, 8).astype(np.float16).view(np.uint16)
        exponent = (bits >> 10 & 31).astype(np.int32) - 8
        kept = (np.maximum(exponent, 0) << 3 | bits >> 7 & 7) & 0x7F
        return np.where(exponent > 0, kept | bits >> 8 & 0x80, 0).astype(np.uint8)
    return values.astype(element.storage)


class Pieces(ToolTest):
    @classmethod
    def setUpClass(cls) -> None:
        cls.library = load_library()
        cls.host = HostDevice(cls.library)

    def both(self, job: Reduction, words: np.ndarray, piece: int, **arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        """The result in pieces and at once, and where there are any the values of both."""
        shape, results, values = (words.shape[0], words.shape[2]), [], []
        for size in (piece, words.nbytes + 1):
            value = np.zeros(shape, job.element.storage) if job.operator in GIVE_AN_INDEX else None
            reducer = Reducer(self.library, self.host, piece_bytes=size)
            results.append(reducer.run(job, words, values=value, **arrays))
            values += [value] if value is not None else []
        return (*results, *values)

    def assert_pieces_agree(self, job: Reduction, words: np.ndarray, piece: int, **arrays: np.ndarray) -> None:
        pieces, whole, *values = self.both(job, words, piece, **arrays)
        self.assert_same_bits(pieces, whole, (job, words.shape, piece))
        if values:
            self.assert_same_bits(*values, (job, words.shape, piece))

    def test_every_operator_on_every_type(self) -> None:
        random = np.random.default_rng(3)
        seen = set()
        for job in jobs(self.library):
            seen.add(job.operator)
            for shape in SHAPES:
                words = random_words(random, job.element.name, shape, job.operator)
                for piece in PIECES:
                    self.assert_pieces_agree(job, words, piece)
        self.assertEqual(seen, set(OPERATORS))

    def test_nans_left_out(self) -> None:
        random = np.random.default_rng(5)
        for operator in OPERATORS:
            for name in FLOATS:
                element = BY_NAME[name]
                job = Reduction(operator, element, default_output(operator, element), ignore_nan=True)
                if not is_offered(self.library, job):
                    continue
                for share in (0.3, 0.999, 1.0):
                    words = random_words(random, name, (3, 250, 9), operator)
                    words[random.random(words.shape) < share] = nan_word(element)
                    self.assert_pieces_agree(job, words, 1000)

    def test_a_sum_of_minus_zeros_and_nans(self) -> None:
        for operator in ("sum", "mean"):
            job = Reduction(operator, BY_NAME["f32"], BY_NAME["f32"], ignore_nan=True)
            for present in (0, 1, 300):
                words = np.full((1, 500, 1), np.nan, np.float32)
                words[0, :present] = -0.0
                self.assert_pieces_agree(job, words, 256)
                self.assert_pieces_agree(replace(job, ignore_nan=False), words, 256)

    def test_the_first_of_equals_and_the_first_nan(self) -> None:
        for operator in GIVE_AN_INDEX:
            job = Reduction(operator, BY_NAME["f32"], BY_NAME["i64"])
            words = np.zeros((1, 5000, 1), np.float32)
            words[0, 1234::1000] = 7 if operator == "argmax" else -7
            self.assertEqual(self.both(job, words, 1000)[0][0, 0], 1234)
            words[0, [2500, 4500]] = np.nan
            pieces, _, value, _ = self.both(job, words, 1000)
            self.assertEqual((pieces[0, 0], value.view(np.uint32)[0, 0]), (2500, 0x7FC00000))

    def test_an_infinity_after_a_piece_of_nans(self) -> None:
        for operator, infinity in (("argmin", np.inf), ("argmax", -np.inf)):
            job = Reduction(operator, BY_NAME["f32"], BY_NAME["i64"], ignore_nan=True)
            words = np.full((1, 5000, 1), np.nan, np.float32)
            self.assertEqual(self.both(job, words, 1000)[0][0, 0], -1)
            words[0, 4321:] = infinity
            self.assertEqual(self.both(job, words, 1000)[0][0, 0], 4321)

    def test_weights(self) -> None:
        random = np.random.default_rng(6)
        types = [(name, name) for name in ("f32", "f64", "bf16", "f8_e5m2", "i8", "i64", "u32", *FIELDS)]
        types += [("koalabear", "koalabear_x4"), ("babybear_x4", "babybear")]
        for element, weights in types:
            output = default_output("sum", BY_NAME[element], BY_NAME[weights])
            job = Reduction("sum", BY_NAME[element], output, weights=BY_NAME[weights])
            for shape in ((1, 5000, 1), (7, 900, 1), (3, 250, 9)):
                words = random_words(random, element, shape)
                self.assert_pieces_agree(job, words, 1000, weights=random_words(random, weights, (shape[1],)))

    def test_adding_to_old_results(self) -> None:
        random = np.random.default_rng(7)
        for job in jobs(self.library):
            if not is_offered(self.library, job, add=True):
                continue
            old = random_words(random, job.output.name, (3, 9), job.operator)
            words = random_words(random, job.element.name, (3, 250, 9), job.operator)
            before = old.copy()
            self.assert_pieces_agree(job, words, 1000, old=old)
            self.assert_same_bits(old, before)

    def test_segments(self) -> None:
        random = np.random.default_rng(8)
        for job in jobs(self.library):
            if job.operator == "sum_exact":
                continue  # which segments have not
            words = random_words(random, job.element.name, (3000,), job.operator)
            for kind in (np.int64, np.int32):
                offsets = np.sort(random.integers(100, 3000, 40)).astype(kind)
                offsets[10:30] = offsets[10]  # a long segment after many that are empty
                for piece in (64, 1000, 1 << 20):
                    self.assert_segments_are_rows(job, words, offsets, piece)

    def assert_segments_are_rows(self, job: Reduction, words: np.ndarray, offsets: np.ndarray, piece: int) -> None:
        values = np.zeros(len(offsets) - 1, job.element.storage) if job.operator in GIVE_AN_INDEX else None
        results = SegmentReducer(self.library, self.host, piece_bytes=piece).run(job, words, offsets, values=values)
        for at, (start, end) in enumerate(zip(offsets, offsets[1:])):
            row = words[start:end].reshape(1, -1, 1)
            alone, whole, *value = self.both(job, row, 1 << 20)
            self.assert_same_bits(results[at : at + 1], whole[0], (job, at, piece))
            if value:
                self.assert_same_bits(values[at : at + 1], value[0][0], (job, at, piece))

    def test_what_the_library_refuses_of_the_whole_is_refused_before_the_first_piece(self) -> None:
        reported: list[int] = []
        job = Reduction("max", BY_NAME["koalabear"], BY_NAME["koalabear"])
        words = np.ones((1, 5000, 1), np.uint32)
        with self.assertRaisesRegex(Refused, "max of koalabear: .*WR_ERROR_UNSUPPORTED"):
            Reducer(self.library, self.host, reported.append, piece_bytes=1000).run(job, words)
        with self.assertRaisesRegex(Refused, "max of koalabear: .*WR_ERROR_UNSUPPORTED"):
            SegmentReducer(self.library, self.host, reported.append).run(job, words[0, :, 0], np.array([0, 0]))
        self.assertEqual(reported, [])

    def test_a_nan_in_one_piece(self) -> None:
        words = np.ones((1, 5000, 1), np.float32)
        words[0, 4321] = -np.float32(np.nan)
        for operator in ("sum", "mean", "min", "max"):
            job = Reduction(operator, BY_NAME["f32"], BY_NAME["f32"])
            result = Reducer(self.library, self.host, piece_bytes=1000).run(job, words)
            self.assertEqual(result.view(np.uint32)[0, 0], 0x7FC00000, operator)

    def test_softmax(self) -> None:
        random = np.random.default_rng(4)
        job = Softmax(BY_NAME["f32"], BY_NAME["f32"])
        for shape in ((50, 20, 1), (7, 30, 3), (1, 500, 1)):
            words = random_words(random, "f32", shape)
            whole = self._softmax(job, words, 1 << 20)
            for piece in PIECES:
                for actual, expected in zip(self._softmax(job, words, piece), whole):
                    self.assert_same_bits(actual, expected, (shape, piece))

    def _softmax(self, job: Softmax, words: np.ndarray, piece: int) -> tuple[np.ndarray, np.ndarray]:
        result = np.empty_like(words)
        logsumexp = np.empty((words.shape[0], words.shape[2]), np.float32)
        run_softmax(self.library, self.host, job, words, result, logsumexp, piece_bytes=piece)
        return result, logsumexp

    def test_softmax_of_ragged_rows(self) -> None:
        random = np.random.default_rng(9)
        job, offsets = Softmax(BY_NAME["f32"], BY_NAME["f32"]), np.array([2, 30, 30, 31, 900, 950, 1000], np.int32)
        words = random_words(random, "f32", (1000,))
        selection = Selection(random.integers(0, 2, 1000).astype(np.uint8), random.integers(0, 900, 6))
        results = []
        for piece in (1 << 20, 500, 4):
            result, sums, reported = np.zeros(1000, np.float32), np.zeros(6, np.float32), []
            arrays = (words, offsets, result, sums, reported.append, piece, selection)
            run_ragged_softmax(self.library, self.host, job, *arrays)
            self.assertEqual(sum(reported), 998 * 4)
            results.append((result, sums))
        for at, (first, end) in enumerate(zip(offsets, offsets[1:])):
            if first == end:
                continue
            row, alone, total = (
                words[first:end].reshape(1, -1, 1),
                np.zeros((1, end - first, 1), np.float32),
                np.zeros((1, 1)),
            )
            total = total.astype(np.float32)
            chosen = Selection(selection.mask[first:end].reshape(row.shape), selection.lengths[at].reshape(1, 1))
            run_softmax(self.library, self.host, job, row, alone, total, selection=chosen)
            for result, sums in results:
                self.assert_same_bits(result[first:end], alone.reshape(-1))
                self.assert_same_bits(sums[at : at + 1], total[0])

    def test_every_byte_is_reported_once(self) -> None:
        for shape in SHAPES[:-1]:
            reported: list[int] = []
            words = np.ones(shape, np.float32)
            job = Reduction("max", BY_NAME["f32"], BY_NAME["f32"])
            Reducer(self.library, self.host, reported.append, piece_bytes=1000).run(job, words)
            self.assertEqual(sum(reported), words.nbytes)


if __name__ == "__main__":
    unittest.main()
