#!/usr/bin/env python3
"""Writes a run's figures into docs/performance.md and README.md, and draws the grid: docs/grid.png."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
sys.path.insert(0, str(BENCH))

from gate import compare, report_tables  # noqa: E402

EPILOG = """What stands between a line <!-- NAME: made by bench/report.py --> and the next <!-- end --> is replaced.
The picture needs matplotlib; --no-picture leaves it as it is.

examples:
  bench/report.py gate.json
  bench/report.py gate.json --invariance invariance.json"""


def replace(document: Path, name: str, text: str) -> None:
    before = document.read_text(encoding="utf-8")
    begin, end = f"<!-- {name}: made by bench/report.py -->\n", "<!-- end -->"
    if begin not in before:
        raise SystemExit(f"report: {document} has no place for '{name}': {begin.strip()}")
    head, rest = before.split(begin, 1)
    tail = rest.split(end, 1)[1]
    document.write_text(f"{head}{begin}\n{text}\n\n{end}{tail}", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, metavar="JSON", help="what bench/gate.py wrote")
    parser.add_argument("--invariance", type=Path, metavar="JSON", help="what bench/batch_invariance.py wrote")
    parser.add_argument("--no-picture", action="store_true", help="leave docs/grid.png as it is")
    asked = parser.parse_args()
    run = compare.read(asked.run)
    performance = ROOT / "docs" / "performance.md"
    for name, text in (
        ("machine", report_tables.machine(run)),
        ("tables", report_tables.tables(run)),
        ("behind", report_tables.behind(run)),
    ):
        replace(performance, name, text)
    if not asked.no_picture:
        from gate import heat_map

        heat_map.draw(run, ROOT / "docs" / "grid.png")
    if asked.invariance:
        replace(ROOT / "README.md", "invariance", report_tables.invariance(compare.read(asked.invariance)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
