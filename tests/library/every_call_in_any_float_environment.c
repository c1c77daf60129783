/*
 * Every call gives the bits of the ordinary floating-point environment in whatever environment its caller is: rounded
 * another way, with subnormals flushed to zero, with traps. The caller finds its own again, flags included.
 */
#include "harness/dot_jobs.h"
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/random_numbers.h"
#include "harness/segment_jobs.h"
#include "harness/softmax_jobs.h"
#include "reference/reference.h"

#include <fenv.h>
#include <string.h>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

/* The larger is shared by threads. */
static const size_t counts[] = {31, 700001};
enum { COUNTS = 2, LONGEST = 700001, SEGMENTS = 10 };

typedef struct call {
    const char *name;
    wr_status (*run)(const struct call *call, const image *input, const image *other, size_t count, image *output);
    int what;
    wr_dtype dtype, output_dtype;
} call;

static struct CUstream_st *host(void) { return wr_host_stream(); }

static wr_status run_reduce(const call *of, const image *input, const image *other, size_t count, image *output) {
    wr_reduce_args args = reduce_args((wr_op)of->what, of->dtype, 1, count, 1);
    (void)other;
    args.input = input->payload;
    args.output = output->payload;
    args.output_dtype = of->output_dtype;
    return wr_reduce_ex(&args, host());
}

static wr_status run_columns(const call *of, const image *input, const image *other, size_t count, image *output) {
    wr_reduce_args args = reduce_args((wr_op)of->what, of->dtype, 1, count / 7, 7);
    args.input = input->payload;
    args.weights = of->what == WR_SUM ? other->payload : NULL;
    args.output = output->payload;
    args.output_dtype = of->output_dtype;
    args.add_to_output = of->what == WR_SUM;
    return wr_reduce_ex(&args, host());
}

static wr_status run_segments(const call *of, const image *input, const image *other, size_t count, image *output) {
    wr_reduce_segments_args args = segments_args((wr_op)of->what, of->dtype, SEGMENTS);
    int64_t offsets[SEGMENTS + 1];
    int64_t i;
    (void)other;
    for (i = 0; i <= SEGMENTS; ++i) {
        offsets[i] = (int64_t)count * i * i / (SEGMENTS * SEGMENTS);
    }
    args.input = input->payload;
    args.offsets = offsets;
    args.output = output->payload;
    args.output_dtype = of->output_dtype;
    return wr_reduce_segments_ex(&args, host());
}

static wr_status run_dot(const call *of, const image *input, const image *other, size_t count, image *output) {
    wr_dot_args args = dot_args(of->dtype, count);
    args.left = input->payload;
    args.right = other->payload;
    args.output = output->payload;
    args.output_dtype = of->output_dtype;
    return wr_dot_ex(&args, host());
}

static wr_status run_tiles(const call *of, const image *input, const image *other, size_t count, image *output) {
    (void)other;
    return wr_tile_reduce((wr_op)of->what, of->dtype, input->payload, output->payload, count, 8, host());
}

/* `what`: whether it is log-softmax. */
static wr_status run_softmax(const call *of, const image *input, const image *other, size_t count, image *output) {
    wr_softmax_args args = softmax_args(of->dtype, count > 1000 ? 7 : 1, count > 1000 ? count / 7 : count, 1);
    (void)other;
    args.input = input->payload;
    args.output = output->payload;
    args.output_dtype = of->output_dtype;
    args.log = of->what;
    args.scale = 0.3;
    return wr_softmax_ex(&args, host());
}

static wr_status run_backward(const call *of, const image *input, const image *other, size_t count, image *output) {
    wr_softmax_backward_args args = backward_args(of->dtype, 1, count / 7, 7);
    args.output = input->payload;
    args.output_gradient = other->payload;
    args.input_gradient = output->payload;
    args.input_gradient_dtype = of->output_dtype;
    args.log = of->what;
    args.scale = 0.7;
    return wr_softmax_backward_ex(&args, host());
}

static wr_status run_backward_of_logits(const call *of, const image *input, const image *other, size_t count,
                                        image *output) {
    static const float sums[7] = {1.5f, 2.25f, -3.0f, 0.1f, 7.0f, 1e-3f, 0.0f};
    static const double wide_sums[7] = {1.5, 2.25, -3.0, 0.1, 7.0, 1e-3, 0.0};
    wr_softmax_backward_args args = backward_args(of->dtype, 1, count / 7, 7);
    args.input = input->payload;
    args.logsumexp = of->dtype == WR_F64 ? (const void *)wide_sums : sums;
    args.output_gradient = other->payload;
    args.input_gradient = output->payload;
    args.input_gradient_dtype = of->output_dtype;
    args.log = of->what;
    args.add_to_input_gradient = 1;
    return wr_softmax_backward_ex(&args, host());
}

static const call calls[] = {
    {"sum", run_reduce, WR_SUM, WR_F64, WR_F16},
    {"product", run_reduce, WR_PRODUCT, WR_F32, WR_F32},
    {"L2 norm", run_reduce, WR_NORM_L2, WR_F32, WR_F64},
    {"logsumexp", run_reduce, WR_LOGSUMEXP, WR_F32, WR_BF16},
    {"count", run_reduce, WR_COUNT_NONZERO, WR_F32, WR_F32},
    {"sum of integers", run_reduce, WR_SUM, WR_I64, WR_F32},
    {"mean of integers", run_reduce, WR_MEAN, WR_U32, WR_F16},
    {"norm of integers", run_reduce, WR_NORM_L2, WR_I16, WR_F32},
    {"weighted columns", run_columns, WR_SUM, WR_F32, WR_F32},
    {"weighted columns", run_columns, WR_SUM, WR_F64, WR_F32},
    {"argmax of columns", run_columns, WR_ARGMAX, WR_F64, WR_I64},
    {"mean of columns", run_columns, WR_MEAN, WR_BF16, WR_F32},
    {"sums of segments", run_segments, WR_SUM, WR_F32, WR_F32},
    {"means of segments", run_segments, WR_MEAN, WR_F64, WR_F32},
    {"norms of segments", run_segments, WR_NORM_L2, WR_F16, WR_F16},
    {"logsumexp of segments", run_segments, WR_LOGSUMEXP, WR_F64, WR_F64},
    {"means of segments of integers", run_segments, WR_MEAN, WR_I32, WR_F32},
    {"dot", run_dot, 0, WR_F32, WR_F32},
    {"dot", run_dot, 0, WR_F64, WR_BF16},
    {"dot", run_dot, 0, WR_F8_E4M3, WR_F8_E4M3},
    {"tile sums", run_tiles, WR_SUM, WR_F32, WR_F32},
    {"tile products", run_tiles, WR_PRODUCT, WR_F64, WR_F64},
    {"tile means", run_tiles, WR_MEAN, WR_F16, WR_F16},
    {"softmax", run_softmax, 0, WR_F64, WR_F32},
    {"log-softmax", run_softmax, 1, WR_F32, WR_F16},
    {"gradient", run_backward, 0, WR_F32, WR_F32},
    {"gradient", run_backward, 0, WR_F64, WR_BF16},
    {"log-softmax's gradient", run_backward, 1, WR_F16, WR_F16},
    {"log-softmax's gradient", run_backward, 1, WR_F64, WR_F64},
    {"gradient from logits", run_backward_of_logits, 0, WR_F32, WR_F32},
    {"gradient from logits", run_backward_of_logits, 0, WR_F64, WR_F32},
    {"log-softmax's gradient from logits", run_backward_of_logits, 1, WR_BF16, WR_F32},
};

/* Part of the environment: how to set it and how to ask for it. */
typedef struct part {
    void (*set)(unsigned);
    unsigned (*get)(void);
} part;

static void set_rounding(unsigned mode) { (void)fesetround((int)mode); }
static unsigned rounding(void) { return (unsigned)fegetround(); }
static const part rounding_mode = {set_rounding, rounding};

static void check_call_in(const call *of, const image *input, const image *other, size_t count, const part *of_it,
                          unsigned value, const char *label) {
    const unsigned before = of_it->get();
    const size_t bytes = count * reference_size(of->output_dtype);
    image expected = image_new(bytes, 0), got = image_new(bytes, 0);
    wr_status first, second;
    unsigned after;
    memset(expected.payload, 0, expected.payload_bytes);
    memset(got.payload, 0, got.payload_bytes);
    first = of->run(of, input, other, count, &expected);
    of_it->set(value);
    second = of->run(of, input, other, count, &got);
    after = of_it->get();
    of_it->set(before);
    CHECK(first == WR_SUCCESS && second == WR_SUCCESS, "%s: %s", of->name, wr_status_name(second));
    CHECK(after == value, "%s, %s: the caller's environment was %#x and is %#x", label, of->name, value, after);
    CHECK(image_equal(&expected, &got), "%s: other bits of %s of %s to %s, %zu elements", label, of->name,
          dtype_name(of->dtype), dtype_name(of->output_dtype), count);
    image_free(&expected);
    image_free(&got);
}

/* The same few thousand elements over and over. */
static image elements_of(wr_dtype dtype, data_kind kind, uint64_t seed) {
    const size_t period = 4099, bytes = reference_size(dtype);
    image made = image_new(LONGEST * bytes, 0);
    size_t done;
    fill_random(dtype, kind, seed, made.payload, period);
    for (done = period; done < LONGEST; done += period) {
        memcpy(made.payload + done * bytes, made.payload, (LONGEST - done < period ? LONGEST - done : period) * bytes);
    }
    return made;
}

static void check_environment(const part *of_it, unsigned value, const char *label) {
    static const data_kind kinds[] = {DATA_WIDE, DATA_SUBNORMAL};
    size_t i, k, c;
    for (i = 0; i < sizeof calls / sizeof *calls; ++i) {
        for (k = 0; k < 2; ++k) {
            image input = elements_of(calls[i].dtype, kinds[k], 11 + k);
            image other = elements_of(calls[i].dtype, kinds[k], 13 + k);
            for (c = 0; c < COUNTS; ++c) {
                check_call_in(&calls[i], &input, &other, counts[c], of_it, value, label);
            }
            image_free(&input);
            image_free(&other);
        }
    }
}

/* 1 + 2^-30 is not a float: to nearest it is 1, upward the next one. */
static void check_known_sum(void) {
    static const float pair[2] = {1.0f, 0x1p-30f};
    float sums[2];
    wr_status status;
    set_rounding(FE_UPWARD);
    status = wr_tile_reduce(WR_SUM, WR_F32, pair, sums, 2, 2, host());
    set_rounding(FE_TONEAREST);
    CHECK(status == WR_SUCCESS && sums[0] == 1.0f && sums[1] == 1.0f, "tile sum %a", (double)sums[0]);
}

#if defined(__SSE2__)
static void set_control(unsigned value) { _mm_setcsr(value); }
static unsigned control(void) { return _mm_getcsr(); }

static void check_controls(void) {
    static const part control_word = {set_control, control};
    const unsigned at_first = control() & ~0x3Fu, flush_to_zero = 0x8000, denormals_are_zero = 0x0040, masks = 0x1F80;
    check_environment(&control_word, at_first | flush_to_zero | denormals_are_zero, "subnormals flushed");
    /* All exceptions end the program, and all flags are set already. */
    check_environment(&control_word, (at_first & ~masks), "traps");
    check_environment(&control_word, at_first | 0x15, "some flags");
}
#else
static void check_controls(void) {}
#endif

int main(int argc, char **argv) {
    places_open(argc, argv);
    check_known_sum();
    check_environment(&rounding_mode, FE_UPWARD, "rounding upward");
    check_environment(&rounding_mode, FE_DOWNWARD, "rounding downward");
    check_environment(&rounding_mode, FE_TOWARDZERO, "rounding toward zero");
    check_controls();
    places_close();
    return check_report("every_call_in_any_float_environment");
}
