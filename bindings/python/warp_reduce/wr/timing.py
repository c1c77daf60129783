"""How long a job takes on a device: the median of several samples."""

from __future__ import annotations

import statistics
from collections.abc import Callable

from .devices import Device

SAMPLES = 7
SECONDS_A_SAMPLE = 0.02


def median_seconds(device: Device, job: Callable[[], None], sample: float = SECONDS_A_SAMPLE) -> float:
    """Of one call. A sample is as many calls as take `sample` seconds, or one."""
    once = device.seconds(job)
    once = min(once, device.seconds(job))
    repeats = max(1, int(sample / max(once, 1e-6)))
    return statistics.median(device.seconds(job, repeats) / repeats for _ in range(SAMPLES))
