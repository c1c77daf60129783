"""Sums that the authors of other exact sums publish as hard, and what they say that the sums are.

The numbers are those that R. M. Neal's xsum is checked with (https://gitlab.com/radfordneal/xsum); the results that it
gives for three and ten terms are compared with the contract's own here.
"""

import math

from exact_contract import exact_value
from exact_vectors import line
from number_formats import FLOATS
from vector_lines import value_words

LARGEST, NORMAL, TINY, ULP = FLOATS["f64"].largest, 2.0**-1022, 2.0**-1074, 2.0**-52
LARGEST_SUBNORMAL = NORMAL - TINY

ONE = [
    *(1.0, 0.1, 3.1, 2.3e10, 3.2e-10, 123e123, 54.11e-150),
    *(2.0**128 * (1 - ULP / 2), 2.0**128 * (1 + ULP / 2), LARGEST, NORMAL, LARGEST_SUBNORMAL, TINY),
    *(1.23e-309, 4.57e-314, 9.7e-322),
]

TWO = [
    *((1.0, 2.0), (0.1, 12.2), (12.1, -11.3), (11.3, -12.1), (1.234567e14, 9.87654321), (1.234567e14, -9.87654321)),
    *((3.1e200, 1.7e-100), (3.1e200, -1.7e-100), (1.7e-100, 3.1e200), (1.7e-100, -3.1e200)),
    *((1.0, ULP), (1.0, ULP / 2), (1.0, ULP / 2 + ULP / 4096), (1.0, ULP / 2 + ULP * 2.0**-40)),
    *((1.0, ULP / 2 - ULP / 4096), (1.0 + ULP, ULP / 2), (1.0 + ULP, ULP / 2 - ULP * ULP)),
    *((TINY, 7.1), (TINY, -7.1), (7.1, TINY), (-7.1, TINY), (LARGEST_SUBNORMAL, TINY), (LARGEST_SUBNORMAL, -TINY)),
    *((TINY, TINY), (TINY, -TINY), (LARGEST_SUBNORMAL, NORMAL), (NORMAL, LARGEST_SUBNORMAL)),
    *((4.57e-314, 9.7e-322), (4.57e-314, -9.7e-322), (4.57e-321, 9.7e-322), (4.57e-321, -9.7e-322)),
    *((2.0, -2.0 * (1 + ULP)), (LARGEST, LARGEST), (LARGEST, LARGEST * (ULP / 2)), (math.inf, 123.0)),
    *((math.inf, -math.inf), (math.nan, 123.0), (123.0, math.nan), (1234.5, 0.0), (1234.5, -0.0)),
]

THREE = [
    *((LARGEST, TINY, -LARGEST, TINY), (TINY, NORMAL, -TINY, NORMAL), (12345.6, NORMAL, -12345.6, NORMAL)),
    (12345.6, LARGEST_SUBNORMAL, -12345.6, LARGEST_SUBNORMAL),
    (2.0, -2.0 * (1 + ULP), ULP / 8, -2 * ULP + ULP / 8),
    *((1.0, 2.0, 3.0, 6.0), (12.0, 3.5, 2.0, 17.5), (3423.34e12, -93.431, -3432.1e11, 3080129999999906.5)),
    (432457232.34, 0.3432445, -3433452433.0, -3000995200.3167553),
]

TEN = [
    (*[LARGEST] * 6, *[-LARGEST] * 4, math.inf),
    (*[LARGEST] * 4, 0.125, 0.125, *[-LARGEST] * 4, 0.25),
    (2.0 * (1 + ULP), -2.0, -ULP, -ULP, *[0.0] * 6, 0.0),
    (*(10.0**n for n in range(10)), 1111111111.0),
    (*(1.234e88, -93.3e-23, 994.33, 1334.3, 457.34), *(-1.234e88, 93.3e-23, -994.33, -1334.3, -457.34), 0.0),
    (
        *(1.0, -23.0, 456.0, -78910.0, 1112131415.0, -161718192021.0, 22232425262728.0, -2930313233343536.0),
        *(373839404142434445.0, -46474849505152535455.0, -46103918342424313856.0),
    ),
    (
        *(2342423.3423, 34234.450, 945543.4, 34345.34343, 1232.343, 0.00004343, 43423.0, -342344.8343, -89544.3435),
        *(-34334.3, 2934978.4009734304),
    ),
    (
        *(0.9101534, 0.9048397, 0.4036596, 0.1460245, 0.2931254, 0.9647649, 0.1125303, 0.1574193, 0.6522300),
        *(0.7378597, 5.2826068),
    ),
    (
        *(428.366070546, 707.3261930632, 103.29267289, 9040.03475821, 36.2121638, 19.307901408, 1.4810709160),
        *(8.077159101, 1218.907244150, 778.068267017, 12341.0735011012),
    ),
    (
        *(1.1e-322, 5.3443e-321, -9.343e-320, 3.33e-314, 4.41e-322, -8.8e-318, 3.1e-310, 4.1e-300, -4e-300, 7e-307),
        1.0000070031003328e-301,
    ),
]


def negated(values):
    return [-value for value in values]


def f64_line(values):
    return line("f64", "f64", (1, len(values), 1), value_words("f64", values))


def agrees(terms, published):
    return exact_value([(term, 1.0) for term in terms], FLOATS["f64"]) == published


def known_hard_sums():
    for terms in [*([value] for value in ONE), *TWO]:
        yield f64_line(terms)
        yield f64_line(negated(terms))
    for *terms, published in [*THREE, *TEN]:
        assert agrees(terms, published), terms
        for signed in (terms, negated(terms)):
            yield f64_line(signed)
            yield f64_line(signed * 64)
