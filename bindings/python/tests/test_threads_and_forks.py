"""Calls from many threads run side by side, and children of a fork go on calling."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import warp_reduce

X = np.random.default_rng(7).standard_normal((200, 1000)).astype(np.float32)


def test_threads_get_the_bits_of_one() -> None:
    alone = [warp_reduce.sum(X[row:], axis=1).tobytes() for row in range(50)]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            assert list(pool.map(lambda row: warp_reduce.sum(X[row:], axis=1).tobytes(), range(50))) == alone


def test_the_number_of_threads_changes_no_bit() -> None:
    large = np.random.default_rng(9).standard_normal(1 << 21).astype(np.float32)
    whole = warp_reduce.sum(large)
    assert warp_reduce.host.threads >= 1
    warp_reduce.host.threads = 1
    try:
        assert warp_reduce.host.threads == 1
        assert warp_reduce.sum(large) == whole
        assert "1 thread>" in repr(warp_reduce.host)
    finally:
        warp_reduce.host.threads = 0
    with pytest.raises(ValueError, match="not negative"):
        warp_reduce.host.threads = -1


def test_other_threads_run_during_a_call() -> None:
    """The lock of the interpreter is given away: another thread counts on while the library works."""
    large = np.ones(1 << 26, np.float32)
    warp_reduce.logsumexp(large)
    counted, done = 0, threading.Event()

    def count() -> None:
        nonlocal counted
        while not done.is_set():
            counted += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    thread.start()
    while not counted:
        time.sleep(0)
    before = counted
    warp_reduce.logsumexp(large)
    during = counted - before
    done.set()
    thread.join()
    # Had the call held the lock, the other thread would have stood still for all of it.
    assert during > 10


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_of_a_fork_calls_on() -> None:
    expected = warp_reduce.softmax(X).tobytes()  # threads have been started by now
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(0 if warp_reduce.softmax(X).tobytes() == expected else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0
    assert warp_reduce.softmax(X).tobytes() == expected


def test_references_are_given_back() -> None:
    """What a call takes hold of it lets go again, whether it succeeds or not."""
    x, axis = np.ones((3, 4), np.float32), 1
    calls = [
        lambda: warp_reduce.sum(x, axis=axis),
        lambda: warp_reduce.sum(x),
        lambda: warp_reduce.argmax(x, axis=0, keepdims=True),
        lambda: warp_reduce.softmax(x),
        lambda: warp_reduce.sum(x, dtype=np.float64),
        lambda: warp_reduce.dot(x, x[0]),
        lambda: pytest.raises(ValueError, warp_reduce.sum, x, axis=9),
    ]
    for call in calls:
        call()
        held = [sys.getrefcount(each) for each in (x, np.ndarray, np.empty, x.dtype)]
        for _ in range(100):
            call()
        after = [sys.getrefcount(each) for each in (x, np.ndarray, np.empty, x.dtype)]
        assert all(abs(a - b) < 50 for a, b in zip(held, after))
