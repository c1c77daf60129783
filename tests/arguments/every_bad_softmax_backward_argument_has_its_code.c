/* Each way of calling softmax's gradient wrongly is refused with the status of its cause, and nothing is written. */
#include "harness/harness.h"
#include "harness/refusals.h"
#include "harness/softmax_jobs.h"

#include <math.h>
#include <stdint.h>

/* A call that would succeed: 3 rows of 4. */
static wr_softmax_backward_args args_of(wr_dtype dtype) {
    wr_softmax_backward_args args = backward_args(dtype, 3, 4, 1);
    args.output = at(ARENA_INPUT);
    args.output_gradient = at(ARENA_OUTPUT);
    args.input_gradient = at(ARENA_EXTRA);
    return args;
}

static wr_softmax_backward_args args_of_logits(wr_dtype dtype) {
    wr_softmax_backward_args args = args_of(dtype);
    args.input = args.output;
    args.output = NULL;
    args.logsumexp = at(ARENA_WORKSPACE);
    return args;
}

static wr_status run(const void *args) { return wr_softmax_backward_ex(args, around.where->stream); }
static wr_status query(const void *args, size_t *bytes) { return wr_softmax_backward_workspace_size(args, bytes); }
static const call_of_struct call = {run, query, sizeof(wr_softmax_backward_args)};

static void expect(wr_status expected, const wr_softmax_backward_args *args, const char *label) {
    expect_call_refused(&call, expected, args, label);
}

static void expect_from_query_too(wr_status expected, const wr_softmax_backward_args *args, const char *label) {
    expect_query_refused_too(&call, expected, args, label);
}

static void expect_allowed(const wr_softmax_backward_args *args, const char *label) {
    expect_call_allowed(&call, args, label);
}

static void check_valid_calls_succeed(void) {
    wr_softmax_backward_args args = args_of(WR_F32);
    size_t bytes = 12345;
    expect_allowed(&args, "from outputs");
    CHECK(wr_softmax_backward_workspace_size(&args, &bytes) == WR_SUCCESS && bytes != 12345, "its workspace query");
    args = args_of_logits(WR_BF16);
    expect_allowed(&args, "from logits");
    args = args_of(WR_F32);
    args.input_gradient = (void *)(uintptr_t)args.output;
    expect_allowed(&args, "in place of the outputs");
    args = args_of(WR_F32);
    args.input_gradient = (void *)(uintptr_t)args.output_gradient;
    expect_allowed(&args, "in place of the gradient");
    args = args_of(WR_F32);
    args.output_gradient = args.output;
    expect_allowed(&args, "two inputs in one");
    args = args_of(WR_BF16);
    args.input_gradient_dtype = WR_F64;
    expect_allowed(&args, "a result in f64");
}

static void check_short_calls(void) {
    struct CUstream_st *stream = around.where->stream;
    void *in = at(ARENA_INPUT), *gradient = at(ARENA_OUTPUT), *out = at(ARENA_EXTRA);
    expect_refusal(WR_ERROR_INVALID_DTYPE, wr_softmax_backward((wr_dtype)0, in, gradient, out, 3, 4, 1, stream),
                   "dtype 0");
    expect_refusal(WR_ERROR_UNSUPPORTED, wr_log_softmax_backward(WR_I32, in, gradient, out, 3, 4, 1, stream),
                   "integers");
    expect_refusal(WR_ERROR_NULL_POINTER, wr_softmax_backward(WR_F32, NULL, gradient, out, 3, 4, 1, stream),
                   "output is NULL");
    expect_refusal(WR_ERROR_NULL_POINTER, wr_log_softmax_backward(WR_F32, in, NULL, out, 3, 4, 1, stream),
                   "output_gradient is NULL");
    expect_refusal(WR_ERROR_NULL_POINTER, wr_softmax_backward(WR_F32, in, gradient, NULL, 3, 4, 1, stream),
                   "input_gradient is NULL");
    expect_refusal(WR_ERROR_OVERLAP, wr_softmax_backward(WR_F32, in, gradient, at(4), 3, 4, 1, stream),
                   "the result one element into the outputs");
    expect_refusal(WR_ERROR_SIZE_OVERFLOW,
                   wr_log_softmax_backward(WR_F32, in, gradient, out, (size_t)1 << 40, (size_t)1 << 40, 1, stream),
                   "a product beyond 64 bits");
}

static void check_types(void) {
    static const int bad[] = {21, 999, -1, WR_DTYPE_FORCE_INT32};
    wr_softmax_backward_args args;
    size_t i;
    for (i = 0; i < sizeof bad / sizeof *bad; ++i) {
        args = args_of((wr_dtype)bad[i]);
        expect_from_query_too(WR_ERROR_INVALID_DTYPE, &args, "dtype");
        args = args_of(WR_F32);
        args.output_gradient_dtype = (wr_dtype)bad[i];
        expect_from_query_too(WR_ERROR_INVALID_DTYPE, &args, "output_gradient_dtype");
        args = args_of(WR_F32);
        args.input_gradient_dtype = (wr_dtype)bad[i];
        expect_from_query_too(WR_ERROR_INVALID_DTYPE, &args, "input_gradient_dtype");
    }
    args = args_of(WR_U8);
    expect_from_query_too(WR_ERROR_UNSUPPORTED, &args, "integers");
    args = args_of(WR_F32);
    args.input_gradient_dtype = WR_I32;
    expect_from_query_too(WR_ERROR_UNSUPPORTED, &args, "a result of integers");
    args = args_of(WR_F32);
    args.output_gradient_dtype = WR_F64;
    expect_from_query_too(WR_ERROR_UNSUPPORTED, &args, "f64 gradients of f32");
    args = args_of(WR_F64);
    args.output_gradient_dtype = WR_F32;
    expect_from_query_too(WR_ERROR_UNSUPPORTED, &args, "f32 gradients of f64");
}

static void check_options(void) {
    static const int flags[] = {2, -1, 1000000};
    wr_softmax_backward_args args;
    size_t i;
    for (i = 0; i < 3; ++i) {
        args = args_of(WR_F32);
        args.log = flags[i];
        expect_from_query_too(WR_ERROR_INVALID_OPTION, &args, "log");
        args = args_of(WR_F32);
        args.empty_row = (wr_empty_row)flags[i];
        expect_from_query_too(WR_ERROR_INVALID_OPTION, &args, "empty_row");
        args = args_of(WR_F32);
        args.causal = flags[i];
        expect_from_query_too(WR_ERROR_INVALID_OPTION, &args, "causal");
        args = args_of(WR_F32);
        args.add_to_input_gradient = flags[i];
        expect_from_query_too(WR_ERROR_INVALID_OPTION, &args, "add_to_input_gradient");
    }
    args = args_of(WR_F32);
    args.scale = (double)NAN;
    expect_from_query_too(WR_ERROR_INVALID_OPTION, &args, "scale");
    args = args_of(WR_F32);
    args.causal_rows = 2;
    expect_from_query_too(WR_ERROR_INVALID_OPTION, &args, "causal_rows without causal");
    args = args_of(WR_F32);
    args.input = at(ARENA_INPUT);
    expect_from_query_too(WR_ERROR_UNSUPPORTED, &args, "outputs and logits");
    args = args_of(WR_F32);
    args.logsumexp = at(ARENA_WORKSPACE);
    expect_from_query_too(WR_ERROR_UNSUPPORTED, &args, "logsumexp with outputs");
    args = args_of(WR_F32);
    args.offsets = at(ARENA_WORKSPACE);
    args.strides_given = 1;
    args.gradient_axis_stride = 1;
    expect_from_query_too(WR_ERROR_UNSUPPORTED, &args, "ragged rows with strides");
}

static void check_strides_flag(void) {
    wr_softmax_backward_args args = args_of(WR_F32);
    args.strides_given = 2;
    expect_from_query_too(WR_ERROR_INVALID_OPTION, &args, "strides_given is 2");
    args = args_of(WR_F32);
    args.inner_stride = 1;
    expect_from_query_too(WR_ERROR_INVALID_OPTION, &args, "a stride that is not given");
    args = args_of(WR_F32);
    args.gradient_inner_stride = 1;
    expect_from_query_too(WR_ERROR_INVALID_OPTION, &args, "a stride of the gradient that is not given");
}

static void check_pointers(void) {
    wr_softmax_backward_args args = args_of_logits(WR_F32);
    args.input = NULL;
    expect(WR_ERROR_NULL_POINTER, &args, "logsumexp without logits");
    args = args_of_logits(WR_F32);
    args.logsumexp = NULL;
    expect(WR_ERROR_NULL_POINTER, &args, "logits without logsumexp");
    args = args_of_logits(WR_BF16);
    args.logsumexp = at(ARENA_WORKSPACE + 2);
    expect(WR_ERROR_MISALIGNED, &args, "logsumexp of bf16 is f32");
    args = args_of(WR_F32);
    args.output_gradient = at(ARENA_OUTPUT + 2);
    expect(WR_ERROR_MISALIGNED, &args, "output_gradient");
    args = args_of(WR_F32);
    args.input_gradient = at(ARENA_EXTRA + 1);
    expect(WR_ERROR_MISALIGNED, &args, "input_gradient");
    args = args_of(WR_F32);
    args.lengths = at(ARENA_WORKSPACE + 4);
    expect(WR_ERROR_MISALIGNED, &args, "lengths");
}

static void check_overlaps(void) {
    wr_softmax_backward_args args = args_of(WR_F32);
    args.input_gradient = at(ARENA_OUTPUT + 4);
    expect(WR_ERROR_OVERLAP, &args, "the result one element into the gradient");
    args = args_of(WR_F32);
    args.input_gradient = at(ARENA_OUTPUT);
    args.input_gradient_dtype = WR_F16;
    expect(WR_ERROR_OVERLAP, &args, "in place, narrower");
    args = args_of(WR_F32);
    args.input_gradient = at(ARENA_OUTPUT);
    args.gradient_outer_stride = 5;
    say_strides_of_both(&args);
    expect(WR_ERROR_OVERLAP, &args, "in place, rows with a gap");
    args = args_of(WR_F32);
    args.mask = at(ARENA_EXTRA + 40);
    expect(WR_ERROR_OVERLAP, &args, "the mask on the result");
    args = args_of_logits(WR_F32);
    args.logsumexp = args.input_gradient;
    expect(WR_ERROR_OVERLAP, &args, "logsumexp is the result");
    args = args_of(WR_F32);
    args.output = args.output_gradient = args.input_gradient = at(ARENA_INPUT);
    args.mask = at(ARENA_INPUT);
    expect(WR_ERROR_OVERLAP, &args, "everything in one");
    if (!around.where->on_gpu) {
        static const int64_t offsets[] = {0, 5, 4};
        args = args_of(WR_F32);
        args.outer = 2;
        args.axis = 12;
        args.offsets = offsets;
        expect(WR_ERROR_INVALID_OFFSETS, &args, "an offset below the one before it");
    }
}

static void check_all(void) {
    const wr_softmax_backward_args valid = args_of(WR_F32);
    check_valid_calls_succeed();
    check_struct_sizes(&call, &valid);
    check_short_calls();
    check_types();
    check_options();
    check_strides_flag();
    check_pointers();
    check_overlaps();
}

int main(int argc, char **argv) {
    return try_refusals(argc, argv, check_all, "every_bad_softmax_backward_argument_has_its_code");
}
