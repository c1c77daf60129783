"""wr ops: which operators take and give which element types, as the library itself answers."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ..arguments import checked
from ..operators import operator_named

if TYPE_CHECKING:
    from ..._library import Library
    from ..offers import Row

HEADINGS = ("operator", "of floats", "of integers", "of fields", "options")
WEIGHTS_HEADINGS = ("elements", "weights", "sum")
LEGEND = """A cell is the type that is given where none is asked for (own: the input's), and in brackets what else may
be asked for; where there are brackets alone, a type must be. -: not offered. Weights are of the elements' type, or as
the second table says. floats: f32 f64 f16 bf16 f8_e4m3 f8_e5m2; integers: i8 i16 i32 i64 u8 u16 u32 u64;
fields: koalabear babybear mersenne31 goldilocks koalabear_x4 babybear_x4."""

EPILOG = """Each cell is asked of the loaded library, not written down: it is what this library does.

examples:
  wr ops
  wr ops argmax                one operator, type by type
  wr ops --markdown            the table of docs/operations.md"""


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "ops",
        help="which operators take and give which element types",
        description="Lists the operators, the element types that they take, and those that they give.",
        epilog=EPILOG,
    )
    parser.add_argument(
        "operator", nargs="?", type=checked(operator_named), metavar="OPERATOR", help="one operator alone, in full"
    )
    parser.add_argument("--markdown", action="store_true", help="as it stands in docs/operations.md")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from ..._library import load_library
    from ..errors import UsageError
    from ..offers import mixed_weights, offers

    if options.markdown and options.operator:
        raise UsageError("--markdown is for the table of all operators; leave one of the two out")
    library = load_library()
    if options.operator:
        _print_one(library, options.operator)
    elif options.markdown:
        print(_markdown(HEADINGS, [_cells(row) for row in offers(library)]))
        print()
        print(_markdown(WEIGHTS_HEADINGS, mixed_weights(library)))
    else:
        _print_all(library)


def _cells(row: Row) -> tuple[str, ...]:
    return (row.operator, *row.outputs, row.options)


def _markdown(headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [headings, ("---",) * len(headings), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _print_all(library: Library) -> None:
    from ..offers import mixed_weights, offers
    from ..screen import console, table

    screen = console(at_least=80)
    for headings, rows in (
        (HEADINGS, [_cells(row) for row in offers(library)]),
        (WEIGHTS_HEADINGS, mixed_weights(library)),
    ):
        listing = table()
        for heading in headings:
            listing.add_column(heading, no_wrap=heading == "operator")
        for row in rows:
            listing.add_row(*row)
        screen.print(listing)
    screen.print(LEGEND)


def _print_one(library: Library, operator: str) -> None:
    from ..._elements import ELEMENT_TYPES
    from ..._operators import default_output
    from ..offers import outputs_of
    from ..screen import console, table

    listing = table()
    for heading in (f"{operator} of", "gives", "or by option"):
        listing.add_column(heading)
    for element in ELEMENT_TYPES:
        offered, default = outputs_of(library, operator, element), default_output(operator, element)
        others = " ".join(each.name for each in offered if each is not default)
        listing.add_row(element.name, default.name if default in offered else "-", others or "-")
    console().print(listing)
