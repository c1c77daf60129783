/*
 * A float sum is T(x[0..n)) = T(x[0..h)) + T(x[h..n)), h the largest power of two below n, to the bit, whatever the
 * library does to be quick; and a mean is that sum divided by n.
 */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/random_numbers.h"
#include "reference/reference.h"

#include <string.h>

static const wr_dtype float_types[] = {WR_F32, WR_F64, WR_F16, WR_BF16};
enum { FLOAT_TYPES = 4 };

/* Above this only the kinds that tell orders of addition apart, to keep the run short. */
enum { ALL_KINDS_TO = 20000 };

static void check_sum_and_mean(wr_dtype dtype, data_kind kind, size_t n) {
    image input = image_new(n * reference_size(dtype), 0);
    wr_reduce_args args = reduce_args(WR_SUM, dtype, 1, n, 1);
    fill_random(dtype, kind, n * 31 + (uint64_t)kind, input.payload, n);
    args.input = input.payload;
    check_reduce(&args, &input, 0, data_kind_name(kind));
    args.op = WR_MEAN;
    if (n <= ALL_KINDS_TO) {
        check_reduce(&args, &input, 0, data_kind_name(kind));
    }
    image_free(&input);
}

static void check_size(size_t n) {
    int type, kind;
    for (type = 0; type < FLOAT_TYPES; ++type) {
        for (kind = 0; kind < DATA_KINDS; ++kind) {
            if (n <= ALL_KINDS_TO || kind == DATA_WIDE || kind == DATA_CANCELLING) {
                check_sum_and_mean(float_types[type], (data_kind)kind, n);
            }
        }
    }
}

static void check_all_sizes(void) {
    static const size_t boundaries[] = {64, 128, 256, 512, 1024, 2048, 4096, 8192, 65536, 131072, 1048576};
    static const size_t between[] = {48, 96, 100, 1000, 1536, 3072, 10000, 50001, 100000, 786437, 2000003};
    size_t i, n;
    for (n = 0; n <= 40; ++n) {
        check_size(n);
    }
    for (i = 0; i < sizeof boundaries / sizeof *boundaries; ++i) {
        check_size(boundaries[i] - 1);
        check_size(boundaries[i]);
        check_size(boundaries[i] + 1);
    }
    for (i = 0; i < sizeof between / sizeof *between; ++i) {
        check_size(between[i]);
    }
}

/* Accumulating in f64 is the same tree over f64 values, rounded once. */
static void check_accumulate_f64(void) {
    static const size_t sizes[] = {1, 2, 3, 31, 33, 1023, 1025, 4097, 100001};
    size_t i;
    int type, mean, output;
    for (i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        for (type = 0; type < FLOAT_TYPES; ++type) {
            image input = image_new(sizes[i] * reference_size(float_types[type]), 0);
            fill_random(float_types[type], DATA_WIDE, sizes[i], input.payload, sizes[i]);
            for (mean = 0; mean < 2; ++mean) {
                for (output = 0; output <= FLOAT_TYPES; ++output) {
                    wr_reduce_args args = reduce_args(mean ? WR_MEAN : WR_SUM, float_types[type], 1, sizes[i], 1);
                    args.input = input.payload;
                    args.accumulate_dtype = WR_F64;
                    args.output_dtype = output == 0 ? (wr_dtype)0 : float_types[output - 1];
                    check_reduce(&args, &input, 0, "accumulated in f64");
                    args.accumulate_dtype = float_types[type] == WR_F64 ? WR_F64 : WR_F32;
                    check_reduce(&args, &input, 0, "accumulated in the default type");
                }
            }
            image_free(&input);
        }
    }
}

/* The reference itself, on cases small enough to do by hand: 2^24 + 1 is not an f32. */
static void check_reference_by_hand(void) {
    const float three[] = {0x1p24f, 1.0f, 1.0f};
    const float four[] = {0x1p24f, 1.0f, 1.0f, 1.0f};
    const float five[] = {1.0f, 1.0f, 1.0f, 1.0f, 0x1p24f};
    const float six[] = {0x1p24f, 1.0f, 0.0f, 0.0f, 1.0f, 1.0f};
    CHECK(reference_tree_f32(three, 3) == 0x1p24f, "(2^24 + 1) + 1");
    CHECK(reference_tree_f32(four, 4) == 0x1p24f + 2.0f, "(2^24 + 1) + (1 + 1)");
    CHECK(reference_tree_f32(five, 5) == 0x1p24f + 4.0f, "((1 + 1) + (1 + 1)) + 2^24");
    CHECK(reference_tree_f32(six, 6) == 0x1p24f + 2.0f, "((2^24 + 1) + (0 + 0)) + (1 + 1)");
}

/* The sum of a narrow array has the bits of the same values held as f32. */
static void check_narrow_sum_is_f32_sum(wr_dtype narrow, size_t n) {
    image narrow_input = image_new(n * reference_size(narrow), 0);
    image wide_input = image_new(n * sizeof(float), 0);
    image narrow_output = image_new(sizeof(float), 0);
    image wide_output = image_new(sizeof(float), 0);
    wr_reduce_args args = reduce_args(WR_SUM, narrow, 1, n, 1);
    wr_status status;
    size_t i;
    fill_random(narrow, DATA_WIDE, n, narrow_input.payload, n);
    for (i = 0; i < n; ++i) {
        reference_put(WR_F32, wide_input.payload, i, reference_get(narrow, narrow_input.payload, i));
    }
    args.input = narrow_input.payload;
    args.output = narrow_output.payload;
    args.output_dtype = WR_F32;
    status = reduce_at(place_at(0), &args, &narrow_input, &narrow_output);
    CHECK(status == WR_SUCCESS, "%s", wr_status_name(status));
    args.dtype = WR_F32;
    args.input = wide_input.payload;
    args.output = wide_output.payload;
    status = reduce_at(place_at(0), &args, &wide_input, &wide_output);
    CHECK(status == WR_SUCCESS, "%s", wr_status_name(status));
    CHECK(image_equal(&narrow_output, &wide_output), "%s, n = %zu", dtype_name(narrow), n);
    image_free(&narrow_input);
    image_free(&wide_input);
    image_free(&narrow_output);
    image_free(&wide_output);
}

int main(int argc, char **argv) {
    size_t n;
    places_open(argc, argv);
    check_reference_by_hand();
    check_all_sizes();
    check_accumulate_f64();
    for (n = 1; n < 20000; n = n * 3 + 1) {
        check_narrow_sum_is_f32_sum(WR_BF16, n);
        check_narrow_sum_is_f32_sum(WR_F16, n);
    }
    places_close();
    return check_report("sums_are_exact_tree");
}
