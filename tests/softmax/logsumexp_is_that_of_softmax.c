/*
 * WR_LOGSUMEXP has the bits of the logsumexp that softmax gives beside its outputs, for every type, axis and stride,
 * and of each segment by itself; narrower outputs are those bits rounded once more.
 */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/random_numbers.h"
#include "harness/segment_jobs.h"
#include "harness/softmax_jobs.h"
#include "reference/reference.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const wr_dtype float_types[] = {WR_F32, WR_F64, WR_F16, WR_BF16, WR_F8_E4M3, WR_F8_E5M2};
enum { FLOAT_TYPES = 6 };

/* Logits, and now and then what is none. */
static void fill(wr_dtype dtype, image *array, uint64_t seed) {
    uint64_t state = seed;
    size_t count = array->payload_bytes / reference_size(dtype), i;
    for (i = 0; i < count; ++i) {
        reference_put(dtype, array->payload, i, 60.0 * random_unit(&state) - 30.0);
    }
    if (count > 0 && seed % 7 == 3) {
        static const double specials[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
        reference_put(dtype, array->payload, random_below(&state, count), specials[random_below(&state, 3)]);
    }
}

/* What softmax says, as elements of `output_dtype`. */
static image expected_sums(const wr_reduce_args *args, const image *input, wr_dtype output_dtype) {
    size_t rows = args->outer * args->inner, i;
    wr_dtype state = softmax_state_dtype(args->dtype);
    image outputs = image_new(rows * args->axis * reference_size(args->dtype), 0);
    image sums = image_new(rows * reference_size(state), 0);
    image expected = image_new(rows * reference_size(output_dtype), reference_size(output_dtype));
    wr_softmax_args softmax = softmax_args(args->dtype, args->outer, args->axis, args->inner);
    softmax.input = args->input;
    softmax.output = outputs.payload;
    softmax.logsumexp = sums.payload;
    softmax.outer_stride = args->outer_stride;
    softmax.axis_stride = args->axis_stride;
    softmax.inner_stride = args->inner_stride;
    softmax.strides_given = args->strides_given;
    CHECK(softmax_at(place_at(0), &softmax, input, &outputs, &sums) == WR_SUCCESS, "softmax");
    for (i = 0; i < rows; ++i) {
        reference_put(output_dtype, expected.payload, i, reference_get(state, sums.payload, i));
    }
    image_free(&outputs);
    image_free(&sums);
    return expected;
}

static void check(wr_reduce_args *args, const image *input, wr_dtype output_dtype) {
    wr_dtype given = (int)output_dtype == 0 ? args->dtype : output_dtype;
    image expected = expected_sums(args, input, given);
    char label[200];
    size_t i;
    args->output_dtype = output_dtype;
    snprintf(label, sizeof label, "logsumexp of %s to %s, [%zu][%zu][%zu]", dtype_name(args->dtype), dtype_name(given),
             args->outer, args->axis, args->inner);
    for (i = 0; i < place_count(); ++i) {
        image result = image_new(expected.payload_bytes, reference_size(given));
        wr_status status;
        args->output = result.payload;
        status = reduce_at(place_at(i), args, input, &result);
        check_same_elements(status, place_at(i), given, &expected, &result, label);
        if ((int)output_dtype == 0 && args->strides_given == 0) {
            memset(result.base, IMAGE_POISON, result.size);
            status = reduce_short_at(place_at(i), args, input, &result);
            check_same_elements(status, place_at(i), given, &expected, &result, label);
        }
        image_free(&result);
    }
    image_free(&expected);
}

static void check_shape(wr_dtype dtype, size_t outer, size_t axis, size_t inner, uint64_t seed) {
    image input = image_new(outer * axis * inner * reference_size(dtype), reference_size(dtype));
    wr_reduce_args args = reduce_args(WR_LOGSUMEXP, dtype, outer, axis, inner);
    size_t output;
    fill(dtype, &input, seed);
    args.input = input.payload;
    check(&args, &input, (wr_dtype)0);
    for (output = 0; output < FLOAT_TYPES; ++output) {
        check(&args, &input, float_types[output]);
    }
    if (axis > 0) {
        /* the same array with its last two directions exchanged */
        args.inner = axis;
        args.axis = inner;
        args.outer_stride = (ptrdiff_t)(axis * inner);
        args.axis_stride = 1;
        args.inner_stride = (ptrdiff_t)inner;
        SAY_STRIDES(&args);
        check(&args, &input, (wr_dtype)0);
    }
    image_free(&input);
}

/* Rows apart from each other, backwards, such that share elements, and whole vectors apart. */
static void check_strided(wr_dtype dtype, size_t axis, uint64_t seed) {
    enum { ROWS = 37 };
    ptrdiff_t strides[4];
    size_t i;
    strides[0] = (ptrdiff_t)axis + 3;
    strides[1] = -(ptrdiff_t)axis - 1;
    strides[2] = 1;
    strides[3] = (ptrdiff_t)axis + 16;
    for (i = 0; i < sizeof strides / sizeof *strides; ++i) {
        size_t apart = (size_t)(strides[i] < 0 ? -strides[i] : strides[i]), size = reference_size(dtype);
        image input = image_new(((ROWS - 1) * apart + axis) * size, size * ((i + 1) % 4));
        wr_reduce_args args = reduce_args(WR_LOGSUMEXP, dtype, ROWS, axis, 1);
        fill(dtype, &input, seed + i);
        args.input = input.payload + (strides[i] < 0 ? (ROWS - 1) * apart * size : 0);
        args.outer_stride = strides[i];
        SAY_STRIDES(&args);
        check(&args, &input, (wr_dtype)0);
        image_free(&input);
    }
}

/* The fewest and the most elements of which so many lanes take 32 each, and a whole vector less; three tiles of 1024
 * elements and a row more. */
static void check_lanes(wr_dtype dtype, size_t lanes) {
    const size_t lengths[] = {32 * lanes - 31, 32 * lanes - 16, 32 * lanes - 1, 32 * lanes};
    size_t i;
    for (i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
        size_t rows = 3 * (32 / lanes) + 1, misalignment = i % 2 * reference_size(dtype);
        image input = image_new(rows * lengths[i] * reference_size(dtype), misalignment);
        wr_reduce_args args = reduce_args(WR_LOGSUMEXP, dtype, rows, lengths[i], 1);
        fill(dtype, &input, lanes + i);
        args.input = input.payload;
        check(&args, &input, (wr_dtype)0);
        image_free(&input);
    }
}

/* As many rows as make a warp take several tiles of them, one behind the other; every row begins elsewhere, and some
 * hold logits that are large or none. Rows: of a GPU of 132 multiprocessors. */
static void check_many(wr_dtype dtype, size_t rows_of_132, size_t axis) {
    static const double unusual[] = {(double)NAN, 4e6, -(double)INFINITY, -4e6, (double)INFINITY};
    size_t rows = rows_of_132 * place_multiprocessors(place_at(1)) / 132, count = rows * axis, i;
    image input = image_new(count * reference_size(dtype), reference_size(dtype));
    wr_reduce_args args = reduce_args(WR_LOGSUMEXP, dtype, rows, axis, 1);
    fill(dtype, &input, axis);
    for (i = 0; i < count; i += 10007) {
        reference_put(dtype, input.payload, i, unusual[i % 5]);
    }
    args.input = input.payload;
    check(&args, &input, (wr_dtype)0);
    image_free(&input);
}

static void check_segments_of(wr_dtype dtype, size_t longest) {
    enum { SEGMENTS = 17 };
    uint64_t state = longest;
    image offsets = image_new((SEGMENTS + 1) * sizeof(int64_t), 0);
    int64_t *at = (int64_t *)(void *)offsets.payload;
    wr_dtype output_dtype = dtype;
    image expected = image_new(SEGMENTS * reference_size(output_dtype), 0);
    wr_reduce_segments_args args = segments_args(WR_LOGSUMEXP, dtype, SEGMENTS);
    image input;
    size_t s, i;
    at[0] = 2;
    for (s = 0; s < SEGMENTS; ++s) {
        at[s + 1] = at[s] + (s % 4 == 1 ? 0 : (int64_t)random_below(&state, longest + 1));
    }
    input = image_new((size_t)at[SEGMENTS] * reference_size(dtype), 0);
    fill(dtype, &input, longest);
    for (s = 0; s < SEGMENTS; ++s) {
        const unsigned char *first = input.payload + (size_t)at[s] * reference_size(dtype);
        unsigned char *to = expected.payload + s * reference_size(output_dtype);
        wr_status status =
            wr_reduce(WR_LOGSUMEXP, dtype, first, to, 1, (size_t)(at[s + 1] - at[s]), 1, wr_host_stream());
        CHECK(status == WR_SUCCESS, "a segment alone: %s", wr_status_name(status));
    }
    args.input = input.payload;
    args.offsets = offsets.payload;
    for (i = 0; i < place_count(); ++i) {
        image result = image_new(expected.payload_bytes, 0);
        segment_images images = {&input, &offsets, &result, NULL};
        wr_status status;
        args.output = result.payload;
        status = segments_at(place_at(i), &args, &images);
        check_same_elements(status, place_at(i), output_dtype, &expected, &result, "logsumexp of segments");
        image_free(&result);
    }
    image_free(&input);
    image_free(&offsets);
    image_free(&expected);
}

int main(int argc, char **argv) {
    static const size_t lengths[] = {0, 1, 2, 31, 64, 1000, 1024, 1025, 4096, 9000, 9001, 40000};
    static const size_t strided[] = {1,   7,   8,   25,  26,   29,   32,   33,   61,  100,
                                     301, 505, 511, 513, 1017, 1023, 1024, 1031, 5001};
    size_t type, n;
    places_open(argc, argv);
    for (type = 0; type < FLOAT_TYPES; ++type) {
        for (n = 0; n < sizeof lengths / sizeof *lengths; ++n) {
            uint64_t seed = n + type;
            if (places_take(n + type)) {
                check_shape(float_types[type], 6, lengths[n], 1, seed);
                check_shape(float_types[type], 2, lengths[n], 9, seed + 1);
                check_shape(float_types[type], 1, lengths[n], 1, seed + 3);
            }
        }
        for (n = 0; n < sizeof strided / sizeof *strided; ++n) {
            if (places_take(n + type)) {
                check_strided(float_types[type], strided[n], 10 * n + type);
            }
        }
        for (n = 1; n <= 17; ++n) {
            if (places_take(n + type)) {
                check_lanes(float_types[type], n);
            }
        }
        check_segments_of(float_types[type], 10);
        check_segments_of(float_types[type], 5000);
    }
    if (place_count() > 1) {
        check_many(WR_F32, 400003, 33);
        check_many(WR_F32, 49157, 301);
        check_many(WR_F32, 24600, 1001);
        check_many(WR_BF16, 800003, 29);
        check_many(WR_BF16, 49157, 504);
        check_many(WR_BF16, 12301, 3001);
        check_many(WR_F16, 12301, 3072);
    }
    places_close();
    return check_report("logsumexp_is_that_of_softmax");
}
