"""States of a reduction: of pieces, merged on the host device, whose bits are those of every device."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import _native
from .._library import (
    ERROR_UNSUPPORTED,
    Args,
    Library,
    Refused,
    SoftmaxStateArgs,
    StateFinishArgs,
    StateMergeArgs,
    StateReduceArgs,
)
from .._operators import OPERATORS
from .reduction import Reduction


@dataclass
class Part:
    """The state of elements [first, first + count) of an axis."""

    first: int
    count: int
    state: np.ndarray  # bytes

    @property
    def end(self) -> int:
        return self.first + self.count


class States:
    """The states of one reduction with `outer` times `inner` results."""

    def __init__(self, library: Library, job: Reduction, outer: int, inner: int, scale: float = 0.0) -> None:
        self._library, self._job = library, job
        self._fields = {
            "op": OPERATORS[job.operator],
            "dtype": job.element.code,
            "output_dtype": job.output.code,
            "accumulate_dtype": job.accumulate.code if job.accumulate else 0,
            "nan_mode": int(job.ignore_nan),
            "weights_dtype": job.weights.code if job.weights else 0,
            "outer": outer,
            "inner": inner,
            "scale": scale,
        }

    def size(self, first: int, count: int) -> int:
        fields = {**self._fields, "first": first, "count": count}
        if self._job.weights:
            fields["weights"] = 1  # only whether there are any is asked
        status, size = _native.state_size(self._library.number, fields)
        if status:
            raise Refused(status, f"{self._library.status_string(status)} ({self._library.status_name(status)})")
        return size

    @property
    def are_offered(self) -> bool:
        try:
            self.size(0, 1)
        except Refused as refusal:
            if refusal.status != ERROR_UNSUPPORTED:
                raise
            return False
        return True

    def new(self, first: int, count: int) -> Part:
        return Part(first, count, np.empty(self.size(first, count), np.uint8))

    def args_of(self, part: Part) -> Args:
        """For the call that makes the part's state: the elements and the state are still to be said."""
        if self._job.operator == "logsumexp":
            kept = {name: self._fields[name] for name in ("dtype", "outer", "inner", "scale")}
            return SoftmaxStateArgs(**kept, axis=part.count, first=part.first, state_bytes=part.state.size)
        return StateReduceArgs(**self._fields, first=part.first, count=part.count, state_bytes=part.state.size)

    def merged(self, left: Part, right: Part) -> Part:
        whole = self.new(left.first, left.count + right.count)
        self._call(
            StateMergeArgs(
                **self._fields,
                first=left.first,
                count=left.count,
                right_count=right.count,
                state=left.state.ctypes.data,
                state_bytes=left.state.size,
                right=right.state.ctypes.data,
                right_bytes=right.state.size,
                merged=whole.state.ctypes.data,
                merged_bytes=whole.state.size,
            )
        )
        return whole

    def finish(self, part: Part, output: np.ndarray, values: np.ndarray | None) -> None:
        self._call(
            StateFinishArgs(
                **self._fields,
                first=part.first,
                count=part.count,
                state=part.state.ctypes.data,
                state_bytes=part.state.size,
                output=output.ctypes.data,
                values=None if values is None else values.ctypes.data,
            )
        )

    def _call(self, args: Args) -> None:
        self._library.call(args, self._library.host_stream)


class Growing:
    """The parts that have come so far, each behind the last: equal neighbours are merged, so that few are left and no
    element goes through more merges than the tree has levels."""

    def __init__(self, states: States) -> None:
        self._states = states
        self._parts: list[Part] = []

    def append(self, part: Part) -> None:
        self._parts.append(part)
        while len(self._parts) > 1 and self._parts[-2].count <= self._parts[-1].count:
            self._merge_last()

    @property
    def end(self) -> int:
        """Where the next one begins."""
        return self._parts[-1].end if self._parts else 0

    def whole(self) -> Part:
        """All of them, as one; there is at least one."""
        while len(self._parts) > 1:
            self._merge_last()
        return self._parts[0]

    def begin_with(self, part: Part) -> None:
        self._parts = [part]

    def _merge_last(self) -> None:
        right = self._parts.pop()
        self._parts.append(self._states.merged(self._parts.pop(), right))
