"""A job's tensors: the whole axis on the first rank's device, and each rank's shard on its own."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

import torch

from .library import Job, Library
from .worlds import World


class Shards(NamedTuple):
    counts: list[int]
    x: list[torch.Tensor]
    outputs: list[torch.Tensor]


def even_counts(axis: int, ranks: int) -> list[int]:
    return [axis * (rank + 1) // ranks - axis * rank // ranks for rank in range(ranks)]


def any_counts(axis: int, ranks: int, seed: int) -> list[int]:
    """Some of them of few elements, or of none."""
    rng = random.Random(seed)
    cuts = sorted(rng.choice((0, 1, 7, axis // 3, axis, rng.randint(0, axis))) for _ in range(ranks - 1))
    ends = [*cuts, axis]
    return [end - begin for begin, end in zip([0, *cuts], ends)]


def values(world: World, job: Job, seed: int = 1) -> torch.Tensor:
    """Of many magnitudes, so that sums in another order have other bits."""
    device = world.device(0)
    generator = torch.Generator(device=device).manual_seed(seed)
    x = torch.randn(job.rows, job.axis, generator=generator, device=device, dtype=torch.float32)
    return (x.mul_(5) if job.is_softmax else x.pow_(3)).to(job.dtype)


def one_call(world: World, library: Library, job: Job, x: torch.Tensor) -> torch.Tensor:
    output = job.output_like(x)

    def run(rank: int) -> None:
        if rank == 0:
            library.whole(job, x, output, world.stream_of_one_call(0, library.host_stream))()
            world.wait(0)

    settle(world)
    world.on_every_rank(run)
    return output


def settle(world: World) -> None:
    """Tensors are made on streams of their own."""
    for rank in range(world.ranks):
        if world.device(rank).type == "cuda":
            torch.cuda.synchronize(rank)


def cut(world: World, job: Job, x: torch.Tensor, counts: Sequence[int]) -> Shards:
    parts = []
    for rank, part in enumerate(x.split(list(counts), dim=1)):
        parts.append(part.contiguous() if world.ranks == 1 else part.to(world.device(rank), copy=True).contiguous())
    outputs = [poisoned(job.output_like(part)) for part in parts]
    settle(world)
    return Shards(list(counts), parts, outputs)


def poisoned(x: torch.Tensor) -> torch.Tensor:
    x.view(torch.uint8).fill_(0xA5)
    return x


def bytes_of(x: torch.Tensor) -> torch.Tensor:
    return x.contiguous().view(torch.uint8).cpu()


def is_poisoned(x: torch.Tensor) -> bool:
    return bool((bytes_of(x) == 0xA5).all())


def same_bits(job: Job, shards: Shards, expected: torch.Tensor) -> list[int]:
    """The ranks whose bits are others."""
    parts = expected.split(shards.counts, dim=1) if job.is_softmax else [expected] * len(shards.counts)
    return [
        rank
        for rank, (found, wanted) in enumerate(zip(shards.outputs, parts))
        if not torch.equal(bytes_of(found), bytes_of(wanted))
    ]
