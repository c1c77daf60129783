"""A run as text."""

from __future__ import annotations

from typing import Any

from . import compare

Results = dict[str, Any]
COLUMNS = ("ours", "baseline", "torch", "triton", "compiled", "cub")


def ceiling(run: Results, result: Results) -> float:
    """TB/s that memory gives a job of this kind: of reading alone where hardly anything is written."""
    kind = "copy" if result["operation"].endswith(("softmax", "backward")) else "read"
    return run["ceilings"].get(kind, run["ceilings"]["read"])


def rate(result: Results, who: str = "ours") -> float:
    """TB/s"""
    return result["bytes"] / result["us"][who] * 1e-6


def _cell(us: dict[str, float], who: str) -> str:
    return f"{us[who]:10.2f}" if who in us else f"{'':>10}"


def whole(run: Results) -> str:
    """Every job, a line each."""
    machine = ", ".join(f"{name} {value}" for name, value in run["machine"].items())
    lines = [machine, f"ceilings, TB/s: {run['ceilings']}", "microseconds a call; ratio: ours over the best peer", ""]
    lines.append(f"{'':<72}" + "".join(f"{who:>10}" for who in COLUMNS) + "   ratio  of ceiling")
    for one in run["results"]:
        if "us" not in one:
            lines.append(f"{one['name']:<72} {one.get('error', 'checked')}")
            continue
        peer = compare.best_peer(one)
        ratio = f"{one['us']['ours'] / peer[1]:8.2f}" if peer else f"{'':>8}"
        share = rate(one) / ceiling(run, one)
        cells = "".join(_cell(one["us"], who) for who in COLUMNS)
        lines.append(f"{one['name']:<72}{cells}{ratio} {share:11.2f}")
    for one in run.get("calls", []):
        figures = ", ".join(f"{who} {us:.2f}" for who, us in one["us"].items())
        lines.append(f"{one['name']}: {figures}")
    return "\n".join(lines) + "\n"


def grid(run: Results) -> str:
    """The cells that are behind the best peer, the worst first, and how many there are of each operation."""
    cells = [one for one in run["results"] if one["section"] == "grid" and "us" in one]
    slow = compare.behind(run, "grid")
    lines = [f"grid: {len(slow)} of {len(cells)} cells are more than 5 % behind the best peer"]
    for operation in dict.fromkeys(one["name"].split(",")[0] for one in cells):
        of_it = [one for one in cells if one["name"].startswith(f"{operation},")]
        count = sum(one["name"].startswith(f"{operation},") for _, one in slow)
        lines.append(f"  {operation:<36} {count:4} of {len(of_it)}")
    lines += ["", f"{'':<52}{'ours':>9}{'peer':>9}  ratio"]
    for ratio, one in slow:
        name, us = compare.best_peer(one)
        lines.append(f"{one['name']:<52}{one['us']['ours']:9.2f}{us:9.2f}  {ratio:5.2f}  {name}")
    return "\n".join(lines) + "\n"


def summary(run: Results) -> str:
    """What a person wants to know at the end of a run."""
    lines = []
    for section in dict.fromkeys(one["section"] for one in run["results"]):
        timed = [one for one in run["results"] if one["section"] == section and "us" in one]
        slow = compare.behind(run, section)
        lines.append(f"{section}: {len(timed)} timed, {len(slow)} more than 5 % behind the best peer")
        for ratio, one in slow[:15]:
            name, us = compare.best_peer(one)
            lines.append(f"    {ratio:5.2f}  {one['name']}: {one['us']['ours']:.2f} us, {name} {us:.2f}")
    for one in run.get("calls", []):
        lines.append(one["name"] + ": " + ", ".join(f"{who} {us:.2f}" for who, us in one["us"].items()))
    if run["not_timed"]:
        lines.append(f"not timed, the budget was spent: {len(run['not_timed'])}")
    return "\n".join(lines) + "\n"


def verdict(lost: list[dict[str, Any]], wrong: list[str], compared: int) -> str:
    lines = [f"{compared} jobs compared with the older build, {len(lost)} lost more than they may"]
    for loss in lost:
        percent = 100 * (loss["after"] / loss["before"] - 1)
        lines.append(
            f"  {percent:+6.1f} % (may {100 * loss['may_lose']:.0f})  {loss['name']}:"
            f" {loss['before']:.2f} us, now {loss['after']:.2f}"
        )
    return "\n".join([*lines, *(f"  {line}" for line in wrong)]) + "\n"
