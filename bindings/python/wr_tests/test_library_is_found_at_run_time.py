"""libwarp_reduce is loaded at run time: WARP_REDUCE_LIBRARY first, then beside wr, then the system's search path."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from support import LAUNCHER, ToolTest

OVERRIDE = "WARP_REDUCE_LIBRARY"


class Search(ToolTest):
    def setUp(self) -> None:
        super().setUp()
        self.library = os.environ[OVERRIDE]
        self.plain = {name: value for name, value in os.environ.items() if name not in (OVERRIDE, "LD_LIBRARY_PATH")}

    def loaded_from(self, environment: dict[str, str]) -> str:
        done = self.wr("info", environment=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        line = next(line for line in done.stdout.splitlines() if line.startswith("loaded from"))
        return line.removeprefix("loaded from").strip()

    def copy_of_the_program(self) -> Path:
        """wr without a library beside it."""
        build = Path(LAUNCHER).resolve().parents[1]
        shutil.copytree(build / "lib" / "wr", self.folder / "alone" / "lib" / "wr")
        (self.folder / "alone" / "bin").mkdir()
        shutil.copy(LAUNCHER, self.folder / "alone" / "bin" / "wr")
        if (build / "venv" / "wr_tool").exists():
            (self.folder / "alone" / "venv").mkdir()
            (self.folder / "alone" / "venv" / "wr_tool").symlink_to(build / "venv" / "wr_tool")
        return self.folder / "alone"

    def run_alone(self, environment: dict[str, str]) -> tuple[int, str]:
        import subprocess

        program = str(self.folder / "alone" / "bin" / "wr")
        done = subprocess.run([program, "info"], env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_the_variable_overrides(self) -> None:
        shutil.copy(self.library, self.folder / "other.so")
        place = str(self.folder / "other.so")
        self.assertEqual(self.loaded_from({**self.plain, OVERRIDE: place}), f"{place} (from {OVERRIDE})")

    def test_beside_the_program(self) -> None:
        found = self.loaded_from(self.plain)
        self.assertEqual(Path(found), Path(LAUNCHER).resolve().parents[1] / "lib" / "libwarp_reduce.so")

    def test_the_search_path_of_the_system(self) -> None:
        self.copy_of_the_program()
        (self.folder / "elsewhere").mkdir()
        shutil.copy(self.library, self.folder / "elsewhere" / "libwarp_reduce.so")
        status, text = self.run_alone({**self.plain, "LD_LIBRARY_PATH": str(self.folder / "elsewhere")})
        self.assertEqual(status, 0, text)
        self.assertIn(f"{self.folder}/elsewhere/libwarp_reduce.so (from the system's", " ".join(text.split()))

    def test_nowhere(self) -> None:
        self.copy_of_the_program()
        status, text = self.run_alone(self.plain)
        self.assertEqual((status, text.count("\n")), (1, 1), text)
        self.assertIn(f"libwarp_reduce.so was not found; build it, or set {OVERRIDE}", text)

    def test_a_variable_that_names_nothing_is_not_passed_over(self) -> None:
        message = self.fails(1, "info", environment={**self.plain, OVERRIDE: "/nowhere/libwarp_reduce.so"})
        self.assertIn(f"/nowhere/libwarp_reduce.so (from {OVERRIDE}) could not be loaded", message)
        self.assertIn(f"set {OVERRIDE} to where libwarp_reduce.so is", message)

    def test_another_library(self) -> None:
        message = self.fails(1, "info", environment={**self.plain, OVERRIDE: "libc.so.6"})
        self.assertIn("no libwarp_reduce that this package can use", message)
