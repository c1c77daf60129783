"""The names of files are shown as they are, also where they look like markup or cannot be written as text."""

from __future__ import annotations

import os
import shutil

import numpy as np
from support import ToolTest

MARKUP = ("[bold]a.npy", "a[/b].npy", "a[red]b[/red].npy", ":cat:.npy", "a[b.npy")  # a slash ends a folder


class Names(ToolTest):
    def test_what_looks_like_markup(self) -> None:
        for name in MARKUP:
            output = f"out{name}"
            for each in (name, output):
                (self.folder / each).parent.mkdir(exist_ok=True)
            self.save(name, np.ones((2, 3), np.float32))
            for line, count in (
                (("reduce", "sum", name, "-o", output), 2),
                (("reduce", "sum", name, "--axis", 1, "-o", output), 2),
                (("dot", name, name, "-o", output), 3),
                (("softmax", name, output), 2),
            ):
                self.assertEqual(self.succeeds(*line).count(name), count, line)

    def test_a_library_in_a_folder_that_looks_like_markup(self) -> None:
        place = str(self.folder / "[bold]other.so")
        shutil.copy(os.environ["WARP_REDUCE_LIBRARY"], place)
        done = self.wr("info", environment={**os.environ, "WARP_REDUCE_LIBRARY": place})
        self.assertIn("[bold]other.so", done.stdout)

    def test_letters_that_stdout_does_not_have(self) -> None:
        environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
        self.save("\u00e9.npy", np.ones(3, np.float32))
        done = self.wr("reduce", "sum", "\u00e9.npy", "-o", "\u00e8.npy", environment=environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("\\xe9.npy, f32 [3]", done.stdout)
        self.assertIn("written to \\xe8.npy\n", done.stdout)
        message = self.fails(1, "reduce", "sum", "\u00e8\u00e9.npy", environment=environment)
        self.assertIn("\\xe8\\xe9.npy: there is no such file", message)

    def test_names_that_are_no_text(self) -> None:
        name = os.fsdecode(b"\xff.npy")
        self.save(name, np.ones(3, np.float32))
        self.assertIn("\\udcff.npy, f32 [3]", self.succeeds("reduce", "sum", name))
