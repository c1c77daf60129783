"""The blocks of docs/python.md that need Dask are run, with a hundredth of their rows."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest
import warp_reduce

PAGE = Path(os.environ["WARP_REDUCE_SOURCE"]) / "docs/python.md"
ROWS = "rows, chunk = 200_000, 2_000"


def test_blocks(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"```python dask\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert ROWS in block
    found: dict[str, object] = {}
    exec(compile(block.replace(ROWS, "rows, chunk = 2_000, 200"), PAGE.name, "exec"), found)  # noqa: S102
    whole = found["x"].compute()  # type: ignore[attr-defined]
    total, norm = capsys.readouterr().out.splitlines()[-1].split()[-2:]
    assert whole.dtype == np.float32 and float(total) == pytest.approx(float(warp_reduce.sum(whole)), abs=1e-3)
    assert float(norm) == pytest.approx(float(warp_reduce.norm(whole, axis=1).max()))
