"""What is shown: tables on stdout, a progress bar on stderr when a job is long and someone is watching."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table

if TYPE_CHECKING:
    from .timing import Pace

PROGRESS_AFTER_SECONDS = 0.5
LEAST_SETUP_SHOWN = 0.01
WIDTH_WITHOUT_TERMINAL = 120


def console(at_least: int = 0) -> Console:
    """stdout; below the width `at_least` a table would lose columns, so the terminal is left to break the lines."""
    if not sys.stdout.isatty():
        return _plain_console(WIDTH_WITHOUT_TERMINAL)
    screen = _plain_console()
    return screen if screen.width >= at_least else _plain_console(at_least)


def _plain_console(width: int | None = None) -> Console:
    """Text as it is: a file's name may have what rich takes for markup ([bold]) or for an emoji (:cat:)."""
    return Console(width=width, markup=False, emoji=False, highlight=False)


def table() -> Table:
    return Table(box=box.SIMPLE_HEAD, pad_edge=False)


def facts(rows: list[tuple[str, str]]) -> Table:
    """A table of names and what they are."""
    result = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    result.add_column(style="bold", no_wrap=True)
    result.add_column(overflow="fold")
    for name, value in rows:
        result.add_row(name, value)
    return result


def duration(seconds: float) -> str:
    for limit, factor, unit in ((1e-3, 1e6, "us"), (1.0, 1e3, "ms")):
        if seconds < limit:
            return f"{seconds * factor:.1f} {unit}"
    return f"{seconds:.2f} s"


def pace_in_words(pace: Pace) -> str:
    setup = f" after {duration(pace.setup)} of set-up" if pace.setup > LEAST_SETUP_SHOWN else ""
    return f"{duration(pace.seconds)}: {pace.bytes_per_second / 1e9:.1f} GB/s{setup}"


def binary_size(size: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


@contextmanager
def progress(label: str, total: int, *, bytes_counted: bool = True) -> Iterator[Callable[[int], None]]:
    """A function that reports how much more is done; the bar appears once the job has lasted half a second.

    What is reported first, which may be what an earlier run has done, says nothing of the rate.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    amount = [DownloadColumn(binary_units=True), TransferSpeedColumn()] if bytes_counted else []
    description = TextColumn("{task.description}", markup=False)
    columns = (description, BarColumn(), TaskProgressColumn(), *amount, TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(label, total=total)
    began = time.monotonic()

    def advance(more: int) -> None:
        bar.update(task, advance=more)
        if not bar.live.is_started and time.monotonic() - began > PROGRESS_AFTER_SECONDS:
            bar.start()

    try:
        yield advance
    finally:
        if bar.live.is_started:
            bar.stop()
