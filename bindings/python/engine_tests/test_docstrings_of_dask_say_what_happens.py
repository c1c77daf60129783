"""Every function for Dask says what it takes and refuses, what NaN and nothing give, and has an example."""

from __future__ import annotations

import re

import pytest
import warp_reduce
import warp_reduce.dask as wd

NEEDED = {"a NaN": r"NaN", "nothing": r"[Nn]othing|[Ee]mpty", "errors": r"Error", "types": r"float|integer|elements"}


def told(module: object, name: str, seen: tuple[str, ...] = ()) -> str:
    """What a function's docstring says, and those of the functions that it refers to, here and in the package."""
    text = getattr(module, name).__doc__ or ""
    for place, other in re.findall(r"as (?:of |in )?`(warp_reduce\.)?(\w+)`", text, re.I):
        target = warp_reduce if place else module
        if f"{place}{other}" not in seen and hasattr(target, other):
            text += told(target, other, (*seen, f"{place}{other}"))
    return text


@pytest.mark.parametrize("name", wd.__all__)
def test_what_is_told(name: str) -> None:
    text = told(wd, name)
    assert not [what for what, words in NEEDED.items() if not re.search(words, text)]
    assert ">>> " in getattr(wd, name).__doc__
