/*
 * Every operator gives what its definition says over every element type that it takes, into every output type, in every
 * layout; argmin and argmax give the elements too.
 */
#include "harness/harness.h"
#include "harness/header_offers.h"
#include "harness/jobs.h"
#include "harness/layouts.h"
#include "harness/random_numbers.h"
#include "reference/reference.h"

static const size_t sizes[] = {0, 1, 2, 3, 5, 31, 32, 33, 64, 100, 129, 1023, 1024, 1025, 4097};
enum { SIZES = sizeof sizes / sizeof *sizes };

typedef struct shape {
    size_t outer, axis, inner;
} shape;

static const shape shapes[] = {{7, 0, 3},  {5, 1, 1},  {1, 1, 9},   {33, 2, 1},   {9, 32, 1}, {5, 33, 1}, {3, 1025, 1},
                               {1, 2, 70}, {1, 33, 5}, {2, 129, 3}, {1, 300, 33}, {2, 7, 65}, {130, 3, 2}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* The kinds of data under which the operator has something to get wrong. */
typedef struct kind_list {
    data_kind kinds[4];
    size_t count;
} kind_list;

static kind_list telling_kinds(wr_op op) {
    static const kind_list sums = {{DATA_WIDE, DATA_CANCELLING, DATA_SPECIALS, DATA_ANY_FINITE}, 4},
                           products = {{DATA_NEAR_ONE, DATA_FEW_VALUES, DATA_SPECIALS, DATA_SUBNORMAL}, 4},
                           extremes = {{DATA_FEW_VALUES, DATA_ANY_FINITE, DATA_WITH_NANS, DATA_SPECIALS}, 4},
                           counts = {{DATA_MOSTLY_ZERO, DATA_FEW_ZEROS, DATA_WITH_NANS, DATA_SUBNORMAL}, 4},
                           bits = {{DATA_UNIFORM, DATA_FEW_VALUES, DATA_MOSTLY_ZERO, DATA_FEW_ZEROS}, 4};
    switch ((int)op) {
    case WR_PRODUCT:
        return products;
    case WR_MIN:
    case WR_MAX:
    case WR_ARGMIN:
    case WR_ARGMAX:
    case WR_NORM_MAX:
        return extremes;
    case WR_ANY:
    case WR_ALL:
    case WR_COUNT_NONZERO:
        return counts;
    case WR_BIT_AND:
    case WR_BIT_OR:
    case WR_BIT_XOR:
        return bits;
    default:
        return sums;
    }
}

static int gives_index(wr_op op) { return op == WR_ARGMIN || op == WR_ARGMAX; }

/* Any non-NULL pointer asks check_reduce for the values. */
static unsigned char wanted;

/* Into `output_dtype` (0: the default), and once more with the values where there are any. */
static void check_output_type(wr_reduce_args args, wr_dtype output_dtype, const image *input, const char *label) {
    size_t misalignment = args.axis % 5 * 8;
    args.output_dtype = output_dtype;
    check_reduce(&args, input, misalignment, label);
    if (gives_index(args.op)) {
        args.values = &wanted;
        check_reduce(&args, input, misalignment, label);
    }
}

static void check_all_output_types(const wr_reduce_args *args, const image *input, const char *label) {
    type_list outputs = offered_outputs(args->op, args->dtype);
    size_t i;
    for (i = 0; i < outputs.count; ++i) {
        check_output_type(*args, outputs.types[i], input, label);
    }
}

static wr_dtype some_output(wr_op op, wr_dtype dtype) { return has_default_output(op, dtype) ? (wr_dtype)0 : WR_F64; }

static image new_input(wr_dtype dtype, data_kind kind, size_t count, size_t misalignment) {
    image input = image_new(count * reference_size(dtype), misalignment * reference_size(dtype));
    fill_random(dtype, kind, count + (uint64_t)kind * 3, input.payload, count);
    return input;
}

static void check_whole_array(wr_op op, wr_dtype dtype, data_kind kind, size_t size) {
    image input = new_input(dtype, kind, size, size % 7);
    wr_reduce_args args = reduce_args(op, dtype, 1, size, 1);
    args.input = input.payload;
    check_output_type(args, some_output(op, dtype), &input, data_kind_name(kind));
    if (size <= 1 || size == 33 || size == 1025) {
        check_all_output_types(&args, &input, data_kind_name(kind));
    }
    if (takes_accumulate_dtype(op, dtype)) {
        args.accumulate_dtype = WR_F64;
        check_output_type(args, size % 2 == 0 ? (wr_dtype)0 : WR_F64, &input, data_kind_name(kind));
        args.accumulate_dtype = dtype == WR_F64 ? WR_F64 : WR_F32;
        check_output_type(args, (wr_dtype)0, &input, data_kind_name(kind));
    }
    image_free(&input);
}

static void check_shape(wr_op op, wr_dtype dtype, data_kind kind, shape of) {
    image input = new_input(dtype, kind, of.outer * of.axis * of.inner, of.axis % 3);
    wr_reduce_args args = reduce_args(op, dtype, of.outer, of.axis, of.inner);
    args.input = input.payload;
    check_output_type(args, some_output(op, dtype), &input, data_kind_name(kind));
    if (of.axis == 33 || of.axis == 7) {
        check_all_output_types(&args, &input, data_kind_name(kind));
    }
    image_free(&input);
}

static void check_layouts(wr_op op, wr_dtype dtype, data_kind kind, size_t axis) {
    enum { ROWS = 12 };
    image rows = new_input(dtype, kind, ROWS * axis, 0);
    int which;
    for (which = 0; which < LAYOUTS; ++which) {
        layout as = layout_of(which, ROWS, axis);
        wr_reduce_args args = reduce_args(op, dtype, as.outer, axis, as.inner);
        image input = lay_out(&as, dtype, rows.payload, axis, axis % 3, &args.input);
        args.outer_stride = as.outer_stride;
        args.axis_stride = as.axis_stride;
        args.inner_stride = as.inner_stride;
        SAY_STRIDES(&args);
        check_output_type(args, some_output(op, dtype), &input, as.name);
        image_free(&input);
    }
    image_free(&rows);
}

static void check_operator(wr_op op, wr_dtype dtype) {
    kind_list kinds = telling_kinds(op);
    size_t i;
    for (i = 0; i < SIZES * kinds.count; ++i) {
        check_whole_array(op, dtype, kinds.kinds[i / SIZES], sizes[i % SIZES]);
    }
    for (i = 0; i < SHAPES; ++i) {
        check_shape(op, dtype, kinds.kinds[i % kinds.count], shapes[i]);
        check_shape(op, dtype, kinds.kinds[(i + 1) % kinds.count], shapes[i]);
    }
    check_layouts(op, dtype, kinds.kinds[0], 5);
    check_layouts(op, dtype, kinds.kinds[1], 67);
    check_layouts(op, dtype, kinds.kinds[2], 261);
}

int main(int argc, char **argv) {
    int op, dtype;
    places_open(argc, argv);
    for (op = WR_SUM; op <= LAST_REDUCTION; ++op) {
        for (dtype = WR_F32; dtype <= LAST_DTYPE; ++dtype) {
            if (offered_outputs((wr_op)op, (wr_dtype)dtype).count > 0) {
                check_operator((wr_op)op, (wr_dtype)dtype);
            }
        }
    }
    places_close();
    return check_report("every_operator_on_every_type");
}
