"""Draws softmax's TB/s over the length of rows from what softmax_bench and peers.py printed."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

from wr.errors import WrError  # noqa: E402
from wr.rate_plot import draw_rates, new_figure, rates_in  # noqa: E402

COPY = re.compile(r"ceilings: .*copy ([\d.]+) TB/s")
DEVICE = re.compile(r"(NVIDIA [^,]+), ")

EPILOG = """examples:
  bin/softmax_bench rows > ours.txt
  bench/peers.py rows compiled > peers.txt
  bench/plot.py ours.txt peers.txt -o docs/softmax_rate.svg"""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logs", nargs="+", type=Path, metavar="LOG", help="what softmax_bench and peers.py printed")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the .svg or .png to write")
    options = parser.parse_args()
    try:
        text = "\n".join(path.read_text(encoding="utf-8") for path in options.logs)
        rates = rates_in(text)
        if not rates:
            raise WrError("there is no line of softmax_bench's or peers.py's rows in these files")
        copy, device = COPY.search(text), DEVICE.search(text)
        title = "softmax of rows, 2 GiB in and 2 GiB out" + (f", {device[1]}" if device else "")
        draw_rates(new_figure(), rates, float(copy[1]) * 1e12 if copy else None, title, options.output)
    except (OSError, WrError) as error:
        print(f"plot: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
