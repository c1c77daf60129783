"""Every example of the package's docstrings, its README and docs/python.md is run, and prints what it says."""

from __future__ import annotations

import doctest
import os
import re
from pathlib import Path

import pytest
import warp_reduce
from warp_reduce import _devices, _reductions, _softmax

SOURCE = Path(os.environ["WARP_REDUCE_SOURCE"])
DOCUMENTS = ("README.md", "bindings/python/README.md", "docs/python.md")


@pytest.mark.parametrize("module", [_reductions, _softmax, _devices], ids=lambda each: each.__name__)
def test_docstrings(module: object) -> None:
    failed, tried = doctest.testmod(module)
    assert tried and not failed


def test_every_public_function_has_an_example() -> None:
    for name in warp_reduce.__all__:
        thing = getattr(warp_reduce, name)
        if callable(thing) and not isinstance(thing, type) and name != "host":
            assert ">>> " in thing.__doc__, name


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents(name: str) -> None:
    """Blocks of Python with prompts are doctests; blocks without are run."""
    text = (SOURCE / name).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert blocks
    names: dict[str, object] = {}
    for number, block in enumerate(blocks):
        if ">>> " in block:
            test = doctest.DocTestParser().get_doctest(block, names, f"{name}[{number}]", name, 0)
            runner = doctest.DocTestRunner()
            runner.run(test, clear_globs=False)
            names = test.globs
            assert not runner.failures, f"{name}: example {number}"
        else:
            exec(compile(block, f"{name}[{number}]", "exec"), names)  # noqa: S102


# Pages whose blocks other tests run, for what they need.
ELSEWHERE = {
    "docs/pytorch.md": ("python", "python gloo"),
    "docs/jax.md": ("python",),
    "docs/scale.md": ("python",),
    "docs/python.md": ("python dask",),
}


def test_no_example_is_left_out() -> None:
    """Every block of Python has a page and a mark that a test runs, and none stands outside of blocks."""
    pages = [path for folder in (".", "docs", "bindings/python") for path in (SOURCE / folder).glob("*.md")]
    for path in pages:
        name, inside = path.relative_to(SOURCE).as_posix(), False
        run = (*ELSEWHERE.get(name, ()), *(("python",) if name in DOCUMENTS else ()))
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("```"):
                inside = not inside
                mark = line[3:].strip()
                assert not mark.startswith(("python", "py")) or mark in run, f"{name}: {line}"
            elif not inside:
                assert not re.match(r"    (import \w|from \w+ import|>>> )", line), f"{name}: {line}"
