"""Softmax, log-softmax and logsumexp to 60 digits, for the vectors that bound an error instead of fixing bits."""

import math

import mpmath

mpmath.mp.dps = 60


def exact_row(function, values):
    """The nearest doubles of a row's exact results (one for logsumexp). The logits are taken as they are."""
    if any(math.isnan(v) or v == math.inf for v in values) or all(v == -math.inf for v in values):
        raise ValueError("a row without an exact result")
    maximum = mpmath.mpf(max(values))
    shifted = [None if v == -math.inf else mpmath.mpf(v) - maximum for v in values]
    total = mpmath.fsum(mpmath.exp(v) for v in shifted if v is not None)
    if function == "logsumexp":
        return [float(maximum + mpmath.log(total))]
    if function == "softmax":
        return [0.0 if v is None else float(mpmath.exp(v) / total) for v in shifted]
    return [-math.inf if v is None else float(v - mpmath.log(total)) for v in shifted]
