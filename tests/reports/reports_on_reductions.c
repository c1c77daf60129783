/*
 * Reports by users of other projects, each tried here: README.md beside this file says what each was about. A function
 * is named after its report.
 */
#include "harness/harness.h"
#include "harness/places.h"
#include "reports/everywhere.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int is_near(double a, double b, double relative) { return fabs(a - b) <= relative * fabs(b); }

static void *array_of(size_t bytes) {
    void *memory = calloc(bytes, 1);
    if (memory == NULL) {
        give_up("no memory");
    }
    return memory;
}

static void numpy_7930_and_pandas_43929(void) {
    uint16_t *x = array_of(100000 * sizeof *x), mean = 0;
    size_t i;
    for (i = 0; i < 100000; ++i) {
        x[i] = f16_of(i % 2 == 0 ? 0.5 : 1.5);
    }
    reduce_everywhere("numpy#7930", reduction(WR_MEAN, WR_F16, x, 1, 100000, 1), 100000, &mean);
    CHECK(f16_value(mean) == 1.0, "numpy#7930: %g", f16_value(mean));
    x[0] = x[1] = f16_of(60000);
    reduce_everywhere("pandas#43929", reduction(WR_MEAN, WR_F16, x, 1, 2, 1), 2, &mean);
    CHECK(f16_value(mean) == 60000.0, "pandas#43929: %g", f16_value(mean));
    free(x);
}

static void numpy_23075(void) {
    enum { ROWS = 4350, COLUMNS = 5 };
    uint16_t *x = array_of(ROWS * COLUMNS * sizeof *x), means[COLUMNS];
    wr_reduce_args job = reduction(WR_MEAN, WR_F16, x, 1, ROWS, COLUMNS);
    size_t i;
    for (i = 0; i < ROWS * COLUMNS; ++i) {
        x[i] = f16_of(i / COLUMNS % 2 == 0 ? 256.0 : 304.0);
    }
    x[3] = 0x7E00;
    job.nan_mode = WR_NAN_IGNORE;
    reduce_everywhere("numpy#23075", job, ROWS * COLUMNS, means);
    for (i = 0; i < COLUMNS; ++i) {
        CHECK(f16_value(means[i]) == 280.0, "numpy#23075: column %zu: %g", i, f16_value(means[i]));
    }
    free(x);
}

/* Of a running sum 1 + 2^-25 + 2^-25 + ... all but the first addend would be lost. */
static void numpy_29772_and_20458(void) {
    enum { ROWS = 1 << 16 };
    float *x = array_of(2 * ROWS * sizeof *x), sums[2];
    size_t i;
    for (i = 0; i < 2 * ROWS; ++i) {
        x[i] = i < 2 ? 1.0f : ldexpf(1.0f, -25);
    }
    reduce_everywhere("numpy#29772", reduction(WR_SUM, WR_F32, x, 1, ROWS, 2), 2 * ROWS, sums);
    for (i = 0; i < 2; ++i) {
        CHECK(is_near((double)sums[i], 1 + ldexp(ROWS - 1, -25), 1e-6), "numpy#29772: %.9g", (double)sums[i]);
    }
    free(x);
}

/* A column has one sum, whether its array is summed along axis 0, it is sliced out, or stored in Fortran's order. */
static void numpy_30543_13734_and_25909(void) {
    enum { ROWS = 25883, COLUMNS = 3 };
    float *c_order = array_of(ROWS * COLUMNS * sizeof(float)), *f_order = array_of(ROWS * COLUMNS * sizeof(float));
    float along_axis_0[COLUMNS], of_rows[COLUMNS], sliced;
    wr_reduce_args job;
    uint64_t state = 1;
    size_t i, j;
    for (i = 0; i < ROWS; ++i) {
        for (j = 0; j < COLUMNS; ++j) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            c_order[i * COLUMNS + j] = f_order[j * ROWS + i] = 2320.0f + (float)(state >> 40) / 65536.0f;
        }
    }
    reduce_everywhere("numpy#30543", reduction(WR_SUM, WR_F32, c_order, 1, ROWS, COLUMNS), ROWS * COLUMNS,
                      along_axis_0);
    reduce_everywhere("numpy#25909", reduction(WR_SUM, WR_F32, f_order, COLUMNS, ROWS, 1), ROWS * COLUMNS, of_rows);
    CHECK(memcmp(along_axis_0, of_rows, sizeof of_rows) == 0, "numpy#25909: C and Fortran order differ");
    job = reduction(WR_SUM, WR_F32, c_order, 1, ROWS, 1);
    job.strides_given = 1;
    job.outer_stride = ROWS * COLUMNS;
    job.axis_stride = COLUMNS;
    job.inner_stride = 1;
    reduce_everywhere("numpy#13734", job, ROWS * COLUMNS, &sliced);
    CHECK(sliced == along_axis_0[0], "numpy#13734: %.9g, %.9g", (double)sliced, (double)along_axis_0[0]);
    free(c_order);
    free(f_order);
}

static void pytorch_15647_and_117215(void) {
    uint8_t *x = array_of(240000), result = 7, all[3];
    memset(x, 1, 240000);
    reduce_everywhere("pytorch#15647", reduction(WR_PRODUCT, WR_U8, x, 1, 240000, 1), 240000, &result);
    CHECK(result == 1, "pytorch#15647: %u", result);
    memset(x, 0x82, 219);
    x[100] = 0;
    reduce_everywhere("pytorch#117215", reduction(WR_ALL, WR_U8, x, 1, 73, 3), 219, all);
    CHECK(all[0] == 1 && all[1] == 0 && all[2] == 1, "pytorch#117215: %u %u %u", all[0], all[1], all[2]);
    free(x);
}

static void mars_999(void) {
    const int32_t integers[4] = {0, 2, 0, 3};
    const double floats[4] = {0.0, 0.2, -0.0, 0.3};
    int64_t count = 0;
    reduce_everywhere("mars#999", reduction(WR_COUNT_NONZERO, WR_I32, integers, 1, 4, 1), 4, &count);
    CHECK(count == 2, "mars#999: integers: %lld", (long long)count);
    reduce_everywhere("mars#999", reduction(WR_COUNT_NONZERO, WR_F64, floats, 1, 4, 1), 4, &count);
    CHECK(count == 2, "mars#999: floats: %lld", (long long)count);
}

static void cupynumeric_359(void) {
    const double x[3] = {0, 1, 0};
    uint8_t all[3] = {9, 9, 9};
    reduce_everywhere("cupynumeric#359", reduction(WR_ALL, WR_F64, x, 1, 1, 3), 3, all);
    CHECK(all[0] == 0 && all[1] == 1 && all[2] == 0, "cupynumeric#359: %u %u %u", all[0], all[1], all[2]);
}

static void jax_4640_3193_and_2899(void) {
    float x[300];
    int64_t index[3];
    size_t i;
    for (i = 0; i < 100; ++i) {
        x[i] = NAN;
        x[100 + i] = i < 50 ? NAN : 0.0f;
        x[200 + i] = i < 50 ? 0.0f : NAN;
    }
    reduce_everywhere("jax#3193", reduction(WR_ARGMAX, WR_F32, x, 3, 100, 1), 300, index);
    CHECK(index[0] == 0 && index[1] == 0 && index[2] == 50, "jax#3193: argmax %lld %lld %lld", (long long)index[0],
          (long long)index[1], (long long)index[2]);
    reduce_everywhere("jax#3193", reduction(WR_ARGMIN, WR_F32, x, 3, 100, 1), 300, index);
    CHECK(index[0] == 0 && index[1] == 0 && index[2] == 50, "jax#3193: argmin");
    x[0] = 0.0f, x[1] = 1.0f, x[2] = NAN;
    reduce_everywhere("jax#4640", reduction(WR_ARGMAX, WR_F32, x, 1, 3, 1), 3, index);
    CHECK(index[0] == 2, "jax#4640: %lld", (long long)index[0]);
    reduce_everywhere("jax#2899", reduction(WR_ARGMAX, WR_F32, x, 1, 0, 1), 1, index);
    CHECK(index[0] == -1, "jax#2899: %lld", (long long)index[0]);
}

static void pytorch_38922_41998_and_17738(void) {
    enum { ROWS = 40 * 900 };
    float *zeros = array_of(ROWS * sizeof *zeros);
    int64_t *index = array_of(ROWS * sizeof *index);
    const int64_t ties[2][5] = {{2, 3, 0, 3, 3}, {1, 3, 1, 3, 1}};
    size_t i, wrong = 0;
    memset(index, 1, ROWS * sizeof *index);
    reduce_everywhere("pytorch#38922", reduction(WR_ARGMAX, WR_F32, zeros, ROWS, 1, 1), ROWS, index);
    for (i = 0; i < ROWS; ++i) {
        wrong += index[i] != 0;
    }
    CHECK(wrong == 0, "pytorch#38922: %zu indices are not 0", wrong);
    reduce_everywhere("pytorch#17738", reduction(WR_ARGMAX, WR_I64, ties, 2, 5, 1), 10, index);
    CHECK(index[0] == 1 && index[1] == 1, "pytorch#17738: %lld %lld", (long long)index[0], (long long)index[1]);
    free(zeros);
    free(index);
}

/* The zeros are ordered, for extremes and for their indices, at every length. */
static void pytorch_193781_and_tt_metal_55346(void) {
    float x[80], result = 1.0f;
    uint16_t narrow[2] = {0x8000, 0x0000};
    int64_t index = 9;
    size_t length, i;
    for (length = 2; length <= 80; ++length) {
        for (i = 0; i < length; ++i) {
            x[i] = i == length / 2 ? -0.0f : 0.0f;
        }
        reduce_everywhere("pytorch#193781", reduction(WR_MIN, WR_F32, x, 1, length, 1), length, &result);
        CHECK(result == 0.0f && signbit(result), "pytorch#193781: the least of %zu zeros", length);
        for (i = 0; i < length; ++i) {
            x[i] = -x[i];
        }
        reduce_everywhere("pytorch#193781", reduction(WR_MAX, WR_F32, x, 1, length, 1), length, &result);
        CHECK(result == 0.0f && !signbit(result), "pytorch#193781: the largest of %zu zeros", length);
    }
    reduce_everywhere("tt-metal#55346", reduction(WR_ARGMAX, WR_BF16, narrow, 1, 2, 1), 2, &index);
    CHECK(index == 1, "tt-metal#55346: %lld", (long long)index);
    narrow[1] = 0xFFC1;
    reduce_everywhere("tt-metal#55346", reduction(WR_ARGMAX, WR_BF16, narrow, 1, 2, 1), 2, &index);
    CHECK(index == 1, "tt-metal#55346: a NaN: %lld", (long long)index);
}

static void norms_of_extreme_integers(void) {
    const int64_t wide[2] = {INT64_MIN, INT64_MIN};
    const int16_t narrow[3] = {0, 0, 256};
    const int8_t lowest = -128;
    double norm = 0;
    float norm_of_narrow = 0;
    uint64_t largest = 0;
    uint8_t magnitude = 0;
    wr_reduce_args job = reduction(WR_NORM_L1, WR_I64, wide, 1, 2, 1);
    job.output_dtype = WR_F64;
    reduce_everywhere("julia#30466", job, 2, &norm);
    CHECK(norm == 0x1p64, "julia#30466: L1 %g", norm);
    job.op = WR_NORM_L2;
    reduce_everywhere("julia#30466", job, 2, &norm);
    CHECK(is_near(norm, sqrt(2.0) * 0x1p63, 1e-15), "julia#30466: L2 %g", norm);
    job.op = WR_NORM_MAX;
    job.output_dtype = WR_U64;
    reduce_everywhere("julia#30466", job, 2, &largest);
    CHECK(largest == (uint64_t)1 << 63, "julia#30466: largest magnitude %llu", (unsigned long long)largest);
    job = reduction(WR_NORM_L2, WR_I16, narrow, 1, 3, 1);
    job.output_dtype = WR_F32;
    reduce_everywhere("numpy#7413", job, 3, &norm_of_narrow);
    CHECK(norm_of_narrow == 256.0f, "numpy#7413: %g", (double)norm_of_narrow);
    job = reduction(WR_NORM_MAX, WR_I8, &lowest, 1, 1, 1);
    job.output_dtype = WR_U8;
    reduce_everywhere("opencv_contrib#4212", job, 1, &magnitude);
    CHECK(magnitude == 128, "opencv_contrib#4212: %u", magnitude);
}

static void numpy_31927(void) {
    const uint16_t narrow[2] = {f16_of(600), f16_of(800)};
    const double wide[2] = {1e200, 1e200};
    uint16_t norm_of_narrow = 0;
    double norm = 0;
    reduce_everywhere("numpy#31927", reduction(WR_NORM_L2, WR_F16, narrow, 1, 2, 1), 2, &norm_of_narrow);
    CHECK(f16_value(norm_of_narrow) == 1000.0, "numpy#31927: %g", f16_value(norm_of_narrow));
    reduce_everywhere("numpy#31927", reduction(WR_NORM_L2, WR_F64, wide, 1, 2, 1), 2, &norm);
    CHECK(is_near(norm, 1e200 * sqrt(2.0), 1e-15), "numpy#31927: %g", norm);
}

static void empty_segments(void) {
    const float x[4] = {1, 2, 3, 4};
    const int64_t offsets[7] = {0, 1, 2, 2, 4, 4, 4}, none[3] = {0, 0, 0};
    float sums[6], means[6], least[6];
    segments_everywhere("pytorch#91500", WR_SUM, WR_F32, x, 4, offsets, 6, sums);
    segments_everywhere("pytorch#91500", WR_MEAN, WR_F32, x, 4, offsets, 6, means);
    segments_everywhere("cudf#23689", WR_MIN, WR_F32, x, 4, offsets, 6, least);
    CHECK(sums[2] == 0.0f && sums[4] == 0.0f && sums[5] == 0.0f && sums[3] == 7.0f, "pytorch#91500: sums");
    CHECK(isnan(means[2]) && isnan(means[5]) && means[3] == 3.5f, "pytorch#91500: means");
    CHECK(isinf(least[2]) && isinf(least[4]) && isinf(least[5]) && least[3] == 3.0f, "cudf#23689: minima");
    segments_everywhere("pytorch#99733", WR_SUM, WR_F32, x, 4, none, 2, sums);
    CHECK(sums[0] == 0.0f && sums[1] == 0.0f, "pytorch#99733: %g %g", (double)sums[0], (double)sums[1]);
    /* The host device sees that there is nothing to read. */
    sums[0] = sums[1] = 1.0f;
    CHECK(wr_reduce_segments(WR_SUM, WR_F32, NULL, sums, none, 2, wr_host_stream()) == WR_SUCCESS, "pytorch#99733");
    CHECK(sums[0] == 0.0f && sums[1] == 0.0f, "pytorch#99733: %g %g", (double)sums[0], (double)sums[1]);
}

/* Sizes at and beside the multiples of every block: none is lost or counted twice. */
static void cccl_9771(void) {
    enum { MOST = 3 * 8192 + 2 };
    double *ones = array_of(MOST * sizeof *ones), sum = 0;
    size_t block, multiple, i;
    for (i = 0; i < MOST; ++i) {
        ones[i] = 1.0;
    }
    for (block = 256; block <= 8192; block *= 2) {
        for (multiple = 1; multiple <= 3; ++multiple) {
            size_t n;
            for (n = multiple * block - 1; n <= multiple * block + 1; ++n) {
                reduce_everywhere("cccl#9771", reduction(WR_SUM, WR_F64, ones, 1, n, 1), n, &sum);
                CHECK(sum == (double)n, "cccl#9771: %g ones of %zu", sum, n);
            }
        }
    }
    free(ones);
}

/* a[None, :, None] over 7 x 5 x 3 x 2: every mean is the element itself, of memory that holds three. */
static void dfdx_451_and_cupy_605(void) {
    const float a[3] = {1, 2, 3};
    float means[3];
    wr_reduce_args job = reduction(WR_MEAN, WR_F32, a, 1, 70, 3);
    job.strides_given = 1;
    job.inner_stride = 1;
    reduce_everywhere("dfdx#451", job, 3, means);
    CHECK(means[0] == 1.0f && means[1] == 2.0f && means[2] == 3.0f, "dfdx#451: %g %g %g", (double)means[0],
          (double)means[1], (double)means[2]);
}

static void narrow_formats(void) {
    static const uint8_t with_nans[2][2] = {{0x38, 0x7F}, {0xFF, 0x38}};
    static const float at_the_top[4] = {464.0f, 465.0f, 500.0f, -INFINITY};
    uint8_t extremes[2] = {0, 0}, rounded[4];
    float sums[2] = {0, 0};
    wr_reduce_args job = reduction(WR_MAX, WR_F8_E4M3, with_nans, 2, 2, 1);
    reduce_everywhere("mlx#4164", job, 4, extremes);
    CHECK(extremes[0] == 0x7F && extremes[1] == 0x7F, "mlx#4164: %02x %02x", extremes[0], extremes[1]);
    job.op = WR_SUM;
    job.output_dtype = WR_F32;
    reduce_everywhere("mlx#4164", job, 4, sums);
    CHECK(isnan(sums[0]) && isnan(sums[1]), "mlx#4164: %g %g", (double)sums[0], (double)sums[1]);
    job = reduction(WR_SUM, WR_F32, at_the_top, 4, 1, 1);
    job.output_dtype = WR_F8_E4M3;
    reduce_everywhere("universal#1302", job, 4, rounded);
    CHECK(rounded[0] == 0x7E && rounded[1] == 0x7F && rounded[2] == 0x7F && rounded[3] == 0x7F,
          "universal#1302: %02x %02x %02x %02x", rounded[0], rounded[1], rounded[2], rounded[3]);
}

enum { BABY_BEAR = 0x78000001, KOALA_BEAR = 0x7F000001 };

static uint64_t power_mod(uint64_t base, uint64_t exponent, uint64_t p) {
    uint64_t result = 1;
    for (base %= p; exponent != 0; exponent >>= 1) {
        result = (exponent & 1) != 0 ? result * base % p : result;
        base = base * base % p;
    }
    return result;
}

/* Sums of products of words just below p, in Montgomery form: a carry that is lost shows. */
static void expect_dot(const char *report, wr_dtype dtype, uint64_t p, const uint32_t *left, const uint32_t *right,
                       size_t count) {
    const uint64_t inverse_of_r = power_mod((uint64_t)1 << 32, p - 2, p);
    uint64_t expected = 0;
    uint32_t word = 0;
    size_t i;
    for (i = 0; i < count; ++i) {
        expected = (expected + (uint64_t)left[i] * right[i] % p * inverse_of_r) % p;
    }
    dot_everywhere(report, dtype, left, right, count, &word);
    CHECK(word == expected, "%s: %zu products: %08x, expected %08llx", report, count, word,
          (unsigned long long)expected);
}

static void plonky3_2157_and_stark_backend_337(void) {
    static const uint32_t left[5] = {0x2e279ce6, 0x247900aa, 0x60ce65d9, 0x10da3c26, 0x29a91318};
    static const uint32_t right[5] = {0x01859688, 0x61411115, 0x3a299723, 0x0395a3f0, 0x5deae270};
    uint32_t largest[1100];
    size_t count, i;
    expect_dot("Plonky3#2157", WR_BABYBEAR, BABY_BEAR, left, right, 5);
    expect_dot("Plonky3#2157", WR_KOALABEAR, KOALA_BEAR, left, right, 5);
    for (count = 1; count <= 1100; count += count < 40 ? 1 : 106) {
        for (i = 0; i < count; ++i) {
            largest[i] = BABY_BEAR - 1;
        }
        expect_dot("stark-backend#337", WR_BABYBEAR, BABY_BEAR, largest, largest, count);
        for (i = 0; i < count; ++i) {
            largest[i] = KOALA_BEAR - 1;
        }
        expect_dot("stark-backend#337", WR_KOALABEAR, KOALA_BEAR, largest, largest, count);
    }
}

int main(int argc, char **argv) {
    places_open(argc, argv);
    numpy_7930_and_pandas_43929();
    numpy_23075();
    numpy_29772_and_20458();
    numpy_30543_13734_and_25909();
    pytorch_15647_and_117215();
    mars_999();
    cupynumeric_359();
    jax_4640_3193_and_2899();
    pytorch_38922_41998_and_17738();
    pytorch_193781_and_tt_metal_55346();
    norms_of_extreme_integers();
    numpy_31927();
    empty_segments();
    cccl_9771();
    dfdx_451_and_cupy_605();
    narrow_formats();
    plonky3_2157_and_stark_backend_337();
    places_close();
    return check_report("reports_on_reductions");
}
