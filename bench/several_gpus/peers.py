"""The same results by what NCCL has: each rank's own call, and all-reduces of f32 in an order of NCCL's."""

from __future__ import annotations

from collections.abc import Callable

import torch

from .library import Job, Library
from .worlds import MAX, World

WITH_PEERS = ("sum", "sum_exact", "log_softmax")


def of_nccl(world: World, library: Library, rank: int, job: Job, x: torch.Tensor) -> Callable[[], None]:
    stream = world.stream_of_one_call(rank, library.host_stream)
    own = torch.empty(job.rows, dtype=torch.float32, device=x.device)
    if job.op != "log_softmax":
        local = library.whole(job._replace(op="sum"), x, own, stream)

        def total() -> None:
            local()
            world.all_reduce(rank, own)

        return total
    logsumexp = library.whole(job._replace(op="logsumexp"), x, own, stream)
    largest, summed, out = torch.empty_like(own), torch.empty_like(own), torch.empty_like(x)

    def log_probabilities() -> None:
        logsumexp()
        largest.copy_(own)
        world.all_reduce(rank, largest, MAX)
        torch.sub(own, largest, out=summed).exp_()
        world.all_reduce(rank, summed)
        summed.log_().add_(largest)
        torch.sub(x, summed[:, None], out=out)

    return log_probabilities


def bare(world: World, rank: int, job: Job, x: torch.Tensor) -> Callable[[], None]:
    """An all-reduce of a number a row: what any exchange costs at least."""
    own = torch.zeros(job.rows, dtype=torch.float32, device=x.device)
    return lambda: world.all_reduce(rank, own)
