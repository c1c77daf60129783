#include "random_numbers.h"

#include "reference.h"

#include <math.h>

const char *data_kind_name(data_kind kind) {
    static const char *const names[DATA_KINDS] = {"uniform",   "wide",     "cancelling",
                                                  "subnormal", "integers", "any finite"};
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

static double wide(wr_dtype dtype, uint64_t *state) {
    int exponent = dtype == WR_F16 ? (int)random_below(state, 35) - 20 : (int)random_below(state, 121) - 60;
    double sign = (random_next(state) & 1) != 0 ? 1.0 : -1.0;
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
    default:
        return 7;
    }
}

static uint64_t exponent_field(wr_dtype dtype) {
    uint64_t ones = dtype == WR_F64 ? 0x7FF : dtype == WR_F16 ? 0x1F : 0xFF;
    return ones << mantissa_bits(dtype);
}

static uint64_t finite_bits(wr_dtype dtype, uint64_t *state) {
    uint64_t bits = random_next(state) >> (64 - 8 * reference_size(dtype));
    uint64_t field = exponent_field(dtype);
    return (bits & field) == field ? bits & ~(UINT64_C(1) << mantissa_bits(dtype)) : bits;
}

static void put_float(wr_dtype dtype, data_kind kind, uint64_t *state, void *array, size_t index) {
    switch (kind) {
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
    default:
        reference_put(dtype, array, index, wide(dtype, state));
        break;
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
    size_t i;
    for (i = 0; i < count; ++i) {
        if (dtype == WR_KOALABEAR) {
            reference_put_bits(dtype, array, i, random_next(&state) % REFERENCE_KOALABEAR_P);
        } else if (!reference_is_float(dtype)) {
            reference_put_bits(dtype, array, i, random_next(&state));
        } else {
            put_float(dtype, kind, &state, array, i);
        }
    }
    if (kind == DATA_CANCELLING && reference_is_float(dtype)) {
        make_cancelling(dtype, &state, array, count);
    }
}
