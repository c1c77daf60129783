"""Sums, products, quotients and roots of f32 and f64 that are rounded once, and the tree that adds up.

NumPy's float32 gives the single roundings of f32.
"""

import numpy as np


def tree(items, combine):
    """T(x[0..n)) = T(x[0..h)) + T(x[h..n)), h the largest power of two below n."""
    if len(items) == 1:
        return items[0]
    half = 1 << ((len(items) - 1).bit_length() - 1)
    return combine(tree(items[:half], combine), tree(items[half:], combine))


def add_f32(a, b):
    with np.errstate(all="ignore"):
        return float(np.float32(a) + np.float32(b))


def multiply_f32(a, b):
    with np.errstate(all="ignore"):
        return float(np.float32(a) * np.float32(b))


def divide_f32(a, b):
    with np.errstate(all="ignore"):
        return float(np.float32(a) / np.float32(b))


def divide_f64(a, b):
    with np.errstate(all="ignore"):
        return float(np.float64(a) / np.float64(b))


def add_f64(a, b):
    return a + b


def square_root_f32(a):
    with np.errstate(all="ignore"):
        return float(np.sqrt(np.float32(a)))


def square_root_f64(a):
    with np.errstate(all="ignore"):
        return float(np.sqrt(np.float64(a)))


def multiply_f64(a, b):
    return a * b
