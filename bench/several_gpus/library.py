"""The library's calls on shards and on whole axes, on tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ctypes import Structure, byref, c_int, c_size_t, c_void_p
from pathlib import Path
from typing import NamedTuple

import torch
from gate.builds import Build
from gate.header import args, number

from .worlds import World

CODES = {
    torch.float32: "WR_F32",
    torch.float64: "WR_F64",
    torch.float16: "WR_F16",
    torch.bfloat16: "WR_BF16",
}
INDICES = ("argmax", "argmin")
SOFTMAX = ("softmax", "log_softmax")


class Job(NamedTuple):
    """An operation along the second dimension of a tensor of `rows` rows."""

    op: str
    dtype: torch.dtype
    rows: int
    axis: int

    @property
    def name(self) -> str:
        return f"{self.op} {str(self.dtype)[6:]} {self.rows} x {self.axis}"

    @property
    def is_softmax(self) -> bool:
        return self.op in SOFTMAX

    @property
    def bytes(self) -> int:
        """Read and written."""
        return self.rows * self.axis * self.dtype.itemsize * (2 if self.is_softmax else 1)

    def output_like(self, x: torch.Tensor) -> torch.Tensor:
        if self.is_softmax:
            return torch.empty_like(x)
        return torch.empty(self.rows, dtype=torch.int64 if self.op in INDICES else self.dtype, device=x.device)

    def args(self, x: torch.Tensor, output: torch.Tensor) -> Structure:
        of_x = {"dtype": number(CODES[x.dtype]), "outer": x.shape[0], "axis": x.shape[1], "inner": 1}
        pointers = {"input": x.data_ptr(), "output": output.data_ptr()}
        if self.is_softmax:
            return args("wr_softmax_args", log=int(self.op == "log_softmax"), **of_x, **pointers)
        given = {"output_dtype": number("WR_F32")} if output.dtype != self.dtype and self.op not in INDICES else {}
        return args("wr_reduce_args", op=number(f"WR_{self.op.upper()}"), **of_x, **pointers, **given)


class Failed(RuntimeError):
    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status = status


class Library:
    def __init__(self, path: Path) -> None:
        self.build = Build(path)
        self.host_stream = self.build.host_stream

    def check(self, status: int) -> None:
        if status:
            raise Failed(status, self.build.said(status))

    def whole(self, job: Job, x: torch.Tensor, output: torch.Tensor, stream: int) -> Callable[[], None]:
        """One call on one GPU. What is called must outlive the call: it stands in the function."""
        given = job.args(x, output)
        function = self.build.call_of(given)
        kept = (given, x, output)

        def run() -> None:
            self.check(function(byref(kept[0]), stream))

        return run

    def shards(
        self,
        world: World,
        rank: int,
        job: Job,
        counts: Sequence[int],
        x: torch.Tensor,
        output: torch.Tensor,
        told: torch.Tensor | None = None,
        lent: bool = True,
        **changed: float,
    ) -> Callable[[], None]:
        """This rank's call. told: where the check goes, an int32. lent: a workspace of zeros, not the library's."""
        given = job.args(x, output)
        for field, value in changed.items():
            setattr(given, field, value)
        all_counts = (c_size_t * len(counts))(*counts)
        name = "wr_nccl_softmax" if job.is_softmax else "wr_nccl_reduce"
        size = c_size_t()
        ask = self.build._function(f"{name}_workspace_size", c_int, *(c_void_p, c_void_p, c_size_t, c_size_t, c_void_p))
        self.check(ask(byref(given), all_counts, world.ranks, rank, byref(size)))
        workspace = torch.zeros(size.value + 16, dtype=torch.uint8, device=x.device)
        if lent:
            given.workspace, given.workspace_bytes = workspace.data_ptr() + (-workspace.data_ptr()) % 16, size.value
        function = self.build._function(name, c_int, *(c_void_p, c_void_p, c_void_p, c_void_p, c_void_p))
        check = None if told is None else c_void_p(told.data_ptr())
        communicator, stream = world.communicator(rank), world.stream(rank)
        kept = (given, all_counts, workspace, x, output, told)

        def run() -> None:
            self.check(function(byref(kept[0]), kept[1], check, communicator, stream))

        return run
