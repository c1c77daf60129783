"""One job on several devices: the results, whether their bits agree, and how long each took."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..devices import Device

RUNS = 9


@dataclass(frozen=True)
class Outcome:
    results: tuple[np.ndarray, ...]  # of the first device
    seconds: tuple[float, ...]  # the median on each device
    agree: bool


def on_all_devices(devices: list[Device], job: Callable[[Device], tuple[float, tuple[np.ndarray, ...]]]) -> Outcome:
    """job(device) gives the seconds inside the library and the result's arrays."""
    results, seconds = [], []
    for device in devices:
        runs = [job(device) for _ in range(RUNS)]
        results.append(runs[-1][1])
        seconds.append(statistics.median(each for each, _ in runs))
    bits = [tuple(array.tobytes() for array in result) for result in results]
    return Outcome(results[0], tuple(seconds), all(each == bits[0] for each in bits))
