"""A progress bar appears on stderr when a job is long and stderr is a terminal, and never otherwise."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import unittest

JOB = """
import time
from warp_reduce.wr.screen import progress
with progress({label!r}, 4, bytes_counted=False) as advance:
    for _ in range(4):
        time.sleep({pause})
        advance(1)
print("done")
"""

GOING_ON = """
import time
from warp_reduce.wr.screen import progress
with progress("counting", 1 << 40) as advance:
    advance(1 << 39)
    for _ in range(8):
        time.sleep(0.2)
        advance(1 << 20)
"""


def on_a_terminal(pause: float, label: str = "counting", job: str = JOB) -> tuple[str, str]:
    """stdout, and what a terminal at stderr received."""
    screen, terminal = pty.openpty()
    command = [sys.executable, "-c", job.format(pause=pause, label=label)]
    environment = {**os.environ, "TERM": "xterm"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal, text=True, env=environment)
    os.close(terminal)
    received = b""
    while True:
        try:
            block = os.read(screen, 4096)
        except OSError:  # how Linux says that the other side is closed
            break
        if not block:
            break
        received += block
    os.close(screen)
    return process.communicate()[0], received.decode()


class ProgressBar(unittest.TestCase):
    def test_a_long_job_on_a_terminal(self) -> None:
        output, received = on_a_terminal(0.3)
        self.assertEqual(output, "done\n")
        self.assertIn("counting", received)
        self.assertRegex(received, r"\d+%")

    def test_a_label_is_shown_as_it_is(self) -> None:
        for label in ("sum of [bold]a.npy", "sum of [/a].npy"):
            self.assertIn(label, on_a_terminal(0.3, label)[1])

    def test_a_short_job_on_a_terminal(self) -> None:
        self.assertEqual(on_a_terminal(0.0), ("done\n", ""))

    def test_what_an_earlier_run_has_done_counts_as_done_and_not_as_fast(self) -> None:
        _, received = on_a_terminal(0.0, job=GOING_ON)
        self.assertRegex(received, "50%")
        self.assertRegex(received, r"\d MB/s")
        self.assertNotRegex(received, "[GT]B/s")

    def test_a_long_job_without_a_terminal(self) -> None:
        command = [sys.executable, "-c", JOB.format(pause=0.3, label="counting")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        self.assertEqual((done.stdout, done.stderr), ("done\n", ""))
