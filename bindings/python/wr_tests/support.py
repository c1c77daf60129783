"""How the tests run wr: the launcher of the build, in a folder of the test's own."""

from __future__ import annotations

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np

LAUNCHER = os.environ["WR_LAUNCHER"]


class ToolTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def wr(self, *arguments: object, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess:
        return subprocess.run(
            [LAUNCHER, *map(str, arguments)],
            cwd=self.folder,
            env=os.environ if environment is None else environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def succeeds(self, *arguments: object) -> str:
        done = self.wr(*arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""), arguments)
        return done.stdout

    def fails(self, status: int, *arguments: object, environment: dict[str, str] | None = None) -> str:
        """The one line on stderr; nothing is on stdout."""
        done = self.wr(*arguments, environment=environment)
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        self.assertRegex(done.stderr, r"\Awr[^\n]*: [^\n]+\n\Z")
        return done.stderr

    def save(self, name: str, array: np.ndarray) -> str:
        np.save(self.folder / name, array)
        return name

    def load(self, name: str) -> np.ndarray:
        return np.load(self.folder / name)

    def assert_same_bits(self, actual: np.ndarray, expected: np.ndarray, message: object = None) -> None:
        self.assertEqual((actual.dtype, actual.shape), (expected.dtype, expected.shape), message)
        self.assertEqual(actual.tobytes(), expected.tobytes(), message)
