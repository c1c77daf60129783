"""Softmax and its gradients in general: any framework, any strides, every option."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

from ._arrays import Array, adopt
from ._elements import F32, F64, I64, U8, ElementType
from ._general import check_out, finished, is_contiguous, run
from ._geometry import Axis, Plan, axes_of, can_be_walked_as_rows, plan_rows
from ._library import SoftmaxArgs, SoftmaxBackwardArgs
from ._softmax import has_rows
from ._types import Kind, kind_named

Options = dict[str, Any]


class Rows:
    """An array whose rows along `axes` are worked on, and the options that say which elements take part.

    `order` is how its dimensions are laid out for the library, where the reduced ones are no neighbours.
    """

    def __init__(self, x: Any, axis: Axis, title: str, causal: bool) -> None:
        self.framework, x = adopt(x)
        self.title = title
        kind = self.framework.kind(x)
        self.kind = kind if kind[0].kind == "float" else (F64, False)
        x = x if self.kind == kind else self.framework.converted(x, self.kind)
        self.shape = self.framework.shape(x)
        axes = self.row_axes = axes_of(axis, len(self.shape))
        self.order = _own_order(axes, len(self.shape))
        self.x = self.laid_out(x)
        if not causal:
            self._take_the_order_of_memory(x, axes)

    @property
    def axes(self) -> tuple[int, ...]:
        """The reduced dimensions as they are laid out."""
        first = self.order.index(self.row_axes[0]) if self.row_axes else 0
        return tuple(range(first, first + len(self.row_axes)))

    def _take_the_order_of_memory(self, x: Array, axes: tuple[int, ...]) -> None:
        """Where that saves a copy; the result then has x's order too, as NumPy's have."""
        if can_be_walked_as_rows(self.framework, self.x, self.axes):
            return
        own = self.order
        self.order = _order_of_memory(self.framework.strides(x), axes)
        laid_out = self.laid_out(x)
        if can_be_walked_as_rows(self.framework, laid_out, self.axes):
            self.x = laid_out
        else:
            self.order = own

    def laid_out(self, x: Array) -> Array:
        same = list(self.order) == list(range(len(self.shape)))
        return x if same else self.framework.permuted(x, self.order)

    def back(self, x: Array) -> Array:
        inverse = sorted(range(len(self.order)), key=lambda place: self.order[place])
        same = inverse == list(range(len(self.shape)))
        return x if same else self.framework.permuted(x, inverse)

    def plan(self) -> Plan:
        return plan_rows(self.framework, self.x, self.axes)

    def beside(self, x: Any, name: str) -> Array:
        """An array of x's shape, laid out like it."""
        other = self.framework.beside(x, self.x)
        if self.framework.shape(other) != self.shape:
            raise ValueError(
                f"{name} has the shape {self.framework.shape(other)}, and the other array's is {self.shape}"
            )
        return self.laid_out(other)

    def options(self, scale: Any, mask: Any, lengths: Any, causal: bool | int, keep: list[Array]) -> Options:
        """The fields of the library's struct; `keep` holds what must outlive the call."""
        if has_rows(scale):
            fields: Options = {"scales": self._pointer(self._scales(scale), keep)}
        else:
            fields = {"scale": _scale(scale)}
        if mask is not None:
            fields["mask"] = self._pointer(self._mask(mask), keep)
        if lengths is not None:
            fields["lengths"] = self._pointer(self._lengths(lengths), keep)
        if _is_causal(causal):
            fields.update(self._causal(causal))
        return fields

    def _pointer(self, x: Array, keep: list[Array]) -> int:
        keep.append(x)
        return self.framework.pointer(x)

    def _mask(self, mask: Any) -> Array:
        mask = self.framework.beside(mask, self.x)
        if self.framework.kind(mask)[0] is not U8:
            raise TypeError("mask must be an array of bool: True where an element takes part")
        return self.framework.contiguous(self.laid_out(self.framework.broadcast(mask, self.shape)))

    def _lengths(self, lengths: Any) -> Array:
        lengths = self.framework.beside(lengths, self.x)
        if self.framework.kind(lengths)[0].kind != "integer":
            raise TypeError("lengths must be integers: how many leading elements of each row take part")
        return self._of_rows(lengths, I64)

    def _scales(self, scales: Any) -> Array:
        return self._of_rows(self.framework.beside(scales, self.x), F64 if self.kind[0] is F64 else F32)

    def _of_rows(self, x: Array, element: ElementType) -> Array:
        """One for each row, in the order of the result's memory."""
        framework = self.framework
        kept = [d for d in range(len(self.shape)) if d not in self.row_axes]
        x = framework.broadcast(x, [self.shape[d] for d in kept])
        x = framework.permuted(x, [kept.index(d) for d in self.order if d in kept])
        return framework.contiguous(framework.converted(x, (element, False)))

    def _causal(self, causal: bool | int) -> Options:
        if len(self.shape) < 2 or self.row_axes != (len(self.shape) - 1,):
            raise ValueError(
                "causal is for matrices of scores, with axis=-1: rows see the elements before their own place"
            )
        return {"causal": 1, "causal_first": int(causal), "causal_rows": max(self.shape[-2], 1)}

    def output(self, kind: Kind, out: Array | None) -> tuple[Array, Array]:
        """The memory that the library writes, and the same in x's own order."""
        framework = self.framework
        if out is not None:
            check_out(framework, out, self.shape)
            if self.back(self.x) is self.x and self._fits(out, kind):
                return out, out
        target = framework.empty(self.x, framework.shape(self.x), kind)
        return target, self.back(target)

    def _fits(self, out: Array, kind: Kind) -> bool:
        with suppress(TypeError):
            return self.framework.kind(out) == kind and is_contiguous(self.framework, out) and out is not self.x
        return False


def _is_causal(causal: bool | int) -> bool:
    """0 is a limit, False is none."""
    return causal is not False and causal is not None


def _own_order(axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """The array's own where the reduced dimensions are neighbours; otherwise they come last."""
    if not axes or axes[-1] - axes[0] == len(axes) - 1:
        return tuple(range(rank))
    return (*(d for d in range(rank) if d not in axes), *axes)


def _order_of_memory(strides: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """The kept dimensions by falling strides, with the reduced ones where theirs belong."""
    kept = sorted((d for d in range(len(strides)) if d not in axes), key=lambda d: -abs(strides[d]))
    step = min((abs(strides[d]) for d in axes), default=0)
    slower = [d for d in kept if abs(strides[d]) >= step]
    return (*slower, *axes, *kept[len(slower) :])


def _scale(scale: float) -> float:
    scale = float(scale)
    if scale == 0 or not math.isfinite(scale):  # 0 is how the library's interface says 1
        raise ValueError(f"scale must be finite and not zero, not {scale}")
    return scale


def softmax(
    log: bool, x: Any, axis: Axis, dtype: Any, out: Array | None, scale: Any, mask: Any, lengths: Any, causal: Any
) -> Any:
    rows = Rows(x, axis, "log_softmax" if log else "softmax", _is_causal(causal))
    keep: list[Array] = []
    kind = kind_named(dtype) if dtype is not None else rows.kind
    plan = rows.plan()
    if out is not None and rows.framework.overlap(out, plan.array):
        target, result = rows.output(kind, None)
        check_out(rows.framework, out, rows.shape)
    else:
        target, result = rows.output(kind, out)
    fields = {"dtype": rows.kind[0].code, "output_dtype": kind[0].code, "log": int(log), **plan.fields()}
    fields.update(rows.options(scale, mask, lengths, causal, keep))
    pointer = rows.framework.pointer
    args = SoftmaxArgs(**fields, input=pointer(plan.array), output=pointer(target))
    run(args, rows.framework, plan.array, f"{rows.title} of {rows.kind[0].name} into {kind[0].name}")
    return finished(rows.framework, result, out)


def softmax_backward(
    log: bool,
    output: Any,
    output_gradient: Any,
    axis: Axis,
    dtype: Any,
    out: Array | None,
    scale: Any,
    mask: Any,
    lengths: Any,
    causal: Any,
) -> Any:
    rows = Rows(output, axis, "log_softmax_backward" if log else "softmax_backward", _is_causal(causal))
    keep: list[Array] = []
    gradient = rows.beside(output_gradient, "output_gradient")
    gradient, gradient_kind = _gradient(rows, gradient)
    kind = kind_named(dtype) if dtype is not None else rows.kind
    plan, gradient_plan = rows.plan(), plan_rows(rows.framework, gradient, rows.axes)
    target, result = rows.output(kind, None)
    if out is not None:
        check_out(rows.framework, out, rows.shape)
    fields = {
        "dtype": rows.kind[0].code,
        "output_gradient_dtype": gradient_kind[0].code,
        "input_gradient_dtype": kind[0].code,
        "log": int(log),
        **plan.fields(),
        **gradient_plan.fields("gradient_"),
        **rows.options(scale, mask, lengths, causal, keep),
    }
    pointer = rows.framework.pointer
    places = {
        "output": pointer(plan.array),
        "output_gradient": pointer(gradient_plan.array),
        "input_gradient": pointer(target),
    }
    run(SoftmaxBackwardArgs(**fields, **places), rows.framework, plan.array, f"{rows.title} of {rows.kind[0].name}")
    return finished(rows.framework, result, out)


def _gradient(rows: Rows, gradient: Array) -> tuple[Array, Kind]:
    """In a type that goes with the outputs': f64 goes with f64 alone."""
    kind = rows.framework.kind(gradient)
    if kind[0].kind != "float" or (kind[0] is F64) != (rows.kind[0] is F64):
        return rows.framework.converted(gradient, rows.kind), rows.kind
    return gradient, kind
