"""SIGTERM and SIGHUP as an exception, so that half-written files are removed before the program ends by them."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

ENDING = (signal.SIGTERM, signal.SIGHUP)


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


def _raise(number: int, _: FrameType | None) -> NoReturn:
    for each in ENDING:
        signal.signal(each, signal.SIG_IGN)  # a second one must not interrupt what removes the files
    raise Ended(number)


def end_by(number: int) -> NoReturn:
    """Whoever waits for this program sees which signal ended it."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    sys.exit(128 + number)  # the first process of a container is not ended by a signal of its own
