/* L2 norms by their definition: squares and sums rounded to the float's precision, with exponents of any size. */
#include "reference/reference.h"

#include <float.h>
#include <math.h>

/* Of more than twice 53 bits, so that rounding in two steps is rounding once. */
#if LDBL_MANT_DIG >= 113
typedef long double wide;
#else
__extension__ typedef __float128 wide;
#endif

static wide power_of_two(int exponent) { return (wide)ldexpl(1.0L, exponent); }

/* The number and its exponent, such that the rest lies about 1. */
static int exponent_of(wide x) {
    int exponent;
    (void)frexpl((long double)x, &exponent);
    return exponent;
}

/* To 24 or 53 bits. */
static wide rounded(wide x, int bits) {
    const int shift = exponent_of(x);
    const wide near_one = x * power_of_two(-shift);
    return (bits == 24 ? (wide)(float)near_one : (wide)(double)near_one) * power_of_two(shift);
}

static wide squares(const double *x, size_t n, int bits) {
    size_t left = 1;
    if (n == 1) {
        return rounded((wide)x[0] * (wide)x[0], bits);
    }
    while (left < n - left) {
        left *= 2;
    }
    return rounded(squares(x, left, bits) + squares(x + left, n - left, bits), bits);
}

double reference_norm(const double *x, size_t n, int bits) {
    int is_infinite = 0, is_nan = 0, half;
    size_t i;
    wide sum;
    for (i = 0; i < n; ++i) {
        is_nan |= isnan(x[i]);
        is_infinite |= isinf(x[i]);
    }
    if (is_nan || is_infinite || n == 0) {
        return is_nan ? (double)NAN : is_infinite ? (double)INFINITY : 0.0;
    }
    sum = squares(x, n, bits);
    if (sum == 0) {
        return 0.0;
    }
    half = exponent_of(sum) / 2;
    sum *= power_of_two(-2 * half);
    return bits == 24 ? (double)ldexpf(sqrtf((float)sum), half) : ldexp(sqrt((double)sum), half);
}
