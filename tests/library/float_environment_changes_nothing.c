/*
 * A caller may have set another rounding mode, or asked its processor to flush subnormals: the bits are the same, in
 * every thread that takes part, and the caller's setting is still there afterwards.
 */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/random_numbers.h"
#include "reference/reference.h"

#include <fenv.h>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

/* Enough for the host device to give every core its part. */
enum { COUNT = 1000003, ROWS = 100, AXIS = 10000 };

static const data_kind kinds[] = {DATA_WIDE, DATA_SUBNORMAL, DATA_UNIFORM};
enum { KINDS = 3 };

/* The short calls that are compared: a reduction by its operator, softmax by zero. */
static const int calls[] = {WR_SUM, WR_MEAN, WR_MIN, 0};
enum { CALLS = 4 };

static wr_status run(int op, wr_dtype dtype, const image *input, image *output) {
    struct CUstream_st *host = wr_host_stream();
    if (op == 0) {
        return wr_softmax(dtype, input->payload, output->payload, ROWS, AXIS, 1, host);
    }
    return wr_reduce((wr_op)op, dtype, input->payload, output->payload, 1, COUNT, 1, host);
}

static void set_rounding(unsigned mode) { (void)fesetround((int)mode); }

static unsigned rounding(void) { return (unsigned)fegetround(); }

static void check_setting(void (*set)(unsigned), unsigned (*get)(void), unsigned value, const char *label) {
    static const wr_dtype types[] = {WR_F32, WR_F64, WR_F16, WR_BF16};
    const unsigned before = get();
    size_t type, kind, i;
    for (type = 0; type < 4; ++type) {
        for (kind = 0; kind < KINDS; ++kind) {
            image input = image_new(COUNT * reference_size(types[type]), 0);
            fill_random(types[type], kinds[kind], kind + 3, input.payload, COUNT);
            for (i = 0; i < CALLS; ++i) {
                image expected = image_new(input.payload_bytes, 0), got = image_new(input.payload_bytes, 0);
                wr_status first = run(calls[i], types[type], &input, &expected), second;
                unsigned after;
                set(value);
                second = run(calls[i], types[type], &input, &got);
                after = get();
                set(before);
                CHECK(first == WR_SUCCESS && second == WR_SUCCESS, "%s", wr_status_name(second));
                CHECK(after == value, "%s: the caller's setting is now %#x", label, after);
                CHECK(image_equal(&expected, &got), "%s: op %d, %s, %s: other bits", label, calls[i],
                      dtype_name(types[type]), data_kind_name(kinds[kind]));
                image_free(&expected);
                image_free(&got);
            }
            image_free(&input);
        }
    }
}

#if defined(__SSE2__)
static void set_control(unsigned value) { _mm_setcsr(value); }

/* The control bits; the lowest six only record what has happened. */
static unsigned control(void) { return _mm_getcsr() & ~0x3Fu; }

static void check_flushing(void) {
    const unsigned flush_to_zero = 0x8000, denormals_are_zero = 0x0040;
    check_setting(set_control, control, control() | flush_to_zero | denormals_are_zero, "subnormals flushed");
}
#else
static void check_flushing(void) {}
#endif

int main(int argc, char **argv) {
    places_open(argc, argv);
    check_setting(set_rounding, rounding, FE_UPWARD, "rounding upward");
    check_setting(set_rounding, rounding, FE_DOWNWARD, "rounding downward");
    check_setting(set_rounding, rounding, FE_TOWARDZERO, "rounding toward zero");
    check_flushing();
    places_close();
    return check_report("float_environment_changes_nothing");
}
