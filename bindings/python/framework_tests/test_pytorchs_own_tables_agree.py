"""PyTorch's own tables, which its tests run: samples, wrong arguments and special values of every function that is
replaced give within batch_invariant() what they give outside."""

from __future__ import annotations

import sys
import types
import unittest
from collections.abc import Iterator
from typing import Any

import pytest
import torch
import warp_reduce.torch as wt

# The tables' module imports a package of PyTorch's tests that takes no part in them.
if "expecttest" not in sys.modules:
    sys.modules["expecttest"] = types.ModuleType("expecttest")
    sys.modules["expecttest"].TestCase = unittest.TestCase  # type: ignore[attr-defined]

from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402
from torch.testing._internal.opinfo import core  # noqa: E402

NAMES = (
    *("sum", "mean", "prod", "amax", "amin", "argmax", "argmin", "logsumexp", "linalg.vector_norm"),
    *(
        "softmax",
        "log_softmax",
        "_softmax_backward_data",
        "nn.functional.softmin",
        "nn.functional.cross_entropy",
        "norm",
    ),
)
TABLE = {f"{op.name} {op.variant_test_name}".strip(): op for op in op_db if op.name in NAMES}
TYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int8, torch.int64, torch.uint8, torch.bool)
CLOSE = {
    torch.bfloat16: {"rtol": 0.04, "atol": 0.04},
    torch.float16: {"rtol": 0.008, "atol": 0.008},
    torch.float32: {"rtol": 1e-4, "atol": 1e-5},
}
SPECIAL = ("small", "large", "extremal")


def test_every_function_has_its_table() -> None:
    assert {op.name for op in TABLE.values()} == set(NAMES)


def flat(results: Any) -> list[torch.Tensor]:
    return [results] if isinstance(results, torch.Tensor) else list(results)


def results_of(function: Any, sample: Any) -> list[torch.Tensor]:
    """The result, and the gradient where there is one."""
    x = sample.input
    x = x.detach().clone().requires_grad_() if x.requires_grad else x
    found = flat(function(x, *sample.args, **sample.kwargs))
    if not (x.requires_grad and found[0].requires_grad):
        return found
    above = torch.linspace(0.5, 1, found[0].numel(), dtype=torch.float64).reshape(found[0].shape).to(found[0].dtype)
    (slope,) = torch.autograd.grad(found[0], x, above, allow_unused=True)
    return [found[0].detach(), torch.zeros(()) if slope is None else slope]


def same(found: list[torch.Tensor], expected: list[torch.Tensor], dtype: torch.dtype) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        torch.testing.assert_close(one, other, equal_nan=True, **CLOSE.get(dtype, {}))


@pytest.mark.parametrize("name", TABLE)
def test_samples(name: str) -> None:
    op = TABLE[name]
    for dtype in set(TYPES) & op.supported_dtypes("cpu"):
        graded = dtype.is_floating_point and dtype in op.supported_backward_dtypes("cpu")
        for sample in op.reference_inputs("cpu", dtype, requires_grad=graded):
            expected = results_of(op.op, sample)
            with wt.batch_invariant():
                found = results_of(op.op, sample)
            if "arg" in name:  # of equal elements another one may be the first where PyTorch has no order
                found, expected = ([chosen(sample, each[0])] for each in (found, expected))
            same(found, expected, dtype)


OURS = {name: getattr(wt, name) for name in NAMES if hasattr(wt, name)} | {"linalg.vector_norm": wt.norm}


@pytest.mark.parametrize("name", [name for name, op in TABLE.items() if op.name in OURS and op.name != "norm"])
def test_samples_of_our_own_functions(name: str) -> None:
    """Which take PyTorch's arguments."""
    op, tried = TABLE[name], 0
    for dtype in set(TYPES) & op.supported_dtypes("cpu") - {torch.bool}:
        graded = dtype.is_floating_point and dtype in op.supported_backward_dtypes("cpu")
        for sample in op.reference_inputs("cpu", dtype, requires_grad=graded):
            if op.name == "linalg.vector_norm" and sample.kwargs.get("ord", 2) not in (1, 2, float("inf")):
                continue
            expected, found = (results_of(function, sample) for function in (op.op, OURS[op.name]))
            if "arg" in name:
                found, expected = ([chosen(sample, each[0])] for each in (found, expected))
            same(found, expected, dtype)
            tried += 1
    assert tried > 20


def chosen(sample: Any, index: torch.Tensor) -> torch.Tensor:
    x, dim = sample.input, sample.kwargs.get("dim", sample.args[0] if sample.args else None)
    if dim is None or x.dim() == 0:
        return x.reshape(-1)[index]
    index = index if sample.kwargs.get("keepdim") else index.unsqueeze(dim)
    return x.gather(dim, index)


@pytest.mark.parametrize("name", [name for name, op in TABLE.items() if op.error_inputs_func])
def test_wrong_arguments(name: str) -> None:
    op, tried = TABLE[name], 0
    for each in op.error_inputs("cpu"):
        sample = each.sample_input
        # In PyTorch's words; but for dimensions that are not there by RuntimeError, as docs/pytorch.md says.
        with wt.batch_invariant(), pytest.raises((each.error_type, RuntimeError), match=each.error_regex):
            op.op(sample.input, *sample.args, **sample.kwargs)
        tried += 1
    assert tried


def special_rows(kind: str, dtype: torch.dtype) -> Iterator[torch.Tensor]:
    """All pairs of PyTorch's special values, as rows of two, and rows of many of them."""
    (add,) = (op for op in op_db if op.name == "add")
    make = getattr(core, f"generate_elementwise_binary_{kind}_value_tensors")
    for sample in make(add, device="cpu", dtype=dtype):
        pairs = torch.stack([sample.input.reshape(-1), sample.args[0].reshape(-1)], -1)
        yield pairs
        yield pairs.reshape(-1, pairs.numel() // 3 if pairs.numel() % 3 == 0 else pairs.shape[0])


@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64], ids=str)
def test_special_values(kind: str, dtype: torch.dtype) -> None:
    if not dtype.is_floating_point and kind == "extremal":
        pytest.skip("integers have no such values")
    functions = {"sum": torch.sum, "prod": torch.prod, "amax": torch.amax, "amin": torch.amin}
    if dtype.is_floating_point:
        functions |= {each.__name__: each for each in (torch.mean, torch.logsumexp, torch.softmax, torch.log_softmax)}
        for order in (1, 2, float("inf")):
            functions[f"norm {order}"] = lambda x, dim, order=order: torch.linalg.vector_norm(x, order, dim)
    for x in special_rows(kind, dtype):
        for name, function in functions.items():
            if name in ("sum", "mean", "prod") and x.shape[1] > 2:
                continue  # what cancels, and what leaves the range on its way, depends on the order
            # An L2 norm of ours leaves the range only if the norm does.
            expected = function(x.double(), 1).to(dtype) if name == "norm 2" else function(x, 1)
            with wt.batch_invariant():
                found = function(x, 1)
            same([found], [expected], dtype)
        for function in (torch.argmax, torch.argmin):
            with wt.batch_invariant():
                index = function(x, 1, keepdim=True)
            same([x.gather(1, index)], [x.gather(1, function(x, 1, keepdim=True))], dtype)


def test_zeros_have_an_order() -> None:
    """In which PyTorch differs: its result is the first zero of either sign."""
    x = torch.tensor([[-0.0, 0.0], [0.0, -0.0]])
    with wt.batch_invariant():
        assert torch.argmax(x, 1).tolist() == [1, 0] and torch.argmin(x, 1).tolist() == [0, 1]
