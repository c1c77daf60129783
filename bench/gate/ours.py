"""Our calls on a job's data, through the C interface of any build of the library."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import byref
from pathlib import Path

import torch
from wr.library import Library, ReduceArgs, SegmentsArgs, SoftmaxArgs, SoftmaxBackwardArgs

from .arguments import arguments
from .data import Data
from .shapes import BACKWARD, Job

Call = Callable[[], object]

CALLS = {
    ReduceArgs: "wr_reduce_ex",
    SegmentsArgs: "wr_reduce_segments_ex",
    SoftmaxArgs: "wr_softmax_ex",
    SoftmaxBackwardArgs: "wr_softmax_backward_ex",
}


def load(path: Path) -> Library:
    """Loaded by its path, so that two builds can be called in one process."""
    return Library(ctypes.CDLL(str(path)), str(path))


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
    function = library._functions[CALLS[type(args)]]
    reference = byref(args)

    # What is called must outlive the call: it stands in the defaults, and a call costs no more than ctypes does.
    def run(function=function, reference=reference, stream=stream, kept=(args, workspace, data)):
        status = function(reference, stream)
        if status:
            raise RuntimeError(f"{job.name}: {library.status_name(status)}: {library.status_string(status)}")

    return run
