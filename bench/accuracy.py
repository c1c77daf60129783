"""The worst errors of softmax, log-softmax and the gradient: ours beside PyTorch, SciPy and NumPy, in one run."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "build" / "lib" / "wr"))

from warp_reduce._elements import BF16, BY_NAME, F32, ElementType  # noqa: E402
from warp_reduce._library import Library, SoftmaxArgs, SoftmaxBackwardArgs, load_library  # noqa: E402
from warp_reduce.wr.errors import WrError  # noqa: E402
from warp_reduce.wr.screen import console, table  # noqa: E402

SHORT = range(2, 41)
LONG = (1000, 4096, 32768)
ELEMENTS_A_BATCH = 1 << 18
EXPONENT_OF_F64 = np.int64(0x7FF0000000000000)
FUNCTIONS = ("softmax", "log-softmax", "gradient")
TYPES = ("f32", "bf16", "f16", "f64")

EPILOG = """how the errors are counted:
  softmax      in ulp of f32 (f64 for f64), the spacing of the type's numbers at the exact value, of outputs above
               2^-120 (f64: 2^-960)
  log-softmax  in ulp at the larger of the exact magnitude and 1
  gradient     in roundings: 2^-24 (f64: 2^-53) of y * (|dy| + sum of |y * dy|), from the same saved outputs for all
Inputs of 16 bits are given to everyone as they are and come out as f32, before a rounding to 16 bits would hide the
errors. The reference is f64, of f64 itself the processor's long double. 'inf' stands for results that are infinite
or NaN where the exact ones are not.

'spread' rows are uniform over that distance; 'to 1e30' rows have magnitudes from 1e-2 to 1e30 (f16: to 6e4) and signs.

examples:
  bench/accuracy.py                          on the host device, beside PyTorch on the CPU, SciPy and NumPy
  bench/accuracy.py --device cuda            on a GPU, beside PyTorch there
  bench/accuracy.py --rows 1000000 --only softmax --types f32

WARP_REDUCE_LIBRARY names libwarp_reduce.so. Peers that are not installed are left out."""


# ---- rows


@dataclass(frozen=True)
class Kind:
    """Where logits lie."""

    name: str
    draw: Callable[[np.random.Generator, tuple[int, int], float], np.ndarray]


def spread(distance: float) -> Kind:
    return Kind(f"spread {distance:g}", lambda rng, shape, _: distance * rng.random(shape))


def _magnitudes(rng: np.random.Generator, shape: tuple[int, int], largest: float) -> np.ndarray:
    sign = np.where(rng.random(shape) < 0.5, -1.0, 1.0)
    return sign * 10.0 ** (rng.random(shape) * (np.log10(largest) + 2.0) - 2.0)


KINDS = (spread(1), spread(10), spread(80), Kind("to 1e30", _magnitudes))


def rounded(values: np.ndarray, element: ElementType) -> np.ndarray:
    """To the element type, as numbers of f32 (f64 for f64)."""
    if element is BF16:
        bits = values.astype(np.float32).view(np.uint32)
        return (bits & np.uint32(0xFFFF0000)).view(np.float32)
    narrow = values.astype(element.storage)
    return narrow if element.name == "f64" else narrow.astype(np.float32)


def stored(values: np.ndarray, element: ElementType) -> np.ndarray:
    """As the library reads them."""
    if element is BF16:
        return (values.view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(element.storage)


# ---- who is measured


class Contestant:
    """Takes rows of f32 (or f64) numbers that the element type holds, gives rows of the same type."""

    name: str

    def softmax(self, x: np.ndarray, element: ElementType) -> np.ndarray:
        raise NotImplementedError

    def log_softmax(self, x: np.ndarray, element: ElementType) -> np.ndarray:
        raise NotImplementedError

    def gradient(self, y: np.ndarray, dy: np.ndarray, element: ElementType) -> np.ndarray:
        raise NotImplementedError

    def has(self, function: str) -> bool:
        method = function.replace("-", "_")
        return getattr(type(self), method) is not getattr(Contestant, method)


class Ours(Contestant):
    """On the host device, or on a GPU through PyTorch's memory there."""

    name = "ours"

    def __init__(self, library: Library, torch: Any = None) -> None:
        self._library, self._torch = library, torch

    def softmax(self, x: np.ndarray, element: ElementType, log: bool = False) -> np.ndarray:
        args = SoftmaxArgs(dtype=element.code, log=int(log), scale=0.0)
        args.output_dtype = BY_NAME["f64" if element.name == "f64" else "f32"].code
        args.outer, args.axis, args.inner = *x.shape, 1
        return self._run(args, self._library.softmax, {"input": stored(x, element)}, x)

    def log_softmax(self, x: np.ndarray, element: ElementType) -> np.ndarray:
        return self.softmax(x, element, log=True)

    def gradient(self, y: np.ndarray, dy: np.ndarray, element: ElementType) -> np.ndarray:
        args = SoftmaxBackwardArgs(dtype=element.code)
        wide = BY_NAME["f64" if element.name == "f64" else "f32"].code
        args.output_gradient_dtype = args.input_gradient_dtype = wide
        args.outer, args.axis, args.inner = *y.shape, 1
        inputs = {"output": stored(y, element), "output_gradient": dy}
        return self._run(args, self._library.softmax_backward, inputs, dy)

    def _run(self, args: Any, call: Callable[..., None], inputs: dict[str, np.ndarray], like: np.ndarray) -> np.ndarray:
        result_field = "output" if isinstance(args, SoftmaxArgs) else "input_gradient"
        if self._torch is None:
            result = np.empty_like(like)
            for name, array in {**inputs, result_field: result}.items():
                setattr(args, name, array.ctypes.data)
            call(args, self._library.host_stream)
            return result
        on_gpu = {name: self._torch.from_numpy(array).cuda() for name, array in inputs.items()}
        on_gpu[result_field] = self._torch.empty(like.shape, dtype=self._torch.from_numpy(like).dtype, device="cuda")
        for name, tensor in on_gpu.items():
            setattr(args, name, tensor.data_ptr())
        call(args, self._torch.cuda.current_stream().cuda_stream or 1)
        return on_gpu[result_field].cpu().numpy()


class PyTorch(Contestant):
    def __init__(self, torch: Any, device: str) -> None:
        self._torch, self._device = torch, device
        self.name = f"PyTorch {torch.__version__.split('+')[0]} {'CUDA' if device == 'cuda' else 'CPU'}"
        torch.set_num_threads(1)

    def _tensor(self, values: np.ndarray, element: ElementType) -> Any:
        types = {"bf16": self._torch.bfloat16, "f16": self._torch.float16}
        tensor = self._torch.from_numpy(values).to(self._device)
        return tensor.to(types[element.name]) if element.name in types else tensor

    def _wide(self, x: np.ndarray) -> Any:
        return self._torch.float64 if x.dtype == np.float64 else self._torch.float32

    def softmax(self, x: np.ndarray, element: ElementType) -> np.ndarray:
        return self._torch.softmax(self._tensor(x, element), -1, dtype=self._wide(x)).cpu().numpy()

    def log_softmax(self, x: np.ndarray, element: ElementType) -> np.ndarray:
        return self._torch.log_softmax(self._tensor(x, element), -1, dtype=self._wide(x)).cpu().numpy()

    def gradient(self, y: np.ndarray, dy: np.ndarray, element: ElementType) -> np.ndarray:
        """PyTorch keeps outputs of the gradient's type, so 16-bit outputs are given to it widened."""
        saved, gradient = self._tensor(y, F32), self._tensor(dy, F32)
        return self._torch.ops.aten._softmax_backward_data(gradient, saved, -1, saved.dtype).cpu().numpy()


class SciPy(Contestant):
    def __init__(self, special: Any, version: str) -> None:
        self._special, self.name = special, f"SciPy {version}"

    def softmax(self, x: np.ndarray, element: ElementType) -> np.ndarray:
        return self._special.softmax(x, axis=-1)

    def log_softmax(self, x: np.ndarray, element: ElementType) -> np.ndarray:
        return self._special.log_softmax(x, axis=-1)


class NumPy(Contestant):
    """The formulas as they stand in a textbook."""

    name = f"NumPy {np.__version__}, plain formula"

    def softmax(self, x: np.ndarray, element: ElementType) -> np.ndarray:
        e = np.exp(x)
        return e / e.sum(-1, keepdims=True)

    def log_softmax(self, x: np.ndarray, element: ElementType) -> np.ndarray:
        return x - np.log(np.exp(x).sum(-1, keepdims=True))

    def gradient(self, y: np.ndarray, dy: np.ndarray, element: ElementType) -> np.ndarray:
        return y * (dy - (y * dy).sum(-1, keepdims=True))


def contestants(library: Library, device: str) -> list[Contestant]:
    torch = _installed("torch")
    if device == "cuda":
        if torch is None or not torch.cuda.is_available():
            raise WrError("--device cuda needs PyTorch and a GPU that it sees")
        return [Ours(library, torch), PyTorch(torch, "cuda")]
    found: list[Contestant] = [Ours(library)]
    if torch is not None:
        found.append(PyTorch(torch, "cpu"))
    scipy = _installed("scipy")
    if scipy is not None:
        found.append(SciPy(importlib.import_module("scipy.special"), scipy.__version__))
    return [*found, NumPy()]


def _installed(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


# ---- the exact values, and the distance from them


@dataclass(frozen=True)
class Question:
    """One batch: what each contestant is given, and how far from what it may be."""

    ask: Callable[[Contestant], np.ndarray]
    exact: np.ndarray
    unit: np.ndarray  # of each output's error; 0 where it does not count

    def worst(self, contestant: Contestant) -> float:
        got = self.ask(contestant)
        with np.errstate(all="ignore"):
            errors = np.abs(got - self.exact) / self.unit
        largest = np.max(errors, initial=0.0, where=self.unit > 0)
        return float(largest) if largest < np.inf else np.inf


def _wide(element: ElementType) -> Any:
    return np.longdouble if element.name == "f64" else np.float64


def _ulp(exact: np.ndarray, element: ElementType) -> np.ndarray:
    """The spacing of the output type's normal numbers at the exact values."""
    if element.name == "f64":
        _, exponent = np.frexp(exact)
        return np.ldexp(exact.dtype.type(1), exponent - 53)
    return (exact.view(np.int64) & EXPONENT_OF_F64).view(np.float64) * 2.0**-23


def _exponentials(x: np.ndarray, element: ElementType) -> tuple[np.ndarray, np.ndarray]:
    """x less its row's maximum, and the exponential of that, with what the difference's rounding loses."""
    wide = x.astype(_wide(element))
    maximum = wide.max(-1, keepdims=True)
    shifted = wide - maximum
    back = shifted - wide
    lost = (wide - (shifted - back)) - (maximum + back)
    powers = np.exp(shifted)
    return shifted, powers + powers * lost


def _softmax_question(x: np.ndarray, element: ElementType, log: bool) -> Question:
    shifted, powers = _exponentials(x, element)
    total = powers.sum(-1, keepdims=True)
    if log:
        exact = shifted - np.log(total)
        unit = _ulp(np.maximum(np.abs(exact), 1), element)
        return Question(lambda who: who.log_softmax(x, element), exact, unit)
    exact = powers / total
    lowest = 2.0**-960 if element.name == "f64" else 2.0**-120
    return Question(lambda who: who.softmax(x, element), exact, np.where(exact > lowest, _ulp(exact, element), 0))


def _gradient_question(x: np.ndarray, rng: np.random.Generator, element: ElementType) -> Question:
    _, powers = _exponentials(x, element)
    y = rounded((powers / powers.sum(-1, keepdims=True)).astype(np.float64), element)
    dy = (2.0 * rng.random(x.shape) - 1.0).astype(x.dtype)
    exact_y, exact_dy = y.astype(powers.dtype), dy.astype(powers.dtype)
    terms = exact_y * exact_dy
    exact = exact_y * (exact_dy - terms.sum(-1, keepdims=True))
    unit = exact_y * (np.abs(exact_dy) + np.abs(terms).sum(-1, keepdims=True))
    # where y is so small that products leave the normal range, roundings are no measure
    roundings = np.where(exact_y > 2.0**-60, unit * (2.0**-53 if element.name == "f64" else 2.0**-24), 0)
    return Question(lambda who: who.gradient(y, dy, element), exact, roundings)


def question(function: str, element: ElementType, kind: Kind, shape: tuple[int, int], seed: int) -> Question:
    rng = np.random.default_rng(seed)
    largest = 6e4 if element.name == "f16" else 1e30
    x = rounded(kind.draw(rng, shape, largest), element)
    if function == "gradient":
        return _gradient_question(x, rng, element)
    return _softmax_question(x, element, function == "log-softmax")


# ---- the run


@dataclass
class Line:
    """One line of the table: the worst error of each contestant."""

    function: str
    element: ElementType
    rows: str
    kind: str
    worst: dict[str, float] = field(default_factory=dict)


def batches(lengths: Any, rows: int) -> Iterator[tuple[int, int]]:
    for length in lengths:
        step = max(1, ELEMENTS_A_BATCH // length)
        for begin in range(0, rows, step):
            yield min(step, rows - begin), length


def measure(line: Line, kind: Kind, shapes: list[tuple[int, int]], found: list[Contestant], pool: Any) -> None:
    taking_part = [each for each in found if each.has(line.function)]

    def one(job: tuple[int, tuple[int, int]]) -> dict[str, float]:
        seed, shape = job
        asked = question(line.function, line.element, kind, shape, seed)
        with np.errstate(all="ignore"):
            return {each.name: asked.worst(each) for each in taking_part}

    for worst in pool.map(one, enumerate(shapes)):
        for name, error in worst.items():
            line.worst[name] = max(line.worst.get(name, 0.0), error)


def lines(options: argparse.Namespace, found: list[Contestant]) -> Iterator[Line]:
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for function in options.only:
            for name in options.types:
                element = BY_NAME[name]
                # long double is slow, and its rows are fewer
                rows = options.rows // 10 if name == "f64" else options.rows
                for title, shapes in (
                    ("2 to 40", list(batches(SHORT, max(1, rows)))),
                    ("1000, 4096, 32768", list(batches(LONG, max(1, rows // 1000)))),
                ):
                    for kind in KINDS:
                        if function == "gradient" and kind.name == "to 1e30":
                            continue
                        line = Line(function, element, title, kind.name)
                        measure(line, kind, shapes, found, pool)
                        yield line


def cell(error: float | None) -> str:
    return "" if error is None else "inf" if np.isinf(error) else f"{error:.2f}" if error < 1e4 else f"{error:.0e}"


def show(title: str, listed: list[Line], found: list[Contestant]) -> None:
    listing = table()
    for heading in ("function", "type", "rows of", "logits"):
        listing.add_column(heading)
    for each in found:
        listing.add_column(each.name, justify="right")
    for line in listed:
        cells = (cell(line.worst.get(each.name)) for each in found)
        listing.add_row(line.function, line.element.name, line.rows, line.kind, *cells)
    screen = console()
    screen.print(title, style="bold")
    screen.print(listing)


def worst_of_all(listed: list[Line]) -> list[Line]:
    """Over all kinds of rows."""
    merged: dict[tuple[str, str, str], Line] = {}
    for line in listed:
        key = (line.function, line.element.name, line.rows)
        into = merged.setdefault(key, Line(line.function, line.element, line.rows, "all"))
        for name, error in line.worst.items():
            into.worst[name] = max(into.worst.get(name, 0.0), error)
    return list(merged.values())


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=("host", "cuda"), default="host", help="where ours and PyTorch run")
    parser.add_argument(
        "--rows",
        type=int,
        default=100_000,
        metavar="R",
        help="rows of each length from 2 to 40; a thousandth of them of each long one, and a tenth of both for f64 "
        "(default: 100000)",
    )
    parser.add_argument(
        "--only", nargs="+", choices=FUNCTIONS, default=FUNCTIONS, metavar="F", help=", ".join(FUNCTIONS)
    )
    parser.add_argument("--types", nargs="+", choices=TYPES, default=TYPES, metavar="T", help=", ".join(TYPES))
    return parser.parse_args()


def main() -> int:
    options = parsed()
    if np.finfo(np.longdouble).nmant < 63 and "f64" in options.types:
        print(
            "accuracy: the reference for f64 needs a long double of 64 bits; leave f64 out with --types",
            file=sys.stderr,
        )
        return 1
    try:
        found = contestants(load_library(), options.device)
        listed = list(lines(options, found))
    except WrError as error:
        print(f"accuracy: {error}", file=sys.stderr)
        return 1
    show("the worst errors of each kind of rows", listed, found)
    show("the worst of all kinds", worst_of_all(listed), found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
