"""The element types and operators that are timed, under the names of bench/shapes.json."""

from __future__ import annotations

from dataclasses import dataclass

from .header import number


@dataclass(frozen=True)
class ElementType:
    name: str
    size: int  # bytes
    words: int = 1  # of an element of an extension field

    @property
    def code(self) -> int:
        return number(f"WR_{self.name.upper()}")


ELEMENT_TYPES = {
    each.name: each
    for each in (
        ElementType("f64", 8),
        ElementType("f32", 4),
        ElementType("f16", 2),
        ElementType("bf16", 2),
        ElementType("i8", 1),
        ElementType("i64", 8),
        ElementType("koalabear", 4),
        ElementType("koalabear_x4", 16, words=4),
        ElementType("goldilocks", 8),
    )
}


def operator(name: str) -> int:
    """wr_op"""
    return number(f"WR_{name.upper()}")
