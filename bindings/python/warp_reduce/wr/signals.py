"""SIGTERM and SIGHUP as an exception, so that half-written files are removed before the program ends by them."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

ENDING = (signal.SIGTERM, signal.SIGHUP)

_is_held = False
_waiting: list[int] = []


class Ended(BaseException):
    """A signal that ends the program has come; nothing that catches failures catches it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def raise_when_ended() -> None:
    """A signal that the caller has had ignored, as nohup does, stays ignored."""
    for each in ENDING:
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, _raise)


@contextmanager
def held() -> Iterator[None]:
    """A signal that comes meanwhile is an exception behind it: whoever makes a file can remove it."""
    global _is_held
    _is_held = True
    try:
        yield
    finally:
        _is_held = False
        if _waiting:
            raise Ended(_waiting.pop())


def _raise(number: int, _: FrameType | None) -> None:
    for each in ENDING:
        signal.signal(each, signal.SIG_IGN)  # a second one must not interrupt what removes the files
    if not _is_held:
        raise Ended(number)
    _waiting.append(number)


def end_by(number: int) -> NoReturn:
    """Whoever waits for this program sees which signal ended it."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    sys.exit(128 + number)  # the first process of a container is not ended by a signal of its own
