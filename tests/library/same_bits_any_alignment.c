/* The same values give the same bits wherever the input and the output begin. */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/random_numbers.h"
#include "reference/reference.h"

#include <string.h>

/* Elements are moved by up to this many bytes past a 256-byte boundary: each offset a 16-byte load can meet. */
enum { OFFSETS_BYTES = 16 };

static const size_t lengths[] = {1, 2, 7, 15, 16, 17, 31, 33, 100, 127, 129, 255, 513, 1023, 1025, 2049, 5003, 70001};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

/* Elements of an extension need that of a word. */
static size_t alignment_of(wr_dtype dtype) { return reference_size(dtype) / (size_t)reference_degree(dtype); }

static void check_reduce_from(wr_op op, wr_dtype dtype, size_t outer, size_t axis, size_t inner, size_t offset) {
    size_t count = outer * axis * inner;
    image input = image_new(count * reference_size(dtype), offset);
    wr_reduce_args args = reduce_args(op, dtype, outer, axis, inner);
    size_t output_alignment = alignment_of(reference_output_dtype(&args));
    fill_random(dtype, DATA_WIDE, axis, input.payload, count);
    args.input = input.payload;
    check_reduce(&args, &input, 0, "input moved");
    check_reduce(&args, &input, offset / output_alignment * output_alignment, "input and output moved");
    check_reduce(&args, &input, OFFSETS_BYTES - output_alignment, "input moved, output moved by another way");
    image_free(&input);
}

static void check_length_from(wr_dtype dtype, size_t length, size_t offset) {
    check_reduce_from(WR_SUM, dtype, 1, length, 1, offset);
    if (length < 3000) {
        check_reduce_from(WR_SUM, dtype, 3, length, 1, offset);
        check_reduce_from(WR_SUM, dtype, 2, 5, length, offset);
        check_reduce_from(WR_SUM, dtype, 1, length, 17, offset);
    }
    if (!reference_is_field(dtype)) {
        check_reduce_from(WR_MAX, dtype, 2, length, 1, offset);
        check_reduce_from(WR_MIN, dtype, 1, 3, length, offset);
        check_reduce_from(WR_ARGMAX, dtype, 2, length, 1, offset);
    }
    check_reduce_from(WR_COUNT_NONZERO, dtype, 2, length, 1, offset);
}

static void check_reductions(wr_dtype dtype) {
    size_t offset, i;
    for (offset = 0; offset < OFFSETS_BYTES; offset += alignment_of(dtype)) {
        for (i = 0; i < LENGTHS; ++i) {
            if (places_take(offset / alignment_of(dtype) + i)) {
                check_length_from(dtype, lengths[i], offset);
            }
        }
    }
}

/* Softmax of the same rows with input and output at these offsets; result: output, then logsumexp, as bytes. */
static void softmax_from(const wr_softmax_args *shape, const image *values, size_t input_offset, size_t output_offset,
                         image *output, image *sums) {
    size_t sums_bytes = shape->outer * shape->inner * (shape->dtype == WR_F64 ? 8 : 4);
    image input = image_new(values->payload_bytes, input_offset);
    wr_softmax_args args = *shape;
    memcpy(input.payload, values->payload, values->payload_bytes);
    *output = image_new(values->payload_bytes, output_offset);
    *sums = image_new(sums_bytes, output_offset / 8 * 8);
    args.input = input.payload;
    args.output = output->payload;
    args.logsumexp = sums->payload;
    softmax_everywhere(&args, &input, output, sums, "softmax moved");
    image_free(&input);
}

static void softmax_in_place_from(const wr_softmax_args *shape, const image *values, size_t offset, image *output) {
    wr_softmax_args args = *shape;
    *output = image_new(values->payload_bytes, offset);
    memcpy(output->payload, values->payload, values->payload_bytes);
    args.input = output->payload;
    args.output = output->payload;
    softmax_everywhere(&args, output, output, NULL, "softmax moved, in place");
}

static void check_softmax_shape(const wr_softmax_args *shape) {
    size_t size = reference_size(shape->dtype);
    size_t count = shape->outer * shape->axis * shape->inner;
    image values = image_new(count * size, 0);
    image expected, expected_sums;
    size_t offset;
    fill_random(shape->dtype, DATA_UNIFORM, count, values.payload, count);
    softmax_from(shape, &values, 0, 0, &expected, &expected_sums);
    for (offset = 0; offset < OFFSETS_BYTES; offset += size) {
        image moved, moved_sums, alike, alike_sums, in_place;
        softmax_from(shape, &values, offset, OFFSETS_BYTES - size - offset, &moved, &moved_sums);
        softmax_from(shape, &values, offset, offset, &alike, &alike_sums);
        softmax_in_place_from(shape, &values, offset, &in_place);
        CHECK(memcmp(expected.payload, moved.payload, count * size) == 0, "%s softmax [%zu][%zu][%zu] moved by %zu",
              dtype_name(shape->dtype), shape->outer, shape->axis, shape->inner, offset);
        CHECK(memcmp(expected_sums.payload, moved_sums.payload, expected_sums.payload_bytes) == 0,
              "%s logsumexp [%zu][%zu][%zu] moved by %zu", dtype_name(shape->dtype), shape->outer, shape->axis,
              shape->inner, offset);
        CHECK(memcmp(expected.payload, alike.payload, count * size) == 0 &&
                  memcmp(expected_sums.payload, alike_sums.payload, expected_sums.payload_bytes) == 0,
              "%s softmax [%zu][%zu][%zu] moved by %zu, outputs too", dtype_name(shape->dtype), shape->outer,
              shape->axis, shape->inner, offset);
        CHECK(memcmp(expected.payload, in_place.payload, count * size) == 0,
              "%s softmax [%zu][%zu][%zu] in place, moved by %zu", dtype_name(shape->dtype), shape->outer, shape->axis,
              shape->inner, offset);
        image_free(&moved);
        image_free(&moved_sums);
        image_free(&alike);
        image_free(&alike_sums);
        image_free(&in_place);
    }
    image_free(&values);
    image_free(&expected);
    image_free(&expected_sums);
}

static void check_softmax(wr_dtype dtype) {
    static const size_t whole_vectors[] = {1024, 1032, 2048, 5000, 8192, 8200, 16384}; /* all rows off in one way */
    size_t i, axis;
    int log;
    for (axis = 1; axis <= 40; ++axis) { /* many rows a warp */
        for (log = 0; log < 2 && places_take(axis + (size_t)dtype); ++log) {
            wr_softmax_args rows = softmax_args(dtype, 150, axis, 1);
            rows.log = log;
            check_softmax_shape(&rows);
        }
    }
    for (i = 0; i < sizeof whole_vectors / sizeof *whole_vectors; ++i) {
        wr_softmax_args rows = softmax_args(dtype, 3, whole_vectors[i], 1);
        check_softmax_shape(&rows);
    }
    for (i = 0; i < LENGTHS; ++i) {
        for (log = 0; log < 2 && places_take(i + (size_t)dtype); ++log) {
            wr_softmax_args rows = softmax_args(dtype, lengths[i] < 3000 ? 3 : 1, lengths[i], 1);
            wr_softmax_args columns = softmax_args(dtype, 2, 5, lengths[i] < 3000 ? lengths[i] : 3000);
            rows.log = log;
            columns.log = log;
            check_softmax_shape(&rows);
            check_softmax_shape(&columns);
        }
    }
}

int main(int argc, char **argv) {
    static const wr_dtype types[] = {WR_F32, WR_F64, WR_F16, WR_BF16,      WR_F8_E4M3,    WR_I8,
                                     WR_U16, WR_I32, WR_I64, WR_KOALABEAR, WR_GOLDILOCKS, WR_KOALABEAR_X4};
    static const wr_dtype softmax_types[] = {WR_F32, WR_F64, WR_F16, WR_BF16};
    size_t i;
    places_open(argc, argv);
    for (i = 0; i < sizeof types / sizeof *types; ++i) {
        check_reductions(types[i]);
    }
    for (i = 0; i < sizeof softmax_types / sizeof *softmax_types; ++i) {
        check_softmax(softmax_types[i]);
    }
    places_close();
    return check_report("same_bits_any_alignment");
}
