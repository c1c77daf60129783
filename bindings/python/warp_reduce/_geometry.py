"""Shapes and axes as NumPy means them, and arrays as the library's [outer][axis][inner]."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _native
from ._arrays import Array, Framework

try:
    from numpy.exceptions import AxisError
except ImportError:  # before NumPy 1.25
    from numpy import AxisError  # type: ignore[attr-defined,no-redef]

Axis = Any  # an integer, a tuple of them, or None


def axes_of(axis: Axis, rank: int) -> tuple[int, ...]:
    """The reduced dimensions, counted from the first and sorted. Without dimensions there are 0 and -1, as in NumPy."""
    if axis is None or (rank == 0 and not isinstance(axis, tuple) and operator.index(axis) in (0, -1)):
        return tuple(range(rank))
    given = axis if isinstance(axis, tuple) else (axis,)
    axes = []
    for each in given:
        dimension = operator.index(each)
        if not -rank <= dimension < rank:
            raise AxisError(dimension, rank)
        axes.append(dimension % rank)
    if len(set(axes)) != len(axes):
        raise ValueError(f"duplicate value in 'axis': {axis}")
    return tuple(sorted(axes))


def shape_without(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    if keepdims:
        return tuple(1 if d in axes else length for d, length in enumerate(shape))
    return tuple(length for d, length in enumerate(shape) if d not in axes)


@dataclass(frozen=True)
class Layout:
    """Where an array's elements are: of an extension field, of whole elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]  # in bytes
    item_size: int


@dataclass(frozen=True)
class Plan:
    """An array that the library can walk through, and how."""

    array: Array
    outer: int
    axis: int
    inner: int
    outer_stride: int
    axis_stride: int
    inner_stride: int
    # the kept dimensions in the order of the result's memory, where that is not their own
    kept: tuple[int, ...] | None

    def fields(self, prefix: str = "") -> dict[str, Any]:
        strides = {
            f"{prefix}outer_stride": self.outer_stride,
            f"{prefix}axis_stride": self.axis_stride,
            f"{prefix}inner_stride": self.inner_stride,
        }
        if prefix:
            return strides
        return {"outer": self.outer, "axis": self.axis, "inner": self.inner, "strides_given": 1, **strides}


def layout_of(framework: Framework, x: Array, words: int) -> Layout:
    """`words`: how many along the last dimension are one element."""
    shape, strides, size = framework.shape(x), framework.strides(x), framework.item_size(x)
    if words == 1:
        return Layout(shape, strides, size)
    return Layout(shape[:-1], strides[:-1], size * words)


def plan_reduction(
    framework: Framework, x: Array, axes: tuple[int, ...], words: int = 1, any_order: bool = False
) -> Plan:
    """Without a copy where the strides allow it; with `any_order` the reduced elements may come in any."""
    layout = layout_of(framework, x, words)
    found = None
    if _can_be_walked(framework, x, words):
        found = _native.plan_reduction(layout.shape, layout.strides, layout.item_size, _bits(axes), any_order)
    if found:
        return Plan(x, *found)
    kept = [d for d in range(len(layout.shape)) if d not in axes]
    last = [len(layout.shape)] if words > 1 else []
    copy = framework.contiguous(framework.permuted(x, [*kept, *axes, *last]))
    outer, axis = (math.prod(layout.shape[d] for d in dimensions) for dimensions in (kept, axes))
    return Plan(copy, outer, axis, 1, axis, 1, 1, None)


def plan_rows(framework: Framework, x: Array, axes: tuple[int, ...]) -> Plan:
    """For a result of x's shape in C order: the axes are neighbours."""
    layout = layout_of(framework, x, 1)
    found = None
    if _can_be_walked(framework, x, 1):
        found = _native.plan_rows(layout.shape, layout.strides, layout.item_size, _bits(axes))
    if found:
        return Plan(x, *found)
    first, end = (axes[0], axes[-1] + 1) if axes else (len(layout.shape),) * 2
    parts = slice(0, first), slice(first, end), slice(end, None)
    outer, axis, inner = (math.prod(layout.shape[part]) for part in parts)
    return Plan(framework.contiguous(x), outer, axis, inner, axis * inner, inner, 1, None)


def can_be_walked_as_rows(framework: Framework, x: Array, axes: tuple[int, ...]) -> bool:
    """Whether plan_rows makes no copy."""
    layout = layout_of(framework, x, 1)
    return _can_be_walked(framework, x, 1) and bool(
        _native.plan_rows(layout.shape, layout.strides, layout.item_size, _bits(axes))
    )


def _bits(axes: Sequence[int]) -> int:
    return sum(1 << each for each in axes)


def _can_be_walked(framework: Framework, x: Array, words: int) -> bool:
    """Elements are where their type's alignment wants them, in this machine's byte order, their words side by side."""
    if isinstance(x, np.ndarray) and not (x.flags.aligned and x.dtype.isnative):
        return False
    return words == 1 or framework.strides(x)[-1] == framework.item_size(x)
