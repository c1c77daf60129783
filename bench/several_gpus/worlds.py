"""Ranks and what they need: GPUs with NCCL between them, or threads that play them on the host device."""

from __future__ import annotations

import ctypes
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import byref, c_char_p, c_int, c_size_t, c_void_p
from pathlib import Path
from typing import Any

import torch

# NCCL's numbers.
SUCCESS = 0
INT64, FLOAT32 = 4, 7
SUM, MAX = 0, 2
TYPES = {torch.int64: INT64, torch.float32: FLOAT32}

FAILED = 1  # STAND_IN_COLLECTIVE_FAILS
GONE = 2  # STAND_IN_RANK_IS_GONE

RankJob = Callable[[int], Any]


class World(ABC):
    """So many ranks of one process, a thread each."""

    def __init__(self, ranks: int, nccl: Path | str) -> None:
        self.ranks = ranks
        self.nccl = ctypes.CDLL(str(nccl))
        self.communicators = (c_void_p * ranks)()

    @abstractmethod
    def device(self, rank: int) -> torch.device: ...

    @abstractmethod
    def stream(self, rank: int) -> int:
        """Of calls on shards."""

    @abstractmethod
    def stream_of_one_call(self, rank: int, host_stream: int) -> int: ...

    @abstractmethod
    def close(self) -> None: ...

    @contextmanager
    def turn(self, _rank: int) -> Iterator[None]:
        """What a rank's work stands in."""
        yield

    def communicator(self, rank: int) -> int:
        return self.communicators[rank] or 0

    @abstractmethod
    def wait(self, rank: int) -> None:
        """Until this rank's work is done."""

    @abstractmethod
    def meet(self) -> None:
        """Until all ranks' threads are here."""

    def all_reduce(self, rank: int, x: torch.Tensor, op: int = SUM) -> None:
        status = self.nccl.ncclAllReduce(
            *(c_void_p(x.data_ptr()), c_void_p(x.data_ptr()), c_size_t(x.numel()), TYPES[x.dtype], op),
            *(c_void_p(self.communicators[rank]), c_void_p(self.stream(rank))),
        )
        if status != SUCCESS:
            raise RuntimeError(f"ncclAllReduce: {status}")

    def on_every_rank(self, job: RankJob) -> list[Any]:
        """What each rank's thread returns; the first exception of any."""
        found: list[Any] = [None] * self.ranks
        failed: list[BaseException] = []

        def run(rank: int) -> None:
            try:
                with self.prepared(rank), self.turn(rank):
                    found[rank] = job(rank)
            except BaseException as problem:
                failed.append(problem)
                self.gives_up()

        threads = [threading.Thread(target=run, args=(rank,)) for rank in range(self.ranks)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        if failed:
            raise failed[0]
        return found

    @abstractmethod
    def gives_up(self) -> None:
        """What a rank that fails does for those that wait for it."""

    @contextmanager
    def prepared(self, _rank: int) -> Iterator[None]:
        yield


class Gpus(World):
    """One GPU a rank, NCCL as PyTorch brings it."""

    def __init__(self, ranks: int) -> None:
        super().__init__(ranks, "libnccl.so.2")
        devices = (c_int * ranks)(*range(ranks))
        status = self.nccl.ncclCommInitAll(self.communicators, ranks, devices)
        if status != SUCCESS:
            said = self.nccl.ncclGetLastError
            said.restype, said.argtypes = c_char_p, (c_void_p,)
            raise RuntimeError(f"ncclCommInitAll: {status}, {said(None).decode()}")
        self._streams = [torch.cuda.Stream(device=rank) for rank in range(ranks)]
        self._barrier = threading.Barrier(ranks)

    @property
    def version(self) -> int:
        found = c_int()
        self.nccl.ncclGetVersion(byref(found))
        return found.value

    def device(self, rank: int) -> torch.device:
        return torch.device("cuda", rank)

    def stream(self, rank: int) -> int:
        return self._streams[rank].cuda_stream

    def stream_of_one_call(self, rank: int, host_stream: int) -> int:
        return self.stream(rank)

    @contextmanager
    def prepared(self, rank: int) -> Iterator[None]:
        with torch.cuda.device(rank), torch.cuda.stream(self._streams[rank]):
            yield

    def wait(self, rank: int) -> None:
        self._streams[rank].synchronize()

    def meet(self) -> None:
        self._barrier.wait()

    def gives_up(self) -> None:
        self._barrier.abort()

    def is_done(self, rank: int) -> bool:
        return self._streams[rank].query()

    def abort(self, rank: int) -> None:
        self.nccl.ncclCommAbort(c_void_p(self.communicators[rank]))
        self.communicators[rank] = None

    def close(self) -> None:
        for communicator in filter(None, self.communicators):
            self.nccl.ncclCommDestroy(c_void_p(communicator))


class Played(World):
    """The stand-in of tests/nccl: the ranks take turns, and their memory is the host's."""

    def __init__(self, ranks: int, nccl: Path) -> None:
        super().__init__(ranks, nccl)
        self.nccl.stand_in_open(ranks, self.communicators)
        self._any = (c_int * 1)()

    def device(self, rank: int) -> torch.device:
        return torch.device("cpu")

    def stream(self, rank: int) -> int:
        return ctypes.addressof(self._any)

    def stream_of_one_call(self, rank: int, host_stream: int) -> int:
        return host_stream

    def wait(self, rank: int) -> None:
        """A call that has come back has done its work."""

    def meet(self) -> None:
        """Ranks that take turns cannot wait for each other but in a collective."""

    def gives_up(self) -> None:
        """Nobody waits outside of a collective."""

    @contextmanager
    def turn(self, rank: int) -> Iterator[None]:
        self.nccl.stand_in_enter(c_void_p(self.communicators[rank]))
        try:
            yield
        finally:
            self.nccl.stand_in_leave(c_void_p(self.communicators[rank]))

    def fail(self, rank: int, fault: int) -> None:
        self.nccl.stand_in_fail(c_void_p(self.communicators[rank]), fault)

    def close(self) -> None:
        self.nccl.stand_in_close(self.ranks, self.communicators)
