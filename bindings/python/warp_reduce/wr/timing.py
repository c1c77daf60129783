"""How long a job takes on a device: the median of several samples, or of a job in pieces its pace."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from .devices import Device

SAMPLES = 7
SECONDS_A_SAMPLE = 0.02


@dataclass(frozen=True)
class Pace:
    """How long a job in pieces has taken."""

    seconds: float
    setup: float  # seconds of these before the first piece: a GPU's context, pinned memory
    nbytes: int  # of the file, without what an earlier run has done

    @property
    def bytes_per_second(self) -> float:
        return self.nbytes / max(self.seconds - self.setup, 1e-9)


def median_seconds(device: Device, job: Callable[[], None], sample: float = SECONDS_A_SAMPLE) -> float:
    """Of one call. A sample is as many calls as take `sample` seconds, or one."""
    once = device.seconds(job)
    once = min(once, device.seconds(job))
    repeats = max(1, int(sample / max(once, 1e-6)))
    return statistics.median(device.seconds(job, repeats) / repeats for _ in range(SAMPLES))
