/* Each way of calling softmax wrongly is refused with the status of its cause, and nothing is written. */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/refusals.h"
#include "reference/reference.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

static wr_softmax_args args_at(wr_dtype dtype, size_t outer, size_t axis, size_t inner, size_t input, size_t output) {
    wr_softmax_args args = softmax_args(dtype, outer, axis, inner);
    args.input = at(input);
    args.output = at(output);
    return args;
}

/* A call that would succeed: 3 rows of 4 f32, with their logsumexp. */
static wr_softmax_args valid_args(void) {
    wr_softmax_args args = args_at(WR_F32, 3, 4, 1, ARENA_INPUT, ARENA_OUTPUT);
    args.logsumexp = at(ARENA_EXTRA);
    return args;
}

static wr_status run(const void *args) { return wr_softmax_ex(args, around.where->stream); }
static wr_status query(const void *args, size_t *bytes) { return wr_softmax_workspace_size(args, bytes); }
static const call_of_struct call = {run, query, sizeof(wr_softmax_args)};

static void expect(wr_status expected, const wr_softmax_args *args, const char *label) {
    expect_call_refused(&call, expected, args, label);
}

static void expect_from_query_too(wr_status expected, const wr_softmax_args *args, const char *label) {
    expect_query_refused_too(&call, expected, args, label);
}

static void expect_allowed(const wr_softmax_args *args, const char *label) { expect_call_allowed(&call, args, label); }

/* Both short calls. */
static void expect_short(wr_status expected, wr_dtype dtype, const void *input, void *output, size_t outer, size_t axis,
                         size_t inner, const char *label) {
    struct CUstream_st *stream = around.where->stream;
    expect_refusal(expected, wr_softmax(dtype, input, output, outer, axis, inner, stream), label);
    expect_refusal(expected, wr_log_softmax(dtype, input, output, outer, axis, inner, stream), label);
}

static void check_valid_call_succeeds(void) {
    wr_softmax_args args = valid_args();
    size_t bytes = 12345;
    expect_allowed(&args, "the call that the others are made from");
    CHECK(wr_softmax_workspace_size(&args, &bytes) == WR_SUCCESS && bytes != 12345, "its workspace query");
    args.input = args.output = args.logsumexp = at(1);
    CHECK(wr_softmax_workspace_size(&args, &bytes) == WR_SUCCESS, "a workspace query follows no pointer");
}

static void check_types(void) {
    static const int bad[] = {21, 999, -1, WR_DTYPE_FORCE_INT32};
    static const wr_dtype unsupported[] = {WR_I8,         WR_I16,        WR_I32,          WR_I64,        WR_U8,
                                           WR_U16,        WR_U32,        WR_U64,          WR_KOALABEAR,  WR_BABYBEAR,
                                           WR_MERSENNE31, WR_GOLDILOCKS, WR_KOALABEAR_X4, WR_BABYBEAR_X4};
    size_t i;
    wr_softmax_args args = valid_args();
    args.dtype = (wr_dtype)0;
    expect_from_query_too(WR_ERROR_INVALID_DTYPE, &args, "dtype 0");
    expect_short(WR_ERROR_INVALID_DTYPE, (wr_dtype)0, args.input, args.output, 3, 4, 1, "dtype 0, short call");
    for (i = 0; i < sizeof bad / sizeof *bad; ++i) {
        args = valid_args();
        args.dtype = (wr_dtype)bad[i];
        expect_from_query_too(WR_ERROR_INVALID_DTYPE, &args, "dtype");
        expect_short(WR_ERROR_INVALID_DTYPE, args.dtype, args.input, args.output, 3, 4, 1, "dtype, short call");
        args = valid_args();
        args.output_dtype = (wr_dtype)bad[i];
        expect_from_query_too(WR_ERROR_INVALID_DTYPE, &args, "output_dtype");
    }
    for (i = 0; i < sizeof unsupported / sizeof *unsupported; ++i) {
        args = args_at(unsupported[i], 3, 4, 1, ARENA_INPUT, ARENA_OUTPUT);
        expect_from_query_too(WR_ERROR_UNSUPPORTED, &args, "an element type that has no softmax");
        expect_short(WR_ERROR_UNSUPPORTED, unsupported[i], args.input, args.output, 3, 4, 1, "short call, no softmax");
        args = valid_args();
        args.output_dtype = unsupported[i];
        expect_from_query_too(WR_ERROR_UNSUPPORTED, &args, "an output that is no float");
    }
}

static void check_options(void) {
    static const int flags[] = {2, -1, 1000000};
    static const double scales[] = {(double)INFINITY, -(double)INFINITY, (double)NAN};
    wr_softmax_args args;
    size_t i;
    for (i = 0; i < 3; ++i) {
        args = valid_args();
        args.log = flags[i];
        expect_from_query_too(WR_ERROR_INVALID_OPTION, &args, "log");
        args = valid_args();
        args.empty_row = (wr_empty_row)flags[i];
        expect_from_query_too(WR_ERROR_INVALID_OPTION, &args, "empty_row");
        args = valid_args();
        args.scale = scales[i];
        expect_from_query_too(WR_ERROR_INVALID_OPTION, &args, "scale");
    }
}

static void check_selections(void) {
    static const int flags[] = {2, -1, 1000000};
    wr_softmax_args args;
    size_t i;
    for (i = 0; i < 3; ++i) {
        args = valid_args();
        args.causal = flags[i];
        expect_from_query_too(WR_ERROR_INVALID_OPTION, &args, "causal");
    }
    args = valid_args();
    args.causal_first = 1;
    expect_from_query_too(WR_ERROR_INVALID_OPTION, &args, "causal_first without causal");
    args = valid_args();
    args.causal_rows = 3;
    expect_from_query_too(WR_ERROR_INVALID_OPTION, &args, "causal_rows without causal");
    args = valid_args();
    args.mask = at(ARENA_OUTPUT + 47);
    expect(WR_ERROR_OVERLAP, &args, "the mask begins on the output's last byte");
    args.mask = at(ARENA_EXTRA - 11);
    expect(WR_ERROR_OVERLAP, &args, "the mask ends on logsumexp");
    args = valid_args();
    args.lengths = at(ARENA_WORKSPACE + 4);
    expect(WR_ERROR_MISALIGNED, &args, "lengths");
    args.lengths = at(ARENA_OUTPUT + 40);
    expect(WR_ERROR_OVERLAP, &args, "lengths on the output");
    args = valid_args();
    args.maximum = at(ARENA_EXTRA);
    expect(WR_ERROR_OVERLAP, &args, "maximum is logsumexp");
    args.maximum = at(ARENA_WORKSPACE + 2);
    expect(WR_ERROR_MISALIGNED, &args, "maximum");
}

static wr_softmax_args ragged_args(void) {
    wr_softmax_args args = args_at(WR_F32, 2, 12, 1, ARENA_INPUT, ARENA_OUTPUT);
    args.offsets = at(ARENA_WORKSPACE);
    return args;
}

static void expect_offsets(wr_status expected, wr_softmax_args args, int64_t first, int64_t second, int64_t third,
                           const char *label) {
    int64_t offsets[3];
    offsets[0] = first;
    offsets[1] = second;
    offsets[2] = third;
    if (around.where->on_gpu) {
        return; /* a GPU's offsets are not looked at before the job runs */
    }
    args.offsets = offsets;
    expect(expected, &args, label);
}

static void check_ragged_rows(void) {
    wr_softmax_args args = ragged_args();
    args.inner = 2;
    expect_from_query_too(WR_ERROR_UNSUPPORTED, &args, "ragged columns");
    args = ragged_args();
    args.strides_given = 1;
    args.axis_stride = 1;
    expect_from_query_too(WR_ERROR_UNSUPPORTED, &args, "ragged rows with strides");
    args = ragged_args();
    args.causal = 1;
    expect_from_query_too(WR_ERROR_UNSUPPORTED, &args, "ragged rows with a causal limit");
    args = ragged_args();
    args.outer = SIZE_MAX;
    expect_from_query_too(WR_ERROR_SIZE_OVERFLOW, &args, "more offsets than there can be");
    args = ragged_args();
    args.offsets = at(ARENA_WORKSPACE + 4);
    expect(WR_ERROR_MISALIGNED, &args, "offsets");
    args.offsets = at(ARENA_OUTPUT + 24);
    expect(WR_ERROR_OVERLAP, &args, "offsets on the output");
    expect_offsets(WR_ERROR_INVALID_OFFSETS, args, -1, 4, 12, "a negative offset");
    expect_offsets(WR_ERROR_INVALID_OFFSETS, args, 0, 13, 12, "an offset below the one before it");
    expect_offsets(WR_ERROR_INVALID_OFFSETS, args, 0, 4, 13, "an offset beyond the elements");
}

static void check_ragged_rows_of_nothing(void) {
    wr_softmax_args args = ragged_args();
    args.axis = 0;
    args.logsumexp = at(ARENA_EXTRA);
    expect_offsets(WR_ERROR_INVALID_OFFSETS, args, -5, 0, 0, "a negative offset, no elements");
    expect_offsets(WR_ERROR_INVALID_OFFSETS, args, 0, 0, -1, "an offset below the one before it, no elements");
    expect_offsets(WR_ERROR_INVALID_OFFSETS, args, 0, 2, 5, "an offset beyond no elements");
    args.logsumexp = NULL;
    args.maximum = at(ARENA_EXTRA);
    expect_offsets(WR_ERROR_INVALID_OFFSETS, args, 0, 0, 1, "an offset beyond no elements, maxima");
    args.offsets = at(ARENA_WORKSPACE + 4);
    expect(WR_ERROR_MISALIGNED, &args, "offsets, no elements");
    args.offsets = at(ARENA_EXTRA);
    expect(WR_ERROR_OVERLAP, &args, "maxima on the offsets, no elements");
}

static void check_right_offsets_are_allowed(void) {
    static const int64_t zeros[3] = {0, 0, 0};
    wr_softmax_args args = ragged_args();
    if (around.where->on_gpu) {
        return; /* these offsets are no memory of a GPU */
    }
    args.axis = 0;
    args.logsumexp = at(ARENA_EXTRA);
    args.offsets = zeros;
    expect_allowed(&args, "rows of nothing");
    args.logsumexp = NULL;
    args.offsets = at(ARENA_WORKSPACE + 4);
    expect_allowed(&args, "rows of nothing, nothing is written");
}

static void check_null_pointers(void) {
    wr_softmax_args args = valid_args();
    args.input = NULL;
    expect(WR_ERROR_NULL_POINTER, &args, "input is NULL");
    expect_short(WR_ERROR_NULL_POINTER, WR_F32, NULL, at(ARENA_OUTPUT), 3, 4, 1, "input is NULL, short call");
    args = valid_args();
    args.output = NULL;
    expect(WR_ERROR_NULL_POINTER, &args, "output is NULL");
    expect_short(WR_ERROR_NULL_POINTER, WR_F32, at(ARENA_INPUT), NULL, 3, 4, 1, "output is NULL, short call");
    expect_short(WR_SUCCESS, WR_F32, NULL, NULL, 0, 4, 1, "no rows, nothing is written");
    expect_short(WR_SUCCESS, WR_F64, NULL, NULL, 3, 0, 1, "rows of nothing, nothing is written");
    expect_short(WR_SUCCESS, WR_BF16, at(ARENA_INPUT), at(ARENA_OUTPUT), 3, 4, 0, "no columns, nothing is written");
}

static void check_size(size_t outer, size_t axis, size_t inner, wr_dtype dtype, const char *label) {
    wr_softmax_args args = args_at(dtype, outer, axis, inner, ARENA_INPUT, ARENA_OUTPUT);
    expect_from_query_too(WR_ERROR_SIZE_OVERFLOW, &args, label);
    expect_short(WR_ERROR_SIZE_OVERFLOW, dtype, args.input, args.output, outer, axis, inner, label);
}

static void check_strides(ptrdiff_t outer, ptrdiff_t axis, ptrdiff_t inner, const char *label) {
    wr_softmax_args args = args_at(WR_F32, 2, 3, 2, ARENA_INPUT, ARENA_OUTPUT);
    args.strides_given = 1;
    args.outer_stride = outer;
    args.axis_stride = axis;
    args.inner_stride = inner;
    expect_from_query_too(WR_ERROR_SIZE_OVERFLOW, &args, label);
}

static void check_strides_flag(void) {
    wr_softmax_args args = args_at(WR_F32, 2, 3, 2, ARENA_INPUT, ARENA_OUTPUT);
    args.strides_given = -1;
    expect_from_query_too(WR_ERROR_INVALID_OPTION, &args, "strides_given is -1");
    args.strides_given = 0;
    args.axis_stride = 2;
    expect_from_query_too(WR_ERROR_INVALID_OPTION, &args, "a stride that is not given");
}

static void check_overflows(void) {
    const size_t two_to_40 = (size_t)1 << 40, two_to_61 = (size_t)1 << 61;
    wr_softmax_args args;
    check_size(two_to_40, two_to_40, 1, WR_F32, "a product beyond 64 bits");
    check_size(1, two_to_40, two_to_40, WR_BF16, "a product beyond 64 bits");
    check_size((size_t)1 << 32, (size_t)1 << 32, 1, WR_F32, "a product of exactly 2^64");
    check_size(1, SIZE_MAX, 1, WR_F32, "the largest size");
    check_size(1, two_to_61, 1, WR_F32, "2^63 bytes of f32");
    check_size(1, two_to_61 / 2, 1, WR_F64, "2^63 bytes of f64");
    check_strides(PTRDIFF_MAX, 0, 0, "the largest outer stride");
    check_strides(0, PTRDIFF_MIN, 0, "the smallest axis stride");
    check_strides(0, 0, PTRDIFF_MIN, "the smallest inner stride");
    args = args_at(WR_BF16, 1, two_to_61, 1, ARENA_INPUT, ARENA_OUTPUT);
    args.output_dtype = WR_F32;
    expect_from_query_too(WR_ERROR_SIZE_OVERFLOW, &args, "2^63 bytes of outputs alone");
}

static void check_misaligned(void) {
    static const struct {
        wr_dtype dtype;
        size_t offset;
    } wrong[] = {{WR_F32, 1}, {WR_F32, 2}, {WR_F64, 4}, {WR_F16, 1}, {WR_BF16, 1}};
    wr_softmax_args args;
    size_t i;
    for (i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        args = args_at(wrong[i].dtype, 3, 4, 1, ARENA_INPUT + wrong[i].offset, ARENA_OUTPUT);
        expect(WR_ERROR_MISALIGNED, &args, "input");
        expect_short(WR_ERROR_MISALIGNED, args.dtype, args.input, args.output, 3, 4, 1, "input, short call");
        args = args_at(wrong[i].dtype, 3, 4, 1, ARENA_INPUT, ARENA_OUTPUT + wrong[i].offset);
        expect(WR_ERROR_MISALIGNED, &args, "output");
    }
    args = args_at(WR_F16, 3, 4, 1, ARENA_INPUT, ARENA_OUTPUT + 2);
    args.output_dtype = WR_F32;
    expect(WR_ERROR_MISALIGNED, &args, "an output wider than the input");
    args = args_at(WR_F16, 3, 4, 1, ARENA_INPUT, ARENA_OUTPUT);
    args.logsumexp = at(ARENA_EXTRA + 2);
    expect(WR_ERROR_MISALIGNED, &args, "logsumexp of f16 is f32");
    args = args_at(WR_F64, 3, 4, 1, ARENA_INPUT, ARENA_OUTPUT);
    args.logsumexp = at(ARENA_EXTRA + 4);
    expect(WR_ERROR_MISALIGNED, &args, "logsumexp of f64 is f64");
}

static void check_overlaps(void) {
    wr_softmax_args args = args_at(WR_F32, 16, 4, 1, 1024, 1024 + 4);
    expect(WR_ERROR_OVERLAP, &args, "moved up by one element");
    args = args_at(WR_F32, 16, 4, 1, 1024, 1024 - 4);
    expect(WR_ERROR_OVERLAP, &args, "moved down by one element");
    args = args_at(WR_F32, 16, 4, 1, 1024, 1024 + 252);
    expect(WR_ERROR_OVERLAP, &args, "one element shared");
    expect_short(WR_ERROR_OVERLAP, WR_F32, at(1024), at(1024 + 16), 16, 4, 1, "moved by one row, short call");
    args = args_at(WR_F32, 16, 4, 1, 1024, 1024);
    args.output_dtype = WR_F64;
    expect(WR_ERROR_OVERLAP, &args, "in place, wider outputs");
    args.output_dtype = WR_F16;
    expect(WR_ERROR_OVERLAP, &args, "in place, narrower outputs");
    args = args_at(WR_F32, 4, 4, 4, 1024, 1024);
    args.axis_stride = 1;
    args.inner_stride = 4;
    SAY_STRIDES(&args);
    expect(WR_ERROR_OVERLAP, &args, "in place, transposed");
    args = args_at(WR_F32, 4, 4, 1, 1024, 1024);
    args.outer_stride = 8;
    SAY_STRIDES(&args);
    expect(WR_ERROR_OVERLAP, &args, "in place, rows with a gap");
}

static void check_logsumexp_overlaps(void) {
    wr_softmax_args args = args_at(WR_F32, 16, 4, 1, 1024, 4096);
    args.logsumexp = at(1024);
    expect(WR_ERROR_OVERLAP, &args, "logsumexp is the input");
    args.logsumexp = at(1024 + 252);
    expect(WR_ERROR_OVERLAP, &args, "logsumexp on the input's last element");
    args.logsumexp = at(4096 + 128);
    expect(WR_ERROR_OVERLAP, &args, "logsumexp inside the output");
    args.logsumexp = at(4096 - 60);
    expect(WR_ERROR_OVERLAP, &args, "logsumexp's last element on the output's first");
    args = args_at(WR_F32, 16, 1, 1, 1024, 1024);
    args.logsumexp = at(1024);
    expect(WR_ERROR_OVERLAP, &args, "logsumexp, input and output in one");
}

static void check_neighbours_are_allowed(void) {
    wr_softmax_args args = args_at(WR_F32, 16, 4, 1, 1024, 1024 + 256);
    args.logsumexp = at(1024 - 64);
    expect_allowed(&args, "logsumexp, input and output right behind each other");
    args = args_at(WR_F32, 16, 4, 1, 1024, 1024 - 256);
    expect_allowed(&args, "output right before the input");
    args = args_at(WR_F32, 4, 4, 4, 1024, 1024);
    args.output_dtype = WR_F32;
    args.outer_stride = 16;
    args.axis_stride = 4;
    args.inner_stride = 1;
    args.strides_given = 1;
    expect_allowed(&args, "in place, contiguous strides written out");
    args = args_at(WR_F32, 1, 4, 1, ARENA_INPUT, ARENA_INPUT);
    args.outer_stride = 999;
    args.inner_stride = 7;
    SAY_STRIDES(&args);
    expect_allowed(&args, "in place, strides along which no step is made");
    args = args_at(WR_F16, 4, 4, 4, 1024, 1024);
    args.output_dtype = WR_BF16;
    expect_allowed(&args, "in place, another type of the same size");
}

/* The first shape found for which a workspace is wanted; each call with it is refused before memory is looked at. */
static int args_that_want_workspace(wr_softmax_args *args, size_t *bytes) {
    const uintptr_t apart = (uintptr_t)1 << 40;
    size_t axis;
    for (axis = 4096; axis <= (size_t)1 << 34; axis *= 4) {
        *args = softmax_args(WR_F32, 1, axis, 1);
        CHECK(wr_softmax_workspace_size(args, bytes) == WR_SUCCESS, "query, axis %zu", axis);
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
    wr_softmax_args args, wrong;
    size_t bytes;
    if (!args_that_want_workspace(&args, &bytes)) {
        printf("no softmax wants a workspace: there is none to refuse\n");
        return;
    }
    wrong = args;
    wrong.workspace_bytes = bytes - 1;
    expect(WR_ERROR_WORKSPACE_TOO_SMALL, &wrong, "a byte too few");
    wrong = args;
    wrong.workspace = (void *)((uintptr_t)args.workspace + 8);
    wrong.workspace_bytes = bytes + 16;
    expect(WR_ERROR_MISALIGNED, &wrong, "a workspace aligned to 8 bytes");
    wrong = args;
    wrong.workspace = at(ARENA_INPUT);
    expect(WR_ERROR_OVERLAP, &wrong, "the workspace is the input");
    wrong.workspace = args.output;
    expect(WR_ERROR_OVERLAP, &wrong, "the workspace begins at the output");
}

static void check_all(void) {
    const wr_softmax_args valid = valid_args();
    check_valid_call_succeeds();
    check_struct_sizes(&call, &valid);
    check_types();
    check_options();
    check_strides_flag();
    check_selections();
    check_ragged_rows();
    check_ragged_rows_of_nothing();
    check_right_offsets_are_allowed();
    check_null_pointers();
    check_overflows();
    check_misaligned();
    check_overlaps();
    check_logsumexp_overlaps();
    check_neighbours_are_allowed();
    check_workspace();
}

int main(int argc, char **argv) {
    return try_refusals(argc, argv, check_all, "every_bad_softmax_argument_has_its_code");
}
