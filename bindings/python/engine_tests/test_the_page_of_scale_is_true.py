"""docs/scale.md: the sizes in its tables are those of states, and what it says of a tree is so."""

from __future__ import annotations

import os
import re
import statistics
from pathlib import Path

import numpy as np
import warp_reduce

PAGE = Path(os.environ["WARP_REDUCE_SOURCE"], "docs", "scale.md").read_text(encoding="utf-8")
HEADER = 128
RANKS = 10_000
VOCABULARY = 151936


def nodes(first: int, count: int) -> int:
    """Aligned runs of 2^k elements, the longest first that there is room for."""
    found, at, end = 0, first, first + count
    while at < end:
        length = at & -at if at else 1 << 62
        while length > end - at:
            length //= 2
        at += length
        found += 1
    return found


def row_of(begins: str) -> list[str]:
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| {begins}")]
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_the_nodes_of_parts_are_those_of_states() -> None:
    for first, count in ((0, 4096), (4096, 4096), (3000, 1000), (7, 12345)):
        state = warp_reduce.state("sum", np.ones(count, np.float32), first)
        assert state.nbytes == HEADER + 4 * nodes(first, count)


def test_what_a_state_costs() -> None:
    for length, words in ((10**6, "1 000 000 elements"), (10**9, "1 000 000 000 elements")):
        counts = [nodes(rank * length, length) for rank in range(1, RANKS)]
        middle, most = int(statistics.median(counts)), max(counts)
        assert row_of(words)[1:] == [f"{middle} in the middle, {most} at most", f"{4 * middle}, {4 * most}"]
    assert row_of("2^k elements")[1:] == ["1", "4"]


def sizes(lengths: list[int]) -> list[int]:
    row = np.zeros((1, VOCABULARY), np.float32)
    cuts = np.concatenate([[0], np.cumsum(lengths)]).tolist()
    pieces = [(begin, row[:, begin:end]) for begin, end in zip(cuts, cuts[1:])]
    return [warp_reduce.state("logsumexp", piece, begin, 1).nbytes - HEADER for begin, piece in pieces]


def test_what_a_vocabulary_costs() -> None:
    through_blocks = sizes([18992] * 8)
    assert row_of("18992 elements each")[1] == f"{min(through_blocks)} to {max(through_blocks)}"
    *others, last = sizes([19456] * 7 + [15744])
    assert row_of("19456 = 19 x 1024")[1] == f"{min(others)} to {max(others)}, the last one {last}"


def test_what_a_gather_moves() -> None:
    (size,) = re.findall(r"parts of 10\^9 elements, (\d+) bytes a\s+state", PAGE)
    assert int(size) == HEADER + 4 * max(nodes(rank * 10**9, 10**9) for rank in range(1, RANKS))
    for ranks, words in ((8, "8 |"), (1000, "1 000 |"), (100_000, "100 000 |")):
        received = row_of(words)[1]
        unit = {"KB": 1e3, "MB": 1e6}[received.split()[1]]
        assert abs(float(received.split()[0]) * unit / (ranks * int(size)) - 1) < 0.05, words
