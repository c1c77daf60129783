/* The float formats of IEEE 754 and OCP by their widths alone. */
#include "harness/harness.h"
#include "reference/reference.h"

#include <math.h>
#include <string.h>

typedef struct format {
    int mantissa_bits;
    int exponent_bits;
    int has_infinity;
} format;

static format format_of(wr_dtype dtype) {
    static const format f32 = {23, 8, 1}, f64 = {52, 11, 1}, f16 = {10, 5, 1}, bf16 = {7, 8, 1}, e4m3 = {3, 4, 0},
                        e5m2 = {2, 5, 1};
    switch ((int)dtype) {
    case WR_F32:
        return f32;
    case WR_F64:
        return f64;
    case WR_F16:
        return f16;
    case WR_BF16:
        return bf16;
    case WR_F8_E4M3:
        return e4m3;
    case WR_F8_E5M2:
        return e5m2;
    default:
        give_up("not a float format");
    }
}

size_t reference_size(wr_dtype dtype) {
    switch ((int)dtype) {
    case WR_F8_E4M3:
    case WR_F8_E5M2:
    case WR_I8:
    case WR_U8:
        return 1;
    case WR_F16:
    case WR_BF16:
    case WR_I16:
    case WR_U16:
        return 2;
    case WR_F32:
    case WR_I32:
    case WR_U32:
    case WR_KOALABEAR:
    case WR_BABYBEAR:
    case WR_MERSENNE31:
        return 4;
    case WR_F64:
    case WR_I64:
    case WR_U64:
    case WR_GOLDILOCKS:
        return 8;
    case WR_KOALABEAR_X4:
    case WR_BABYBEAR_X4:
        return 16;
    default:
        return 0;
    }
}

int reference_is_float(wr_dtype dtype) { return dtype >= WR_F32 && dtype <= WR_F8_E5M2; }

int reference_is_integer(wr_dtype dtype) { return dtype >= WR_I8 && dtype <= WR_U64; }

int reference_is_signed(wr_dtype dtype) { return dtype >= WR_I8 && dtype <= WR_I64; }

int reference_is_field(wr_dtype dtype) { return dtype >= WR_KOALABEAR && dtype <= WR_BABYBEAR_X4; }

uint64_t reference_bits(wr_dtype dtype, const void *array, size_t index) {
    size_t size = reference_size(dtype);
    const unsigned char *element = (const unsigned char *)array + index * size;
    uint8_t byte;
    uint16_t half;
    uint32_t word;
    uint64_t whole;
    switch (size) {
    case 1:
        memcpy(&byte, element, 1);
        return byte;
    case 2:
        memcpy(&half, element, 2);
        return half;
    case 4:
        memcpy(&word, element, 4);
        return word;
    default:
        memcpy(&whole, element, 8);
        return whole;
    }
}

void reference_put_bits(wr_dtype dtype, void *array, size_t index, uint64_t bits) {
    size_t size = reference_size(dtype);
    unsigned char *element = (unsigned char *)array + index * size;
    uint8_t byte = (uint8_t)bits;
    uint16_t half = (uint16_t)bits;
    uint32_t word = (uint32_t)bits;
    switch (size) {
    case 1:
        memcpy(element, &byte, 1);
        break;
    case 2:
        memcpy(element, &half, 2);
        break;
    case 4:
        memcpy(element, &word, 4);
        break;
    default:
        memcpy(element, &bits, 8);
        break;
    }
}

void reference_copy_element(wr_dtype dtype, void *to, size_t to_index, const void *from, size_t from_index) {
    size_t size = reference_size(dtype);
    memcpy((unsigned char *)to + to_index * size, (const unsigned char *)from + from_index * size, size);
}

int64_t reference_get_integer(wr_dtype dtype, const void *array, size_t index) {
    uint64_t bits = reference_bits(dtype, array, index);
    uint64_t sign = UINT64_C(1) << (8 * reference_size(dtype) - 1);
    return reference_is_signed(dtype) ? (int64_t)((bits ^ sign) - sign) : (int64_t)bits;
}

static int bias_of(format f) { return (1 << (f.exponent_bits - 1)) - 1; }

static uint64_t top_exponent_bits(format f) { return ((UINT64_C(1) << f.exponent_bits) - 1) << f.mantissa_bits; }

static uint64_t largest_finite_bits(format f) {
    uint64_t all_ones = (UINT64_C(1) << (f.exponent_bits + f.mantissa_bits)) - 1;
    return f.has_infinity ? top_exponent_bits(f) - 1 : all_ones - 1;
}

double reference_largest(wr_dtype dtype) { return format_of(dtype).has_infinity ? (double)INFINITY : 448.0; }

static uint64_t nan_bits(format f) {
    uint64_t all_ones = (UINT64_C(1) << (f.exponent_bits + f.mantissa_bits)) - 1;
    return f.has_infinity ? top_exponent_bits(f) | (UINT64_C(1) << (f.mantissa_bits - 1)) : all_ones;
}

double reference_get(wr_dtype dtype, const void *array, size_t index) {
    format f = format_of(dtype);
    uint64_t bits = reference_bits(dtype, array, index);
    uint64_t magnitude = bits & ((UINT64_C(1) << (f.exponent_bits + f.mantissa_bits)) - 1);
    uint64_t mantissa = magnitude & ((UINT64_C(1) << f.mantissa_bits) - 1);
    int exponent = (int)(magnitude >> f.mantissa_bits);
    int negative = (int)(bits >> (f.exponent_bits + f.mantissa_bits));
    double value;
    if (magnitude > largest_finite_bits(f)) {
        value = f.has_infinity && mantissa == 0 ? (double)INFINITY : (double)NAN;
    } else if (exponent == 0) {
        value = ldexp((double)mantissa, 1 - bias_of(f) - f.mantissa_bits);
    } else {
        value = ldexp((double)(mantissa + (UINT64_C(1) << f.mantissa_bits)), exponent - bias_of(f) - f.mantissa_bits);
    }
    return negative ? -value : value;
}

static uint64_t magnitude_bits(format f, double magnitude) {
    int smallest_exponent = 1 - bias_of(f);
    int exponent = magnitude == 0 ? smallest_exponent : ilogb(magnitude);
    uint64_t units;
    if (exponent < smallest_exponent) {
        exponent = smallest_exponent;
    }
    /* scaling by a power of two is exact here; rint is the one rounding, to nearest even */
    units = (uint64_t)rint(ldexp(magnitude, f.mantissa_bits - exponent));
    /* a normal number's leading one, and a carry out of the mantissa, each add one to the exponent field */
    return ((uint64_t)(exponent - smallest_exponent) << f.mantissa_bits) + units;
}

void reference_put(wr_dtype dtype, void *array, size_t index, double value) {
    format f = format_of(dtype);
    uint64_t overflow = f.has_infinity ? top_exponent_bits(f) : nan_bits(f);
    uint64_t sign = (uint64_t)(signbit(value) != 0) << (f.exponent_bits + f.mantissa_bits);
    uint64_t bits = isinf(value) || isnan(value) ? overflow : magnitude_bits(f, fabs(value));
    if (bits > largest_finite_bits(f)) {
        bits = overflow;
    }
    if (isnan(value) || bits == nan_bits(f)) {
        bits = nan_bits(f);
        sign = 0;
    }
    reference_put_bits(dtype, array, index, sign | bits);
}
