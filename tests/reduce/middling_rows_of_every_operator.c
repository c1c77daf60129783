/*
 * Rows of a length that a few blocks share, which one launch finishes where the GPU has clusters: every operator on
 * every type gives what its definition says, around the lengths where a row gets another block, more tiles a warp, or
 * two launches.
 */
#include "harness/harness.h"
#include "harness/header_offers.h"
#include "harness/jobs.h"
#include "harness/random_numbers.h"
#include "reference/reference.h"

/* A row's elements: so many bytes' worth and so many more. */
typedef struct length {
    size_t bytes;
    int more;
} length;

enum { TILE = 4096, BLOCK = 8 * TILE, LONGEST_OF_SEVERAL = 64 * TILE, LONGEST = 128 * TILE };

static const struct {
    size_t rows;
    length axis;
} shapes[] = {{1, {BLOCK, 1}},   {1, {2 * BLOCK, -1}},         {1, {3 * BLOCK, 0}}, {3, {2 * BLOCK, 1}},
              {1, {LONGEST, 0}}, {3, {LONGEST_OF_SEVERAL, 0}}, {1, {LONGEST, 1}},   {2, {LONGEST_OF_SEVERAL, 1}}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static size_t elements_of(length of, wr_dtype dtype) {
    return (size_t)((ptrdiff_t)(of.bytes / reference_size(dtype)) + of.more);
}

static image new_elements(wr_dtype dtype, uint64_t seed, size_t count, size_t misalignment) {
    image made = image_new(count * reference_size(dtype), misalignment * reference_size(dtype));
    fill_random(dtype, DATA_WIDE, seed, made.payload, count);
    return made;
}

/* Any non-NULL pointer asks check_reduce for the values. */
static unsigned char wanted;

static void check_operator(wr_op op, wr_dtype dtype, size_t shape) {
    size_t rows = shapes[shape].rows, axis = elements_of(shapes[shape].axis, dtype);
    size_t misalignment = ((size_t)op + shape) % 3;
    type_list outputs = offered_outputs(op, dtype);
    image input = new_elements(dtype, axis, rows * axis, misalignment);
    wr_reduce_args args = reduce_args(op, dtype, rows, axis, 1);
    args.input = input.payload;
    args.output_dtype = has_default_output(op, dtype) ? (wr_dtype)0 : outputs.types[0];
    args.values = op == WR_ARGMIN || op == WR_ARGMAX ? &wanted : NULL;
    args.nan_mode = shape % 2 == 0 ? WR_NAN_PROPAGATE : WR_NAN_IGNORE;
    args.add_to_output = shape % 4 == 1 && takes_add_to_output(op);
    args.accumulate_dtype = takes_accumulate_dtype(op, dtype) && shape % 4 == 2 ? WR_F64 : (wr_dtype)0;
    check_reduce(&args, &input, 0, "a middling row");
    image_free(&input);
}

static void check_weights(wr_dtype dtype, wr_dtype weights_dtype, size_t shape) {
    size_t rows = shapes[shape].rows, axis = elements_of(shapes[shape].axis, dtype);
    image input = new_elements(dtype, axis, rows * axis, shape % 2);
    image weights = new_elements(weights_dtype, axis + 1, axis, shape / 2 % 2);
    wr_reduce_args args = reduce_args(WR_SUM, dtype, rows, axis, 1);
    args.input = input.payload;
    args.weights = weights.payload;
    args.weights_dtype = weights_dtype;
    check_weighted_reduce(&args, &input, &weights, 0, "a middling row with weights");
    image_free(&input);
    image_free(&weights);
}

static void check_shape(size_t shape) {
    int op, dtype;
    size_t i;
    for (dtype = WR_F32; dtype <= LAST_DTYPE; ++dtype) {
        type_list weights = offered_weights((wr_dtype)dtype);
        for (op = WR_SUM; op <= LAST_REDUCTION; ++op) {
            if (offered_outputs((wr_op)op, (wr_dtype)dtype).count > 0) {
                check_operator((wr_op)op, (wr_dtype)dtype, shape);
            }
        }
        for (i = 0; i < weights.count; ++i) {
            check_weights((wr_dtype)dtype, weights.types[i], shape);
        }
    }
}

int main(int argc, char **argv) {
    size_t shape;
    places_open(argc, argv);
    for (shape = 0; shape < SHAPES; ++shape) {
        check_shape(shape);
    }
    places_close();
    return check_report("middling_rows_of_every_operator");
}
