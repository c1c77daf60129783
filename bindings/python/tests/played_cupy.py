"""A CuPy whose GPUs are played: arrays in the memory of the CPU, on devices of which one is current."""

from __future__ import annotations

import contextlib
import ctypes
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

STREAMS = 0x1000


class Gpus:
    """The current one, and all memory that was asked for, by address."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self.current = 0
        self.allocated: list[np.ndarray] = []

    def choose(self, number: int) -> None:
        self.current = number
        self._library.set_device(ctypes.c_int(number))

    def holds(self, address: int, size: int) -> bool:
        return any(
            each.ctypes.data <= address and address + size <= each.ctypes.data + each.nbytes for each in self.allocated
        )


gpus: Gpus


class Device:
    def __init__(self, number: int) -> None:
        self.id = number
        self._before: list[int] = []

    def __enter__(self) -> None:
        self._before.append(gpus.current)
        gpus.choose(self.id)

    def __exit__(self, *_: object) -> None:
        gpus.choose(self._before.pop())


class ndarray:  # noqa: N801
    __module__ = "cupy"

    def __init__(self, shape: Any, dtype: Any = np.float32, of: np.ndarray | None = None, device: int = -1) -> None:
        if of is None:
            of = np.empty(shape, dtype)
            gpus.allocated.append(of)
        self.of = of
        self.device = Device(gpus.current if device < 0 else device)

    @property
    def data(self) -> Any:
        return types.SimpleNamespace(ptr=self.of.ctypes.data)

    def __getattr__(self, name: str) -> Any:
        if name in ("shape", "strides", "dtype", "ndim", "size", "itemsize", "nbytes"):
            return getattr(self.of, name)
        raise AttributeError(name)

    def _wrapped(self, of: np.ndarray) -> ndarray:
        gpus.allocated.append(of)
        return ndarray(of.shape, of=of, device=self.device.id)

    def transpose(self, order: Sequence[int]) -> ndarray:
        return ndarray((), of=self.of.transpose(order), device=self.device.id)

    def reshape(self, *shape: Any) -> ndarray:
        return ndarray((), of=self.of.reshape(*shape), device=self.device.id)

    def view(self, dtype: Any) -> ndarray:
        return ndarray((), of=self.of.view(dtype), device=self.device.id)

    def __getitem__(self, place: Any) -> ndarray:
        return ndarray((), of=np.asarray(self.of[place]), device=self.device.id)

    def __setitem__(self, place: Any, x: Any) -> None:
        self.of[place] = x.of if isinstance(x, ndarray) else x

    def copy(self) -> ndarray:
        return self._wrapped(self.of.copy())

    def astype(self, dtype: Any) -> ndarray:
        return self._wrapped(self.of.astype(dtype))

    def get(self) -> np.ndarray:
        return self.of


def _plain(x: Any) -> Any:
    return x.of if isinstance(x, ndarray) else x


def install(library: Any) -> types.ModuleType:
    """As the module cupy, of which the package uses so much."""
    global gpus
    gpus = Gpus(library)
    module = types.ModuleType("cupy")

    def made(function: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> ndarray:
            of = np.array(function(*map(_plain, arguments), **options))
            gpus.allocated.append(of)
            return ndarray((), of=of)

        return call

    stream = types.SimpleNamespace
    vars(module).update(
        ndarray=ndarray,
        uint8=np.uint8,
        empty=lambda shape, dtype=np.float32: ndarray(shape, dtype),
        asarray=lambda x: x if isinstance(x, ndarray) else made(np.asarray)(x),
        ascontiguousarray=made(np.ascontiguousarray),
        where=made(np.where),
        broadcast_to=lambda x, shape: ndarray((), of=np.broadcast_to(x.of, shape), device=x.device.id),
        may_share_memory=lambda x, y: np.may_share_memory(x.of, y.of),
        cuda=types.SimpleNamespace(get_current_stream=lambda: stream(ptr=STREAMS + gpus.current), Device=Device),
        gpus=gpus,
    )
    sys.modules["cupy"] = module
    return module


@contextlib.contextmanager
def on(number: int) -> Iterator[None]:
    with Device(number):
        yield
