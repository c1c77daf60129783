"""What was found, in short tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

COLUMNS = (
    *("job", "ranks", "one GPU", "shards", "NCCL", "all-reduce", "quicker than one", "of NCCL's time"),
    *("pace of one rank's", "GB/s", "bits"),
)


def _rows(results: Sequence[dict[str, Any]]) -> list[list[str]]:
    """A rank's pace: the fewest ranks' time of the same share (weak) over this one's."""
    found = []
    fewest: dict[str, float] = {}
    for each in results:
        us = each["us"]
        one, ours = us["one GPU, graph"], us["shards, graph"]
        peer = us.get("NCCL, graph")
        pace = fewest.setdefault(each["series"], ours) / ours if each["kind"] == "weak" else None
        found.append(
            [each["job"], str(each["ranks"]), f"{one:.1f}", f"{ours:.1f} ({us['shards']:.1f})"]
            + [f"{peer:.1f}" if peer else "", f"{us['all-reduce alone, graph']:.1f}", f"{one / ours:.2f}"]
            + [
                f"{ours / peer:.2f}" if peer else "",
                f"{pace:.2f}" if pace else "",
                f"{each['bytes'] / ours / 1e3:.0f}",
                each["bits"],
            ]
        )
    return found


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[at]) for row in [heads, *rows]) for at in range(len(heads))]
    lines = [[cell.ljust(width) for cell, width in zip(row, widths)] for row in [heads, *rows]]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def scaling(results: Sequence[dict[str, Any]]) -> str:
    parts = []
    for kind, title in (("strong", "One job for all ranks"), ("weak", "A job that grows with the ranks")):
        chosen = sorted(
            (each for each in results if each["kind"] == kind), key=lambda one: (one["series"], one["ranks"])
        )
        if chosen:
            parts.append(f"{title}: us in a graph (called one by one)\n\n{_table(COLUMNS, _rows(chosen))}")
    return "\n\n".join(parts)


def checks(bits: Sequence[dict[str, Any]], faults: Sequence[dict[str, Any]]) -> str:
    lines = [f"bits: {sum(each['ok'] for each in bits)} of {len(bits)} cases are those of one call"] if bits else []
    lines += [f"  other: {each}" for each in bits if not each["ok"]]
    lines += [f"{'as promised' if each['ok'] else 'NOT AS PROMISED'}: {each}" for each in faults]
    return "\n".join(lines)
