"""Prime fields, named by dtype: sums, products and dot products beside Python's own integers."""

from __future__ import annotations

import math

import numpy as np
import pytest
import warp_reduce

PRIMES = {
    "koalabear": 2**31 - 2**24 + 1,
    "babybear": 2**31 - 2**27 + 1,
    "mersenne31": 2**31 - 1,
    "goldilocks": 2**64 - 2**32 + 1,
}
MONTGOMERY = ("koalabear", "babybear")
RANDOM = np.random.default_rng(6)


def words(field: str, shape: tuple[int, ...]) -> np.ndarray:
    dtype = np.uint64 if field == "goldilocks" else np.uint32
    return RANDOM.integers(0, PRIMES[field], shape, dtype)


def product(field: str, values: list[int]) -> int:
    """Of Montgomery forms: the form of the product of what they stand for."""
    p = PRIMES[field]
    radix = 2**32 % p if field in MONTGOMERY else 1
    inverse = pow(radix, -1, p)
    return math.prod(value * inverse % p for value in values) * radix % p


@pytest.mark.parametrize("field", PRIMES)
def test_base_fields(field: str) -> None:
    p, x = PRIMES[field], words(field, (5, 70))
    for each in (x, np.asfortranarray(x)):
        ours = warp_reduce.sum(each, axis=1, dtype=field)
        assert ours.dtype == x.dtype
        assert ours.tolist() == [sum(map(int, row)) % p for row in x]
        assert warp_reduce.prod(each, axis=0, dtype=field).tolist() == [product(field, list(map(int, c))) for c in x.T]
    assert int(warp_reduce.sum(x, dtype=field)) == sum(map(int, x.reshape(-1))) % p
    x[0, 3] = 0
    assert warp_reduce.count_nonzero(x, axis=1, dtype=field).tolist() == [69, 70, 70, 70, 70]
    assert warp_reduce.all(x, axis=1, dtype=field).tolist() == [False, True, True, True, True]
    y = words(field, (70,))
    assert (
        int(warp_reduce.dot(x[0], y, dtype=field)) == sum(product(field, [int(a), int(b)]) for a, b in zip(x[0], y)) % p
    )


@pytest.mark.parametrize("field", MONTGOMERY)
def test_extensions(field: str) -> None:
    p, name = PRIMES[field], f"{field}_x4"
    x = words(field, (3, 20, 4))
    sums = [[sum(map(int, row[:, k])) % p for k in range(4)] for row in x]
    assert warp_reduce.sum(x, axis=1, dtype=name).tolist() == sums
    assert warp_reduce.sum(x, axis=-1, dtype=name).tolist() == sums
    assert warp_reduce.sum(x.transpose(1, 0, 2), axis=0, dtype=name).tolist() == sums
    assert warp_reduce.sum(x, axis=1, dtype=name, keepdims=True).shape == (3, 1, 4)
    assert warp_reduce.sum(x, dtype=name).tolist() == [sum(column) % p for column in zip(*sums)]
    apart = np.repeat(x, 2, axis=-1)[..., ::2]  # the words of an element are not side by side
    assert warp_reduce.sum(apart, axis=1, dtype=name).tolist() == sums
    x[0, 0] = 0
    assert warp_reduce.count_nonzero(x, axis=1, dtype=name).tolist() == [19, 20, 20]
    chosen = np.arange(20) < 5
    assert (
        warp_reduce.sum(x, axis=1, dtype=name, where=chosen).tolist()
        == warp_reduce.sum(x[:, :5], axis=1, dtype=name).tolist()
    )


def test_a_vector_of_the_field_times_one_of_its_extension() -> None:
    p, x, y = PRIMES["koalabear"], words("koalabear", (9,)), words("koalabear", (9, 4))
    expected = [sum(product("koalabear", [int(a), int(b[k])]) for a, b in zip(x, y)) % p for k in range(4)]
    assert warp_reduce.dot(x, y, dtype=("koalabear", "koalabear_x4")).tolist() == expected
    assert warp_reduce.dot(y, x, dtype=("koalabear_x4", "koalabear")).tolist() == expected


def test_segments_of_field_elements() -> None:
    p, x = PRIMES["babybear"], words("babybear", (50,))
    ours = warp_reduce.segment_reduce("sum", x, [0, 20, 50], dtype="babybear")
    assert ours.tolist() == [sum(map(int, x[:20])) % p, sum(map(int, x[20:])) % p]
    y = words("babybear", (50, 4))
    ours = warp_reduce.segment_reduce("sum", y, [0, 20, 50], dtype="babybear_x4")
    assert ours.tolist() == [[sum(map(int, part[:, k])) % p for k in range(4)] for part in (y[:20], y[20:])]


def test_where_and_nothing() -> None:
    x = words("koalabear", (10,))
    chosen = np.arange(10) % 2 == 0
    for name in ("sum", "prod"):
        function = getattr(warp_reduce, name)
        assert function(x, dtype="koalabear", where=chosen) == function(x[chosen], dtype="koalabear")
    assert warp_reduce.sum(x[:0], dtype="koalabear") == 0
    assert warp_reduce.prod(x[:0], dtype="mersenne31") == 1


def test_wrong_words() -> None:
    with pytest.raises(TypeError, match="goldilocks is stored in arrays of uint64"):
        warp_reduce.sum(np.ones(3, np.uint32), dtype="goldilocks")
    with pytest.raises(ValueError, match="needs a last dimension of 4 words"):
        warp_reduce.sum(np.ones((4, 3), np.uint32), dtype="koalabear_x4")
    with pytest.raises(TypeError, match="max|UNSUPPORTED|not offered"):
        warp_reduce.segment_reduce("max", np.ones(3, np.uint32), [0, 3], dtype="koalabear")
