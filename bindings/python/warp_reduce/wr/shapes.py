"""A NumPy shape and an axis as the [outer][axis][inner] of warp_reduce.h."""

from __future__ import annotations

import math

from .errors import WrError


def split_at_axis(shape: tuple[int, ...], axis: int | None) -> tuple[int, int, int]:
    """axis None is the whole array; a negative axis counts from the last, as in NumPy."""
    if axis is None:
        return 1, math.prod(shape), 1
    axis = checked_axis(shape, axis)
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


def without_axis(shape: tuple[int, ...], axis: int | None) -> tuple[int, ...]:
    if axis is None:
        return ()
    axis = checked_axis(shape, axis)
    return shape[:axis] + shape[axis + 1 :]


def checked_axis(shape: tuple[int, ...], axis: int) -> int:
    """The axis counted from the first."""
    if not -len(shape) <= axis < len(shape):
        dimensions = f"{len(shape)} dimension{'' if len(shape) == 1 else 's'}"
        raise WrError(f"--axis {axis} does not exist in an array of shape {list(shape)} ({dimensions})")
    return axis % len(shape)
