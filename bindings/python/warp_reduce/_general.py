"""The reductions in general: any framework, any strides, every option."""

from __future__ import annotations

import math
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from . import _native
from ._arrays import NUMPY, Array, Framework, adopt
from ._elements import ELEMENT_TYPES, F32, F64, I64, U8, U64, ElementType
from ._errors import exception_of
from ._geometry import Axis, Plan, axes_of, layout_of, plan_reduction, shape_without
from ._library import SUCCESS, Args, ReduceArgs, load_library
from ._operators import GIVE_AN_INDEX, OPERATORS
from ._types import OTHER_NAMES, Kind, field_named, kind_named, numpy_dtype, numpy_kind, other_types

TRUTH: Kind = (U8, True)
WITHOUT_IDENTITY = ("min", "max", "argmin", "argmax")
_WIDEN = ("sum", "product", "sum_of_squares")
_AS_F64 = ("mean", "norm_l1", "norm_l2", "norm_max")


def default_kind(operator: str, kind: Kind) -> Kind:
    """What an operator gives of such elements where no type is asked for: what NumPy's function gives."""
    element, is_bool = kind
    if operator in ("any", "all"):
        return TRUTH
    if operator in (*GIVE_AN_INDEX, "count_nonzero"):
        return I64, False
    if element.kind == "integer" and operator in _WIDEN:
        return (I64 if element.is_signed or is_bool else U64), False
    if element.kind == "integer" and operator in _AS_F64:
        return F64, False
    return kind


def install_simple_calls() -> None:
    """Tells `_native` what it needs to make the common calls by itself."""
    load_library()
    for element in ELEMENT_TYPES:
        for is_bool in (False, True) if element is U8 else (False,):
            if element.kind != "field":
                _install_results((element, is_bool))
    for element in ELEMENT_TYPES:
        if element.alias and element.alias not in OTHER_NAMES:
            dtype = np.dtype(element.alias)
            for name in (dtype, dtype.type, element.alias):
                _native.set_dtype(name, element.code, dtype)
    _native.set_numpy(np.ndarray, np.empty, other_types)


def _install_results(kind: Kind) -> None:
    for operator, code in OPERATORS.items():
        if kind[0].kind == "integer" and operator in ("norm_max", "logsumexp", "sum_exact"):
            continue  # which want their input converted, or are sums
        output = default_kind(operator, kind)
        dtype = None if output == kind else numpy_dtype(output)  # none of them is ml_dtypes'
        _native.set_result(code, kind[0].code, kind[1], output[0].code, output[1], dtype)


class Job:
    """A reduction of one array: its elements, and what it shall give."""

    def __init__(
        self, operator: str, x: Any, dtype: Any, out: Array | None, framework: Framework | None = None
    ) -> None:
        """x is of `framework`, if that is known."""
        self.operator = operator
        self.framework, self.x = (framework, x) if framework else adopt(x)
        field = field_named(dtype)
        if field:
            self.kind: Kind = (field, False)
            self._check_words(field)
            wanted = None
        else:
            self.kind = self.framework.kind(self.x)
            wanted = kind_named(dtype) if dtype is not None else None
        self.output = self._output(wanted, out)

    def _check_words(self, field: ElementType) -> None:
        element, _ = self.framework.kind(self.x)
        if element.storage != field.word and element.storage != field.word.newbyteorder("="):
            raise TypeError(
                f"{field.name} is stored in arrays of {field.word.name}, and this one is of {element.alias}"
            )
        if field.words > 1 and self.framework.shape(self.x)[-1:] != (field.words,):
            shape = self.framework.shape(self.x)
            raise ValueError(f"{field.name} needs a last dimension of {field.words} words; the shape is {shape}")

    def _output(self, wanted: Kind | None, out: Array | None) -> Kind:
        """Converts the elements where the library has no way from them to the wanted type."""
        if wanted is None and out is not None and self.kind[0].kind != "field":
            wanted = self._taken_from(out)
        self._convert(wanted)
        return wanted or default_kind(self.operator, self.kind)

    def _taken_from(self, out: Array) -> Kind | None:
        """As in NumPy, an output says in which type a sum is taken; what has a type of its own is converted to it."""
        if self.operator in ("any", "all", "count_nonzero", *GIVE_AN_INDEX) or not is_array_of(self.framework, out):
            return None
        kind = self.framework.kind(out)
        if kind[1] or (self.kind[0].kind == "float" and kind[0].kind == "integer"):
            return None
        return kind

    def _convert(self, wanted: Kind | None) -> None:
        element = self.kind[0]
        target = None
        if element.kind == "integer" and self.operator in ("norm_max", "logsumexp"):
            target = wanted if wanted and wanted[0].kind == "float" else (F64, False)
        elif wanted and element.kind != "field" and self._must_be_converted(element, wanted[0]):
            target = wanted
        if target:
            self.x = self.framework.converted(self.x, target)
            self.kind = target

    def _must_be_converted(self, element: ElementType, wanted: ElementType) -> bool:
        if self.operator in ("any", "all", "count_nonzero", *GIVE_AN_INDEX):
            return False
        if element.kind == "float":
            return wanted.kind == "integer"
        if self.operator in ("min", "max"):
            return wanted is not element
        return self.operator in _WIDEN and wanted.kind == "float" and wanted not in (F32, F64)

    @property
    def words(self) -> int:
        return self.kind[0].words

    @property
    def shape(self) -> tuple[int, ...]:
        return layout_of(self.framework, self.x, self.words).shape

    @property
    def takes_any_order(self) -> bool:
        """Whether the order of the elements changes nothing: exact sums, extremes, counts."""
        if self.operator in ("sum", "product"):
            return self.kind[0].kind != "float"
        return self.operator in ("min", "max", "norm_max", "any", "all", "count_nonzero", "sum_exact")

    def stored_kind(self, kind: Kind) -> Kind:
        """Field elements lie in arrays of plain words."""
        element = kind[0]
        return numpy_kind(element.word) if element.kind == "field" else kind

    def fields(self) -> dict[str, Any]:
        element, output = self.kind[0], self.output[0]
        fields = {"op": OPERATORS[self.operator], "dtype": element.code, "output_dtype": output.code}
        summed = self.operator in (*_WIDEN, *_AS_F64) and self.operator != "norm_max"
        if summed and element.kind == "float" and output is F64 and element is not F64:
            fields["accumulate_dtype"] = F64.code
        return fields

    @property
    def title(self) -> str:
        return f"{self.operator} of {self.kind[0].name} into {self.output[0].name}"


def reduce(
    operator: str,
    x: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Array | None = None,
    keepdims: bool = False,
    where: Any = True,
) -> Any:
    job = Job(operator, x, dtype, out)
    if operator == "sum_exact" and job.kind[0].kind != "float":  # whose sums are exact
        return reduce("sum", x, axis, dtype, out, keepdims, where)
    axes = axes_of(axis, len(job.shape))
    if where is not True:
        if operator == "mean":
            return _mean_where(job, axes, out, keepdims, where)
        if operator == "logsumexp" and job.kind[0].name == "f8_e4m3":  # which has no infinity to fill in
            job.x, job.kind = job.framework.converted(job.x, (F32, False)), (F32, False)
        _fill(job, where)
    shape = shape_without(job.shape, axes, keepdims)
    if operator in WITHOUT_IDENTITY and where is True:
        _check_not_empty(job, axes)
    plan = plan_reduction(job.framework, job.x, axes, job.words, job.takes_any_order)
    target, result = _places(job, plan, axes, shape, out)
    fields = {**job.fields(), **plan.fields(), "input": job.framework.pointer(plan.array)}
    run(ReduceArgs(**fields, output=job.framework.pointer(target)), job.framework, plan.array, job.title)
    return finished(job.framework, result, out)


def _check_not_empty(job: Job, axes: tuple[int, ...]) -> None:
    if not math.prod(job.shape[d] for d in axes):
        if job.operator in GIVE_AN_INDEX:
            raise ValueError(f"attempt to get {job.operator} of an empty sequence")
        raise ValueError(f"zero-size array to reduction operation {job.operator} which has no identity")


def _places(
    job: Job, plan: Plan, axes: tuple[int, ...], shape: tuple[int, ...], out: Array | None
) -> tuple[Array, Array]:
    """The memory that the library writes, and the same as an array of the result's shape."""
    framework, kind = job.framework, job.stored_kind(job.output)
    words = (job.output[0].words,) if job.output[0].words > 1 else ()
    if out is not None:
        check_out(framework, out, (*shape, *words))
        if plan.kept is None and _fits(framework, out, job.x, kind):
            return out, out
    if plan.kept is None:
        target = framework.empty(job.x, (*shape, *words), kind)
        return target, target
    target = framework.empty(job.x, (*(job.shape[d] for d in plan.kept), *words), kind)
    order = sorted(range(len(plan.kept)), key=lambda place: plan.kept[place])  # type: ignore[index]
    last = [len(order)] if words else []
    return target, framework.permuted(target, [*order, *last]).reshape((*shape, *words))


def is_array_of(framework: Framework, out: Any) -> bool:
    """Whether it can be written to as it is."""
    found, x = adopt(out)
    return type(found) is type(framework) and (x is out or isinstance(out, np.ndarray))


def check_out(framework: Framework, out: Array, shape: tuple[int, ...]) -> None:
    if not is_array_of(framework, out):
        raise TypeError(f"out must be an array of the input's framework, not {type(out).__name__}")
    if tuple(framework.shape(out)) != shape:
        raise ValueError(f"out has the shape {tuple(framework.shape(out))}, and the result's is {shape}")
    if not framework.is_writable(out):
        raise ValueError("out is read-only; give an array that may be written")


def _fits(framework: Framework, out: Array, x: Array, kind: Kind) -> bool:
    """Whether the library can write there itself."""
    with suppress(TypeError):
        return framework.kind(out) == kind and is_contiguous(framework, out) and not framework.overlap(out, x)
    return False


def is_contiguous(framework: Framework, x: Array) -> bool:
    expected = framework.item_size(x)
    for length, stride in zip(reversed(framework.shape(x)), reversed(framework.strides(x))):
        if length != 1 and stride != expected:
            return False
        expected *= max(length, 1)
    return not isinstance(x, np.ndarray) or bool(x.flags.aligned and x.dtype.isnative)


def finished(framework: Framework, result: Array, out: Array | None) -> Any:
    if out is None:
        return framework.result(result)
    if result is not out:
        framework.assign(out, result)
    return out


def run(args: Args, framework: Framework, x: Array, title: str) -> None:
    """Calls the library where x lies, on its framework's current stream, with a workspace of the framework's."""
    library = load_library()
    with framework.device(x):
        stream = framework.stream(x)
        if not framework.on_host:
            status, size = _native.workspace_size(library.number, args.call, vars(args))
            if status == SUCCESS and size:
                workspace = framework.memory(x, size)
                args.workspace, args.workspace_bytes = framework.pointer(workspace), size
        status = library.status_of(args, stream)
    if status != SUCCESS:
        raise exception_of(library, status, title)


# ---- where


def _fill(job: Job, where: Any) -> None:
    """Puts the operator's identity where an element takes no part."""
    chosen = _chosen(job, where)
    if job.words > 1:
        chosen = job.framework.broadcast(chosen[..., None], (*job.shape, job.words))
    value = identity(job.operator, job.kind[0])
    job.x = job.framework.filled(job.x, chosen, np.minimum(value, value.dtype.type(1)) if job.kind[1] else value)


def _chosen(job: Job, where: Any) -> Array:
    mask = job.framework.beside(where, job.x)
    if job.framework.kind(mask) != TRUTH:
        raise TypeError("where must be an array of bool")
    return job.framework.broadcast(mask, job.shape)


@cache
def identity(operator: str, element: ElementType) -> np.ndarray:
    """The element that changes no result, as the library gives it for an axis without elements; as stored words."""
    if operator in ("any", "count_nonzero", "norm_l1", "norm_l2", "norm_max", "sum_of_squares"):
        operator = "sum"
    if operator == "all":
        operator = "product"
    place = np.zeros(element.words, element.word)
    nothing = ReduceArgs(op=OPERATORS[operator], dtype=element.code, outer=1, axis=0, inner=1, output=place.ctypes.data)
    run(nothing, NUMPY, place, f"{operator} of {element.name}")
    return place if element.words > 1 else place[0:1].reshape(())


def _mean_where(job: Job, axes: tuple[int, ...], out: Array | None, keepdims: bool, where: Any) -> Any:
    """The sum of the elements that take part, divided by their number, in the type that sums are kept in."""
    framework = job.framework
    chosen = _chosen(job, where)
    narrow = job.output[0]
    wide: Kind = (F64 if F64 in (narrow, job.kind[0]) or job.kind[0].kind == "integer" else F32, False)
    total = reduce("sum", job.x, axes, dtype=wide[0].alias, keepdims=keepdims, where=chosen)
    count = reduce("count_nonzero", chosen, axes, keepdims=keepdims)
    with np.errstate(all="ignore"):  # a mean of nothing is NaN
        mean = framework.beside(total, job.x) / framework.converted(framework.beside(count, job.x), wide)
    result = framework.converted(framework.beside(mean, job.x), job.output)
    if out is not None:
        check_out(framework, out, shape_without(job.shape, axes, keepdims))
    return finished(framework, result, out)


install_simple_calls()
