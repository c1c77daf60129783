"""A run's figures as the tables of docs/performance.md and README.md."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from typing import Any

from . import compare, table
from .shapes import SHAPES

Results = dict[str, Any]
PEERS = {"torch": "PyTorch", "compiled": "torch.compile", "triton": "Triton", "cub": "CUB"}
FLOATS = ("f32", "bf16")
MOST_BEHIND = 10
CALLS_SHOWN = ("2^10", "2^18", "2^20")

# title, and which names of the common section it holds
TABLES: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("Softmax", lambda name: name.endswith(": softmax") and "ragged" not in name),
    ("Log-softmax", lambda name: name.endswith(": log-softmax")),
    ("Gradients", lambda name: name.endswith("backward")),
    ("Logsumexp", lambda name: name.endswith(": logsumexp")),
    ("Argmax and max", lambda name: name.endswith((": argmax", ": max", ": maxima"))),
    (
        "Sums, means, norms",
        lambda name: name.endswith(("sum", "sums", "sum of rows", "mean", "means", "norm", "norms")),
    ),
    ("Ragged rows", lambda name: name.startswith("ragged")),
)
ALONE = ("Softmax", "Log-softmax", "Logsumexp")  # every name ends with the title


def shown_names() -> list[str]:
    common = json.loads(SHAPES.read_text(encoding="utf-8"))["common"]
    return [entry["name"] for entry in common if entry.get("shown", entry.get("compiled"))]


def _us(us: float) -> str:
    return f"{us:.2f}" if us < 10 else f"{us:.1f}" if us < 100 else f"{us:.0f}"


def _ours(run: Results, one: Results | None) -> str:
    if one is None or "us" not in one:
        return ""
    return f"{_us(one['us']['ours'])} ({table.rate(one) / table.ceiling(run, one):.2f})"


def _theirs(one: Results | None, peer: str) -> str:
    return _us(one["us"][peer]) if one and peer in one.get("us", {}) else ""


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _table(run: Results, title: str, names: list[str], by_name: dict[str, Results]) -> list[str]:
    found = {kind: [by_name.get(f"{name}, {kind}") for name in names] for kind in FLOATS}
    columns = [
        (kind, peer)
        for kind in FLOATS
        for peer in PEERS
        if any(one and peer in one.get("us", {}) for one in found[kind])
    ]
    head, lines = ["us (of the ceiling)"], []
    for kind in FLOATS:
        head += [kind, *(PEERS[peer] for of, peer in columns if of == kind)]
    for at, name in enumerate(names):
        if not any(found[kind][at] for kind in FLOATS):
            continue
        cells = [name.rsplit(":", 1)[0] if title in ALONE else name]
        for kind in FLOATS:
            one = found[kind][at]
            cells += [_ours(run, one), *(_theirs(one, peer) for of, peer in columns if of == kind)]
        lines.append(_row(cells))
    return [f"### {title}", "", _row(head), _row(["---"] * len(head)), *lines, ""]


def _prover(run: Results) -> list[str]:
    """Fields have no peer."""
    lines = ["### Prime fields", "", _row(["job", "us (of the ceiling)"]), _row(["---", "---"])]
    for one in run["results"]:
        if one["section"] == "common" and one["name"].startswith("prover"):
            lines.append(_row([one["name"].removeprefix("prover, "), _ours(run, one)]))
    return [*lines, ""]


def _calls(run: Results) -> list[str]:
    who = list(run["calls"][0]["us"]) if run.get("calls") else []
    names = {"ours, workspace": "with a workspace", "ours, none": "without", "torch": "PyTorch", "cub": "CUB"}
    who = [name for name in who if name in names]
    lines = ["### Small sums, called from Python", "", _row(["us", *(names[name] for name in who)])]
    lines.append(_row(["---"] * (len(who) + 1)))
    calls = [one for one in run.get("calls", []) if any(f"{size} " in one["name"] for size in CALLS_SHOWN)]
    lines += [_row([one["name"], *(_us(one["us"][name]) for name in who)]) for one in calls]
    return [*lines, ""] if who else []


def tables(run: Results) -> str:
    by_name = {one["name"]: one for one in run["results"] if one["section"] == "common"}
    shown = shown_names()
    lines: list[str] = []
    for title, holds in TABLES:
        names = [name for name in shown if holds(name) and not name.startswith("prover")]
        if title != "Ragged rows":
            names = [name for name in names if not name.startswith("ragged")]
        lines += _table(run, title, names, by_name)
    return "\n".join([*lines, *_prover(run), *_calls(run)]).rstrip()


def machine(run: Results) -> str:
    of, ceilings = run["machine"], run["ceilings"]
    measured = [
        f"{what} {ceilings[name]:.2f} TB/s"
        for name, what in (("read", "reading"), ("copy", "a copy"))
        if name in ceilings
    ]
    return (
        f"{of['gpu']}, driver {of['driver']}, CUDA {of['CUDA']}, PyTorch {of['PyTorch']}, Triton {of['Triton']},\n"
        f"warp-reduce {of['warp-reduce']} ({of['library']}). Ceilings measured in the same run: {', '.join(measured)}."
    )


def behind(run: Results) -> str:
    """Common shapes, the worst first, and how many cells of the grid."""
    slow = compare.behind(run, "common")
    timed = sum(one["section"] == "common" and "us" in one for one in run["results"])
    lines = [
        f"Of {timed} common jobs {len(slow)} are more than 5 % behind the best of PyTorch, torch.compile and Triton",
        "",
    ]
    if len(slow) > MOST_BEHIND:
        lines[0] += f"; the {MOST_BEHIND} that are furthest"
    lines[0] += ":"
    lines += [_row(["job", "us", "peer", "ratio"]), _row(["---"] * 4)]
    for ratio, one in slow[:MOST_BEHIND]:
        name, us = compare.best_peer(one)
        lines.append(_row([one["name"], _us(one["us"]["ours"]), f"{_us(us)} {PEERS[name]}", f"{ratio:.2f}"]))
    cells = [one for one in run["results"] if one["section"] == "grid" and "us" in one]
    slow_cells = [one["name"].split(",")[0] for _, one in compare.behind(run, "grid")]
    counts = sorted(f"{kind.replace('_', '-')} {slow_cells.count(kind)}" for kind in dict.fromkeys(slow_cells))
    listed = f": {', '.join(counts)}" if counts else ""
    lines += ["", textwrap.fill(f"Of the grid's {len(cells)} cells {len(slow_cells)} are{listed}.", 120)]
    return "\n".join(lines).rstrip()


def invariance(counts: Results) -> str:
    """Rows whose bits change with the batch around them, and results that differ between GPU and CPU."""
    rows = counts["rows"]
    lengths = list(dict.fromkeys(one["length"] for one in counts["changed"]))
    head = ["f32, of random numbers", "PyTorch", "warp-reduce"]
    lines = [_row(head), _row(["---"] * 3)]
    for function in ("sum", "mean"):
        of_it = {one["length"]: one for one in counts["changed"] if one["function"] == function}
        listed = ", ".join(str(length) for length in lengths)
        theirs = ", ".join(str(of_it[length]["torch"]) for length in lengths)
        ours = ", ".join(str(of_it[length]["ours"]) for length in lengths)
        what = f"{function}: of {rows} rows of {listed}, those whose bits change with the batch around them"
        lines.append(_row([what, theirs, ours]))
    for one in counts["differ"]:
        if one["function"] in ("softmax", "log-softmax"):
            shape = " x ".join(str(size) for size in one["shape"])
            what = f"{one['function']} of {shape}: elements that differ between GPU and CPU, of {one['results']:,}"
            lines.append(_row([what, f"{one['torch']:,}", f"{one['ours']:,}"]))
    return "\n".join([*lines, "", f"<!-- {counts['machine']}; bench/batch_invariance.py gives these counts again -->"])
