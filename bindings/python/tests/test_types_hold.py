"""mypy finds nothing in the package, and a program's arguments are checked against it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(os.environ["WARP_REDUCE_SOURCE"])
PACKAGE = SOURCE / "bindings/python/warp_reduce"

pytest.importorskip("mypy")


def mypy(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(folder / "cache"), *arguments]
    environment = {**os.environ, "MYPYPATH": str(PACKAGE.parent)}
    environment.pop("PYTHONPATH", None)
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="NumPy of older Pythons is typed otherwise")
def test_the_package(tmp_path: Path) -> None:
    files = sorted(str(file) for file in PACKAGE.glob("_*.py"))
    done = mypy("--strict", "--no-warn-return-any", *files, folder=tmp_path)
    assert done.returncode == 0, done.stdout


def test_a_wrong_argument_is_found(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import warp_reduce\nwarp_reduce.sum([1.0], keepdims='2')\n", "utf-8")
    done = mypy("program.py", folder=tmp_path)
    assert 'Argument "keepdims" to "sum" has incompatible type "str"; expected "bool"' in done.stdout
