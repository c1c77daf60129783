"""Times of jobs on shards, beside one GPU and beside NCCL's all-reduces: one job for all ranks, and a job each."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from .bits import VOCABULARY
from .library import Job, Library
from .peers import WITH_PEERS, bare, of_nccl
from .shards import cut, even_counts, one_call, same_bits, settle, values
from .timing import us_a_call
from .worlds import World


class Scaled(NamedTuple):
    """A job whose axis is the same for every number of ranks (strong), or as long as there are ranks (weak)."""

    kind: str
    job: Job

    def on(self, ranks: int) -> Job:
        return self.job._replace(axis=self.job.axis * ranks) if self.kind == "weak" else self.job


def jobs(small: bool) -> list[Scaled]:
    f32, bf16 = torch.float32, torch.bfloat16
    long, part, rows = (40_000, 10_000, (1, 3)) if small else (1 << 30, 1 << 28, (1, 64, 2048))
    strong = [Job("sum", f32, 1, long), Job("sum_exact", f32, 1, long), Job("sum", bf16, 1, long)]
    strong += [Job("sum", f32, 1, long >> 8), Job("argmax", f32, rows[1], VOCABULARY)]
    strong += [Job("log_softmax", dtype, each, VOCABULARY) for dtype in (f32, bf16) for each in rows]
    weak = [
        Job("sum", f32, 1, part),
        Job("sum_exact", f32, 1, part),
        Job("log_softmax", f32, rows[-1], VOCABULARY // 4),
    ]
    return [*(Scaled("strong", job) for job in strong), *(Scaled("weak", job) for job in weak)]


def measure(world: World, library: Library, scaled: Scaled) -> dict[str, Any]:
    job = scaled.on(world.ranks)
    x = values(world, job)
    expected = one_call(world, library, job, x)
    shards = cut(world, job, x, even_counts(job.axis, world.ranks))
    us: dict[str, float] = {}

    def sharded(rank: int) -> Any:
        return library.shards(world, rank, job, shards.counts, shards.x[rank], shards.outputs[rank])

    def whole(_rank: int) -> Any:
        stream = world.stream_of_one_call(0, library.host_stream)
        return library.whole(job, x, torch.empty_like(expected), stream)

    for graph in (False, True):
        suffix = ", graph" if graph else ""
        us[f"one GPU{suffix}"] = us_a_call(world, whole, graph, alone=True)
        us[f"shards{suffix}"] = us_a_call(world, sharded, graph)
        if job.op in WITH_PEERS:
            us[f"NCCL{suffix}"] = us_a_call(world, lambda r: of_nccl(world, library, r, job, shards.x[r]), graph)
        us[f"all-reduce alone{suffix}"] = us_a_call(world, lambda r: bare(world, r, job, shards.x[r]), graph)
    settle(world)
    differ = same_bits(job, shards, expected)
    return {
        "kind": scaled.kind,
        "job": job.name,
        "series": scaled.job.name,
        "ranks": world.ranks,
        "bytes": job.bytes,
        "us": us,
        "bits": "same" if not differ else f"differ on ranks {differ}",
        "ok": not differ,
    }
