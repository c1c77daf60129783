/* Each way of calling a dot product wrongly is refused with the status of its cause, and nothing is written. */
#include "harness/dot_jobs.h"
#include "harness/harness.h"
#include "harness/header_offers.h"
#include "harness/refusals.h"

#include <stdint.h>

/* A call that would succeed: of 12 f32. */
static wr_dot_args valid_args(void) {
    wr_dot_args args = dot_args(WR_F32, 12);
    args.left = at(ARENA_INPUT);
    args.right = at(ARENA_EXTRA);
    args.output = at(ARENA_OUTPUT);
    return args;
}

static wr_status run(const void *args) { return wr_dot_ex(args, around.where->stream); }
static wr_status query(const void *args, size_t *bytes) { return wr_dot_workspace_size(args, bytes); }
static const call_of_struct call = {run, query, sizeof(wr_dot_args)};

static void expect_from_query_too(wr_status expected, const wr_dot_args *args, const char *label) {
    expect_query_refused_too(&call, expected, args, label);
}

static void expect_short(wr_status expected, wr_dtype dtype, const void *left, const void *right, void *output,
                         size_t count, const char *label) {
    expect_refusal(expected, wr_dot(dtype, left, right, output, count, around.where->stream), label);
}

static void check_valid_call_succeeds(void) {
    wr_dot_args args = valid_args();
    size_t bytes = 12345;
    wr_status status = wr_dot_ex(&args, around.where->stream);
    CHECK(status == WR_SUCCESS, "the call that the others are made from: %s", wr_status_name(status));
    args.right = args.left;
    status = wr_dot_ex(&args, around.where->stream);
    CHECK(status == WR_SUCCESS, "left and right are the same memory: %s", wr_status_name(status));
    args.right = (const float *)args.left + 5;
    status = wr_dot_ex(&args, around.where->stream);
    CHECK(status == WR_SUCCESS, "left and right overlap: %s", wr_status_name(status));
    args.left = args.right = args.output = NULL;
    CHECK(wr_dot_workspace_size(&args, &bytes) == WR_SUCCESS && bytes != 12345, "a workspace query needs no pointer");
    arena_reset();
}

static void check_bad_dtype(int dtype) {
    wr_dot_args args = valid_args();
    args.dtype = (wr_dtype)dtype;
    expect_from_query_too(WR_ERROR_INVALID_DTYPE, &args, "dtype");
    expect_short(WR_ERROR_INVALID_DTYPE, args.dtype, args.left, args.right, args.output, 12, "dtype, short call");
    if (dtype == 0) {
        return;
    }
    args = valid_args();
    args.right_dtype = (wr_dtype)dtype;
    expect_from_query_too(WR_ERROR_INVALID_DTYPE, &args, "right_dtype");
    args = valid_args();
    args.output_dtype = (wr_dtype)dtype;
    expect_from_query_too(WR_ERROR_INVALID_DTYPE, &args, "output_dtype");
    args = valid_args();
    args.accumulate_dtype = (wr_dtype)dtype;
    expect_from_query_too(WR_ERROR_INVALID_DTYPE, &args, "accumulate_dtype");
}

static int contains(const type_list *list, wr_dtype dtype) {
    size_t i;
    for (i = 0; i < list->count; ++i) {
        if (list->types[i] == dtype) {
            return 1;
        }
    }
    return 0;
}

static void check_combination(int dtype, int right, int output) {
    type_list rights = offered_weights((wr_dtype)dtype), outputs;
    wr_dot_args args = valid_args();
    size_t bytes = 0;
    args.dtype = (wr_dtype)dtype;
    args.right_dtype = (wr_dtype)right;
    args.output_dtype = (wr_dtype)output;
    outputs = offered_weighted_outputs(args.dtype, args.right_dtype);
    if (contains(&rights, args.right_dtype) && contains(&outputs, args.output_dtype)) {
        CHECK(wr_dot_workspace_size(&args, &bytes) == WR_SUCCESS, "%s with %s to %s", dtype_name(args.dtype),
              dtype_name(args.right_dtype), dtype_name(args.output_dtype));
    } else {
        expect_from_query_too(WR_ERROR_UNSUPPORTED, &args, dtype_name(args.dtype));
    }
}

static void check_every_combination(void) {
    int dtype, right, output;
    for (dtype = WR_F32; dtype <= LAST_DTYPE; ++dtype) {
        for (right = WR_F32; right <= LAST_DTYPE; ++right) {
            check_combination(dtype, right, dtype);
        }
        for (output = WR_F32; output <= LAST_DTYPE; ++output) {
            check_combination(dtype, dtype, output);
        }
    }
}

static void check_options(void) {
    wr_dot_args args = valid_args();
    args.add_to_output = 2;
    expect_from_query_too(WR_ERROR_INVALID_OPTION, &args, "add_to_output");
    args = valid_args();
    args.accumulate_dtype = WR_I32;
    expect_from_query_too(WR_ERROR_UNSUPPORTED, &args, "f32 kept in i32");
    args = valid_args();
    args.dtype = WR_F64;
    args.accumulate_dtype = WR_F32;
    expect_from_query_too(WR_ERROR_UNSUPPORTED, &args, "f64 kept in f32");
    args = valid_args();
    args.dtype = WR_I32;
    args.accumulate_dtype = WR_F64;
    expect_from_query_too(WR_ERROR_UNSUPPORTED, &args, "integers kept in f64");
}

static void check_pointers(void) {
    wr_dot_args args = valid_args();
    expect_short(WR_ERROR_NULL_POINTER, WR_F32, NULL, args.right, args.output, 12, "left is NULL");
    expect_short(WR_ERROR_NULL_POINTER, WR_F32, args.left, NULL, args.output, 12, "right is NULL");
    expect_short(WR_ERROR_NULL_POINTER, WR_F32, args.left, args.right, NULL, 12, "output is NULL");
    expect_short(WR_ERROR_NULL_POINTER, WR_F32, NULL, NULL, NULL, 0, "output is NULL, nothing has a sum too");
    expect_short(WR_ERROR_MISALIGNED, WR_F32, at(ARENA_INPUT + 2), args.right, args.output, 12, "left");
    expect_short(WR_ERROR_MISALIGNED, WR_F32, args.left, at(ARENA_EXTRA + 1), args.output, 12, "right");
    expect_short(WR_ERROR_MISALIGNED, WR_F32, args.left, args.right, at(ARENA_OUTPUT + 2), 12, "output");
    expect_short(WR_ERROR_MISALIGNED, WR_GOLDILOCKS, at(ARENA_INPUT + 4), args.right, args.output, 12, "left");
    expect_short(WR_ERROR_OVERLAP, WR_F32, args.left, args.right, at(ARENA_INPUT + 44), 12, "output in left");
    expect_short(WR_ERROR_OVERLAP, WR_F32, args.left, args.right, at(ARENA_EXTRA), 12, "output in right");
    expect_short(WR_ERROR_OVERLAP, WR_F32, args.left, args.right, at(ARENA_EXTRA), 1, "output is right, one element");
    expect_short(WR_ERROR_OVERLAP, WR_F32, args.left, args.right, at(ARENA_INPUT), 1, "output is left, one element");
    expect_short(WR_ERROR_SIZE_OVERFLOW, WR_F32, args.left, args.right, args.output, SIZE_MAX, "the largest count");
    expect_short(WR_ERROR_SIZE_OVERFLOW, WR_F64, args.left, args.right, args.output, (size_t)1 << 60, "2^63 bytes");
}

/* Nothing has the sum 0, and needs no inputs. */
static void check_no_elements(void) {
    float sum = 1.0f;
    wr_status status = wr_dot(WR_F32, NULL, NULL, at(ARENA_OUTPUT), 0, around.where->stream);
    CHECK(status == WR_SUCCESS, "no elements: %s", wr_status_name(status));
    place_read(around.where, at(ARENA_OUTPUT), &sum, sizeof sum);
    CHECK(sum == 0.0f, "the dot product of nothing: %a", (double)sum);
    arena_reset();
}

static void check_all(void) {
    const wr_dot_args valid = valid_args();
    static const int bad_dtypes[] = {0, 21, -1, WR_DTYPE_FORCE_INT32};
    size_t i;
    check_valid_call_succeeds();
    check_struct_sizes(&call, &valid);
    for (i = 0; i < 4; ++i) {
        check_bad_dtype(bad_dtypes[i]);
    }
    check_every_combination();
    check_options();
    check_pointers();
    check_no_elements();
}

int main(int argc, char **argv) { return try_refusals(argc, argv, check_all, "every_bad_dot_argument_has_its_code"); }
