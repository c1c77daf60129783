#include "harness/random_numbers.h"

#include "reference/reference.h"

#include <math.h>

const char *data_kind_name(data_kind kind) {
    static const char *const names[ALL_DATA_KINDS] = {"uniform",     "wide",       "cancelling", "subnormal",
                                                      "integers",    "any finite", "near one",   "few values",
                                                      "mostly zero", "few zeros",  "with NaNs",  "specials"};
    return names[kind];
}

uint64_t random_next(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

size_t random_below(uint64_t *state, size_t bound) { return (size_t)(random_next(state) % bound); }

double random_unit(uint64_t *state) { return (double)(random_next(state) >> 11) * 0x1p-53; }

static double uniform(uint64_t *state) { return 2.0 * random_unit(state) - 1.0; }

static int random_exponent(wr_dtype dtype, uint64_t *state) {
    switch ((int)dtype) {
    case WR_F16:
        return (int)random_below(state, 35) - 20;
    case WR_F8_E4M3:
        return (int)random_below(state, 14) - 6;
    case WR_F8_E5M2:
        return (int)random_below(state, 29) - 14;
    default:
        return (int)random_below(state, 121) - 60;
    }
}

static double random_sign(uint64_t *state) { return (random_next(state) & 1) != 0 ? 1.0 : -1.0; }

static double wide(wr_dtype dtype, uint64_t *state) {
    int exponent = random_exponent(dtype, state);
    double sign = random_sign(state);
    return sign * ldexp(1.0 + random_unit(state), exponent);
}

static int mantissa_bits(wr_dtype dtype) {
    switch ((int)dtype) {
    case WR_F32:
        return 23;
    case WR_F64:
        return 52;
    case WR_F16:
        return 10;
    case WR_BF16:
        return 7;
    case WR_F8_E4M3:
        return 3;
    default:
        return 2;
    }
}

static uint64_t sign_bit(wr_dtype dtype) { return UINT64_C(1) << (8 * reference_size(dtype) - 1); }

static uint64_t mantissa_field(wr_dtype dtype) { return (UINT64_C(1) << mantissa_bits(dtype)) - 1; }

static uint64_t exponent_field(wr_dtype dtype) { return (sign_bit(dtype) - 1) ^ mantissa_field(dtype); }

static uint64_t random_bits(wr_dtype dtype, uint64_t *state) {
    return random_next(state) >> (64 - 8 * reference_size(dtype));
}

/* All that is not finite has this. In E4M3 nothing but a NaN, which has every other bit too. */
static uint64_t not_finite_field(wr_dtype dtype) {
    return dtype == WR_F8_E4M3 ? sign_bit(dtype) - 1 : exponent_field(dtype);
}

static uint64_t finite_bits(wr_dtype dtype, uint64_t *state) {
    uint64_t bits = random_bits(dtype, state), field = not_finite_field(dtype);
    return (bits & field) == field ? bits & ~(UINT64_C(1) << mantissa_bits(dtype)) : bits;
}

static uint64_t nan_bits(wr_dtype dtype, uint64_t *state) {
    uint64_t bits = random_bits(dtype, state) | not_finite_field(dtype);
    return (bits & mantissa_field(dtype)) == 0 ? bits | 1 : bits;
}

/* Once in `often` times. */
static int happens(uint64_t *state, size_t often) { return random_below(state, often) == 0; }

/* How rare the rare elements of this array are. */
static size_t rarity(uint64_t seed) {
    static const size_t rarities[] = {2, 40, 1000};
    return rarities[seed % 3];
}

static uint64_t special_bits(wr_dtype dtype, uint64_t *state) {
    uint64_t infinity = not_finite_field(dtype), one = 0, magnitudes[7];
    reference_put(dtype, &one, 0, 1.0);
    magnitudes[0] = 0;
    magnitudes[1] = infinity;
    magnitudes[2] = nan_bits(dtype, state) & ~sign_bit(dtype);
    magnitudes[3] = one;
    magnitudes[4] = infinity - 1;
    magnitudes[5] = 1;
    magnitudes[6] = mantissa_field(dtype) + 1;
    return magnitudes[random_below(state, 7)] | (happens(state, 2) ? sign_bit(dtype) : 0);
}

static void put_special_float(wr_dtype dtype, data_kind kind, size_t rare, uint64_t *state, void *array, size_t index) {
    double zero = random_sign(state) * 0.0;
    switch ((int)kind) {
    case DATA_NEAR_ONE:
        reference_put(dtype, array, index, random_sign(state) * exp2(uniform(state)));
        break;
    case DATA_FEW_VALUES:
        reference_put(dtype, array, index, random_sign(state) * (double)random_below(state, 3));
        break;
    case DATA_MOSTLY_ZERO:
        reference_put(dtype, array, index, happens(state, rare) ? uniform(state) : zero);
        break;
    case DATA_FEW_ZEROS:
        reference_put(dtype, array, index, happens(state, rare) ? zero : wide(dtype, state));
        break;
    case DATA_WITH_NANS:
        if (rare == 2 ? random_below(state, 4) != 0 : happens(state, rare)) {
            reference_put_bits(dtype, array, index, nan_bits(dtype, state));
        } else {
            reference_put(dtype, array, index, uniform(state));
        }
        break;
    default:
        reference_put_bits(dtype, array, index, special_bits(dtype, state));
        break;
    }
}

static void put_float(wr_dtype dtype, data_kind kind, size_t rare, uint64_t *state, void *array, size_t index) {
    switch ((int)kind) {
    case DATA_UNIFORM:
        reference_put(dtype, array, index, uniform(state));
        break;
    case DATA_SUBNORMAL:
        reference_put_bits(dtype, array, index, finite_bits(dtype, state) & ~exponent_field(dtype));
        break;
    case DATA_INTEGERS:
        reference_put(dtype, array, index, (double)random_below(state, 201) - 100.0);
        break;
    case DATA_ANY_FINITE:
        reference_put_bits(dtype, array, index, finite_bits(dtype, state));
        break;
    case DATA_WIDE:
    case DATA_CANCELLING:
        reference_put(dtype, array, index, wide(dtype, state));
        break;
    default:
        put_special_float(dtype, kind, rare, state, array, index);
        break;
    }
}

/* Of any bits, the ones that the kind wants. */
static uint64_t integer_of_kind(wr_dtype dtype, data_kind kind, size_t rare, uint64_t *state) {
    uint64_t bits = random_next(state);
    switch ((int)kind) {
    case DATA_NEAR_ONE:
        return bits | 1;
    case DATA_FEW_VALUES:
        return bits % 5 - (reference_is_signed(dtype) ? 2 : 0);
    case DATA_MOSTLY_ZERO:
        return happens(state, rare) ? bits : 0;
    case DATA_FEW_ZEROS:
        return happens(state, rare) ? 0 : bits;
    default:
        return bits;
    }
}

/* A word of a field: of Goldilocks and Mersenne31 now and then one that is not below the prime. */
static uint64_t word_of(wr_dtype dtype, uint64_t bits) {
    uint64_t p = reference_prime(dtype);
    if ((bits & 15) == 0 && dtype == WR_MERSENNE31) {
        return p;
    }
    if ((bits & 15) == 0 && dtype == WR_GOLDILOCKS) {
        return p + (bits & 16 ? (bits >> 8) % (UINT64_MAX - p + 1) : bits >> 62);
    }
    return bits % p;
}

static void put_words(wr_dtype dtype, data_kind kind, size_t rare, uint64_t *state, void *array, size_t index) {
    size_t degree = (size_t)reference_degree(dtype), k;
    wr_dtype word = dtype == WR_GOLDILOCKS ? WR_U64 : WR_U32;
    uint64_t any = integer_of_kind(dtype, kind, rare, state);
    for (k = 0; k < degree; ++k) {
        uint64_t bits = kind == DATA_FEW_VALUES || any == 0 ? any : random_next(state);
        reference_put_bits(word, array, index * degree + k,
                           kind == DATA_UNIFORM || kind == DATA_WIDE ? word_of(dtype, bits)
                                                                     : bits % reference_prime(dtype));
    }
}

static void make_cancelling(wr_dtype dtype, uint64_t *state, void *array, size_t count) {
    size_t i;
    for (i = 0; i < count / 2; ++i) {
        reference_put(dtype, array, count - 1 - i, -reference_get(dtype, array, i));
    }
    for (i = 3; i < count; i += 7) {
        reference_put(dtype, array, i, uniform(state) * 0x1p-8);
    }
}

void fill_random(wr_dtype dtype, data_kind kind, uint64_t seed, void *array, size_t count) {
    uint64_t state = seed;
    size_t rare = rarity(seed), i;
    for (i = 0; i < count; ++i) {
        if (reference_is_field(dtype)) {
            put_words(dtype, kind, rare, &state, array, i);
        } else if (reference_is_integer(dtype)) {
            reference_put_bits(dtype, array, i, integer_of_kind(dtype, kind, rare, &state));
        } else {
            put_float(dtype, kind, rare, &state, array, i);
        }
    }
    if (kind == DATA_CANCELLING && reference_is_float(dtype)) {
        make_cancelling(dtype, &state, array, count);
    }
}
