"""warp_reduce.torch.distributed: parts on the ranks of a gloo group, against one call on all of them."""

from __future__ import annotations

import contextlib
import datetime
import doctest
import os
import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as processes
import warp_reduce
import warp_reduce.torch as wt
import warp_reduce.torch.distributed as wtd
from warp_reduce.torch import _sharded

VOCABULARY = 151936
CUTS = {
    1: [[0, VOCABULARY]],
    2: [[0, 75968, VOCABULARY], [0, 0, VOCABULARY]],
    3: [[0, 50646, 101291, VOCABULARY], [0, 1, 1025, VOCABULARY]],
    4: [[0, 37984, 75968, 113952, VOCABULARY], [0, 1024, 1024, 100000, VOCABULARY]],
    8: [[18992 * rank for rank in range(9)], [0, 7, 7, 300, 301, 2048, 2048, 3000, VOCABULARY]],
}


def logits(dtype: torch.dtype = torch.float32, *shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(len(shape))
    return (torch.randn(*(shape or (3, VOCABULARY)), generator=generator) * 8).to(dtype)


def part_of(x: torch.Tensor, cuts: list[int], rank: int, dim: int = -1) -> torch.Tensor:
    return x.narrow(dim, cuts[rank], cuts[rank + 1] - cuts[rank])


def bits(x: torch.Tensor) -> torch.Tensor:
    return x.contiguous().reshape(-1).view(torch.uint8)


def check(found: torch.Tensor, expected: torch.Tensor, what: Any) -> None:
    assert found.dtype == expected.dtype and found.shape == expected.shape, what
    assert torch.equal(bits(found), bits(expected)), what


def softmax_of_shards(rank: int, ranks: int) -> None:
    for cuts in CUTS[ranks]:
        for dtype in (torch.float32, torch.bfloat16):
            x = logits(dtype)
            mine = part_of(x, cuts, rank)
            counts = [end - begin for begin, end in zip(cuts, cuts[1:])]
            for known in (None, counts):
                check(wtd.log_softmax(mine, counts=known), part_of(wt.log_softmax(x), cuts, rank), (cuts, dtype))
            check(wtd.softmax(mine), part_of(wt.softmax(x), cuts, rank), (cuts, dtype))
            scaled = warp_reduce.softmax(x, scale=0.25)
            check(wtd.softmax(mine, scale=0.25), part_of(scaled, cuts, rank), (cuts, dtype, "scaled"))
            check(wtd.logsumexp(mine, 1), wt.logsumexp(x, 1), (cuts, dtype))
    x = logits(torch.float64, 5, 3001, 4)
    cuts = [rank * 3001 // ranks for rank in range(ranks + 1)]
    check(wtd.softmax(part_of(x, cuts, rank, 1), 1), part_of(wt.softmax(x, 1), cuts, rank, 1), "columns")


def reductions_of_shards(rank: int, ranks: int) -> None:
    cuts = [0, *(1 + each * 997 // ranks for each in range(1, ranks)), 1000]
    pairs: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
        *((wtd.sum, wt.sum), (wtd.mean, wt.mean), (wtd.prod, wt.prod), (wtd.norm, wt.norm)),
        *((wtd.amax, wt.amax), (wtd.amin, wt.amin), (wtd.logsumexp, wt.logsumexp)),
    ]
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        x = logits(dtype, 1000, 3, 7)
        mine = part_of(x, cuts, rank, 0)
        for dim in (0, (0, 2), (0, 1, 2)):
            for ours, whole in pairs:
                check(ours(mine, dim=dim), whole(x, dim=dim), (ours, dim, dtype))
                check(ours(mine, dim=dim, keepdim=True), whole(x, dim=dim, keepdim=True), (ours, dim, dtype))
            check(wtd.sum(mine, dim, exact=True), wt.sum(x, dim, exact=True), (dim, dtype))
        for dim in (0, None):
            check(wtd.argmax(mine, dim), wt.argmax(x, dim), (dim, dtype))
            check(wtd.argmin(mine, dim), wt.argmin(x, dim), (dim, dtype))
        for ord in (1, float("inf")):
            check(wtd.norm(mine, ord, 0), wt.norm(x, ord, 0), (ord, dtype))
        wide = wtd.sum(mine, 0, dtype=torch.float64)
        check(wide, wt.sum(x, 0, dtype=torch.float64), dtype)
    whole = logits(torch.float32, 1000, 3).int()
    check(wtd.sum(part_of(whole, cuts, rank, 0), 0), wt.sum(whole, 0), "integers")
    check(wtd.sum(part_of(whole, cuts, rank, 0), 0, exact=True), wt.sum(whole, 0), "exact integers")


def gradient(function: Callable[..., Any], x: torch.Tensor, above: torch.Tensor | None) -> torch.Tensor:
    """Of the function's result for x, given the result's gradient; without one it is made of the result's shape."""
    x = x.detach().clone().requires_grad_()
    y = function(x)
    generator = torch.Generator().manual_seed(5)
    y.backward(above if above is not None else torch.randn(y.shape, generator=generator).to(y.dtype))
    assert x.grad is not None
    return x.grad


def gradients_of_softmax(rank: int, cuts: list[int], x: torch.Tensor, above: torch.Tensor, what: Any) -> None:
    mine, ours = part_of(x, cuts, rank), part_of(above, cuts, rank)
    counts = [end - begin for begin, end in zip(cuts, cuts[1:])]
    for sharded, whole in ((wtd.softmax, wt.softmax), (wtd.log_softmax, wt.log_softmax)):
        for known in (None, counts):
            found = gradient(lambda t, f=sharded, k=known: f(t, counts=k), mine, ours)
            check(found, part_of(gradient(whole, x, above), cuts, rank), (what, whole))


def gradients_of_shards(rank: int, ranks: int) -> None:
    cuts = [0, *(1 + each * 4997 // ranks for each in range(1, ranks)), 5000]
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        x, above = logits(dtype, 3, 5000), logits(dtype, 5000, 3).t().contiguous()
        gradients_of_softmax(rank, cuts, x, above, dtype)
        mine = part_of(x, cuts, rank)
        for sharded, whole in ((wtd.logsumexp, wt.logsumexp), (wtd.sum, wt.sum), (wtd.mean, wt.mean)):
            for keepdim in (False, True):
                found = gradient(lambda t, f=sharded, k=keepdim: f(t, 1, k), mine, None)
                expected = gradient(lambda t, f=whole, k=keepdim: f(t, 1, k), x, None)
                check(found, part_of(expected, cuts, rank), (dtype, whole))
        found = gradient(lambda t: wtd.sum(t, 1, exact=True), mine, None)
        check(found, part_of(gradient(lambda t: wt.sum(t, 1), x, None), cuts, rank), dtype)
        dots_of_shards(rank, cuts, x, logits(dtype, 5000), dtype)
    special_gradients(rank, cuts)
    whole = logits(torch.float32, 3, 5000).int()
    ints = part_of(whole, cuts, rank)
    check(wtd.dot(ints, ints[1]), wt.dot(whole, whole[1]), "integers")


def dots_of_shards(rank: int, cuts: list[int], x: torch.Tensor, y: torch.Tensor, what: Any) -> None:
    mine, own = part_of(x, cuts, rank), part_of(y, cuts, rank, 0)
    for exact in (False, True):
        check(wtd.dot(mine, own, exact=exact), wt.dot(x, y, exact=exact), (what, exact))
    to_x = gradient(lambda t: wtd.dot(t, own), mine, None)
    check(to_x, part_of(gradient(lambda t: wt.dot(t, y), x, None), cuts, rank), (what, "dot, x"))
    to_y = gradient(lambda t: wtd.dot(mine, t), own, None)
    check(to_y, part_of(gradient(lambda t: wt.dot(x, t), y, None), cuts, rank, 0), (what, "dot, y"))


def special_gradients(rank: int, cuts: list[int]) -> None:
    """Zeros of both signs, infinities, NaNs, a scale, another type, columns."""
    x, above = logits(torch.float32, 6, 5000), logits(torch.float32, 5000, 6).t().contiguous()
    x[1] -= 200 * torch.arange(5000)
    above[0] = -0.0
    above[1, ::2] = -0.0
    above[2, 77] = torch.inf
    above[3, 4990] = torch.nan
    above[4, 3], above[4, 4997] = torch.inf, -torch.inf
    x[5, :4999] = -torch.inf
    gradients_of_softmax(rank, cuts, x, above, "special")
    mine, ours = part_of(x, cuts, rank).clone().requires_grad_(), part_of(above, cuts, rank)
    wtd.softmax(mine, scale=0.3).backward(ours)
    y = warp_reduce.softmax(x, scale=0.3)
    check(mine.grad, part_of(warp_reduce.softmax_backward(y, above, scale=0.3), cuts, rank), "scaled")
    half, up = x.bfloat16(), lambda f: lambda t: f(t, dtype=torch.float32)
    found = gradient(up(wtd.log_softmax), part_of(half, cuts, rank), ours)
    check(found, part_of(gradient(up(wt.log_softmax), half, above), cuts, rank), "into f32")
    columns, turned = x.t().contiguous(), above.t().contiguous()
    found = gradient(lambda t: wtd.softmax(t, 0), part_of(columns, cuts, rank, 0), part_of(turned, cuts, rank, 0))
    check(found, part_of(gradient(lambda t: wt.softmax(t, 0), columns, turned), cuts, rank, 0), "columns")


def trees_of_ranks(rank: int, ranks: int) -> None:
    """As many ranks would: the first of them in groups of every kind."""
    _sharded.GATHER_UP_TO = 0
    for size in (16, 13, 6, 3, 1):
        group = dist.new_group(list(range(size)))
        if rank >= size:
            continue
        cuts = [0, *(each * 9001 // size for each in range(1, size)), 9001]
        x = logits(torch.float32, 2, 9001)
        mine = part_of(x, cuts, rank)
        check(wtd.sum(mine, 1, group=group), wt.sum(x, 1), size)
        check(wtd.argmax(mine, 1, group=group), wt.argmax(x, 1), size)
        check(wtd.logsumexp(mine, 1, group=group), wt.logsumexp(x, 1), size)
        check(wtd.log_softmax(mine, group=group), part_of(wt.log_softmax(x), cuts, rank), size)
        ours, above = part_of(x, cuts, rank), x.flip(0)
        found = gradient(lambda t, g=group: wtd.softmax(t, group=g), ours, part_of(above, cuts, rank))
        check(found, part_of(gradient(wt.softmax, x, above), cuts, rank), size)


def groups_of_ranks(rank: int, ranks: int) -> None:
    """Rows over pairs of ranks: each pair has its own."""
    pairs = [dist.new_group([first, first + 1]) for first in range(0, ranks, 2)]
    x = logits(torch.float32, 2, 5000) + rank // 2
    mine = part_of(x, [0, 1500, 5000], rank % 2)
    check(wtd.softmax(mine, group=pairs[rank // 2]), part_of(wt.softmax(x), [0, 1500, 5000], rank % 2), "pairs")
    if rank < 2:
        with pytest.raises(ValueError, match="no rank"):
            wtd.sum(mine, group=pairs[1])


def every_rank_is_told(rank: int, ranks: int) -> None:
    x = logits(torch.float32, 4, 100)
    with pytest.raises(ValueError, match="another shape or type"):
        wtd.sum(x.double() if rank == 1 else x, 1)
    with pytest.raises(ValueError, match="another shape or type"):
        wtd.softmax(x[: 4 - rank])
    with pytest.raises(ValueError, match="another shape or type"):
        (wtd.amax if rank else wtd.amin)(x)
    with pytest.raises(TypeError if rank == 0 else RuntimeError, match="not taken" if rank == 0 else "rank 0"):
        wtd.logsumexp(x.to(torch.complex64) if rank == 0 else x)
    with pytest.raises(ValueError, match="zero-size"):
        wtd.amax(x[:, :0], 1)
    with pytest.raises(TypeError, match="gradient"):
        wtd.amax(x.requires_grad_())
    with pytest.raises(ValueError, match="counts"):
        wtd.sum(x.detach(), 1, counts=[1])
    with pytest.raises(ValueError, match="another operator"):
        (wtd.sum if rank else wtd.prod)(x.detach(), 1, counts=[100] * ranks)
    with pytest.raises(RuntimeError, match="shapes"):
        wtd.dot(x.detach(), torch.ones(99))
    with pytest.raises(RuntimeError, match="dtype"):
        wtd.mean(torch.ones(3, dtype=torch.int32))
    check(wtd.sum(x.detach(), 1), wt.sum(torch.cat([x.detach()] * ranks, 1), 1), "afterwards")


def a_rank_fails_alone(rank: int, ranks: int) -> None:
    """Of the second rank the part is not what its counts say, or cannot be reduced: it has its own exception, and the
    others are told, in groups that gather and in those that merge in a tree."""
    x = logits(torch.float32, 4, 5000)
    others = pytest.raises(RuntimeError, match="of the group could not reduce its part")
    for gathers in (True, False):
        _sharded.GATHER_UP_TO = 32 if gathers else 0
        for function in (wtd.sum, wtd.argmax, wtd.logsumexp, wtd.softmax, wtd.log_softmax):
            mine = x[:, :4999] if rank == 1 else x
            with pytest.raises(ValueError, match="this one's is") if rank == 1 else others:
                function(mine, 1, counts=[5000] * ranks)
            if function not in (wtd.argmax,):
                with pytest.raises(ValueError, match="this one's is") if rank == 1 else others:
                    function(mine.clone().requires_grad_(), 1, counts=[5000] * ranks)
        for exact in (False, True):
            y = torch.ones(4999 if rank == 1 else 5000)
            with pytest.raises((ValueError, RuntimeError), match="4999") if rank == 1 else others:
                _dot_of_parts(x, y, exact, [5000] * ranks)
        check(wtd.sum(x, 1, counts=[5000] * ranks), wt.sum(torch.cat([x] * ranks, 1), 1), "afterwards")
        wtd.raise_if_failed()


def _dot_of_parts(x: torch.Tensor, y: torch.Tensor, exact: bool, counts: list[int]) -> None:
    """Without the check that comes before the ranks meet."""
    part = _sharded.Part("dot_exact" if exact else "dot", x, (1,), {"dtype": x.dtype, "y": y})
    if exact:
        _sharded.exact_sum(part, None)
    else:
        _sharded.gathered(part, None, counts)


def a_rank_is_gone(rank: int, ranks: int) -> None:
    x = logits(torch.float32, 4, 100)
    wtd.sum(x, 1)
    if rank == 1:
        os._exit(0)
    with pytest.raises(RuntimeError):
        wtd.softmax(x)
        wtd.softmax(x)


def the_pages_example(rank: int, ranks: int) -> None:
    page = (Path(os.environ["WARP_REDUCE_SOURCE"]) / "docs/pytorch.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python gloo\n(.*?)```", page, re.S)
    torch.manual_seed(rank)
    found: dict[str, Any] = {}
    exec(compile(block, "docs/pytorch.md", "exec"), found)  # noqa: S102
    parts: list[Any] = [None] * ranks
    dist.all_gather_object(parts, found["logits"])
    whole, first = torch.cat(parts, 1), sum(each.shape[1] for each in parts[:rank])
    expected = wt.log_softmax(whole, 1)[:, first : first + found["part"]]
    check(found["log_probabilities"], expected, "log_softmax")
    check(found["best"], wt.argmax(whole, 1), "argmax")
    check(found["total"], wt.sum(whole, exact=True), "sum")


def _run(rank: int, ranks: int, job: Callable[[int, int], None], folder: str) -> None:
    torch.set_num_threads(1)
    warp_reduce.host.threads = 1
    store = dist.FileStore(f"{folder}/store", ranks)
    wait = datetime.timedelta(seconds=60)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=ranks, timeout=wait)
    try:
        job(rank, ranks)
    except BaseException:
        Path(folder, f"failed{rank}").write_text(traceback.format_exc(), encoding="utf-8")
    Path(folder, f"done{rank}").touch()
    with contextlib.suppress(RuntimeError):
        dist.destroy_process_group()


def on_ranks(ranks: int, job: Callable[[int, int], None], folder: Path, gone: int = 0) -> None:
    context = processes.get_context("spawn")
    started = [context.Process(target=_run, args=(rank, ranks, job, str(folder))) for rank in range(ranks)]
    for each in started:
        each.start()
    for each in started:
        each.join(240)
    hung = [each for each in started if each.is_alive()]
    for each in hung:
        each.kill()
    failures = "".join(each.read_text(encoding="utf-8") for each in sorted(folder.glob("failed*")))
    assert not hung and not failures, failures
    assert len(list(folder.glob("done*"))) == ranks - gone


@pytest.mark.parametrize("ranks", CUTS)
def test_softmax_of_a_vocabulary(ranks: int, tmp_path: Path) -> None:
    on_ranks(ranks, softmax_of_shards, tmp_path)


@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_reductions(ranks: int, tmp_path: Path) -> None:
    on_ranks(ranks, reductions_of_shards, tmp_path)


@pytest.mark.parametrize("ranks", [1, 3])
def test_gradients_and_dots(ranks: int, tmp_path: Path) -> None:
    on_ranks(ranks, gradients_of_shards, tmp_path)


def test_trees_of_up_to_16_ranks(tmp_path: Path) -> None:
    on_ranks(16, trees_of_ranks, tmp_path)


def test_groups(tmp_path: Path) -> None:
    on_ranks(4, groups_of_ranks, tmp_path)


def test_every_rank_is_told_what_is_wrong(tmp_path: Path) -> None:
    on_ranks(3, every_rank_is_told, tmp_path)


def test_a_rank_that_fails_alone_is_an_exception_of_all(tmp_path: Path) -> None:
    on_ranks(5, a_rank_fails_alone, tmp_path)


def test_a_rank_that_is_gone_is_an_exception(tmp_path: Path) -> None:
    on_ranks(3, a_rank_is_gone, tmp_path, gone=1)


def test_the_pages_example(tmp_path: Path) -> None:
    on_ranks(3, the_pages_example, tmp_path)


def test_without_a_group_there_is_nothing_to_ask() -> None:
    with pytest.raises(RuntimeError, match="init_process_group"):
        wtd.sum(torch.ones(3))


def test_examples() -> None:
    failed, tried = doctest.testmod(wtd)
    assert tried and not failed
