/*
 * Each segment's result has the bits of wr_reduce on it alone, whatever its neighbours are; offsets that decrease are
 * refused on the host, and on a GPU they harm nothing but the results.
 */
#include "harness/harness.h"
#include "harness/header_offers.h"
#include "harness/random_numbers.h"
#include "harness/segment_jobs.h"
#include "reference/reference.h"

#include <stdlib.h>
#include <string.h>

static uint64_t state = 4;
static unsigned char wanted;

/* ---- how long the segments are */

typedef enum mixture {
    EMPTY,
    ONES,
    SHORT,
    ROWS_OF_32,
    UP_TO_1024,
    ABOUT_POWERS_OF_TWO,
    ONE_HUGE_FIRST,
    ONE_HUGE_AMONG_TINY,
    ONE_HUGE_LAST,
    EMPTY_AT_BOTH_ENDS,
    ALONE,
    MIXTURES
} mixture;

static const char *const mixture_names[MIXTURES] = {
    "all empty",  "of one element",  "of 0 to 8", "of 32",      "of 0 to 1024", "about powers of two",
    "huge first", "huge among tiny", "huge last", "empty ends", "a single one"};

static size_t length_of(mixture of, size_t segment, size_t segments, size_t huge) {
    size_t ends[3] = {0, segments / 2, segments - 1};
    switch ((int)of) {
    case EMPTY:
        return 0;
    case ONES:
        return 1;
    case SHORT:
        return random_below(&state, 9);
    case ROWS_OF_32:
        return 32;
    case UP_TO_1024:
        return random_below(&state, 1025);
    case ABOUT_POWERS_OF_TWO:
        return ((size_t)1 << random_below(&state, 13)) + random_below(&state, 3) - 1;
    case EMPTY_AT_BOTH_ENDS:
        return segment < segments / 3 || segment > 2 * segments / 3 ? 0 : random_below(&state, 40);
    case ALONE:
        return huge;
    default:
        return segment == ends[of - ONE_HUGE_FIRST] ? huge : random_below(&state, 4);
    }
}

/* segments + 1 offsets, from `first` on. */
static image make_offsets(mixture of, size_t segments, size_t huge, size_t first, wr_dtype dtype) {
    image made = image_new((segments + 1) * reference_size(dtype), reference_size(dtype) * (segments % 3));
    size_t at = first, i;
    for (i = 0; i <= segments; ++i) {
        reference_put_bits(dtype, made.payload, i, at);
        at += i < segments ? length_of(of, i, segments, huge) : 0;
    }
    return made;
}

static size_t last_offset(const image *offsets, size_t segments, wr_dtype dtype) {
    return (size_t)reference_get_integer(dtype, offsets->payload, segments);
}

/* ---- against the reference */

static void check_options(wr_reduce_segments_args args, const image *input, const image *offsets, const char *label) {
    check_segments(&args, input, offsets, 0, label);
    if (args.op == WR_ARGMIN || args.op == WR_ARGMAX) {
        args.values = &wanted;
        check_segments(&args, input, offsets, reference_size(WR_I64), label);
    }
    if (reference_is_float(args.dtype)) {
        args.nan_mode = WR_NAN_IGNORE;
        check_segments(&args, input, offsets, 0, label);
    }
    if (takes_add_to_output(args.op) && reference_is_float(args.dtype) == reference_is_float(args.output_dtype)) {
        args.add_to_output = 1;
        check_segments(&args, input, offsets, 0, label);
    }
    if (takes_accumulate_dtype(args.op, args.dtype)) {
        args.accumulate_dtype = WR_F64;
        check_segments(&args, input, offsets, 0, label);
    }
}

static void check_mixture(wr_op op, wr_dtype dtype, mixture of, size_t segments, size_t huge, data_kind kind) {
    wr_dtype offsets_dtype = segments % 2 == 0 ? WR_I64 : WR_I32;
    size_t first = segments % 5 * 3, count;
    image offsets = make_offsets(of, segments, huge, first, offsets_dtype), input;
    wr_reduce_segments_args args = segments_args(op, dtype, segments);
    count = last_offset(&offsets, segments, offsets_dtype);
    input = image_new(count * reference_size(dtype), reference_size(dtype) * (segments % 4));
    fill_random(dtype, kind, count + (uint64_t)op, input.payload, count);
    args.input = input.payload;
    args.offsets = offsets.payload;
    args.offsets_dtype = offsets_dtype == WR_I32 ? WR_I32 : segments % 4 == 0 ? WR_I64 : (wr_dtype)0;
    args.input_count = segments % 3 == 0 ? count : 0;
    args.output_dtype = has_default_output(op, dtype) ? (wr_dtype)0 : WR_F64;
    check_segments(&args, &input, &offsets, 0, mixture_names[of]);
    if (of == SHORT || of == ONE_HUGE_AMONG_TINY) {
        check_options(args, &input, &offsets, mixture_names[of]);
    }
    image_free(&offsets);
    image_free(&input);
}

static data_kind kind_for(wr_op op) {
    switch ((int)op) {
    case WR_PRODUCT:
        return DATA_NEAR_ONE;
    case WR_ARGMIN:
    case WR_ARGMAX:
        return DATA_FEW_VALUES;
    case WR_MIN:
    case WR_MAX:
        return DATA_WITH_NANS;
    case WR_ANY:
    case WR_COUNT_NONZERO:
        return DATA_MOSTLY_ZERO;
    case WR_ALL:
        return DATA_FEW_ZEROS;
    default:
        return DATA_WIDE;
    }
}

static void check_operator(wr_op op, wr_dtype dtype) {
    static const size_t counts[] = {37, 100, 300, 40, 21, 25, 50, 61, 33, 64, 1};
    int of;
    for (of = 0; of < MIXTURES; ++of) {
        check_mixture(op, dtype, (mixture)of, counts[of], 5001, kind_for(op));
    }
}

/* Enough of them, and a segment long enough, that many blocks have to share the work. */
static void check_large(wr_op op, wr_dtype dtype) {
    check_mixture(op, dtype, ONE_HUGE_AMONG_TINY, 20003, 300007, kind_for(op));
    check_mixture(op, dtype, SHORT, 50000, 0, kind_for(op));
    check_mixture(op, dtype, UP_TO_1024, 1000, 0, kind_for(op));
    check_mixture(op, dtype, EMPTY, 30001, 0, kind_for(op));
    check_mixture(op, dtype, ALONE, 1, 400001, kind_for(op));
}

/* ---- against wr_reduce */

static void check_against_reduce(wr_op op, wr_dtype dtype) {
    enum { SEGMENTS = 40 };
    image offsets = make_offsets(ABOUT_POWERS_OF_TWO, SEGMENTS, 0, 3, WR_I64), input, together, alone;
    size_t count = last_offset(&offsets, SEGMENTS, WR_I64), size = reference_size(dtype), out, i;
    const int64_t *offset = (const int64_t *)(const void *)offsets.payload;
    wr_reduce_args one = reduce_args(op, dtype, 1, 0, 1);
    wr_status status;
    out = reference_size(reference_output_dtype(&one));
    input = image_new(count * size, 0);
    together = image_new(SEGMENTS * out, 0);
    alone = image_new(SEGMENTS * out, 0);
    fill_random(dtype, kind_for(op), count, input.payload, count);
    status = wr_reduce_segments(op, dtype, input.payload, together.payload, offset, SEGMENTS, wr_host_stream());
    CHECK(status == WR_SUCCESS, "%s", wr_status_name(status));
    for (i = 0; i < SEGMENTS; ++i) {
        status = wr_reduce(op, dtype, input.payload + (size_t)offset[i] * size, alone.payload + i * out, 1,
                           (size_t)(offset[i + 1] - offset[i]), 1, wr_host_stream());
        CHECK(status == WR_SUCCESS, "%s", wr_status_name(status));
    }
    CHECK(image_equal(&together, &alone), "%s of %s: segments are not rows of their own", op_name(op),
          dtype_name(dtype));
    image_free(&offsets);
    image_free(&input);
    image_free(&together);
    image_free(&alone);
}

/* ---- workspaces */

static void check_workspace(wr_op op, wr_dtype dtype, mixture of, size_t segments, size_t huge) {
    image offsets = make_offsets(of, segments, huge, 0, WR_I64), input;
    size_t count = last_offset(&offsets, segments, WR_I64), bytes = 0;
    wr_reduce_segments_args args = segments_args(op, dtype, segments);
    wr_status status;
    input = image_new(count * reference_size(dtype), 0);
    fill_random(dtype, kind_for(op), count, input.payload, count);
    args.input = input.payload;
    args.offsets = offsets.payload;
    args.input_count = count;
    status = wr_reduce_segments_workspace_size(&args, &bytes);
    CHECK(status == WR_SUCCESS, "query: %s", wr_status_name(status));
    args.workspace = &wanted;
    args.workspace_bytes = bytes;
    check_segments(&args, &input, &offsets, 0, "a workspace that just suffices");
    args.workspace_bytes = bytes + 4096;
    check_segments(&args, &input, &offsets, 0, "more workspace than needed");
    image_free(&offsets);
    image_free(&input);
}

/* ---- offsets that are wrong */

enum { WRONG_SEGMENTS = 1000, WRONG_COUNT = 20000 };

/* Results may be anything; the output's surroundings and the inputs, which segments_at looks at, may not change. */
static void check_wrong_offsets(const place *where, wr_op op, const image *input, const image *offsets,
                                size_t input_count, const char *label) {
    wr_reduce_segments_args args = segments_args(op, WR_F32, WRONG_SEGMENTS);
    wr_reduce_args one = reduce_args(op, WR_F32, 1, 0, 1);
    image output = image_new(WRONG_SEGMENTS * reference_size(reference_output_dtype(&one)), 0);
    image before = image_copy(&output);
    segment_images images = {input, offsets, &output, NULL};
    wr_status status;
    args.input = input->payload;
    args.offsets = offsets->payload;
    args.output = output.payload;
    args.input_count = input_count;
    status = segments_at(where, &args, &images);
    if (where->on_gpu) {
        CHECK(status == WR_SUCCESS, "%s on %s: %s", label, where->name, wr_status_name(status));
        memcpy(output.payload, before.payload, output.payload_bytes);
        CHECK(image_equal(&output, &before), "%s: written beside the output", label);
    } else {
        CHECK(status == WR_ERROR_INVALID_OFFSETS, "%s: %s", label, wr_status_name(status));
        CHECK(image_equal(&output, &before), "%s: the refused call has written", label);
    }
    image_free(&output);
    image_free(&before);
}

static void put_offset(image *offsets, size_t i, int64_t offset) {
    reference_put_bits(WR_I64, offsets->payload, i, (uint64_t)offset);
}

static void check_each_wrong_offset(const place *where, wr_op op) {
    image input = image_new(WRONG_COUNT * sizeof(float), 0);
    image right = image_new((WRONG_SEGMENTS + 1) * sizeof(int64_t), 0), wrong;
    size_t i;
    fill_random(WR_F32, DATA_WIDE, 5, input.payload, WRONG_COUNT);
    for (i = 0; i <= WRONG_SEGMENTS; ++i) {
        put_offset(&right, i, (int64_t)(i * WRONG_COUNT / WRONG_SEGMENTS));
    }
    wrong = image_copy(&right);
    put_offset(&wrong, 500, 3);
    check_wrong_offsets(where, op, &input, &wrong, 0, "an offset below the one before");
    put_offset(&wrong, 500, 19999);
    check_wrong_offsets(where, op, &input, &wrong, 0, "an offset above the one behind");
    put_offset(&wrong, 500, INT64_MAX);
    check_wrong_offsets(where, op, &input, &wrong, 0, "the largest offset in the middle");
    put_offset(&wrong, 500, INT64_MIN);
    check_wrong_offsets(where, op, &input, &wrong, 0, "the smallest offset in the middle");
    put_offset(&wrong, 500, -1);
    check_wrong_offsets(where, op, &input, &wrong, WRONG_COUNT, "a negative offset");
    image_free(&wrong);
    wrong = image_copy(&right);
    for (i = 0; i <= WRONG_SEGMENTS; ++i) {
        put_offset(&wrong, i, (int64_t)random_below(&state, WRONG_COUNT));
    }
    check_wrong_offsets(where, op, &input, &wrong, WRONG_COUNT, "offsets in no order");
    for (i = 0; i <= WRONG_SEGMENTS; ++i) {
        put_offset(&wrong, i, (int64_t)random_next(&state));
    }
    check_wrong_offsets(where, op, &input, &wrong, WRONG_COUNT, "any bits");
    image_free(&wrong);
    wrong = image_copy(&right);
    put_offset(&wrong, WRONG_SEGMENTS, WRONG_COUNT + 1);
    check_wrong_offsets(where, op, &input, &wrong, WRONG_COUNT, "an end beyond the input's elements");
    put_offset(&wrong, WRONG_SEGMENTS, INT64_MAX);
    check_wrong_offsets(where, op, &input, &wrong, WRONG_COUNT, "an end far beyond the input's elements");
    image_free(&wrong);
    image_free(&right);
    image_free(&input);
}

static void check_all_wrong_offsets(void) {
    static const wr_op ops[] = {WR_SUM, WR_MAX, WR_ARGMIN, WR_MEAN, WR_COUNT_NONZERO};
    size_t i, p;
    for (p = 0; p < place_count(); ++p) {
        for (i = 0; i < sizeof ops / sizeof *ops; ++i) {
            check_each_wrong_offset(place_at(p), ops[i]);
        }
    }
}

/* Of no segments nothing is looked at. */
static void check_no_segments(void) {
    size_t p;
    for (p = 0; p < place_count(); ++p) {
        wr_status status = wr_reduce_segments(WR_SUM, WR_F32, NULL, NULL, NULL, 0, place_at(p)->stream);
        CHECK(status == WR_SUCCESS, "no segments on %s: %s", place_at(p)->name, wr_status_name(status));
    }
}

static void check_sums_and_extremes(wr_dtype dtype) {
    static const wr_op ops[] = {WR_SUM, WR_MAX, WR_ARGMIN, WR_MEAN};
    size_t i;
    for (i = 0; i < 4; ++i) {
        if (has_default_output(ops[i], dtype)) {
            check_large(ops[i], dtype);
            check_workspace(ops[i], dtype, ONE_HUGE_AMONG_TINY, 3001, 100003);
            check_workspace(ops[i], dtype, UP_TO_1024, 300, 0);
        }
    }
}

int main(int argc, char **argv) {
    static const wr_dtype large[] = {WR_F32, WR_BF16, WR_F64, WR_I32, WR_U8, WR_KOALABEAR, WR_KOALABEAR_X4};
    int op, dtype;
    size_t i;
    places_open(argc, argv);
    check_no_segments();
    for (op = WR_SUM; op <= LAST_REDUCTION; ++op) {
        for (dtype = WR_F32; dtype <= LAST_DTYPE; ++dtype) {
            if (offered_outputs((wr_op)op, (wr_dtype)dtype).count > 0) {
                check_operator((wr_op)op, (wr_dtype)dtype);
            }
            if (has_default_output((wr_op)op, (wr_dtype)dtype)) {
                check_against_reduce((wr_op)op, (wr_dtype)dtype);
            }
        }
    }
    for (i = 0; i < sizeof large / sizeof *large; ++i) {
        check_sums_and_extremes(large[i]);
    }
    check_all_wrong_offsets();
    places_close();
    return check_report("segments_are_rows_of_their_own");
}
