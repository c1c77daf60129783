"""What a caller pays for small sums in a stream, and who waits for each result, with a workspace and without one."""

from __future__ import annotations

from typing import Any

from . import data as buffers
from . import ours, peers
from .elements import ELEMENT_TYPES
from .session import Session, say
from .shapes import Job

LOG2_SIZES = (10, 14, 16, 18, 20, 22)


def run(session: Session) -> list[dict[str, Any]]:
    found = []
    for log2 in LOG2_SIZES:
        f32 = ELEMENT_TYPES["f32"]
        job = Job(f"sum of 2^{log2} f32", "calls", "sum", 1, 1 << log2, 1, f32, f32, may_lose=0.05)
        data = buffers.make(job, session.device)
        contenders = {}
        for name, library in session.libraries().items():
            contenders[f"{name}, workspace"] = ours.call(library, job, data, session.stream_of(library))
            contenders[f"{name}, none"] = ours.call(
                library, job, data, session.stream_of(library), with_workspace=False
            )
        contenders["torch"] = peers.eager(job, data)
        if session.native:
            contenders["cub"] = session.native.cub(job, data)
        say(job.name)
        for kind, us in (
            ("back to back", session.timer.in_stream(contenders)),
            ("synchronised", session.timer.awaited(contenders)),
        ):
            found.append({"name": f"{job.name}, {kind}", "us": {who: round(one, 2) for who, one in us.items()}})
    return found
