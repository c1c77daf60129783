/*
 * Softmax and its gradient where a zero's sign, the end of int64_t or an output too small to count decides: each value
 * is the one that the header states.
 */
#include "harness/any_softmax.h"
#include "harness/harness.h"
#include "harness/softmax_jobs.h"
#include "reference/reference.h"

#include <math.h>
#include <string.h>

static const wr_dtype float_types[] = {WR_F32, WR_F64, WR_F16, WR_BF16, WR_F8_E4M3, WR_F8_E5M2};
enum { FLOAT_TYPES = 6, ROWS = 5 };

static void put_all(wr_dtype dtype, image *array, size_t count, double value) {
    size_t i;
    for (i = 0; i < count; ++i) {
        reference_put(dtype, array->payload, i, value);
    }
}

/* "the largest scale * x of each row [...]; a zero is +0" */
static void check_zero_maxima(wr_dtype dtype, size_t axis, double element, double scale, int columns) {
    const wr_dtype state = softmax_state_dtype(dtype);
    image input = image_new(ROWS * axis * reference_size(dtype), 0), output = image_new(input.payload_bytes, 0);
    image maxima = image_new(ROWS * reference_size(state), 0);
    softmax_images images = {&input, NULL, NULL, NULL, &output, NULL, &maxima, NULL};
    wr_softmax_args args = softmax_args(dtype, columns ? 1 : ROWS, axis, columns ? ROWS : 1);
    size_t i;
    put_all(dtype, &input, ROWS * axis, element);
    args.scale = scale;
    args.input = input.payload;
    args.output = output.payload;
    args.maximum = maxima.payload;
    run_softmax_everywhere(&args, &images, "maxima of zeros");
    for (i = 0; i < ROWS; ++i) {
        CHECK(reference_bits(state, maxima.payload, i) == 0, "%s, %zu elements of %g times %g: the maximum is %g",
              dtype_name(dtype), axis, element, scale, reference_get(state, maxima.payload, i));
    }
    image_free(&input);
    image_free(&output);
    image_free(&maxima);
}

static void check_maxima(wr_dtype dtype) {
    static const size_t axes[] = {1, 2, 3, 8, 17, 64, 1025};
    size_t i;
    int columns;
    for (i = 0; i < sizeof axes / sizeof *axes; ++i) {
        for (columns = 0; columns < 2; ++columns) {
            check_zero_maxima(dtype, axes[i], -0.0, 0.0, columns);
            check_zero_maxima(dtype, axes[i], -0.0, 2.0, columns);
            check_zero_maxima(dtype, axes[i], 0.0, -1.0, columns);
        }
    }
}

/* With a causal limit that starts at `first` a row sees all of its elements, or none. */
static void check_causal_limit(wr_dtype dtype, int64_t first, int sees_all, int columns) {
    enum { AXIS = 37 };
    const size_t bytes = (size_t)ROWS * AXIS * reference_size(dtype);
    image input = image_new(bytes, 0), output = image_new(bytes, 0), plain = image_new(bytes, 0);
    image gradient = image_new(bytes, 0), plain_gradient = image_new(bytes, 0);
    softmax_images images = {&input, NULL, NULL, NULL, &output, NULL, NULL, NULL};
    backward_images back = {&output, NULL, &input, NULL, NULL, NULL, &gradient, NULL};
    wr_softmax_args args = softmax_args(dtype, columns ? 1 : ROWS, AXIS, columns ? ROWS : 1);
    wr_softmax_backward_args backward = backward_args(dtype, args.outer, AXIS, args.inner);
    size_t i;
    for (i = 0; i < (size_t)ROWS * AXIS; ++i) {
        reference_put(dtype, input.payload, i, (double)(i % 11) / 4.0 - 1.0);
    }
    args.input = input.payload;
    args.output = output.payload;
    args.empty_row = WR_EMPTY_ROW_ZERO;
    backward.output = output.payload;
    backward.output_gradient = input.payload;
    backward.input_gradient = gradient.payload;
    if (sees_all) {
        run_softmax_everywhere(&args, &images, "without a limit");
        memcpy(plain.base, output.base, output.size);
        run_backward_everywhere(&backward, &back, "without a limit");
        memcpy(plain_gradient.base, gradient.base, gradient.size);
    } else {
        memset(plain.payload, 0, bytes);
        memset(plain_gradient.payload, 0, bytes);
    }
    args.causal = backward.causal = 1;
    args.causal_first = backward.causal_first = first;
    run_softmax_everywhere(&args, &images, "causal");
    CHECK(image_equal(&plain, &output), "%s: causal_first of %lld", dtype_name(dtype), (long long)first);
    run_backward_everywhere(&backward, &back, "causal");
    CHECK(image_equal(&plain_gradient, &gradient), "%s: gradient, causal_first of %lld", dtype_name(dtype),
          (long long)first);
    image_free(&input);
    image_free(&output);
    image_free(&plain);
    image_free(&gradient);
    image_free(&plain_gradient);
}

static void check_causal_limits(wr_dtype dtype) {
    int columns;
    for (columns = 0; columns < 2; ++columns) {
        check_causal_limit(dtype, INT64_MAX, 1, columns);
        check_causal_limit(dtype, INT64_MAX - 2, 1, columns);
        check_causal_limit(dtype, INT64_MIN, 0, columns);
        check_causal_limit(dtype, -ROWS, 0, columns);
    }
}

/* docs/numerics.md: in a block an exponential at or below e^-86 (f64: e^-708) of its maximum's counts as 0, and the
 * next larger one does not; and blocks too far apart to be compared have all of their row's weight, or none. */
static void check_rows_of_two_values(wr_dtype dtype, double high, double low, size_t axis, size_t lows, int columns,
                                     int low_counts) {
    const size_t count = ROWS * axis;
    image input = image_new(count * reference_size(dtype), 0), output = image_new(input.payload_bytes, 0);
    softmax_images images = {&input, NULL, NULL, NULL, &output, NULL, NULL, NULL};
    wr_softmax_args args = softmax_args(dtype, columns ? 1 : ROWS, axis, columns ? ROWS : 1);
    size_t i, wrong = 0;
    for (i = 0; i < count; ++i) {
        reference_put(dtype, input.payload, i, (columns ? i / ROWS : i % axis) < lows ? low : high);
    }
    args.input = input.payload;
    args.output = output.payload;
    run_softmax_everywhere(&args, &images, "rows of two values");
    for (i = 0; i < count; ++i) {
        const int is_low = (columns ? i / ROWS : i % axis) < lows;
        const double got = reference_get(dtype, output.payload, i);
        wrong += is_low ? (got > 0.0) != low_counts : fabs(got * (double)(axis - lows) - 1.0) > 1e-6;
    }
    CHECK(wrong == 0, "%s, %zu of %g and %zu of %g, columns %d: %zu outputs are wrong", dtype_name(dtype), lows, low,
          axis - lows, high, columns, wrong);
    image_free(&input);
    image_free(&output);
}

static void check_least_exponentials(wr_dtype dtype, double reach, const double *maxima, size_t count) {
    static const size_t axes[] = {2, 17, 64, 100};
    size_t i, k;
    int columns;
    for (i = 0; i < count; ++i) {
        for (k = 0; k < 4; ++k) {
            for (columns = 0; columns < 2; ++columns) {
                const double limit = maxima[i] - reach;
                const double above = dtype == WR_F64 ? nextafter(limit, 0.0) : (double)nextafterf((float)limit, 0.0f);
                check_rows_of_two_values(dtype, maxima[i], limit, axes[k], 1, columns, 0);
                if (maxima[i] == 0.0) {
                    check_rows_of_two_values(dtype, maxima[i], above, axes[k], 1, columns, 1);
                }
            }
        }
    }
}

static void check_distant_blocks(wr_dtype dtype) {
    static const double pairs[][2] = {{-0x1p63, -0x1p64}, {0x1p64, 0x1p63},   {0x1p62, -0x1p62},
                                      {0x1p62, 0x1p61},   {-0x1p61, -0x1p62}, {0x1p20, -0x1p20}};
    size_t i;
    int columns;
    for (i = 0; i < sizeof pairs / sizeof *pairs; ++i) {
        for (columns = 0; columns < 2; ++columns) {
            check_rows_of_two_values(dtype, pairs[i][0], pairs[i][1], 2048, 1024, columns, 0);
        }
    }
}

/* "its output is 0, in log-softmax -infinity, also where a NaN makes the rest of the row NaN", in every block of a row.
 */
static void check_masked_rows_with_nan(wr_dtype dtype, int is_log, int columns) {
    enum { AXIS = 2500 };
    const size_t count = (size_t)ROWS * AXIS;
    image input = image_new(count * reference_size(dtype), 0), output = image_new(input.payload_bytes, 0);
    image mask = image_new(count, 0);
    softmax_images images = {&input, &mask, NULL, NULL, &output, NULL, NULL, NULL};
    wr_softmax_args args = softmax_args(dtype, columns ? 1 : ROWS, AXIS, columns ? ROWS : 1);
    const double left_out = is_log ? -(double)INFINITY : 0.0;
    size_t i, wrong = 0;
    for (i = 0; i < count; ++i) {
        const size_t along = columns ? i / ROWS : i % AXIS;
        mask.payload[i] = along == 700 || along % 7 < 3 || along * along % 11 == 5;
        reference_put(dtype, input.payload, i, along == 700 ? (double)NAN : 1.0);
    }
    args.log = is_log;
    args.mask = mask.payload;
    args.input = input.payload;
    args.output = output.payload;
    run_softmax_everywhere(&args, &images, "masked rows with a NaN");
    for (i = 0; i < count; ++i) {
        const double got = reference_get(dtype, output.payload, i);
        const int is_right = mask.payload[i] != 0 ? isnan(got) != 0 : got == left_out;
        wrong += !is_right;
    }
    CHECK(wrong == 0, "%s, log %d, columns %d: %zu outputs of masked rows with a NaN", dtype_name(dtype), is_log,
          columns, wrong);
    image_free(&input);
    image_free(&output);
    image_free(&mask);
}

/* "an exponential of e^-86 or less counts as 0": so it does where a NaN of either sign lies beside it, which a mask or
 * a length leaves out, or which is the next row's. All other logits of a row are 0. */
enum nan_beside { LEFT_OUT_BY_MASK, LEFT_OUT_BY_LENGTH, OF_NEXT_ROW };

static void check_nan_beside_far_logit(enum nan_beside why, int is_log, uint32_t nan_bits) {
    const size_t rows = 4, axis = why == OF_NEXT_ROW ? 3001 : 1024, count = rows * axis;
    const size_t far = why == LEFT_OUT_BY_MASK ? 0 : why == LEFT_OUT_BY_LENGTH ? 1020 : 2104;
    const size_t nan = why == OF_NEXT_ROW ? axis : far + 1; /* of a vector or a lane with it */
    image input = image_new(count * sizeof(float), 0), output = image_new(input.payload_bytes, 0);
    image mask = image_new(count, 0), lengths = image_new(rows * sizeof(int64_t), 0);
    softmax_images images = {&input, &mask, &lengths, NULL, &output, NULL, NULL, NULL};
    wr_softmax_args args = softmax_args(WR_F32, rows, axis, 1);
    const int64_t taken = (int64_t)(why == LEFT_OUT_BY_LENGTH ? nan : axis);
    const double zeros = (double)taken - (why == LEFT_OUT_BY_MASK ? 2.0 : 1.0);
    const double expected = is_log ? -log(zeros) : 1.0 / zeros;
    const float far_logit = -90.0f;
    size_t i;
    memset(input.payload, 0, input.payload_bytes);
    memcpy(input.payload + far * sizeof(float), &far_logit, sizeof far_logit);
    memcpy(input.payload + nan * sizeof(float), &nan_bits, sizeof nan_bits);
    memset(mask.payload, 1, count);
    mask.payload[nan] = 0;
    for (i = 0; i < rows; ++i) {
        memcpy(lengths.payload + i * sizeof taken, &taken, sizeof taken);
    }
    args.log = is_log;
    args.mask = why == LEFT_OUT_BY_MASK ? mask.payload : NULL;
    args.lengths = why == LEFT_OUT_BY_LENGTH ? (const int64_t *)(void *)lengths.payload : NULL;
    args.input = input.payload;
    args.output = output.payload;
    run_softmax_everywhere(&args, &images, "a NaN beside a far logit");
    for (i = 2; i < 10; ++i) {
        const double got = reference_get(WR_F32, output.payload, i);
        CHECK(fabs(got - expected) <= 1e-6 * fabs(expected), "NaN %08lX, why %d, log %d: %g for %g",
              (unsigned long)nan_bits, (int)why, is_log, got, expected);
    }
    image_free(&input);
    image_free(&output);
    image_free(&mask);
    image_free(&lengths);
}

static void check_nans_beside_far_logits(void) {
    int why, is_log;
    for (why = LEFT_OUT_BY_MASK; why <= OF_NEXT_ROW; ++why) {
        for (is_log = 0; is_log < 2; ++is_log) {
            check_nan_beside_far_logit((enum nan_beside)why, is_log, 0x7FC00000);
            check_nan_beside_far_logit((enum nan_beside)why, is_log, 0xFFC00000);
        }
    }
}

/* A block whose maximum is 2^20 in magnitude is formed relative to it, and none of less; from 2^62 on its e^m is taken
 * for a power of two: the bits of docs/numerics.md's definition (tests/vectors/softmax_contract.py), which differ from
 * those of the other way. */
static void check_known_row(wr_dtype dtype, size_t count, const double *row, const uint64_t *bits) {
    size_t i, p;
    for (p = 0; p < place_count(); ++p) {
        image input = image_new(count * reference_size(dtype), 0), output = image_new(count * reference_size(dtype), 0);
        wr_softmax_args args = softmax_args(dtype, 1, count, 1);
        for (i = 0; i < count; ++i) {
            reference_put(dtype, input.payload, i, row[i]);
        }
        args.input = input.payload;
        args.output = output.payload;
        CHECK(softmax_at(place_at(p), &args, &input, &output, NULL) == WR_SUCCESS, "a row at a limit");
        for (i = 0; i < count; ++i) {
            CHECK(reference_bits(dtype, output.payload, i) == bits[i], "%s, %g: %llX for %llX", dtype_name(dtype),
                  row[i], (unsigned long long)reference_bits(dtype, output.payload, i), (unsigned long long)bits[i]);
        }
        image_free(&input);
        image_free(&output);
    }
}

static void check_rows_at_the_limit(void) {
    static const double narrow[3] = {0x1p20, 0x1p20 - 1.0, 0x1p20 - 2.5};
    static const double wide[3] = {0x1p20, 0x1p20 - 0.625, 0x1p20 - 3.125};
    static const uint64_t narrow_bits[3] = {0x3F308E59, 0x3E81E717, 0x3D67E1B4};
    static const uint64_t wide_bits[3] = {0x3FE443712AA47778, 0x3FD5B1467980E0F2, 0x3F9C7D73136301E6};
    static const double equal[5] = {0x1p62, 0x1p62, 0x1p62, 0x1p62, 0x1p62};
    static const uint64_t fifths[5] = {0x3FC999999999999A, 0x3FC999999999999A, 0x3FC999999999999A, 0x3FC999999999999A,
                                       0x3FC999999999999A};
    check_known_row(WR_F32, 3, narrow, narrow_bits);
    check_known_row(WR_F64, 3, wide, wide_bits);
    check_known_row(WR_F64, 5, equal, fifths);
}

/* One row: what was saved, dy, the mask or NULL, and the gradient of the first element. */
static double first_gradient(const wr_softmax_backward_args *how, size_t count, const double *saved,
                             const double *gradient, const unsigned char *mask, const double *logsumexp) {
    const wr_dtype dtype = how->dtype, state = softmax_state_dtype(dtype);
    wr_softmax_backward_args args = *how;
    image kept = image_new(count * reference_size(dtype), 0), given = image_new(kept.payload_bytes, 0);
    image result = image_new(kept.payload_bytes, 0), bytes = image_new(count, 0);
    image sums = image_new(reference_size(state), 0);
    backward_images images = {
        &kept, logsumexp == NULL ? NULL : &sums, &given, mask == NULL ? NULL : &bytes, NULL, NULL, &result, NULL};
    double first;
    size_t i;
    for (i = 0; i < count; ++i) {
        reference_put(dtype, kept.payload, i, saved[i]);
        reference_put(dtype, given.payload, i, gradient[i]);
    }
    args.outer = args.inner = 1;
    args.axis = count;
    if (mask != NULL) {
        memcpy(bytes.payload, mask, count);
        args.mask = bytes.payload;
    }
    if (logsumexp != NULL) {
        reference_put(state, sums.payload, 0, *logsumexp);
        args.input = kept.payload;
        args.logsumexp = sums.payload;
    } else {
        args.output = kept.payload;
    }
    args.output_gradient = given.payload;
    args.input_gradient = result.payload;
    run_backward_everywhere(&args, &images, "edges of gradients");
    first = reference_get(dtype, result.payload, 0);
    image_free(&kept);
    image_free(&given);
    image_free(&result);
    image_free(&bytes);
    image_free(&sums);
    return first;
}

/* "an exp(y) of e^-86 (f64: e^-708) or less counts as 0", and the next larger one does not. */
static void check_least_weight(wr_dtype dtype, double limit, double beyond) {
    const double gradients[] = {0.0, 1e30}, nothing = 0.0;
    const double saved[] = {limit, 0.0}, larger[] = {beyond, 0.0};
    wr_softmax_backward_args args = backward_args(dtype, 1, 2, 1);
    double at_limit, above, of_logits, softmax;
    args.log = 1;
    at_limit = first_gradient(&args, 2, saved, gradients, NULL, NULL);
    above = first_gradient(&args, 2, larger, gradients, NULL, NULL);
    of_logits = first_gradient(&args, 2, saved, gradients, NULL, &nothing);
    CHECK(at_limit == 0.0 && !signbit(at_limit), "%s: an output of %g has the gradient %g", dtype_name(dtype), limit,
          at_limit);
    CHECK(fabs(above + exp(beyond) * 1e30) <= 1e-6 * exp(beyond) * 1e30, "%s: an output of %.17g has the gradient %g",
          dtype_name(dtype), beyond, above);
    CHECK(of_logits == 0.0, "%s: a logit of %g has the gradient %g", dtype_name(dtype), limit, of_logits);
    args.log = 0;
    softmax = first_gradient(&args, 2, saved, gradients, NULL, &nothing);
    CHECK(softmax == 0.0, "%s: a logit of %g has softmax's gradient %g", dtype_name(dtype), limit, softmax);
}

/* docs/numerics.md: the weight of an output of at least 86 (f64: 708), which no logarithm of softmax is, is infinite.
 */
static void check_largest_weight(wr_dtype dtype, double limit) {
    const double gradients[] = {0.0, 1.0}, at_limit[] = {limit, 0.0};
    const double below = dtype == WR_F64 ? nextafter(limit, 0.0) : (double)nextafterf((float)limit, 0.0f);
    const double less[] = {below, 0.0};
    wr_softmax_backward_args args = backward_args(dtype, 1, 2, 1);
    double first;
    args.log = 1;
    first = first_gradient(&args, 2, at_limit, gradients, NULL, NULL);
    CHECK(first == -(double)INFINITY, "%s: an output of %g has the gradient %g", dtype_name(dtype), limit, first);
    first = first_gradient(&args, 2, less, gradients, NULL, NULL);
    CHECK(fabs(first / exp(below) + 1.0) <= 1e-6, "%s: an output of %.17g has the gradient %g", dtype_name(dtype),
          below, first);
}

/* A long row cut off by its length is the row without its end, with zeros behind it, however it is shared by threads.
 */
static void check_length_of_long_row(wr_dtype dtype, size_t axis, size_t length) {
    const size_t bytes = reference_size(dtype);
    const int64_t leading = (int64_t)length;
    image input = image_new(axis * bytes, 0), output = image_new(axis * bytes, 0), alone = image_new(axis * bytes, 0);
    image gradient = image_new(axis * bytes, 0), gradient_alone = image_new(axis * bytes, 0);
    size_t n;
    for (n = 0; n < axis; ++n) {
        reference_put(dtype, input.payload, n, (double)(n % 13) / 8.0 - 1.0);
    }
    memset(alone.payload, 0, axis * bytes);
    memset(gradient_alone.payload, 0, axis * bytes);
    for (n = 0; n < 2; ++n) {
        wr_softmax_args args = softmax_args(dtype, 1, n == 0 ? length : axis, 1);
        wr_softmax_backward_args back = backward_args(dtype, 1, args.axis, 1);
        args.input = back.output_gradient = input.payload;
        args.output = n == 0 ? alone.payload : output.payload;
        back.output = args.output;
        back.input_gradient = n == 0 ? gradient_alone.payload : gradient.payload;
        args.lengths = back.lengths = n == 0 ? NULL : &leading;
        CHECK(wr_softmax_ex(&args, wr_host_stream()) == WR_SUCCESS, "a long row");
        CHECK(wr_softmax_backward_ex(&back, wr_host_stream()) == WR_SUCCESS, "a long row's gradient");
    }
    CHECK(image_equal(&alone, &output), "%s: %zu of %zu elements", dtype_name(dtype), length, axis);
    CHECK(image_equal(&gradient_alone, &gradient), "%s: gradient, %zu of %zu elements", dtype_name(dtype), length,
          axis);
    image_free(&input);
    image_free(&output);
    image_free(&alone);
    image_free(&gradient);
    image_free(&gradient_alone);
}

/* p (dy - T) with T the sum over what takes part: -0 * 1 alone is -0, and -0 - -0 is +0. */
static void check_masked_zero(wr_dtype dtype) {
    static const double saved[] = {1.0, 0.0, 0.0}, gradients[] = {-0.0, 0.0, 5.0};
    static const unsigned char mask[] = {1, 0, 0};
    wr_softmax_backward_args args = backward_args(dtype, 1, 2, 1);
    size_t count;
    for (count = 1; count <= 3; ++count) {
        const double got = first_gradient(&args, count, saved, gradients, mask, NULL);
        CHECK(got == 0.0 && !signbit(got), "%s: the first of %zu, the others masked, has the gradient %g",
              dtype_name(dtype), count, got);
    }
}

/* No rows: nothing is looked at, offsets neither. */
static void check_no_ragged_rows(wr_dtype dtype) {
    size_t axis, p;
    for (p = 0; p < place_count(); ++p) {
        struct CUstream_st *stream = place_at(p)->stream;
        static const int64_t offset = 0;
        for (axis = 0; axis < 3; ++axis) {
            wr_softmax_args args = softmax_args(dtype, 0, axis, 1);
            wr_softmax_backward_args backward = backward_args(dtype, 0, axis, 1);
            wr_status status = wr_softmax_ex(&args, stream);
            CHECK(status == WR_SUCCESS, "no rows of %zu: %s", axis, wr_status_name(status));
            args.offsets = backward.offsets = &offset;
            status = wr_softmax_ex(&args, stream);
            CHECK(status == WR_SUCCESS, "no ragged rows, axis %zu: %s", axis, wr_status_name(status));
            status = wr_softmax_backward_ex(&backward, stream);
            CHECK(status == WR_SUCCESS, "no gradients of ragged rows, axis %zu: %s", axis, wr_status_name(status));
        }
    }
}

/* Ragged rows of such a mean length that a block has some warps, among them one that it takes in steps: whole parts of
 * the row's tree, however many the warps are. */
static void check_long_ragged_rows(softmax_call call) {
    static const size_t usual[] = {500, 2500, 3500, 4500, 6101, 6102, 6152, 8000};
    size_t i;
    for (i = 0; i < sizeof usual / sizeof *usual; ++i) {
        any_softmax job = {CALL_SOFTMAX, 90, 1, 1, 1, WR_F32, WR_F32, WR_F32, LOG, LOGITS_WIDE, {0, 0, 0}, 1.0};
        job.call = call;
        job.axis = usual[i];
        check_any_softmax(&job);
        job.first = job.second = job.third = WR_F64;
        check_any_softmax(&job);
    }
}

int main(int argc, char **argv) {
    static const double maxima[] = {0.0, 1.0, -50.0, 100.0, 0x1p20, -0x1p20, 0x1p21};
    size_t i;
    places_open(argc, argv);
    for (i = 0; i < FLOAT_TYPES; ++i) {
        check_maxima(float_types[i]);
        check_causal_limits(float_types[i]);
        check_masked_zero(float_types[i]);
        if (float_types[i] != WR_F8_E4M3) { /* which has no infinity */
            check_masked_rows_with_nan(float_types[i], 0, 0);
            check_masked_rows_with_nan(float_types[i], 1, 0);
            check_masked_rows_with_nan(float_types[i], 0, 1);
            check_masked_rows_with_nan(float_types[i], 1, 1);
        }
        check_no_ragged_rows(float_types[i]);
    }
    check_least_exponentials(WR_F32, 86.0, maxima, 7);
    check_least_exponentials(WR_F64, 708.0, maxima, 7);
    check_long_ragged_rows(CALL_SOFTMAX);
    check_long_ragged_rows(CALL_GRADIENT);
    check_rows_at_the_limit();
    check_nans_beside_far_logits();
    check_distant_blocks(WR_F32);
    check_distant_blocks(WR_F64);
    check_distant_blocks(WR_BF16);
    check_length_of_long_row(WR_F32, 600001, 20000);
    check_length_of_long_row(WR_F64, 300001, 100000);
    check_length_of_long_row(WR_BF16, 600001, 1);
    check_largest_weight(WR_F32, 86.0);
    check_largest_weight(WR_F64, 708.0);
    check_least_weight(WR_F32, -86.0, (double)nextafterf(-86.0f, 0.0f));
    check_least_weight(WR_F64, -708.0, nextafter(-708.0, 0.0));
    places_close();
    return check_report("softmax_edges");
}
