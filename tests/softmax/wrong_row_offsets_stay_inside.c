/*
 * Ragged softmax and its gradient with offsets that are no rows: refused on the host device before anything is written;
 * on a GPU the outputs may be anything, but the call succeeds and nothing outside the arrays is touched.
 */
#include "harness/harness.h"
#include "harness/random_numbers.h"
#include "harness/softmax_jobs.h"
#include "reference/reference.h"

#include <stdio.h>
#include <string.h>

enum { ELEMENTS = 20000, WIDEST_ELEMENT = 8, SOME_ROWS = 1000, MANY_ROWS = 5000 };

static const wr_dtype dtypes[] = {WR_F32, WR_F64, WR_BF16, WR_F8_E4M3};
enum { DTYPES = 4 };

/* What every call reads, large enough for any type. */
typedef struct inputs {
    image logits, gradient, sums, mask, lengths, offsets;
} inputs;

static inputs inputs_new(size_t rows) {
    uint64_t state = rows;
    inputs made;
    size_t i;
    made.logits = image_new(ELEMENTS * WIDEST_ELEMENT, 0);
    made.gradient = image_new(ELEMENTS * WIDEST_ELEMENT, 0);
    made.sums = image_new(rows * WIDEST_ELEMENT, 0);
    made.mask = image_new(ELEMENTS, 0);
    made.lengths = image_new(rows * sizeof(int64_t), 0);
    made.offsets = image_new((rows + 1) * sizeof(int64_t), 0);
    memset(made.logits.payload, 0, made.logits.payload_bytes);
    memset(made.gradient.payload, 0, made.gradient.payload_bytes);
    memset(made.sums.payload, 0, made.sums.payload_bytes);
    for (i = 0; i < ELEMENTS; ++i) {
        made.mask.payload[i] = (unsigned char)random_below(&state, 3);
    }
    for (i = 0; i < rows; ++i) {
        reference_put_bits(WR_I64, made.lengths.payload, i, random_below(&state, ELEMENTS));
    }
    return made;
}

static void inputs_free(inputs *used) {
    image_free(&used->logits);
    image_free(&used->gradient);
    image_free(&used->sums);
    image_free(&used->mask);
    image_free(&used->lengths);
    image_free(&used->offsets);
}

/* A call's knobs: log-softmax, lengths, a mask, and for the gradient whether from logits. */
enum { KNOB_LOG = 1, KNOB_LENGTHS = 2, KNOB_MASK = 4, KNOB_LOGITS = 8, FORWARD_KNOBS = 8, BACKWARD_KNOBS = 16 };

static void check_status(const place *where, wr_status status, const char *label) {
    wr_status expected = where->on_gpu ? WR_SUCCESS : WR_ERROR_INVALID_OFFSETS;
    CHECK(status == expected, "%s on %s: %s", label, where->name, wr_status_name(status));
}

/* An output may hold anything where the call has run, and what it held where it was refused; around it nothing may have
 * changed. */
static void check_surroundings(const place *where, image *output, const image *before, const char *label) {
    if (where->on_gpu) {
        memcpy(output->payload, before->payload, output->payload_bytes);
    }
    CHECK(image_equal(output, before), "%s on %s: written where nothing may be", label, where->name);
}

static const int64_t *integers_in(const image *from) { return (const int64_t *)(const void *)from->payload; }

static void check_forward(const place *where, wr_dtype dtype, const inputs *in, size_t rows, int knobs,
                          const char *label) {
    wr_softmax_args args = softmax_args(dtype, rows, ELEMENTS, 1);
    image output = image_new(ELEMENTS * reference_size(dtype), 0), output_before = image_copy(&output);
    image sums = image_new(rows * reference_size(softmax_state_dtype(dtype)), 0), sums_before = image_copy(&sums);
    image maxima = image_copy(&sums), maxima_before = image_copy(&sums);
    softmax_images images = {&in->logits, &in->mask, &in->lengths, &in->offsets, &output, &sums, &maxima, NULL};
    args.log = (knobs & KNOB_LOG) != 0;
    args.input = in->logits.payload;
    args.output = output.payload;
    args.logsumexp = sums.payload;
    args.maximum = knobs & KNOB_LENGTHS ? maxima.payload : NULL;
    args.mask = knobs & KNOB_MASK ? in->mask.payload : NULL;
    args.lengths = knobs & KNOB_LENGTHS ? integers_in(&in->lengths) : NULL;
    args.offsets = integers_in(&in->offsets);
    check_status(where, softmax_with_images_at(where, &args, &images), label);
    check_surroundings(where, &output, &output_before, label);
    check_surroundings(where, &sums, &sums_before, label);
    check_surroundings(where, &maxima, &maxima_before, label);
    image_free(&output);
    image_free(&output_before);
    image_free(&sums);
    image_free(&sums_before);
    image_free(&maxima);
    image_free(&maxima_before);
}

static void check_backward(const place *where, wr_dtype dtype, const inputs *in, size_t rows, int knobs,
                           const char *label) {
    wr_softmax_backward_args args = backward_args(dtype, rows, ELEMENTS, 1);
    image gradient = image_new(ELEMENTS * reference_size(dtype), 0), before = image_copy(&gradient);
    backward_images images = {&in->logits,  &in->sums,    &in->gradient, &in->mask,
                              &in->lengths, &in->offsets, &gradient,     NULL};
    args.log = (knobs & KNOB_LOG) != 0;
    args.output = knobs & KNOB_LOGITS ? NULL : in->logits.payload;
    args.input = knobs & KNOB_LOGITS ? in->logits.payload : NULL;
    args.logsumexp = knobs & KNOB_LOGITS ? in->sums.payload : NULL;
    args.output_gradient = in->gradient.payload;
    args.input_gradient = gradient.payload;
    args.mask = knobs & KNOB_MASK ? in->mask.payload : NULL;
    args.lengths = knobs & KNOB_LENGTHS ? integers_in(&in->lengths) : NULL;
    args.offsets = integers_in(&in->offsets);
    check_status(where, backward_with_images_at(where, &args, &images), label);
    check_surroundings(where, &gradient, &before, label);
    image_free(&gradient);
    image_free(&before);
}

static void check_offsets(const inputs *in, size_t rows, const char *what) {
    char label[200];
    size_t p, d;
    int knobs;
    for (p = 0; p < place_count(); ++p) {
        for (d = 0; d < DTYPES; ++d) {
            for (knobs = 0; knobs < FORWARD_KNOBS; ++knobs) {
                snprintf(label, sizeof label, "%s of %zu rows, softmax of %s, knobs %d", what, rows,
                         dtype_name(dtypes[d]), knobs);
                check_forward(place_at(p), dtypes[d], in, rows, knobs, label);
            }
            for (knobs = 0; knobs < BACKWARD_KNOBS; ++knobs) {
                snprintf(label, sizeof label, "%s of %zu rows, gradient of %s, knobs %d", what, rows,
                         dtype_name(dtypes[d]), knobs);
                check_backward(place_at(p), dtypes[d], in, rows, knobs, label);
            }
        }
    }
}

static void put_right_offsets(image *offsets, size_t rows) {
    size_t i;
    for (i = 0; i <= rows; ++i) {
        reference_put_bits(WR_I64, offsets->payload, i, i * ELEMENTS / rows);
    }
}

static void check_one_wrong(inputs *in, size_t rows, size_t which, int64_t offset, const char *what) {
    put_right_offsets(&in->offsets, rows);
    reference_put_bits(WR_I64, in->offsets.payload, which, (uint64_t)offset);
    check_offsets(in, rows, what);
}

static void check_all_wrong(inputs *in, size_t rows, uint64_t below, const char *what) {
    uint64_t state = rows + 1;
    size_t i;
    for (i = 0; i <= rows; ++i) {
        uint64_t any = below == 0 ? random_next(&state) : random_below(&state, below);
        reference_put_bits(WR_I64, in->offsets.payload, i, any);
    }
    check_offsets(in, rows, what);
}

static void check_rows(size_t rows) {
    inputs in = inputs_new(rows);
    check_one_wrong(&in, rows, rows / 2, 3, "an offset below the one before");
    check_one_wrong(&in, rows, rows / 2, ELEMENTS - 1, "an offset above the one behind");
    check_one_wrong(&in, rows, rows / 2, INT64_MAX, "the largest offset in the middle");
    check_one_wrong(&in, rows, rows / 2, INT64_MIN, "the smallest offset in the middle");
    check_one_wrong(&in, rows, 0, -1, "a negative offset at the start");
    check_one_wrong(&in, rows, 0, INT64_MIN, "the smallest offset at the start");
    check_one_wrong(&in, rows, rows, ELEMENTS + 1, "an end beyond the elements");
    check_one_wrong(&in, rows, rows, INT64_MAX, "an end far beyond the elements");
    check_all_wrong(&in, rows, ELEMENTS, "offsets in no order");
    check_all_wrong(&in, rows, 0, "any bits");
    inputs_free(&in);
}

int main(int argc, char **argv) {
    places_open(argc, argv);
    check_rows(MANY_ROWS);
    check_rows(SOME_ROWS);
    check_rows(7);
    places_close();
    return check_report("wrong_row_offsets_stay_inside");
}
