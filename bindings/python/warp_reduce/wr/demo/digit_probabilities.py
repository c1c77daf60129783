"""The demo's softmax: a classifier's scores of handwritten digits become probabilities, and one digit is drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import numpy as np
from rich.columns import Columns
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ..._elements import BY_NAME, ElementType
from ..._library import Library
from ..devices import Device
from ..elements import values_of
from ..exact import exact_softmax, exact_sum, units_apart
from ..npy_files import open_npy
from ..screen import duration, table
from ..softmax import Softmax, run_softmax
from .side_by_side import Outcome, on_all_devices

INK = " .:-=+*#%@"
BAR = 40


def show_softmax(screen: Console, library: Library, devices: list[Device], folder: Path) -> bool:
    """Prints the table and the picture; whether all devices gave the same bits."""
    logits = open_npy(str(folder / "digit_logits.npy"), None)
    labels = open_npy(str(folder / "digit_labels.npy"), None).words
    pictures = open_npy(str(folder / "digits.npy"), None).words.reshape(-1, 8, 8)
    rows, classes = logits.shape
    words = logits.words.reshape(rows, classes, 1)
    f32, bf16 = logits.element, BY_NAME["bf16"]
    jobs = (Softmax(f32, f32), Softmax(f32, f32, log=True), Softmax(f32, bf16))
    outcomes = [on_all_devices(devices, lambda device: _run(library, device, job, words)) for job in jobs]  # noqa: B023
    plain, logarithm, narrow = (values_of(each.results[0], job.output)[..., 0] for each, job in zip(outcomes, jobs))
    exact, exact_logarithm = zip(*(exact_softmax(row) for row in words[..., 0].tolist()))

    screen.print(
        f"Softmax of a classifier's scores for {rows} handwritten digits, {classes} classes each", style="bold"
    )
    listing = table()
    for heading in ("what", "type"):
        listing.add_column(heading)
    for heading in ("worst row sum", "off by", *(device.name for device in devices)):
        listing.add_column(heading, justify="right")
    if len(devices) > 1:
        listing.add_column("same bits")
    listing.add_row("softmax", "f32", _worst_sum(plain), _worst_units(plain, exact, f32), *_cells(outcomes[0]))
    log_sums = _worst_sum(np.exp(logarithm.astype(np.float64)))
    listing.add_row(
        "log-softmax", "f32", log_sums, _worst_units(logarithm, exact_logarithm, f32, 1), *_cells(outcomes[1])
    )
    listing.add_row(
        "softmax", "f32 > bf16", _worst_sum(narrow), _worst_units(narrow, exact, bf16), *_cells(outcomes[2])
    )
    screen.print(listing)
    screen.print("worst row sum: how far a row's probabilities, added exactly, are from 1 (log: their exp);")
    screen.print("off by: as above, for a log-softmax between -1 and 0 in units at 1.")
    right = int((plain.argmax(axis=1) == labels).sum())
    screen.print(
        f"the most probable class is the digit that was written in {right} of {rows} pictures\n", highlight=False
    )
    _draw(screen, plain, labels, pictures)
    return all(each.agree for each in outcomes)


def _run(library: Library, device: Device, job: Softmax, words: np.ndarray) -> tuple[float, tuple[np.ndarray, ...]]:
    result = np.empty(words.shape, job.output.storage)
    logsumexp = np.empty((words.shape[0], words.shape[2]), job.logsumexp_element().storage)
    return run_softmax(library, device, job, words, result, logsumexp), (result, logsumexp)


def _cells(outcome: Outcome) -> list[str]:
    times = [duration(seconds) for seconds in outcome.seconds]
    return times if len(times) == 1 else [*times, "yes" if outcome.agree else "NO"]


def _worst_sum(rows: np.ndarray) -> str:
    return f"{float(max(abs(exact_sum(row) - 1) for row in rows.tolist())):.1e}"


def _worst_units(rows: np.ndarray, exact: Sequence[list[Decimal]], element: ElementType, at_least: int = 0) -> str:
    pairs = ((value, truth) for row, truths in zip(rows.tolist(), exact) for value, truth in zip(row, truths))
    return f"{max(units_apart(value, truth, element, at_least) for value, truth in pairs):.2f} ulp"


def _draw(screen: Console, probabilities: np.ndarray, labels: np.ndarray, pictures: np.ndarray) -> None:
    """The picture that the classifier is least sure of, beside its probabilities."""
    doubt = [-sum(p * math.log(p) for p in row if p > 0) for row in probabilities.tolist()]
    which = int(np.argmax(doubt))
    ink = "\n".join(
        "".join(INK[min(int(level) * len(INK) // 17, len(INK) - 1)] * 2 for level in row) for row in pictures[which]
    )
    bars = Text()
    for digit, probability in enumerate(probabilities[which].tolist()):
        written = digit == labels[which]
        mark = "  <- written" if written else ""
        line = f"{digit}  {probability:8.4%}  {'#' * round(BAR * probability)}{mark}\n"
        bars.append(line, "bold green" if written else "")
    screen.print(f"the most doubtful of them, picture {which}", highlight=False)
    screen.print(Columns([Padding(Text(ink), (1, 4, 0, 2)), bars]))
