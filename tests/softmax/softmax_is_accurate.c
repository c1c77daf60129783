/*
 * Softmax and log-softmax keep their error bounds whatever the spread and the magnitude of the logits, measured
 * against long double. The differences x - max are taken exactly, in two pieces.
 */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/random_numbers.h"
#include "reference/reference.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#if LDBL_MANT_DIG < 64
#error "the reference needs a long double of at least 64 bits"
#endif

/* Bounds in units in the last place, which but for f32's only rows made for it exceed: these keep the proven ones. */
static const double f32_bound = 4.0, f64_bound = 12.0, narrow_bound_in_f32_units = 8.0, log_bound = 4.0;

/* Of a row made for it, log2 of its length; 0: it is none. */
static int levels_of_made_row;
static double f64_bound_now(void) { return levels_of_made_row > 0 ? 4.5 + levels_of_made_row : f64_bound; }
static double log_bound_now(wr_dtype dtype) {
    return levels_of_made_row > 0 && dtype == WR_F64 ? 3.25 + levels_of_made_row / 2.0 : log_bound;
}

/* The worst seen, by element type, printed at the end. */
static double worst_softmax[WR_F8_E5M2 + 1], worst_log[WR_F8_E5M2 + 1], worst_made;

static void note_worst(double *worst, double error) {
    worst = levels_of_made_row > 0 ? &worst_made : worst;
    *worst = fmax(*worst, error);
}

typedef struct exact_row {
    size_t n;
    /* exp(x - max) and the two pieces of x - max */
    long double *weight, *difference, *rest;
    long double sum, log_of_sum;
} exact_row;

static exact_row exact_row_new(size_t n) {
    exact_row row;
    row.n = n;
    row.weight = malloc(3 * n * sizeof *row.weight);
    if (row.weight == NULL) {
        give_up("no memory");
    }
    row.difference = row.weight + n;
    row.rest = row.difference + n;
    row.sum = 0.0L;
    row.log_of_sum = 0.0L;
    return row;
}

static void exact_row_free(exact_row *row) { free(row->weight); }

/* What the softmax sees of a logit: scaled in f32, or f64 for f64, with one rounding. */
static double scaled(wr_dtype dtype, double x, double scale) {
    if (scale == 0.0) {
        return x;
    }
    return dtype == WR_F64 ? x * scale : (double)((float)x * (float)scale);
}

static void subtract_exactly(long double a, long double b, long double *difference, long double *rest) {
    long double d = a - b, back = d - a;
    *difference = d;
    *rest = (a - (d - back)) - (b + back);
}

static void compute_exactly(exact_row *row, wr_dtype dtype, const void *array, size_t start, size_t step,
                            double scale) {
    size_t i, largest = 0;
    double max = -(double)INFINITY;
    long double others = 0.0L, lost = 0.0L; /* what the sum's roundings lost, negative */
    for (i = 0; i < row->n; ++i) {
        double x = scaled(dtype, reference_get(dtype, array, start + i * step), scale);
        if (x > max) {
            max = x;
            largest = i;
        }
    }
    for (i = 0; i < row->n; ++i) {
        double x = scaled(dtype, reference_get(dtype, array, start + i * step), scale);
        subtract_exactly(x, max, &row->difference[i], &row->rest[i]);
        row->weight[i] = expl(row->difference[i]) * (1.0L + row->rest[i]);
        if (i != largest) {
            long double more = row->weight[i] - lost, sum = others + more;
            lost = (sum - others) - more;
            others = sum;
        }
    }
    row->sum = 1.0L + others;
    row->log_of_sum = log1pl(others);
}

/* The spacing of f32 or f64 at a value. */
static long double spacing(wr_dtype dtype, long double value) {
    int digits = dtype == WR_F64 ? 53 : 24, smallest = dtype == WR_F64 ? -1022 : -126;
    int exponent = value == 0.0L ? smallest : ilogbl(fabsl(value));
    return ldexpl(1.0L, (exponent < smallest ? smallest : exponent) - (digits - 1));
}

static double round_to(wr_dtype dtype, long double value) {
    uint64_t element = 0;
    reference_put(dtype, &element, 0, (double)value);
    return reference_get(dtype, &element, 0);
}

static int is_narrow(wr_dtype dtype) { return dtype != WR_F32 && dtype != WR_F64; }

/* A narrow output must be the rounding of something within the bound; what E4M3 cannot hold is NaN. */
static void check_narrow(wr_dtype dtype, long double exact, long double allowed, double got, const char *what) {
    double low = round_to(dtype, exact - allowed), high = round_to(dtype, exact + allowed);
    int overflows = isnan(got) && (isnan(low) || isnan(high));
    CHECK(overflows || (got >= low && got <= high), "%s %s: %a, exactly %La", dtype_name(dtype), what, got, exact);
}

static void check_softmax_element(wr_dtype dtype, long double exact, double got) {
    long double too_small = dtype == WR_F64 ? 0x1p-960L : 0x1p-120L;
    if (exact <= too_small) {
        CHECK(got >= 0.0 && (long double)got <= 2 * too_small, "%s: %a, exactly %La", dtype_name(dtype), got, exact);
    } else if (is_narrow(dtype)) {
        check_narrow(dtype, exact, narrow_bound_in_f32_units * spacing(WR_F32, exact), got, "softmax");
    } else {
        double error = (double)(fabsl(got - exact) / spacing(dtype, exact));
        note_worst(&worst_softmax[dtype], error);
        CHECK(error <= (dtype == WR_F64 ? f64_bound_now() : f32_bound),
              "%s softmax is off by %.2f ulp: %a, exactly %La", dtype_name(dtype), error, got, exact);
    }
}

static void check_log_element(wr_dtype dtype, long double exact, double got) {
    long double unit = spacing(dtype, fmaxl(fabsl(exact), 1.0L));
    if (is_narrow(dtype)) {
        check_narrow(dtype, exact, narrow_bound_in_f32_units * unit, got, "log-softmax");
    } else {
        double error = (double)(fabsl(got - exact) / unit);
        note_worst(&worst_log[dtype], error);
        CHECK(error <= log_bound_now(dtype), "%s log-softmax is off by %.2f units: %a, exactly %La", dtype_name(dtype),
              error, got, exact);
    }
}

static void check_row(const wr_softmax_args *args, const void *input, const void *output, size_t start, size_t step) {
    exact_row row = exact_row_new(args->axis);
    long double sum = 0.0L;
    size_t i;
    compute_exactly(&row, args->dtype, input, start, step, args->scale);
    for (i = 0; i < row.n; ++i) {
        double got = reference_get(args->dtype, output, start + i * step);
        if (args->log != 0) {
            check_log_element(args->dtype, (row.difference[i] - row.log_of_sum) + row.rest[i], got);
        } else {
            check_softmax_element(args->dtype, row.weight[i] / row.sum, got);
        }
        sum += got;
    }
    if (args->log == 0 && !is_narrow(args->dtype)) {
        CHECK(fabsl(sum - 1.0L) <= 16.0L * spacing(args->dtype, 1.0L), "a row sums to %La", sum);
    }
    exact_row_free(&row);
}

/* All rows of [outer][axis][inner] against long double, on the host; other places must give the same bits. */
static void check_array(const wr_softmax_args *shape, const image *input) {
    image output = image_new(input->payload_bytes, 0);
    wr_softmax_args args = *shape;
    size_t outer, inner;
    args.input = input->payload;
    args.output = output.payload;
    softmax_everywhere(&args, input, &output, NULL, "accuracy");
    for (outer = 0; outer < args.outer; ++outer) {
        for (inner = 0; inner < args.inner; ++inner) {
            check_row(&args, input->payload, output.payload, outer * args.axis * args.inner + inner, args.inner);
        }
    }
    image_free(&output);
}

static void fill_about(wr_dtype dtype, double offset, double spread, uint64_t seed, image *array) {
    uint64_t state = seed;
    size_t count = array->payload_bytes / reference_size(dtype), i;
    for (i = 0; i < count; ++i) {
        reference_put(dtype, array->payload, i, offset + spread * (2.0 * random_unit(&state) - 1.0));
    }
}

static double largest_value(wr_dtype dtype) {
    static const double largest[] = {0.0, 3.3e38, 1e308, 6.5e4, 3.3e38, 440.0, 5.7e4};
    return largest[dtype];
}

static void check_about(wr_dtype dtype, double offset, double spread, size_t rows, size_t axis) {
    image input = image_new(rows * axis * reference_size(dtype), 0);
    wr_softmax_args args = softmax_args(dtype, rows, axis, 1);
    fill_about(dtype, offset, spread, axis * 1000 + (uint64_t)(spread * 10.0), &input);
    check_array(&args, &input);
    args.outer = 1;
    args.inner = rows;
    check_array(&args, &input);
    args.log = 1;
    if (fabs(offset) + spread < 0x1p20) {
        check_array(&args, &input);
    }
    image_free(&input);
}

static void check_spreads_and_offsets(wr_dtype dtype) {
    static const double spreads[] = {0.1, 1.0, 10.0, 40.0, 100.0};
    static const double offsets[] = {0.0, 1e3, -1e3, 6e4, 1e6, -2e6, 1e10, 3e38, -3e38, 1e300};
    static const size_t longer[] = {63, 64, 65, 129, 1000, 1023, 1025, 2049, 5000};
    size_t spread, offset, n;
    for (spread = 0; spread < sizeof spreads / sizeof *spreads; ++spread) {
        for (offset = 0; offset < sizeof offsets / sizeof *offsets; ++offset) {
            if (fabs(offsets[offset]) + spreads[spread] > largest_value(dtype)) {
                continue;
            }
            for (n = 1; n <= 40; ++n) {
                check_about(dtype, offsets[offset], spreads[spread], 12, n);
            }
            for (n = 0; n < sizeof longer / sizeof *longer; ++n) {
                check_about(dtype, offsets[offset], spreads[spread], 1, longer[n]);
            }
        }
    }
}

/* Many short rows with the spread of real logits: the bound is tightest there. */
static void check_many_short_rows(wr_dtype dtype) {
    size_t n;
    for (n = 2; n <= 40; ++n) {
        check_about(dtype, 0.0, 0.3 * (double)n, 400, n);
    }
}

/* Magnitudes of all sizes in one row, up to the largest. */
static void check_any_magnitude(wr_dtype dtype) {
    static const data_kind kinds[] = {DATA_WIDE, DATA_ANY_FINITE, DATA_SUBNORMAL, DATA_INTEGERS};
    size_t kind, n;
    for (kind = 0; kind < 4; ++kind) {
        for (n = 1; n <= 1500; n += n < 40 ? 1 : 365) {
            image input = image_new(6 * n * reference_size(dtype), 0);
            wr_softmax_args args = softmax_args(dtype, 6, n, 1);
            fill_random(dtype, kinds[kind], n, input.payload, 6 * n);
            check_array(&args, &input);
            image_free(&input);
        }
    }
}

static void check_scales(wr_dtype dtype) {
    static const double scales[] = {1.0, 0.5, 0.1, -1.0, 3.7, 1e-3, -250.0};
    size_t i, n;
    for (i = 0; i < sizeof scales / sizeof *scales; ++i) {
        for (n = 1; n <= 3000; n = n * 2 + 1) {
            image input = image_new(n * reference_size(dtype), 0);
            wr_softmax_args args = softmax_args(dtype, 1, n, 1);
            fill_about(dtype, 1.0, 8.0, n, &input);
            args.scale = scales[i];
            check_array(&args, &input);
            args.log = 1;
            check_array(&args, &input);
            image_free(&input);
        }
    }
}

/* logsumexp = max + log(sum of exp(x - max)), in f32 (f64 for f64). */
static void check_logsumexp(wr_dtype dtype) {
    wr_dtype sum_dtype = dtype == WR_F64 ? WR_F64 : WR_F32;
    size_t n;
    for (n = 1; n <= 5000; n = n < 40 ? n + 1 : n * 3) {
        image input = image_new(n * reference_size(dtype), 0);
        image output = image_new(n * reference_size(dtype), 0);
        image sums = image_new(reference_size(sum_dtype), 0);
        wr_softmax_args args = softmax_args(dtype, 1, n, 1);
        exact_row row = exact_row_new(n);
        long double exact, error;
        fill_about(dtype, fmin((double)(n % 5) * 200.0 - 300.0, largest_value(dtype) - 20.0), 20.0, n, &input);
        args.input = input.payload;
        args.output = output.payload;
        args.logsumexp = sums.payload;
        softmax_everywhere(&args, &input, &output, &sums, "logsumexp");
        compute_exactly(&row, dtype, input.payload, 0, 1, 0.0);
        exact = (reference_get(dtype, input.payload, 0) - row.difference[0]) + row.log_of_sum;
        error = fabsl(reference_get(sum_dtype, sums.payload, 0) - exact);
        CHECK(error <= log_bound * spacing(sum_dtype, fmaxl(fabsl(exact), 1.0L)), "%s logsumexp: %a, exactly %La",
              dtype_name(dtype), reference_get(sum_dtype, sums.payload, 0), exact);
        exact_row_free(&row);
        image_free(&input);
        image_free(&output);
        image_free(&sums);
    }
}

/* Logits j * 2u, whose exponentials are 1 + 2u * j, with j from the root of the tree down: an even j has the halves j
 * and j + 1, an odd one j - 1 and j + 1. Every second addition is then a tie that rounds downwards. */
static void check_made_row(int levels) {
    size_t n = (size_t)1 << levels, i;
    image input = image_new(n * sizeof(double), 0);
    wr_softmax_args args = softmax_args(WR_F64, 1, n, 1);
    for (i = 0; i < n; ++i) {
        int level, j = 0;
        for (level = levels - 1; level >= 0; --level) {
            j += (i >> level & 1) != 0 ? 1 : j % 2 == 0 ? 0 : -1;
        }
        reference_put(WR_F64, input.payload, i, j * 0x1p-52);
    }
    levels_of_made_row = levels;
    check_array(&args, &input);
    args.log = 1;
    check_array(&args, &input);
    levels_of_made_row = 0;
    image_free(&input);
}

static void print_worst(void) {
    printf("worst softmax error: f32 %.2f of %.0f ulp, f64 %.2f of %.0f ulp\n", worst_softmax[WR_F32], f32_bound,
           worst_softmax[WR_F64], f64_bound);
    printf("worst log-softmax error: f32 %.2f, f64 %.2f of %.0f units\n", worst_log[WR_F32], worst_log[WR_F64],
           log_bound);
    printf("worst error of rows made for it: %.2f units\n", worst_made);
}

int main(int argc, char **argv) {
    static const wr_dtype types[] = {WR_F32, WR_F64, WR_F16, WR_BF16, WR_F8_E4M3, WR_F8_E5M2};
    size_t i;
    places_open(argc, argv);
    for (i = 0; i < sizeof types / sizeof *types; ++i) {
        check_spreads_and_offsets(types[i]);
        check_many_short_rows(types[i]);
        check_any_magnitude(types[i]);
        check_scales(types[i]);
        check_logsumexp(types[i]);
    }
    check_made_row(10);
    check_made_row(18);
    CHECK(worst_made > f64_bound, "the rows made for it stay within %.2f units", worst_made);
    print_worst();
    places_close();
    return check_report("softmax_is_accurate");
}
