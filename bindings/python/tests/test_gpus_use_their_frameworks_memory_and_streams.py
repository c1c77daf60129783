"""Arrays of GPUs, played on the CPU: results and workspaces are their framework's, jobs are on its stream and on the
GPU that the array lies on, whichever is the current one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent
SOURCE = Path(os.environ["WARP_REDUCE_SOURCE"])
LIBRARY = Path(os.environ["WARP_REDUCE_LIBRARY"])

PROGRAM = '''
import ctypes, os, sys
import numpy as np
library = ctypes.CDLL(os.environ["WARP_REDUCE_LIBRARY"], ctypes.RTLD_GLOBAL)
import played_cupy
cupy = played_cupy.install(library)
from played_cupy import STREAMS, gpus, on
import warp_reduce as wr

class Job(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("device", "stream", "workspace", "size", "wanted", "output")]

jobs = (Job * 4096).in_dll(library, "jobs")
count = ctypes.c_int.in_dll(library, "job_count")
random = np.random.default_rng(3)
large = random.standard_normal((3, 40000)).astype(np.float32)
cube = random.standard_normal((6, 50, 70)).astype(np.float32)

def plain(x):
    return x.get() if isinstance(x, cupy.ndarray) else np.asarray(x)

def check(call, *arrays):
    """The same bits as of NumPy's arrays, from each GPU, with each as the current one."""
    expected, wanted = np.asarray(call(*arrays)), 0
    for number in (0, 1):
        with on(number):
            given = [cupy.asarray(each) for each in arrays]
        for current in (0, 1):
            gpus.choose(current)
            before = count.value
            found = call(*given)
            assert type(found) is cupy.ndarray and found.device.id == number, (number, current)
            assert (plain(found).dtype, plain(found).tobytes()) == (expected.dtype, expected.tobytes())
            assert gpus.current == current and count.value > before
            for job in jobs[before : count.value]:
                assert job.device == number and job.stream == STREAMS + number, (job.device, job.stream, number)
                assert job.size >= job.wanted and gpus.holds(job.output, 1)
                assert not job.wanted or gpus.holds(job.workspace, job.size)
                wanted += job.wanted
    return wanted

workspaces = 0
for name in ("sum", "mean", "max", "argmin", "norm", "logsumexp", "softmax", "log_softmax"):
    function = getattr(wr, name)
    for x in (large, cube, cube[:, ::2], cube.transpose(2, 0, 1)):
        workspaces += check(lambda x: function(x, axis=-1), x)
        workspaces += check(lambda x: function(x, axis=0), x)
workspaces += check(lambda x: wr.sum(x, axis=(0, 2)), cube)
workspaces += check(lambda x: wr.sum(x, exact=True), large)
workspaces += check(lambda x: wr.sum(x, axis=1, dtype="float64"), large)
workspaces += check(lambda x, m: wr.sum(x, axis=1, where=m), large, large > 0)
workspaces += check(lambda x, m: wr.max(x, axis=0, where=m), cube, cube[0] > 0)
workspaces += check(lambda x, y: wr.dot(x, y), large, large[0])
workspaces += check(lambda x, o: wr.segment_reduce("max", x, o), large[0], np.array([0, 7, 7, 40000]))
workspaces += check(lambda y, g: wr.log_softmax_backward(y, g), large, large[::-1])
workspaces += check(lambda x: wr.softmax(x, scale=0.5, causal=True), cube)
assert workspaces > 0, "no job wanted a workspace: this says nothing"
print("jobs", count.value)
'''


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("there is no compiler")
    folder = tmp_path_factory.mktemp("played")
    library = folder / "libcuda.so.1"
    command = [
        compiler,
        "-shared",
        "-fPIC",
        "-O1",
        "-D_GNU_SOURCE",
        "-I",
        str(SOURCE / "capi/include"),
        "-o",
        str(library),
    ]
    command += [str(FOLDER / "played_gpus.c"), "-Wl,-soname,libcuda.so.1", str(LIBRARY), f"-Wl,-rpath,{LIBRARY.parent}"]
    done = subprocess.run([*command, "-ldl"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return library


def run(library: Path, before: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "WARP_REDUCE_LIBRARY": str(library)}
    environment["PYTHONPATH"] = os.pathsep.join([str(FOLDER), environment.get("PYTHONPATH", "")])
    command = [sys.executable, "-c", PROGRAM.replace("workspaces = 0\n", before + "\nworkspaces = 0\n", 1)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_every_job(played: Path) -> None:
    done = run(played)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[1]) > 250


MISTAKES = {
    "another GPU is current": "ArrayModule.device = lambda self, x: contextlib.nullcontext()",
    "another GPU's stream": "ArrayModule.stream = lambda self, x: STREAMS",
    "memory of nobody's": "ArrayModule.memory = lambda self, like, size: cupy.ndarray((), of=np.empty(size, 'u1'))",
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_it_can_fail(played: Path, mistake: str) -> None:
    done = run(played, f"import contextlib; from warp_reduce._arrays import ArrayModule; {MISTAKES[mistake]}")
    assert done.returncode != 0 and "AssertionError" in done.stderr
