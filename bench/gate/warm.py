"""Compiles what torch.compile and Triton will be asked for into their caches, in processes side by side."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace

import torch

from . import data as buffers
from . import peers, triton_peer
from .session import say
from .shapes import Job

WORKERS = 12


def start(gate: str, sections: tuple[str, ...], only: str | None, compiled: bool) -> list[subprocess.Popen[bytes]]:
    """One process a share; they use the GPU, so nothing is timed before wait()."""
    workers = min(WORKERS, max((os.cpu_count() or 2) - 2, 1))
    base = [sys.executable, gate, "--sections", ",".join(sections), *(("--compile", "1") if compiled else ())]
    base += ["--only", only] if only else []
    return [
        subprocess.Popen([*base, "--warm-share", f"{share}/{workers}"], stdout=subprocess.DEVNULL)
        for share in range(workers)
    ]


def wait(workers: list[subprocess.Popen[bytes]], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    for worker in workers:
        try:
            worker.wait(max(deadline - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            worker.kill()
    failed = sum(worker.wait() != 0 for worker in workers)
    if failed:
        say(f"{failed} of {len(workers)} compiling processes did not finish; the rest is compiled when it is needed")


def run_share(jobs: list[Job], share: int, workers: int, compiled: bool) -> None:
    seen = set()
    mine = []
    for job in jobs:
        # Triton's kernels know a job's axis and types; torch.compile's all of its shape.
        key = (job.operation, job.axis, job.element.name, job.output.name)
        if key not in seen:
            seen.add(key)
            mine.append((job, False))
        if compiled and job.compiled:
            mine.append((job, True))
    for job, compiles in mine[share::workers]:
        try:
            if compiles:
                _compile(job)
            else:
                _launch_triton(job)
        except Exception as error:
            say(f"compiling {job.name}: {type(error).__name__}: {error}".splitlines()[0])
        torch.cuda.empty_cache()


def _launch_triton(job: Job) -> None:
    if triton_peer.takes(job):
        small = replace(job, outer=1)
        call = triton_peer.kernel_call(small, buffers.make(small, "cuda"))
        if call:
            call()


def _compile(job: Job) -> None:
    data = buffers.make(job, "cuda")
    make = peers.compiler(job, data)
    if make:
        make(data)()
