"""States: reductions of pieces of an axis, to be merged and finished."""

from __future__ import annotations

import itertools
import math
import operator as operators
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _native
from ._arrays import NUMPY, Array, Framework, adopt
from ._elements import F64, ElementType
from ._errors import exception_of
from ._general import WITHOUT_IDENTITY, Job, default_kind, run
from ._geometry import Axis, Plan, axes_of, plan_rows, shape_without
from ._library import SUCCESS, Args, StateFinishArgs, StateMergeArgs, StateReduceArgs, load_library
from ._operators import FUNCTIONS, NORMS, OPERATORS
from ._types import Kind, numpy_kind

EXACT = "sum_exact"
_NAMES = {**FUNCTIONS, EXACT: EXACT, "dot": "sum", "dot_exact": EXACT}
LONGEST = 2**63 - 1

HEADER_BYTES = 128
ALIGNMENT = 16


@dataclass(frozen=True)
class Reduction:
    """What all states of one reduction have in common."""

    op: str  # as `state` was told
    operator: str  # as the header calls it
    kind: Kind
    output: Kind
    outer: int
    inner: int
    accumulate: int = 0  # wr_dtype
    weights: int = 0  # likewise
    nan_mode: int = 0
    scale: float = 0.0  # of logsumexp

    @property
    def is_exact(self) -> bool:
        return self.operator == EXACT

    def fields(self) -> dict[str, Any]:
        return {
            "op": OPERATORS[self.operator],
            "dtype": self.kind[0].code,
            "output_dtype": self.output[0].code,
            "accumulate_dtype": self.accumulate,
            "weights_dtype": self.weights,
            "nan_mode": self.nan_mode,
            "scale": self.scale,
            "outer": self.outer,
            "inner": self.inner,
        }

    def goes_with(self, other: Reduction) -> bool:
        """Whether both have the same accumulators: what they are rounded to in the end does not matter."""
        mine, theirs = self.fields(), other.fields()
        del mine["output_dtype"], theirs["output_dtype"]
        return mine == theirs and self.output[0].kind == other.output[0].kind

    def size(self, first: int, count: int) -> int:
        library = load_library()
        status, size = _native.state_size(library.number, {**self.fields(), "first": first, "count": count})
        if status != SUCCESS:
            raise exception_of(library, status, self.title)
        return size

    @property
    def title(self) -> str:
        return f"the state of {self.op} of {self.kind[0].name}"


class State:
    """The state of a reduction of elements [first, first + count) of an axis, as `warp_reduce.state` makes it.

    Neighbours are merged, and the state of a whole axis is finished, to the bits of one call on all of it, whatever the
    cuts and the order of the merges. States are never changed. Equal states have equal bytes, on every device.

    op: what was asked for. first, count: the elements that it stands for, along the axis; None of exact sums, which lie
    nowhere and merge in any order. shape: that of the results. nbytes: how large it is.

    >>> import numpy as np, warp_reduce
    >>> x = np.linspace(0, 1, 1000, dtype=np.float32)
    >>> left, right = warp_reduce.state("sum", x[:300]), warp_reduce.state("sum", x[300:], first=300)
    >>> bool(left.merge(right).finish() == warp_reduce.sum(x))
    True
    >>> left.merge(right) == warp_reduce.state("sum", x)
    True
    >>> left
    <State of sum of f32, elements [0, 300), 144 bytes>
    """

    __slots__ = ("_framework", "_reduction", "array", "count", "first", "shape")
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, reduction: Reduction, first: int | None, count: int | None, shape: tuple[int, ...], array: Array
    ) -> None:
        """array: the state's bytes, uint8, of whatever framework the elements were."""
        self._framework, array = adopt(array)
        # What came over a network may lie anywhere.
        aligned = self._framework.pointer(array) % ALIGNMENT == 0
        self.array = array if aligned else self._framework.copy(array)
        self._reduction, self.first, self.count, self.shape = reduction, first, count, shape

    @property
    def op(self) -> str:
        return self._reduction.op

    @property
    def nbytes(self) -> int:
        return self._framework.shape(self.array)[0]

    def merge(self, right: State) -> State:
        """The state of both pieces: `right` is of the elements behind this one's. Exact sums merge in any order.

        ValueError where it is not the neighbour, or of another reduction; TypeError where it lies on another device.

        >>> import numpy as np, warp_reduce
        >>> parts = [warp_reduce.state("sum_exact", np.array(x)) for x in ([1e100], [1.0], [-1e100])]
        >>> float(parts[2].merge(parts[0]).merge(parts[1]).finish())
        1.0
        """
        return merged([self, right])

    def _check_neighbour(self, right: State) -> None:
        if not isinstance(right, State):
            raise TypeError(f"a state is merged with another, not with {type(right).__name__}")
        if not self._reduction.goes_with(right._reduction):
            raise ValueError(f"{self!r} and {right!r} are of different reductions: operator, types, shape and options")
        if self._place() != right._place():
            raise TypeError(
                "the two states lie on different devices: State.from_bytes(bytes(right), like=...) moves one"
            )
        if not self._reduction.is_exact and self._end() != right.first:
            raise ValueError(
                f"{self!r} ends before element {self._end()}, and {right!r} begins with element {right.first}: merge"
                " neighbours, the left one first"
            )

    def finish(self) -> Any:
        """The result, of the framework that the elements were of: the bits of one call on elements [0, count).

        ValueError where the state does not begin with element 0, or min, max, argmin or argmax is of nothing.
        """
        return self.finish_and_tell(None)

    def finish_and_tell(self, check: int | None) -> Any:
        """check: where on the GPU a wr_status goes, since nobody waits for it."""
        if self.first:
            raise ValueError(f"{self!r} does not begin with element 0: merge it with what lies before it")
        if self.count == 0 and self._reduction.operator in WITHOUT_IDENTITY and 0 not in self.shape:
            raise ValueError(f"zero-size array to reduction operation {self.op} which has no identity")
        element = self._reduction.output[0]
        kind = numpy_kind(element.word) if element.kind == "field" else self._reduction.output
        words = (element.words,) if element.words > 1 else ()
        output = self._framework.empty(self.array, (*self.shape, *words), kind)
        fields = {**self._reduction.fields(), **self._places(0, self.count or 0)}
        args = StateFinishArgs(**fields, output=self._framework.pointer(output), check=check)
        run(args, self._framework, self.array, f"finishing {self!r}")
        return self._framework.result(output)

    def __bytes__(self) -> bytes:
        """The documented format, docs/states.md, in which it can be stored and sent: the same of every device."""
        return on_host(self.array).tobytes()

    @classmethod
    def from_bytes(cls, data: Any, *, like: Array | None = None, shape: Sequence[int] | None = None) -> State:
        """The state that `bytes` gave: of NumPy, or of the framework and on the device that the array `like` is of.

        shape: that of the results; left out, one dimension, or none of a single result.
        ValueError for bytes that are no state, are damaged, or of an unknown version.

        >>> import numpy as np, warp_reduce
        >>> stored = bytes(warp_reduce.state("max", np.array([[1, 5], [7, 3]]), axis=1))
        >>> warp_reduce.State.from_bytes(stored).finish()
        array([5, 7])
        """
        from ._state_bytes import read_state

        return read_state(cls, data, like, shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and bytes(self) == bytes(other)

    def __repr__(self) -> str:
        where = "" if self.first is None else f", elements [{self.first}, {self._end()})"
        results = f" for {math.prod(self.shape)} results of shape {self.shape}" if self.shape else ""
        return f"<State of {self.op} of {self._reduction.kind[0].name}{where}{results}, {self.nbytes} bytes>"

    def __sizeof__(self) -> int:
        """With the bytes, by which schedulers know how much memory a state takes."""
        return object.__sizeof__(self) + self.nbytes

    def __reduce__(self) -> Any:
        return State, (self._reduction, self.first, self.count, self.shape, self.array)

    def without_bytes(self, first: int, count: int) -> State:
        """What is no state but has the size of one, of these elements: what a rank sends that has none."""
        array = self._framework.memory(self.array, self._reduction.size(first, count))
        array[:] = 0
        return self._like(array, first, count)

    @property
    def is_known_to_be_none(self) -> bool:
        """Whether these bytes are no state; on a GPU the calls on it find out."""
        return self._framework.on_host and not self.array[:8].any()

    def _end(self) -> int:
        return (self.first or 0) + (self.count or 0)

    def _places(self, first: int, count: int) -> dict[str, int]:
        pointer = self._framework.pointer(self.array)
        return {"first": first, "count": count, "state": pointer, "state_bytes": self.nbytes}

    def _place(self) -> tuple[Any, Any]:
        return type(self.array), None if self._framework.on_host else self.array.device

    def _like(self, array: Array, first: int | None, count: int | None) -> State:
        made = State(self._reduction, first, count, self.shape, array)
        made._framework = self._framework  # JAX's arrays are NumPy's here, and its results are not
        return made


def merged(states: Sequence[State]) -> State:
    """All of them, from the left, in one piece of memory; as State.merge."""
    whole, *others = states
    if not others:
        return whole
    for left, right in zip(states, others):
        left._check_neighbour(right)
    reduction, framework, first = whole._reduction, whole._framework, whole.first or 0
    counts = list(itertools.accumulate(each.count or 0 for each in states))[1:]
    sizes = [reduction.size(first, count) for count in counts]
    room = framework.memory(whole.array, max(sizes))
    for right, count, size in zip(others, counts, sizes):
        args = StateMergeArgs(
            **reduction.fields(),
            **whole._places(first, whole.count or 0),
            right_count=right.count or 0,
            right=framework.pointer(right.array),
            right_bytes=right.nbytes,
            merged=framework.pointer(room),
            merged_bytes=framework.shape(room)[0],
        )
        run(args, framework, whole.array, f"merging states of {reduction.op}")
        whole = whole._like(room[:size], whole.first, None if reduction.is_exact else count)
    return whole


def on_host(array: Array) -> np.ndarray:
    """A copy in NumPy's memory, of what any framework has."""
    if isinstance(array, np.ndarray):
        return array
    return array.get() if hasattr(array, "get") else array.cpu().numpy()


def state(op: str, x: Any, first: int, axis: Axis, dtype: Any, ord: float, y: Any, options: dict[str, Any]) -> State:
    name = _operator_named(op, ord)
    first = operators.index(first)
    if first < 0:
        raise ValueError(f"first counts from the axis' element 0 on: it cannot be {first}")
    if name == "logsumexp":
        from ._softmax_states import softmax_state

        return softmax_state(x, first, axis, dtype, options)
    if options["scale"] != 1 or options["causal"] is not False or not (options["mask"] is options["lengths"] is None):
        raise ValueError("scale, mask, lengths and causal are for states of logsumexp alone")
    return _state(op, name, x, first, axis, dtype, y)


def _operator_named(op: str, ord: float) -> str:
    if op == "norm":
        if ord not in NORMS:
            raise ValueError(f"ord must be 1, 2 or infinity, not {ord!r}")
        return NORMS[ord]
    if op not in _NAMES:
        raise ValueError(f"{op!r} has no states; choose from {', '.join([*_NAMES, 'norm'])}")
    return _NAMES[op]


def _state(op: str, name: str, x: Any, first: int, axis: Axis, dtype: Any, y: Any) -> State:
    framework, x = adopt(x)
    if op.startswith("dot"):
        if y is None:
            raise ValueError("a state of dot needs y, the vector's part that goes with x")
        framework, x, y = _alike(x, y)
    elif y is not None:
        raise ValueError("y is for states of dot alone")
    job = Job(name, x, dtype, None, framework)
    if job.operator == EXACT and job.kind[0].kind != "float":
        raise TypeError(f"{op} is for floats; sums of {job.kind[0].name} are exact as they are: ask for {op[:3]!r}")
    axes = axes_of(axis, len(job.shape))
    plan = _plan(framework, job, axes)
    if first + plan.axis > LONGEST:
        raise ValueError("an axis has fewer than 2^63 elements")
    fields = job.fields()
    reduction = Reduction(
        *(op, name, job.kind, job.output, plan.outer, plan.inner),
        accumulate=fields.get("accumulate_dtype", 0),
        weights=job.kind[0].code if y is not None else 0,
    )
    weights = None if y is None else _weights(framework, y, job, plan.axis)
    size = reduction.size(first, plan.axis)
    array = framework.memory(plan.array, size)
    args = StateReduceArgs(
        **reduction.fields(),
        **strides_of(plan),
        **{"first": first, "count": plan.axis, "input": framework.pointer(plan.array)},
        **{"state": framework.pointer(array), "state_bytes": size},
        weights=None if weights is None else framework.pointer(weights),
    )
    run(args, framework, plan.array, reduction.title)
    made = State(reduction, *piece_of(reduction, first, plan.axis), shape_without(job.shape, axes, False), array)
    made._framework = framework
    return made


def piece_of(reduction: Reduction, first: int, count: int) -> tuple[int | None, int | None]:
    return (None, None) if reduction.is_exact else (first, count)


def strides_of(plan: Plan) -> dict[str, int]:
    return {
        "strides_given": 1,
        "outer_stride": plan.outer_stride,
        "axis_stride": plan.axis_stride,
        "inner_stride": plan.inner_stride,
    }


def _plan(framework: Framework, job: Job, axes: tuple[int, ...]) -> Plan:
    """[outer][axis][inner] by the shape alone, not by the memory, so that all pieces of an array have the same."""
    rank, words = len(job.shape), job.words
    kept = [d for d in range(rank) if d not in axes]
    x = job.x
    if axes and axes[-1] - axes[0] != len(axes) - 1:
        x = framework.permuted(x, [*kept, *axes, *([rank] if words > 1 else [])])
        axes = tuple(range(len(kept), rank))
    if words == 1:
        return plan_rows(framework, x, axes)
    shape = framework.shape(x)[:-1]
    first, end = (axes[0], axes[-1] + 1) if axes else (rank, rank)
    outer, axis, inner = (math.prod(part) for part in (shape[:first], shape[first:end], shape[end:]))
    return Plan(framework.contiguous(x), outer, axis, inner, axis * inner, inner, 1, None)


def _alike(x: Array, y: Any) -> tuple[Framework, Array, Array]:
    from ._products import _alike as alike

    framework, x = adopt(x)
    return (framework, *alike(framework, x, framework.beside(y, x)))


def _weights(framework: Framework, y: Array, job: Job, count: int) -> Array:
    if framework.kind(y) != job.kind:
        y = framework.converted(y, job.kind)
    if framework.shape(y) != (count,):
        raise ValueError(f"y has the shape {framework.shape(y)}, and there are {count} elements along the axis")
    return framework.contiguous(y)


def empty_state(reduction: Reduction, first: int) -> np.ndarray:
    """The bytes of a piece of nothing, which is neutral."""
    size = reduction.size(first, 0)
    array = np.empty(size, np.uint8)
    fields: dict[str, Any] = {"first": first, "count": 0, "state": array.ctypes.data, "state_bytes": size}
    args: Args = StateReduceArgs(**reduction.fields(), **fields)
    if reduction.operator == "logsumexp":
        from ._softmax_states import empty_args

        args = empty_args(reduction, first, array)
    run(args, NUMPY, array, reduction.title)
    return array


def outputs_of(operator: str, element: ElementType) -> list[tuple[Kind, int]]:
    """The results' types that states of one operator and element type can be for, with what they are kept in."""
    kind = (element, False)
    found = [(default_kind(operator, kind), 0)]
    if element is not F64 and element.kind != "field":
        found.append(((F64, False), F64.code if element.kind == "float" else 0))
    return found
