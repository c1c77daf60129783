"""Within batch_invariant() a row's bits do not depend on the batch, and afterwards PyTorch is what it was."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
import warp_reduce.torch as wt
from torch.autograd import forward_ad
from torch.nn import functional

SOURCE = Path(os.environ["WARP_REDUCE_SOURCE"])


def is_ours(x: torch.Tensor) -> bool:
    """A sum of values of which the order is visible: ours is pairwise from the front."""
    return bool(torch.equal(x.sum(1), wt.sum(x, 1)))


@pytest.fixture
def x() -> torch.Tensor:
    x = torch.randn(33, 50257, generator=torch.Generator().manual_seed(3)) * 100
    assert not torch.equal(x.sum(1), wt.sum(x, 1)), "PyTorch's sums cannot be told from ours by these values"
    return x


def test_it_nests_and_puts_everything_back(x: torch.Tensor) -> None:
    before = [torch._C._dispatch_dump(f"aten::{name}") for name in ("sum", "_softmax", "linalg_vector_norm")]
    assert not is_ours(x) and not wt.is_batch_invariant()
    with wt.batch_invariant():
        assert is_ours(x) and wt.is_batch_invariant()
        with wt.batch_invariant():
            assert is_ours(x)
        assert is_ours(x)
    assert not is_ours(x) and not wt.is_batch_invariant()
    assert before == [torch._C._dispatch_dump(f"aten::{name}") for name in ("sum", "_softmax", "linalg_vector_norm")]


def test_it_is_put_back_after_an_exception(x: torch.Tensor) -> None:
    with pytest.raises(KeyError), wt.batch_invariant():
        raise KeyError
    assert not is_ours(x)


def test_enabled_it_stays_until_it_is_disabled(x: torch.Tensor) -> None:
    wt.enable_batch_invariant()
    with wt.batch_invariant():
        pass
    assert is_ours(x)
    wt.disable_batch_invariant()
    assert not is_ours(x)
    with pytest.raises(RuntimeError, match="not enabled"):
        wt.disable_batch_invariant()


def test_it_holds_in_all_threads(x: torch.Tensor) -> None:
    found: list[bool] = []
    with wt.batch_invariant():
        thread = threading.Thread(target=lambda: found.append(is_ours(x)))
        thread.start()
        thread.join()
    assert found == [True]


def test_nothing_is_printed_or_warned(x: torch.Tensor) -> None:
    program = "import torch, warp_reduce.torch as w\nwith w.batch_invariant():\n torch.ones(3).sum()"
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == done.stderr == ""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with wt.batch_invariant():
            torch.softmax(x, -1)


def test_cross_entropy_alone_and_in_a_batch(x: torch.Tensor) -> None:
    """Made of functions that are replaced; so is its gradient."""
    target = torch.arange(len(x)) * 31

    def loss(rows: slice) -> tuple[torch.Tensor, torch.Tensor]:
        part = x[rows].clone().requires_grad_()
        each = functional.cross_entropy(part, target[rows], reduction="none")
        each.sum().backward()
        return each.detach(), part.grad

    with wt.batch_invariant():
        losses, gradients = loss(slice(None))
        for row in (0, 1, 17, 32):
            one, gradient = loss(slice(row, row + 1))
            assert torch.equal(one[0], losses[row]) and torch.equal(gradient[0], gradients[row])


def test_compiled_outside_it_is_compiled_anew_inside(x: torch.Tensor) -> None:
    compiled = torch.compile(lambda x: x.sum(1), fullgraph=True)
    ours = wt.sum(x, 1)
    assert not torch.equal(compiled(x), ours)
    with wt.batch_invariant():
        assert torch.equal(compiled(x), ours)
    assert not torch.equal(compiled(x), ours)


def test_a_means_gradient_is_a_product_with_the_rounded_reciprocal() -> None:
    """Which is the same on CPUs, on GPUs and once compiled, as PyTorch's quotient is not."""
    slope = torch.linspace(1, 2, 1000)
    product, quotient = slope * torch.tensor(1 / 7), slope / torch.full_like(slope, 7)
    assert not torch.equal(product, quotient)
    for dtype in (torch.float32, torch.bfloat16):
        x = torch.zeros(1000, 7, dtype=dtype, requires_grad=True)
        expected = product.to(dtype)[:, None].expand(1000, 7)
        with wt.batch_invariant():
            for y in (x.mean(1, dtype=torch.float32), wt.mean(x, 1, dtype=torch.float32)):
                assert torch.equal(torch.autograd.grad(y, x, slope)[0], expected)
            whole = x.mean(dtype=torch.float32)
            assert torch.equal(torch.autograd.grad(whole, x)[0], torch.full_like(x, 1 / 7000))


ABOVE = (
    lambda x: x.mean(1).sum(),
    lambda x: x.mean(dtype=torch.float64),
    lambda x: x.prod(1).sum(),
    lambda x: x.prod(),
    lambda x: torch.logsumexp(x, 1).sum(),
    lambda x: torch.linalg.vector_norm(x),
)


@pytest.mark.parametrize("number", range(len(ABOVE)))
def test_forward_mode_and_transforms_go_on_working(number: int) -> None:
    """Their gradients stay PyTorch's."""
    function = ABOVE[number]
    x, slope = torch.linspace(0.5, 1.5, 12).reshape(3, 4), torch.linspace(-1, 1, 12).reshape(3, 4)

    def derivatives() -> list[torch.Tensor]:
        with forward_ad.dual_level():
            tangent = forward_ad.unpack_dual(function(forward_ad.make_dual(x, slope))).tangent
        rows = torch.func.vmap(torch.func.grad(lambda row: function(row[None])))(x)
        twice = torch.func.jacfwd(torch.func.jacfwd(function))(x)
        jvp = torch.func.jvp(function, (x,), (slope,))[1]
        return [tangent, torch.func.grad(function)(x), rows, jvp, torch.func.hessian(function)(x), twice]

    expected = derivatives()
    with wt.batch_invariant():
        found = derivatives()
    for one, other in zip(found, expected):
        torch.testing.assert_close(one, other)


@pytest.fixture(scope="module")
def proof() -> Any:
    spec = importlib.util.spec_from_file_location("batch_proof", SOURCE / "bench/batch_proof.py")
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    return module


def test_the_proof_on_the_cpu(proof: Any, capsys: pytest.CaptureFixture[str]) -> None:
    counts, status = proof.prove(proof.Plan("cpu", small=True))
    assert status == 0 and proof.conclude(counts, "CPU", status) == 0
    assert "\n0 rows of warp_reduce.torch differ" in capsys.readouterr().out
    assert all(each.seen["eager forward"] and each.seen["compiled forward"] for each in counts.values())


def test_the_proof_sees_one_bit() -> None:
    """That it can fail: a row of a batch that differs in one bit is counted."""
    spec = importlib.util.spec_from_file_location("batch_proof", SOURCE / "bench/batch_proof.py")
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    rows = torch.randn(3, 8)
    batch = rows.repeat(2, 1)
    assert module.differing(batch, rows) == 0
    batch.view(torch.int32)[4, 5] ^= 1
    assert module.differing(batch, rows) == 1
