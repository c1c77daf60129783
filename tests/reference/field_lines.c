/* Prime fields by remainders of 128-bit integers, and their extensions by the schoolbook. */
#include "reference/line.h"

#include "harness/harness.h"

#include <string.h>

__extension__ typedef unsigned __int128 wide;

typedef struct field {
    uint64_t prime;
    /* a word w stands for w * 2^-32 */
    int is_montgomery;
    int degree;
    /* what x^4 is in an extension */
    uint64_t residue;
} field;

static field field_of(wr_dtype dtype) {
    static const field koalabear = {UINT64_C(2130706433), 1, 1, 0}, babybear = {UINT64_C(2013265921), 1, 1, 0},
                       mersenne31 = {UINT64_C(2147483647), 0, 1, 0},
                       goldilocks = {UINT64_C(18446744069414584321), 0, 1, 0},
                       koalabear_x4 = {UINT64_C(2130706433), 1, 4, 3}, babybear_x4 = {UINT64_C(2013265921), 1, 4, 11};
    switch ((int)dtype) {
    case WR_KOALABEAR:
        return koalabear;
    case WR_BABYBEAR:
        return babybear;
    case WR_MERSENNE31:
        return mersenne31;
    case WR_GOLDILOCKS:
        return goldilocks;
    case WR_KOALABEAR_X4:
        return koalabear_x4;
    case WR_BABYBEAR_X4:
        return babybear_x4;
    default:
        give_up("not a field");
    }
}

uint64_t reference_prime(wr_dtype dtype) { return field_of(dtype).prime; }

int reference_degree(wr_dtype dtype) { return reference_is_field(dtype) ? field_of(dtype).degree : 1; }

static uint64_t sum_modulo(uint64_t a, uint64_t b, uint64_t p) { return (uint64_t)(((wide)a + b) % p); }

static uint64_t product_modulo(uint64_t a, uint64_t b, uint64_t p) { return (uint64_t)((wide)a * b % p); }

/* a^(p - 2), by Fermat the inverse */
static uint64_t inverse_modulo(uint64_t a, uint64_t p) {
    uint64_t result = 1, power = a, exponent;
    for (exponent = p - 2; exponent != 0; exponent >>= 1) {
        if ((exponent & 1) != 0) {
            result = product_modulo(result, power, p);
        }
        power = product_modulo(power, power, p);
    }
    return result;
}

/* 2^-32 modulo the primes that have a Montgomery form here, each found once. */
static uint64_t inverse_of_radix(uint64_t p) {
    static uint64_t primes[2], inverses[2];
    int slot = p == UINT64_C(2130706433) ? 0 : 1;
    if (primes[slot] != p) {
        inverses[slot] = inverse_modulo((UINT64_C(1) << 32) % p, p);
        primes[slot] = p;
    }
    return inverses[slot];
}

uint64_t reference_field_word(wr_dtype dtype, uint64_t integer) {
    field in = field_of(dtype);
    return in.is_montgomery ? product_modulo(integer % in.prime, (UINT64_C(1) << 32) % in.prime, in.prime)
                            : integer % in.prime;
}

uint64_t reference_field_integer(wr_dtype dtype, uint64_t word) {
    field in = field_of(dtype);
    return in.is_montgomery ? product_modulo(word, inverse_of_radix(in.prime), in.prime) : word;
}

/* The word of the product of what two words stand for. */
static uint64_t word_product(const field *in, uint64_t a, uint64_t b) {
    uint64_t product = product_modulo(a, b, in->prime);
    return in->is_montgomery ? product_modulo(product, inverse_of_radix(in->prime), in->prime) : product;
}

/* The words of an element, the absent ones zero, each modulo the prime. */
typedef struct element {
    uint64_t words[4];
} element;

static element get_element(wr_dtype dtype, const void *array, size_t index) {
    element got = {{0, 0, 0, 0}};
    int degree = reference_degree(dtype), k;
    if (dtype == WR_GOLDILOCKS) {
        got.words[0] = reference_bits(dtype, array, index) % reference_prime(dtype);
        return got;
    }
    for (k = 0; k < degree; ++k) {
        got.words[k] = reference_bits(WR_U32, array, index * (size_t)degree + (size_t)k) % reference_prime(dtype);
    }
    return got;
}

static void put_element(wr_dtype dtype, void *array, size_t index, element of) {
    int degree = reference_degree(dtype), k;
    if (dtype == WR_GOLDILOCKS) {
        reference_put_bits(dtype, array, index, of.words[0]);
        return;
    }
    for (k = 0; k < degree; ++k) {
        reference_put_bits(WR_U32, array, index * (size_t)degree + (size_t)k, of.words[k]);
    }
}

static element sum_of(const field *in, element a, element b) {
    int k;
    for (k = 0; k < 4; ++k) {
        a.words[k] = sum_modulo(a.words[k], b.words[k], in->prime);
    }
    return a;
}

/* Polynomials in x, whose fourth power is the residue. */
static element product_of(const field *in, element a, element b) {
    element result = {{0, 0, 0, 0}};
    int i, j;
    for (i = 0; i < 4; ++i) {
        for (j = 0; j < 4; ++j) {
            uint64_t term = word_product(in, a.words[i], b.words[j]);
            if (i + j >= 4) {
                term = product_modulo(term, in->residue, in->prime);
            }
            result.words[(i + j) % 4] = sum_modulo(result.words[(i + j) % 4], term, in->prime);
        }
    }
    return result;
}

static element one_of(wr_dtype dtype) {
    element one = {{0, 0, 0, 0}};
    one.words[0] = reference_field_word(dtype, 1);
    return one;
}

static element mapped(const line *of, const field *in, size_t i) {
    const wr_reduce_args *args = of->args;
    element x = get_element(args->dtype, line_element(of, i), 0);
    if (args->op == WR_SUM_OF_SQUARES) {
        return product_of(in, x, x);
    }
    if (args->weights != NULL) {
        wr_dtype weights_dtype = (int)args->weights_dtype == 0 ? args->dtype : args->weights_dtype;
        return product_of(in, x, get_element(weights_dtype, line_weight(of, i), 0));
    }
    return x;
}

void reduce_field_line(const line *of) {
    const field in = field_of(of->output_dtype);
    int multiply = of->args->op == WR_PRODUCT;
    element result = {{0, 0, 0, 0}};
    size_t i;
    if (of->args->add_to_output != 0) {
        result = get_element(of->output_dtype, of->args->output, of->index);
    } else if (multiply) {
        result = one_of(of->output_dtype);
    }
    for (i = 0; i < of->length; ++i) {
        element x = mapped(of, &in, i);
        result = multiply ? product_of(&in, result, x) : sum_of(&in, result, x);
    }
    put_element(of->output_dtype, of->args->output, of->index, result);
}
