/* Arguments next to the line between what the header allows and what it refuses. */
#include "harness/dot_jobs.h"
#include "harness/harness.h"
#include "harness/refusals.h"
#include "harness/segment_jobs.h"
#include "harness/softmax_jobs.h"

#include <stdint.h>

static struct CUstream_st *stream(void) { return around.where->stream; }

/* ---- "input_gradient may be output, input or output_gradient itself, where that is contiguous and has elements of its
 * size" */

static wr_softmax_backward_args gradient_args(wr_dtype dtype) {
    wr_softmax_backward_args args = backward_args(dtype, 3, 4, 2);
    args.output = at(ARENA_INPUT);
    args.output_gradient = at(ARENA_OUTPUT);
    args.input_gradient = at(ARENA_EXTRA);
    return args;
}

static void check_strided_in_place(ptrdiff_t outer, ptrdiff_t axis, ptrdiff_t inner, wr_status expected,
                                   const char *label) {
    wr_softmax_backward_args args = gradient_args(WR_F32);
    args.outer_stride = outer;
    args.axis_stride = axis;
    args.inner_stride = inner;
    say_strides_of_both(&args);
    args.input_gradient = at(ARENA_INPUT);
    expect_refusal(expected, wr_softmax_backward_ex(&args, stream()), label);
    args.input = args.output;
    args.output = NULL;
    args.logsumexp = at(ARENA_WORKSPACE);
    expect_refusal(expected, wr_softmax_backward_ex(&args, stream()), label);
    args = gradient_args(WR_F32);
    args.gradient_outer_stride = outer;
    args.gradient_axis_stride = axis;
    args.gradient_inner_stride = inner;
    say_strides_of_both(&args);
    args.input_gradient = at(ARENA_OUTPUT);
    expect_refusal(expected, wr_softmax_backward_ex(&args, stream()), label);
}

static void check_gradients_in_place(void) {
    wr_softmax_backward_args args;
    check_strided_in_place(8, 1, 4, WR_ERROR_OVERLAP, "in place of columns of a transposed array");
    check_strided_in_place(16, 4, 2, WR_ERROR_OVERLAP, "in place of an array with gaps");
    check_strided_in_place(9, 2, 1, WR_ERROR_OVERLAP, "in place of rows with gaps");
    args = gradient_args(WR_BF16);
    args.input_gradient_dtype = WR_F32;
    args.input_gradient = at(ARENA_INPUT);
    expect_refusal(WR_ERROR_OVERLAP, wr_softmax_backward_ex(&args, stream()), "in place of smaller elements");
    args = gradient_args(WR_F32);
    args.input_gradient_dtype = WR_F16;
    args.input_gradient = at(ARENA_OUTPUT);
    expect_refusal(WR_ERROR_OVERLAP, wr_softmax_backward_ex(&args, stream()), "in place of larger elements");
}

/* ---- what is written overlaps nothing that is read */

/* Arrays of a call on rows of 4 f32: 3 of them, or ragged ones. */
enum { READ_MASK, READ_LENGTHS, READ_OFFSETS, READ_ARRAYS };

static const void *if_asked(int which, int asked, size_t offset) { return which == asked ? at(offset) : NULL; }

static void check_reading_where_softmax_writes(int read, size_t written) {
    wr_softmax_args args = softmax_args(WR_F32, 3, read == READ_OFFSETS ? 12 : 4, 1);
    args.input = at(ARENA_INPUT);
    args.output = at(ARENA_OUTPUT);
    args.logsumexp = at(ARENA_EXTRA);
    args.maximum = at(ARENA_EXTRA + 256);
    args.mask = if_asked(read, READ_MASK, written);
    args.lengths = if_asked(read, READ_LENGTHS, written);
    args.offsets = if_asked(read, READ_OFFSETS, written);
    expect_refusal(WR_ERROR_OVERLAP, wr_softmax_ex(&args, stream()), "softmax writes what it reads");
}

static void check_reading_where_a_gradient_is_written(int read) {
    wr_softmax_backward_args args = backward_args(WR_F32, 3, read == READ_OFFSETS ? 12 : 4, 1);
    args.output = at(ARENA_INPUT);
    args.output_gradient = at(ARENA_OUTPUT);
    args.input_gradient = at(ARENA_EXTRA);
    args.mask = if_asked(read, READ_MASK, ARENA_EXTRA + 40);
    args.lengths = if_asked(read, READ_LENGTHS, ARENA_EXTRA + 40);
    args.offsets = if_asked(read, READ_OFFSETS, ARENA_EXTRA + 40);
    expect_refusal(WR_ERROR_OVERLAP, wr_softmax_backward_ex(&args, stream()), "a gradient on what is read");
}

static void check_overlaps(void) {
    static const size_t written[] = {ARENA_OUTPUT, ARENA_OUTPUT + 40, ARENA_EXTRA + 8, ARENA_EXTRA + 264};
    wr_softmax_backward_args args = gradient_args(WR_F32);
    int read;
    size_t i;
    for (read = 0; read < READ_ARRAYS; ++read) {
        for (i = 0; i < 4; ++i) {
            check_reading_where_softmax_writes(read, written[i]);
        }
        check_reading_where_a_gradient_is_written(read);
    }
    args.input = args.output;
    args.output = NULL;
    args.logsumexp = at(ARENA_EXTRA + 4);
    expect_refusal(WR_ERROR_OVERLAP, wr_softmax_backward_ex(&args, stream()), "a gradient on logsumexp");
}

/* ---- "16-byte aligned", of whatever size */

typedef wr_status call_with_workspace(void *workspace, size_t bytes);

static wr_status reduce_with(void *workspace, size_t bytes) {
    wr_reduce_args args = reduce_args(WR_SUM, WR_F32, 3, 4, 1);
    args.input = at(ARENA_INPUT);
    args.output = at(ARENA_OUTPUT);
    args.workspace = workspace;
    args.workspace_bytes = bytes;
    return wr_reduce_ex(&args, stream());
}

static wr_status segments_with(void *workspace, size_t bytes) {
    static const int64_t offsets[4] = {0, 0, 0, 0};
    wr_reduce_segments_args args = segments_args(WR_SUM, WR_F32, 3);
    args.input = at(ARENA_INPUT);
    args.output = at(ARENA_OUTPUT);
    args.offsets = offsets;
    args.workspace = workspace;
    args.workspace_bytes = bytes;
    return wr_reduce_segments_ex(&args, stream());
}

static wr_status dot_with(void *workspace, size_t bytes) {
    wr_dot_args args = dot_args(WR_F32, 12);
    args.left = args.right = at(ARENA_INPUT);
    args.output = at(ARENA_OUTPUT);
    args.workspace = workspace;
    args.workspace_bytes = bytes;
    return wr_dot_ex(&args, stream());
}

static wr_status softmax_with(void *workspace, size_t bytes) {
    wr_softmax_args args = softmax_args(WR_F32, 3, 4, 1);
    args.input = at(ARENA_INPUT);
    args.output = at(ARENA_OUTPUT);
    args.workspace = workspace;
    args.workspace_bytes = bytes;
    return wr_softmax_ex(&args, stream());
}

static wr_status backward_with(void *workspace, size_t bytes) {
    wr_softmax_backward_args args = gradient_args(WR_F32);
    args.workspace = workspace;
    args.workspace_bytes = bytes;
    return wr_softmax_backward_ex(&args, stream());
}

static void check_workspaces(void) {
    static call_with_workspace *const calls[] = {reduce_with, dot_with, softmax_with, backward_with};
    static const size_t offsets[] = {1, 4, 8, 12};
    size_t c, i;
    for (c = 0; c < sizeof calls / sizeof *calls; ++c) {
        for (i = 0; i < 4; ++i) {
            expect_refusal(WR_ERROR_MISALIGNED, calls[c](at(ARENA_WORKSPACE + offsets[i]), 0),
                           "a workspace of no bytes off 16 bytes");
            expect_refusal(WR_ERROR_MISALIGNED, calls[c](at(ARENA_WORKSPACE + offsets[i]), 1024),
                           "a workspace off 16 bytes");
        }
    }
    if (!around.where->on_gpu) {
        expect_refusal(WR_ERROR_MISALIGNED, segments_with(at(ARENA_WORKSPACE + 8), 0), "segments' workspace");
    }
}

/* ---- "more than 2^63 - 1 bytes", counted for each array in its own elements */

static void expect_query(wr_status expected, wr_op op, wr_dtype dtype, size_t outer, size_t axis, const char *label) {
    wr_reduce_args args = reduce_args(op, dtype, outer, axis, 1);
    const size_t untouched = 12345;
    size_t bytes = untouched;
    const wr_status got = wr_reduce_workspace_size(&args, &bytes);
    CHECK(got == expected && (got == WR_SUCCESS) == (bytes != untouched), "%s: %s, %zu bytes", label,
          wr_status_name(got), bytes);
}

static void expect_allowed(wr_status got, const char *label) {
    CHECK(got == WR_SUCCESS, "%s: %s", label, wr_status_name(got));
    arena_reset();
}

/* Values beside indices are of the input's type, and larger than these. */
static void check_size_of_values(void) {
    static double values;
    wr_reduce_args args = reduce_args(WR_ARGMAX, WR_F64, (size_t)1 << 60, 0, 1);
    size_t bytes = 0;
    args.output_dtype = WR_I32;
    CHECK(wr_reduce_workspace_size(&args, &bytes) == WR_SUCCESS, "2^62 bytes of indices");
    args.values = &values;
    CHECK(wr_reduce_workspace_size(&args, &bytes) == WR_ERROR_SIZE_OVERFLOW, "2^63 bytes of values");
}

/* "offsets beyond it are refused on the host device" */
static void check_input_counts(void) {
    static const int64_t offsets[3] = {0, 2, 5};
    wr_reduce_segments_args args = segments_args(WR_SUM, WR_F32, 2);
    args.input = at(ARENA_INPUT);
    args.output = at(ARENA_OUTPUT);
    args.offsets = offsets;
    if (around.where->on_gpu) {
        return;
    }
    args.input_count = 4;
    expect_refusal(WR_ERROR_INVALID_OFFSETS, wr_reduce_segments_ex(&args, stream()), "one element beyond the input");
    args.input_count = 1;
    expect_refusal(WR_ERROR_INVALID_OFFSETS, wr_reduce_segments_ex(&args, stream()), "elements beyond the input");
    args.input_count = 5;
    expect_allowed(wr_reduce_segments_ex(&args, stream()), "all of the input");
}

static void check_sizes(void) {
    const size_t two_to_60 = (size_t)1 << 60;
    expect_query(WR_SUCCESS, WR_ANY, WR_F64, 2 * two_to_60, 0, "2^61 bytes of output, no input");
    expect_query(WR_SUCCESS, WR_ANY, WR_F64, 8 * two_to_60 - 1, 0, "2^63 - 1 bytes of output, no input");
    expect_query(WR_ERROR_SIZE_OVERFLOW, WR_ANY, WR_F64, 8 * two_to_60, 0, "2^63 bytes of output, no input");
    expect_query(WR_SUCCESS, WR_SUM, WR_F64, two_to_60 - 1, 0, "2^63 - 8 bytes of output");
    expect_query(WR_ERROR_SIZE_OVERFLOW, WR_SUM, WR_F64, two_to_60, 0, "2^63 bytes of output of f64");
    expect_query(WR_ERROR_SIZE_OVERFLOW, WR_ANY, WR_F64, two_to_60, 1, "2^63 bytes of input");
    expect_query(WR_SUCCESS, WR_ANY, WR_F64, two_to_60 - 1, 1, "2^63 - 8 bytes of input");
    expect_query(WR_SUCCESS, WR_MAX, WR_U8, 1, 8 * two_to_60 - 1, "2^63 - 1 bytes of input");
    expect_query(WR_ERROR_SIZE_OVERFLOW, WR_MAX, WR_U8, 2, 4 * two_to_60, "2^63 bytes of input");
    expect_query(WR_ERROR_SIZE_OVERFLOW, WR_ARGMAX, WR_U8, two_to_60, 1, "2^63 bytes of indices");
    expect_query(WR_SUCCESS, WR_ARGMAX, WR_U8, two_to_60 - 1, 1, "2^63 - 8 bytes of indices");
}

static void try_all(void) {
    check_size_of_values();
    check_input_counts();
    check_gradients_in_place();
    check_overlaps();
    check_workspaces();
    check_sizes();
}

int main(int argc, char **argv) {
    return try_refusals(argc, argv, try_all, "arguments_at_the_limits_of_what_is_allowed");
}
