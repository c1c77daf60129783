"""wr calls the CUDA driver with the right functions and arguments: seen by a stand-in for libcuda.so.1."""

from __future__ import annotations

import ctypes
import unittest

import numpy as np
from warp_reduce._library import SUCCESS, Library
from warp_reduce.wr.ceiling import measured_ceiling
from warp_reduce.wr.devices import open_device
from warp_reduce.wr.driver import DRIVER_NAME, Driver
from warp_reduce.wr.errors import WrError


class LibraryWithGpu(Library):
    """Of the library only the status counts here; the real one does not know the stand-in."""

    def __init__(self) -> None:
        self.status = SUCCESS

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
