/* Each element meets the weight of its own place, however a long axis is cut between threads. */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "reference/reference.h"

#include <string.h>

static const wr_dtype types[] = {WR_F32, WR_F64, WR_F16, WR_BF16, WR_I32, WR_U8, WR_I64, WR_MERSENNE31, WR_GOLDILOCKS};
enum { TYPES = sizeof types / sizeof *types };

static void put(wr_dtype dtype, void *array, size_t index, size_t value) {
    if (reference_is_float(dtype)) {
        reference_put(dtype, array, index, (double)value);
    } else {
        reference_put_bits(dtype, array, index, value);
    }
}

/* Ones, each with the weight i % period: the sum is exact in f32 if it is below 2^24, and the period no divisor of
 * where an axis may be cut. */
static void check_weighted_ones(wr_dtype dtype, size_t outer, size_t axis, size_t inner, size_t period) {
    const wr_dtype output_dtype = reference_is_float(dtype) ? WR_F64 : reference_is_integer(dtype) ? WR_I64 : dtype;
    const size_t bytes = reference_size(dtype), count = outer * axis * inner;
    image input = image_new(count * bytes, 0), weights = image_new(axis * bytes, 0);
    image output = image_new(outer * inner * 8, 0), expected = image_new(outer * inner * 8, 0);
    reduce_images images = {&input, &weights, &output, NULL};
    wr_reduce_args args = reduce_args(WR_SUM, dtype, outer, axis, inner);
    size_t total = 0, i, p;
    for (i = 0; i < axis; ++i) {
        put(dtype, weights.payload, i, i % period);
        total += i % period;
    }
    put(dtype, input.payload, 0, 1);
    for (i = 1; i < count; i += i) {
        memcpy(input.payload + i * bytes, input.payload, (count - i < i ? count - i : i) * bytes);
    }
    for (i = 0; i < outer * inner; ++i) {
        put(output_dtype, expected.payload, i, total);
    }
    args.input = input.payload;
    args.weights = weights.payload;
    args.output = output.payload;
    args.output_dtype = output_dtype;
    for (p = 0; p < place_count(); ++p) {
        const wr_status status = reduce_images_at(place_at(p), &args, &images);
        check_same_elements(status, place_at(p), output_dtype, &expected, &output, dtype_name(dtype));
    }
    image_free(&input);
    image_free(&weights);
    image_free(&output);
    image_free(&expected);
}

int main(int argc, char **argv) {
    size_t i;
    places_open(argc, argv);
    for (i = 0; i < TYPES; ++i) {
        check_weighted_ones(types[i], 1, 65536, 16, 251);
        check_weighted_ones(types[i], 1, 130001, 3, 251);
        check_weighted_ones(types[i], 1, 130001, 1, 251);
        check_weighted_ones(types[i], 3, 65537, 2, 251);
    }
    check_weighted_ones(WR_F32, 1, 1050001, 1, 13);
    check_weighted_ones(WR_U8, 1, 4200001, 1, 251);
    places_close();
    return check_report("weights_of_cut_axes");
}
