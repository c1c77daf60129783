/* Exact sums by counting bytes: what each term has in every byte of a number that is wide enough for all of them, the
 * positive and the negative terms apart; then one subtraction and one rounding. */
#include "harness/harness.h"
#include "reference/line.h"
#include "reference/reference.h"

#include <math.h>
#include <string.h>

/* A number is so many bytes, the lowest of which counts 2^LOWEST: the products of f64, and 2^64 of the largest. */
enum { BYTES = 576, LOWEST = -2304 };

__extension__ typedef unsigned __int128 wide;

typedef struct tally {
    uint64_t bytes[2][BYTES]; /* of positive and of negative terms; each byte may hold more than 8 bits */
    int nan, plus_infinity, minus_infinity, terms, minus_zeros;
} tally;

/* x = significand * 2^exponent, of 53 bits */
static uint64_t take_apart(double x, int *exponent) {
    double fraction = frexp(fabs(x), exponent);
    *exponent -= 53;
    return (uint64_t)ldexp(fraction, 53);
}

static void add_magnitude(uint64_t *bytes, wide significand, int exponent) {
    int place = exponent - LOWEST, i;
    significand <<= place % 8;
    for (i = place / 8; significand != 0; ++i) {
        bytes[i] += (uint64_t)(significand & 0xFF);
        significand >>= 8;
    }
}

static void add_special(tally *to, double value) {
    to->nan |= isnan(value);
    to->plus_infinity |= isinf(value) && value > 0;
    to->minus_infinity |= isinf(value) && value < 0;
}

static void add_term(tally *to, double x, double y) {
    int negative = (signbit(x) != 0) != (signbit(y) != 0), x_exponent, y_exponent;
    uint64_t x_significand, y_significand;
    ++to->terms;
    if (!isfinite(x) || !isfinite(y)) {
        add_special(to, x * y);
        return;
    }
    if (x == 0 || y == 0) {
        to->minus_zeros += negative;
        return;
    }
    x_significand = take_apart(x, &x_exponent);
    y_significand = take_apart(y, &y_exponent);
    add_magnitude(to->bytes[negative], (wide)x_significand * y_significand, x_exponent + y_exponent);
}

static void carry(uint64_t *bytes) {
    size_t i;
    for (i = 0; i + 1 < BYTES; ++i) {
        bytes[i + 1] += bytes[i] >> 8;
        bytes[i] &= 0xFF;
    }
}

static int compare(const uint64_t *a, const uint64_t *b) {
    int i;
    for (i = BYTES - 1; i >= 0; --i) {
        if (a[i] != b[i]) {
            return a[i] < b[i] ? -1 : 1;
        }
    }
    return 0;
}

static void subtract(uint64_t *from, const uint64_t *what) {
    uint64_t borrowed = 0;
    size_t i;
    for (i = 0; i < BYTES; ++i) {
        uint64_t take = what[i] + borrowed;
        borrowed = from[i] < take;
        from[i] = (from[i] + (borrowed << 8) - take) & 0xFF;
    }
}

static int bit(const uint64_t *bytes, int place) { return place < 0 ? 0 : (int)(bytes[place / 8] >> place % 8 & 1); }

static int leading_bit(const uint64_t *bytes) {
    int place = BYTES * 8 - 1;
    while (place >= 0 && !bit(bytes, place)) {
        --place;
    }
    return place;
}

static int any_below(const uint64_t *bytes, int place) {
    while (--place >= 0) {
        if (bit(bytes, place)) {
            return 1;
        }
    }
    return 0;
}

/* The bits of a significand, and the exponent of the smallest number. */
static void precision_of(wr_dtype dtype, int *bits, int *smallest) {
    static const int known[][2] = {{24, -149}, {53, -1074}, {11, -24}, {8, -133}, {4, -9}, {3, -16}};
    *bits = known[dtype - WR_F32][0];
    *smallest = known[dtype - WR_F32][1];
}

/* To nearest even, in units of the result's last place. */
static double rounded(const uint64_t *bytes, wr_dtype dtype) {
    int bits, smallest, leading = leading_bit(bytes), last, place;
    uint64_t significand = 0;
    precision_of(dtype, &bits, &smallest);
    last = leading - bits + 1 > smallest - LOWEST ? leading - bits + 1 : smallest - LOWEST;
    for (place = leading; place >= last; --place) {
        significand = significand * 2 + (uint64_t)bit(bytes, place);
    }
    if (bit(bytes, last - 1) && ((significand & 1) || any_below(bytes, last - 1))) {
        ++significand;
    }
    return ldexp((double)significand, last + LOWEST);
}

static double finished(tally *of, wr_dtype dtype) {
    int order;
    if (of->nan || (of->plus_infinity && of->minus_infinity)) {
        return NAN;
    }
    if (of->plus_infinity || of->minus_infinity) {
        return of->plus_infinity ? INFINITY : -INFINITY;
    }
    carry(of->bytes[0]);
    carry(of->bytes[1]);
    order = compare(of->bytes[0], of->bytes[1]);
    if (order == 0) {
        return of->terms > 0 && of->minus_zeros == of->terms ? -0.0 : 0.0;
    }
    subtract(of->bytes[order < 0], of->bytes[order > 0]);
    return order < 0 ? -rounded(of->bytes[1], dtype) : rounded(of->bytes[0], dtype);
}

void reduce_exact_line(const line *of) {
    static tally sum;
    const wr_reduce_args *args = of->args;
    size_t i;
    memset(&sum, 0, sizeof sum);
    for (i = 0; i < of->length; ++i) {
        double x = reference_get(args->dtype, line_element(of, i), 0);
        double y = args->weights == NULL ? 1.0 : reference_get(args->dtype, line_weight(of, i), 0);
        if (!(args->nan_mode == WR_NAN_IGNORE && isnan(x))) {
            add_term(&sum, x, y);
        }
    }
    reference_put(of->output_dtype, args->output, of->index, finished(&sum, of->output_dtype));
}
