"""States of softmax, which are those of logsumexp, and softmax of a piece from the whole axis' state."""

from __future__ import annotations

import operator as operators
from typing import Any

import numpy as np

from ._arrays import Array
from ._general import check_out, finished, run
from ._geometry import Axis, shape_without
from ._library import SoftmaxFromStateArgs, SoftmaxStateArgs
from ._rows import Rows
from ._states import LONGEST, Reduction, State
from ._types import kind_named

BLOCK = 1024  # elements of a base block


def softmax_state(x: Any, first: int, axis: Axis, dtype: Any, options: dict[str, Any]) -> State:
    rows = Rows(x, axis, "logsumexp", causal=True)  # in the array's own order, as all its pieces are
    keep: list[Array] = []
    fields = rows.options(**options, keep=keep)
    plan = rows.plan()
    if first + plan.axis > LONGEST:
        raise ValueError("an axis has fewer than 2^63 elements")
    output = kind_named(dtype) if dtype is not None else rows.kind
    reduction = Reduction(
        "logsumexp", "logsumexp", rows.kind, output, plan.outer, plan.inner, scale=fields.pop("scale")
    )
    size = reduction.size(first, plan.axis)
    array = rows.framework.memory(plan.array, size)
    pointer = rows.framework.pointer
    args = SoftmaxStateArgs(
        **{"dtype": rows.kind[0].code, "scale": reduction.scale, "input": pointer(plan.array)},
        **{"first": first, "state": pointer(array), "state_bytes": size},
        **plan.fields(),
        **fields,
    )
    run(args, rows.framework, plan.array, reduction.title)
    made = State(reduction, first, plan.axis, shape_without(rows.shape, rows.row_axes, False), array)
    made._framework = rows.framework
    return made


def empty_args(reduction: Reduction, first: int, array: np.ndarray) -> SoftmaxStateArgs:
    return SoftmaxStateArgs(
        **{"dtype": reduction.kind[0].code, "scale": reduction.scale, "axis": 0, "first": first},
        **{"outer": reduction.outer, "inner": reduction.inner},
        **{"state": array.ctypes.data, "state_bytes": array.size},
    )


def softmax_from_state(
    log: bool,
    x: Any,
    whole: State,
    first: int,
    axis: Axis,
    before: State | None,
    after: State | None,
    mask: Any,
    lengths: Any,
    causal: bool | int,
    dtype: Any,
    out: Array | None,
    check: int | None = None,  # where on the GPU a wr_status goes
) -> Any:
    rows = Rows(x, axis, "log_softmax_from_state" if log else "softmax_from_state", causal=True)
    keep: list[Array] = []
    first = operators.index(first)
    plan = rows.plan()
    _check_whole(rows, plan.outer, plan.inner, whole, first + plan.axis)
    _check_neighbour(whole, before, "before", 0, first, needed=first % BLOCK != 0)
    end = first + plan.axis
    _check_neighbour(whole, after, "after", end, whole.count or 0, needed=end % BLOCK != 0)
    fields = rows.options(whole._reduction.scale, mask, lengths, causal, keep)
    kind = kind_named(dtype) if dtype is not None else rows.kind
    if out is not None and rows.framework.overlap(out, plan.array):
        target, result = rows.output(kind, None)
        check_out(rows.framework, out, rows.shape)
    else:
        target, result = rows.output(kind, out)
    pointer = rows.framework.pointer
    args = SoftmaxFromStateArgs(
        **{"dtype": rows.kind[0].code, "output_dtype": kind[0].code, "log": int(log), "first": first},
        **{"count": whole.count, "whole": pointer(whole.array)},
        **plan.fields(),
        **fields,
        before=pointer(before.array) if before is not None else None,
        after=pointer(after.array) if after is not None else None,
        input=pointer(plan.array),
        output=pointer(target),
        check=check,
    )
    run(args, rows.framework, plan.array, f"{rows.title} of {rows.kind[0].name} into {kind[0].name}")
    return finished(rows.framework, result, out)


def _check_whole(rows: Rows, outer: int, inner: int, whole: State, end: int) -> None:
    if not isinstance(whole, State) or whole.op != "logsumexp":
        raise TypeError(f"softmax is made from the state of logsumexp of the whole axis, not from {whole!r}")
    of = whole._reduction
    if (of.kind[0], of.outer, of.inner) != (rows.kind[0], outer, inner):
        raise ValueError(f"{whole!r} is not of the rows of {rows.kind[0].name} of shape {rows.shape}")
    if type(rows.framework) is not type(whole._framework) or rows.framework.on_host != whole._framework.on_host:
        raise TypeError("x and the state lie on different devices: State.from_bytes(bytes(state), like=x) moves it")
    if whole.first != 0:
        raise ValueError(f"{whole!r} does not begin with element 0: merge the states of all pieces")
    if end > (whole.count or 0):
        raise ValueError(f"the piece ends before element {end}, and {whole!r} is no state of it")


def _check_neighbour(whole: State, other: State | None, name: str, begin: int, end: int, needed: bool) -> None:
    if other is None:
        if needed and end > begin:
            raise ValueError(
                f"{name} is needed, the state of elements [{begin}, {end}): the piece's edge is no multiple of {BLOCK}"
            )
        return
    if not isinstance(other, State) or not other._reduction.goes_with(whole._reduction):
        raise ValueError(f"{name} must be a state of the same rows as the whole one, and is {other!r}")
    if (other.first, other.count) != (begin, end - begin):
        raise ValueError(f"{name} must be the state of elements [{begin}, {end}), and is {other!r}")
