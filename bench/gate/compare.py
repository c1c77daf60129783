"""What a run says: what is slower than an older build, what is behind a peer, and whether that fails the gate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PEERS = ("torch", "triton", "compiled")
BEHIND = 1.05
NOISE_US = 0.03  # of a graph's small call between two runs of one build

Results = dict[str, Any]


def read(path: Path) -> Results:
    return json.loads(path.read_text(encoding="utf-8"))


def best_peer(result: Results) -> tuple[str, float] | None:
    us = result.get("us", {})
    return min(((name, us[name]) for name in PEERS if name in us), key=lambda pair: pair[1], default=None)


def errors(run: Results) -> list[str]:
    wrong = [f"{one['name']}: {one['error']}" for one in run["results"] if "error" in one]
    return wrong + [f"{one['name']}: other bits than the older build" for one in run["results"] if "bits" in one]


def losses(old: dict[str, float], new: Results) -> list[dict[str, Any]]:
    """By name, what takes longer than it may: `old` has the older build's microseconds."""
    found = []
    for one in new["results"]:
        if one["name"] not in old or "us" not in one:
            continue
        before, after = old[one["name"]], one["us"]["ours"]
        if after > before * (1 + one["may_lose"]) + NOISE_US:
            found.append({"name": one["name"], "before": before, "after": after, "may_lose": one["may_lose"]})
    return sorted(found, key=lambda loss: loss["before"] / loss["after"])


def of_other_run(old: Results) -> dict[str, float]:
    return {one["name"]: one["us"]["ours"] for one in old["results"] if "us" in one}


def of_same_run(run: Results) -> dict[str, float]:
    """Of the older build that the run had beside the new one."""
    return {one["name"]: one["us"]["baseline"] for one in run["results"] if "baseline" in one.get("us", {})}


def behind(run: Results, section: str) -> list[tuple[float, Results]]:
    """What is more than 5 % behind the best peer, the worst first."""
    found = []
    for one in run["results"]:
        peer = best_peer(one)
        if one["section"] == section and peer and one["us"]["ours"] > BEHIND * peer[1]:
            found.append((one["us"]["ours"] / peer[1], one))
    return sorted(found, key=lambda pair: -pair[0])
