/*
 * What is computed in f32 or f64 is rounded once, to nearest even, into the output's type. Every value of each 16-
 * and 8-bit type is approached from its neighbours: the point half way, and the last values before and after it.
 */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/random_numbers.h"
#include "reference/reference.h"

#include <math.h>
#include <string.h>

/* Decoding and encoding again gives each element back, unless it is a NaN. */
static void check_reference_round_trip(wr_dtype dtype, uint32_t patterns) {
    uint32_t bits;
    for (bits = 0; bits < patterns; ++bits) {
        uint64_t element = 0, again = 0;
        double decoded;
        reference_put_bits(dtype, &element, 0, bits);
        decoded = reference_get(dtype, &element, 0);
        reference_put(dtype, &again, 0, decoded);
        CHECK(isnan(decoded) || element == again, "%s: %#x", dtype_name(dtype), bits);
    }
}

/* The reference itself, at points whose results the formats' definitions give. */
static void check_reference_by_hand(void) {
    static const struct {
        wr_dtype dtype;
        double value;
        uint64_t bits;
    } known[] = {
        {WR_F16, 65504.0, 0x7BFF},
        {WR_F16, 65519.999, 0x7BFF},
        {WR_F16, 65520.0, 0x7C00},
        {WR_F16, 0x1p-24, 0x0001},
        {WR_F16, 0x1p-25, 0x0000},
        {WR_F16, 0x1.8p-25, 0x0001},
        {WR_F16, -0x1p-25, 0x8000},
        {WR_F16, 1.0 + 0x1p-11, 0x3C00},
        {WR_F16, 1.0 + 0x1.8p-10, 0x3C02},
        {WR_BF16, 1.0 + 0x1p-8, 0x3F80},
        {WR_BF16, 0x1.FFp127, 0x7F80},
        {WR_BF16, 0x1.FEFp127, 0x7F7F},
        {WR_F8_E4M3, 448.0, 0x7E},
        {WR_F8_E4M3, 464.0, 0x7E},
        {WR_F8_E4M3, 464.001, 0x7F},
        {WR_F8_E4M3, -500.0, 0x7F},
        {WR_F8_E4M3, 0x1p-9, 0x01},
        {WR_F8_E4M3, 0x1p-10, 0x00},
        {WR_F8_E4M3, INFINITY, 0x7F},
        {WR_F8_E4M3, NAN, 0x7F},
        {WR_F8_E4M3, -0.0, 0x80},
        {WR_F8_E5M2, 57344.0, 0x7B},
        {WR_F8_E5M2, 61440.0, 0x7C},
        {WR_F8_E5M2, 61439.0, 0x7B},
        {WR_F8_E5M2, -INFINITY, 0xFC},
        {WR_F8_E5M2, 0x1p-16, 0x01},
        {WR_F8_E5M2, NAN, 0x7E},
        {WR_F32, 0x1.FFFFFFp127, 0x7F800000},
        {WR_F32, 0x1.FFFFFEFp127, 0x7F7FFFFF},
        {WR_F32, 0x1p-150, 0x0},
    };
    size_t i;
    for (i = 0; i < sizeof known / sizeof *known; ++i) {
        uint64_t bits = 0;
        reference_put(known[i].dtype, &bits, 0, known[i].value);
        CHECK(bits == known[i].bits, "%s of %a: %#llx", dtype_name(known[i].dtype), known[i].value,
              (unsigned long long)bits);
    }
}

/* Three f32 about the middle of each pair of neighbours, and the neighbours: what overflows included. */
static size_t fill_with_middles(wr_dtype target, uint32_t patterns, wr_dtype source, void *array) {
    uint32_t bits;
    size_t count = 0;
    for (bits = 0; bits < patterns; ++bits) {
        uint64_t here = 0, next = 0;
        double value, neighbour, middle;
        reference_put_bits(target, &here, 0, bits);
        reference_put_bits(target, &next, 0, (bits + 1) % patterns);
        value = reference_get(target, &here, 0);
        neighbour = reference_get(target, &next, 0);
        middle = isfinite(value) && isfinite(neighbour) ? value / 2 + neighbour / 2 : value * 1.0625;
        reference_put(source, array, count++, value);
        reference_put(source, array, count++, middle);
        if (source == WR_F32) {
            reference_put(source, array, count++, (double)nextafterf((float)middle, INFINITY));
            reference_put(source, array, count++, (double)nextafterf((float)middle, -INFINITY));
        } else {
            reference_put(source, array, count++, nextafter(middle, (double)INFINITY));
            reference_put(source, array, count++, nextafter(middle, -(double)INFINITY));
        }
    }
    return count;
}

static void check_each(const image *input, wr_dtype source, wr_dtype target, size_t count) {
    static const wr_op ops[] = {WR_SUM, WR_MEAN, WR_MIN, WR_MAX};
    size_t i;
    for (i = 0; i < 4; ++i) {
        wr_reduce_args args = reduce_args(ops[i], source, count, 1, 1);
        args.output_dtype = target;
        args.input = input->payload;
        check_reduce(&args, input, 0, "rows of one element");
        args = reduce_args(ops[i], source, 1, 1, count);
        args.output_dtype = target;
        args.input = input->payload;
        check_reduce(&args, input, 0, "columns of one element");
        args = reduce_args(ops[i], source, count / 4, 4, 1);
        args.output_dtype = target;
        args.input = input->payload;
        check_reduce(&args, input, 0, "rows of four elements");
    }
}

static void check_target(wr_dtype target, uint32_t patterns) {
    static const wr_dtype sources[] = {WR_F32, WR_F64};
    size_t i;
    for (i = 0; i < 2; ++i) {
        image input = image_new((size_t)patterns * 4 * reference_size(sources[i]), 0);
        size_t count = fill_with_middles(target, patterns, sources[i], input.payload);
        check_each(&input, sources[i], target, count);
        image_free(&input);
    }
}

/* f64 into f32: random values with their last bits about the half. */
static void check_f64_to_f32(void) {
    enum { COUNT = 65536 };
    image input = image_new(COUNT * sizeof(double), 0);
    uint64_t state = 11;
    size_t i;
    for (i = 0; i < COUNT; ++i) {
        uint64_t bits = random_next(&state);
        /* exponents of f32, subnormals and overflow included */
        uint64_t exponent = 1023 - 152 + random_below(&state, 282);
        uint64_t tail = (bits >> 54) % 3 - 1 + (UINT64_C(1) << 28);
        uint64_t mantissa = ((bits & UINT64_C(0xFFFFFE0000000)) + tail) & UINT64_C(0xFFFFFFFFFFFFF);
        reference_put_bits(WR_F64, input.payload, i, (bits & (UINT64_C(1) << 63)) | exponent << 52 | mantissa);
    }
    check_each(&input, WR_F64, WR_F32, COUNT);
    image_free(&input);
}

int main(int argc, char **argv) {
    places_open(argc, argv);
    check_reference_by_hand();
    check_reference_round_trip(WR_F16, 65536);
    check_reference_round_trip(WR_BF16, 65536);
    check_reference_round_trip(WR_F8_E4M3, 256);
    check_reference_round_trip(WR_F8_E5M2, 256);
    check_target(WR_F16, 65536);
    check_target(WR_BF16, 65536);
    check_target(WR_F8_E4M3, 256);
    check_target(WR_F8_E5M2, 256);
    check_f64_to_f32();
    places_close();
    return check_report("narrowing_rounds_to_nearest_even");
}
