"""Arrays of NumPy, CuPy and PyTorch by one set of functions: where they lie, and how others are made beside them."""

from __future__ import annotations

import contextlib
import importlib
import operator
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, Protocol

import numpy as np

from . import _native
from ._elements import U8
from ._library import load_library
from ._reused_memory import reused_memory
from ._torch_abi import open_torch
from ._types import NAMES, OTHER_NAMES, Kind, numpy_dtype, numpy_kind

Array = Any  # of any framework
CUDA = 2  # DLPack's device type


class Framework(Protocol):
    """What is asked of a framework. Strides are in bytes; new arrays lie on the device of `like`."""

    on_host: bool

    def kind(self, x: Array) -> Kind: ...
    def shape(self, x: Array) -> tuple[int, ...]: ...
    def strides(self, x: Array) -> tuple[int, ...]: ...
    def item_size(self, x: Array) -> int: ...
    def pointer(self, x: Array) -> int: ...
    def stream(self, x: Array) -> int: ...
    def device(self, x: Array) -> AbstractContextManager[Any]: ...
    def empty(self, like: Array, shape: Sequence[int], kind: Kind) -> Array: ...
    def memory(self, like: Array, size: int) -> Array: ...
    def permuted(self, x: Array, order: Sequence[int]) -> Array: ...
    def contiguous(self, x: Array) -> Array: ...
    def copy(self, x: Array) -> Array: ...
    def converted(self, x: Array, kind: Kind) -> Array: ...
    def broadcast(self, x: Array, shape: Sequence[int]) -> Array: ...
    def filled(self, x: Array, where: Array, value: np.ndarray) -> Array: ...
    def beside(self, x: Any, like: Array) -> Array: ...
    def is_writable(self, x: Array) -> bool: ...
    def overlap(self, x: Array, y: Array) -> bool: ...
    def assign(self, target: Array, source: Array) -> None: ...
    def result(self, x: Array) -> Any: ...


class ArrayModule:
    """NumPy, and CuPy, which is NumPy on a GPU."""

    def __init__(self, module: Any, on_host: bool) -> None:
        self.module = module
        self.on_host = on_host

    def kind(self, x: Array) -> Kind:
        return numpy_kind(x.dtype)

    def shape(self, x: Array) -> tuple[int, ...]:
        return x.shape

    def strides(self, x: Array) -> tuple[int, ...]:
        return x.strides

    def item_size(self, x: Array) -> int:
        return x.dtype.itemsize

    def pointer(self, x: Array) -> int:
        return x.ctypes.data if self.on_host else x.data.ptr

    def stream(self, x: Array) -> int:
        return load_library().host_stream if self.on_host else self.module.cuda.get_current_stream().ptr

    def device(self, x: Array) -> AbstractContextManager[Any]:
        return contextlib.nullcontext() if self.on_host else x.device

    def empty(self, like: Array, shape: Sequence[int], kind: Kind) -> Array:
        own = like.dtype.newbyteorder("=") if kind == self.kind(like) else numpy_dtype(kind)
        with self.device(like):
            return self.module.empty(tuple(shape), own)

    def memory(self, like: Array, size: int) -> Array:
        if self.on_host:
            return reused_memory(size)
        with self.device(like):
            return self.module.empty(size, self.module.uint8)

    def permuted(self, x: Array, order: Sequence[int]) -> Array:
        return x.transpose(order)

    def contiguous(self, x: Array) -> Array:
        """In C order, in this machine's byte order, where its elements' addresses should be."""
        if not self.on_host:
            with self.device(x):
                return self.module.ascontiguousarray(x)
        native = x if x.dtype.isnative else x.astype(x.dtype.newbyteorder("="))
        return self.module.require(native, requirements=["C", "A"])

    def copy(self, x: Array) -> Array:
        with self.device(x):
            return x.copy()

    def converted(self, x: Array, kind: Kind) -> Array:
        with self.device(x):
            return x.astype(numpy_dtype(kind))

    def broadcast(self, x: Array, shape: Sequence[int]) -> Array:
        return self.module.broadcast_to(x, tuple(shape))

    def filled(self, x: Array, where: Array, value: np.ndarray) -> Array:
        filler = value.view(x.dtype)
        with self.device(x):  # a number is an argument of CuPy's kernel, an array is copied to the GPU first
            return self.module.where(where, x, filler[()] if filler.ndim == 0 else self.module.asarray(filler))

    def beside(self, x: Any, like: Array) -> Array:
        return self.module.asarray(x)

    def is_writable(self, x: Array) -> bool:
        return bool(x.flags.writeable) if self.on_host else True

    def overlap(self, x: Array, y: Array) -> bool:
        return bool(self.module.may_share_memory(x, y))

    def assign(self, target: Array, source: Array) -> None:
        if not np.can_cast(source.dtype, target.dtype, "same_kind"):
            raise TypeError(f"a result of {source.dtype} cannot be stored in an array of {target.dtype}; give another")
        target[...] = source

    def result(self, x: Array) -> Any:
        """NumPy's functions give a number where nothing is left of the shape."""
        return x[()] if self.on_host else x


class Torch:
    """PyTorch's tensors, of the CPU and of GPUs."""

    def __init__(self, module: Any, on_host: bool) -> None:
        self.module = module
        self.on_host = on_host

    def kind(self, x: Array) -> Kind:
        name = str(x.dtype).rpartition(".")[2]
        if name == "bool":
            return numpy_kind(np.dtype(np.bool_))
        if name not in NAMES:
            raise TypeError(f"tensors of {x.dtype} are not taken; convert it to one of {', '.join(NAMES)} or bool")
        return NAMES[name], False

    def _dtype(self, kind: Kind) -> Any:
        element, is_bool = kind
        names = {each: name for name, each in NAMES.items()}
        return self.module.bool if is_bool else getattr(self.module, names.get(element, element.word.name))

    def shape(self, x: Array) -> tuple[int, ...]:
        return tuple(x.shape)

    def strides(self, x: Array) -> tuple[int, ...]:
        return tuple(each * x.element_size() for each in x.stride())

    def item_size(self, x: Array) -> int:
        return x.element_size()

    def pointer(self, x: Array) -> int:
        return x.data_ptr()

    def stream(self, x: Array) -> int:
        return load_library().host_stream if self.on_host else self.module.cuda.current_stream(x.device).cuda_stream

    def device(self, x: Array) -> AbstractContextManager[Any]:
        return contextlib.nullcontext() if self.on_host else self.module.cuda.device(x.device)

    def empty(self, like: Array, shape: Sequence[int], kind: Kind) -> Array:
        return self.module.empty(tuple(shape), dtype=self._dtype(kind), device=like.device)

    def memory(self, like: Array, size: int) -> Array:
        return self.module.empty(size, dtype=self.module.uint8, device=like.device)

    def permuted(self, x: Array, order: Sequence[int]) -> Array:
        return x.permute(tuple(order))

    def contiguous(self, x: Array) -> Array:
        return x.contiguous()

    def copy(self, x: Array) -> Array:
        return x.clone()

    def converted(self, x: Array, kind: Kind) -> Array:
        return x.to(self._dtype(kind))

    def broadcast(self, x: Array, shape: Sequence[int]) -> Array:
        return x.broadcast_to(tuple(shape))

    def filled(self, x: Array, where: Array, value: np.ndarray) -> Array:
        """By the bits, since PyTorch's own choice does not know all types."""
        word = _WORDS[x.element_size()]
        words = value.reshape(-1).view(word).reshape(value.shape)
        filler = int(words) if words.ndim == 0 else self.module.from_numpy(words).to(x.device)
        return self.module.where(where, x.view(getattr(self.module, word.name)), filler).view(x.dtype)

    def beside(self, x: Any, like: Array) -> Array:
        return self.module.as_tensor(x, device=like.device)

    def is_writable(self, x: Array) -> bool:
        return True

    def overlap(self, x: Array, y: Array) -> bool:
        return x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()

    def assign(self, target: Array, source: Array) -> None:
        target.copy_(source)

    def result(self, x: Array) -> Any:
        return x


class Jax(ArrayModule):
    """JAX's arrays, as NumPy sees them (those of a GPU are copied to the host); results go to where the input was."""

    def __init__(self, module: Any, device: Any) -> None:
        super().__init__(np, on_host=True)
        self._jax = module
        self._device = device

    def result(self, x: Array) -> Any:
        return self._jax.device_put(x, self._device)


NUMPY = ArrayModule(np, on_host=True)


_WORDS = {size: np.dtype(f"i{size}") for size in (1, 2, 4, 8)}

# ---- what `_native` is told of a framework when its first array is met, so that it can ask for itself


@cache
def _introduce_cupy(module: Any) -> None:
    codes: dict[Any, tuple[int, bool]] = {
        np.dtype(name): (each.code, False) for name, each in NAMES.items() if name not in OTHER_NAMES
    }
    codes[np.dtype(np.bool_)] = U8.code, True
    ask = operator.attrgetter
    _native.set_framework(
        *(module.ndarray, ask("data.ptr"), ask("shape"), ask("strides"), ask("dtype"), ask("device.id")),
        *(None, lambda _: module.cuda.get_current_stream().ptr, lambda _, *how: module.ndarray(*how)),
        lambda x, where, word: module.where(where, x, _WORDS[x.itemsize].type(word).view(x.dtype)),
        *(True, codes, tuple(codes)),
    )


_fillers: dict[Any, Any] = {}  # a tensor of one element by type, device and bits


def _fill_tensor(torch: Any, words: dict[int, Any], x: Array, where: Array, word: int) -> Array:
    """x, but an element of the bits `word` where it takes no part."""
    key = x.dtype, x.device, word
    filler = _fillers.get(key)
    if filler is not None:
        return torch.where(where, x, filler)
    with_words = torch.where(where, x.view(words[x.element_size()]), word).view(x.dtype)
    # Of unsigned words PyTorch has no kernel; what is made during a capture has no value yet.
    if x.dtype.is_signed and not (x.is_cuda and torch.cuda.is_current_stream_capturing()):
        made = torch.tensor(word, dtype=words[x.element_size()]).view(x.dtype)
        _fillers[key] = made.to(x.device)  # which waits for the copy, so that every stream may read it
    return with_words


@cache
def _introduce_torch(module: Any) -> None:
    with contextlib.suppress(AttributeError):  # of an old PyTorch, which is asked by what it has in Python
        open_torch(module)
    tensor, words = module.Tensor, {size: getattr(module, each.name) for size, each in _WORDS.items()}
    raw = getattr(module._C, "_cuda_getCurrentRawStream", None)  # PyTorch's own compiler asks it
    codes: dict[Any, tuple[int, bool]] = {
        getattr(module, name): (each.code, False) for name, each in NAMES.items() if hasattr(module, name)
    }
    codes[module.bool] = U8.code, True
    _native.set_framework(
        *(tensor, tensor.data_ptr, operator.attrgetter("shape"), tensor.stride, operator.attrgetter("dtype")),
        *(tensor.get_device, lambda x: x.requires_grad or x.is_neg()),
        raw or (lambda device: module.cuda.current_stream(device).cuda_stream),
        lambda x, shape, dtype: x.new_empty(shape) if dtype is x.dtype else x.new_empty(shape, dtype=dtype),
        lambda x, where, word: _fill_tensor(module, words, x, where, word),
        *(False, codes, tuple(codes)),
    )
    for name, each in NAMES.items():
        if name not in OTHER_NAMES and hasattr(module, name):
            _native.set_dtype(getattr(module, name), each.code, np.dtype(name))


def adopt(x: Any) -> tuple[Framework, Array]:
    """An object as an array of the framework that it is of. What is of none is NumPy's, as numpy.asarray sees it."""
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError("a masked array's mask would be lost; give x.data and where=~x.mask")
    if isinstance(x, np.ndarray):
        return NUMPY, x.view(np.ndarray)
    origin = type(x).__module__.partition(".")[0]
    if origin == "torch" and hasattr(x, "data_ptr"):
        return _torch(x)
    if origin == "cupy":
        _introduce_cupy(sys.modules["cupy"])
        return ArrayModule(sys.modules["cupy"], on_host=False), x
    if origin in ("jax", "jaxlib") and hasattr(x, "sharding"):
        devices = list(x.devices())
        return Jax(sys.modules["jax"], devices[0] if len(devices) == 1 else None), np.asarray(x)
    if not hasattr(x, "__array__") and (hasattr(x, "__dlpack__") or hasattr(x, "__cuda_array_interface__")):
        return adopt(_lent(x))
    return NUMPY, np.asarray(x)


def _lent(x: Any) -> Any:
    """The memory of an array of a framework that is not known here, as an array of one that is; nothing is copied."""
    on_gpu = hasattr(x, "__cuda_array_interface__") or int(x.__dlpack_device__()[0]) == CUDA
    if not on_gpu:
        return np.from_dlpack(x)
    for name in ("cupy", "torch"):
        with contextlib.suppress(ImportError):
            module = importlib.import_module(name)
            if hasattr(x, "__dlpack__"):
                return module.from_dlpack(x)
            return module.asarray(x) if name == "cupy" else module.as_tensor(x, device="cuda")
    raise TypeError(
        f"arrays of {type(x).__module__}.{type(x).__qualname__} on a GPU need CuPy or PyTorch, whose the result then"
        " is; install one of them"
    )


def _torch(x: Any) -> tuple[Framework, Array]:
    torch = sys.modules["torch"]
    _introduce_torch(torch)
    if x.device.type not in ("cpu", "cuda"):
        raise TypeError(f"tensors on {x.device} are not taken; move it to the CPU or a CUDA GPU")
    if x.requires_grad and torch.is_grad_enabled():
        raise TypeError("this function knows no gradients; give x.detach(), or use the one of warp_reduce.torch")
    return Torch(torch, on_host=x.device.type == "cpu"), x.resolve_neg()
