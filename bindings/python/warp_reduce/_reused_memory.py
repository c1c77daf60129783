"""Memory of large states, kept for the next ones: fresh memory costs more than what is written to it.

A state of many results is as wide as they are, and lives until it is merged. Its memory comes back here when the last
array that shows it is gone.
"""

from __future__ import annotations

import mmap
import os
import threading
import weakref

import numpy as np

FROM_BYTES = 1 << 16  # smaller ones are what malloc keeps itself
MOST_KEPT = 64 << 20  # bytes

_lock = threading.RLock()  # again by a thread whose garbage is collected while it holds it
_kept: dict[int, list[mmap.mmap]] = {}
_kept_bytes = 0


def _in_a_fork() -> None:
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_in_a_fork)


def reused_memory(size: int) -> np.ndarray:
    """Memory of so many bytes, not set."""
    if size < FROM_BYTES:
        return np.empty(size, np.uint8)
    room = 1 << (size - 1).bit_length()
    block = _taken(room) or mmap.mmap(-1, room, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    # Views of it have it as their base, not the block: it lives as long as any of them.
    whole = np.frombuffer(block, np.uint8)
    weakref.finalize(whole, _give_back, block).atexit = False
    return whole[:size]


def _taken(room: int) -> mmap.mmap | None:
    global _kept_bytes
    with _lock:
        blocks = _kept.get(room)
        if not blocks:
            return None
        _kept_bytes -= room
        return blocks.pop()


def _give_back(block: mmap.mmap) -> None:
    global _kept_bytes
    with _lock:
        if _kept_bytes + len(block) <= MOST_KEPT:
            _kept_bytes += len(block)
            _kept.setdefault(len(block), []).append(block)
