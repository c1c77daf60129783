"""Reductions and softmax of an axis that comes in pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._states import State

Array = Any
Axis = Any


def state(
    op: str,
    x: Array,
    first: int = 0,
    axis: Axis = None,
    *,
    dtype: Any = None,
    ord: float = 2,
    y: Array | None = None,
    scale: float = 1.0,
    mask: Array | None = None,
    lengths: Array | None = None,
    causal: bool | int = False,
) -> State:
    """The state of a reduction of a piece of an axis, to be merged with those of the other pieces.

    op: sum, prod, mean, min, max, argmin, argmax, any, all, count_nonzero, norm, logsumexp, dot; or sum_exact and
        dot_exact, whose states merge in any order. The state of logsumexp is that of softmax too.
    x: the piece's elements, of the types that the function takes; its state lies where x lies. It may be empty.
    first: the index of x's first element in the whole axis. Of several axes the elements are counted in row-major
        order, so a piece is cut along the first of them and has the others whole.
    axis, dtype: as of the function. Results that are kept in another way, such as dtype=float64, are said here.
    ord: of norm. y: of dot and dot_exact, the part of the vector that goes with x, of one dimension.
    scale, mask, lengths, causal: of logsumexp, as of `softmax`. mask is the piece's own; lengths and the causal limit
        count from element 0 of the whole axis.

    ValueError for an operator that has no states, TypeError for element types that are not taken.

    >>> import numpy as np, warp_reduce
    >>> x = np.random.default_rng(0).standard_normal((3, 5000))
    >>> pieces = [warp_reduce.state("mean", x[:, at : at + 999], first=at, axis=1) for at in range(0, 5000, 999)]
    >>> whole = pieces[0]
    >>> for piece in pieces[1:]:
    ...     whole = whole.merge(piece)
    >>> np.array_equal(whole.finish(), warp_reduce.mean(x, axis=1))
    True
    """
    from ._states import state as made

    return made(op, x, first, axis, dtype, ord, y, {"scale": scale, "mask": mask, "lengths": lengths, "causal": causal})


def softmax_from_state(
    x: Array,
    whole: State,
    first: int = 0,
    axis: Axis = -1,
    *,
    before: State | None = None,
    after: State | None = None,
    mask: Array | None = None,
    lengths: Array | None = None,
    causal: bool | int = False,
    dtype: Any = None,
    out: Array | None = None,
) -> Any:
    """`softmax` of a piece of rows: the bits that its elements have in the softmax of the whole rows.

    x: the piece's elements, as `state` was given them; first, axis, mask, lengths, causal likewise.
    whole: the state of logsumexp of the whole axis, merged of all pieces' states. It says the scale.
    before, after: the states of all that lies in front of the piece and behind it. They are needed where the piece's
        edge is no multiple of 1024 and no end of the axis: what share of a base block a piece has depends on the rest.
    dtype, out: as of `softmax`.
    ValueError where a state is missing or is none of these rows, TypeError for a state of another device.

    >>> import numpy as np, warp_reduce
    >>> x = np.random.default_rng(0).standard_normal((2, 3000))
    >>> left, right = (warp_reduce.state("logsumexp", x[:, a:b], first=a, axis=1) for a, b in ((0, 100), (100, 3000)))
    >>> y = warp_reduce.softmax_from_state(x[:, 100:], left.merge(right), first=100, before=left)
    >>> np.array_equal(y, warp_reduce.softmax(x)[:, 100:])
    True
    """
    from ._softmax_states import softmax_from_state as general

    return general(False, x, whole, first, axis, before, after, mask, lengths, causal, dtype, out)


def log_softmax_from_state(
    x: Array,
    whole: State,
    first: int = 0,
    axis: Axis = -1,
    *,
    before: State | None = None,
    after: State | None = None,
    mask: Array | None = None,
    lengths: Array | None = None,
    causal: bool | int = False,
    dtype: Any = None,
    out: Array | None = None,
) -> Any:
    """`log_softmax` of a piece of rows; arguments as of `softmax_from_state`.

    >>> import numpy as np, warp_reduce
    >>> x = np.zeros((1, 2048))
    >>> halves = [warp_reduce.state("logsumexp", x[:, at : at + 1024], first=at, axis=1) for at in (0, 1024)]
    >>> y = warp_reduce.log_softmax_from_state(x[:, 1024:], halves[0].merge(halves[1]), first=1024)
    >>> np.array_equal(y, warp_reduce.log_softmax(x)[:, 1024:])
    True
    """
    from ._softmax_states import softmax_from_state as general

    return general(True, x, whole, first, axis, before, after, mask, lengths, causal, dtype, out)
