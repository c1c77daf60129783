"""Our calls on a job's data, through the C interface of any build of the library."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import byref

import torch

from .arguments import arguments
from .builds import Build
from .data import Data
from .shapes import BACKWARD, Job

Call = Callable[[], object]


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


def call(build: Build, job: Job, data: Data, stream: int, with_workspace: bool = True) -> Call:
    args = arguments(job, elements=data.elements)
    for field, tensor in _pointers(job, data).items():
        if tensor is not None:
            setattr(args, field, tensor.data_ptr())
    wanted, workspace = build.workspace_size(args), None
    if with_workspace:
        workspace = torch.empty(max(wanted, 16), dtype=torch.uint8, device=data.x.device)
        args.workspace, args.workspace_bytes = workspace.data_ptr(), workspace.numel()
    function = build.call_of(args)
    reference = byref(args)

    # What is called must outlive the call: it stands in the defaults, and a call costs no more than ctypes does.
    def run(function=function, reference=reference, stream=stream, kept=(args, workspace, data)):
        status = function(reference, stream)
        if status:
            raise RuntimeError(build.said(status))

    return run
