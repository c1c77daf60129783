/*
 * Each way of calling a segmented reduction wrongly is refused with the status of its cause, and nothing is written.
 * Wrong offsets are segments_are_rows_of_their_own's.
 */
#include "harness/harness.h"
#include "harness/header_offers.h"
#include "harness/refusals.h"
#include "harness/segment_jobs.h"

#include <stdint.h>

/* A call that would succeed: sums of segments of 0, 3 and 5 f32. */
static wr_reduce_segments_args valid_args(void) {
    wr_reduce_segments_args args = segments_args(WR_SUM, WR_F32, 3);
    args.input = at(ARENA_INPUT);
    args.output = at(ARENA_OUTPUT);
    args.offsets = at(ARENA_EXTRA);
    return args;
}

/* Puts the offsets into the arena, as a part of what a refused call must leave alone. */
static void put_offsets(const int64_t *offsets, size_t count) {
    unsigned char *bytes = around.before + ARENA_EXTRA;
    const unsigned char *from = (const unsigned char *)offsets;
    size_t i;
    for (i = 0; i < count * sizeof *offsets; ++i) {
        bytes[i] = from[i];
    }
    arena_reset();
}

static wr_status run(const void *args) { return wr_reduce_segments_ex(args, around.where->stream); }
static wr_status query(const void *args, size_t *bytes) { return wr_reduce_segments_workspace_size(args, bytes); }
static const call_of_struct call = {run, query, sizeof(wr_reduce_segments_args)};

static void expect(wr_status expected, const wr_reduce_segments_args *args, const char *label) {
    expect_call_refused(&call, expected, args, label);
}

static void expect_from_query_too(wr_status expected, const wr_reduce_segments_args *args, const char *label) {
    expect_query_refused_too(&call, expected, args, label);
}

static void expect_short(wr_status expected, wr_op op, wr_dtype dtype, const void *input, void *output,
                         const void *offsets, size_t segments, const char *label) {
    wr_status status =
        wr_reduce_segments(op, dtype, input, output, (const int64_t *)offsets, segments, around.where->stream);
    expect_refusal(expected, status, label);
}

static void check_valid_call_succeeds(void) {
    wr_reduce_segments_args args = valid_args();
    size_t bytes = 12345;
    wr_status status = wr_reduce_segments_ex(&args, around.where->stream);
    float sums[3] = {1.0f, 0.0f, 0.0f};
    CHECK(status == WR_SUCCESS, "the call that the others are made from: %s", wr_status_name(status));
    place_read(around.where, args.output, sums, sizeof sums);
    CHECK(sums[0] == 0.0f && sums[1] != 0.0f && sums[2] != 0.0f, "its sums");
    CHECK(wr_reduce_segments_workspace_size(&args, &bytes) == WR_SUCCESS && bytes != 12345, "its workspace query");
    args.input = args.output = NULL;
    args.offsets = NULL;
    CHECK(wr_reduce_segments_workspace_size(&args, &bytes) == WR_SUCCESS, "a workspace query needs no pointer");
    arena_reset();
}

static void check_bad_dtype(int dtype) {
    wr_reduce_segments_args args = valid_args();
    args.dtype = (wr_dtype)dtype;
    expect_from_query_too(WR_ERROR_INVALID_DTYPE, &args, "dtype");
    expect_short(WR_ERROR_INVALID_DTYPE, WR_SUM, args.dtype, args.input, args.output, args.offsets, 3, "dtype, short");
    if (dtype == 0) {
        return;
    }
    args = valid_args();
    args.output_dtype = (wr_dtype)dtype;
    expect_from_query_too(WR_ERROR_INVALID_DTYPE, &args, "output_dtype");
    args = valid_args();
    args.accumulate_dtype = (wr_dtype)dtype;
    expect_from_query_too(WR_ERROR_INVALID_DTYPE, &args, "accumulate_dtype");
    args = valid_args();
    args.offsets_dtype = (wr_dtype)dtype;
    expect_from_query_too(WR_ERROR_INVALID_DTYPE, &args, "offsets_dtype");
}

static void check_enums(void) {
    static const int bad_ops[] = {0, 19, -1, WR_OP_FORCE_INT32}, bad_dtypes[] = {0, 21, -1, WR_DTYPE_FORCE_INT32};
    size_t i;
    for (i = 0; i < 4; ++i) {
        wr_reduce_segments_args args = valid_args();
        args.op = (wr_op)bad_ops[i];
        expect_from_query_too(WR_ERROR_INVALID_OP, &args, "op");
        expect_short(WR_ERROR_INVALID_OP, args.op, WR_F32, args.input, args.output, args.offsets, 3, "op, short");
        check_bad_dtype(bad_dtypes[i]);
    }
}

static void check_options(void) {
    wr_reduce_segments_args args = valid_args();
    args.nan_mode = (wr_nan_mode)2;
    expect_from_query_too(WR_ERROR_INVALID_OPTION, &args, "nan_mode");
    args = valid_args();
    args.add_to_output = 2;
    expect_from_query_too(WR_ERROR_INVALID_OPTION, &args, "add_to_output");
    args = valid_args();
    args.add_to_output = 1;
    args.op = WR_MEAN;
    expect_from_query_too(WR_ERROR_UNSUPPORTED, &args, "a mean is not added to");
    args = valid_args();
    args.accumulate_dtype = WR_F16;
    expect_from_query_too(WR_ERROR_UNSUPPORTED, &args, "f32 kept in f16");
    args = valid_args();
    args.values = at(ARENA_WORKSPACE);
    expect_from_query_too(WR_ERROR_UNSUPPORTED, &args, "values of a sum");
}

/* The operators and types are wr_reduce's, and the offsets i32 or i64. */
static void check_every_combination(void) {
    int op, dtype, output_dtype;
    for (op = WR_SUM; op <= LAST_OP; ++op) {
        for (dtype = WR_F32; dtype <= LAST_DTYPE; ++dtype) {
            for (output_dtype = WR_F32; output_dtype <= LAST_DTYPE; ++output_dtype) {
                wr_reduce_segments_args args = valid_args();
                size_t bytes = 0;
                args.op = (wr_op)op;
                args.dtype = (wr_dtype)dtype;
                args.output_dtype = (wr_dtype)output_dtype;
                if (!is_offered(args.op, args.dtype, args.output_dtype)) {
                    expect_from_query_too(WR_ERROR_UNSUPPORTED, &args, op_name(args.op));
                } else {
                    CHECK(wr_reduce_segments_workspace_size(&args, &bytes) == WR_SUCCESS, "%s of %s to %s",
                          op_name(args.op), dtype_name(args.dtype), dtype_name(args.output_dtype));
                }
            }
        }
    }
    for (dtype = WR_F32; dtype <= LAST_DTYPE; ++dtype) {
        wr_reduce_segments_args args = valid_args();
        args.offsets_dtype = (wr_dtype)dtype;
        if (dtype != WR_I32 && dtype != WR_I64) {
            expect_from_query_too(WR_ERROR_UNSUPPORTED, &args, "offsets_dtype");
        }
    }
}

static void check_null_pointers(void) {
    wr_reduce_segments_args args = valid_args();
    args.input = NULL;
    expect(WR_ERROR_NULL_POINTER, &args, "input is NULL");
    args = valid_args();
    args.output = NULL;
    expect(WR_ERROR_NULL_POINTER, &args, "output is NULL");
    args = valid_args();
    args.offsets = NULL;
    expect(WR_ERROR_NULL_POINTER, &args, "offsets is NULL");
    args = valid_args();
    expect_short(WR_ERROR_NULL_POINTER, WR_SUM, WR_F32, args.input, args.output, NULL, 3, "offsets is NULL, short");
    expect_short(WR_SUCCESS, WR_SUM, WR_F32, NULL, NULL, NULL, 0, "no segments");
}

/* The host device sees that there are no elements. */
static void check_null_input(void) {
    static const int64_t nothing[] = {7, 7, 7, 7};
    wr_reduce_segments_args args = valid_args();
    wr_status status;
    if (around.where->on_gpu) {
        return;
    }
    put_offsets(nothing, 4);
    args.input = NULL;
    status = wr_reduce_segments_ex(&args, around.where->stream);
    CHECK(status == WR_SUCCESS, "no elements, input NULL: %s", wr_status_name(status));
    arena_reset();
}

/* The host device sees that a segment's indices don't fit, before it reads an element. */
static void check_long_segments(void) {
    static const int64_t too_long[] = {0, 3, 3 + (INT64_C(1) << 31), 3 + (INT64_C(1) << 31)};
    wr_reduce_segments_args args = valid_args();
    if (around.where->on_gpu) {
        return;
    }
    put_offsets(too_long, 4);
    args.op = WR_ARGMAX;
    args.output_dtype = WR_I32;
    expect(WR_ERROR_UNSUPPORTED, &args, "i32 indices of 2^31 elements");
}

static void check_misaligned(void) {
    wr_reduce_segments_args args = valid_args();
    args.input = at(ARENA_INPUT + 2);
    expect(WR_ERROR_MISALIGNED, &args, "input");
    args = valid_args();
    args.output = at(ARENA_OUTPUT + 1);
    expect(WR_ERROR_MISALIGNED, &args, "output");
    args = valid_args();
    args.offsets = at(ARENA_EXTRA + 4);
    expect(WR_ERROR_MISALIGNED, &args, "i64 offsets");
    args = valid_args();
    args.offsets = at(ARENA_EXTRA + 2);
    args.offsets_dtype = WR_I32;
    expect(WR_ERROR_MISALIGNED, &args, "i32 offsets");
}

static void check_overlaps(void) {
    wr_reduce_segments_args args = valid_args();
    args.output = at(ARENA_EXTRA);
    expect(WR_ERROR_OVERLAP, &args, "the output is the offsets");
    args.output = at(ARENA_EXTRA + 28);
    expect(WR_ERROR_OVERLAP, &args, "the output begins on the last offset");
    args = valid_args();
    args.op = WR_ARGMAX;
    args.values = at(ARENA_OUTPUT + 16);
    expect(WR_ERROR_OVERLAP, &args, "the values begin on the last index");
    args.values = at(ARENA_EXTRA - 8);
    expect(WR_ERROR_OVERLAP, &args, "the values end on the first offset");
    if (!around.where->on_gpu) {
        args = valid_args();
        args.output = at(ARENA_INPUT + 28);
        expect(WR_ERROR_OVERLAP, &args, "the output begins on the input's last element");
    }
}

static void check_overflows(void) {
    wr_reduce_segments_args args = valid_args();
    args.segments = SIZE_MAX;
    expect_from_query_too(WR_ERROR_SIZE_OVERFLOW, &args, "the largest number of segments");
    args.segments = (size_t)1 << 61;
    expect_from_query_too(WR_ERROR_SIZE_OVERFLOW, &args, "2^64 bytes of offsets");
    args = valid_args();
    args.input_count = SIZE_MAX / 2;
    expect_from_query_too(WR_ERROR_SIZE_OVERFLOW, &args, "more than 2^63 bytes of input");
}

static void check_workspace(void) {
    wr_reduce_segments_args args = valid_args();
    size_t bytes = 0;
    args.input_count = 8;
    CHECK(wr_reduce_segments_workspace_size(&args, &bytes) == WR_SUCCESS, "query");
    args.workspace = at(ARENA_WORKSPACE + 8);
    args.workspace_bytes = bytes + 64;
    expect(WR_ERROR_MISALIGNED, &args, "a workspace aligned to 8 bytes");
    if (bytes > 0) {
        args.workspace = at(ARENA_WORKSPACE);
        args.workspace_bytes = bytes - 1;
        expect(WR_ERROR_WORKSPACE_TOO_SMALL, &args, "a byte too few");
        args.workspace = at(ARENA_EXTRA);
        args.workspace_bytes = bytes;
        expect(WR_ERROR_OVERLAP, &args, "the workspace begins at the offsets");
        args.workspace = args.output;
        expect(WR_ERROR_OVERLAP, &args, "the workspace begins at the output");
    }
}

static void check_all(void) {
    const wr_reduce_segments_args valid = valid_args();
    static const int64_t offsets[] = {0, 0, 3, 8};
    put_offsets(offsets, 4);
    check_valid_call_succeeds();
    check_struct_sizes(&call, &valid);
    check_enums();
    check_options();
    check_every_combination();
    check_null_pointers();
    check_misaligned();
    check_overlaps();
    check_overflows();
    check_workspace();
    check_null_input();
    check_long_segments();
}

int main(int argc, char **argv) {
    return try_refusals(argc, argv, check_all, "every_bad_segments_argument_has_its_code");
}
