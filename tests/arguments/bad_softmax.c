/* Softmax and its gradient. */
#include "arguments/bad_arguments.h"
#include "harness/harness.h"
#include "harness/softmax_jobs.h"

#include <math.h>
#include <string.h>

static const int64_t bad_dtypes[] = {21, 999, -1, WR_DTYPE_FORCE_INT32}, bad_flags[] = {2, -1, 1000000};
static const int64_t no_floats[] = {WR_I8,         WR_I16,        WR_I32,          WR_I64,        WR_U8,
                                    WR_U16,        WR_U32,        WR_U64,          WR_KOALABEAR,  WR_BABYBEAR,
                                    WR_MERSENNE31, WR_GOLDILOCKS, WR_KOALABEAR_X4, WR_BABYBEAR_X4};
static const int64_t zero = 0;

/* Doubles as the numbers that their bits are: infinities and NaN. */
static const int64_t bad_scales[] = {0x7FF0000000000000, -0x10000000000000, 0x7FF8000000000000};

#define ONE 0x3FF0000000000000 /* the bits of 1.0 */
#define BAD(subject, type, field, values, status)                                                                      \
    check_bad_values(subject, FIELD(type, field), values, COUNT_OF(values), status, #type " " #field)

/* ---- softmax: 3 rows of 4 f32 with their logsumexp */

static void put_softmax(void *args) {
    wr_softmax_args made = softmax_args(WR_F32, 3, 4, 1);
    made.input = at(ARENA_INPUT);
    made.output = at(ARENA_OUTPUT);
    made.logsumexp = at(ARENA_EXTRA);
    memcpy(args, &made, sizeof made);
}
static wr_status softmax(const void *args) { return wr_softmax_ex(args, around.where->stream); }
static wr_status query_softmax(const void *args, size_t *bytes) { return wr_softmax_workspace_size(args, bytes); }
static const subject softmaxes = {{softmax, query_softmax, sizeof(wr_softmax_args)}, put_softmax};

#define X(field, to) SET(wr_softmax_args, field, to)
#define X_AT(field, byte) AT(wr_softmax_args, field, byte)
#define X_SHAPE(type, o, a, i) X(dtype, type), X(outer, o), X(axis, a), X(inner, i)
#define X_STRIDES(o, a, i) X(strides_given, 1), X(outer_stride, o), X(axis_stride, a), X(inner_stride, i)
#define X_SIZES(type, o, a, i, label)                                                                                  \
    {                                                                                                                  \
        BY_QUERY_TOO, WR_ERROR_SIZE_OVERFLOW, label, { X_SHAPE(type, o, a, i) }                                        \
    }
#define X_FAR(o, a, i, label)                                                                                          \
    {                                                                                                                  \
        BY_QUERY_TOO, WR_ERROR_SIZE_OVERFLOW, label, { X_SHAPE(WR_F32, 2, 3, 2), X_STRIDES(o, a, i) }                  \
    }
#define X_OFF(type, off)                                                                                               \
    {BY_CALL, WR_ERROR_MISALIGNED, "input", {X(dtype, type), X_AT(input, ARENA_INPUT + (off)), X(logsumexp, 0)}}, {    \
        BY_CALL, WR_ERROR_MISALIGNED, "output", {                                                                      \
            X(dtype, type), X_AT(output, ARENA_OUTPUT + (off)), X(logsumexp, 0)                                        \
        }                                                                                                              \
    }
#define X_OVER(o, a, i, from, to)                                                                                      \
    X(outer, o), X(axis, a), X(inner, i), X_AT(input, from), X_AT(output, to), X(logsumexp, 0)
#define X_SUMS(o, a, from, to, sums) X(outer, o), X(axis, a), X_AT(input, from), X_AT(output, to), X_AT(logsumexp, sums)
#define X_SCALES(byte) X_AT(scales, byte)
#define X_RAGGED X(outer, 2), X(axis, 12), X_AT(offsets, ARENA_WORKSPACE), X(logsumexp, 0)

static const bad_call bad_softmax[] = {
    QUERY(INVALID_OPTION, "strides_given is -1", X(strides_given, -1)),
    QUERY(INVALID_OPTION, "a stride that is not given", X(axis_stride, 2)),
    QUERY(INVALID_OPTION, "causal_first without causal", X(causal_first, 1)),
    QUERY(INVALID_OPTION, "causal_rows without causal", X(causal_rows, 3)),
    CALL(OVERLAP, "the mask begins on the output's last byte", X_AT(mask, ARENA_OUTPUT + 47)),
    CALL(OVERLAP, "the mask ends on logsumexp", X_AT(mask, ARENA_EXTRA - 11)),
    CALL(MISALIGNED, "lengths", X_AT(lengths, ARENA_WORKSPACE + 4)),
    CALL(OVERLAP, "lengths on the output", X_AT(lengths, ARENA_OUTPUT + 40)),
    CALL(OVERLAP, "maximum is logsumexp", X_AT(maximum, ARENA_EXTRA)),
    CALL(MISALIGNED, "maximum", X_AT(maximum, ARENA_WORKSPACE + 2)),
    QUERY(INVALID_OPTION, "a scale and scales", X_SCALES(ARENA_WORKSPACE), X(scale, ONE)),
    CALL(MISALIGNED, "scales", X_SCALES(ARENA_WORKSPACE + 2)),
    CALL(MISALIGNED, "scales of f64 are f64", X(dtype, WR_F64), X_SCALES(ARENA_WORKSPACE + 4)),
    CALL(OVERLAP, "the last scale on the output's first", X_SCALES(ARENA_OUTPUT - 8)),
    CALL(OVERLAP, "scales are logsumexp", X_SCALES(ARENA_EXTRA)),
    FINE("scales are the input's", X_SCALES(ARENA_INPUT)),
    QUERY(UNSUPPORTED, "ragged columns", X_RAGGED, X(inner, 2)),
    QUERY(UNSUPPORTED, "ragged, strides", X_RAGGED, X(strides_given, 1), X(axis_stride, 1)),
    QUERY(UNSUPPORTED, "ragged rows with a causal limit", X_RAGGED, X(causal, 1)),
    QUERY(SIZE_OVERFLOW, "more offsets than there can be", X_RAGGED, X(outer, SIZE_MAX)),
    CALL(MISALIGNED, "offsets", X_RAGGED, X_AT(offsets, ARENA_WORKSPACE + 4)),
    CALL(OVERLAP, "offsets on the output", X_RAGGED, X_AT(offsets, ARENA_OUTPUT + 24)),
    CALL(MISALIGNED, "offsets, no elements", X_RAGGED, X(axis, 0), X_AT(maximum, ARENA_EXTRA),
         X_AT(offsets, ARENA_WORKSPACE + 4)),
    CALL(OVERLAP, "maxima on the offsets, no elements", X_RAGGED, X(axis, 0), X_AT(maximum, ARENA_EXTRA),
         X_AT(offsets, ARENA_EXTRA)),
    CALL(NULL_POINTER, "input is NULL", X(input, 0)),
    CALL(NULL_POINTER, "output is NULL", X(output, 0)),
    X_SIZES(WR_F32, TWO_TO(40), TWO_TO(40), 1, "a product beyond 64 bits"),
    X_SIZES(WR_BF16, 1, TWO_TO(40), TWO_TO(40), "a product beyond 64 bits"),
    X_SIZES(WR_F32, TWO_TO(32), TWO_TO(32), 1, "a product of exactly 2^64"),
    X_SIZES(WR_F32, 1, SIZE_MAX, 1, "the largest size"),
    X_SIZES(WR_F32, 1, TWO_TO(61), 1, "2^63 bytes of f32"),
    X_SIZES(WR_F64, 1, TWO_TO(60), 1, "2^63 bytes of f64"),
    X_FAR(PTRDIFF_MAX, 0, 0, "the largest outer stride"),
    X_FAR(0, PTRDIFF_MIN, 0, "the smallest axis stride"),
    X_FAR(0, 0, PTRDIFF_MIN, "the smallest inner stride"),
    QUERY(SIZE_OVERFLOW, "2^63 bytes of outputs alone", X_SHAPE(WR_BF16, 1, TWO_TO(61), 1), X(output_dtype, WR_F32)),
    X_OFF(WR_F32, 1),
    X_OFF(WR_F32, 2),
    X_OFF(WR_F64, 4),
    X_OFF(WR_F16, 1),
    X_OFF(WR_BF16, 1),
    CALL(MISALIGNED, "an output wider than the input", X(dtype, WR_F16), X(output_dtype, WR_F32),
         X_AT(output, ARENA_OUTPUT + 2), X(logsumexp, 0)),
    CALL(MISALIGNED, "logsumexp of f16 is f32", X(dtype, WR_F16), X_AT(logsumexp, ARENA_EXTRA + 2)),
    CALL(MISALIGNED, "logsumexp of f64 is f64", X(dtype, WR_F64), X_AT(logsumexp, ARENA_EXTRA + 4)),
    CALL(OVERLAP, "moved up by one element", X_OVER(16, 4, 1, 1024, 1028)),
    CALL(OVERLAP, "moved down by one element", X_OVER(16, 4, 1, 1024, 1020)),
    CALL(OVERLAP, "one element shared", X_OVER(16, 4, 1, 1024, 1276)),
    CALL(OVERLAP, "in place, wider outputs", X_OVER(16, 4, 1, 1024, 1024), X(output_dtype, WR_F64)),
    CALL(OVERLAP, "in place, narrower", X_OVER(16, 4, 1, 1024, 1024), X(output_dtype, WR_F16)),
    CALL(OVERLAP, "in place, transposed", X_OVER(4, 4, 4, 1024, 1024), X_STRIDES(16, 1, 4)),
    CALL(OVERLAP, "in place, rows with a gap", X_OVER(4, 4, 1, 1024, 1024), X_STRIDES(8, 1, 1)),
    CALL(OVERLAP, "logsumexp is the input", X_SUMS(16, 4, 1024, 4096, 1024)),
    CALL(OVERLAP, "logsumexp on the input's last element", X_SUMS(16, 4, 1024, 4096, 1276)),
    CALL(OVERLAP, "logsumexp inside the output", X_SUMS(16, 4, 1024, 4096, 4224)),
    CALL(OVERLAP, "its last on the output's first", X_SUMS(16, 4, 1024, 4096, 4036)),
    CALL(OVERLAP, "logsumexp, input and output in one", X_SUMS(16, 1, 1024, 1024, 1024)),
    FINE("all right behind each other", X_SUMS(16, 4, 1024, 1280, 960)),
    FINE("output right before the input", X_OVER(16, 4, 1, 1024, 768)),
    FINE("strides written out", X_OVER(4, 4, 4, 1024, 1024), X_STRIDES(16, 4, 1)),
    FINE("strides along which no step is made", X_OVER(1, 4, 1, 0, 0), X_STRIDES(999, 1, 7)),
    FINE("in place, another type of the same size", X_OVER(4, 4, 4, 1024, 1024), X(dtype, WR_F16),
         X(output_dtype, WR_BF16)),
};

/* Offsets that the host device looks at before the job runs. */
static const struct bad_offsets {
    int64_t offsets[3];
    bad_call call;
} bad_offsets[] = {
    {{-1, 4, 12}, CALL(INVALID_OFFSETS, "a negative offset", X_RAGGED)},
    {{0, 13, 12}, CALL(INVALID_OFFSETS, "an offset below the one before it", X_RAGGED)},
    {{0, 4, 13}, CALL(INVALID_OFFSETS, "an offset beyond the elements", X_RAGGED)},
    {{-5, 0, 0}, CALL(INVALID_OFFSETS, "a negative one", X_RAGGED, X(axis, 0), X_AT(logsumexp, ARENA_EXTRA))},
    {{0, 0, -1}, CALL(INVALID_OFFSETS, "one below", X_RAGGED, X(axis, 0), X_AT(logsumexp, ARENA_EXTRA))},
    {{0, 2, 5}, CALL(INVALID_OFFSETS, "one beyond", X_RAGGED, X(axis, 0), X_AT(logsumexp, ARENA_EXTRA))},
    {{0, 0, 1}, CALL(INVALID_OFFSETS, "maxima", X_RAGGED, X(axis, 0), X_AT(maximum, ARENA_EXTRA))},
    {{0, 0, 0}, FINE("rows of nothing", X_RAGGED, X(axis, 0), X_AT(logsumexp, ARENA_EXTRA))},
    {{0, 0, 0}, FINE("nothing is written", X_RAGGED, X(axis, 0), X_AT(offsets, ARENA_WORKSPACE + 4))},
};

static void put_offsets(const int64_t *offsets) {
    memcpy(around.before + ARENA_WORKSPACE, offsets, 3 * sizeof *offsets);
    arena_reset();
}

/* Both short calls. */
static void check_short(wr_status status, int dtype, const void *input, void *output, size_t outer, size_t axis,
                        size_t inner, const char *label) {
    struct CUstream_st *stream = around.where->stream;
    expect_refusal(status, wr_softmax((wr_dtype)dtype, input, output, outer, axis, inner, stream), label);
    expect_refusal(status, wr_log_softmax((wr_dtype)dtype, input, output, outer, axis, inner, stream), label);
}

static void check_short_softmax(void) {
    void *input = at(ARENA_INPUT), *output = at(ARENA_OUTPUT);
    size_t i;
    check_short(WR_ERROR_INVALID_DTYPE, 0, input, output, 3, 4, 1, "dtype 0, short");
    for (i = 0; i < COUNT_OF(bad_dtypes); ++i) {
        check_short(WR_ERROR_INVALID_DTYPE, (int)bad_dtypes[i], input, output, 3, 4, 1, "dtype, short");
    }
    for (i = 0; i < COUNT_OF(no_floats); ++i) {
        check_short(WR_ERROR_UNSUPPORTED, (int)no_floats[i], input, output, 3, 4, 1, "no softmax, short");
    }
    for (i = 0; i < COUNT_OF(bad_softmax); ++i) { /* of sizes and of inputs off their boundaries */
        const bad_call *like = &bad_softmax[i];
        const setting *set = like->set;
        if (like->status == WR_ERROR_SIZE_OVERFLOW && set[3].size != 0 && set[4].size == 0) {
            check_short(like->status, (int)set[0].value, input, output, (size_t)set[1].value, (size_t)set[2].value,
                        (size_t)set[3].value, "sizes, short");
        } else if (like->status == WR_ERROR_MISALIGNED && strcmp(like->label, "input") == 0) {
            check_short(like->status, (int)set[0].value, at((size_t)set[1].value), output, 3, 4, 1, "input, short");
        }
    }
    check_short(WR_ERROR_NULL_POINTER, WR_F32, NULL, output, 3, 4, 1, "input is NULL, short");
    check_short(WR_ERROR_NULL_POINTER, WR_F32, input, NULL, 3, 4, 1, "output is NULL, short");
    check_short(WR_ERROR_OVERLAP, WR_F32, at(1024), at(1040), 16, 4, 1, "moved by one row, short");
    check_short(WR_SUCCESS, WR_F32, NULL, NULL, 0, 4, 1, "no rows, nothing is written");
    check_short(WR_SUCCESS, WR_F64, NULL, NULL, 3, 0, 1, "rows of nothing, nothing is written");
    check_short(WR_SUCCESS, WR_BF16, input, output, 3, 4, 0, "no columns, nothing is written");
}

void check_bad_softmax(void) {
    static const size_t pointers[] = {offsetof(wr_softmax_args, input), offsetof(wr_softmax_args, output),
                                      offsetof(wr_softmax_args, logsumexp)};
    static const workspace_fields fields = {offsetof(wr_softmax_args, axis), offsetof(wr_softmax_args, input),
                                            offsetof(wr_softmax_args, output), offsetof(wr_softmax_args, workspace),
                                            offsetof(wr_softmax_args, workspace_bytes)};
    size_t i;
    check_valid_call(&softmaxes, pointers, 3);
    check_bad_values(&softmaxes, FIELD(wr_softmax_args, dtype), &zero, 1, WR_ERROR_INVALID_DTYPE, "dtype 0");
    BAD(&softmaxes, wr_softmax_args, dtype, bad_dtypes, WR_ERROR_INVALID_DTYPE);
    BAD(&softmaxes, wr_softmax_args, output_dtype, bad_dtypes, WR_ERROR_INVALID_DTYPE);
    BAD(&softmaxes, wr_softmax_args, dtype, no_floats, WR_ERROR_UNSUPPORTED);
    BAD(&softmaxes, wr_softmax_args, output_dtype, no_floats, WR_ERROR_UNSUPPORTED);
    BAD(&softmaxes, wr_softmax_args, log, bad_flags, WR_ERROR_INVALID_OPTION);
    BAD(&softmaxes, wr_softmax_args, empty_row, bad_flags, WR_ERROR_INVALID_OPTION);
    BAD(&softmaxes, wr_softmax_args, scale, bad_scales, WR_ERROR_INVALID_OPTION);
    BAD(&softmaxes, wr_softmax_args, causal, bad_flags, WR_ERROR_INVALID_OPTION);
    check_bad_calls(&softmaxes, bad_softmax, COUNT_OF(bad_softmax));
    for (i = 0; i < COUNT_OF(bad_offsets) && !around.where->on_gpu; ++i) {
        put_offsets(bad_offsets[i].offsets);
        check_bad_calls(&softmaxes, &bad_offsets[i].call, 1);
    }
    check_short_softmax();
    check_workspaces(&softmaxes, &fields);
}

/* ---- gradients: of 3 rows of 4 f32, from outputs or from logits */

static void put_gradient(void *args) {
    wr_softmax_backward_args made = backward_args(WR_F32, 3, 4, 1);
    made.output = at(ARENA_INPUT);
    made.output_gradient = at(ARENA_OUTPUT);
    made.input_gradient = at(ARENA_EXTRA);
    memcpy(args, &made, sizeof made);
}
static wr_status gradient(const void *args) { return wr_softmax_backward_ex(args, around.where->stream); }
static wr_status query_gradient(const void *args, size_t *bytes) {
    return wr_softmax_backward_workspace_size(args, bytes);
}
static const subject gradients = {{gradient, query_gradient, sizeof(wr_softmax_backward_args)}, put_gradient};

#define B(field, to) SET(wr_softmax_backward_args, field, to)
#define B_AT(field, byte) AT(wr_softmax_backward_args, field, byte)
#define B_LOGITS B(output, 0), B_AT(input, ARENA_INPUT), B_AT(logsumexp, ARENA_WORKSPACE)
#define B_GAP                                                                                                          \
    B(strides_given, 1), B(outer_stride, 4), B(axis_stride, 1), B(inner_stride, 1), B(gradient_outer_stride, 5),       \
        B(gradient_axis_stride, 1), B(gradient_inner_stride, 1)

static const bad_call bad_gradients[] = {
    FINE("from logits", B_LOGITS, B(dtype, WR_BF16)),
    FINE("in place of the outputs", B_AT(input_gradient, ARENA_INPUT)),
    FINE("in place of the gradient", B_AT(input_gradient, ARENA_OUTPUT)),
    FINE("two inputs in one", B_AT(output_gradient, ARENA_INPUT)),
    FINE("a result in f64", B(dtype, WR_BF16), B(input_gradient_dtype, WR_F64)),
    QUERY(UNSUPPORTED, "integers", B(dtype, WR_U8)),
    QUERY(UNSUPPORTED, "a result of integers", B(input_gradient_dtype, WR_I32)),
    QUERY(UNSUPPORTED, "f64 gradients of f32", B(output_gradient_dtype, WR_F64)),
    QUERY(UNSUPPORTED, "f32 of f64", B(dtype, WR_F64), B(output_gradient_dtype, WR_F32)),
    QUERY(INVALID_OPTION, "causal_rows without causal", B(causal_rows, 2)),
    QUERY(UNSUPPORTED, "outputs and logits", B_AT(input, ARENA_INPUT)),
    QUERY(UNSUPPORTED, "logsumexp with outputs", B_AT(logsumexp, ARENA_WORKSPACE)),
    QUERY(UNSUPPORTED, "ragged rows with strides", B_AT(offsets, ARENA_WORKSPACE), B(strides_given, 1),
          B(gradient_axis_stride, 1)),
    QUERY(INVALID_OPTION, "strides_given is 2", B(strides_given, 2)),
    QUERY(INVALID_OPTION, "a stride that is not given", B(inner_stride, 1)),
    QUERY(INVALID_OPTION, "of the gradient", B(gradient_inner_stride, 1)),
    CALL(NULL_POINTER, "logsumexp without logits", B_LOGITS, B(input, 0)),
    CALL(NULL_POINTER, "logits without logsumexp", B_LOGITS, B(logsumexp, 0)),
    CALL(MISALIGNED, "logsumexp of bf16 is f32", B_LOGITS, B(dtype, WR_BF16), B_AT(logsumexp, ARENA_WORKSPACE + 2)),
    CALL(MISALIGNED, "output_gradient", B_AT(output_gradient, ARENA_OUTPUT + 2)),
    CALL(MISALIGNED, "input_gradient", B_AT(input_gradient, ARENA_EXTRA + 1)),
    CALL(MISALIGNED, "lengths", B_AT(lengths, ARENA_WORKSPACE + 4)),
    CALL(OVERLAP, "one element into the gradient", B_AT(input_gradient, ARENA_OUTPUT + 4)),
    CALL(OVERLAP, "in place, narrower", B_AT(input_gradient, ARENA_OUTPUT), B(input_gradient_dtype, WR_F16)),
    CALL(OVERLAP, "in place, rows with a gap", B_GAP, B_AT(input_gradient, ARENA_OUTPUT)),
    CALL(OVERLAP, "the mask on the result", B_AT(mask, ARENA_EXTRA + 40)),
    CALL(OVERLAP, "scales on the result", B_AT(scales, ARENA_EXTRA + 44)),
    CALL(MISALIGNED, "scales", B_AT(scales, ARENA_WORKSPACE + 1)),
    FINE("scales are the outputs", B_AT(scales, ARENA_INPUT)),
    QUERY(INVALID_OPTION, "a scale and scales", B_AT(scales, ARENA_INPUT), B(scale, ONE)),
    CALL(OVERLAP, "logsumexp is the result", B_LOGITS, B_AT(logsumexp, ARENA_EXTRA)),
    CALL(OVERLAP, "everything in one", B_AT(output_gradient, ARENA_INPUT), B_AT(input_gradient, ARENA_INPUT),
         B_AT(mask, ARENA_INPUT)),
};

static const bad_call gradient_of_bad_offsets = CALL(INVALID_OFFSETS, "an offset below the one before it", B(outer, 2),
                                                     B(axis, 12), B_AT(offsets, ARENA_WORKSPACE));

/* The short calls, softmax's and log-softmax's; bytes of the arena, or -1 for NULL. */
static const struct short_gradient {
    wr_status status;
    int dtype, output, output_gradient, input_gradient;
    size_t outer, axis;
} short_gradients[] = {
    {WR_ERROR_INVALID_DTYPE, 0, ARENA_INPUT, ARENA_OUTPUT, ARENA_EXTRA, 3, 4},
    {WR_ERROR_UNSUPPORTED, WR_I32, ARENA_INPUT, ARENA_OUTPUT, ARENA_EXTRA, 3, 4},
    {WR_ERROR_NULL_POINTER, WR_F32, -1, ARENA_OUTPUT, ARENA_EXTRA, 3, 4},
    {WR_ERROR_NULL_POINTER, WR_F32, ARENA_INPUT, -1, ARENA_EXTRA, 3, 4},
    {WR_ERROR_NULL_POINTER, WR_F32, ARENA_INPUT, ARENA_OUTPUT, -1, 3, 4},
    {WR_ERROR_OVERLAP, WR_F32, ARENA_INPUT, ARENA_OUTPUT, ARENA_INPUT + 4, 3, 4},
    {WR_ERROR_SIZE_OVERFLOW, WR_F32, ARENA_INPUT, ARENA_OUTPUT, ARENA_EXTRA, (size_t)1 << 40, (size_t)1 << 40},
};

static void *byte_or_null(int byte) { return byte < 0 ? NULL : at((size_t)byte); }

static void check_short_gradient(const struct short_gradient *of) {
    const void *output = byte_or_null(of->output), *output_gradient = byte_or_null(of->output_gradient);
    void *result = byte_or_null(of->input_gradient);
    struct CUstream_st *stream = around.where->stream;
    const wr_dtype dtype = (wr_dtype)of->dtype;
    expect_refusal(of->status,
                   wr_softmax_backward(dtype, output, output_gradient, result, of->outer, of->axis, 1, stream),
                   "short gradient");
    expect_refusal(of->status,
                   wr_log_softmax_backward(dtype, output, output_gradient, result, of->outer, of->axis, 1, stream),
                   "short gradient of log-softmax");
}

void check_bad_gradients(void) {
    static const size_t pointers[] = {offsetof(wr_softmax_backward_args, output),
                                      offsetof(wr_softmax_backward_args, output_gradient),
                                      offsetof(wr_softmax_backward_args, input_gradient)};
    static const int64_t offsets[] = {0, 5, 4};
    size_t i;
    check_valid_call(&gradients, pointers, 3);
    BAD(&gradients, wr_softmax_backward_args, dtype, bad_dtypes, WR_ERROR_INVALID_DTYPE);
    BAD(&gradients, wr_softmax_backward_args, output_gradient_dtype, bad_dtypes, WR_ERROR_INVALID_DTYPE);
    BAD(&gradients, wr_softmax_backward_args, input_gradient_dtype, bad_dtypes, WR_ERROR_INVALID_DTYPE);
    BAD(&gradients, wr_softmax_backward_args, log, bad_flags, WR_ERROR_INVALID_OPTION);
    BAD(&gradients, wr_softmax_backward_args, empty_row, bad_flags, WR_ERROR_INVALID_OPTION);
    BAD(&gradients, wr_softmax_backward_args, causal, bad_flags, WR_ERROR_INVALID_OPTION);
    BAD(&gradients, wr_softmax_backward_args, add_to_input_gradient, bad_flags, WR_ERROR_INVALID_OPTION);
    BAD(&gradients, wr_softmax_backward_args, scale, bad_scales, WR_ERROR_INVALID_OPTION);
    check_bad_calls(&gradients, bad_gradients, COUNT_OF(bad_gradients));
    for (i = 0; i < COUNT_OF(short_gradients); ++i) {
        check_short_gradient(&short_gradients[i]);
    }
    if (!around.where->on_gpu) {
        put_offsets(offsets);
        check_bad_calls(&gradients, &gradient_of_bad_offsets, 1);
    }
}
