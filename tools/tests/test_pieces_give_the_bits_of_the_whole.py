"""Large files are reduced in pieces: the bits are those of one call, for every operator, type and shape."""

from __future__ import annotations

import unittest

import numpy as np
from support import ToolTest
from wr.devices import HostDevice
from wr.elements import BY_NAME
from wr.library import load_library
from wr.reduction import Reducer, Reduction
from wr.softmax import Softmax, run_softmax

SHAPES = ((1, 5000, 1), (1, 4096, 1), (7, 900, 1), (1, 333, 17), (3, 250, 9), (40, 3, 2), (1, 1, 6000), (1, 0, 1))
PIECES = (64, 1000, 4096)

# operator, element, output, accumulator
JOBS = (
    ("sum", "f32", "f32", None),
    ("sum", "f32", "f16", None),
    ("sum", "f32", "f64", "f64"),
    ("mean", "f32", "f32", None),
    ("mean", "f32", "bf16", "f64"),
    ("min", "f32", "f32", None),
    ("max", "f32", "f64", None),
    ("sum", "f64", "f32", None),
    ("mean", "f64", "f64", None),
    ("sum", "f16", "f16", None),
    ("mean", "f16", "f16", None),
    ("max", "f16", "f32", None),
    ("sum", "i32", "i32", None),
    ("sum", "i32", "f64", None),
    ("sum", "i64", "i32", None),
    ("mean", "i32", "f32", None),
    ("mean", "i64", "f64", None),
    ("min", "i32", "i64", None),
    ("sum", "koalabear", "koalabear", None),
)


def random_words(random: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    element = BY_NAME[name]
    if element.kind == "float":
        return (random.standard_normal(shape) * 100).astype(element.storage)
    low, high = (
        (0, 2**30) if element.kind == "field" else (np.iinfo(element.storage).min, np.iinfo(element.storage).max)
    )
    return random.integers(low, high, shape, element.storage)


class Pieces(ToolTest):
    @classmethod
    def setUpClass(cls) -> None:
        cls.library = load_library()
        cls.host = HostDevice(cls.library)

    def test_reductions(self) -> None:
        random = np.random.default_rng(3)
        for operator, element, output, accumulate in JOBS:
            job = Reduction(operator, BY_NAME[element], BY_NAME[output], BY_NAME[accumulate] if accumulate else None)
            for shape in SHAPES:
                words = random_words(random, element, shape)
                whole = Reducer(self.library, self.host).run(job, words)
                for piece in PIECES:
                    pieces = Reducer(self.library, self.host, piece_bytes=piece).run(job, words)
                    self.assert_same_bits(pieces, whole, (operator, element, output, shape, piece))

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

    def test_every_byte_is_reported_once(self) -> None:
        for shape in SHAPES[:-1]:
            reported: list[int] = []
            words = np.ones(shape, np.float32)
            job = Reduction("max", BY_NAME["f32"], BY_NAME["f32"])
            Reducer(self.library, self.host, reported.append, piece_bytes=1000).run(job, words)
            self.assertEqual(sum(reported), words.nbytes)


if __name__ == "__main__":
    unittest.main()
