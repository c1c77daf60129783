"""What is timed: bench/shapes.json and its grid as jobs, one for each shape and element type."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .elements import ELEMENT_TYPES, ElementType

SHAPES = Path(__file__).resolve().parent.parent / "shapes.json"
MAY_LOSE = {"common": 0.05, "small": 0.05, "grid": 0.05, "rare": 0.20}
BACKWARD = ("softmax_backward", "log_softmax_backward")
OF_ROWS = ("softmax", "log_softmax", *BACKWARD)
NARROW_TO_WIDE = {"bf16": "f32", "f32": "bf16"}


@dataclass(frozen=True)
class Job:
    """One call. The shape is [outer][axis][inner]; of ragged rows, `outer` rows whose lengths `ragged` bounds."""

    name: str
    section: str
    operation: str
    outer: int
    axis: int
    inner: int
    element: ElementType
    output: ElementType
    may_lose: float
    compiled: bool = False
    mask: float = 1.0  # the share of elements that take part
    lengths: bool = False
    causal: bool = False
    ragged: tuple[int, int] | None = None
    weights: ElementType | None = None
    statistics: bool = False  # logsumexp beside softmax's outputs
    logits: bool = False  # gradients from logits instead of outputs
    shift: int = 0  # elements that the input stands off its alignment

    @property
    def is_of_rows(self) -> bool:
        """Whether there is an output for each element."""
        return self.operation in OF_ROWS

    @property
    def elements(self) -> int:
        """Of the input; of ragged rows about so many."""
        if self.ragged:
            return self.outer * sum(self.ragged) // 2
        return self.outer * self.axis * self.inner

    @property
    def results(self) -> int:
        return self.elements if self.is_of_rows else self.outer * self.inner

    @property
    def read(self) -> float:
        """The share of the input that a call has to read."""
        if self.causal:
            return (min(self.outer, self.axis) + 1) / 2 / self.axis
        return 0.5 if self.lengths else 1.0

    @property
    def bytes(self) -> int:
        """That a call has to move: each input read once, each output written once."""
        inputs = 2 if self.operation in BACKWARD else 1
        moved = inputs * self.read * self.elements * self.element.size + self.results * self.output.size
        moved += self.elements if self.mask < 1 else 0
        moved += 8 * self.outer if self.lengths or self.ragged else 0
        moved += self.axis * self.weights.size if self.weights else 0
        moved += 4 * self.outer if self.statistics or self.logits else 0
        return int(moved)


def _output(operation: str, element: ElementType, asked: str | None, weights: ElementType | None) -> ElementType:
    if asked:
        return ELEMENT_TYPES[NARROW_TO_WIDE[element.name] if asked == "other" else asked]
    if operation == "argmax":
        return ELEMENT_TYPES["i64"]
    return weights if weights is not None and weights.words > element.words else element


def _jobs_of(entry: dict[str, Any], section: str) -> Iterator[Job]:
    outer, axis, inner = entry["shape"]
    operation = entry["op"]
    weights = ELEMENT_TYPES[entry["weights"]] if "weights" in entry else None
    for name in entry.get("types", ("f32", "bf16")):
        element = ELEMENT_TYPES[name]
        yield Job(
            name=f"{entry['name']}, {name}",
            section=section,
            operation=operation,
            outer=outer,
            axis=axis,
            inner=inner,
            element=element,
            output=_output(operation, element, entry.get("output"), weights),
            may_lose=entry.get("may_lose", MAY_LOSE[section]),
            compiled=entry.get("compiled", False),
            mask=entry.get("mask", 1.0),
            lengths=entry.get("lengths", False),
            causal=entry.get("causal", False),
            ragged=tuple(entry["ragged"]) if "ragged" in entry else None,
            weights=weights,
            statistics=entry.get("statistics", False),
            logits=entry.get("logits", False),
            shift=entry.get("shift", 0),
        )


def _grid(grid: dict[str, Any]) -> Iterator[Job]:
    for kind, operations in (("rows", grid["of_rows"]), ("columns", grid["of_columns"])):
        for operation in operations:
            for width in grid["widths"]:
                for rows in grid["rows"]:
                    shape = [rows, width, 1] if kind == "rows" else [1, rows, width]
                    name = f"{operation} of {kind}, {rows} x {width}"
                    entry = {"name": name, "op": operation, "shape": shape, "types": grid["types"]}
                    yield from _jobs_of(entry, "grid")


def jobs(sections: tuple[str, ...]) -> list[Job]:
    """Of these sections, in their order."""
    listed = json.loads(SHAPES.read_text(encoding="utf-8"))
    found: list[Job] = []
    for section in sections:
        if section == "grid":
            found += _grid(listed["grid"])
        else:
            found += [job for entry in listed[section] for job in _jobs_of(entry, section)]
    names = [job.name for job in found]
    assert len(set(names)) == len(names), "each job is named once"
    return found
