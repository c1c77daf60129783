"""The tensors that a job reads and writes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from .elements import ElementType
from .shapes import BACKWARD, Job

TORCH_TYPES = {
    "f32": torch.float32,
    "f64": torch.float64,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i8": torch.int8,
    "i64": torch.int64,
    "koalabear": torch.int32,
    "koalabear_x4": torch.int32,
    "goldilocks": torch.int64,
}
# Below the modulus of every field of such words.
WORDS_BELOW = {torch.int32: 1 << 30, torch.int64: 1 << 62, torch.int8: 100}


@dataclass
class Data:
    """One set of buffers, shaped as PyTorch's functions take them; `dim` is the axis there."""

    x: torch.Tensor
    out: torch.Tensor
    dim: int
    gradient: torch.Tensor | None = None
    mask: torch.Tensor | None = None
    excluded: torch.Tensor | None = None
    lengths: torch.Tensor | None = None
    offsets: torch.Tensor | None = None
    weights: torch.Tensor | None = None
    statistics: torch.Tensor | None = None
    elements: int = 0


def _filled(count: int, element: ElementType, device: str, shift: int = 0) -> torch.Tensor:
    kind = TORCH_TYPES[element.name]
    tensor = torch.empty((count + shift) * element.words, dtype=kind, device=device)
    if kind in WORDS_BELOW:
        tensor.random_(0, WORDS_BELOW[kind])
    else:
        tensor.normal_(0, 2)
    return tensor[shift:]


def _shape(job: Job) -> tuple[tuple[int, ...], int]:
    """As a person would shape it for PyTorch, and the axis."""
    if job.inner == 1:
        return ((job.axis,), 0) if job.outer == 1 and not job.is_of_rows else ((job.outer, job.axis), 1)
    return ((job.axis, job.inner), 0) if job.outer == 1 else ((job.outer, job.axis, job.inner), 1)


def make(job: Job, device: str) -> Data:
    if job.ragged:
        return _ragged(job, device)
    shape, dim = _shape(job)
    x = _filled(job.elements, job.element, device, job.shift)
    if job.operation in BACKWARD:  # what is saved is a logarithm, or a share of the weight
        x = x.abs_().mul_(0.1).neg_() if job.operation.startswith("log") else x.abs_().mul_(1 / job.axis)
    if job.operation == "product":
        x = x.mul_(0.001).add_(1)
    out_shape = shape if job.is_of_rows else tuple(n for at, n in enumerate(shape) if at != dim)
    words = job.output.words
    data = Data(
        x=x if job.element.words > 1 else x.view(shape),
        out=torch.empty(
            out_shape if words == 1 else (*out_shape, words), dtype=TORCH_TYPES[job.output.name], device=device
        ),
        dim=dim,
        elements=job.elements,
    )
    if job.operation in BACKWARD:
        data.gradient = _filled(job.elements, job.element, device).view(shape)
    if job.mask < 1:
        data.mask = torch.rand(shape, device=device).lt_(job.mask).to(torch.uint8)
        data.excluded = data.mask == 0
    if job.lengths:
        data.lengths = torch.randint(1, job.axis + 1, (job.outer,), dtype=torch.int64, device=device)
    if job.causal:
        data.excluded = torch.ones(job.axis, job.axis, dtype=torch.bool, device=device).triu_(1)
        data.excluded = data.excluded[: min(job.outer, job.axis)]
    if job.weights is not None:
        data.weights = _filled(job.axis, job.weights, device)
    if job.operation in BACKWARD and not job.logits:
        _clear_what_took_no_part(data, job)
    if job.statistics or job.logits:
        data.statistics = torch.empty(job.outer, dtype=torch.float32, device=device)
        data.statistics.fill_(math.log(job.axis) + 2.0)
    return data


def _clear_what_took_no_part(data: Data, job: Job) -> None:
    """As the forward call left it; so the gradient is 0 there for PyTorch too, which is told of no mask."""
    if data.excluded is not None:
        rows = data.excluded.shape[0]
        data.x.view(-1, rows, job.axis).masked_fill_(data.excluded, 0)
    if data.lengths is not None:
        positions = torch.arange(job.axis, device=data.x.device)
        data.x.masked_fill_(positions >= data.lengths[:, None], 0)


def _ragged(job: Job, device: str) -> Data:
    least, most = job.ragged
    lengths = torch.randint(least, most + 1, (job.outer,), generator=torch.Generator().manual_seed(1))
    offsets = torch.zeros(job.outer + 1, dtype=torch.int64)
    torch.cumsum(lengths, 0, out=offsets[1:])
    total = int(offsets[-1])
    out = torch.empty(total if job.is_of_rows else job.outer, dtype=TORCH_TYPES[job.output.name], device=device)
    x = _filled(total, job.element, device)
    return Data(x=x, out=out, dim=0, offsets=offsets.to(device), elements=total)


def poison(data: Data) -> None:
    data.out.fill_(math.nan if data.out.is_floating_point() else -77)
