"""What comes back where a rank is refused, asks for something else, or is gone."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import byref, c_int, c_size_t, c_void_p
from typing import Any

import torch
from gate.header import number

from .library import Failed, Job, Library
from .shards import cut, even_counts, is_poisoned, one_call, same_bits, settle, values
from .worlds import FAILED, GONE, Gpus, Played, World

SECONDS_UNTIL_GONE = 2.0
SECONDS_UNTIL_STUCK = 15.0


def _status(call: Any) -> int:
    try:
        call()
    except Failed as refused:
        return refused.status
    return 0


class _Case:
    def __init__(self, world: World, library: Library, op: str = "sum") -> None:
        self.world, self.library = world, library
        self.job = Job(op, torch.float32, 4, 5000)
        self.x = values(world, self.job)
        self.shards = cut(world, self.job, self.x, even_counts(5000, world.ranks))
        self.told = [torch.full((1,), -1, dtype=torch.int32, device=world.device(r)) for r in range(world.ranks)]
        settle(world)

    def call(self, rank: int, **changed: float) -> Any:
        shards = self.shards
        given = (self.job, shards.counts, shards.x[rank], shards.outputs[rank], self.told[rank])
        return self.library.shards(self.world, rank, *given, **changed)

    def untouched(self) -> bool:
        return all(is_poisoned(each) for each in self.shards.outputs)


def refused(world: World, library: Library) -> dict[str, Any]:
    """Every rank by its own fault, so that none waits."""
    case = _Case(world, library)

    def run(rank: int) -> int:
        shards = case.shards
        wrong = [*shards.counts[:rank], shards.counts[rank] + 1, *shards.counts[rank + 1 :]]
        given = case.job.args(shards.x[rank], shards.outputs[rank])
        return _raw(library, world, rank, given, wrong)

    statuses = world.on_every_rank(run)
    wanted = number("WR_ERROR_INVALID_OPTION")
    return {
        "what": "counts of another shard",
        "statuses": statuses,
        "ok": case.untouched() and set(statuses) == {wanted},
    }


def _raw(library: Library, world: World, rank: int, given: Any, counts: list[int]) -> int:
    function = library.build._function("wr_nccl_reduce", c_int, *[c_void_p] * 5)
    return function(byref(given), (c_size_t * len(counts))(*counts), None, world.communicator(rank), world.stream(rank))


def differing(world: World, library: Library) -> dict[str, Any]:
    """The last rank scales its logits: states of the same size, and all ranks are told on the GPU."""
    case = _Case(world, library, "log_softmax")

    def run(rank: int) -> int:
        status = _status(case.call(rank, **({"scale": 0.5} if rank == world.ranks - 1 else {})))
        world.wait(rank)
        return status

    statuses = world.on_every_rank(run)
    told = [int(each.item()) for each in case.told]
    expected = {number("WR_ERROR_INVALID_STATE"), number("WR_ERROR_STATE_MISMATCH")}
    return {
        "what": "a rank that asks for something else",
        "statuses": statuses,
        "told": told,
        "ok": not any(statuses) and set(told) <= expected and case.untouched(),
    }


@contextmanager
def _aborted_after(world: Gpus, seconds: float) -> Iterator[None]:
    """Lets nobody wait longer."""

    def abort() -> None:
        world.gives_up()
        for rank in range(world.ranks):
            if world.communicators[rank]:
                world.abort(rank)

    timer = threading.Timer(seconds, abort)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def gone(world: Gpus, library: Library, op: str) -> dict[str, Any]:
    """The last rank does not make the second call. The others' streams wait until their communicators are aborted; then
    they are told. In the first one NCCL connects the ranks, for which it keeps the host waiting.

    Nothing is written then, but by exact sums, of which a rank has its own share. The world is of no use afterwards.
    """
    before, case = _Case(world, library, op), _Case(world, library, op)

    def run(rank: int) -> tuple[int, bool, float]:
        before.call(rank)()
        world.wait(rank)
        call = case.call(rank)
        world.meet()
        if rank == world.ranks - 1:
            world.meet()  # what it frees would wait for the others' kernels
            world.abort(rank)
            return 0, True, 0.0
        status = _status(call)
        time.sleep(SECONDS_UNTIL_GONE)
        waited = not world.is_done(rank)
        began = time.perf_counter()
        world.abort(rank)
        world.wait(rank)
        took = time.perf_counter() - began
        world.meet()
        return status, waited, took

    with _aborted_after(world, SECONDS_UNTIL_STUCK):
        found = world.on_every_rank(run)
    told = [int(each.item()) for each in case.told[:-1]]
    return {
        "what": f"a rank that is gone from {op}",
        "statuses": [status for status, _, _ in found],
        "waited": [waited for _, waited, _ in found],
        "told": told,
        "ms until aborted": max(1e3 * seconds for _, _, seconds in found),
        "ok": not any(status for status, _, _ in found)
        and all(waited for _, waited, _ in found)
        and (op == "sum_exact" or (all(told) and case.untouched())),
    }


def goes_on_with_fewer(library: Library, ranks: int) -> dict[str, Any]:
    """New communicators of the ranks that are left."""
    world = Gpus(ranks)
    case = _Case(world, library, "log_softmax")
    expected = one_call(world, library, case.job, case.x)

    def run(rank: int) -> int:
        status = _status(case.call(rank))
        world.wait(rank)
        return status

    statuses = world.on_every_rank(run)
    differ = same_bits(case.job, case.shards, expected)
    world.close()
    return {"what": f"{ranks} ranks go on", "statuses": statuses, "ok": not any(statuses) and not differ}


def played(world: Played, library: Library) -> list[dict[str, Any]]:
    """What NCCL says itself, by the stand-in: a collective fails on every rank; the communicators are unsound."""
    found = []
    for what, fault in (("a collective fails", FAILED), ("NCCL says that a rank is gone", GONE)):
        for op in ("sum", "sum_exact", "log_softmax"):
            case = _Case(world, library, op)
            for rank in range(world.ranks):
                world.fail(rank, fault)
            statuses = world.on_every_rank(lambda rank, case=case: _status(case.call(rank)))
            for rank in range(world.ranks):
                world.fail(rank, 0)
            ok = set(statuses) == {number("WR_ERROR_NCCL_FAILED")} and case.untouched()
            found.append({"what": f"{what}, {op}", "statuses": statuses, "ok": ok})
    return found
