/*
 * Infinities into a type that has none, and sums of more elements than a few levels of the tree hold: the canonical
 * NaN, and the bits of the tree.
 */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/random_numbers.h"
#include "reference/reference.h"

#include <math.h>
#include <string.h>

/* E4M3 has one NaN pattern that is canonical, whichever infinity it stands for. */
static void check_infinities(wr_op op, wr_dtype dtype, double element, size_t axis, size_t inner) {
    image input = image_new(axis * inner * reference_size(dtype), 0), output = image_new(inner, 0);
    wr_reduce_args args = reduce_args(op, dtype, 1, axis, inner);
    size_t i, p;
    for (i = 0; i < axis * inner; ++i) {
        reference_put(dtype, input.payload, i, i / inner == axis / 2 ? element : 1.0);
    }
    args.input = input.payload;
    args.output = output.payload;
    args.output_dtype = WR_F8_E4M3;
    for (p = 0; p < place_count(); ++p) {
        const wr_status status = reduce_at(place_at(p), &args, &input, &output);
        CHECK(status == WR_SUCCESS, "%s", wr_status_name(status));
        for (i = 0; i < inner; ++i) {
            CHECK(output.payload[i] == 0x7F, "%s of %s with %g: %#x", op_name(op), dtype_name(dtype), element,
                  output.payload[i]);
        }
    }
    image_free(&input);
    image_free(&output);
}

static void check_all_infinities(void) {
    static const wr_dtype types[] = {WR_F32, WR_F64, WR_F16, WR_BF16, WR_F8_E5M2};
    size_t type, inner;
    for (type = 0; type < 5; ++type) {
        for (inner = 1; inner <= 19; inner += 6) {
            check_infinities(WR_SUM, types[type], (double)INFINITY, 1, inner);
            check_infinities(WR_SUM, types[type], -(double)INFINITY, 5, inner);
            check_infinities(WR_PRODUCT, types[type], -(double)INFINITY, 1, inner);
            check_infinities(WR_MEAN, types[type], -(double)INFINITY, 33, inner);
            check_infinities(WR_MIN, types[type], -(double)INFINITY, 9, inner);
            check_infinities(WR_MAX, types[type], (double)INFINITY, 9, inner);
        }
    }
}

/* The same few thousand elements over and over. */
static image long_row(wr_dtype dtype, size_t count) {
    const size_t period = 4099, bytes = reference_size(dtype);
    image row = image_new(count * bytes, 0);
    size_t done;
    fill_random(dtype, DATA_WIDE, 3, row.payload, period);
    for (done = period; done < count; done += period) {
        memcpy(row.payload + done * bytes, row.payload, (count - done < period ? count - done : period) * bytes);
    }
    return row;
}

/* The host device alone: what a GPU adds up of such sizes large_sizes compares with it. */
static void check_long_tree(wr_dtype dtype, size_t count) {
    image row = long_row(dtype, count);
    const wr_dtype kept = dtype == WR_F64 ? WR_F64 : WR_F32;
    uint64_t expected = 0, got = 0;
    const wr_status status = wr_reduce(WR_SUM, dtype, row.payload, &got, 1, count, 1, wr_host_stream());
    if (kept == WR_F64) {
        const double sum = reference_tree_f64((const double *)(const void *)row.payload, count);
        reference_put(WR_F64, &expected, 0, sum);
    } else {
        const float sum = reference_tree_f32((const float *)(const void *)row.payload, count);
        reference_put(WR_F32, &expected, 0, (double)sum);
    }
    CHECK(status == WR_SUCCESS && got == expected, "%zu of %s: %llX for %llX", count, dtype_name(dtype),
          (unsigned long long)got, (unsigned long long)expected);
    image_free(&row);
}

int main(int argc, char **argv) {
    places_open(argc, argv);
    check_all_infinities();
    check_long_tree(WR_F32, ((size_t)1 << 23) + ((size_t)1 << 22) + 12345);
    check_long_tree(WR_F64, ((size_t)1 << 22) + ((size_t)1 << 21) + 777);
    places_close();
    return check_report("ends_of_range_and_length");
}
