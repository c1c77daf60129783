"""Which combinations of operator and types the library offers: asked of the library itself, and put into words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from .._elements import ELEMENT_TYPES, F32, F64, I32, I64, ElementType
from .._library import ERROR_UNSUPPORTED, Library, Refused
from .._operators import OPERATORS, default_output
from .reduction import Reduction, reduce_args

KINDS = {"float": "floats", "integer": "integers", "field": "fields"}
NOT_OFFERED = "-"
NOT_NULL = 16  # the library looks only at whether a pointer is NULL


@dataclass(frozen=True)
class Row:
    """What one operator takes and gives, in words."""

    operator: str
    outputs: tuple[str, ...]  # for each of KINDS
    options: str


def is_offered(library: Library, job: Reduction, *, values: bool = False, add: bool = False) -> bool:
    args = reduce_args(job, None, None, (1, 1, 1))
    args.values = NOT_NULL if values else None
    args.add_to_output = int(add)
    try:
        library.workspace_size(args)
    except Refused as refusal:
        if refusal.status != ERROR_UNSUPPORTED:
            raise
        return False
    return True


def outputs_of(library: Library, operator: str, element: ElementType) -> list[ElementType]:
    """The types that the operator may give for elements of this type; none where it does not take them."""
    return [each for each in ELEMENT_TYPES if is_offered(library, Reduction(operator, element, each))]


def offers(library: Library) -> list[Row]:
    return [_row(library, operator) for operator in OPERATORS]


def mixed_weights(library: Library) -> list[tuple[str, str, str]]:
    """Elements, weights of another type, and what their sum is."""
    return [
        (element.name, weights.name, output.name)
        for element in ELEMENT_TYPES
        for weights in ELEMENT_TYPES
        for output in ELEMENT_TYPES
        if weights is not element and is_offered(library, Reduction("sum", element, output, weights=weights))
    ]


def _row(library: Library, operator: str) -> Row:
    outputs = {each: outputs_of(library, operator, each) for each in ELEMENT_TYPES}
    cells = [_cell(operator, {each: outputs[each] for each in outputs if each.kind == kind}) for kind in KINDS]
    return Row(operator, tuple(cells), _options(library, operator, [each for each in outputs if outputs[each]]))


def _cell(operator: str, outputs: dict[ElementType, list[ElementType]]) -> str:
    """What is given where none is asked for, and in brackets what may be asked for."""
    if not any(outputs.values()):
        return NOT_OFFERED
    for text, choice in _CHOICES.items():
        if all(set(offered) == set(choice(element)) for element, offered in outputs.items()):
            return _phrase(operator, outputs, text)
    # Types without a phrase in common: each with its list.
    return "; ".join(f"{each.name}: {' '.join(one.name for one in offered)}" for each, offered in outputs.items())


def _phrase(operator: str, outputs: dict[ElementType, list[ElementType]], text: str) -> str:
    names = {
        "own" if default_output(operator, each) is each else default_output(operator, each).name for each in outputs
    }
    default = "own" if names == {"own"} else next(iter(names - {"own"}))
    if not all(default_output(operator, each) in offered for each, offered in outputs.items()):
        default = ""
    return f"{default} ({text})".strip() if text else default


def _of_kind(*kinds: str) -> list[ElementType]:
    return [each for each in ELEMENT_TYPES if each.kind in kinds]


def _holders(narrow: ElementType) -> list[ElementType]:
    """The integer types that have every value of this one."""

    def holds(wide: ElementType) -> bool:
        if wide.is_signed == narrow.is_signed:
            return wide.size >= narrow.size
        return wide.is_signed and wide.size > narrow.size

    return [each for each in _of_kind("integer") if holds(each)]


# Phrases for sets of output types, each in terms of the input's type.
_CHOICES: dict[str, Callable[[ElementType], list[ElementType]]] = {
    "": lambda each: [each],
    "i32": lambda _: [I64, I32],
    "any float": lambda _: _of_kind("float"),
    "any integer": lambda _: _of_kind("integer"),
    "any integer, f32, f64": lambda _: [*_of_kind("integer"), F32, F64],
    "any that holds its values": _holders,
}


def _options(library: Library, operator: str, taken: Iterable[ElementType]) -> str:
    """Which options there are, for all types that are taken or for some kinds of them."""

    def plain(element: ElementType, **fields: ElementType) -> Reduction:
        offered = outputs_of(library, operator, element)
        default = default_output(operator, element)
        return Reduction(operator, element, default if default in offered else offered[0], **fields)

    tests: dict[str, Callable[[ElementType], bool]] = {
        "f64 accumulator": lambda each: is_offered(library, plain(each, accumulate=F64)),
        "weights": lambda each: is_offered(library, plain(each, weights=each)),
        "values": lambda each: is_offered(library, plain(each), values=True),
        "add to output": lambda each: is_offered(library, plain(each), add=True),
    }
    return ", ".join(filter(None, (_for_whom(name, list(taken), test) for name, test in tests.items())))


def _for_whom(name: str, taken: list[ElementType], test: Callable[[ElementType], bool]) -> str:
    there = [each for each in taken if test(each)]
    if len(there) in (0, len(taken)):
        return name if there else ""
    whole = [text for kind, text in KINDS.items() if _of(kind, there) and _of(kind, there) == _of(kind, taken)]
    single = [each.name for each in there if KINDS[each.kind] not in whole]
    return f"{name} ({' '.join([*whole, *single])})"


def _of(kind: str, elements: list[ElementType]) -> list[ElementType]:
    return [each for each in elements if each.kind == kind]
