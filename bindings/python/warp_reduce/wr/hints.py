"""What to do about a reduction that the library does not offer, in terms of the command line."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace

from .._library import ERROR_UNSUPPORTED, Library, Refused
from .offers import is_offered
from .reduction import Reduction

_LEFT_OUT = {
    "accumulate": None,
    "ignore_nan": False,
    "weights": None,
    "operator": "sum",
}  # what a Reduction has without each option


@contextmanager
def advising(advice: Callable[[], str]) -> Iterator[None]:
    """Puts advice behind the refusal of what is not offered."""
    try:
        yield
    except Refused as refusal:
        if refusal.status != ERROR_UNSUPPORTED:
            raise
        raise Refused(refusal.status, f"{refusal}; {advice()}") from None


def advice_on_reduction(library: Library, job: Reduction, add: bool) -> str:
    if job.operator in ("mean", "norm_l2") and job.element.kind == "integer" and job.output.kind != "float":
        return "add --output-dtype f64"
    options = _options(job, add)
    if job.weights:
        options["weights"] = "--weights" if job.weights is job.element else f"--weights of {job.weights.name}"
    return _advice_on_options(library, job, add, options) or f"'wr ops {job.operator}' lists what there is"


def advice_on_dot(library: Library, job: Reduction, add: bool) -> str:
    """A dot product is a sum with weights, which cannot be left out."""
    options = _options(job, add)
    if job.operator == "sum_exact":
        options["operator"] = "--exact"
    advice = _advice_on_options(library, job, add, options)
    return advice or "'wr ops' lists what a sum takes and gives, and which types may be weighted with others"


def _options(job: Reduction, add: bool) -> dict[str, str]:
    """Those that were given, as they were: where in a Reduction each is, or "add", and what it is called."""
    options = {"add": "--add-to"} if add else {}
    if job.accumulate:
        options["accumulate"] = f"--accumulate-dtype {job.accumulate.name}"
    if job.ignore_nan:
        options["ignore_nan"] = "--nan ignore"
    return options


def _advice_on_options(library: Library, job: Reduction, add: bool, options: dict[str, str]) -> str:
    """Which of the options to leave out; nothing where they are not what is wrong."""
    if _is_offered_without(library, job, add, ()) or not _is_offered_without(library, job, add, options):
        return ""
    alone = [name for each, name in options.items() if _is_offered_without(library, job, add, (each,))]
    names = " or ".join(alone) or " and ".join(options.values())
    return f"leave {names} out ('wr ops' lists the options of each operator)"


def _is_offered_without(library: Library, job: Reduction, add: bool, options: Collection[str]) -> bool:
    plain = replace(job, **{each: _LEFT_OUT[each] for each in options if each in _LEFT_OUT})
    return is_offered(library, plain, add=add and "add" not in options)
