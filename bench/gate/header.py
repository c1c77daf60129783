"""warp_reduce.h as Python: its args structs by way of ctypes, and the numbers of its enums, read from the header."""

from __future__ import annotations

import ctypes
import re
from functools import cache
from pathlib import Path

HEADER = Path(__file__).resolve().parents[2] / "capi" / "include" / "warp_reduce.h"
ENUMS_ARE_INTS = ctypes.c_int
TYPES = {
    "size_t": ctypes.c_size_t,
    "ptrdiff_t": ctypes.c_ssize_t,
    "double": ctypes.c_double,
    "int32_t": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "int64_t": ctypes.c_int64,
}


@cache
def _text() -> str:
    return re.sub(r"/\*.*?\*/", "", HEADER.read_text(encoding="utf-8"), flags=re.DOTALL)


def _fields(body: str) -> list[tuple[str, type]]:
    """Of declarations such as `const void *left, *right;`."""
    found = []
    for declaration in filter(None, (" ".join(part.split()) for part in body.split(";"))):
        first, *others = declaration.split(",")
        kind, first_name = re.fullmatch(r"(?:const )?(\w+) (\*?\w+)", first).groups()
        for name in (first_name, *(other.strip() for other in others)):
            of_value = TYPES.get(kind, ENUMS_ARE_INTS)
            found.append((name.lstrip("*"), ctypes.c_void_p if name.startswith("*") else of_value))
    return found


@cache
def struct(name: str) -> type[ctypes.Structure]:
    body = re.search(rf"typedef struct {name} {{(.*?)}} {name};", _text(), re.DOTALL)[1]
    return type(name, (ctypes.Structure,), {"_fields_": _fields(body)})


@cache
def number(name: str) -> int:
    """Of an enumerator."""
    return int(re.search(rf"\b{name} = (\w+)", _text())[1], 0)


def args(name: str, **fields: int) -> ctypes.Structure:
    """An args struct with its size, and zero for what is not named."""
    kind = struct(name)
    return kind(struct_size=ctypes.sizeof(kind), **fields)
