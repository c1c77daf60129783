"""One run of the gate: every job of the sections asked for, checked once, timed beside its peers."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from . import data as buffers
from . import ours, peers, triton_peer
from .builds import Build
from .native_peer import NativePeers
from .shapes import Job
from .timing import Timer

Call = Callable[[], object]

# Where a call's buffers would stay in the second-level cache in part, as many are taken in turn as do not.
LEAST_TO_ROTATE, ROTATED, MOST_SETS = 8 << 20, 256 << 20, 8
MOST_RESERVED = 40 << 30
LARGE, REST_SECONDS = 100 << 20, 0.03
REMEASURE_SAMPLES = 25
BEHIND = 1.05
MOST_SAID = 10  # of jobs that fail, all of which are in the results
CEILING_BYTES = 2 << 30


@dataclass
class Session:
    library: Build
    older: Build | None = None
    native: NativePeers | None = None
    timer: Timer | None = None
    device: str = "cuda"
    compile_seconds: float = 0.0
    deadline: float = float("inf")
    results: list[dict[str, Any]] = field(default_factory=list)
    not_timed: list[str] = field(default_factory=list)
    compiling: float = 0.0
    failed: int = 0

    def stream_of(self, build: Build) -> int:
        return self.timer.stream.cuda_stream if self.timer else build.host_stream

    def libraries(self) -> dict[str, Build]:
        return {"ours": self.library, **({"baseline": self.older} if self.older else {})}

    # ---- all of a section

    def run(self, jobs: list[Job]) -> None:
        began, shown = time.monotonic(), 0.0
        for at, job in enumerate(jobs):
            now = time.monotonic()
            if now > self.deadline:
                self.not_timed += [each.name for each in jobs[at:]]
                break
            if now - shown > 5 or at + 1 == len(jobs):
                shown = now
                say(f"{at + 1}/{len(jobs)} {job.section}, {now - began:.0f} s: {job.name}")
            self.results.append(self.measure(job))

    def measure(self, job: Job) -> dict[str, Any]:
        result: dict[str, Any] = {
            "name": job.name,
            "section": job.section,
            "operation": job.operation,
            "shape": [job.outer, job.axis, job.inner],
            "type": job.element.name,
            "bytes": job.bytes,
            "may_lose": job.may_lose,
        }
        try:
            result.update(self._measured(job))
        except Exception as error:  # one job that fails must not lose the figures of the others
            result["error"] = f"{type(error).__name__}: {error}".splitlines()[0][:300]
            self.failed += 1
            if self.failed <= MOST_SAID:
                say(f"{job.name}: {result['error']}")
            if self.timer:
                torch.cuda.synchronize()  # raises again, and ends the run, if the GPU's context is lost
        return result

    def _measured(self, job: Job) -> dict[str, Any]:
        rotates = job.section != "grid" and LEAST_TO_ROTATE <= job.bytes < ROTATED
        sets = min(-(-ROTATED // job.bytes), MOST_SETS) if rotates and self.timer else 1
        all_data = [buffers.make(job, self.device) for _ in range(sets)]
        result = self._checked(job, all_data[0])
        if not self.timer:
            return result
        contenders = self._contenders(job, all_data)
        if job.bytes > LARGE:
            time.sleep(REST_SECONDS)
        # PyTorch's ragged reductions look at their offsets on the host.
        uncaptured = ("torch",) if job.ragged else ()
        us = self.timer.graphs(contenders, uncaptured=uncaptured)
        if _is_suspicious(us, job):
            us = self.timer.graphs(contenders, REMEASURE_SAMPLES, uncaptured)
        result["us"] = {name: round(one, 3) for name, one in us.items()}
        del contenders, all_data
        if torch.cuda.memory_reserved() > MOST_RESERVED:
            torch.cuda.empty_cache()
        return result

    def _contenders(self, job: Job, all_data: list[buffers.Data]) -> dict[str, list[Call]]:
        made: dict[str, Callable[[buffers.Data], Call | None]] = {
            name: lambda one, library=library: ours.call(library, job, one, self.stream_of(library))
            for name, library in self.libraries().items()
        }
        made["torch"] = lambda one: peers.eager(job, one)
        made["triton"] = lambda one: triton_peer.kernel_call(job, one)
        if self.native:
            made["cub"] = lambda one: self.native.cub(job, one)
        contenders = {name: [make(one) for one in all_data] for name, make in made.items()}
        compiled = self._compiled(job, all_data)
        if compiled:
            contenders["compiled"] = compiled
        return {name: calls for name, calls in contenders.items() if calls[0] is not None}

    def _compiled(self, job: Job, all_data: list[buffers.Data]) -> list[Call] | None:
        if not job.compiled or self.compiling >= self.compile_seconds:
            return None
        began = time.monotonic()
        make = peers.compiler(job, all_data[0])
        calls = [make(one) for one in all_data] if make else None
        if calls:
            calls[0]()
        self.compiling += time.monotonic() - began
        return calls

    # ---- what comes out

    def _checked(self, job: Job, data: buffers.Data) -> dict[str, Any]:
        """That every output is written, is what PyTorch gives, and has the bits of the older build."""
        found: dict[str, Any] = {}
        bits = {}
        for name, library in self.libraries().items():
            buffers.poison(data)
            ours.call(library, job, data, self.stream_of(library))()
            bits[name] = data.out.clone()
        if "baseline" in bits and not _same_bits(bits["ours"], bits["baseline"]):
            found["bits"] = "differ"
        reference = self._reference(job, data)
        if reference is not None:
            complaint = _complaint(job, data, bits["ours"], reference)
            if complaint:
                raise ValueError(f"wrong result: {complaint}")
        return found

    def _reference(self, job: Job, data: buffers.Data) -> torch.Tensor | None:
        call = peers.eager(job, data)
        if call is None:
            return None
        if job.ragged:  # PyTorch keeps these sums in the element's type
            return torch.segment_reduce(data.x.float(), job.operation, offsets=data.offsets, unsafe=True)
        reference = call()
        return reference if isinstance(reference, torch.Tensor) else data.out

    # ---- what memory gives

    def ceilings(self) -> dict[str, float]:
        """TB/s of a copy (read and written), and of reading alone."""
        source = torch.empty(CEILING_BYTES // 4, device="cuda").normal_()
        target = torch.empty_like(source)
        jobs = {"copy": [lambda: target.copy_(source)]}
        if self.native:
            jobs["read"] = [self.native.read(source)]
        us = self.timer.graphs(jobs, 21, uncaptured=tuple(jobs))  # a graph's copy is another, slower one
        found = {"copy": 2 * CEILING_BYTES / us["copy"] * 1e-6}
        found["read"] = CEILING_BYTES / us["read"] * 1e-6 if "read" in us else found["copy"]
        return {name: round(rate, 3) for name, rate in found.items()}


def say(text: str) -> None:
    print(f"gate: {text}", file=sys.stderr, flush=True)


def _is_suspicious(us: dict[str, float], job: Job) -> bool:
    """Slower than it may be: measured again, longer, before that is said."""
    peers_us = [us[name] for name in ("torch", "triton") if name in us]
    is_behind = bool(peers_us) and us["ours"] > BEHIND * min(peers_us)
    return is_behind or ("baseline" in us and us["ours"] > (1 + 0.5 * job.may_lose) * us["baseline"])


def _same_bits(left: torch.Tensor, right: torch.Tensor) -> bool:
    return torch.equal(left.reshape(-1).view(torch.uint8), right.reshape(-1).view(torch.uint8))


def _spread(job: Job) -> float:
    """Of sums of elements of either sign, beside which one that comes out small is no better known."""
    longest = job.ragged[1] if job.ragged else job.axis
    return {"sum": 2 * longest**0.5, "mean": 2 / longest**0.5}.get(job.operation, 0.0)


def _complaint(job: Job, data: buffers.Data, out: torch.Tensor, reference: torch.Tensor) -> str | None:
    if job.operation == "argmax":
        at = out.unsqueeze(data.dim)
        best = data.x.gather(data.dim, at) == data.x.gather(data.dim, reference.unsqueeze(data.dim))
        return None if bool(best.all()) else "another index than PyTorch's, of another value"
    left, right = out.double(), reference.double().view(out.shape)
    if job.operation == "log_softmax":
        right = torch.where(torch.isneginf(left) & torch.isneginf(right), left, right)
        left, right = left.nan_to_num(neginf=0.0), right.nan_to_num(neginf=0.0)
    tolerance = 3e-2 if "bf16" in (job.element.name, job.output.name) else 2e-3
    scale = max(right.abs().max().item(), _spread(job)) or 1.0
    worst = (left - right).abs().max().item() / scale if left.numel() else 0.0
    return None if worst <= tolerance else f"off PyTorch's by {worst:.1e} of the largest"
