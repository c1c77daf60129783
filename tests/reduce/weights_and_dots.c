/*
 * A weighted sum multiplies each element by the weight of its place on the axis, rounds the product once and adds up as
 * any sum does; a dot product is that sum of one row.
 */
#include "harness/dot_jobs.h"
#include "harness/harness.h"
#include "harness/header_offers.h"
#include "harness/layouts.h"
#include "harness/random_numbers.h"
#include "reference/reference.h"

static const size_t sizes[] = {0, 1, 2, 3, 7, 31, 32, 33, 100, 255, 1023, 1024, 1025, 4097, 20001};
enum { SIZES = sizeof sizes / sizeof *sizes };

typedef struct shape {
    size_t outer, axis, inner;
} shape;

static const shape shapes[] = {{7, 0, 3},    {5, 1, 1},    {1, 1, 9},    {33, 2, 1},  {9, 32, 1},
                               {5, 33, 1},   {3, 1025, 1}, {1, 2, 70},   {1, 33, 5},  {2, 129, 3},
                               {1, 300, 33}, {130, 3, 2},  {40, 100, 1}, {1, 100, 40}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static const data_kind kinds[] = {DATA_WIDE, DATA_UNIFORM, DATA_SPECIALS, DATA_SUBNORMAL};
enum { KINDS = sizeof kinds / sizeof *kinds };

static image new_elements(wr_dtype dtype, data_kind kind, uint64_t seed, size_t count, size_t misalignment) {
    image made = image_new(count * reference_size(dtype), misalignment * reference_size(dtype));
    fill_random(dtype, kind, seed, made.payload, count);
    return made;
}

/* The weights' type as a caller gives it: zero where it is the elements'. */
static wr_dtype named(wr_dtype dtype, wr_dtype weights_dtype, size_t turn) {
    return weights_dtype == dtype && turn % 2 == 0 ? (wr_dtype)0 : weights_dtype;
}

static void check_sum(const wr_reduce_args *given, const image *input, const image *weights, const char *label) {
    wr_reduce_args args = *given;
    args.weights = weights->payload;
    check_weighted_reduce(&args, input, weights, 16, label);
    if (reference_is_float(args.dtype)) {
        args.accumulate_dtype = WR_F64;
        check_weighted_reduce(&args, input, weights, 0, label);
    }
}

static void check_shape(wr_dtype dtype, wr_dtype weights_dtype, data_kind kind, shape of) {
    size_t count = of.outer * of.axis * of.inner;
    image input = new_elements(dtype, kind, count + 1, count, of.axis % 3);
    image weights = new_elements(weights_dtype, kind, count + 2, of.axis, of.axis % 5);
    wr_reduce_args args = reduce_args(WR_SUM, dtype, of.outer, of.axis, of.inner);
    args.weights_dtype = named(dtype, weights_dtype, of.axis);
    args.input = input.payload;
    check_sum(&args, &input, &weights, data_kind_name(kind));
    image_free(&input);
    image_free(&weights);
}

static void check_outputs(wr_dtype dtype, wr_dtype weights_dtype) {
    enum { ROWS = 5, AXIS = 77 };
    image input = new_elements(dtype, DATA_UNIFORM, 5, (size_t)ROWS * AXIS, 1);
    image weights = new_elements(weights_dtype, DATA_UNIFORM, 6, AXIS, 0);
    type_list outputs = offered_weighted_outputs(dtype, weights_dtype);
    size_t i;
    for (i = 0; i < outputs.count; ++i) {
        wr_reduce_args args = reduce_args(WR_SUM, dtype, ROWS, AXIS, 1);
        args.weights_dtype = weights_dtype;
        args.output_dtype = outputs.types[i];
        args.input = input.payload;
        check_sum(&args, &input, &weights, "output type");
        if (reference_is_float(dtype) || !reference_is_float(outputs.types[i])) {
            args.add_to_output = 1;
            check_sum(&args, &input, &weights, "added to the output");
        }
    }
    image_free(&input);
    image_free(&weights);
}

static void check_layouts(wr_dtype dtype, wr_dtype weights_dtype, size_t axis) {
    enum { ROWS = 12 };
    image rows = new_elements(dtype, DATA_WIDE, axis, ROWS * axis, 0);
    image weights = new_elements(weights_dtype, DATA_WIDE, axis + 1, axis, 1);
    int which;
    for (which = 0; which < LAYOUTS; ++which) {
        layout as = layout_of(which, ROWS, axis);
        wr_reduce_args args = reduce_args(WR_SUM, dtype, as.outer, axis, as.inner);
        image input = lay_out(&as, dtype, rows.payload, axis, axis % 3, &args.input);
        args.weights_dtype = weights_dtype;
        args.outer_stride = as.outer_stride;
        args.axis_stride = as.axis_stride;
        args.inner_stride = as.inner_stride;
        SAY_STRIDES(&args);
        check_sum(&args, &input, &weights, as.name);
        image_free(&input);
    }
    image_free(&rows);
    image_free(&weights);
}

static void check_dots(wr_dtype dtype, wr_dtype right_dtype, data_kind kind, size_t count) {
    image left = new_elements(dtype, kind, count + 3, count, count % 4);
    image right = new_elements(right_dtype, kind, count + 4, count, count % 3);
    type_list outputs = offered_weighted_outputs(dtype, right_dtype);
    wr_dot_args args = dot_args(dtype, count);
    size_t i;
    args.left = left.payload;
    args.right = right.payload;
    args.right_dtype = named(dtype, right_dtype, count);
    check_dot(&args, &left, &right, 0, data_kind_name(kind));
    if (reference_is_float(dtype)) {
        args.accumulate_dtype = WR_F64;
        check_dot(&args, &left, &right, 0, data_kind_name(kind));
    }
    for (i = 0; i < outputs.count && count % 8 == 1; ++i) {
        args.output_dtype = outputs.types[i];
        args.add_to_output = reference_is_float(dtype) || !reference_is_float(outputs.types[i]);
        check_dot(&args, &left, &right, 16, "output type");
    }
    image_free(&left);
    image_free(&right);
}

/* Both sides may be the same memory: a sum of squares. */
static void check_dot_with_itself(wr_dtype dtype, size_t count) {
    image elements = new_elements(dtype, DATA_WIDE, count, count, 1);
    wr_dot_args args = dot_args(dtype, count);
    wr_reduce_args squares = reduce_args(WR_SUM_OF_SQUARES, dtype, 1, count, 1);
    args.left = args.right = elements.payload;
    check_dot(&args, &elements, &elements, 0, "with itself");
    squares.input = elements.payload;
    check_reduce(&squares, &elements, 0, "the same as a sum of squares");
    image_free(&elements);
}

/* Each product is rounded before it is added: (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24 where a fused one would keep it. */
static void check_products_are_rounded_once(void) {
    const float x = 1.0f + 0x1p-12f, lefts[] = {x, 1.0f}, rights[] = {x, -(1.0f + 0x1p-11f)};
    size_t i;
    for (i = 0; i < place_count(); ++i) {
        const place *where = place_at(i);
        float *left = place_allocate(where, sizeof lefts), *right = place_allocate(where, sizeof rights);
        float *output = place_allocate(where, sizeof(float)), got = 1.0f;
        wr_status status;
        place_write(where, left, lefts, sizeof lefts);
        place_write(where, right, rights, sizeof rights);
        status = wr_dot(WR_F32, left, right, output, 2, where->stream);
        place_read(where, output, &got, sizeof got);
        CHECK(status == WR_SUCCESS && got == 0.0f, "a fused product on %s: %a", where->name, (double)got);
        place_free(where, left);
        place_free(where, right);
        place_free(where, output);
    }
}

static void check_pair(wr_dtype dtype, wr_dtype weights_dtype) {
    size_t i;
    for (i = 0; i < SHAPES; ++i) {
        check_shape(dtype, weights_dtype, kinds[i % KINDS], shapes[i]);
        check_shape(dtype, weights_dtype, kinds[(i + 1) % KINDS], shapes[i]);
    }
    for (i = 0; i < SIZES; ++i) {
        shape whole = {1, 0, 1};
        whole.axis = sizes[i];
        check_shape(dtype, weights_dtype, kinds[0], whole);
        check_dots(dtype, weights_dtype, kinds[i % KINDS], sizes[i]);
        check_dots(dtype, weights_dtype, kinds[(i + 1) % KINDS], sizes[i]);
    }
    check_outputs(dtype, weights_dtype);
    check_layouts(dtype, weights_dtype, 5);
    check_layouts(dtype, weights_dtype, 133);
}

int main(int argc, char **argv) {
    int dtype;
    size_t i;
    places_open(argc, argv);
    check_products_are_rounded_once();
    for (dtype = WR_F32; dtype <= LAST_DTYPE; ++dtype) {
        type_list weights = offered_weights((wr_dtype)dtype);
        for (i = 0; i < weights.count; ++i) {
            check_pair((wr_dtype)dtype, weights.types[i]);
        }
        check_dot_with_itself((wr_dtype)dtype, 1000);
        check_dot_with_itself((wr_dtype)dtype, 33);
    }
    places_close();
    return check_report("weights_and_dots");
}
