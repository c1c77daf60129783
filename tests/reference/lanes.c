#include "reference/lanes.h"

#include "harness/harness.h"
#include "reference/reference.h"

#include <math.h>
#include <string.h>

enum { MOST_LANES = 32 };

static int is_float(wr_dtype dtype) { return dtype <= WR_F8_E5M2; }
static int is_integer(wr_dtype dtype) { return dtype >= WR_I8 && dtype <= WR_U64; }
static int is_signed(wr_dtype dtype) { return dtype <= WR_I64; }

int reference_lanes_offered(int op, wr_dtype dtype) {
    switch (op) {
    case WR_SUM:
    case WR_PRODUCT:
    case WR_SUM_OF_SQUARES:
    case WR_ANY:
    case WR_ALL:
    case WR_COUNT_NONZERO:
        return 1;
    case WR_MIN:
    case WR_MAX:
    case WR_ARGMIN:
    case WR_ARGMAX:
    case WR_NORM_L1:
    case WR_NORM_MAX:
        return is_float(dtype) || is_integer(dtype);
    case WR_MEAN:
    case WR_NORM_L2:
        return is_float(dtype);
    case WR_BIT_AND:
    case WR_BIT_OR:
    case WR_BIT_XOR:
        return is_integer(dtype);
    default:
        return 0;
    }
}

/* ---- floats. A step in f32 is a step in f64 rounded to f32: f64 has more than twice the digits, so that the two
 * roundings are one. */

static double rounded(wr_dtype dtype, double x) { return dtype == WR_F64 ? x : (double)(float)x; }

static double float_tree(int op, wr_dtype dtype, const double *x, size_t n) {
    size_t left = 1;
    double a, b;
    if (n == 1) {
        return x[0];
    }
    while (left * 2 < n) {
        left *= 2;
    }
    a = float_tree(op, dtype, x, left);
    b = float_tree(op, dtype, x + left, n - left);
    return rounded(dtype, op == WR_PRODUCT ? a * b : a + b);
}

static int float_is_below(double a, double b) { return a < b || (a == b && signbit(a) && !signbit(b)); }

/* The first NaN, or the first of the least (for the largest: of the opposites). */
static size_t float_extreme(const double *x, size_t n, int largest) {
    size_t best = 0, i;
    for (i = 1; i < n && !isnan(x[best]); ++i) {
        if (isnan(x[i]) || (largest ? float_is_below(x[best], x[i]) : float_is_below(x[i], x[best]))) {
            best = i;
        }
    }
    return best;
}

static double float_result(int op, wr_dtype dtype, double *x, size_t n) {
    size_t i;
    if (n == 0) {
        return 0;
    }
    for (i = 0; i < n; ++i) {
        if (op == WR_SUM_OF_SQUARES) {
            x[i] = rounded(dtype, x[i] * x[i]);
        } else if (op == WR_NORM_L1 || op == WR_NORM_MAX) {
            x[i] = fabs(x[i]);
        }
    }
    switch (op) {
    case WR_MIN:
        return x[float_extreme(x, n, 0)];
    case WR_MAX:
    case WR_NORM_MAX:
        return x[float_extreme(x, n, 1)];
    case WR_MEAN:
        return rounded(dtype, float_tree(op, dtype, x, n) / (double)n);
    case WR_NORM_L2:
        return reference_norm(x, n, dtype == WR_F64 ? 53 : 24);
    default:
        return float_tree(op, dtype, x, n);
    }
}

static void reduce_floats(int op, wr_dtype dtype, const unsigned char *input, size_t n, unsigned char *output) {
    double x[MOST_LANES];
    int64_t place;
    size_t i;
    for (i = 0; i < n; ++i) {
        x[i] = reference_get(dtype, input, i);
    }
    if (op == WR_ARGMIN || op == WR_ARGMAX) {
        place = (int64_t)float_extreme(x, n, op == WR_ARGMAX);
        memcpy(output, &place, sizeof place);
        return;
    }
    reference_put(dtype, output, 0, float_result(op, dtype, x, n));
}

/* ---- integers, modulo 2^64 */

static uint64_t word_at(const unsigned char *input, size_t bytes, size_t index) {
    uint64_t word = 0;
    size_t i;
    for (i = bytes; i-- > 0;) {
        word = word << 8 | input[index * bytes + i];
    }
    return word;
}

static void put_word(unsigned char *output, size_t bytes, size_t index, uint64_t word) {
    size_t i;
    for (i = 0; i < bytes; ++i) {
        output[index * bytes + i] = (unsigned char)(word >> (8 * i));
    }
}

static uint64_t extended(wr_dtype dtype, size_t bytes, uint64_t word) {
    uint64_t sign = bytes == 0 ? 0 : UINT64_C(1) << (8 * bytes - 1);
    return is_signed(dtype) && (word & sign) != 0 ? word - sign - sign : word;
}

static int integer_is_below(wr_dtype dtype, uint64_t a, uint64_t b) {
    return is_signed(dtype) ? (int64_t)a < (int64_t)b : a < b;
}

static uint64_t magnitude(wr_dtype dtype, uint64_t a) {
    return is_signed(dtype) && (int64_t)a < 0 ? UINT64_C(0) - a : a;
}

static uint64_t integer_step(int op, wr_dtype dtype, uint64_t so_far, uint64_t x) {
    switch (op) {
    case WR_SUM:
        return so_far + x;
    case WR_SUM_OF_SQUARES:
        return so_far + x * x;
    case WR_NORM_L1:
        return so_far + magnitude(dtype, x);
    case WR_PRODUCT:
        return so_far * x;
    case WR_MIN:
        return integer_is_below(dtype, x, so_far) ? x : so_far;
    case WR_MAX:
        return integer_is_below(dtype, so_far, x) ? x : so_far;
    case WR_NORM_MAX:
        return so_far < magnitude(dtype, x) ? magnitude(dtype, x) : so_far;
    case WR_BIT_AND:
        return so_far & x;
    case WR_BIT_OR:
        return so_far | x;
    case WR_BIT_XOR:
        return so_far ^ x;
    default:
        give_up("no operator of integers");
    }
}

static void reduce_integers(int op, wr_dtype dtype, size_t bytes, const unsigned char *input, size_t n,
                            unsigned char *output) {
    uint64_t first = extended(dtype, bytes, word_at(input, bytes, 0)), best = first, result = first, i, place = 0;
    if (op == WR_SUM_OF_SQUARES) {
        result = first * first;
    } else if (op == WR_NORM_L1 || op == WR_NORM_MAX) {
        result = magnitude(dtype, first);
    }
    for (i = 1; i < n; ++i) {
        uint64_t x = extended(dtype, bytes, word_at(input, bytes, i));
        if (op == WR_ARGMIN || op == WR_ARGMAX) {
            int better = op == WR_ARGMIN ? integer_is_below(dtype, x, best) : integer_is_below(dtype, best, x);
            place = better ? i : place;
            best = better ? x : best;
        } else {
            result = integer_step(op, dtype, result, x);
        }
    }
    if (op == WR_ARGMIN || op == WR_ARGMAX) {
        put_word(output, 8, 0, place);
    } else {
        put_word(output, bytes, 0, result);
    }
}

/* ---- fields: words as the numbers they stand for, polynomials of one or four of them */

__extension__ typedef unsigned __int128 wide_word;

static uint64_t times(uint64_t a, uint64_t b, uint64_t p) { return (uint64_t)((wide_word)a * b % p); }
static uint64_t plus(uint64_t a, uint64_t b, uint64_t p) { return (uint64_t)(((wide_word)a + b) % p); }

static uint64_t power(uint64_t a, uint64_t exponent, uint64_t p) {
    uint64_t result = 1;
    for (; exponent != 0; exponent >>= 1) {
        result = exponent & 1 ? times(result, a, p) : result;
        a = times(a, a, p);
    }
    return result;
}

uint64_t lanes_prime(wr_dtype dtype) {
    switch ((int)dtype) {
    case WR_BABYBEAR:
    case WR_BABYBEAR_X4:
        return (UINT64_C(1) << 31) - (UINT64_C(1) << 27) + 1;
    case WR_MERSENNE31:
        return (UINT64_C(1) << 31) - 1;
    case WR_GOLDILOCKS:
        return UINT64_C(0) - (UINT64_C(1) << 32) + 1;
    default:
        return (UINT64_C(1) << 31) - (UINT64_C(1) << 24) + 1;
    }
}

size_t lanes_word_bytes(wr_dtype dtype) { return dtype == WR_GOLDILOCKS ? 8 : 4; }

static size_t degree_of(wr_dtype dtype) { return dtype == WR_KOALABEAR_X4 || dtype == WR_BABYBEAR_X4 ? 4 : 1; }

/* What a word is multiplied by to become its number: 1 / 2^32 in Montgomery form. */
static uint64_t unit_of(wr_dtype dtype, uint64_t p) {
    int plain = dtype == WR_MERSENNE31 || dtype == WR_GOLDILOCKS;
    return plain ? 1 : power((UINT64_C(1) << 32) % p, p - 2, p);
}

typedef struct polynomial {
    uint64_t of[4];
} polynomial;

static polynomial element_at(wr_dtype dtype, const unsigned char *input, size_t index) {
    uint64_t p = lanes_prime(dtype);
    polynomial x = {{0, 0, 0, 0}};
    size_t k, degree = degree_of(dtype);
    for (k = 0; k < degree; ++k) {
        x.of[k] = times(word_at(input, lanes_word_bytes(dtype), index * degree + k), unit_of(dtype, p), p);
    }
    return x;
}

static void put_element(wr_dtype dtype, unsigned char *output, polynomial x) {
    uint64_t p = lanes_prime(dtype), form = power(unit_of(dtype, p), p - 2, p);
    size_t k;
    for (k = 0; k < degree_of(dtype); ++k) {
        put_word(output, lanes_word_bytes(dtype), k, times(x.of[k], form, p));
    }
}

/* x^4 is 3 in KoalaBear's extension and 11 in BabyBear's. */
static polynomial polynomial_product(wr_dtype dtype, polynomial a, polynomial b) {
    uint64_t p = lanes_prime(dtype), residue = dtype == WR_KOALABEAR_X4 ? 3 : 11;
    polynomial result = {{0, 0, 0, 0}};
    size_t i, j;
    for (i = 0; i < 4; ++i) {
        for (j = 0; j < 4; ++j) {
            uint64_t term = times(a.of[i], b.of[j], p);
            size_t k = (i + j) % 4;
            result.of[k] = plus(result.of[k], i + j < 4 ? term : times(term, residue, p), p);
        }
    }
    return result;
}

static polynomial polynomial_sum(wr_dtype dtype, polynomial a, polynomial b) {
    size_t k;
    for (k = 0; k < 4; ++k) {
        a.of[k] = plus(a.of[k], b.of[k], lanes_prime(dtype));
    }
    return a;
}

/* A sum of squares is of the words as the field multiplies them, whatever their form. */
static void reduce_elements(int op, wr_dtype dtype, const unsigned char *input, size_t n, unsigned char *output) {
    polynomial result = {{0, 0, 0, 0}};
    size_t i;
    result.of[0] = op == WR_PRODUCT;
    for (i = 0; i < n; ++i) {
        polynomial x = element_at(dtype, input, i);
        if (op == WR_PRODUCT) {
            result = polynomial_product(dtype, result, x);
        } else {
            result = polynomial_sum(dtype, result, op == WR_SUM ? x : polynomial_product(dtype, x, x));
        }
    }
    put_element(dtype, output, result);
}

/* ---- */

static int is_nonzero(wr_dtype dtype, size_t bytes, const unsigned char *element) {
    size_t i;
    if (is_float(dtype)) {
        return reference_get(dtype, element, 0) != 0.0;
    }
    if (dtype == WR_GOLDILOCKS || dtype == WR_MERSENNE31) {
        return word_at(element, bytes, 0) % lanes_prime(dtype) != 0;
    }
    for (i = 0; i < bytes; ++i) {
        if (element[i] != 0) {
            return 1;
        }
    }
    return 0;
}

static void count_elements(int op, wr_dtype dtype, const unsigned char *input, size_t n, unsigned char *output) {
    size_t bytes = wr_dtype_size(dtype), i;
    uint64_t count = 0;
    for (i = 0; i < n; ++i) {
        count += (uint64_t)is_nonzero(dtype, bytes, input + i * bytes);
    }
    if (op == WR_COUNT_NONZERO) {
        put_word(output, 8, 0, count);
    } else {
        output[0] = op == WR_ANY ? count != 0 : count == n;
    }
}

void reference_lanes(int op, wr_dtype dtype, const unsigned char *input, size_t count, unsigned char *output) {
    if (op == WR_ANY || op == WR_ALL || op == WR_COUNT_NONZERO) {
        count_elements(op, dtype, input, count, output);
    } else if (is_float(dtype)) {
        reduce_floats(op, dtype, input, count, output);
    } else if (is_integer(dtype)) {
        reduce_integers(op, dtype, wr_dtype_size(dtype), input, count, output);
    } else {
        reduce_elements(op, dtype, input, count, output);
    }
}
