"""warp_reduce.torch's functions, and PyTorch's own once they are replaced, against PyTorch in f64."""

from __future__ import annotations

import doctest
import math
import os
from pathlib import Path
from typing import Any

import pytest
import torch
import warp_reduce.torch as wt
from torch.testing import assert_close
from warp_reduce.torch import _functions, _replacement

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool)
DIMS: tuple[Any, ...] = (None, 0, -1, (0, 2), (1, 2), (2, 0, 1), (0, 1))


def tensor(dtype: torch.dtype, *shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(*shape, generator=generator)
    return x.to(dtype) if dtype.is_floating_point else (x * 5).abs().to(dtype)


def layouts(x: torch.Tensor) -> list[torch.Tensor]:
    """The same values, as they can lie in memory."""
    wide = x.new_zeros([2 * size + 1 for size in x.shape])
    steps = wide[tuple(slice(1, None, 2) for _ in x.shape)]
    steps.copy_(x)
    backwards = x.permute(2, 0, 1).contiguous().permute(1, 2, 0)
    return [x, steps, backwards, x.transpose(0, 1).contiguous().transpose(0, 1)]


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "amax", "amin", "norm", "logsumexp"])
def test_reductions(name: str, dim: Any, keepdim: bool, replaced: bool) -> None:
    if name == "prod" and replaced and dim is not None and not isinstance(dim, int):
        pytest.skip("torch.prod has one dimension or all")
    dims = {"dim": tuple(range(3)) if dim is None else dim}
    theirs: Any = torch.linalg.vector_norm if name == "norm" else getattr(torch, name)
    for dtype in FLOATS:
        for x in layouts(tensor(dtype, 3, 4, 5)):
            wide = x.double()
            if name == "prod":
                for each in sorted((d % 3 for d in ([dim] if isinstance(dim, int) else dim or range(3))), reverse=True):
                    wide = wide.prod(each, keepdim)
                expected = wide
            else:
                expected = theirs(wide, **dims, keepdim=keepdim)
            if not replaced:
                found = getattr(wt, name)(x, **dims, keepdim=keepdim)
            else:
                with wt.batch_invariant():
                    own = {} if name == "prod" and dim is None else {**dims, "keepdim": keepdim}
                    found = theirs(x, **own)
                expected = expected.reshape(found.shape) if name == "prod" and dim is None else expected
            assert found.dtype == dtype and found.is_contiguous()
            kept_in = torch.finfo(torch.float64 if dtype is torch.float64 else torch.float32).eps
            assert_close(found.double(), expected, rtol=2 * torch.finfo(dtype).eps, atol=64 * kept_in)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_are_pytorchs(dtype: torch.dtype) -> None:
    for x in layouts(tensor(dtype, 3, 4, 5)):
        for dim in (0, 1, 2):
            calls = [lambda x, d=dim: x.sum(d), lambda x, d=dim: x.prod(d), lambda x, d=dim: x.amax(d)]
            calls += [lambda x: x.sum(), lambda x: x.sum((0, 2), keepdim=True), lambda x: x.amin((0, 1))]
            calls += [lambda x: x.sum(1, dtype=torch.float32), lambda x: x.mean((1, 2), dtype=torch.float64)]
            calls += [lambda x: x.sum(1, dtype=torch.float16), lambda x: x.sum(1, dtype=torch.int32)]
            if dtype is not torch.bool:
                calls += [lambda x, d=dim: x.argmax(d), lambda x: x.argmin(), lambda x: x.argmin(keepdim=True)]
            for call in calls:
                expected = call(x)
                with wt.batch_invariant():
                    found = call(x)
                assert found.dtype == expected.dtype and found.shape == expected.shape
                assert torch.equal(found, expected)


@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax_and_its_gradient(dtype: torch.dtype) -> None:
    tolerance = {"rtol": 2 * torch.finfo(dtype).eps, "atol": 4 * torch.finfo(dtype).eps}
    for x in layouts(tensor(dtype, 3, 4, 5)):
        for dim in (0, 1, -1):
            for mine, theirs in ((wt.softmax, torch.softmax), (wt.log_softmax, torch.log_softmax)):
                with wt.batch_invariant():
                    replaced = theirs(x, dim)
                assert_close(replaced.double(), theirs(x.double(), dim), **tolerance)
                assert torch.equal(mine(x, dim), replaced) and replaced.is_contiguous()
                assert torch.equal(mine(x, dim, dtype=torch.float64), theirs_wide(theirs, x, dim))
                y, wide = x.detach().requires_grad_(), x.detach().double().requires_grad_()
                slope = tensor(dtype, 3, 4, 5, seed=1).transpose(0, 1).contiguous().transpose(0, 1)
                (found,) = torch.autograd.grad(mine(y, dim), y, slope)
                (expected,) = torch.autograd.grad(theirs(wide, dim), wide, slope.double())
                assert_close(found.double(), expected, rtol=0.05, atol=16 * torch.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", FLOATS)
def test_exact_sums_are_those_of_fsum(dtype: torch.dtype) -> None:
    """And of integers the ordinary ones."""
    scale = torch.linspace(-8, 8, 60) if dtype is torch.float16 else torch.linspace(-60, 60, 60)
    x = (tensor(torch.float64, 3, 4, 5) * scale.double().exp2().reshape(3, 4, 5)).to(dtype)
    for each in layouts(x):
        rows = each.double().permute(1, 0, 2).reshape(4, 15).tolist()
        expected = torch.tensor([math.fsum(row) for row in rows], dtype=torch.float64).to(dtype)
        assert torch.equal(wt.sum(each, (0, 2), exact=True), expected)
        assert torch.equal(wt.sum(each.flip(0), (0, 2), True, exact=True), expected.reshape(1, 4, 1))
    whole = tensor(torch.int32, 3, 4, 5)
    assert torch.equal(wt.sum(whole, 1, exact=True), whole.sum(1))
    assert torch.equal(wt.sum(whole, 1, dtype=torch.float16, exact=True), whole.sum(1).half())
    assert torch.equal(wt.sum(x, 1, dtype=torch.int32, exact=True), x.int().sum(1, dtype=torch.int32))


def theirs_wide(theirs: Any, x: torch.Tensor, dim: int) -> torch.Tensor:
    with wt.batch_invariant():
        return theirs(x, dim, dtype=torch.float64)


def test_half_to_float_is_rounded_once() -> None:
    """And on the CPU has the bits that it has on GPUs, where PyTorch converts bf16 first and f16 not."""
    for dtype in (torch.bfloat16, torch.float16):
        x = tensor(dtype, 5, 1000)
        own = wt.log_softmax(x, dtype=torch.float32)
        assert_close(own.double(), torch.log_softmax(x.double(), -1), rtol=1e-6, atol=1e-6)
        assert torch.equal(own.to(dtype), wt.log_softmax(x))
        with wt.batch_invariant():
            converted = x if dtype is torch.float16 else x.float()
            expected = wt.log_softmax(converted, dtype=torch.float32)
            assert torch.equal(torch.log_softmax(x, -1, dtype=torch.float32), expected)
            assert torch.equal(torch._log_softmax(x, 1, True), own)
            assert torch.equal(torch.softmax(x, -1, dtype=torch.float32), wt.softmax(converted, dtype=torch.float32))
            with torch.inference_mode():
                assert torch.equal(torch.log_softmax(x, -1, dtype=torch.float32), expected)
            y = x.clone().requires_grad_()
            (found,) = torch.autograd.grad(torch.log_softmax(y, -1, dtype=torch.float32)[:, 3].sum(), y)
            assert found.dtype == dtype
            with pytest.raises(RuntimeError, match="not implemented"):
                torch.softmax(torch.ones(3, dtype=torch.int64), 0)


@pytest.mark.parametrize("replaced", [False, True])
def test_numbers_without_dimensions_and_empty_tensors(replaced: bool) -> None:
    one, none = torch.tensor(3.0), torch.empty(0, 4)
    calls = [
        *(lambda: one.sum(), lambda: one.mean(0), lambda: one.amax(-1), lambda: one.argmax(), lambda: one.argmin(0)),
        *(lambda: one.prod(), lambda: one.logsumexp(0), lambda: torch.softmax(one, 0), lambda: one.sum((0,))),
        *(lambda: none.sum(), lambda: none.sum(0), lambda: none.prod(0), lambda: none.mean(0), lambda: none.sum(1)),
        *(lambda: none.logsumexp(0), lambda: none.amax(1), lambda: none.argmin(1), lambda: torch.softmax(none, 1)),
        *(lambda: torch.linalg.vector_norm(none), lambda: torch.linalg.vector_norm(one), lambda: none.mean()),
        lambda: torch.log_softmax(torch.empty(3, 0), 1),
    ]
    expected = [call() for call in calls]
    with wt.batch_invariant():
        found = [call() for call in calls]
    for one_found, one_expected in zip(found, expected):
        assert one_found.dtype == one_expected.dtype
        assert_close(one_found, one_expected, equal_nan=True)


def test_a_nan_wins_and_infinities_stay() -> None:
    x = torch.tensor([[1.0, math.nan, 3.0], [math.inf, 1.0, 2.0], [-math.inf, -math.inf, -math.inf]])
    calls = [
        *(lambda: x.sum(1), lambda: x.mean(1), lambda: x.amax(1), lambda: x.amin(1), lambda: x.prod(1)),
        *(lambda: x.argmax(1), lambda: x.argmin(1), lambda: x.logsumexp(1), lambda: torch.log_softmax(x, 1)),
        *(lambda: torch.softmax(x, 0), lambda: torch.linalg.vector_norm(x, dim=1), lambda: x.norm(1, dim=1)),
    ]
    expected = [call() for call in calls]
    with wt.batch_invariant():
        found = [call() for call in calls]
    for one_found, one_expected in zip(found[:-3], expected[:-3]):
        finite = one_found.nan_to_num(7.0) if one_found.is_floating_point() else one_found
        wanted = one_expected.nan_to_num(7.0) if one_expected.is_floating_point() else one_expected
        if one_found.dim() == 1:
            assert_close(finite, wanted)


def test_what_the_library_has_not_stays_pytorchs() -> None:
    z = torch.randn(3, 4, dtype=torch.complex64)
    x = torch.randn(3, 4)
    calls = [
        *(lambda: z.sum(), lambda: z.sum(1), lambda: z.mean((0, 1)), lambda: z.prod(1), lambda: z.logsumexp(0)),
        *(lambda: torch.linalg.vector_norm(z), lambda: torch.linalg.vector_norm(x, 3), lambda: z.prod()),
        *(lambda: torch.linalg.vector_norm(x, 0), lambda: torch.linalg.vector_norm(x, -math.inf, dim=1)),
        lambda: torch.sum(x, dtype=torch.complex64),
    ]
    expected = [call() for call in calls]
    with wt.batch_invariant():
        found = [call() for call in calls]
    for one_found, one_expected in zip(found, expected):
        assert_close(one_found, one_expected)


def test_errors_are_pytorchs() -> None:
    x, whole = torch.randn(3, 4), torch.ones(3, dtype=torch.int64)
    with wt.batch_invariant():
        for call in (lambda: x.sum(2), lambda: x.amax((0, -3)), lambda: torch.softmax(x, 5), lambda: x.argmax(7)):
            with pytest.raises(IndexError, match="Dimension out of range"):
                call()
        with pytest.raises(RuntimeError, match="multiple times"):
            x.sum((1, -1))
        with pytest.raises(RuntimeError, match="dtype"):
            whole.mean()
        with pytest.raises((RuntimeError, IndexError), match="non-zero size"):
            torch.empty(0, 3).amax(0)
    with pytest.raises(ValueError, match="ord must be"):
        wt.norm(x, 3)
    with pytest.raises(IndexError, match="Dimension out of range"):
        wt.sum(torch.empty(3, 4, device="meta"), 2)


def test_outputs_that_are_given_are_filled() -> None:
    x = torch.randn(4, 6)
    with wt.batch_invariant():
        for call, expected in (
            (lambda out: torch.sum(x, 1, out=out), x.sum(1)),
            (lambda out: torch.mean(x, 1, out=out), x.mean(1)),
            (lambda out: torch.amax(x, 1, out=out), x.amax(1)),
            (lambda out: torch.logsumexp(x, 1, out=out), x.logsumexp(1)),
            (lambda out: torch.linalg.vector_norm(x, dim=1, out=out), torch.linalg.vector_norm(x, dim=1)),
        ):
            out = torch.empty(8)[::2]
            assert call(out) is out and torch.equal(out, expected)
        wide = torch.empty(4, dtype=torch.float64)
        torch.sum(x, 1, out=wide)
        assert torch.equal(wide, x.sum(1, dtype=torch.float64))
        with pytest.raises(RuntimeError, match="dtype"):
            torch.amax(x, 1, out=torch.empty(4, dtype=torch.int64))


@pytest.mark.parametrize("module", [_functions, _replacement], ids=lambda each: each.__name__)
def test_docstrings(module: Any) -> None:
    failed, tried = doctest.testmod(module)
    assert tried and not failed


def test_the_page_of_pytorch() -> None:
    page = Path(os.environ["WARP_REDUCE_SOURCE"]) / "docs/pytorch.md"
    text = page.read_text(encoding="utf-8").replace("```python", "").replace("```", "")
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    assert test.examples
    assert not doctest.DocTestRunner().run(test).failed
