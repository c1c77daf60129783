"""Every docstring has types, errors, what NaN and nothing give, and an example; or names the function whose it has."""

from __future__ import annotations

import importlib
import re
from types import ModuleType

import numpy as np
import pytest
import torch
import warp_reduce
import warp_reduce.jax as wj
import warp_reduce.torch as wt

NEEDED = {
    "a NaN": r"NaN",
    "nothing": r"[Nn]othing|[Ee]mpty|no elements",
    "errors": r"Error",
    "types": r"float|integer|elements",
    "shapes": r"shape|dimension|axis|axes|rows|vector",
    "an example": r">>> ",
}
SWITCHES = (
    "cuda_status",
    "library_version",
    "enable_batch_invariant",
    "disable_batch_invariant",
    "is_batch_invariant",
    "raise_if_failed",
)
MODULES = ("warp_reduce", "warp_reduce.torch", "warp_reduce.torch.distributed", "warp_reduce.jax")


def told(module: ModuleType, name: str, seen: tuple[str, ...] = ()) -> str:
    """What a function's docstring says, and those of the functions that it refers to."""
    text = getattr(module, name).__doc__ or ""
    for other in re.findall(r"as (?:of |in )?`(\w+)`", text):
        if other not in (*seen, name) and hasattr(module, other):
            text += told(module, other, (*seen, name))
    return text


@pytest.mark.parametrize("name", MODULES)
def test_every_function(name: str) -> None:
    module = importlib.import_module(name)
    for each in module.__all__:
        function = getattr(module, each)
        if callable(function) and not isinstance(function, type) and each not in SWITCHES:
            text = told(module, each)
            assert not [what for what, words in NEEDED.items() if not re.search(words, text)], f"{name}.{each}"
            assert ">>> " in function.__doc__, f"{name}.{each}"


def test_nothing_gives_what_they_say() -> None:
    x, y = torch.zeros(3, 0), np.zeros((3, 0), np.float32)
    expected = {"sum": 0.0, "prod": 1.0, "mean": np.nan, "norm": 0.0, "logsumexp": -np.inf}
    for name, value in expected.items():
        for result in (
            getattr(wt, name)(x, dim=1).numpy(),
            np.asarray(getattr(wj, name)(y, axis=1)),
            getattr(warp_reduce, name)(y, axis=1),
        ):
            np.testing.assert_array_equal(result, np.full(3, value, np.float32), name)
    for name in ("amax", "amin", "argmax", "argmin"):
        with pytest.raises((IndexError, RuntimeError)):
            getattr(wt, name)(x, 1)
        for module, array in ((wj, y), (warp_reduce, y)):
            with pytest.raises(ValueError):
                getattr(module, name.replace("am", "m"))(array, axis=1)
    with pytest.raises(RuntimeError):
        wt.norm(x, float("inf"), 1)
    for function in (wt.softmax, wt.log_softmax):
        assert function(x, 1).shape == x.shape
    for module in (wj, warp_reduce):
        assert module.softmax(y).shape == module.log_softmax(y).shape == y.shape


def test_nan_and_infinity_give_what_they_say() -> None:
    inf, nan = np.inf, np.nan
    rows = np.array([[nan, 1, 2], [inf, -inf, 0], [-inf, -inf, -inf], [inf, 1, 1], [-inf, 0, 0]], np.float32)
    sums, lse = [nan, nan, -inf, inf, -inf], [nan, inf, -inf, inf, np.log(np.float32(2))]
    for module, array, where in ((wt, torch.from_numpy(rows), "dim"), (wj, rows, "axis"), (warp_reduce, rows, "axis")):
        along = {where: 1}
        np.testing.assert_array_equal(np.asarray(module.sum(array, **along)), np.float32(sums))
        np.testing.assert_allclose(np.asarray(module.logsumexp(array, **along)), np.float32(lse), rtol=1e-6)
        share = np.asarray(module.softmax(array))
        assert np.isnan(share[:4]).all() and share[4].tolist() == [0, 0.5, 0.5]
