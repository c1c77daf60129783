"""The grid as a picture: ours over the best peer, a panel for each operation and type."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402
from matplotlib.colors import TwoSlopeNorm  # noqa: E402
from PIL import Image  # noqa: E402

from . import compare  # noqa: E402

Results = dict[str, Any]
ACROSS = 4
FASTEST, SLOWEST = 0.3, 2.0  # where the colours end
DARK_BELOW, DARK_ABOVE = 0.45, 1.75
COLOURS = 64  # of the file, which weighs a quarter so


def _panels(run: Results) -> dict[tuple[str, str], dict[tuple[int, int], float]]:
    """By operation and type, the ratio of each cell by its rows and width."""
    panels: dict[tuple[str, str], dict[tuple[int, int], float]] = {}
    for one in run["results"]:
        peer = compare.best_peer(one)
        if one["section"] != "grid" or peer is None:
            continue
        kind, size = one["name"].rsplit(",", 1)[0].split(", ")
        rows, width = (int(number) for number in size.split(" x "))
        panels.setdefault((kind, one["type"]), {})[rows, width] = one["us"]["ours"] / peer[1]
    return panels


def _write(axis: pyplot.Axes, x: int, y: int, ratio: float) -> None:
    text = f"{ratio:.2f}".lstrip("0") if ratio < 10 else f"{ratio:.0f}"
    ink = "white" if ratio > DARK_ABOVE or ratio < DARK_BELOW else "black"
    axis.text(x, y, text, ha="center", va="center", fontsize=6.5, color=ink)


def draw(run: Results, path: Path) -> None:
    panels = _panels(run)
    down = -(-len(panels) // ACROSS)
    figure, axes = pyplot.subplots(down, ACROSS, figsize=(3.6 * ACROSS, 2.15 * down), layout="constrained")
    norm = TwoSlopeNorm(1.0, FASTEST, SLOWEST)
    image = None
    for axis, ((kind, element), cells) in zip(axes.flat, panels.items()):
        rows = sorted({at[0] for at in cells})
        widths = sorted({at[1] for at in cells})
        image = axis.imshow([[cells[row, width] for width in widths] for row in rows], cmap="RdYlGn_r", norm=norm)
        for y, row in enumerate(rows):
            for x, width in enumerate(widths):
                _write(axis, x, y, cells[row, width])
        axis.set_xticks(range(len(widths)), widths, fontsize=6.5)
        axis.set_yticks(range(len(rows)), rows, fontsize=6.5)
        axis.set_title(f"{kind.replace('_', '-')}, {element}", fontsize=9)
    for axis in axes.flat[len(panels) :]:
        axis.axis("off")
    figure.supxlabel("elements of a row (of columns: columns)", fontsize=9)
    figure.supylabel("rows", fontsize=9)
    bar = figure.colorbar(image, ax=axes, shrink=0.4, extend="both")
    bar.set_label("time of warp-reduce over the best of PyTorch and Triton; below 1: quicker", fontsize=8)
    gpu = run["machine"]["gpu"].split(",")[0]
    figure.suptitle(f"{gpu}, PyTorch {run['machine']['PyTorch']}, graph replays on one buffer", fontsize=10)
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=100)
    pyplot.close(figure)
    Image.open(drawn).convert("RGB").quantize(COLOURS).save(path, optimize=True)
