"""Whether every rank has the bits of one call on one GPU, called and captured in a graph."""

from __future__ import annotations

import itertools
from typing import Any

import torch

from .library import Job, Library
from .shards import Shards, any_counts, cut, even_counts, one_call, poisoned, same_bits, settle, values
from .timing import captured
from .worlds import World

VOCABULARY = 151936
OPS = ("sum", "sum_exact", "mean", "norm_l2", "max", "argmax", "logsumexp", "softmax", "log_softmax")


def jobs(small: bool) -> list[Job]:
    rows = 2 if small else 16
    found = [Job(op, torch.float32, rows, 4099 if small else VOCABULARY) for op in OPS]
    found += [Job(op, torch.bfloat16, rows, 3001 if small else VOCABULARY) for op in ("sum", "softmax", "log_softmax")]
    return [*found, Job("sum", torch.float64, 3, 10007 if small else 1_000_003)]


def check(world: World, library: Library, small: bool) -> list[dict[str, Any]]:
    """Each job called and captured, with a workspace and with the library's own memory."""
    found = []
    ways = (False, True) if world.device(0).type == "cuda" else (False,)
    for seed, job in enumerate(jobs(small)):
        x = values(world, job, seed)
        expected = one_call(world, library, job, x)
        for counts in (even_counts(job.axis, world.ranks), any_counts(job.axis, world.ranks, seed)):
            shards = cut(world, job, x, counts)
            for graph, lent in itertools.product(ways, (True, False)):
                differ, told = _differ(world, library, job, shards, expected, graph, lent)
                found.append(
                    {"job": job.name, "ranks": world.ranks, "counts": counts, "graph": graph, "lent": lent}
                    | {"differ": differ, "told": told, "ok": not differ and not any(told)}
                )
    return found


def _differ(
    world: World, library: Library, job: Job, shards: Shards, expected: torch.Tensor, graph: bool, lent: bool
) -> tuple[list[int], list[int]]:
    """The ranks whose bits are others, and what each rank's check says. A graph is captured of other values."""
    checks = [torch.full((1,), -1, dtype=torch.int32, device=world.device(rank)) for rank in range(world.ranks)]
    for output in shards.outputs:
        poisoned(output)
    settle(world)

    def run(rank: int) -> None:
        x, output = shards.x[rank], shards.outputs[rank]
        call = library.shards(world, rank, job, shards.counts, x, output, checks[rank], lent)
        if graph:
            kept = x.clone()
            x.zero_()
            replayed = captured(call)
            replayed.replay()
            x.copy_(kept)
            replayed.replay()
        else:
            call()
        world.wait(rank)
        world.meet()

    world.on_every_rank(run)
    return same_bits(job, shards, expected), [int(each.item()) for each in checks]
