"""Our calls on a job's data, through the C interface of any build of the library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from warp_reduce._library import Library

from .arguments import arguments
from .data import Data
from .shapes import BACKWARD, Job

Call = Callable[[], object]


def load(path: Path) -> Library:
    """Loaded by its path, so that two builds can be called in one process."""
    return Library(str(path), str(path))


def _pointers(job: Job, data: Data) -> dict[str, torch.Tensor | None]:
    if job.operation in BACKWARD:
        saved = {"input": data.x, "logsumexp": data.statistics} if job.logits else {"output": data.x}
        return {
            **saved,
            "output_gradient": data.gradient,
            "input_gradient": data.out,
            "mask": data.mask,
            "lengths": data.lengths,
        }
    pointers = {"input": data.x, "output": data.out, "offsets": data.offsets}
    if job.operation in ("softmax", "log_softmax"):
        return {**pointers, "mask": data.mask, "lengths": data.lengths, "logsumexp": data.statistics}
    return {**pointers, "weights": data.weights}


def call(library: Library, job: Job, data: Data, stream: int, with_workspace: bool = True) -> Call:
    args = arguments(job, elements=data.elements)
    for field, tensor in _pointers(job, data).items():
        if tensor is not None:
            setattr(args, field, tensor.data_ptr())
    workspace = None
    if with_workspace:
        workspace = torch.empty(max(library.workspace_size(args), 16), dtype=torch.uint8, device=data.x.device)
        args.workspace, args.workspace_bytes = workspace.data_ptr(), workspace.numel()
    prepared = library.prepared(args, stream)

    # What is called must outlive the call: it stands in the defaults, and a call costs little more than C's.
    def run(prepared=prepared, kept=(workspace, data)):
        status = prepared()
        if status:
            raise RuntimeError(f"{job.name}: {library.status_name(status)}: {library.status_string(status)}")

    return run
