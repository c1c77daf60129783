"""wr bench softmax: its jobs, the bytes that it counts for each, its types, and the plot."""

from __future__ import annotations

from support import ToolTest
from warp_reduce._elements import BF16, F32, FLOATS
from warp_reduce._library import load_library
from warp_reduce.wr.devices import HostDevice
from warp_reduce.wr.rate_plot import Rate, rates_in
from warp_reduce.wr.softmax import types_of_softmax
from warp_reduce.wr.softmax_jobs import Job, jobs_of, ready_to_run, representative


class Jobs(ToolTest):
    def test_bytes_are_what_is_read_and_written(self) -> None:
        library = load_library()
        shape, count, rows = (6, 50, 2), 600, 12
        for job, expected in (
            (Job("", F32, lambda _: shape), 8 * count),
            (Job("", BF16, lambda _: shape, shift=1), 4 * count),
            (Job("", BF16, lambda _: shape, knob="log"), 4 * count),
            (Job("", BF16, lambda _: shape, knob="logsumexp"), 4 * count + 4 * rows),
            (Job("", F32, lambda _: shape, knob="mask"), 9 * count),
            (Job("", F32, lambda _: shape, knob="causal"), 4 * count + 4 * 2 * (1 + 2 + 3 + 4 + 5 + 6)),
            (Job("", F32, lambda _: shape, "gradient"), 12 * count),
            (Job("", BF16, lambda _: shape, "gradient", "logsumexp"), 6 * count + 4 * rows),
            (Job("", BF16, lambda _: shape, "logsumexp"), 2 * count + 2 * rows),
        ):
            with ready_to_run(library, HostDevice(library), job, shape) as (call, moved):
                self.assertEqual(moved, expected, job)
                call()
        with ready_to_run(library, HostDevice(library), Job("", F32, lambda _: shape, knob="lengths"), shape) as (
            _,
            moved,
        ):
            self.assertLess(moved, 8 * count + 8 * rows)
            self.assertGreater(moved, 4 * count + 8 * rows)

    def test_jobs_that_are_too_large_are_left_out(self) -> None:
        titles = [job.title for job in jobs_of(F32) if job.shape(1 << 15) is not None]
        self.assertIn("rows of 32768", titles)
        self.assertIn("1 x 32000", titles)
        self.assertNotIn("rows of 65536", titles)
        self.assertNotIn("32 x 32000", titles)
        self.assertEqual(len(representative()), 2 * len(list(jobs_of(BF16))))


class Bench(ToolTest):
    def test_a_table_beside_a_copy(self) -> None:
        text = self.succeeds("bench", "softmax", "--largest", "13", "--device", "host")
        self.assertRegex(text, r"(?m)^softmax of 32.0 KiB on host")
        self.assertRegex(text, r"(?m)^ceiling: [\d.]+ GB/s, NumPy's copy")
        for job in (
            "rows of 32 +f32",
            "rows of 4096, masked +bf16",
            "columns of 1024 +f32",
            "gradient of rows of 1024 +bf16",
            "logsumexp of rows of 32 +bf16",
        ):
            self.assertRegex(text, rf"(?m)^ {job} +[\d.]+ +[\d.]+ +\d+%")

    def test_types_that_softmax_does_not_take(self) -> None:
        floats = "softmax takes and gives floats only: f32 f64 f16 bf16 f8_e4m3 f8_e5m2"
        for dtype in ("i32", "koalabear_x4"):
            text = self.succeeds("bench", "--dtype", dtype, "--largest", "10", "--device", "host")
            self.assertIn(f"sum of {dtype} on host", text)
            self.assertTrue(text.endswith(f"{floats}; skipped for {dtype}\n"), text)
            message = self.fails(2, "bench", "softmax", "--dtype", dtype, "--largest", "10")
            self.assertEqual(message, f"wr: --dtype {dtype}: {floats}\n")
        text = self.succeeds("bench", "--dtype", "f16", "--largest", "10", "--device", "host")
        self.assertIn("softmax of f16 on host", text)
        self.assertNotIn("skipped", text)

    def test_help_has_the_types_that_softmax_takes(self) -> None:
        self.assertEqual([each.name for each in types_of_softmax(load_library())], list(FLOATS))
        text = " ".join(self.succeeds("bench", "--help").split())
        self.assertIn(f"softmax takes floats only: {' '.join(FLOATS)}", text)

    def test_a_plot_that_cannot_be_drawn_is_refused_before_measuring(self) -> None:
        (self.folder / "folder.svg").mkdir()
        (self.folder / "there.svg").write_text("old")
        (self.folder / "peers.txt").write_text("torch softmax f32 1 x 131072   32.70 us   0.02 TB/s\n")
        for name in ("noext", "rates.txt", ".svg"):
            message = self.fails(2, "bench", "softmax", "--plot", name)
            self.assertIn(f"argument --plot: '{name}' is no name of a plot, which ends in .svg or .png", message)
        for name, reason in (
            ("no/folder/a.svg", "No such file or directory"),
            ("there.svg/a.png", "Not a directory"),
            ("folder.svg", "Is a directory"),
            ("a" * 252 + ".svg", "File name too long"),
        ):
            self.assertEqual(self.fails(1, "bench", "softmax", "--plot", name), f"wr: {name}: {reason}\n")
        for name in ("new.svg", "there.svg"):
            message = self.fails(1, "bench", "softmax", "--plot", name, "--peers", "peers.txt")
            self.assertIn("wr: peers.txt: has no rate to draw; it must hold what bench/peers.py prints", message)
        self.assertEqual((self.folder / "there.svg").read_text(), "old")
        self.assertFalse((self.folder / "new.svg").exists())

    def test_plot(self) -> None:
        # the launcher's Python may have no matplotlib, and says so before it measures
        done = self.wr(
            "bench", "softmax", "--largest", "10", "--dtype", "f16", "--device", "host", "--plot", "rates.svg"
        )
        if done.returncode == 0:
            self.assertIn("<svg", (self.folder / "rates.svg").read_text())
            self.assertNotIn("f32", done.stdout)
        else:
            self.assertEqual(done.stdout, "")
            self.assertEqual(done.stderr, "wr: a plot needs matplotlib, which is not installed for this Python\n")
        self.assertIn("--peers with --plot", self.fails(2, "bench", "softmax", "--peers", "peers.txt"))
        self.assertIn("--plot goes with", self.fails(2, "bench", "--plot", "rates.svg"))

    def test_rates_of_the_benchmarks_lines(self) -> None:
        text = """
NVIDIA H200, 132 multiprocessors; medians of 11 samples, ours and the peer's in turn
softmax f32 524288 x 1024                     1021.91 us   4.20 TB/s  98.3 %   peer   0.00   must  4.15  met
softmax f32 536870 x 1000, off by one         1071.70 us   4.01 TB/s  93.7 %   peer   0.00   must  4.00  met
softmax f32 1 x 2^27                           428.33 us   graph 439.03   peer   0.00   must 400.0  MISSED
torch softmax bf16 1 x 131072                     32.70 us   0.02 TB/s
compiled softmax bf16 1048576 x 1024            1100.00 us   3.90 TB/s
"""
        expected = [Rate("warp-reduce", "f32", 1024, 4.20e12), Rate("torch.compile", "bf16", 1024, 3.90e12)]
        self.assertEqual(rates_in(text), expected)
