/*
 * Whatever floating-point environment the caller is in, a subnormal scale is no zero, one that no f32 can be is
 * refused, and a NaN is refused without a trap; the caller's setting is still there afterwards.
 */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/softmax_jobs.h"

#include <fenv.h>
#include <math.h>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

typedef struct setting {
    const char *name;
    void (*set)(unsigned);
    unsigned (*get)(void);
    unsigned value;
} setting;

static void set_rounding(unsigned mode) { (void)fesetround((int)mode); }

static unsigned rounding(void) { return (unsigned)fegetround(); }

/* What a call says of a scale, and of the same in its query. */
static wr_status status_of_scale(wr_dtype dtype, double scale, int of_gradient) {
    static double memory[4];
    wr_softmax_args forward = softmax_args(dtype, 1, 2, 1);
    wr_softmax_backward_args backward = backward_args(dtype, 1, 2, 1);
    size_t bytes = 0;
    wr_status query, status;
    forward.scale = backward.scale = scale;
    forward.input = backward.output = backward.output_gradient = memory;
    forward.output = backward.input_gradient = memory + 2;
    query = of_gradient ? wr_softmax_backward_workspace_size(&backward, &bytes)
                        : wr_softmax_workspace_size(&forward, &bytes);
    status =
        of_gradient ? wr_softmax_backward_ex(&backward, wr_host_stream()) : wr_softmax_ex(&forward, wr_host_stream());
    return query == status ? status : WR_ERROR_INTERNAL;
}

static void check_scales(const setting *in) {
    static const struct {
        double scale;
        int fits_f64, fits_f32;
    } scales[] = {
        {1e-310, 1, 0},          {-1e-310, 1, 0},          {0.0, 1, 1},      {-0.0, 1, 1},     {(double)NAN, 0, 0},
        {-(double)NAN, 0, 0},    {(double)INFINITY, 0, 0}, {0x1p-150, 1, 0}, {0x1p-149, 1, 1}, {-0x1.ffffffp127, 1, 0},
        {0x1.fffffefp127, 1, 1},
    };
    size_t i;
    int of_gradient;
    for (i = 0; i < sizeof scales / sizeof *scales; ++i) {
        for (of_gradient = 0; of_gradient < 2; ++of_gradient) {
            const unsigned before = in->get();
            wr_status wide, narrow;
            unsigned after;
            in->set(in->value);
            wide = status_of_scale(WR_F64, scales[i].scale, of_gradient);
            narrow = status_of_scale(WR_F32, scales[i].scale, of_gradient);
            after = in->get();
            in->set(before);
            CHECK(wide == (scales[i].fits_f64 ? WR_SUCCESS : WR_ERROR_INVALID_OPTION), "%s: scale %zu of f64: %s",
                  in->name, i, wr_status_name(wide));
            CHECK(narrow == (scales[i].fits_f32 ? WR_SUCCESS : WR_ERROR_INVALID_OPTION), "%s: scale %zu of f32: %s",
                  in->name, i, wr_status_name(narrow));
            CHECK(after == in->value, "%s: the caller's setting is now %#x", in->name, after);
        }
    }
}

static void check_rounding(void) {
    const setting upward = {"rounding upward", set_rounding, rounding, FE_UPWARD};
    check_scales(&upward);
}

#if defined(__SSE2__)
static void set_control(unsigned value) { _mm_setcsr(value); }

/* The control bits; the lowest six only record what has happened. */
static unsigned control(void) { return _mm_getcsr() & ~0x3Fu; }

static void check_control(void) {
    const unsigned flush_to_zero = 0x8000, denormals_are_zero = 0x0040, masks = 0x1F80;
    const setting flushed = {"subnormals flushed", set_control, control,
                             control() | flush_to_zero | denormals_are_zero};
    const setting trapped = {"traps", set_control, control, control() & ~masks};
    check_scales(&flushed);
    check_scales(&trapped);
}
#else
static void check_control(void) {}
#endif

int main(int argc, char **argv) {
    places_open(argc, argv);
    check_rounding();
    check_control();
    places_close();
    return check_report("a_scale_is_what_its_bits_say");
}
