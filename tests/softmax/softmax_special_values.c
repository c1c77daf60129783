/*
 * Softmax's exact cases: one element, equal elements, NaN, infinities, rows of -infinity and both options for them,
 * no rows, no elements.
 */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/random_numbers.h"
#include "reference/reference.h"

#include <math.h>
#include <string.h>

static const wr_dtype float_types[] = {WR_F32, WR_F64, WR_F16, WR_BF16, WR_F8_E5M2};
enum { FLOAT_TYPES = 5, ROWS = 5, SPECIAL_ROW = 2 };

static uint64_t bits_of(wr_dtype dtype, double value) {
    uint64_t bits = 0;
    reference_put(dtype, &bits, 0, value);
    return bits;
}

static wr_dtype sum_type(wr_dtype dtype) { return dtype == WR_F64 ? WR_F64 : WR_F32; }

typedef struct job {
    wr_softmax_args args;
    image input, output, sums;
} job;

static job job_new(wr_dtype dtype, size_t outer, size_t axis, size_t inner) {
    job made;
    made.args = softmax_args(dtype, outer, axis, inner);
    made.input = image_new(outer * axis * inner * reference_size(dtype), 0);
    made.output = image_new(outer * axis * inner * reference_size(dtype), 0);
    made.sums = image_new(outer * inner * reference_size(sum_type(dtype)), 0);
    made.args.input = made.input.payload;
    made.args.output = made.output.payload;
    made.args.logsumexp = made.sums.payload;
    return made;
}

static void job_run(job *of) {
    memset(of->output.base, IMAGE_POISON, of->output.size);
    memset(of->sums.base, IMAGE_POISON, of->sums.size);
    softmax_everywhere(&of->args, &of->input, &of->output, &of->sums, "special values");
}

static void job_free(job *of) {
    image_free(&of->input);
    image_free(&of->output);
    image_free(&of->sums);
}

/* Softmax is exactly 1; log-softmax is exactly 0, with the sign of the element where that is a zero. */
static void check_one_element(wr_dtype dtype) {
    static const double values[] = {0.0, -0.0, 1.0, -7.25, 0.1, 88.0, 1000.0, -60000.0, 3e38, -3e38, 1e-40};
    enum { VALUES = sizeof values / sizeof *values };
    job of = job_new(dtype, 1, 1, VALUES);
    size_t i;
    int form;
    for (i = 0; i < VALUES; ++i) {
        double largest = dtype == WR_F16 ? 65504.0 : dtype == WR_F8_E5M2 ? 57344.0 : (double)INFINITY;
        reference_put(dtype, of.input.payload, i, fmin(fmax(values[i], -largest), largest));
    }
    for (form = 0; form < 2; ++form) {
        double expected = form == 0 ? 1.0 : 0.0;
        of.args.log = form;
        job_run(&of);
        for (i = 0; i < VALUES; ++i) {
            double got = reference_get(dtype, of.output.payload, i);
            CHECK(got == expected && !signbit(got) == !(form == 1 && values[i] == 0.0 && signbit(values[i])),
                  "one element %g, %s, log %d: %a", values[i], dtype_name(dtype), form, got);
        }
    }
    job_free(&of);
}

static void check_equal_elements(double value, size_t n) {
    job of = job_new(WR_F32, 1, n, 1);
    uint64_t expected = bits_of(WR_F32, 1.0 / (double)n);
    size_t i, wrong = 0;
    for (i = 0; i < n; ++i) {
        reference_put(WR_F32, of.input.payload, i, value);
    }
    job_run(&of);
    for (i = 0; i < n; ++i) {
        wrong += reference_bits(WR_F32, of.output.payload, i) != expected;
    }
    CHECK(wrong == 0, "%zu elements of %a: %zu are not 1/n rounded, the first is %a", n, value, wrong,
          reference_get(WR_F32, of.output.payload, 0));
    job_free(&of);
}

static void check_all_equal_elements(void) {
    static const double values[] = {0.0, 0.7, -3.3, 11.0, 1e3, 3e38, -3e38};
    size_t n, i;
    for (i = 0; i < sizeof values / sizeof *values; ++i) {
        for (n = 1; n <= 6000; n += n < 300 ? 1 : 211) {
            check_equal_elements(values[i], n);
        }
    }
}

/* Blocks so far apart that their powers of two differ by more than 64-bit integers can: the lower one has no weight. */
static void check_blocks_far_apart(double low, double high) {
    enum { BLOCK = 1024 };
    job of = job_new(WR_F32, 1, 2 * BLOCK, 1);
    size_t i, wrong = 0;
    for (i = 0; i < 2 * BLOCK; ++i) {
        reference_put(WR_F32, of.input.payload, i, i < BLOCK ? low : high);
    }
    job_run(&of);
    for (i = 0; i < 2 * BLOCK; ++i) {
        double expected = (i < BLOCK) == (low < high) ? 0.0 : 1.0 / BLOCK;
        wrong += reference_bits(WR_F32, of.output.payload, i) != bits_of(WR_F32, expected);
    }
    CHECK(wrong == 0, "%zu elements of a block of %g and one of %g are wrong", wrong, low, high);
    job_free(&of);
}

/* A special element (or a whole row of it) in the middle row of several, which must not disturb its neighbours. */
typedef struct special {
    const char *label;
    double element;
    int whole_row;
    double logsumexp;
    /* NaN, or what empty_row says */
    int row_of_nan, row_is_empty;
} special;

static const special specials[] = {
    {"NaN", (double)NAN, 0, (double)NAN, 1, 0},
    {"+infinity", (double)INFINITY, 0, (double)INFINITY, 1, 0},
    {"only NaN", (double)NAN, 1, (double)NAN, 1, 0},
    {"only +infinity", (double)INFINITY, 1, (double)INFINITY, 1, 0},
    {"only -infinity", -(double)INFINITY, 1, -(double)INFINITY, 0, 1},
};
enum { SPECIALS = sizeof specials / sizeof *specials };

static size_t index_of(const job *of, size_t row, size_t i) {
    return of->args.inner == 1 ? row * of->args.axis + i : i * of->args.inner + row;
}

static double expected_element(const job *of, const special *in) {
    if (in->row_is_empty && of->args.empty_row == WR_EMPTY_ROW_ZERO) {
        return of->args.log ? -(double)INFINITY : 0.0;
    }
    return (double)NAN;
}

static void check_special_rows(const job *of, const special *in, const job *clean) {
    wr_dtype dtype = of->args.dtype;
    uint64_t expected = bits_of(dtype, expected_element(of, in));
    uint64_t sum = reference_bits(sum_type(dtype), of->sums.payload, SPECIAL_ROW);
    size_t row, i, wrong = 0;
    for (row = 0; row < ROWS; ++row) {
        for (i = 0; i < of->args.axis; ++i) {
            uint64_t bits = reference_bits(dtype, of->output.payload, index_of(of, row, i));
            uint64_t undisturbed = reference_bits(dtype, clean->output.payload, index_of(of, row, i));
            wrong += bits != (row == SPECIAL_ROW ? expected : undisturbed);
        }
    }
    CHECK(wrong == 0, "%s, %s, log %d, empty_row %d, inner %zu, axis %zu: %zu elements are wrong", in->label,
          dtype_name(dtype), of->args.log, (int)of->args.empty_row, of->args.inner, of->args.axis, wrong);
    CHECK(sum == bits_of(sum_type(dtype), in->logsumexp), "%s, %s: logsumexp has the bits %#llx", in->label,
          dtype_name(dtype), (unsigned long long)sum);
}

static void check_special(const special *in, wr_dtype dtype, size_t axis, int columns, size_t position) {
    job of = columns ? job_new(dtype, 1, axis, ROWS) : job_new(dtype, ROWS, axis, 1);
    job clean = columns ? job_new(dtype, 1, axis, ROWS) : job_new(dtype, ROWS, axis, 1);
    int options;
    size_t i;
    fill_random(dtype, DATA_UNIFORM, axis, of.input.payload, ROWS * axis);
    memcpy(clean.input.payload, of.input.payload, of.input.payload_bytes);
    for (i = 0; i < axis; ++i) {
        if (in->whole_row || i == position) {
            reference_put(dtype, of.input.payload, index_of(&of, SPECIAL_ROW, i), in->element);
        }
    }
    for (options = 0; options < 4; ++options) {
        of.args.log = clean.args.log = options & 1;
        of.args.empty_row = options & 2 ? WR_EMPTY_ROW_ZERO : WR_EMPTY_ROW_NAN;
        job_run(&of);
        job_run(&clean);
        check_special_rows(&of, in, &clean);
    }
    job_free(&of);
    job_free(&clean);
}

/* -infinity takes no part: 0 (in log-softmax -infinity), and the others share the weight as if it were not there. */
static void check_minus_infinity_among_others(wr_dtype dtype, size_t pairs) {
    job with = job_new(dtype, 1, 2 * pairs, 1);
    size_t i, wrong = 0;
    int form;
    for (i = 0; i < 2 * pairs; ++i) {
        reference_put(dtype, with.input.payload, i, i % 2 ? -(double)INFINITY : 0.0);
    }
    for (form = 0; form < 2; ++form) {
        double others = form == 0 ? 1.0 / (double)pairs : -log((double)pairs);
        double excluded = form == 0 ? 0.0 : -(double)INFINITY;
        with.args.log = form;
        job_run(&with);
        for (i = 0; i < 2 * pairs; ++i) {
            double got = reference_get(dtype, with.output.payload, i);
            double rounding = dtype == WR_F8_E5M2 ? 0.126 : 0.005;
            int close_enough = fabs(got - others) <= rounding * fabs(others) + 1e-5;
            int is_excluded = reference_bits(dtype, with.output.payload, i) == bits_of(dtype, excluded);
            wrong += i % 2 == 0 ? !close_enough : !is_excluded;
        }
        CHECK(wrong == 0, "%s, %zu of -infinity, log %d: %zu elements are wrong", dtype_name(dtype), pairs, form,
              wrong);
    }
    job_free(&with);
}

/* A negative scale turns the infinities around. */
static void check_negative_scale(wr_dtype dtype) {
    job of = job_new(dtype, 2, 3, 1);
    const double logits[] = {0.0, (double)INFINITY, 0.0, 0.0, -(double)INFINITY, 0.0};
    const double expected[] = {0.5, 0.0, 0.5, (double)NAN, (double)NAN, (double)NAN};
    size_t i;
    for (i = 0; i < 6; ++i) {
        reference_put(dtype, of.input.payload, i, logits[i]);
    }
    of.args.scale = -1.0;
    job_run(&of);
    for (i = 0; i < 6; ++i) {
        uint64_t bits = reference_bits(dtype, of.output.payload, i);
        CHECK(bits == bits_of(dtype, expected[i]), "%s, scale -1, element %zu: %#llx", dtype_name(dtype), i,
              (unsigned long long)bits);
    }
    job_free(&of);
}

/* No elements: nothing is written but the logsumexp of nothing. */
static void check_empty(wr_dtype dtype) {
    job of = job_new(dtype, 3, 0, 2);
    size_t i;
    job_run(&of);
    for (i = 0; i < 6; ++i) {
        uint64_t bits = reference_bits(sum_type(dtype), of.sums.payload, i);
        CHECK(bits == bits_of(sum_type(dtype), -(double)INFINITY), "logsumexp of nothing: %#llx",
              (unsigned long long)bits);
    }
    job_free(&of);
    of = job_new(dtype, 0, 4, 2);
    job_run(&of);
    job_free(&of);
}

int main(int argc, char **argv) {
    static const size_t lengths[] = {1, 2, 3, 33, 257, 1024, 1025, 4100};
    size_t type, in, n;
    places_open(argc, argv);
    check_all_equal_elements();
    check_blocks_far_apart(-3e18, 3.41e18);
    check_blocks_far_apart(3.41e18, -3e18);
    check_blocks_far_apart(-3e38, 3e38);
    for (type = 0; type < FLOAT_TYPES; ++type) {
        wr_dtype dtype = float_types[type];
        check_one_element(dtype);
        check_negative_scale(dtype);
        check_empty(dtype);
        for (n = 0; n < sizeof lengths / sizeof *lengths; ++n) {
            check_minus_infinity_among_others(dtype, lengths[n]);
            for (in = 0; in < SPECIALS; ++in) {
                check_special(&specials[in], dtype, lengths[n], 0, 0);
                check_special(&specials[in], dtype, lengths[n], 0, lengths[n] - 1);
                check_special(&specials[in], dtype, lengths[n], 1, lengths[n] / 2);
            }
        }
    }
    places_close();
    return check_report("softmax_special_values");
}
