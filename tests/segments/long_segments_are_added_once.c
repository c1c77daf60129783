/* A segment that all cores share is added to what the output holds once, and its neighbours too. */
#include "harness/harness.h"
#include "harness/segment_jobs.h"
#include "reference/reference.h"

enum { SEGMENTS = 5, LONG = 700000 };

static const size_t lengths[SEGMENTS] = {3, LONG, 0, 5, LONG / 2};

static void put(wr_dtype dtype, void *array, size_t index, size_t value) {
    if (reference_is_float(dtype)) {
        reference_put(dtype, array, index, (double)value);
    } else {
        reference_put_bits(dtype, array, index, value);
    }
}

/* Ones, whose sums are exact, added to 1, 2, ... */
static void check_sums(wr_dtype dtype) {
    wr_reduce_segments_args args = segments_args(WR_SUM, dtype, SEGMENTS);
    image offsets = image_new((SEGMENTS + 1) * sizeof(int64_t), 0), input, expected, output;
    segment_images images;
    size_t end = 0, i, p;
    reference_put_bits(WR_I64, offsets.payload, 0, 0);
    for (i = 0; i < SEGMENTS; ++i) {
        end += lengths[i];
        reference_put_bits(WR_I64, offsets.payload, i + 1, end);
    }
    input = image_new(end * reference_size(dtype), 0);
    output = image_new(SEGMENTS * reference_size(dtype), 0);
    expected = image_new(output.payload_bytes, 0);
    for (i = 0; i < end; ++i) {
        put(dtype, input.payload, i, 1);
    }
    args.input = input.payload;
    args.offsets = (const int64_t *)(const void *)offsets.payload;
    args.output = output.payload;
    args.add_to_output = 1;
    images.input = &input;
    images.offsets = &offsets;
    images.output = &output;
    images.values = NULL;
    for (p = 0; p < place_count(); ++p) {
        wr_status status;
        for (i = 0; i < SEGMENTS; ++i) {
            put(dtype, output.payload, i, i + 1);
            put(dtype, expected.payload, i, i + 1 + lengths[i]);
        }
        status = segments_at(place_at(p), &args, &images);
        check_same_elements(status, place_at(p), dtype, &expected, &output, "added");
    }
    image_free(&input);
    image_free(&offsets);
    image_free(&output);
    image_free(&expected);
}

int main(int argc, char **argv) {
    places_open(argc, argv);
    check_sums(WR_F32);
    check_sums(WR_F64);
    check_sums(WR_I32);
    check_sums(WR_GOLDILOCKS);
    places_close();
    return check_report("long_segments_are_added_once");
}
