"""bench/several_gpus.py on the stand-ins for GPUs and NCCL: that it runs to its end, and fails what is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(os.environ["WARP_REDUCE_SOURCE"]) / "bench"
PLAYED, NCCL = os.environ.get("WR_PLAYED_LIBRARY", ""), os.environ.get("WR_STAND_IN_NCCL", "")


def bench(*asked: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCH / "several_gpus.py"), *asked]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def rehearsed(folder: Path, *asked: str) -> dict[str, Any]:
    output = folder / "found.json"
    stand_ins = ("--rehearse", "--library", PLAYED, "--nccl", NCCL)
    done = bench(*stand_ins, "--output", str(output), *asked)
    assert done.returncode == 0, done.stdout + done.stderr
    return {"said": done.stdout, **json.loads(output.read_text(encoding="utf-8"))}


def test_every_part_runs_on_one_to_four_ranks(tmp_path: Path) -> None:
    found = rehearsed(tmp_path, "--ranks", "1,2,4")
    assert {each["ranks"] for each in found["bits"]} == {1, 2, 4}
    assert all(each["ok"] for part in ("bits", "faults", "scaling") for each in found[part])
    assert {(each["kind"], each["ranks"]) for each in found["scaling"]} == {
        (kind, ranks) for kind in ("strong", "weak") for ranks in (1, 2, 4)
    }
    assert any("log_softmax float32" in each["job"] and "151936" in each["job"] for each in found["scaling"])
    assert all(each["us"]["shards"] > 0 and each["us"]["one GPU"] > 0 for each in found["scaling"])
    assert "NOT AS PROMISED" not in found["said"] and "| sum_exact float32" in found["said"]


def test_other_bits_fail(tmp_path: Path) -> None:
    """As if one GPU's results were another library's: the whole axis is given in the wrong order."""
    program = tmp_path / "turned.py"
    program.write_text(
        f"import sys; sys.path.insert(0, {str(BENCH)!r})\n"
        "from several_gpus import shards, bits\n"
        "real = shards.one_call\n"
        "bits.one_call = lambda world, library, job, x: real(world, library, job, x.flip(1).contiguous())\n"
        "import several_gpus as package, importlib.util as find\n"
        f"made = find.spec_from_file_location('program', {str(BENCH / 'several_gpus.py')!r})\n"
        "program = find.module_from_spec(made); made.loader.exec_module(program)\n"
        "sys.exit(program.main())\n",
        encoding="utf-8",
    )
    asked = ["--rehearse", "--library", PLAYED, "--nccl", NCCL, "--ranks", "2", "--parts", "bits"]
    command = [sys.executable, str(program), *asked]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1 and "other: " in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(
    "asked",
    [
        (),
        ("--library", "missing.so"),
        ("--library", PLAYED, "--ranks", "none"),
        ("--library", PLAYED, "--ranks", "0"),
        ("--library", PLAYED, "--parts", "speed"),
        ("--library", PLAYED, "--rehearse"),
    ],
)
def test_bad_arguments_are_refused_in_words(asked: tuple[str, ...]) -> None:
    done = bench(*asked)
    assert done.returncode == 2 and "several_gpus.py: error: " in done.stderr


def test_without_so_many_gpus_it_is_not_run() -> None:
    done = bench("--library", PLAYED, "--ranks", "64")
    assert done.returncode == 77 and "GPUs are here" in done.stderr
