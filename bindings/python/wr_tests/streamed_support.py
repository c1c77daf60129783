"""Files that are read in pieces: on whatever device, the bits are those of one call on the host device."""

from __future__ import annotations

import itertools

import numpy as np
from support import ToolTest
from test_pieces_give_the_bits_of_the_whole import as_words
from warp_reduce._elements import BY_NAME
from warp_reduce._library import Library
from warp_reduce._operators import GIVE_AN_INDEX
from warp_reduce.wr.devices import Device, HostDevice
from warp_reduce.wr.file_pieces import FileElements
from warp_reduce.wr.lanes import Sizes
from warp_reduce.wr.npy_files import NpyArray, open_raw
from warp_reduce.wr.reduction import Reducer, Reduction
from warp_reduce.wr.softmax import Softmax, run_softmax
from warp_reduce.wr.streamed_reduction import StreamedReduction
from warp_reduce.wr.streamed_softmax import StreamedSoftmax


def factors_of(job: Reduction, weights: np.ndarray | None) -> FileElements | None:
    if weights is None:
        return None
    return FileElements(NpyArray("weights", weights, job.weights), (1, weights.size, 1))


class StreamedTest(ToolTest):
    library: Library
    host: HostDevice
    device: Device  # that reads the files
    random: np.random.Generator

    def raw(self, words: np.ndarray, name: str = "a.raw") -> str:
        words.tofile(self.folder / name)
        return str(self.folder / name)

    def all_factors_of(self, job: Reduction, weights: np.ndarray | None) -> list[FileElements | None]:
        """Weights in an array and in a file: on a GPU the adapter's threads bring what lies in files alone."""
        if weights is None:
            return [None]
        shape = (1, weights.size, 1)
        return [factors_of(job, weights), FileElements(open_raw(self.raw(weights, "w.raw"), job.weights, shape), shape)]

    def assert_streamed_agrees(
        self, job: Reduction, words: np.ndarray, weights: np.ndarray | None, all_sizes: tuple[Sizes, ...]
    ) -> None:
        shape = (words.shape[0], words.shape[2])
        values = np.zeros(shape, job.element.storage) if job.operator in GIVE_AN_INDEX else None
        whole = Reducer(self.library, self.host).run(job, words, weights=weights, values=values)
        source = FileElements(open_raw(self.raw(words), job.element, words.shape), words.shape)
        for sizes, factors in itertools.product(all_sizes, self.all_factors_of(job, weights)):
            streamed = StreamedReduction(self.library, self.device, sizes)
            result, found = streamed.run(job, source, factors)
            self.assert_same_bits(result, whole, (job, words.shape, sizes))
            if values is not None:
                self.assert_same_bits(found, values, (job, words.shape, sizes))

    def assert_streamed_softmax_agrees(self, all_sizes: tuple[Sizes, ...]) -> None:
        """Of rows in one and in two passes, and of columns."""
        shapes = ((1, 70_000, 1), (2, 9000, 1), (30, 700, 1), (1, 3000, 7), (2, 2100, 40))
        for name, shape in itertools.product(("f32", "f64", "bf16", "f16"), shapes):
            element = BY_NAME[name]
            words = as_words(self.random.standard_normal(shape) * 5, element)
            words[..., -1:] = as_words(np.full(1, -np.inf), element) if shape[2] == 7 else words[..., -1:]
            source = FileElements(open_raw(self.raw(words), element, shape), shape)
            for log, scale, sizes in itertools.product((False, True), (0.0, 0.3), all_sizes):
                job = Softmax(element, element, log=log, scale=scale, zero_empty_rows=log)
                results = [
                    (np.zeros(shape, element.storage), np.zeros(shape[::2], job.logsumexp_element().storage))
                    for _ in range(2)
                ]
                run_softmax(self.library, self.host, job, words, *results[0])
                StreamedSoftmax(self.library, self.device, sizes).run(job, source, *results[1])
                for whole, streamed in zip(*results):
                    self.assert_same_bits(streamed, whole, (job, shape, sizes))
