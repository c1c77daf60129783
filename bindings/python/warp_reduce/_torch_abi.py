"""PyTorch's libraries, in which `_native` finds its C interface, and what it has to be shown to know a tensor."""

from __future__ import annotations

import contextlib
import os
from functools import cache
from typing import Any

from . import _native

DEVICES = ("CPU", "CUDA")

# Keys that a thread has while a mode sees its operators: those of tracers, fake tensors, transforms.
_MODES = (
    *("Python", "Functionalize", "FuncTorchDynamicLayerFrontMode", "FuncTorchDynamicLayerBackMode"),
    *("FuncTorchVmapMode", "PreDispatch", "PythonDispatcher", "Tracer"),
)


@cache
def open_torch(torch: Any) -> str | None:
    """None, or the name that this PyTorch lacks."""
    folder = os.path.join(os.path.dirname(torch.__file__), "lib")
    cuda = os.path.join(folder, "libtorch_cuda.so")
    has_cuda = torch.version.cuda is not None and os.path.exists(cuda)
    excluded = torch._C._dispatch_tls_local_exclude_set
    before = excluded().raw_repr()
    with torch._C._AutoDispatchBelowAutograd():
        keys = excluded().raw_repr() & ~before
    missing = _native.torch_open(os.path.join(folder, "libtorch_cpu.so"), cuda if has_cuda else None, keys)
    if missing is None:
        with contextlib.suppress(AttributeError, RuntimeError):  # what is not learnt is done in other ways
            _learn(torch, os.path.join(folder, "libtorch_python.so"))
    return missing


def _learn(torch: Any, library: str) -> None:
    """Shows the adapter tensors of which it is known what they are, so that it finds its way in others."""
    keys, key = torch._C.DispatchKeySet, torch._C.DispatchKey
    plain = torch.empty(2)
    shown = (plain, torch._neg_view(plain), torch._conj(plain.to(torch.complex64)), torch.empty(2, device="meta"))
    examples = tuple((x, x._cdata, torch._C._dispatch_keys(x).raw_repr()) for x in shown)
    plain_keys = torch._C._dispatch_keys(plain).raw_repr()
    for name in DEVICES:  # autocast has rules for functions that are called, and none for those of their kernels
        plain_keys |= keys(getattr(key, name)).raw_repr() | keys(getattr(key, f"Autocast{name}")).raw_repr()
    modes = tuple(torch._C._parse_dispatch_key(name).value for name in _MODES)
    _native.torch_types({dtype: number for number, dtype in numbers(torch).items()})
    _native.torch_learn(library, (torch.Tensor, torch.nn.Parameter), examples, plain_keys, modes)


def numbers(torch: Any) -> dict[int, Any]:
    """Element types by c10::ScalarType."""
    return {
        **dict(enumerate((torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64))),
        **dict(enumerate((torch.float16, torch.float32, torch.float64, torch.complex32, torch.complex64), start=5)),
        **{10: torch.complex128, 11: torch.bool, 15: torch.bfloat16, 23: torch.float8_e5m2, 24: torch.float8_e4m3fn},
        **dict(enumerate((torch.uint16, torch.uint32, torch.uint64), start=27)),
    }
