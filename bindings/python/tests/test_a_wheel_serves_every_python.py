"""pip makes one wheel, around a library that is there already, and every Python of this machine can use it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

SOURCE = Path(os.environ["WARP_REDUCE_SOURCE"])
LIBRARY = Path(os.environ["WARP_REDUCE_LIBRARY"])
PROGRAM = "import warp_reduce as wr; print(wr.__file__, wr.library_version(), bool(wr.cuda_status()) in (True, False))"

pytest.importorskip("scikit_build_core")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    command += ["-C", f"cmake.define.WARP_REDUCE_LIBRARY={LIBRARY}", "-w", str(folder), str(SOURCE)]
    environment = {**os.environ, "TMPDIR": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = folder.glob("*.whl")
    return made


def test_its_name_and_contents(wheel: Path) -> None:
    assert wheel.name.startswith("warp_reduce-") and "-cp39-abi3-linux_" in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        assert archive.read("warp_reduce/libwarp_reduce.so") == LIBRARY.resolve().read_bytes()
        (entries,) = (archive.read(name).decode() for name in names if name.endswith("entry_points.txt"))
    assert "wr = warp_reduce.wr.main:main" in entries
    for name in ("_native.abi3.so", "_native.pyi", "py.typed", "wr/main.py", "data/elnino.npy"):
        assert f"warp_reduce/{name}" in names
    assert not [name for name in names if not name.startswith(("warp_reduce/", "warp_reduce-"))]


def pythons() -> list[str]:
    found = {shutil.which(f"python3.{minor}") for minor in range(9, 20)} | {sys.executable}
    return sorted(each for each in found if each)


@pytest.mark.parametrize("python", pythons())
def test_it_is_imported(wheel: Path, python: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("WARP_REDUCE", "PYTHON"))}
    environment["PYTHONPATH"] = str(tmp_path)
    done = subprocess.run([python, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False)
    if "command not found" in done.stderr:  # a version manager's stand-in for a Python that is not there
        pytest.skip(f"{python} is not installed")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(tmp_path)) and done.stdout.endswith("True\n")
