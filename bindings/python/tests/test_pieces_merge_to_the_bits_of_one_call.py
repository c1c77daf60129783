"""warp_reduce.state: any cuts and any order of merges give the bits of one call, and the same bytes."""

from __future__ import annotations

import copy
import doctest
import pickle
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import warp_reduce
from hypothesis import given, settings
from hypothesis import strategies as st
from warp_reduce import State, _pieces, _states

FUNCTIONS = (
    "sum",
    "prod",
    "mean",
    "min",
    "max",
    "argmin",
    "argmax",
    "any",
    "all",
    "count_nonzero",
    "norm",
    "logsumexp",
)
DTYPES = (np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int8, np.uint32, np.int64, np.bool_)


def array(dtype: Any, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    x = np.random.default_rng(seed).standard_normal(shape) * 4
    return (np.abs(x) if np.dtype(dtype).kind == "u" else x).astype(dtype)


def same(found: Any, expected: Any) -> bool:
    found, expected = np.asarray(found), np.asarray(expected)
    return found.dtype == expected.dtype and found.shape == expected.shape and found.tobytes() == expected.tobytes()


def cuts_of(length: int) -> st.SearchStrategy[list[int]]:
    """Ends of pieces, some of them empty, with their first and last."""
    inner = st.lists(st.integers(0, length) | st.integers(0, length // 1024).map(lambda k: 1024 * k), max_size=6)
    return inner.map(lambda found: [0, *sorted(found), length])


def merged(states: list[State], draw: Any) -> State:
    """In any bracketing."""
    states = list(states)
    while len(states) > 1:
        at = draw(st.integers(0, len(states) - 2))
        states[at : at + 2] = [states[at].merge(states[at + 1])]
    return states[0]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_cuts_and_brackets(data: Any) -> None:
    draw = data.draw
    name, dtype = draw(st.sampled_from(FUNCTIONS)), draw(st.sampled_from(DTYPES))
    length = draw(st.sampled_from([1, 2, 7, 63, 1023, 1025, 3001, 5000]))
    shape, axis = draw(st.sampled_from([((length,), 0), ((3, length), 1), ((length, 3), 0), ((2, length, 3), 1)]))
    x = array(dtype, shape)
    if draw(st.booleans()) and x.ndim == 2:
        x = np.asfortranarray(x)
    cuts = draw(cuts_of(length))
    at = (slice(None),) * axis
    pieces = [
        warp_reduce.state(name, x[(*at, slice(begin, end))], first=begin, axis=axis)
        for begin, end in zip(cuts, cuts[1:])
    ]
    whole = merged(pieces, draw)
    assert same(whole.finish(), getattr(warp_reduce, name)(x, axis=axis))
    assert bytes(whole) == bytes(warp_reduce.state(name, x, axis=axis))
    results = (*shape[:axis], *shape[axis + 1 :])
    assert (whole.first, whole.count, whole.shape, whole.op) == (0, length, results, name)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_softmax_of_pieces(data: Any) -> None:
    draw = data.draw
    dtype = draw(st.sampled_from([np.float32, np.float64, np.float16, ml_dtypes.bfloat16]))
    length = draw(st.sampled_from([1, 5, 1024, 1500, 5003]))
    shape, axis = draw(st.sampled_from([((length,), 0), ((3, length), 1), ((length, 5), 0)]))
    scale = draw(st.sampled_from([1.0, 0.25, -3.0]))
    x = array(dtype, shape, 1)
    cuts = draw(cuts_of(length))
    at = (slice(None),) * axis
    parts = [x[(*at, slice(begin, end))] for begin, end in zip(cuts, cuts[1:])]
    states = [warp_reduce.state("logsumexp", part, first, axis, scale=scale) for part, first in zip(parts, cuts)]
    whole = merged(states, draw)
    for log in (False, True):
        function = warp_reduce.log_softmax_from_state if log else warp_reduce.softmax_from_state
        expected = (warp_reduce.log_softmax if log else warp_reduce.softmax)(x, axis, scale=scale)
        for number, (part, first) in enumerate(zip(parts, cuts)):
            before = merged(states[:number], draw) if number else None
            after = merged(states[number + 1 :], draw) if number + 1 < len(states) else None
            found = function(part, whole, first, axis, before=before, after=after)
            assert same(found, expected[(*at, slice(first, cuts[number + 1]))])


def test_masks_lengths_and_the_causal_limit_count_from_the_whole_axis() -> None:
    x = array(np.float32, (6, 2500))
    mask = np.random.default_rng(2).random(x.shape) < 0.5
    lengths = [0, 1, 700, 1400, 2400, 2500]
    for options in ({"mask": mask}, {"lengths": lengths}, {"causal": 600}, {"mask": mask, "lengths": lengths}):
        expected = warp_reduce.softmax(x, **options)
        own = [{**options, **({"mask": mask[:, part]} if "mask" in options else {})} for part in PARTS]
        pieces = [(x[:, part], part.start, each) for part, each in zip(PARTS, own)]
        states = [warp_reduce.state("logsumexp", part, first, 1, **each) for part, first, each in pieces]
        left, right = states
        for number, (part, first, each) in enumerate(pieces):
            sides = {"after": right} if number == 0 else {"before": left}
            found = warp_reduce.softmax_from_state(part, left.merge(right), first, **sides, **each)
            assert same(found, expected[:, PARTS[number]])


PARTS = (slice(0, 1100), slice(1100, 2500))


def test_several_axes_are_cut_along_the_first_of_them() -> None:
    x = array(np.float64, (40, 3, 7))
    for axis in ((0, 2), (0, 1), (0, 1, 2), None):
        others = 40 * np.size(warp_reduce.sum(x, axis=axis))
        width = x.size // others
        pieces = [
            warp_reduce.state("sum", x[begin:end], first=begin * width, axis=axis)
            for begin, end in ((0, 13), (13, 14), (14, 40))
        ]
        assert same(pieces[0].merge(pieces[1]).merge(pieces[2]).finish(), warp_reduce.sum(x, axis=axis))


def test_types_of_results_norms_dots_and_fields() -> None:
    x, y = array(np.float32, (3, 999)), array(np.float32, (999,), 1)
    words = np.random.default_rng(0).integers(0, 2**31 - 1, (3, 999), np.uint32)
    extended = np.random.default_rng(0).integers(0, 2**31 - 2**24 + 1, (3, 999, 4), np.uint32)
    cases: list[tuple[str, np.ndarray, dict[str, Any], Any]] = [
        ("sum", x, {"dtype": np.float64}, warp_reduce.sum(x, 1, dtype=np.float64)),
        ("sum", x, {"dtype": np.float16}, warp_reduce.sum(x, 1, dtype=np.float16)),
        ("sum", x, {"dtype": np.int32}, warp_reduce.sum(x, 1, dtype=np.int32)),
        ("sum", x.astype(np.int32), {"dtype": np.float64}, warp_reduce.sum(x.astype(np.int32), 1, dtype=np.float64)),
        ("mean", x.astype(np.int8), {}, warp_reduce.mean(x.astype(np.int8), 1)),
        ("norm", x, {"ord": 1}, warp_reduce.norm(x, axis=1, ord=1)),
        ("norm", x, {"ord": np.inf}, warp_reduce.norm(x, axis=1, ord=np.inf)),
        ("norm", x.astype(np.int16), {}, warp_reduce.norm(x.astype(np.int16), axis=1)),
        ("sum", words, {"dtype": "mersenne31"}, warp_reduce.sum(words, 1, dtype="mersenne31")),
        ("prod", words, {"dtype": "mersenne31"}, warp_reduce.prod(words, 1, dtype="mersenne31")),
        ("sum", extended, {"dtype": "koalabear_x4"}, warp_reduce.sum(extended, 1, dtype="koalabear_x4")),
    ]
    for op, given_x, options, expected in cases:
        left = warp_reduce.state(op, given_x[:, :100], 0, 1, **options)
        right = warp_reduce.state(op, given_x[:, 100:], 100, 1, **options)
        assert same(left.merge(right).finish(), expected), (op, options)
    for op, exact in (("dot", False), ("dot_exact", True)):
        left = warp_reduce.state(op, x[:, :100], 0, 1, y=y[:100])
        right = warp_reduce.state(op, x[:, 100:], 100, 1, y=y[100:])
        assert same(left.merge(right).finish(), warp_reduce.dot(x, y, exact=exact))


def test_exact_sums_merge_in_any_order() -> None:
    x = array(np.float64, (2, 600)) * 2.0 ** np.linspace(-500, 500, 600)
    pieces = [warp_reduce.state("sum_exact", x[:, at : at + 100], axis=1) for at in range(0, 600, 100)]
    expected = warp_reduce.sum(x, 1, exact=True)
    random = np.random.default_rng(0)
    for _ in range(5):
        order = random.permutation(6)
        whole = pieces[order[0]]
        for each in order[1:]:
            whole = whole.merge(pieces[each])
        assert same(whole.finish(), expected) and (whole.first, whole.count) == (None, None)


def test_bytes_are_the_whole_state() -> None:
    for op, x, options in (
        ("sum", array(np.float32, (3, 500)), {}),
        ("sum", array(np.float32, (3, 500)), {"dtype": np.float64}),
        ("mean", array(np.int8, (3, 500)), {}),
        ("argmax", array(np.float16, (3, 500)), {}),
        ("sum_exact", array(np.float32, (3, 500)), {}),
        ("norm", array(np.float64, (3, 500)), {"ord": 1}),
        ("any", array(np.bool_, (3, 500)), {}),
        ("logsumexp", array(np.float32, (3, 500)), {"scale": 0.5}),
    ):
        state = warp_reduce.state(op, x, 0, 1, **options)
        again = State.from_bytes(bytes(state))
        assert again == state and bytes(again) == bytes(state) and again.nbytes == len(bytes(state)), op
        assert (again.op, again.first, again.count, again.shape) == (state.op, state.first, state.count, (3,))
        assert same(again.finish(), state.finish()), op
        for other in (pickle.loads(pickle.dumps(state)), copy.copy(state)):
            assert other == state and same(other.finish(), state.finish())
        if state.first is not None:
            right = warp_reduce.state(op, x, 500, 1, **options)
            assert again.merge(right) == state.merge(right)
    grid = warp_reduce.state("sum", array(np.float64, (2, 3, 50)), 0, 2)
    memory = np.empty(grid.nbytes + 1, np.uint8)
    memory[1:] = grid.array
    anywhere = State(grid._reduction, grid.first, grid.count, grid.shape, memory[1:])
    assert same(anywhere.finish(), grid.finish())
    assert State.from_bytes(bytes(grid)).shape == (6,)
    assert same(State.from_bytes(bytes(grid), shape=(2, 3)).finish(), grid.finish())
    assert State.from_bytes(memoryview(bytes(grid))[:]) == grid and "200" in repr(
        warp_reduce.state("sum", np.ones(200))
    )


def test_bytes_that_are_no_state_are_refused() -> None:
    good = bytes(warp_reduce.state("sum", array(np.float32, (3, 500)), 0, 1))
    for bad in (b"", good[:127], good[:-1], good + b"\0", b"x" + good[1:], bytes(len(good))):
        with pytest.raises(ValueError, match="from_bytes"):
            State.from_bytes(bad)
    for place in range(128):
        with pytest.raises(ValueError, match="from_bytes"):
            State.from_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
    with pytest.raises(ValueError, match="results"):
        State.from_bytes(good, shape=(4,))


def test_what_does_not_go_together_is_said() -> None:
    x = array(np.float32, (3, 500))
    state = warp_reduce.state("sum", x, 0, 1)
    for right, error, words in (
        (warp_reduce.state("sum", x, 499, 1), ValueError, "merge neighbours"),
        (warp_reduce.state("sum", x, 501, 1), ValueError, "merge neighbours"),
        (warp_reduce.state("prod", x, 500, 1), ValueError, "different reductions"),
        (warp_reduce.state("sum", x.astype(np.float64), 500, 1), ValueError, "different reductions"),
        (warp_reduce.state("sum", x[:2], 500, 1), ValueError, "different reductions"),
        (x, TypeError, "with another"),
    ):
        with pytest.raises(error, match=words):
            state.merge(right)
    with pytest.raises(ValueError, match="element 0"):
        warp_reduce.state("sum", x, 1, 1).finish()
    with pytest.raises(ValueError, match="zero-size"):
        warp_reduce.state("min", x[:, :0], 0, 1).finish()
    for arguments, options, error, words in (
        (("median", x), {}, ValueError, "no states"),
        (("sum", x, -1), {}, ValueError, "first"),
        (("sum", x, 0.5), {}, TypeError, "integer"),
        (("sum", x, 2**63), {}, ValueError, "2\\^63"),
        (("sum", x), {"y": x}, ValueError, "dot alone"),
        (("sum", x), {"scale": 2.0}, ValueError, "logsumexp alone"),
        (("dot", x[0]), {}, ValueError, "needs y"),
        (("dot", x[0]), {"y": x[0, 1:]}, ValueError, "along the axis"),
        (("norm", x), {"ord": 3}, ValueError, "ord"),
        (("sum_exact", x.astype(int)), {}, TypeError, "floats"),
        (("sum", x.astype(complex)), {}, TypeError, "not taken"),
    ):
        with pytest.raises(error, match=words):
            warp_reduce.state(*arguments, **options)


def test_softmax_says_which_state_is_missing() -> None:
    x = array(np.float32, (3, 2000))
    left, right = (warp_reduce.state("logsumexp", x[:, a:b], a, 1) for a, b in ((0, 500), (500, 2000)))
    whole = left.merge(right)
    for given_x, state, first, options, error, words in (
        (x[:, 500:], whole, 500, {}, ValueError, r"before is needed, the state of elements \[0, 500\)"),
        (x[:, :500], whole, 0, {}, ValueError, r"after is needed, the state of elements \[500, 2000\)"),
        (x[:, 500:], whole, 500, {"before": whole}, ValueError, r"before must be the state of elements \[0, 500\)"),
        (x[:2, 500:], whole, 500, {"before": left}, ValueError, "is not of the rows"),
        (x[:, 500:].astype(np.float64), whole, 500, {"before": left}, ValueError, "is not of the rows"),
        (x[:, 500:], right, 500, {"before": left}, ValueError, "element 0"),
        (x[:, 500:], whole, 501, {"before": left}, ValueError, "no state of it"),
        (x[:, 500:], warp_reduce.state("sum", x, 0, 1), 500, {"before": left}, TypeError, "logsumexp"),
    ):
        with pytest.raises(error, match=words):
            warp_reduce.softmax_from_state(given_x, state, first, **options)


def test_ten_thousand_pieces_in_a_chain_and_in_a_tree() -> None:
    """As many ranks would have them: a state does not grow with their number."""
    pieces, each, rows = 10_000, 37, 2
    x = array(np.float32, (rows, pieces * each))
    states = [warp_reduce.state("sum", x[:, at : at + each], at, 1) for at in range(0, x.shape[1], each)]
    chain = states[0]
    for state in states[1:]:
        chain = chain.merge(state)
    level = states
    while len(level) > 1:
        level = [a.merge(b) for a, b in zip(level[::2], level[1::2])] + level[len(level) & ~1 :]
    assert level[0] == chain and same(chain.finish(), warp_reduce.sum(x, 1))
    assert max(state.nbytes for state in states) < 128 + rows * 8 * 2 * 6 and chain.nbytes < 128 + rows * 8 * 20


@pytest.mark.parametrize("module", [_states, _pieces], ids=lambda each: each.__name__)
def test_examples(module: Any) -> None:
    failed, tried = doctest.testmod(module)
    assert tried and not failed


def test_memory_of_states_is_used_again_when_nothing_shows_it() -> None:
    x = array(np.float32, (3, 50_000))
    first = warp_reduce.state("sum", x, axis=0)
    kept, before, at = first.array[1000:], bytes(first), first.array.ctypes.data
    del first
    second = warp_reduce.state("sum", -x, axis=0)
    assert second.array.ctypes.data != at and kept.tobytes() == before[1000:]
    del kept
    third = warp_reduce.state("sum", x, axis=0)
    assert third.array.ctypes.data == at and bytes(third) == before
    view = memoryview(third.array)
    del third
    assert warp_reduce.state("sum", -x, axis=0).array.ctypes.data != at and bytes(view) == before
