/* Each way of calling a reduction wrongly is refused with the status of its cause, and nothing is written. */
#include "harness/harness.h"
#include "harness/header_offers.h"
#include "harness/jobs.h"
#include "harness/refusals.h"
#include "reference/reference.h"

#include <stdint.h>
#include <stdio.h>

/* A call that would succeed: the sum of 3 rows of 4 f32. */
static wr_reduce_args valid_args(void) {
    wr_reduce_args args = reduce_args(WR_SUM, WR_F32, 3, 4, 1);
    args.input = at(ARENA_INPUT);
    args.output = at(ARENA_OUTPUT);
    return args;
}

static wr_status run(const void *args) { return wr_reduce_ex(args, around.where->stream); }
static wr_status query(const void *args, size_t *bytes) { return wr_reduce_workspace_size(args, bytes); }
static const call_of_struct call = {run, query, sizeof(wr_reduce_args)};

static void expect(wr_status expected, const wr_reduce_args *args, const char *label) {
    expect_call_refused(&call, expected, args, label);
}

static void expect_from_query_too(wr_status expected, const wr_reduce_args *args, const char *label) {
    expect_query_refused_too(&call, expected, args, label);
}

static void expect_allowed(const wr_reduce_args *args, const char *label) { expect_call_allowed(&call, args, label); }

static void expect_short(wr_status expected, wr_op op, wr_dtype dtype, const void *input, void *output, size_t outer,
                         size_t axis, size_t inner, const char *label) {
    wr_status status = wr_reduce(op, dtype, input, output, outer, axis, inner, around.where->stream);
    expect_refusal(expected, status, label);
}

static void check_valid_call_succeeds(void) {
    wr_reduce_args args = valid_args();
    size_t bytes = 12345;
    wr_status status = wr_reduce_ex(&args, around.where->stream);
    CHECK(status == WR_SUCCESS, "the call that the others are made from: %s", wr_status_name(status));
    CHECK(wr_reduce_workspace_size(&args, &bytes) == WR_SUCCESS && bytes != 12345, "its workspace query");
    args.input = args.output = at(1);
    CHECK(wr_reduce_workspace_size(&args, &bytes) == WR_SUCCESS, "a workspace query follows no pointer");
    args.input = args.output = NULL;
    CHECK(wr_reduce_workspace_size(&args, &bytes) == WR_SUCCESS, "a workspace query needs no pointer");
    arena_reset();
}

static void check_enums(void) {
    static const int bad_ops[] = {0, 19, 999, -1, WR_OP_FORCE_INT32};
    static const int bad_dtypes[] = {21, 999, -1, WR_DTYPE_FORCE_INT32};
    size_t i;
    wr_reduce_args args;
    for (i = 0; i < sizeof bad_ops / sizeof *bad_ops; ++i) {
        args = valid_args();
        args.op = (wr_op)bad_ops[i];
        expect_from_query_too(WR_ERROR_INVALID_OP, &args, "op");
        expect_short(WR_ERROR_INVALID_OP, args.op, WR_F32, args.input, args.output, 3, 4, 1, "op, short call");
    }
    args = valid_args();
    args.dtype = (wr_dtype)0;
    expect_from_query_too(WR_ERROR_INVALID_DTYPE, &args, "dtype 0");
    expect_short(WR_ERROR_INVALID_DTYPE, WR_SUM, (wr_dtype)0, args.input, args.output, 3, 4, 1, "dtype 0, short call");
    for (i = 0; i < sizeof bad_dtypes / sizeof *bad_dtypes; ++i) {
        args = valid_args();
        args.dtype = (wr_dtype)bad_dtypes[i];
        expect_from_query_too(WR_ERROR_INVALID_DTYPE, &args, "dtype");
        expect_short(WR_ERROR_INVALID_DTYPE, WR_SUM, args.dtype, args.input, args.output, 3, 4, 1, "dtype, short call");
        args = valid_args();
        args.output_dtype = (wr_dtype)bad_dtypes[i];
        expect_from_query_too(WR_ERROR_INVALID_DTYPE, &args, "output_dtype");
        args = valid_args();
        args.accumulate_dtype = (wr_dtype)bad_dtypes[i];
        expect_from_query_too(WR_ERROR_INVALID_DTYPE, &args, "accumulate_dtype");
    }
}

static void check_options(void) {
    static const int bad_modes[] = {2, 77, -1, WR_NAN_MODE_FORCE_INT32};
    static const int32_t bad_flags[] = {2, -1, INT32_MAX, INT32_MIN};
    size_t i;
    wr_reduce_args args;
    for (i = 0; i < 4; ++i) {
        args = valid_args();
        args.nan_mode = (wr_nan_mode)bad_modes[i];
        expect_from_query_too(WR_ERROR_INVALID_OPTION, &args, "nan_mode");
        args = valid_args();
        args.add_to_output = bad_flags[i];
        expect_from_query_too(WR_ERROR_INVALID_OPTION, &args, "add_to_output");
    }
}

/* Every operator that add_to_output means nothing for, over every type that it takes. */
static void check_add_to_output(void) {
    int op, dtype;
    for (op = WR_SUM; op <= LAST_OP; ++op) {
        for (dtype = WR_F32; dtype <= LAST_DTYPE; ++dtype) {
            type_list outputs = offered_outputs((wr_op)op, (wr_dtype)dtype);
            wr_reduce_args args = valid_args();
            size_t bytes = 0;
            if (outputs.count == 0) {
                continue;
            }
            args.op = (wr_op)op;
            args.dtype = (wr_dtype)dtype;
            args.output_dtype = outputs.types[0];
            args.add_to_output = 1;
            if (takes_add_to_output(args.op)) {
                CHECK(wr_reduce_workspace_size(&args, &bytes) == WR_SUCCESS, "%s of %s adds to its output",
                      op_name(args.op), dtype_name(args.dtype));
            } else {
                expect_from_query_too(WR_ERROR_UNSUPPORTED, &args, "add_to_output");
            }
        }
    }
}

static wr_reduce_args weighted_args(wr_dtype dtype, wr_dtype weights_dtype) {
    wr_reduce_args args = reduce_args(WR_SUM, dtype, 3, 4, 1);
    args.input = at(ARENA_INPUT);
    args.weights = at(ARENA_EXTRA);
    args.weights_dtype = weights_dtype;
    args.output = at(ARENA_OUTPUT);
    return args;
}

static int are_offered_together(wr_dtype dtype, wr_dtype weights_dtype) {
    type_list weights = offered_weights(dtype);
    size_t i;
    for (i = 0; i < weights.count; ++i) {
        if (weights.types[i] == weights_dtype) {
            return 1;
        }
    }
    return 0;
}

static void check_weights_dtypes(void) {
    static const int bad_dtypes[] = {21, 999, -1, WR_DTYPE_FORCE_INT32};
    int dtype, weights_dtype;
    size_t i;
    for (dtype = WR_F32; dtype <= LAST_DTYPE; ++dtype) {
        for (weights_dtype = WR_F32; weights_dtype <= LAST_DTYPE; ++weights_dtype) {
            wr_reduce_args args = weighted_args((wr_dtype)dtype, (wr_dtype)weights_dtype);
            size_t bytes = 0;
            if (are_offered_together(args.dtype, args.weights_dtype)) {
                CHECK(wr_reduce_workspace_size(&args, &bytes) == WR_SUCCESS, "%s with weights of %s",
                      dtype_name(args.dtype), dtype_name(args.weights_dtype));
            } else {
                expect_from_query_too(WR_ERROR_UNSUPPORTED, &args, "weights of another type");
            }
        }
    }
    for (i = 0; i < sizeof bad_dtypes / sizeof *bad_dtypes; ++i) {
        wr_reduce_args args = weighted_args(WR_F32, (wr_dtype)bad_dtypes[i]);
        expect_from_query_too(WR_ERROR_INVALID_DTYPE, &args, "weights_dtype");
    }
}

static void check_weights(void) {
    int op;
    wr_reduce_args args;
    wr_status status;
    for (op = WR_PRODUCT; op <= LAST_OP; ++op) {
        args = weighted_args(WR_I32, (wr_dtype)0);
        args.op = (wr_op)op;
        args.output_dtype = op == WR_MEAN || op == WR_NORM_L2 ? WR_F32 : (wr_dtype)0;
        expect_from_query_too(WR_ERROR_UNSUPPORTED, &args, "weights with another operator than the sum");
    }
    args = weighted_args(WR_F32, (wr_dtype)0);
    args.nan_mode = WR_NAN_IGNORE;
    expect_from_query_too(WR_ERROR_UNSUPPORTED, &args, "weights where NaNs are ignored");
    args = valid_args();
    args.op = WR_LOGSUMEXP;
    args.nan_mode = WR_NAN_IGNORE;
    expect_from_query_too(WR_ERROR_UNSUPPORTED, &args, "a logsumexp that ignores NaNs");
    args = weighted_args(WR_F32, WR_F32);
    args.weights = NULL;
    status = wr_reduce_ex(&args, around.where->stream);
    expect_refusal(WR_ERROR_NULL_POINTER, status, "weights_dtype without weights");
    args = weighted_args(WR_KOALABEAR, WR_KOALABEAR_X4);
    args.output_dtype = WR_KOALABEAR;
    expect_from_query_too(WR_ERROR_UNSUPPORTED, &args, "an extension's sum in the base field");
    args = weighted_args(WR_F64, (wr_dtype)0);
    args.weights = at(ARENA_EXTRA + 4);
    expect(WR_ERROR_MISALIGNED, &args, "weights");
    args = weighted_args(WR_KOALABEAR_X4, (wr_dtype)0);
    args.weights = at(ARENA_EXTRA + 2);
    expect(WR_ERROR_MISALIGNED, &args, "weights of an extension, half a word on");
    args = weighted_args(WR_F32, (wr_dtype)0);
    args.weights = at(ARENA_OUTPUT);
    expect(WR_ERROR_OVERLAP, &args, "the weights are the output");
    args.weights = at(ARENA_OUTPUT - 12);
    expect(WR_ERROR_OVERLAP, &args, "the output begins on the last weight");
    args.weights = at(ARENA_OUTPUT + 8);
    expect(WR_ERROR_OVERLAP, &args, "the weights begin on the last output");
}

static wr_reduce_args args_with_values(void) {
    wr_reduce_args args = valid_args();
    args.op = WR_ARGMAX;
    args.values = at(ARENA_EXTRA);
    return args;
}

static void check_values(void) {
    int op;
    wr_reduce_args args;
    for (op = WR_SUM; op <= LAST_OP; ++op) {
        if (op != WR_ARGMIN && op != WR_ARGMAX) {
            args = args_with_values();
            args.op = (wr_op)op;
            args.dtype = WR_I32;
            args.output_dtype = op == WR_MEAN || op == WR_NORM_L2 ? WR_F32 : (wr_dtype)0;
            expect_from_query_too(WR_ERROR_UNSUPPORTED, &args, "values of another operator");
        }
    }
    args = args_with_values();
    args.values = at(ARENA_EXTRA + 2);
    expect(WR_ERROR_MISALIGNED, &args, "values");
    args = args_with_values();
    args.values = at(ARENA_INPUT + 44);
    expect(WR_ERROR_OVERLAP, &args, "the values begin on the last element");
    args.values = at(ARENA_OUTPUT + 16);
    expect(WR_ERROR_OVERLAP, &args, "the values begin on the last index");
    args.values = at(ARENA_INPUT);
    expect(WR_ERROR_OVERLAP, &args, "the values are the input");
}

/* An index beyond 2^31 - 1 does not fit; the job is refused before any memory is looked at. */
static void check_indices(void) {
    wr_reduce_args args = args_with_values();
    size_t bytes;
    args.output_dtype = WR_I32;
    args.dtype = WR_I8;
    args.outer = 1;
    args.axis = (size_t)1 << 31;
    expect_from_query_too(WR_ERROR_UNSUPPORTED, &args, "i32 indices of 2^31 elements");
    args.axis = (size_t)1 << 40;
    expect_from_query_too(WR_ERROR_UNSUPPORTED, &args, "i32 indices of 2^40 elements");
    args.axis = ((size_t)1 << 31) - 1;
    CHECK(wr_reduce_workspace_size(&args, &bytes) == WR_SUCCESS, "i32 indices of 2^31 - 1 elements");
}

static void check_combination(wr_op op, int dtype, int output_dtype, int accumulate_dtype, const char *label) {
    wr_reduce_args args = reduce_args(op, (wr_dtype)dtype, 3, 4, 1);
    args.input = at(ARENA_INPUT);
    args.output = at(ARENA_OUTPUT);
    args.output_dtype = (wr_dtype)output_dtype;
    args.accumulate_dtype = (wr_dtype)accumulate_dtype;
    expect_from_query_too(WR_ERROR_UNSUPPORTED, &args, label);
    if (output_dtype == 0 && accumulate_dtype == 0) {
        expect_short(WR_ERROR_UNSUPPORTED, op, (wr_dtype)dtype, args.input, args.output, 3, 4, 1, label);
    }
}

/* The header's table from end to end: what it does not list is refused. */
static void check_every_combination(void) {
    int op, dtype, output_dtype;
    for (op = WR_SUM; op <= LAST_OP; ++op) {
        for (dtype = WR_F32; dtype <= LAST_DTYPE; ++dtype) {
            if (!has_default_output((wr_op)op, (wr_dtype)dtype)) {
                check_combination((wr_op)op, dtype, 0, 0, op_name((wr_op)op));
            }
            for (output_dtype = WR_F32; output_dtype <= LAST_DTYPE; ++output_dtype) {
                wr_reduce_args args = reduce_args((wr_op)op, (wr_dtype)dtype, 3, 4, 1);
                size_t bytes = 0;
                args.output_dtype = (wr_dtype)output_dtype;
                if (!is_offered((wr_op)op, (wr_dtype)dtype, (wr_dtype)output_dtype)) {
                    check_combination((wr_op)op, dtype, output_dtype, 0, op_name((wr_op)op));
                } else {
                    CHECK(wr_reduce_workspace_size(&args, &bytes) == WR_SUCCESS, "%s of %s to %s", op_name(args.op),
                          dtype_name(args.dtype), dtype_name(args.output_dtype));
                }
            }
        }
    }
}

static void check_unsupported_accumulation(void) {
    check_combination(WR_SUM, WR_F64, 0, WR_F32, "f64 kept in f32");
    check_combination(WR_SUM, WR_F32, 0, WR_F16, "f32 kept in f16");
    check_combination(WR_MEAN, WR_BF16, 0, WR_BF16, "bf16 kept in bf16");
    check_combination(WR_SUM, WR_F32, 0, WR_I64, "f32 kept in i64");
    check_combination(WR_SUM, WR_I32, 0, WR_F64, "integers kept in f64");
    check_combination(WR_SUM, WR_I32, 0, WR_I64, "accumulate_dtype of an integer sum");
    check_combination(WR_SUM, WR_KOALABEAR, 0, WR_F64, "field words kept in f64");
    check_combination(WR_MIN, WR_F32, 0, WR_F32, "accumulate_dtype of an extreme");
    check_combination(WR_MAX, WR_F32, 0, WR_F64, "accumulate_dtype of an extreme");
    check_combination(WR_ARGMIN, WR_F32, 0, WR_F32, "accumulate_dtype of an index");
    check_combination(WR_COUNT_NONZERO, WR_F32, 0, WR_F32, "accumulate_dtype of a count");
    check_combination(WR_NORM_L2, WR_I32, WR_F32, WR_F64, "accumulate_dtype of a norm of integers");
}

static void check_null_pointers(void) {
    wr_reduce_args args = valid_args();
    args.input = NULL;
    expect(WR_ERROR_NULL_POINTER, &args, "input is NULL");
    expect_short(WR_ERROR_NULL_POINTER, WR_SUM, WR_F32, NULL, at(ARENA_OUTPUT), 3, 4, 1, "input is NULL, short call");
    args = valid_args();
    args.output = NULL;
    expect(WR_ERROR_NULL_POINTER, &args, "output is NULL");
    expect_short(WR_ERROR_NULL_POINTER, WR_SUM, WR_F32, at(ARENA_INPUT), NULL, 3, 4, 1, "output is NULL, short call");
    expect_short(WR_ERROR_NULL_POINTER, WR_SUM, WR_F32, at(ARENA_INPUT), NULL, 3, 0, 1,
                 "output is NULL, an empty axis has outputs");
}

static void check_null_pointers_to_nothing(void) {
    wr_status status = wr_reduce(WR_SUM, WR_F32, NULL, at(ARENA_OUTPUT), 3, 0, 1, around.where->stream);
    float sums[3] = {1.0f, 1.0f, 1.0f};
    CHECK(status == WR_SUCCESS, "no input, input NULL: %s", wr_status_name(status));
    place_read(around.where, at(ARENA_OUTPUT), sums, sizeof sums);
    CHECK(sums[0] == 0.0f && sums[1] == 0.0f && sums[2] == 0.0f, "sums of nothing");
    arena_reset();
    expect_short(WR_SUCCESS, WR_SUM, WR_F32, NULL, NULL, 0, 4, 1, "no rows, nothing is written");
    expect_short(WR_SUCCESS, WR_SUM, WR_F32, NULL, NULL, 3, 4, 0, "no columns, nothing is written");
    expect_short(WR_SUCCESS, WR_MIN, WR_F64, at(ARENA_INPUT), at(ARENA_OUTPUT), 0, 0, 0, "nothing at all");
}

static void check_size(size_t outer, size_t axis, size_t inner, wr_dtype dtype, const char *label) {
    wr_reduce_args args = reduce_args(WR_SUM, dtype, outer, axis, inner);
    args.input = at(ARENA_INPUT);
    args.output = at(ARENA_OUTPUT);
    expect_from_query_too(WR_ERROR_SIZE_OVERFLOW, &args, label);
    expect_short(WR_ERROR_SIZE_OVERFLOW, WR_SUM, dtype, args.input, args.output, outer, axis, inner, label);
}

static void check_strides(ptrdiff_t outer, ptrdiff_t axis, ptrdiff_t inner, const char *label) {
    wr_reduce_args args = reduce_args(WR_SUM, WR_F32, 2, 3, 2);
    args.input = at(ARENA_INPUT);
    args.output = at(ARENA_OUTPUT);
    args.strides_given = 1;
    args.outer_stride = outer;
    args.axis_stride = axis;
    args.inner_stride = inner;
    expect_from_query_too(WR_ERROR_SIZE_OVERFLOW, &args, label);
}

static void check_strides_flag(void) {
    wr_reduce_args args = valid_args();
    args.strides_given = 2;
    expect_from_query_too(WR_ERROR_INVALID_OPTION, &args, "strides_given is 2");
    args = valid_args();
    args.outer_stride = 1;
    expect_from_query_too(WR_ERROR_INVALID_OPTION, &args, "an outer stride that is not given");
    args = valid_args();
    args.axis_stride = -1;
    expect_from_query_too(WR_ERROR_INVALID_OPTION, &args, "an axis stride that is not given");
    args = valid_args();
    args.inner_stride = 1;
    expect_from_query_too(WR_ERROR_INVALID_OPTION, &args, "an inner stride that is not given");
}

static void check_overflows(void) {
    const size_t two_to_40 = (size_t)1 << 40, two_to_61 = (size_t)1 << 61;
    const ptrdiff_t two_to_60 = (ptrdiff_t)1 << 60;
    check_size(two_to_40, two_to_40, 1, WR_F32, "a product beyond 64 bits");
    check_size(1, two_to_40, two_to_40, WR_BF16, "a product beyond 64 bits");
    check_size(two_to_40, 1, two_to_40, WR_I64, "a product beyond 64 bits");
    check_size((size_t)1 << 32, (size_t)1 << 32, 1, WR_F32, "a product of exactly 2^64");
    check_size((size_t)1 << 32, 16, (size_t)1 << 32, WR_F16, "three factors");
    check_size(1, SIZE_MAX, 1, WR_F32, "the largest size");
    check_size(SIZE_MAX, 1, 1, WR_F64, "the largest size");
    check_size(1, two_to_61, 1, WR_F32, "2^63 bytes of f32");
    check_size(1, two_to_61 / 2, 1, WR_F64, "2^63 bytes of f64");
    check_size(1, two_to_61 * 2, 1, WR_F16, "2^63 bytes of f16");
    check_size(two_to_61, 0, 1, WR_F32, "2^63 bytes of output");
    check_strides(PTRDIFF_MAX, 0, 0, "the largest outer stride");
    check_strides(PTRDIFF_MIN, 0, 0, "the smallest outer stride");
    check_strides(0, PTRDIFF_MAX, 0, "the largest axis stride");
    check_strides(0, PTRDIFF_MIN, 0, "the smallest axis stride");
    check_strides(0, 0, PTRDIFF_MIN, "the smallest inner stride");
    check_strides(0, two_to_60, 0, "2^63 bytes by an axis stride");
    check_strides(two_to_60, two_to_60 / 2, 0, "2^63 bytes by two strides");
    check_strides(two_to_60, -two_to_60 / 2, 0, "2^63 bytes by strides up and down");
}

static void check_misaligned(void) {
    wr_reduce_args args = valid_args();
    size_t i;
    static const struct {
        wr_dtype dtype;
        size_t offset;
    } wrong[] = {{WR_F32, 1},        {WR_F32, 2},          {WR_F64, 4},         {WR_F64, 1},
                 {WR_F16, 1},        {WR_BF16, 1},         {WR_I32, 2},         {WR_I64, 4},
                 {WR_KOALABEAR, 2},  {WR_I16, 1},          {WR_U16, 1},         {WR_U64, 4},
                 {WR_GOLDILOCKS, 4}, {WR_KOALABEAR_X4, 2}, {WR_BABYBEAR_X4, 1}, {WR_MERSENNE31, 3}};
    for (i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        args = valid_args();
        args.dtype = wrong[i].dtype;
        args.input = at(ARENA_INPUT + wrong[i].offset);
        expect(WR_ERROR_MISALIGNED, &args, "input");
        expect_short(WR_ERROR_MISALIGNED, WR_SUM, args.dtype, args.input, args.output, 3, 4, 1, "input, short call");
        args = valid_args();
        args.dtype = wrong[i].dtype;
        args.output = at(ARENA_OUTPUT + wrong[i].offset);
        expect(WR_ERROR_MISALIGNED, &args, "output");
    }
    args = valid_args();
    args.output_dtype = WR_F64;
    args.output = at(ARENA_OUTPUT + 4);
    expect(WR_ERROR_MISALIGNED, &args, "an output wider than the input");
}

static wr_reduce_args overlapping(wr_dtype dtype, size_t outer, size_t axis, size_t input, size_t output) {
    wr_reduce_args args = reduce_args(WR_SUM, dtype, outer, axis, 1);
    args.input = at(input);
    args.output = at(output);
    return args;
}

static void check_overlaps(void) {
    wr_reduce_args args = overlapping(WR_F32, 16, 4, 1024, 1024);
    expect(WR_ERROR_OVERLAP, &args, "output is the input, axis 4");
    args = overlapping(WR_F32, 16, 4, 1024, 1024 + 100);
    expect(WR_ERROR_OVERLAP, &args, "output inside the input");
    args = overlapping(WR_F32, 16, 4, 1024, 1024 + 252);
    expect(WR_ERROR_OVERLAP, &args, "output on the input's last element");
    args = overlapping(WR_F32, 16, 4, 1024, 1024 - 60);
    expect(WR_ERROR_OVERLAP, &args, "output's last element on the input's first");
    args = overlapping(WR_F32, 1, 4, 1024, 1024 + 8);
    expect(WR_ERROR_OVERLAP, &args, "one output inside the input");
    args = overlapping(WR_F32, 16, 1, 1024, 1024 + 4);
    expect(WR_ERROR_OVERLAP, &args, "axis 1, moved up by one element");
    args = overlapping(WR_F32, 16, 1, 1024, 1024 - 4);
    expect(WR_ERROR_OVERLAP, &args, "axis 1, moved down by one element");
    args = overlapping(WR_F32, 16, 1, 1024, 1024);
    args.output_dtype = WR_F64;
    expect(WR_ERROR_OVERLAP, &args, "axis 1, in place, wider outputs");
    args.output_dtype = WR_BF16;
    expect(WR_ERROR_OVERLAP, &args, "axis 1, in place, narrower outputs");
    args = overlapping(WR_F32, 16, 1, 1024, 1024);
    args.outer_stride = 2;
    SAY_STRIDES(&args);
    expect(WR_ERROR_OVERLAP, &args, "axis 1, in place, every second element");
    args = overlapping(WR_F32, 16, 1, 1024, 1024);
    args.outer_stride = -1;
    SAY_STRIDES(&args);
    expect(WR_ERROR_OVERLAP, &args, "axis 1, in place, backwards");
    args = overlapping(WR_F32, 16, 1, 1024, 1024);
    args.strides_given = 1;
    expect(WR_ERROR_OVERLAP, &args, "axis 1, in place, one element for all");
    args = overlapping(WR_F32, 8, 4, 1024, 1024 - 112);
    args.outer_stride = -4;
    SAY_STRIDES(&args);
    expect(WR_ERROR_OVERLAP, &args, "output below the pointer, where the rows run backwards");
    expect_short(WR_ERROR_OVERLAP, WR_SUM, WR_F32, at(1024), at(1024), 16, 4, 1, "output is the input, short call");
}

static void check_neighbours_are_allowed(void) {
    wr_reduce_args args = overlapping(WR_F32, 16, 4, 1024, 1024 + 256);
    expect_allowed(&args, "output right behind the input");
    args = overlapping(WR_F32, 16, 4, 1024, 1024 - 64);
    expect_allowed(&args, "output right before the input");
    args = overlapping(WR_F32, 16, 1, 1024, 1024);
    expect_allowed(&args, "axis 1, in place");
    args.output_dtype = WR_F32;
    args.outer_stride = 1;
    args.axis_stride = 1;
    args.inner_stride = 1;
    args.strides_given = 1;
    expect_allowed(&args, "axis 1, in place, contiguous strides written out");
    args = overlapping(WR_F16, 16, 1, 1024, 1024);
    args.output_dtype = WR_BF16;
    expect_allowed(&args, "axis 1, in place, another type of the same size");
}

/*
 * The smallest job found for which a workspace is wanted at all. It is far larger than the arena; each call with it
 * is to be refused before any memory is looked at, and its other pointers only have to be apart.
 */
static int args_that_want_workspace(wr_reduce_args *args, size_t *bytes) {
    const uintptr_t apart = (uintptr_t)1 << 40;
    size_t axis;
    for (axis = 4096; axis <= (size_t)1 << 34; axis *= 4) {
        *args = reduce_args(WR_SUM, WR_F32, 1, axis, 1);
        CHECK(wr_reduce_workspace_size(args, bytes) == WR_SUCCESS, "query, axis %zu", axis);
        if (*bytes > 0) {
            args->input = at(ARENA_INPUT);
            args->output = (void *)((uintptr_t)args->input + apart);
            args->workspace = (void *)((uintptr_t)args->input + 2 * apart);
            args->workspace_bytes = *bytes;
            return 1;
        }
    }
    return 0;
}

static void check_workspace(void) {
    wr_reduce_args args, wrong;
    size_t bytes;
    if (!args_that_want_workspace(&args, &bytes)) {
        printf("no sum wants a workspace: there is none to refuse\n");
        return;
    }
    wrong = args;
    wrong.workspace_bytes = bytes - 1;
    expect(WR_ERROR_WORKSPACE_TOO_SMALL, &wrong, "a byte too few");
    wrong.workspace_bytes = 0;
    expect(WR_ERROR_WORKSPACE_TOO_SMALL, &wrong, "a workspace of no bytes");
    wrong = args;
    wrong.workspace = (void *)((uintptr_t)args.workspace + 8);
    wrong.workspace_bytes = bytes + 16;
    expect(WR_ERROR_MISALIGNED, &wrong, "a workspace aligned to 8 bytes");
    wrong = args;
    wrong.workspace = (void *)(uintptr_t)args.input;
    expect(WR_ERROR_OVERLAP, &wrong, "the workspace is the input");
    wrong.workspace = args.output;
    expect(WR_ERROR_OVERLAP, &wrong, "the workspace begins at the output");
}

static void check_all(void) {
    const wr_reduce_args valid = valid_args();
    check_valid_call_succeeds();
    check_struct_sizes(&call, &valid);
    check_enums();
    check_options();
    check_strides_flag();
    check_add_to_output();
    check_weights_dtypes();
    check_weights();
    check_values();
    check_indices();
    check_every_combination();
    check_unsupported_accumulation();
    check_null_pointers();
    check_null_pointers_to_nothing();
    check_overflows();
    check_misaligned();
    check_overlaps();
    check_neighbours_are_allowed();
    check_workspace();
}

int main(int argc, char **argv) {
    return try_refusals(argc, argv, check_all, "every_bad_reduce_argument_has_its_code");
}
