"""wr bench --peers: what is timed side by side computes the same, and the least of several rounds is of one call."""

from __future__ import annotations

import numpy as np
from support import ToolTest
from warp_reduce._elements import BF16
from warp_reduce._library import load_library
from warp_reduce.wr.host_peers import (
    TABLE,
    PeerJob,
    least_times,
    measured,
    numpy_call,
    our_call,
    random_input,
    torch_call,
)

SHAPES = ((1, 1000, 1), (40, 33, 1), (1, 50, 70), (5, 20, 30))


class Peers(ToolTest):
    def test_numpy_gives_what_we_give(self) -> None:
        library = load_library()
        for operator in ("sum", "max", "argmax"):
            for shape in SHAPES:
                job = PeerJob(operator, shape)
                words = random_input(job)
                ours, theirs = our_call(library, job, words), numpy_call(job, words)
                assert theirs is not None
                self.assertEqual(ours(), 0)
                np.testing.assert_allclose(ours.memory[1].ravel(), np.ravel(theirs()), rtol=1e-4, atol=1e-4)

    def test_every_kind_of_job_is_its_peers(self) -> None:
        library = load_library()
        kinds = {(job.operator, job.element, job.shape[0] > 1, job.shape[2] > 1): job for job in TABLE}
        for job in kinds.values():
            outer, axis, inner = job.shape
            job = PeerJob(job.operator, (min(outer, 3), min(axis, 320), min(inner, 5)), job.element)
            words = random_input(job)
            ours = our_call(library, job, words)
            self.assertEqual(ours(), 0)
            for theirs in (numpy_call(job, words), torch_call(job, words)):
                if theirs is None:
                    continue
                expected = theirs()
                expected = np.asarray(expected.double() if hasattr(expected, "double") else expected, np.float64)
                got = ours.memory[1]
                if job.element is BF16 and got.dtype == np.uint16:
                    got = (got.astype(np.uint32) << 16).view(np.float32)
                tolerance = 2e-2 if job.element.size == 2 else 1e-4
                np.testing.assert_allclose(
                    np.ravel(got), np.ravel(expected), rtol=tolerance, atol=tolerance * 10, err_msg=job.title
                )

    def test_every_row_has_a_name_of_its_own(self) -> None:
        self.assertEqual(len({job.title for job in TABLE}), len(TABLE))
        self.assertIn("softmax middle axis 64 x 128 x 512", [job.title for job in TABLE])

    def test_times_are_of_one_call(self) -> None:
        calls = 0

        def call() -> None:
            nonlocal calls
            calls += 1

        (seconds,) = least_times([call], rounds=2)
        self.assertGreater(calls, 10)
        self.assertGreater(seconds, 0)
        self.assertEqual(least_times([None]), [None])
        times = measured(load_library(), PeerJob("sum", (1, 1000, 1)), rounds=1)
        self.assertGreater(times.ours, 0)
        self.assertGreater(times.numpy, 0)
