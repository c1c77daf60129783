/*
 * An L2 norm is infinite or 0 only where the norm itself leaves the range, whatever becomes of its squares, in every
 * type, layout and place; where the squares stay in range it is the root of WR_SUM_OF_SQUARES.
 */
#include "harness/harness.h"
#include "harness/random_numbers.h"
#include "harness/segment_jobs.h"
#include "reference/reference.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct known {
    wr_dtype dtype;
    size_t count;
    /* the elements again and again */
    double elements[2], norm;
} known;

static const known by_hand[] = {
    {WR_F32, 4, {1e20, -1e20}, 2e20},
    {WR_F32, 16, {1e-25, 1e-25}, 4e-25},
    {WR_F32, 1, {0x1p-149, 0}, 0x1p-149},
    {WR_F32, 4, {0x1p-149, 0x1p-149}, 0x1p-148},
    {WR_F32, 1, {0x1.fffffep127, 0}, 0x1.fffffep127},
    {WR_F32, 2, {0x1.fffffep127, 0x1.fffffep127}, (double)INFINITY},
    {WR_F32, 64, {0x1p62, 0x1p62}, 0x1p65},
    {WR_F32, 2, {1e20, 1e-25}, 1e20},
    {WR_F32, 4, {(double)INFINITY, 1}, (double)INFINITY},
    {WR_F32, 4, {(double)INFINITY, (double)NAN}, (double)NAN},
    {WR_BF16, 4, {0x1p100, 0x1p100}, 0x1p101},
    {WR_BF16, 16, {0x1p-100, 0x1p-100}, 0x1p-98},
    {WR_F64, 4, {1e200, 1e200}, 2e200},
    {WR_F64, 4, {1e-170, 1e-170}, 2e-170},
    {WR_F64, 16, {0x1p-1074, 0x1p-1074}, 0x1p-1072},
    {WR_F64, 1, {DBL_MAX, 0}, DBL_MAX},
    {WR_F64, 2, {DBL_MAX, DBL_MAX}, (double)INFINITY},
    {WR_F16, 16, {65504, 65504}, (double)INFINITY},
    {WR_F16, 16, {0x1p-24, 0x1p-24}, 0x1p-22},
    {WR_F32, 3, {0, -0.0}, 0},
};

static void check_known(const known *of, const place *where) {
    wr_reduce_args args = reduce_args(WR_NORM_L2, of->dtype, 1, of->count, 1);
    image input = image_new(of->count * reference_size(of->dtype), 0);
    image expected = image_new(reference_size(of->dtype), 0), output = image_copy(&expected);
    size_t i;
    for (i = 0; i < of->count; ++i) {
        reference_put(of->dtype, input.payload, i, of->elements[i % 2]);
    }
    reference_put(of->dtype, expected.payload, 0, of->norm);
    args.input = input.payload;
    args.output = output.payload;
    check_same_elements(reduce_at(where, &args, &input, &output), where, of->dtype, &expected, &output, "a known norm");
    image_free(&input);
    image_free(&expected);
    image_free(&output);
}

/* ---- and the reference */

typedef enum content { ANY_EXPONENT, LARGE, SMALL, ONE_FAR_OUT, AROUND_THE_EDGES, MANY_ZEROS, CONTENTS } content;

static double element_of(wr_dtype dtype, content kind, uint64_t bits) {
    const int wide = dtype == WR_F64, most = wide ? 1022 : dtype == WR_F16 ? 14 : 126;
    const double about_one = 1 + (double)(bits >> 40) * 0x1p-24, sign = bits & 1 ? -1 : 1;
    const int any = (int)((bits >> 8) % (uint64_t)(2 * most + 20)) - most - 20;
    /* where the library changes from one range to another, and where squares begin to lose bits */
    static const int edges_f32[] = {-36, 60, -63, 63, -75, -149, 127},
                     edges_f64[] = {-450, 300, -511, 511, -1074, 1023, 0};
    switch (kind) {
    case LARGE:
        return sign * ldexp(about_one, most - (int)(bits >> 8) % (most / 3));
    case SMALL:
        return sign * ldexp(about_one, -most + (int)(bits >> 8) % (most / 3));
    case ONE_FAR_OUT:
        return bits % 5000 == 3 ? ldexp(about_one, any) : sign * about_one;
    case AROUND_THE_EDGES:
        return sign * ldexp(about_one, (wide ? edges_f64 : edges_f32)[(bits >> 8) % 7] + (int)(bits >> 16) % 3 - 1);
    case MANY_ZEROS:
        return bits % 3 != 0 ? sign * 0.0 : sign * ldexp(about_one, any);
    default:
        return sign * ldexp(about_one, any);
    }
}

static image elements(wr_dtype dtype, content kind, size_t count, uint64_t seed) {
    image made = image_new(count * reference_size(dtype), seed % 3 * reference_size(dtype));
    uint64_t state = seed;
    size_t i;
    for (i = 0; i < count; ++i) {
        reference_put(dtype, made.payload, i, element_of(dtype, kind, random_next(&state)));
    }
    return made;
}

static void check_shape(wr_dtype dtype, content kind, size_t outer, size_t axis, size_t inner) {
    image input = elements(dtype, kind, outer * axis * inner, axis + 3 * inner);
    wr_reduce_args args = reduce_args(WR_NORM_L2, dtype, outer, axis, inner);
    args.input = input.payload;
    check_reduce(&args, &input, 0, "a norm");
    args.output_dtype = WR_F64;
    args.nan_mode = WR_NAN_IGNORE;
    check_reduce(&args, &input, 0, "a norm into f64");
    args.accumulate_dtype = WR_F64;
    check_reduce(&args, &input, 0, "a norm in f64");
    image_free(&input);
}

static void check_segments_of(wr_dtype dtype, content kind) {
    static const int64_t offsets[] = {0, 1, 1, 4, 40, 41, 3000, 3007, 30000};
    image input = elements(dtype, kind, 30000, 9), starts = image_new(sizeof offsets, 0);
    wr_reduce_segments_args args = segments_args(WR_NORM_L2, dtype, sizeof offsets / sizeof *offsets - 1);
    memcpy(starts.payload, offsets, sizeof offsets);
    args.input = input.payload;
    args.offsets = starts.payload;
    check_segments(&args, &input, &starts, 0, "norms of segments");
    image_free(&input);
    image_free(&starts);
}

int main(int argc, char **argv) {
    static const size_t shapes[][3] = {{5, 1, 1},     {7, 2, 1},    {3, 33, 1},     {1, 4097, 1},  {2, 70000, 1},
                                       {1, 100, 70},  {3, 9, 5},    {1, 3000, 3},   {700, 12, 1},  {1, 40, 1000},
                                       {40, 1024, 1}, {2000, 8, 1}, {1, 20000, 33}, {1, 130003, 1}};
    static const wr_dtype types[] = {WR_F32, WR_F64, WR_BF16, WR_F16};
    size_t i, p, type;
    int kind;
    places_open(argc, argv);
    for (p = 0; p < place_count(); ++p) {
        for (i = 0; i < sizeof by_hand / sizeof *by_hand; ++i) {
            check_known(&by_hand[i], place_at(p));
        }
    }
    for (type = 0; type < 4; ++type) {
        for (kind = 0; kind < CONTENTS; ++kind) {
            for (i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
                if (places_take(type + (size_t)kind + i)) {
                    check_shape(types[type], (content)kind, shapes[i][0], shapes[i][1], shapes[i][2]);
                }
            }
            check_segments_of(types[type], (content)kind);
        }
    }
    places_close();
    return check_report("norms_leave_the_range_only_themselves");
}
