#!/usr/bin/env python3
"""Compares the bits that CuPy, JAX and PyTorch get from warp_reduce on a GPU with those of the host device.

    python bench/frameworks_on_gpu.py                    each in a process of its own, side by side
    python bench/frameworks_on_gpu.py --framework jax    one of them
    python bench/frameworks_on_gpu.py --device cpu       the same on the CPU, to try the program

The table is Markdown. The exit status is 1 if a result differs, 2 if a framework's part did not end. A framework that
is not there, or that has no GPU here, is said to be so and fails nothing.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bindings/python/tests"))

import warp_reduce  # noqa: E402

FRAMEWORKS = ("cupy", "jax", "torch")
RANDOM = np.random.default_rng(5)
SHAPES = ((33, 5003), (4, 3, 257), (1, 151936))


class Table:
    """By what was compared: results, and those whose bytes differ."""

    def __init__(self, framework: str) -> None:
        self.framework = framework
        self.rows: dict[str, list[int]] = {}

    def compare(self, what: str, found: Any, expected: Any) -> None:
        row = self.rows.setdefault(what, [0, 0])
        row[0] += 1
        found, expected = np.asarray(found), np.asarray(expected)
        if found.shape != expected.shape or found.dtype != expected.dtype or found.tobytes() != expected.tobytes():
            row[1] += 1
            print(f"differs: {self.framework}, {what}: {found.dtype} {found.shape}", file=sys.stderr)

    def attempt(self, what: str, check: Callable[[], None]) -> None:
        """For checks that raise AssertionError."""
        row = self.rows.setdefault(what, [0, 0])
        row[0] += 1
        try:
            check()
        except AssertionError:
            row[1] += 1
            traceback.print_exc()

    @property
    def different(self) -> int:
        return sum(row[1] for row in self.rows.values())

    def __str__(self) -> str:
        return "\n".join(f"| {self.framework} | {what} | {n} | {bad} |" for what, (n, bad) in self.rows.items())


# ---- CuPy and PyTorch, by NumPy's functions


def check_arrays(table: Table, module: Any, place: Callable[[np.ndarray], Any]) -> None:
    from framework_arrays import check_all

    table.attempt("all functions, layouts, options", lambda: check_all(module, place))


def check_large(table: Table, place: Callable[[np.ndarray], Any], back: Callable[[Any], np.ndarray]) -> None:
    for shape in SHAPES:
        x = RANDOM.standard_normal(shape).astype(np.float32)
        for name in ("sum", "mean", "prod", "max", "argmax", "norm", "logsumexp", "softmax", "log_softmax"):
            function = getattr(warp_reduce, name)
            table.compare("long rows", back(function(place(x), axis=-1)), function(x, axis=-1))


def cupy(table: Table, on_gpu: bool) -> str | None:
    import cupy as cp

    if not on_gpu or not cp.cuda.is_available():
        return "no GPU"
    check_arrays(table, cp, cp.asarray)
    check_large(table, cp.asarray, cp.asnumpy)
    x = RANDOM.standard_normal((7, 1000)).astype(np.float32)
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        on_stream = warp_reduce.softmax(cp.asarray(x))
    stream.synchronize()
    table.compare("another stream", cp.asnumpy(on_stream), warp_reduce.softmax(x))
    broadcast = np.broadcast_to(x[:, None, :], (7, 50, 1000))
    view = cp.broadcast_to(cp.asarray(x)[:, None, :], (7, 50, 1000))
    table.compare("broadcast views", cp.asnumpy(warp_reduce.sum(view, axis=2)), warp_reduce.sum(broadcast, axis=2))
    for number in range(1, cp.cuda.runtime.getDeviceCount()):
        with cp.cuda.Device(number):
            other = cp.asarray(x)
        for found, expected in (
            (warp_reduce.softmax(other), warp_reduce.softmax(x)),
            (warp_reduce.sum(other, axis=1, where=other > 0), warp_reduce.sum(x, axis=1, where=x > 0)),
        ):
            table.compare("on another GPU than the current", cp.asnumpy(found), expected)
    return None


def torch(table: Table, on_gpu: bool) -> str | None:
    import torch as pt

    if on_gpu and not pt.cuda.is_available():
        return "no GPU"
    device = "cuda" if on_gpu else "cpu"
    check_arrays(table, pt, lambda x: pt.from_numpy(x).to(device))
    check_large(table, lambda x: pt.from_numpy(x).to(device), lambda x: x.cpu().numpy())
    _torch_operators(table, pt, device)
    _torch_transforms(table, pt, device)
    if on_gpu:
        _captured(table, pt)
        _torch_on_others(table, pt)
    return None


def _captured(table: Table, pt: Any) -> None:
    """Functions that go without PyTorch's dispatcher, in a CUDA graph, of other elements than it was captured with."""
    import warp_reduce.torch as wt

    x = pt.from_numpy(RANDOM.standard_normal((33, 5003)).astype(np.float32))
    calls = [wt.sum, wt.argmax, wt.norm, wt.logsumexp, wt.softmax, warp_reduce.softmax]
    calls = [functools.partial(call, **{"axis" if call is warp_reduce.softmax else "dim": -1}) for call in calls]
    calls += [lambda x: wt.dot(x, x[0], exact=True), lambda x: warp_reduce.sum(x, axis=-1, where=x > 0)]
    still = pt.zeros_like(x, device="cuda")
    for call in calls:
        call(still)
    graph = pt.cuda.CUDAGraph()
    with pt.cuda.graph(graph):
        made = [call(still) for call in calls]
    still.copy_(x)
    graph.replay()
    for found, call in zip(made, calls):
        table.compare("captured in a CUDA graph", _bytes(pt, found), _bytes(pt, call(x)))


def _torch_on_others(table: Table, pt: Any) -> None:
    """Tensors on each GPU while the first is the current one, on a stream of their own and on the default one."""
    import warp_reduce.torch as wt

    x = pt.from_numpy(RANDOM.standard_normal((33, 5003)).astype(np.float32))
    calls = [lambda x: wt.softmax(x), lambda x: warp_reduce.sum(x, axis=1), lambda x: pt.linalg.vector_norm(x, dim=1)]
    calls += [lambda x: pt.log_softmax(x, 1), lambda x: warp_reduce.max(x, axis=0, where=x < 1), lambda x: x.mean()]
    with wt.batch_invariant():
        expected = [_bytes(pt, call(x)) for call in calls]
        for number in range(1, pt.cuda.device_count()):
            other = x.to(f"cuda:{number}")
            stream = pt.cuda.Stream(number)
            stream.wait_stream(pt.cuda.current_stream(number))
            for call, bits in zip(calls, expected):
                table.compare("on another GPU than the current", _bytes(pt, call(other)), bits)
                with pt.cuda.stream(stream), pt.cuda.device(0):
                    found = call(other)
                stream.synchronize()
                table.compare("on another GPU than the current", _bytes(pt, found), bits)
            assert pt.cuda.current_device() == 0


def _torch_operators(table: Table, pt: Any, device: str) -> None:
    import warp_reduce.torch as wt

    names = ("sum", "mean", "prod", "amax", "amin", "argmax", "argmin", "logsumexp", "softmax", "log_softmax")
    calls = [functools.partial(getattr(wt, name), dim=-1) for name in names]
    calls += [functools.partial(wt.norm, ord=2, dim=-1)]
    for shape in SHAPES:
        for dtype in (pt.float32, pt.float64, pt.bfloat16, pt.float16):
            x = pt.from_numpy(RANDOM.standard_normal(shape)).to(dtype)
            vector = x.reshape(-1)[: x.shape[-1]]
            dots = [functools.partial(_dot, wt.dot, vector, exact=exact) for exact in (False, True)]
            for call in calls + dots:
                for found, expected in zip(_with_slope(pt, call, x.to(device)), _with_slope(pt, call, x)):
                    table.compare("warp_reduce.torch, forward and gradient", found, expected)
                found, expected = (_bytes(pt, call(each)) for each in (x.to(device), x))
                table.compare("warp_reduce.torch without gradients", found, expected)


def _torch_transforms(table: Table, pt: Any, device: str) -> None:
    """A batch of rows by vmap, and their gradients."""
    import warp_reduce.torch as wt

    weights = pt.linspace(-1, 1, 5003)
    calls = [wt.sum, wt.amax, wt.argmin, wt.softmax, pt.func.grad(wt.logsumexp), pt.func.grad(wt.mean)]
    calls += [pt.func.grad(lambda row: wt.sum(wt.log_softmax(row) * weights.to(row.device)))]
    for dtype in (pt.float32, pt.bfloat16):
        x = pt.from_numpy(RANDOM.standard_normal((33, 5003))).to(dtype)
        for call in calls:
            found, expected = pt.func.vmap(call)(x.to(device)), pt.stack([call(row) for row in x])
            table.compare("torch.func's vmap and grad", _bytes(pt, found), _bytes(pt, expected))


def _dot(dot: Any, vector: Any, x: Any, **options: Any) -> Any:
    return dot(x, vector.to(x.device), **options)


def _bytes(pt: Any, y: Any) -> np.ndarray:
    return y.contiguous().cpu().reshape(-1).view(pt.uint8).numpy()


def _with_slope(pt: Any, call: Callable[[Any], Any], x: Any) -> list[np.ndarray]:
    x = x.detach().requires_grad_()
    y = call(x)
    made = [y.detach()]
    if y.is_floating_point():
        slope = pt.linspace(-1, 1, y.numel(), dtype=pt.float64).reshape(y.shape).to(y.dtype).to(y.device)
        made.append(pt.autograd.grad(y, x, slope)[0])
    return [_bytes(pt, each) for each in made]


# ---- JAX, by warp_reduce.jax


def jax(table: Table, on_gpu: bool) -> str | None:
    import jax as jx

    jx.config.update("jax_enable_x64", True)
    try:
        device = jx.devices("cuda" if on_gpu else "cpu")[0]
    except RuntimeError:
        return "no GPU"
    with jx.default_device(device):
        _jax_reductions(table, jx)
        _jax_rows(table, jx)
        _jax_gradients(table, jx)
        _jax_shards(table, jx, jx.devices("cuda" if on_gpu else "cpu"))
    return None


def _jax_arrays(jx: Any) -> list[Any]:
    names = ("float32", "float64", "float16", "bfloat16")
    return [jx.numpy.asarray(RANDOM.standard_normal(s), jx.numpy.dtype(n)) for s in SHAPES for n in names]


def _jax_reductions(table: Table, jx: Any) -> None:
    import warp_reduce.jax as wj

    for x in _jax_arrays(jx):
        plain = np.asarray(x)
        for name in ("sum", "mean", "prod", "max", "min", "argmax", "argmin", "logsumexp", "norm"):
            mine, other = getattr(wj, name), getattr(warp_reduce, name)
            for axis in (0, -1):
                found = jx.jit(lambda x, f=mine, a=axis: f(x, axis=a))(x)
                table.compare("reductions under jit", found, other(plain, axis=axis))
        vector = plain.reshape(-1)[: plain.shape[-1]]
        for exact in (False, True):
            found = jx.jit(lambda x, y, e=exact: wj.dot(x, y, exact=e))(x, vector)
            table.compare("dot products under jit", found, warp_reduce.dot(plain, vector, exact=exact))
        if x.ndim == 3:
            for name in ("sum", "max", "argmin"):
                mine, other = getattr(wj, name), getattr(warp_reduce, name)
                found = jx.vmap(lambda x, f=mine: f(x), in_axes=1)(x)
                table.compare("reductions under vmap", found, other(plain, axis=(0, 2)))


def _jax_rows(table: Table, jx: Any) -> None:
    import warp_reduce.jax as wj

    for x in _jax_arrays(jx):
        plain = np.asarray(x)
        for name in ("softmax", "log_softmax"):
            mine, other = getattr(wj, name), getattr(warp_reduce, name)
            for axis in (0, -1):
                table.compare("softmax under jit", jx.jit(lambda x, f=mine, a=axis: f(x, a))(x), other(plain, axis))
            table.compare("softmax under vmap", jx.vmap(mine)(x), other(plain))


def _jax_gradients(table: Table, jx: Any) -> None:
    """Those on the GPU with those on the CPU."""
    import warp_reduce.jax as wj

    functions = {
        name: getattr(wj, name) for name in ("sum", "mean", "max", "min", "logsumexp", "softmax", "log_softmax")
    }
    functions["norm 1"] = lambda x, axis: wj.norm(x, 1, axis)
    host = jx.devices("cpu")[0]
    for x in _jax_arrays(jx):
        for name, function in functions.items():
            y = np.asarray(function(x, axis=-1))
            above = np.linspace(-1, 1, y.size).reshape(y.shape).astype(y.dtype)

            def slope(x: Any, above: Any, f: Any = function) -> Any:
                return jx.vjp(lambda x: f(x, axis=-1), x)[1](above)[0]

            with jx.default_device(host):
                expected = jx.jit(slope)(np.asarray(x), above)
            table.compare(f"gradient of {name}", jx.jit(slope)(x, above), expected)


def _jax_shards(table: Table, jx: Any, devices: list[Any]) -> None:
    import warp_reduce.jax as wj

    mesh = jx.sharding.Mesh(np.array(devices), ("rows",))
    rows = jx.sharding.PartitionSpec("rows")
    x = RANDOM.standard_normal((6 * len(devices), 1000)).astype(np.float32)
    for mine, expected in (
        (wj.softmax, warp_reduce.softmax(x)),
        (lambda x: wj.sum(x, axis=1), warp_reduce.sum(x, axis=1)),
    ):
        sharded = jx.shard_map(mine, mesh=mesh, in_specs=rows, out_specs=rows, check_vma=False)
        table.compare(f"shard_map over {len(devices)}", jx.jit(sharded)(x), expected)


# ---- the program


def one(name: str, on_gpu: bool) -> int:
    if importlib.util.find_spec(name) is None:
        print(f"| {name} | not installed | | |")
        return 0
    table = Table(name)
    problem = globals()[name](table, on_gpu)
    print(f"| {name} | {problem} | | |" if problem else table)
    return int(table.different != 0)


def all_of(device: str) -> int:
    print("| framework | what | results | that differ |\n|---|---|--:|--:|", flush=True)
    environment = {**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    program = [sys.executable, __file__, "--device", device, "--framework"]
    running = [
        subprocess.Popen([*program, name], stdout=subprocess.PIPE, text=True, env=environment) for name in FRAMEWORKS
    ]
    status = 0
    for name, process in zip(FRAMEWORKS, running):
        text = process.communicate()[0]
        print(text, end="", flush=True)
        if process.returncode != 0:
            failed = process.returncode != 1 or not text
            if failed:
                print(f"| {name} | did not end: status {process.returncode} | | |")
            status = max(status, 2 if failed else 1)
    return status


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--framework", choices=FRAMEWORKS, help="this one alone")
    given = parser.parse_args()
    if given.framework:
        return one(given.framework, given.device == "cuda")
    return all_of(given.device)


if __name__ == "__main__":
    sys.exit(main())
