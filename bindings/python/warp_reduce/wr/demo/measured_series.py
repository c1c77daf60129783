"""The demo's reductions: four data sets, eight element types, whole arrays, rows, columns and ragged segments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import groupby
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from ..._elements import BY_NAME, ElementType
from ..._library import Library
from ..devices import Device
from ..elements import text_of, values_of
from ..exact import DECIMAL_DIGITS, exact_sum, units_apart
from ..npy_files import open_npy
from ..reduction import Reducer, Reduction
from ..screen import duration, table
from ..segments import SegmentReducer
from .side_by_side import on_all_devices

KOALABEAR_PRIME = 2**31 - 2**24 + 1
MONTGOMERY_R = 2**32


@dataclass(frozen=True)
class Job:
    what: str
    operator: str
    element: ElementType
    words: np.ndarray  # [outer][axis][inner]
    output: ElementType
    names: list[str] = field(default_factory=list)  # of the results, where there are several; of an index, its place
    offsets: np.ndarray | None = None  # of ragged segments of [1][axis][1]

    @property
    def over(self) -> str:
        if self.offsets is not None:
            return "segments"
        outer, _, inner = self.words.shape
        return "all" if outer == inner == 1 else "rows" if inner == 1 else "columns"


def show_reductions(screen: Console, library: Library, devices: list[Device], folder: Path) -> bool:
    """Prints a table for each data set; whether all devices gave the same bits."""
    all_agree = True
    for title, jobs in groupby(_jobs(folder), key=lambda job: job.what):
        listing = _table(devices, screen.width)
        for job in jobs:
            all_agree &= _add_row(listing, library, devices, job)
        screen.print(title, style="bold")
        screen.print(listing)
    screen.print(
        "off by: the distance from the exact value, in units in the last place (ulp) of the result's type; "
        "of several results the largest. Rounding alone costs up to 0.5.\n"
    )
    return all_agree


def _table(devices: list[Device], width_of_screen: int) -> Table:
    """Columns of one width for all data sets; on a narrow screen the results break into lines."""
    listing = table()
    width_of_result = max(20, min(40, width_of_screen - (59 if len(devices) == 1 else 81)))
    for heading, width in (("type", 10), ("operator", 16), ("result", width_of_result)):
        listing.add_column(heading, min_width=width)
    for heading in ("off by", *(device.name for device in devices)):
        listing.add_column(heading, justify="right", min_width=8, no_wrap=True)
    if len(devices) > 1:
        listing.add_column("same bits")
    return listing


def _add_row(listing: Table, library: Library, devices: list[Device], job: Job) -> bool:
    reduction = Reduction(job.operator, job.element, job.output)
    outcome = on_all_devices(devices, lambda device: _run(library, device, reduction, job))
    types = job.element.name if job.output is job.element else f"{job.element.name} > {job.output.name}"
    cells = [types, f"{job.operator} of {job.over}", _text(job, outcome.results[0]), _distance(job, outcome.results[0])]
    cells += [duration(seconds) for seconds in outcome.seconds]
    cells += [("yes" if outcome.agree else "NO")] if len(devices) > 1 else []
    listing.add_row(*cells)
    return outcome.agree


def _run(library: Library, device: Device, reduction: Reduction, job: Job) -> tuple[float, tuple[np.ndarray, ...]]:
    if job.offsets is None:
        reducer = Reducer(library, device)
        result = reducer.run(reduction, job.words)
    else:
        reducer = SegmentReducer(library, device)
        result = reducer.run(reduction, job.words.reshape(-1), job.offsets)
    return reducer.seconds, (result,)


def _jobs(folder: Path) -> Iterator[Job]:
    yield from _series_jobs(folder)
    yield from _sea_jobs(folder)
    yield from _digit_jobs(folder)


def _series_jobs(folder: Path) -> Iterator[Job]:
    sunspots = open_npy(str(folder / "sunspots.npy"), None)
    years = f"Sunspots a year, {_year(0, 1700)}-{_year(sunspots.words.size - 1, 1700)}"
    for operator in ("sum", "mean", "max"):
        yield Job(years, operator, sunspots.element, _whole(sunspots.words), sunspots.element)
    i64, count = BY_NAME["i64"], sunspots.words.size
    yield Job(years, "argmax", sunspots.element, _whole(sunspots.words), i64, [_year(at, 1700) for at in range(count)])
    centuries = np.array([*range(0, count, 100), count])
    names = [f"{_year(start, 1700)}s" for start in centuries[:-1].tolist()]
    yield Job(years, "mean", sunspots.element, _whole(sunspots.words), sunspots.element, names, centuries)
    air = open_npy(str(folder / "mauna_loa_co2.npy"), None)
    for operator in ("mean", "min", "max"):
        yield Job(
            "Carbon dioxide over Mauna Loa, ppm, a week each, 1958-2001",
            operator,
            air.element,
            _whole(air.words),
            air.element,
        )


def _sea_jobs(folder: Path) -> Iterator[Job]:
    sea = open_npy(str(folder / "elnino.npy"), None)
    f32, f16, bf16 = sea.element, BY_NAME["f16"], BY_NAME["bf16"]
    rows, columns = sea.shape
    years = [_year(row, 1950) for row in range(rows)]
    months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    what = "The sea off Peru, degrees Celsius, 1950-2010, a row a year, a column a month"
    yield Job(what, "mean", f32, _whole(sea.words), f32)
    yield Job(what, "mean", f32, sea.words.reshape(rows, columns, 1), f32, years)
    yield Job(what, "mean", f32, sea.words.reshape(1, rows, columns), f32, months)
    yield Job(what, "max", f32, sea.words.reshape(rows, columns, 1), f32, years)
    yield Job(what, "mean", f16, sea.words.astype(f16.storage).reshape(1, rows, columns), f16, months)
    yield Job(what, "mean", bf16, _as_bf16(sea.words).reshape(1, rows, columns), bf16, months)


def _digit_jobs(folder: Path) -> Iterator[Job]:
    digits = open_npy(str(folder / "digits.npy"), None)
    i32, f32, f64, bf16, koalabear = digits.element, *(BY_NAME[name] for name in ("f32", "f64", "bf16", "koalabear"))
    pictures, pixels = digits.shape
    what = f"Ink of {pictures} handwritten digits, a row a picture of 8 x 8 pixels, 0 to 16"
    names = [f"pixel {row},{column}" for row in range(8) for column in range(8)]
    yield Job(what, "sum", i32, _whole(digits.words), i32)
    yield Job(what, "mean", i32, _whole(digits.words), f64)
    yield Job(what, "sum", i32, digits.words.reshape(1, pictures, pixels), i32, names)
    yield Job(what, "norm_l2", i32, _whole(digits.words), f64)
    yield Job(what, "sum", f32, _whole(digits.words.astype(np.float32)), f32)
    yield Job(what, "sum", bf16, _whole(_as_bf16(digits.words)), bf16)
    yield Job(what, "sum", bf16, _whole(_as_bf16(digits.words)), f32)
    yield Job(what, "sum", koalabear, _whole(_as_koalabear(digits.words)), koalabear)


def _year(index: int, first: int) -> str:
    return str(first + index)


def _whole(words: np.ndarray) -> np.ndarray:
    return words.reshape(1, -1, 1)


def _as_bf16(values: np.ndarray) -> np.ndarray:
    """Rounded to nearest even; the values are finite."""
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def _as_koalabear(values: np.ndarray) -> np.ndarray:
    """Small whole numbers as words in Montgomery form."""
    return (values.astype(np.uint64) * np.uint64(MONTGOMERY_R) % np.uint64(KOALABEAR_PRIME)).astype(np.uint32)


def _from_koalabear(word: int) -> int:
    return word * pow(MONTGOMERY_R, -1, KOALABEAR_PRIME) % KOALABEAR_PRIME


def _text(job: Job, result: np.ndarray) -> str:
    values = values_of(result.reshape(-1), job.output)
    if job.element.kind == "field":
        return f"{values[0]}, the word for {_from_koalabear(int(values[0]))}"
    if job.operator == "argmax":
        return f"{values[0]} ({job.names[int(values[0])]})"
    if not job.names:
        return text_of(values[0])
    low, high = int(values.argmin()), int(values.argmax())
    ends = " .. ".join(f"{text_of(values[at])} ({job.names[at]})" for at in (low, high))
    return f"{values.size}: {ends}"


def _distance(job: Job, result: np.ndarray) -> str:
    values = values_of(result.reshape(-1), job.output).tolist()
    exact = [_exact(job, values_of(line, job.element).tolist()) for line in _lines(job)]
    worst = max(units_apart(value, truth, job.output) for value, truth in zip(values, exact))
    return "exact" if worst == 0 else f"{worst:.2f} ulp"


def _lines(job: Job) -> list[np.ndarray]:
    """The elements of each result."""
    if job.offsets is not None:
        return np.split(job.words.reshape(-1), job.offsets[1:-1])
    return list(np.moveaxis(job.words, 1, 2).reshape(-1, job.words.shape[1]))


def _exact(job: Job, line: list[float]) -> Fraction | Decimal:
    if job.operator in ("min", "max"):
        return Fraction(min(line) if job.operator == "min" else max(line))
    if job.operator == "argmax":
        return Fraction(line.index(max(line)))
    if job.operator == "norm_l2":
        with localcontext() as context:
            context.prec = DECIMAL_DIGITS
            return Decimal(sum(value * value for value in line)).sqrt()
    total = exact_sum(line)
    if job.element.kind == "field":
        return total % KOALABEAR_PRIME
    return total / len(line) if job.operator == "mean" else total
