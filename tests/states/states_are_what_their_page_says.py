"""The bytes of states are what docs/states.md says, and those of the golden file, which no later version may change.

The reader below knows the page alone: it takes headers and accumulators apart and computes them from the elements once
more, in Python's own arithmetic. Arguments: the library, the golden file; with --write the file is made anew.
"""

import argparse
import ctypes
import struct
import sys
from fractions import Fraction
from pathlib import Path

SUM, ARGMAX, NORM_L2, SUM_EXACT, LOGSUMEXP = 1, 6, 10, 19, 18
MAX, MEAN, COUNT_NONZERO, BIT_AND = 4, 7, 14, 15
F32, F64, I32, U8, KOALABEAR = 1, 2, 9, 11, 15
KINDS = {
    "sum_f32": 1, "counted_f32": 5, "squares_f32": 7, "wide_sum": 9, "integer_sum": 11, "bit_or": 13,
    "sum_koalabear": 15, "extreme_32": 27, "place_32": 29, "exact": 31,
}  # fmt: skip
ORDERED = {"sum_f32", "counted_f32", "squares_f32", "wide_sum"}
WORD = (1 << 64) - 1


class Args(ctypes.Structure):
    """wr_state_args."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        *[(name, ctypes.c_int32) for name in ("op", "dtype", "output_dtype", "accumulate_dtype", "nan_mode")],
        *[(name, ctypes.c_int32) for name in ("weights_dtype", "strides_given")],
        *[(name, ctypes.c_size_t) for name in ("outer", "inner", "first", "count", "right_count")],
        *[(name, ctypes.c_void_p) for name in ("input", "weights")],
        *[(name, ctypes.c_ssize_t) for name in ("outer_stride", "axis_stride", "inner_stride")],
        *[(name, kind) for array in ("state", "right", "merged")
          for name, kind in ((array, ctypes.c_void_p), (array + "_bytes", ctypes.c_size_t))],
        *[(name, ctypes.c_void_p) for name in ("output", "values", "check", "workspace")],
        ("workspace_bytes", ctypes.c_size_t),
        ("scale", ctypes.c_double),
    ]  # fmt: skip


class Buffer:
    """Memory on 16 bytes."""

    def __init__(self, size, content=b""):
        self.size = size
        self.memory = ctypes.create_string_buffer(size + 32)
        self.address = (ctypes.addressof(self.memory) + 15) // 16 * 16
        ctypes.memmove(self.address, content, len(content))

    def bytes(self):
        return ctypes.string_at(self.address, self.size)


def single(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def nodes(first, count):
    """The whole subtrees of a piece, in order: (begin, length)."""
    found, at = [], first
    while at < first + count:
        length = 1
        while at % (2 * length) == 0 and at + 2 * length <= first + count:
            length *= 2
        found.append((at, length))
        at += length
    return found


def tree(values, add):
    """The natural tree over a power of two of values."""
    half = len(values) // 2
    return values[0] if half == 0 else add(tree(values[:half], add), tree(values[half:], add))


def check_word(header):
    check = 0x9E3779B97F4A7C15
    for word in struct.unpack("<15Q", header[:120]):
        check = ((check ^ word) * 0xFF51AFD7ED558CCD) & WORD
        check ^= check >> 32
    return check


def key(x):
    bits = struct.unpack("<i", struct.pack("<f", x))[0]
    return bits ^ (0x7FFFFFFF if bits < 0 else 0)


def accumulator(kind, values, at):
    """The accumulator over `values`, elements at, at + 1, ..., as bytes."""
    if kind == "sum_f32":
        return struct.pack("<f", tree(values, lambda a, b: single(a + b)))
    if kind == "counted_f32":
        numbers = [x if x == x else None for x in values]
        total = tree(numbers, lambda a, b: b if a is None else a if b is None else single(a + b))
        return struct.pack("<fIQ", -0.0 if total is None else total, 0, sum(x is not None for x in numbers))
    if kind == "squares_f32":  # of ordinary numbers: range 0
        return struct.pack("<fiQ", tree([single(x * x) for x in values], lambda a, b: single(a + b)), 0, 0)
    if kind == "wide_sum":
        return struct.pack("<dQ", tree([float(x) for x in values], lambda a, b: a + b), sum(values) & WORD)
    if kind == "integer_sum":
        return struct.pack("<Q", sum(map(int, values)) & WORD)
    if kind == "bit_or":  # of WR_BIT_AND: of the bits turned over
        result = 0
        for x in values:
            result |= ~x & WORD
        return struct.pack("<Q", result)
    if kind == "sum_koalabear":
        return struct.pack("<Q", sum(values) % (2**31 - 2**24 + 1))
    if kind == "extreme_32":
        return struct.pack("<i", max(key(x) for x in values))
    if kind == "place_32":
        best = max(key(x) for x in values)
        return struct.pack("<iIQ", best, 0, at + [key(x) for x in values].index(best))
    raise AssertionError(kind)


def exact_words(values):
    """11 limbs of 2^-149, and the five counts."""
    total = sum((Fraction(x) for x in values), Fraction(0)) * 2**149
    assert total.denominator == 1
    integer, limbs = total.numerator, []
    for _ in range(10):
        limbs.append(integer & 0xFFFFFFFF)
        integer >>= 32
    minus_zero = [struct.pack("<f", x) == struct.pack("<f", -0.0) for x in values]
    numbers = not all(minus_zero)
    return struct.pack("<16q", *limbs, integer, 0, 0, 0, bool(values) and not numbers, numbers)


def expected_payload(kind, values, first, inner):
    columns = [values[i::inner] for i in range(inner)]
    count = len(columns[0])
    if kind == "exact":
        return b"".join(exact_words(column) for column in columns)
    runs = nodes(first, count) if kind in ORDERED else [(first, count)] if count else []
    return b"".join(
        accumulator(kind, column[at - first : at - first + length], at) for at, length in runs for column in columns
    )


def expected_header(case, first, count, payload):
    lies = case["kind"] != "exact"
    runs = len(nodes(first, count)) if case["kind"] in ORDERED else int(count != 0) if lies else 1
    front = struct.pack(
        "<8sIIiiiiiiQQQQQQQ24x", b"WRSTATE\0", 1, 0, case["op"], case["dtype"], 0, KINDS[case["kind"]],
        case.get("nan_mode", 0), 0, 1, case["inner"], first if lies else 0, count if lies else 0, runs, len(payload), 0,
    )  # fmt: skip
    return front + struct.pack("<Q", check_word(front))


def thirds(count):
    return [single((-1) ** i * (i % 13 + 1) / 3) for i in range(count)]


def cases():
    integers = [(i * 2654435761) % 2**31 - 2**30 for i in range(400)]
    ignored = [float("nan") if i % 5 == 2 else x for i, x in enumerate(thirds(400))]
    words = [(i * 1234567891) % (2**31 - 2**24 + 1) for i in range(400)]
    small = [(i * 89 | 0xC1) % 256 for i in range(400)]
    floats = {"dtype": F32, "code": "f", "values": thirds(400)}
    yield {"name": "sum", "op": SUM, "kind": "sum_f32", "inner": 1, **floats}
    yield {"name": "columns", "op": MEAN, "kind": "sum_f32", "inner": 3, **floats}
    yield {"name": "ignored", "op": MEAN, "kind": "counted_f32", "inner": 2, **floats, "values": ignored, "nan_mode": 1}
    yield {"name": "norm", "op": NORM_L2, "kind": "squares_f32", "inner": 1, **floats}
    yield {"name": "maximum", "op": MAX, "kind": "extreme_32", "inner": 2, **floats}
    yield {"name": "place", "op": ARGMAX, "kind": "place_32", "inner": 2, **floats}
    yield {"name": "count", "op": COUNT_NONZERO, "kind": "integer_sum", "inner": 1, "dtype": F32, "code": "f",
           "values": [1.0] * 400}  # fmt: skip
    yield {"name": "integers", "op": SUM, "kind": "integer_sum", "inner": 2, "dtype": I32, "code": "i",
           "values": integers}  # fmt: skip
    yield {"name": "wide", "op": SUM, "kind": "wide_sum", "inner": 1, "dtype": I32, "code": "i", "output_dtype": F64,
           "values": integers}  # fmt: skip
    yield {"name": "bits", "op": BIT_AND, "kind": "bit_or", "inner": 1, "dtype": U8, "code": "B", "values": small}
    yield {"name": "field", "op": SUM, "kind": "sum_koalabear", "inner": 1, "dtype": KOALABEAR, "code": "I",
           "values": words}  # fmt: skip
    yield {"name": "exact", "op": SUM_EXACT, "kind": "exact", "inner": 2, **floats}


PIECES = [(0, 16), (3, 41), (32, 7), (5, 0), (63, 2)]


class Library:
    def __init__(self, path):
        self.calls = ctypes.CDLL(path)
        self.calls.wr_host_stream.restype = ctypes.c_void_p
        self.stream = ctypes.c_void_p(self.calls.wr_host_stream())

    def arguments(self, case, first, count):
        args = Args(struct_size=ctypes.sizeof(Args), outer=1, first=first, count=count, inner=case["inner"])
        for name in ("op", "dtype", "output_dtype", "nan_mode"):
            setattr(args, name, case.get(name, 0))
        return args

    def state(self, case, first, count):
        args = self.arguments(case, first, count)
        size = ctypes.c_size_t()
        assert self.calls.wr_state_size(ctypes.byref(args), ctypes.byref(size), None) == 0
        values = case["values"][first * case["inner"] : (first + count) * case["inner"]]
        elements = Buffer(8 * len(values) + 1, struct.pack(f"<{len(values)}{case['code']}", *values))
        state = Buffer(size.value)
        args.input, args.state, args.state_bytes = elements.address, state.address, size.value
        assert self.calls.wr_state_reduce(ctypes.byref(args), self.stream) == 0
        return state.bytes(), values

    def finish(self, case, count, state):
        args = self.arguments(case, 0, count)
        memory, output = Buffer(len(state), state), Buffer(8 * case["inner"])
        args.state, args.state_bytes, args.output = memory.address, len(state), output.address
        assert self.calls.wr_state_finish(ctypes.byref(args), self.stream) == 0
        return output.bytes()


def check_sums_by_any_engine(library):
    """Payloads of exact sums, added up as integers, behind the header of one of them."""
    case = next(case for case in cases() if case["kind"] == "exact")
    whole, _ = library.state(case, 0, 130)
    pieces = [library.state(case, first, count)[0] for first, count in ((77, 53), (0, 40), (40, 37))]
    words = [struct.unpack(f"<{len(piece[128:]) // 8}q", piece[128:]) for piece in pieces]
    total = [sum(column) for column in zip(*words)]
    if library.finish(case, 130, pieces[0][:128] + struct.pack(f"<{len(total)}q", *total)) != library.finish(
        case, 130, whole
    ):
        sys.exit("the sum of payloads is not the state of the sum")


def made(library):
    """Every state, checked against the page, by name."""
    states = {}
    for case in cases():
        for first, count in PIECES:
            state, values = library.state(case, first, count)
            payload = expected_payload(case["kind"], values, first, case["inner"])
            name = f"{case['name']}:{first}+{count}"
            if state[:128] != expected_header(case, first, count, payload):
                sys.exit(f"{name}: the header is {state[:128].hex()}")
            if state[128:] != payload:
                sys.exit(f"{name}: the payload is {state[128:].hex()}, not {payload.hex()}")
            states[name] = state.hex()
    return states


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("golden", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    library = Library(options.library)
    check_sums_by_any_engine(library)
    states = made(library)
    if options.write:
        options.golden.write_text("".join(f"{name} {state}\n" for name, state in states.items()))
        return
    golden = dict(line.split() for line in options.golden.read_text().splitlines())
    for name, state in golden.items():
        if states.get(name) != state:
            sys.exit(f"{name} has changed")
    if len(golden) != len(states):
        sys.exit("not every state is in the golden file")
    print(f"{len(states)} states are what the page and the golden file say")


if __name__ == "__main__":
    main()
