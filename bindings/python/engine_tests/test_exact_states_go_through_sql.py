"""The limbs of exact sums' states are added by an engine that knows nothing of them: DuckDB's SUM(bigint)."""

from __future__ import annotations

import os
import re
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pytest
import warp_reduce

HEADER = 128


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_sums_by_group_are_the_exact_ones(dtype: type) -> None:
    random = np.random.default_rng(3)
    top = 8 if dtype is np.float16 else 60
    x = (random.standard_normal(2000) * 2.0 ** random.integers(-top, top, 2000)).astype(dtype)
    groups = random.integers(0, 5, x.size)
    states = []
    for begin in range(0, x.size, 100):  # partitions, in which each group has a part
        part, group = x[begin : begin + 100], groups[begin : begin + 100]
        states += [(int(g), warp_reduce.state("sum_exact", part[group == g])) for g in np.unique(group)]
    limbs = np.array([np.frombuffer(bytes(state), np.int64, offset=HEADER) for _, state in states])
    header = bytes(states[0][1])[:HEADER]

    database = duckdb.connect()
    columns = ", ".join(f"limb{i} BIGINT" for i in range(limbs.shape[1]))
    database.execute(f"CREATE TABLE states (g BIGINT, {columns})")
    places = ", ".join("?" * (1 + limbs.shape[1]))
    rows = [[g, *map(int, each)] for (g, _), each in zip(states, limbs)]
    random.shuffle(rows)
    database.executemany(f"INSERT INTO states VALUES ({places})", rows)
    sums = ", ".join(f"SUM(limb{i})::BIGINT" for i in range(limbs.shape[1]))
    found = database.execute(f"SELECT g, {sums} FROM states GROUP BY g ORDER BY g").fetchall()

    assert [row[0] for row in found] == sorted(set(groups.tolist()))
    for g, *merged in found:
        result = warp_reduce.State.from_bytes(header + np.array(merged, np.int64).tobytes()).finish()
        exact = sum(map(Fraction, x[groups == g].astype(np.float64).tolist()), Fraction(0))
        assert result == dtype(float(exact)) and result == warp_reduce.sum(x[groups == g], exact=True)


def test_the_example_of_the_documents() -> None:
    text = (Path(os.environ["WARP_REDUCE_SOURCE"]) / "docs/scale.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, re.S)
    exec(compile(example, "docs/scale.md", "exec"), {})  # noqa: S102
