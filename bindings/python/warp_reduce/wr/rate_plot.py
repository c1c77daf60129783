"""A plot of bytes a second over the length of rows, a panel an element type; matplotlib is loaded when it is drawn."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .errors import WrError

if TYPE_CHECKING:
    from collections.abc import Sequence

# The first one's are drawn heaviest; the colours can be told apart by everyone.
COLOURS = ("#0b5cad", "#d1701b", "#3d8f5f", "#8a4f9e")
FORMATS = (".svg", ".png")
SIZE_OF_A_PANEL = (5.2, 3.9)  # inches

# What begins a line of bench/softmax_bench (nothing) and of bench/peers.py; the first is ours.
WHO = {None: "warp-reduce", "torch": "PyTorch", "compiled": "torch.compile"}
_LINE = re.compile(r"(?:(torch|compiled) )?softmax (f32|bf16) (\d+) x (\d+) +[\d.]+ us +([\d.]+) TB/s")
LOG2_OF_SMALLEST_JOB = 28  # elements; few rows are another matter
_LONGEST_ROW = 1 << 20


@dataclass(frozen=True)
class Rate:
    who: str
    element: str
    length: int
    bytes_per_second: float

    @property
    def is_power_of_two(self) -> bool:
        return self.length & (self.length - 1) == 0


def rates_in(text: str) -> list[Rate]:
    """Of the rows that softmax_bench or peers.py printed, ours first."""
    rates = []
    for who, element, rows, length, rate in (found.groups() for found in map(_LINE.match, text.splitlines()) if found):
        if int(rows) * int(length) >= 1 << LOG2_OF_SMALLEST_JOB and int(length) <= _LONGEST_ROW:
            rates.append(Rate(WHO[who], element, int(length), float(rate) * 1e12))
    return sorted(rates, key=lambda each: list(WHO.values()).index(each.who))


def check_place(path: str) -> None:
    """Refuses a file that cannot be written, before there is anything to draw; leaves none where there was none."""
    existed = os.path.exists(path)
    try:
        with open(path, "ab"):
            pass
        if not existed:
            os.unlink(os.path.realpath(path))
    except OSError as error:
        raise WrError(f"{path}: {error.strerror or error}") from None


def new_figure() -> Any:
    """An empty one of matplotlib's; where that is not installed, one sentence that says so."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise WrError("a plot needs matplotlib, which is not installed for this Python") from None
    # text stays text, and the same figures give the same file
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "warp_reduce", "font.family": "sans-serif"})
    return Figure(layout="constrained")


def draw_rates(figure: Any, rates: Sequence[Rate], ceiling: float | None, title: str, path: str) -> None:
    """Rows of a power of two are joined by lines, others stand alone; `ceiling` is that of a copy."""
    unit, name = (1e12, "TB/s") if max(each.bytes_per_second for each in rates) >= 1e12 else (1e9, "GB/s")
    elements = list(dict.fromkeys(each.element for each in rates))
    everyone = list(dict.fromkeys(each.who for each in rates))
    width, height = SIZE_OF_A_PANEL
    figure.set_size_inches(width * len(elements), height)
    figure.suptitle(title, fontsize=11)
    panels = figure.subplots(1, len(elements), sharey=True, squeeze=False)[0]
    for panel, element in zip(panels, elements):
        _draw_panel(panel, [each for each in rates if each.element == element], everyone, unit)
        if ceiling is not None:
            panel.axhline(ceiling / unit, color="0.35", linestyle="--", linewidth=0.9, label="copy")
        panel.set_title(element, fontsize=10)
        panel.set_xlabel("elements a row (hollow: no power of two)")
    panels[0].set_ylabel(f"{name}, read and written")
    panels[0].set_ylim(bottom=0)
    labelled = {label: handle for panel in panels for handle, label in zip(*panel.get_legend_handles_labels())}
    shown = [who for who in (*everyone, "copy") if who in labelled]
    handles = [labelled[who] for who in shown]
    figure.legend(handles, shown, loc="outside lower center", ncols=len(shown), fontsize=9, frameon=False)
    try:
        figure.savefig(path, metadata={"Date": None} if path.lower().endswith(".svg") else None, dpi=150)
    except (OSError, ValueError) as error:
        raise WrError(f"{path}: {getattr(error, 'strerror', None) or error}") from None


def _draw_panel(panel: Any, rates: Sequence[Rate], everyone: Sequence[str], unit: float) -> None:
    for place, who in enumerate(everyone):
        colour, weight = COLOURS[place % len(COLOURS)], 1.8 if place == 0 else 1.2
        own = sorted((each for each in rates if each.who == who), key=lambda each: each.length)
        if not own:
            continue
        joined = [each for each in own if each.is_power_of_two]
        alone = [each for each in own if not each.is_power_of_two]
        style = {"color": colour, "markersize": 3.5 if place == 0 else 3}
        panel.plot(*_axes(joined, unit), marker="o", linewidth=weight, label=who, zorder=9 - place, **style)
        panel.plot(*_axes(alone, unit), marker="o", linestyle="none", fillstyle="none", zorder=9 - place, **style)
    panel.set_xscale("log", base=2)
    panel.set_xticks([1 << exponent for exponent in range(5, 21, 3)])
    panel.set_xticks([], minor=True)
    panel.xaxis.set_major_formatter(lambda length, _: _short(int(length)))
    panel.grid(color="0.9", linewidth=0.6)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)


def _axes(rates: Sequence[Rate], unit: float) -> tuple[list[int], list[float]]:
    return [each.length for each in rates], [each.bytes_per_second / unit for each in rates]


def _short(length: int) -> str:
    return f"{length >> 20} Mi" if length >= 1 << 20 else f"{length >> 10} Ki" if length >= 1 << 10 else str(length)
