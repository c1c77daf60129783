"""Functions that go to the library without PyTorch's dispatcher give what its operators give, and go through it where
something watches or changes operators."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from fractions import Fraction
from functools import partial
from typing import Any

import pytest
import torch
import warp_reduce
import warp_reduce.torch as wt
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from warp_reduce._native import torch_reduce, torch_softmax
from warp_reduce._operators import OPERATORS

SUM = OPERATORS["sum"]
ops = torch.ops.warp_reduce
norm = torch.linalg.vector_norm
TYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.uint8, torch.bool)


def plain() -> torch.Tensor:
    return torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(1))


def goes_at_once(x: torch.Tensor) -> bool:
    reduced = torch_reduce(SUM, x, 1, False, None) is not None
    assert reduced == (torch_softmax(False, x, 1, None) is not None)
    return reduced


def test_plain_tensors_go_at_once() -> None:
    """That the adapter finds its way in this PyTorch's tensors: what follows would hold without it too."""
    x = plain()
    assert goes_at_once(x) and goes_at_once(x[:, ::2]) and goes_at_once(torch.nn.Parameter(x, requires_grad=False))
    with torch.inference_mode():
        assert goes_at_once(plain())
    with torch.no_grad():
        assert goes_at_once(torch.nn.Parameter(x))
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(goes_at_once(x)))
    thread.start()
    thread.join()
    assert found == [True]


class Other(torch.Tensor):
    pass


def test_others_do_not() -> None:
    x = plain()
    others = [
        *(x.clone().requires_grad_(), torch.nn.Parameter(x), x.as_subclass(Other), torch._neg_view(x)),
        *(x.to("meta"), x.to_sparse(), torch.complex(x, x).imag.conj()),
        torch._efficientzerotensor(3, 4),
    ]
    assert [goes_at_once(each) for each in others[:4]] == [False] * 4
    assert [torch_reduce(SUM, each, 0, False, None) for each in (*others[4:6], *others[7:])] == [None] * 3
    for given in (None, 3, [1.0], "x", x.numpy()):
        assert torch_reduce(SUM, given, None, False, None) is None


def test_nor_does_anything_while_a_mode_sees_operators() -> None:
    x, seen = plain(), []

    class Recording(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(function)
            return function(*args, **(kwargs or {}))

    class Functions(TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(function)
            return function(*args, **(kwargs or {}))

    with Recording():
        wt.sum(x, 1)
        wt.softmax(x, 1)
    assert seen == [ops.sum.default, ops.softmax.default]
    with Functions():
        assert not goes_at_once(x)
        wt.sum(x, 1)
    assert len(seen) > 2
    with FakeTensorMode(allow_non_fake_inputs=True):
        assert isinstance(wt.sum(x, 1), torch._subclasses.FakeTensor)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        wt.log_softmax(x, 1)
    assert "warp_reduce::log_softmax" in {event.name for event in profile.events()}
    assert goes_at_once(x)


def test_replaced_functions_are_seen_by_modes_as_pytorchs_own_are() -> None:
    def seen_of(function: Any, x: torch.Tensor) -> list[Any]:
        seen: list[Any] = []

        class Recording(TorchDispatchMode):
            def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                seen.append(function)
                return function(*args, **(kwargs or {}))

        with Recording():
            function(x)
        return seen

    functions = (
        lambda x: x.softmax(1),
        lambda x: x.log_softmax(1),
        lambda x: x.mean(1),
        lambda x: x.prod(),
        lambda x: x.logsumexp(1),
        lambda x: norm(x, dim=1),
        lambda x: torch.linalg.vector_norm(x, dim=1),
    )
    for function in functions:
        expected = seen_of(function, plain())
        with wt.batch_invariant():
            assert seen_of(function, plain()) == expected
            assert torch.func.vmap(function)(plain()).shape == torch.stack([function(one) for one in plain()]).shape
            with FakeTensorMode() as mode:
                assert function(mode.from_tensor(plain())).shape == function(plain()).shape


def test_tracers_see_operators() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return wt.softmax(x, 1) + wt.sum(x, 1, True)

    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return function(x)

    x, y = plain()[0], plain()[1]
    for graph in (
        *(make_fx(function, tracing_mode=mode)(x).graph for mode in ("real", "fake", "symbolic")),
        *(torch.export.export(Module(), (x,), strict=strict).graph for strict in (False, True)),
    ):
        assert {ops.softmax.default, ops.sum.default} <= {node.target for node in graph.nodes}
    traced = torch.jit.trace(function, x)
    assert "warp_reduce::softmax" in str(traced.graph) and torch.equal(traced(y), function(y))
    assert torch.equal(torch.func.vmap(lambda row: wt.softmax(row, 0))(x), wt.softmax(x, 1))
    with torch.device("meta"):
        assert torch.equal(function(x), Module()(x))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert function(x).dtype == x.dtype


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_the_results_are_the_operators(dtype: torch.dtype) -> None:
    x = (plain() * 3).to(dtype)
    results = (None, torch.float32, torch.float64, torch.bfloat16, torch.int64)
    for dim, keepdim, result in itertools.product((None, 1, -1, (0, 2), [], (1, 2, 0)), (False, True), results):
        dims = [dim] if isinstance(dim, int) else dim
        for name in ("sum", "mean", "prod"):
            compare(partial(getattr(wt, name), x, dim, keepdim, dtype=result), name, x, dims, keepdim, dtype=result)
        compare(partial(wt.norm, x, 1, dim, keepdim, dtype=result), "norm", x, 1.0, dims, keepdim, dtype=result)
        if result is None:
            for name in ("amax", "amin", "logsumexp"):
                compare(partial(getattr(wt, name), x, dim or (), keepdim), name, x, dims or [], keepdim)
    for dim, result in itertools.product((0, 1, -1), results):
        compare(partial(wt.softmax, x, dim, dtype=result), "softmax", x, dim, result)
        compare(partial(wt.argmax, x, dim), "argmax", x, dim)


def compare(function: Any, name: str, *arguments: Any, **options: Any) -> None:
    """Bits, type, shape, order in memory, and refusals in the same words."""
    try:
        expected = getattr(ops, name)(*arguments, **options)
    except Exception as refusal:
        with pytest.raises(type(refusal)) as caught:
            function()
        assert str(caught.value) == str(refusal)
        return
    found = function()
    assert (found.dtype, found.stride()) == (expected.dtype, expected.stride())
    assert torch.equal(found.nan_to_num(), expected.nan_to_num()) and torch.equal(found.isnan(), expected.isnan())


def norms(function: Any) -> list[Any]:
    """What a norm gives, of arguments by place and by name, and of such as are refused."""
    x, inf = plain()[0], float("inf")
    calls = (
        *(((), {}), ((1,), {}), ((2, 1), {}), ((inf, (0, 1), True), {}), ((2, 1, False), {"dtype": torch.float64})),
        *(((), {"dim": 1}), ((), {"axis": 1}), ((), {"ord": 1, "dim": 0, "keepdim": True}), ((), {"dim": []})),
        *(((3,), {}), (("fro",), {}), ((2, 1), {"dim": 1}), ((2, 5), {}), ((), {"keepdim": 1}), ((), {"dim": 1.5})),
        *(((2, True), {}), ((2, [True]), {}), ((2, [1]), {}), ((Fraction(2),), {}), ((True,), {})),
        *(((), {"dtype": torch.int32}), ((), {"given": 1}), ((2, None, False, None), {}), ((), {"out": x[0, 0]})),
    )
    found: list[Any] = []
    for arguments, options in calls:
        for given in (x, x.half(), x[:, :0], x.int(), None):
            try:
                found.append(function(given, *arguments, **options))
            except Exception as refusal:
                found.append(f"{type(refusal)}: {refusal}")
    return found


def test_the_replaced_norm_is_pytorchs_with_the_same_words() -> None:
    own = torch.linalg.vector_norm
    with wt.batch_invariant():
        assert torch.linalg.vector_norm is not own
        for found, expected in zip(norms(torch.linalg.vector_norm), norms(own)):
            if isinstance(expected, torch.Tensor):
                assert found.dtype == expected.dtype and torch.equal(found, expected)
            else:
                assert found == expected
        bf16 = plain().bfloat16()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert torch.linalg.vector_norm(bf16).dtype == own(bf16).dtype
        assert torch.equal(torch.jit.script(scripted)(plain()), own(plain()))
        compiled = torch.compile(lambda x: torch.linalg.vector_norm(x, dim=1), fullgraph=True)
        assert torch.equal(compiled(plain()), own(plain(), dim=1))
    assert torch.linalg.vector_norm is own


def test_a_norm_taken_within_is_pytorchs_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    x, own = plain(), torch.linalg.vector_norm
    with wt.batch_invariant():
        taken = torch.linalg.vector_norm
        ours = taken(x, 2, 1)
    monkeypatch.setattr(wt._replacement, "_norm_at_once", None)
    assert torch.equal(taken(x, 2, 1), own(x, 2, 1)) and ours.shape == (3, 5)


def test_a_norm_that_somebody_put_there_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, own = [], torch.linalg.vector_norm

    def theirs(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        return own(*arguments, **options)

    monkeypatch.setattr(torch.linalg, "vector_norm", theirs)
    with wt.batch_invariant():
        torch.linalg.vector_norm(plain())
    assert calls == [1] and torch.linalg.vector_norm is theirs


def scripted(x: torch.Tensor) -> torch.Tensor:
    return torch.linalg.vector_norm(x)


def test_what_is_wrong_is_refused_as_by_the_operators() -> None:
    x = plain()
    for function in (
        lambda: wt.sum(x, 3),
        lambda: wt.sum(x, (1, 1)),
        lambda: wt.softmax(x, -4),
        lambda: wt.amax(x[:0], 0),
        lambda: wt.mean(x.int()),
        lambda: wt.sum(x, 1.5),  # type: ignore[arg-type]
        lambda: wt.sum(None, 1),  # type: ignore[arg-type]
        lambda: wt.sum(x, 1 << 70),
    ):
        with pytest.raises((IndexError, RuntimeError, TypeError)):
            function()


def test_other_threads_run_during_a_call() -> None:
    """Without Python's lock: a thread that counts goes on while the library works."""
    large, done, counted = torch.ones(1 << 26), threading.Event(), [0]

    def count() -> None:
        while not done.is_set():
            counted[0] += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        for function in (wt.logsumexp, wt.softmax, lambda x: wt.dot(x, x), warp_reduce.logsumexp):
            before = counted[0]
            for _ in range(3):
                function(large)
            assert counted[0] - before > 10
    finally:
        done.set()
        thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_of_a_fork_calls_on() -> None:
    x = plain().repeat(200, 1, 1)
    expected = wt.softmax(x)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(0 if torch.equal(wt.softmax(x), expected) else 1)
    assert os.waitpid(child, 0)[1] == 0 and torch.equal(wt.softmax(x), expected)
