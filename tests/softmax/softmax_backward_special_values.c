/* The gradients of rows with NaN, infinities and nothing left, of one element, of none, and of what was left out. */
#include "harness/harness.h"
#include "harness/softmax_jobs.h"
#include "reference/reference.h"

#include <math.h>
#include <string.h>

static const wr_dtype float_types[] = {WR_F32, WR_F64, WR_F16, WR_BF16, WR_F8_E4M3, WR_F8_E5M2};
enum { FLOAT_TYPES = 6 };

typedef struct job {
    wr_softmax_backward_args args;
    image saved, sums, gradient, result, mask;
    backward_images images;
} job;

static uint64_t bits_of(wr_dtype dtype, double value) {
    uint64_t bits = 0;
    reference_put(dtype, &bits, 0, value);
    return bits;
}

/* One row of `count` elements; sum is the logsumexp of logits, where those are saved. */
static job job_new(wr_dtype dtype, size_t count, const double *saved, const double *gradient, int from_logits,
                   double sum) {
    job made;
    size_t i;
    memset(&made, 0, sizeof made);
    made.args = backward_args(dtype, 1, count, 1);
    made.saved = image_new(count * reference_size(dtype), 0);
    made.gradient = image_new(count * reference_size(dtype), 0);
    made.result = image_new(count * reference_size(dtype), 0);
    made.sums = image_new(reference_size(softmax_state_dtype(dtype)), 0);
    made.mask = image_new(count, 0);
    memset(made.mask.payload, 1, count);
    for (i = 0; i < count; ++i) {
        reference_put(dtype, made.saved.payload, i, saved[i]);
        reference_put(dtype, made.gradient.payload, i, gradient[i]);
    }
    reference_put(softmax_state_dtype(dtype), made.sums.payload, 0, sum);
    if (from_logits) {
        made.args.input = made.saved.payload;
        made.args.logsumexp = made.sums.payload;
    } else {
        made.args.output = made.saved.payload;
    }
    made.args.output_gradient = made.gradient.payload;
    made.args.input_gradient = made.result.payload;
    return made;
}

static void job_run(job *of, const char *label) {
    of->images.saved = &of->saved;
    of->images.logsumexp = of->args.logsumexp == NULL ? NULL : &of->sums;
    of->images.output_gradient = &of->gradient;
    of->images.input_gradient = &of->result;
    of->images.mask = &of->mask;
    run_backward_everywhere(&of->args, &of->images, label);
}

static void job_free(job *of) {
    image_free(&of->saved);
    image_free(&of->sums);
    image_free(&of->gradient);
    image_free(&of->result);
    image_free(&of->mask);
}

static void expect(const job *of, const double *expected, const char *label) {
    wr_dtype dtype = of->args.dtype;
    size_t i;
    for (i = 0; i < of->args.axis; ++i) {
        CHECK(reference_bits(dtype, of->result.payload, i) == bits_of(dtype, expected[i]), "%s, %s, log %d: [%zu] %g",
              label, dtype_name(dtype), of->args.log, i, reference_get(dtype, of->result.payload, i));
    }
}

static void check_one(wr_dtype dtype, size_t count, const double *saved, const double *gradient, int log,
                      const double *expected, const char *label) {
    job of = job_new(dtype, count, saved, gradient, 0, 0.0);
    of.args.log = log;
    job_run(&of, label);
    expect(&of, expected, label);
    job_free(&of);
}

/* Sums of these are exact in every type. */
static void check_saved_outputs(wr_dtype dtype) {
    static const double nan = (double)NAN, infinity = (double)INFINITY;
    const double halves[] = {0.5, 0.5, 0.0}, gradient[] = {1.0, -3.0, 2.0};
    const double exact[] = {1.0, -1.0, 0.0}, spoilt[] = {nan, nan, nan};
    const double with_nan[] = {0.5, nan, 0.0}, nan_gradient[] = {1.0, nan, 2.0}, infinite[] = {1.0, -3.0, infinity};
    const double zeros[] = {0.0, 0.0, 0.0}, minus_zero[] = {0.0, -0.0, 0.0};
    const double one[] = {1.0}, any[] = {-2.0}, none[] = {0.0}, zero_log[] = {0.0};
    const double certain[] = {0.0, -infinity, -infinity}, of_certain[] = {1.0, -3.0, 2.0};
    check_one(dtype, 3, halves, gradient, 0, exact, "exact");
    check_one(dtype, 3, with_nan, gradient, 0, spoilt, "an output that is NaN");
    check_one(dtype, 3, halves, nan_gradient, 0, spoilt, "a gradient that is NaN");
    if (dtype != WR_F8_E4M3) {
        check_one(dtype, 3, halves, infinite, 0, spoilt, "an infinite gradient where the weight is 0");
        check_one(dtype, 3, certain, gradient, 1, of_certain, "log-softmax of a certain outcome");
    }
    check_one(dtype, 3, zeros, gradient, 0, minus_zero, "a row of zeros");
    check_one(dtype, 1, one, any, 0, none, "one element");
    check_one(dtype, 1, zero_log, any, 1, none, "one element of log-softmax");
    check_one(dtype, 3, halves, nan_gradient, 1, spoilt, "log-softmax, a gradient that is NaN");
}

static void check_logits_of(wr_dtype dtype, double sum, wr_empty_row empty_row, int log, const double *expected,
                            const char *label) {
    const double logits[] = {0.0, 1.0, -2.0}, gradient[] = {1.0, -3.0, 2.0};
    job of = job_new(dtype, 3, logits, gradient, 1, sum);
    of.args.log = log;
    of.args.empty_row = empty_row;
    job_run(&of, label);
    expect(&of, expected, label);
    job_free(&of);
}

static void check_logits(wr_dtype dtype) {
    static const double nan = (double)NAN, infinity = (double)INFINITY;
    const double spoilt[] = {nan, nan, nan}, nothing[] = {0.0, -0.0, 0.0}, untouched[] = {1.0, -3.0, 2.0};
    const double left_out[] = {0.0, 0.0, 0.0};
    int log;
    for (log = 0; log < 2; ++log) {
        check_logits_of(dtype, nan, WR_EMPTY_ROW_NAN, log, spoilt, "a row with a NaN");
        check_logits_of(dtype, infinity, WR_EMPTY_ROW_ZERO, log, spoilt, "a row with +infinity");
        check_logits_of(dtype, -infinity, WR_EMPTY_ROW_NAN, log, spoilt, "a row of -infinity");
        check_logits_of(dtype, -infinity, WR_EMPTY_ROW_ZERO, log, log ? left_out : nothing, "a row of -infinity, 0");
        check_logits_of(dtype, 1e4, WR_EMPTY_ROW_NAN, log, log ? untouched : nothing, "weights too small to count");
    }
}

/* Rows of whole vectors with every kind of sum, and logits from far below it to far above; the host's bits decide. */
static void check_far_logits(wr_dtype dtype, size_t count, int log, wr_empty_row empty_row, double scale) {
    static const double sums[] = {0.5, (double)NAN, (double)INFINITY, -(double)INFINITY, 90.0, -200.0};
    static const double logits[] = {0.0, 1.0, -2.0, -86.5, -85.5, 85.75, 86.5, -300.0, 300.0, -0.0};
    enum { ROWS = sizeof sums / sizeof *sums, LOGITS = sizeof logits / sizeof *logits };
    size_t size = reference_size(dtype), i;
    wr_softmax_backward_args args = backward_args(dtype, ROWS, count, 1);
    image saved = image_new(ROWS * count * size, 0), gradient = image_new(ROWS * count * size, 0),
          result = image_new(ROWS * count * size, 0),
          of_rows = image_new(ROWS * reference_size(softmax_state_dtype(dtype)), 0);
    backward_images images;
    memset(&images, 0, sizeof images);
    for (i = 0; i < ROWS * count; ++i) {
        int is_mild = i % count < 3000 && i / count % 2 == 0; /* rows whose gradients are numbers */
        reference_put(dtype, saved.payload, i, is_mild ? logits[i % 4] : i % 997 == 5 ? NAN : logits[i % LOGITS]);
        reference_put(dtype, gradient.payload, i, i % 3 == 0 ? -0.0 : (double)(i % 7) - 3.0);
    }
    for (i = 0; i < ROWS; ++i) {
        reference_put(softmax_state_dtype(dtype), of_rows.payload, i, sums[i]);
    }
    args.log = log;
    args.empty_row = empty_row;
    args.scale = scale;
    args.input = saved.payload;
    args.logsumexp = of_rows.payload;
    args.output_gradient = gradient.payload;
    args.input_gradient = result.payload;
    images.saved = &saved;
    images.logsumexp = &of_rows;
    images.output_gradient = &gradient;
    images.input_gradient = &result;
    run_backward_everywhere(&args, &images, "far logits");
    image_free(&saved);
    image_free(&gradient);
    image_free(&result);
    image_free(&of_rows);
}

static void check_vectors_of_logits(wr_dtype dtype) {
    static const size_t counts[] = {16, 304, 1024, 4000, 9600};
    size_t i;
    int log;
    for (i = 0; i < sizeof counts / sizeof *counts; ++i) {
        for (log = 0; log < 2; ++log) {
            check_far_logits(dtype, counts[i], log, WR_EMPTY_ROW_NAN, 0.0);
            check_far_logits(dtype, counts[i], log, WR_EMPTY_ROW_ZERO, -1.5);
        }
    }
}

typedef struct empty_rows_job {
    size_t outer, axis, inner;
    double scale;
    int add, from_logits;
} empty_rows_job;

/* Every other row but the first has -infinity in all places. */
static int is_empty(size_t row) { return row % 2 == 1; }

/* One row, one gradient: log-softmax of a row of -infinity with WR_EMPTY_ROW_ZERO has the gradient of the row that a
 * mask leaves out, from its logits and from its outputs, whatever the scale, and what was there stays where it is added
 * to. The other rows have some elements of -infinity, and the bits that they have by themselves. */
static void check_empty_row_is_left_out(wr_dtype dtype, empty_rows_job of) {
    static const double infinity = (double)INFINITY;
    const wr_dtype state = softmax_state_dtype(dtype);
    size_t rows = of.outer * of.inner, count = rows * of.axis, size = reference_size(dtype), i;
    wr_softmax_backward_args args = backward_args(dtype, of.outer, of.axis, of.inner);
    image saved = image_new(count * size, 0), gradient = image_new(count * size, 0),
          result = image_new(count * size, 0), mask = image_new(count, 0),
          sums = image_new(rows * reference_size(state), 0), expected;
    backward_images images;
    memset(&images, 0, sizeof images);
    for (i = 0; i < count; ++i) {
        size_t row = i / of.inner / of.axis * of.inner + i % of.inner;
        mask.payload[i] = !is_empty(row);
        reference_put(dtype, saved.payload, i,
                      is_empty(row) || i / of.inner % of.axis % 3 == 1 ? -infinity : -(double)(i % 5));
        reference_put(dtype, gradient.payload, i, (double)(i % 7) - 3.0);
        reference_put(dtype, result.payload, i, 0.25);
    }
    for (i = 0; i < rows; ++i) {
        reference_put(state, sums.payload, i, is_empty(i) ? -infinity : 8.0);
    }
    args.log = 1;
    args.empty_row = WR_EMPTY_ROW_ZERO;
    args.scale = of.scale;
    args.add_to_input_gradient = of.add;
    (*(of.from_logits ? &args.input : &args.output)) = saved.payload;
    args.logsumexp = of.from_logits ? sums.payload : NULL;
    args.output_gradient = gradient.payload;
    images.saved = &saved;
    images.logsumexp = of.from_logits ? &sums : NULL;
    images.output_gradient = &gradient;
    expected = image_copy(&result);
    args.input_gradient = expected.payload;
    args.mask = mask.payload;
    args.empty_row = WR_EMPTY_ROW_NAN; /* of which nothing is left out otherwise */
    images.mask = &mask;
    images.input_gradient = &expected;
    run_backward_everywhere(&args, &images, "left out");
    args.input_gradient = result.payload;
    args.mask = NULL;
    args.empty_row = WR_EMPTY_ROW_ZERO;
    images.mask = NULL;
    images.input_gradient = &result;
    run_backward_everywhere(&args, &images, "empty rows");
    CHECK(image_equal(&expected, &result),
          "[%zu][%zu][%zu] %s, scale %g, add %d, from logits %d: an empty row is not one left out", of.outer, of.axis,
          of.inner, dtype_name(dtype), of.scale, of.add, of.from_logits);
    image_free(&saved);
    image_free(&gradient);
    image_free(&result);
    image_free(&mask);
    image_free(&sums);
    image_free(&expected);
}

/* Rows and columns that kernels hold, and such as are read twice or cut between threads. */
static void check_empty_rows(wr_dtype dtype) {
    static const empty_rows_job jobs[] = {{5, 304, 1, 0.0, 0, 1},    {5, 304, 1, -1.5, 0, 1}, {5, 304, 1, -1.5, 1, 1},
                                          {5, 304, 1, 0.0, 0, 0},    {5, 304, 1, -1.5, 1, 0}, {3, 35, 1, 1.0, 0, 0},
                                          {3, 2056, 1, 1.0, 0, 0},   {3, 2051, 1, 3.0, 0, 0}, {2, 140001, 1, 0.5, 1, 0},
                                          {2, 140008, 1, 1.0, 0, 0}, {2, 40, 24, 1.0, 0, 0},  {2, 40, 24, -2.0, 0, 0},
                                          {1, 3000, 8, 1.0, 0, 0},   {1, 1100, 9, 2.0, 0, 0}, {3, 1, 1, 1.0, 0, 0}};
    size_t i;
    for (i = 0; i < sizeof jobs / sizeof *jobs; ++i) {
        if (jobs[i].axis < 100000 || dtype == WR_F32) {
            check_empty_row_is_left_out(dtype, jobs[i]);
        }
    }
}

/* E4M3 has no infinity: log-softmax's outputs of an empty row are NaN there, as those of a row with a NaN are, and so
 * are their gradients. */
static void check_empty_row_of_e4m3(void) {
    static const double nan = (double)NAN, outputs[] = {nan, nan, nan}, gradient[] = {1.0, -3.0, 2.0};
    job of = job_new(WR_F8_E4M3, 3, outputs, gradient, 0, 0.0);
    of.args.log = 1;
    of.args.empty_row = WR_EMPTY_ROW_ZERO;
    job_run(&of, "an empty row's outputs of E4M3");
    expect(&of, outputs, "an empty row's outputs of E4M3");
    job_free(&of);
}

/* The gradient of what was left out is +0 whatever stands there, and what was there stays where it is added to. */
static void check_left_out(wr_dtype dtype) {
    const double nan = (double)NAN, saved[] = {0.5, nan, 0.5, nan}, gradient[] = {1.0, nan, -3.0, nan};
    const double expected[] = {1.0, 0.0, -1.0, 0.0}, added[] = {3.0, 2.0, 1.0, 2.0};
    int64_t length = 3;
    image lengths = image_new(sizeof length, 0);
    job of = job_new(dtype, 4, saved, gradient, 0, 0.0);
    size_t i;
    memcpy(lengths.payload, &length, sizeof length);
    of.mask.payload[1] = 0;
    of.args.mask = of.mask.payload;
    of.args.lengths = (const int64_t *)(const void *)lengths.payload;
    of.images.lengths = &lengths;
    job_run(&of, "left out");
    expect(&of, expected, "left out");
    for (i = 0; i < 4; ++i) {
        reference_put(dtype, of.result.payload, i, 2.0);
    }
    of.args.add_to_input_gradient = 1;
    job_run(&of, "left out, added");
    expect(&of, added, "left out, added");
    job_free(&of);
    image_free(&lengths);
}

static void check_nothing(wr_dtype dtype) {
    static const size_t sizes[][3] = {{0, 4, 2}, {3, 0, 2}, {3, 4, 0}};
    size_t i, at;
    for (i = 0; i < 3; ++i) {
        for (at = 0; at < place_count(); ++at) {
            struct CUstream_st *stream = place_at(at)->stream;
            wr_status status =
                wr_softmax_backward(dtype, NULL, NULL, NULL, sizes[i][0], sizes[i][1], sizes[i][2], stream);
            CHECK(status == WR_SUCCESS, "no elements: %s", wr_status_name(status));
            status = wr_log_softmax_backward(dtype, NULL, NULL, NULL, sizes[i][0], sizes[i][1], sizes[i][2], stream);
            CHECK(status == WR_SUCCESS, "no elements: %s", wr_status_name(status));
        }
    }
}

int main(int argc, char **argv) {
    size_t type;
    places_open(argc, argv);
    for (type = 0; type < FLOAT_TYPES; ++type) {
        check_saved_outputs(float_types[type]);
        check_logits(float_types[type]);
        check_vectors_of_logits(float_types[type]);
        check_left_out(float_types[type]);
        if (float_types[type] != WR_F8_E4M3) {
            check_empty_rows(float_types[type]);
        }
        check_nothing(float_types[type]);
    }
    check_empty_row_of_e4m3();
    places_close();
    return check_report("softmax_backward_special_values");
}
