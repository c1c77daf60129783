"""wr calls the CUDA driver with the right functions and arguments: seen by a stand-in for libcuda.so.1."""

from __future__ import annotations

import ctypes
import threading
import time
import unittest

import numpy as np
from warp_reduce._elements import BY_NAME
from warp_reduce._library import SUCCESS, Args, Library, ReduceArgs, load_library
from warp_reduce.wr.ceiling import measured_ceiling
from warp_reduce.wr.devices import open_device
from warp_reduce.wr.driver import DRIVER_NAME, Driver
from warp_reduce.wr.errors import WrError
from warp_reduce.wr.file_crew import SLOTS, Asked, FileCrew, Room, room_for
from warp_reduce.wr.file_pieces import FileElements, Piece
from warp_reduce.wr.lanes import Sizes, sizes_of
from warp_reduce.wr.npy_files import NpyArray
from warp_reduce.wr.reduction import Reduction
from warp_reduce.wr.softmax import Softmax
from warp_reduce.wr.streamed_reduction import StreamedReduction
from warp_reduce.wr.streamed_softmax import StreamedSoftmax


class LibraryWithGpu(Library):
    """The real one does not know the stand-in, whose memory is the host's: jobs of a GPU run on the host device."""

    def __init__(self) -> None:
        self.status = SUCCESS
        self.number = load_library().number
        self.host_stream = load_library().host_stream
        self.streams: set[int] = set()

    def call(self, args: Args, stream: int) -> None:
        self.streams.add(stream)
        load_library().call(args, self.host_stream)

    def cuda_status(self) -> int:
        return self.status

    def status_string(self, status: int) -> str:
        return f"status {status}"


class StandIn(unittest.TestCase):
    def setUp(self) -> None:
        self.gpu = open_device(LibraryWithGpu(), "cuda:0")
        live = ctypes.CDLL(DRIVER_NAME).stand_in_live_allocations
        live.restype = ctypes.c_size_t
        self.addCleanup(lambda: self.assertEqual(live(), 0))

    def test_what_info_says(self) -> None:
        driver = Driver()
        device = driver.device(0)
        said = (driver.version, driver.device_count(), driver.name(device), driver.total_memory(device))
        self.assertEqual(said, ("13.2", 1, "Stand-in", 1 << 30))
        self.assertEqual(driver.compute_capability(device), "9.0")

    def test_arrays_go_to_the_gpu_and_come_back(self) -> None:
        there, back = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
        with self.gpu.reading(there) as source, self.gpu.writing(back) as target:
            self.assertNotIn(source, (target, there.ctypes.data))
            ctypes.memmove(target, source, there.nbytes)
        np.testing.assert_array_equal(back, there)

    def test_a_job_finds_what_it_updates(self) -> None:
        array = np.arange(1000, dtype=np.float32)
        with self.gpu.updating(array) as pointer:
            self.assertNotEqual(pointer, array.ctypes.data)
            words = np.ctypeslib.as_array((ctypes.c_float * 1000).from_address(pointer))
            np.testing.assert_array_equal(words, array)
            words *= 2
        np.testing.assert_array_equal(array, 2 * np.arange(1000))

    def test_a_copy_inside_the_gpu(self) -> None:
        there, back = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
        with self.gpu.reading(there) as source, self.gpu.writing(back) as target:
            self.gpu.copy(target, source, 4 * 999)
        np.testing.assert_array_equal(back[:999], there[:999])

    def test_the_ceiling_is_a_copy_of_one_half_to_the_other(self) -> None:
        ceiling = measured_ceiling(self.gpu, 1 << 20)
        self.assertIn("device-to-device copy", ceiling.what)
        # The stand-in's clock says 0.25 s for a sample, which has one run of the job.
        self.assertEqual(ceiling.bytes_per_second, (1 << 20) / 0.25)

    def test_no_elements(self) -> None:
        nothing = np.zeros(0, np.float32)
        with self.gpu.reading(nothing) as source, self.gpu.writing(nothing) as target:
            self.assertTrue(source and target)

    def test_a_block_repeated(self) -> None:
        block = np.arange(3, dtype=np.uint16)
        with self.gpu.repeating(block, 8) as pointer:
            words = np.ctypeslib.as_array((ctypes.c_uint16 * 8).from_address(pointer))
            self.assertEqual(words.tolist(), [0, 1, 2, 0, 1, 2, 0, 1])

    def test_a_job_is_timed_by_events(self) -> None:
        runs: list[int] = []
        self.assertEqual(self.gpu.seconds(lambda: runs.append(1), 3), 0.25)
        self.assertEqual(len(runs), 3)

    def test_a_failed_job_frees_its_memory_and_copies_nothing_back(self) -> None:
        result = np.ones(10, np.float32)
        with self.assertRaisesRegex(ValueError, "job"), self.gpu.writing(result):
            raise ValueError("job")
        self.assertTrue((result == 1).all())

    def test_a_file_in_pieces_goes_through_pinned_memory(self) -> None:
        array = np.random.default_rng(1).standard_normal((7, 5000)).astype(np.float32)
        library = LibraryWithGpu()
        for operator, shape in (("sum", (1, 35000, 1)), ("norm_l2", (7, 5000, 1)), ("argmax", (1, 7, 5000))):
            job = Reduction(operator, BY_NAME["f32"], BY_NAME["i64" if operator == "argmax" else "f32"])
            source = FileElements(NpyArray("a", array, job.element), shape)
            for sizes in (Sizes(3, 4096), Sizes(2, 30_000)):
                on_gpu = StreamedReduction(library, self.gpu, sizes).run(job, source)
                on_host = StreamedReduction(library, open_device(library, "host"), Sizes(3, 4096)).run(job, source)
                for left, right in zip(on_gpu, on_host):
                    np.testing.assert_array_equal(left, right)
        self.assertEqual(library.streams, {library.host_stream, self.gpu.stream})

    def test_softmax_of_a_file_in_pieces_goes_through_pinned_memory(self) -> None:
        array = np.random.default_rng(2).standard_normal((7, 5000)).astype(np.float32)
        library, job = LibraryWithGpu(), Softmax(BY_NAME["f32"], BY_NAME["f32"])
        for shape in ((7, 5000, 1), (1, 35000, 1), (1, 7, 5000)):
            source = FileElements(NpyArray("a", array, job.element), shape)
            results = []
            for device, sizes in (
                (self.gpu, Sizes(3, 40_000)),
                (open_device(library, "host"), Sizes(3, 8192)),
            ):
                result, sums = np.zeros(shape, np.float32), np.zeros(shape[::2], np.float32)
                StreamedSoftmax(library, device, sizes).run(job, source, result, sums)
                results.append((result, sums))
            for left, right in zip(*results):
                np.testing.assert_array_equal(left, right)

    def test_a_failure_while_a_piece_is_read_ends_the_job_and_frees_all(self) -> None:
        class Broken(FileElements):
            def read(self, piece: Piece, memory: np.ndarray) -> np.ndarray:
                if piece.axis.start >= 9000:
                    raise WrError("a: cannot be read")
                return super().read(piece, memory)

        job = Reduction("sum", BY_NAME["f32"], BY_NAME["f32"])
        source = Broken(NpyArray("a", np.ones(35000, np.float32), job.element), (1, 35000, 1))
        with self.assertRaisesRegex(WrError, "a: cannot be read"):
            StreamedReduction(LibraryWithGpu(), self.gpu, Sizes(3, 8192)).run(job, source)

    def test_lanes_share_the_memory_that_there_may_be(self) -> None:
        library = load_library()
        for memory in (1 << 20, 100 << 20, 512 << 20, 1 << 40):
            for device in (self.gpu, open_device(library, "host")):
                sizes = sizes_of(library, device, memory)
                self.assertLessEqual(sizes.lanes * sizes.piece, memory)
                self.assertGreaterEqual(sizes.lanes, 1 + (device is self.gpu))

    def test_threads_of_the_adapter_share_the_memory_too(self) -> None:
        library = load_library()
        for memory in (1 << 20, 5 << 20, 16 << 20, 100 << 20, 512 << 20, 1 << 40):
            for times in (1.0, 2.0):
                sizes = sizes_of(library, self.gpu, memory, times)
                room = room_for(library, sizes)
                self.assertLessEqual(times * room.threads * SLOTS * room.part, memory)
                self.assertLessEqual(times * room.pieces * room.parts * room.part, memory)
                self.assertGreaterEqual(room.pieces, 2)
                self.assertLessEqual(room_for(library, sizes, sizes.total // 3).pieces, 3)
        self.assertGreater(room_for(library, sizes_of(library, self.gpu, 512 << 20)).parts, 1)

    def test_threads_of_the_adapter_that_get_no_memory_leave_none(self) -> None:
        asked = Asked(ReduceArgs(op=1, dtype=1), {}, {"output": np.empty(1 << 27)})
        with self.assertRaisesRegex(WrError, "cuMemHostAlloc with error 2: out of memory"):
            FileCrew(load_library(), self.gpu, Room(3, 4096, 4, 6), [asked])

    def test_threads_of_python_run_while_memory_is_pinned(self) -> None:
        meeting = ctypes.c_int.in_dll(ctypes.CDLL(DRIVER_NAME), "stand_in_meeting")

        def come() -> None:
            while meeting.value == 1:
                time.sleep(0.001)
            meeting.value = 3

        asked = Asked(ReduceArgs(op=1, dtype=1), {}, {"output": np.empty(1)})
        meeting.value = 1
        other = threading.Thread(target=come)
        other.start()
        try:
            FileCrew(load_library(), self.gpu, Room(1, 4096, 1, 2), [asked]).close()
        finally:
            meeting.value = 0
            other.join()

    def test_failures_have_the_drivers_words(self) -> None:
        with self.assertRaisesRegex(WrError, "cuMemAlloc_v2 with error 2: out of memory"), self.gpu.memory(1 << 40):
            pass
        with self.assertRaisesRegex(WrError, "no device cuda:1; GPUs of this machine: cuda:0"):
            open_device(LibraryWithGpu(), "cuda:1")

    def test_a_gpu_that_the_library_cannot_use(self) -> None:
        library = LibraryWithGpu()
        library.status = 14
        with self.assertRaisesRegex(WrError, "cuda:0 cannot be used: status 14"):
            open_device(library, "cuda:0")


if __name__ == "__main__":
    unittest.main()
