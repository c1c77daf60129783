/*
 * Ragged rows, many and most of them short, with empty ones, ones of every length around the edges at which a row gets
 * more room, and a few far longer: softmax, its gradient and the logsumexp of segments are the host's bits in every
 * place, whatever is left out and whatever the types; and a row has the bits of that row alone.
 */
#include "harness/harness.h"
#include "harness/random_numbers.h"
#include "harness/segment_jobs.h"
#include "harness/softmax_jobs.h"
#include "reference/reference.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* So many rows a multiprocessor, that a GPU has several of them in a warp; and so many where there is none. */
enum { ROWS_A_MULTIPROCESSOR = 32, FEW_ROWS = 700 };

static size_t fewest_rows(void) {
    size_t last = place_multiprocessors(place_at(place_count() - 1));
    return place_at(place_count() - 1)->on_gpu ? last * ROWS_A_MULTIPROCESSOR : FEW_ROWS;
}

/* What the arrays of a job are about: [rows], each row up to `usual` elements long but for a few. */
typedef struct ragged_rows {
    size_t rows, elements;
    image offsets, lengths, mask;
} ragged_rows;

static int64_t *offsets_of(const ragged_rows *of) { return (int64_t *)(void *)of->offsets.payload; }

static size_t length_of(uint64_t *state, size_t row, size_t usual) {
    static const size_t edges[] = {1, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025, 2049};
    size_t any = random_below(state, usual + 1);
    if (row == 77) {
        return 9000;
    }
    if (row % 61 == 5) {
        return edges[row / 61 % (sizeof edges / sizeof *edges)];
    }
    return row % 7 == 6 ? 0 : any;
}

/* Every fifth row is longer than a base block: of these a block of a GPU's threads finds more than it does at a time.
 */
static size_t crowded_length_of(uint64_t *state, size_t row, size_t usual) {
    return row % 5 == 2 ? 1030 + random_below(state, 200) : random_below(state, usual);
}

static ragged_rows ragged_new(size_t rows, size_t usual, size_t (*length_at)(uint64_t *, size_t, size_t)) {
    enum { IN_FRONT = 3, BEHIND = 2 };
    ragged_rows made = {
        rows, IN_FRONT, image_new((rows + 1) * sizeof(int64_t), 8), image_new(rows * sizeof(int64_t), 8), {0}};
    int64_t *lengths = (int64_t *)(void *)made.lengths.payload;
    uint64_t state = usual;
    size_t row, i;
    for (row = 0; row < rows; ++row) {
        size_t length = length_at(&state, row, usual);
        offsets_of(&made)[row] = (int64_t)made.elements;
        made.elements += length;
        lengths[row] = row % 3 == 0 ? (int64_t)random_below(&state, length + 2) - 1 : (int64_t)length + 1;
    }
    offsets_of(&made)[rows] = (int64_t)made.elements;
    made.elements += BEHIND;
    made.mask = image_new(made.elements, 1);
    for (i = 0; i < made.elements; ++i) {
        made.mask.payload[i] = (unsigned char)(random_below(&state, 5) != 0);
    }
    return made;
}

static void ragged_free(ragged_rows *of) {
    image_free(&of->offsets);
    image_free(&of->lengths);
    image_free(&of->mask);
}

/* Logits, and now and then what is none. */
static double logit(uint64_t *state, size_t i) {
    double value = 40.0 * random_unit(state) - 20.0;
    if (i % 1009 == 7) {
        return (double)NAN;
    }
    if (i % 2003 == 9) {
        return (double)INFINITY;
    }
    return i % 97 == 11 ? -(double)INFINITY : value;
}

static image logits_new(wr_dtype dtype, size_t count) {
    image made = image_new(count * reference_size(dtype), reference_size(dtype));
    uint64_t state = 11;
    size_t i;
    for (i = 0; i < count; ++i) {
        reference_put(dtype, made.payload, i, logit(&state, i));
    }
    return made;
}

typedef struct softmax_kind {
    wr_dtype dtype, output_dtype;
    int log, masked, cut_off, row_values, in_place;
    wr_empty_row empty_row;
    double scale;
} softmax_kind;

/* Some of the rows by themselves, of which all elements take part. */
static void check_rows_alone(const softmax_kind *kind, const ragged_rows *of, const image *input, const image *output) {
    size_t size = reference_size(kind->dtype), output_size = reference_size(kind->output_dtype), row, wrong = 0;
    for (row = 0; row < of->rows; row += 5) {
        size_t first = (size_t)offsets_of(of)[row], count = (size_t)offsets_of(of)[row + 1] - first;
        wr_softmax_args alone = softmax_args(kind->dtype, 1, count, 1);
        image own = image_new(count * size, 0), result = image_new(count * output_size, 0);
        memcpy(own.payload, input->payload + first * size, count * size);
        alone.output_dtype = kind->output_dtype;
        alone.log = kind->log;
        alone.scale = kind->scale;
        alone.empty_row = kind->empty_row;
        alone.input = own.payload;
        alone.output = result.payload;
        wrong += softmax_at(place_at(0), &alone, &own, &result, NULL) != WR_SUCCESS ||
                 memcmp(result.payload, output->payload + first * output_size, count * output_size) != 0;
        image_free(&own);
        image_free(&result);
    }
    CHECK(wrong == 0, "%zu ragged rows of %s are not what they are alone", wrong, dtype_name(kind->dtype));
}

static void check_softmax(const softmax_kind *kind, const ragged_rows *of) {
    wr_dtype state = softmax_state_dtype(kind->dtype);
    image input = logits_new(kind->dtype, of->elements);
    image output = image_new(of->elements * reference_size(kind->output_dtype), reference_size(kind->output_dtype));
    image sums = image_new(of->rows * reference_size(state), 0),
          maxima = image_new(of->rows * reference_size(state), 0);
    image *written = kind->in_place ? &input : &output;
    const softmax_images images = {&input, &of->mask, &of->lengths, &of->offsets, written, &sums, &maxima};
    wr_softmax_args args = softmax_args(kind->dtype, of->rows, of->elements, 1);
    char label[160];
    args.output_dtype = kind->output_dtype;
    args.log = kind->log;
    args.scale = kind->scale;
    args.empty_row = kind->empty_row;
    args.input = input.payload;
    args.output = written->payload;
    args.offsets = offsets_of(of);
    args.mask = kind->masked ? of->mask.payload : NULL;
    args.lengths = kind->cut_off ? (const int64_t *)(const void *)of->lengths.payload : NULL;
    args.logsumexp = kind->row_values ? sums.payload : NULL;
    args.maximum = kind->row_values ? maxima.payload : NULL;
    snprintf(label, sizeof label,
             "%zu rows of %zu elements, %s to %s, log %d, masked %d, cut off %d, row values %d, in place %d", of->rows,
             of->elements, dtype_name(kind->dtype), dtype_name(kind->output_dtype), kind->log, kind->masked,
             kind->cut_off, kind->row_values, kind->in_place);
    run_softmax_everywhere(&args, &images, label);
    if (!kind->masked && !kind->cut_off && !kind->in_place) {
        check_rows_alone(kind, of, &input, &output);
    }
    image_free(&input);
    image_free(&output);
    image_free(&sums);
    image_free(&maxima);
}

typedef struct gradient_kind {
    wr_dtype dtype, gradient_dtype;
    int log, from_logits, masked, cut_off, adds, in_place;
    double scale;
} gradient_kind;

static void check_gradient(const gradient_kind *kind, const ragged_rows *of) {
    image saved = logits_new(kind->dtype, of->elements), gradient = logits_new(kind->gradient_dtype, of->elements);
    image sums = image_new(of->rows * sizeof(float), 0), result = logits_new(kind->dtype, of->elements);
    image *written = kind->in_place ? &gradient : &result;
    const backward_images images = {&saved, &sums, &gradient, &of->mask, &of->lengths, &of->offsets, written};
    wr_softmax_backward_args args = backward_args(kind->dtype, of->rows, of->elements, 1);
    char label[160];
    size_t row;
    for (row = 0; row < of->rows; ++row) {
        reference_put(WR_F32, sums.payload, row, row % 11 == 10 ? -(double)INFINITY : 15.0 + (double)(row % 64) / 16);
    }
    args.output_gradient_dtype = kind->gradient_dtype;
    args.log = kind->log;
    args.scale = kind->scale;
    args.add_to_input_gradient = kind->adds;
    (*(kind->from_logits ? &args.input : &args.output)) = saved.payload;
    args.logsumexp = kind->from_logits ? sums.payload : NULL;
    args.output_gradient = gradient.payload;
    args.input_gradient = written->payload;
    args.offsets = offsets_of(of);
    args.mask = kind->masked ? of->mask.payload : NULL;
    args.lengths = kind->cut_off ? (const int64_t *)(const void *)of->lengths.payload : NULL;
    snprintf(label, sizeof label, "gradient of %zu rows of %zu elements, %s of %s, log %d, from logits %d, added %d",
             of->rows, of->elements, dtype_name(kind->dtype), dtype_name(kind->gradient_dtype), kind->log,
             kind->from_logits, kind->adds);
    run_backward_everywhere(&args, &images, label);
    image_free(&saved);
    image_free(&gradient);
    image_free(&sums);
    image_free(&result);
}

static void check_segment_sums(wr_dtype dtype, int short_offsets, const ragged_rows *of) {
    image input = logits_new(dtype, of->elements), expected = image_new(of->rows * sizeof(float), 0);
    image numbers = image_new((of->rows + 1) * sizeof(int32_t), 4);
    wr_reduce_segments_args args = segments_args(WR_LOGSUMEXP, dtype, of->rows);
    size_t i;
    for (i = 0; i <= of->rows; ++i) {
        ((int32_t *)(void *)numbers.payload)[i] = (int32_t)offsets_of(of)[i];
    }
    args.output_dtype = WR_F32;
    args.offsets_dtype = short_offsets ? WR_I32 : WR_I64;
    args.input = input.payload;
    args.input_count = of->elements;
    args.offsets = short_offsets ? numbers.payload : of->offsets.payload;
    for (i = 0; i < place_count(); ++i) {
        image result = image_new(of->rows * sizeof(float), 0);
        segment_images images = {&input, short_offsets ? &numbers : &of->offsets, i == 0 ? &expected : &result, NULL};
        wr_status status;
        args.output = images.output->payload;
        status = segments_at(place_at(i), &args, &images);
        CHECK(status == WR_SUCCESS && image_equal(&expected, images.output),
              "logsumexp of %zu segments of %s by %s offsets on %s: %s, or not the host's", of->rows, dtype_name(dtype),
              short_offsets ? "32-bit" : "64-bit", place_at(i)->name, wr_status_name(status));
        image_free(&result);
    }
    image_free(&input);
    image_free(&expected);
    image_free(&numbers);
}

static void check_rows(size_t rows, size_t usual) {
    static const softmax_kind kinds[] = {{WR_F32, WR_F32, 0, 0, 0, 0, 0, WR_EMPTY_ROW_NAN, 0.0},
                                         {WR_F32, WR_F32, 0, 0, 0, 0, 1, WR_EMPTY_ROW_NAN, 0.0},
                                         {WR_F32, WR_F32, 1, 1, 0, 1, 0, WR_EMPTY_ROW_NAN, 0.0},
                                         {WR_F32, WR_F32, 0, 1, 1, 1, 0, WR_EMPTY_ROW_ZERO, -0.75},
                                         {WR_F32, WR_BF16, 0, 0, 1, 0, 0, WR_EMPTY_ROW_NAN, 0.0},
                                         {WR_F16, WR_F16, 0, 0, 0, 1, 0, WR_EMPTY_ROW_ZERO, 0.0},
                                         {WR_BF16, WR_BF16, 1, 0, 0, 0, 1, WR_EMPTY_ROW_NAN, 0.0},
                                         {WR_BF16, WR_BF16, 0, 1, 1, 0, 0, WR_EMPTY_ROW_NAN, 2.5},
                                         {WR_BF16, WR_F32, 1, 0, 1, 0, 0, WR_EMPTY_ROW_NAN, 0.0},
                                         {WR_F8_E4M3, WR_F8_E4M3, 0, 0, 0, 1, 0, WR_EMPTY_ROW_NAN, 0.0},
                                         {WR_F8_E5M2, WR_F8_E5M2, 1, 0, 0, 0, 1, WR_EMPTY_ROW_NAN, 0.0},
                                         {WR_F8_E5M2, WR_F32, 0, 1, 0, 0, 0, WR_EMPTY_ROW_ZERO, 0.0},
                                         {WR_F64, WR_F64, 0, 0, 0, 1, 0, WR_EMPTY_ROW_NAN, 0.0}};
    static const gradient_kind gradients[] = {
        {WR_F32, WR_F32, 0, 0, 0, 0, 0, 0, 0.0},     {WR_F32, WR_F32, 1, 1, 1, 0, 1, 0, 0.5},
        {WR_F32, WR_F32, 0, 1, 0, 0, 0, 1, 0.0},     {WR_F32, WR_BF16, 0, 1, 0, 1, 0, 0, 0.0},
        {WR_F16, WR_F16, 1, 0, 0, 1, 0, 1, 0.0},     {WR_BF16, WR_BF16, 0, 1, 1, 1, 0, 0, -2.0},
        {WR_F8_E4M3, WR_F32, 0, 0, 0, 0, 1, 0, 0.0}, {WR_F64, WR_F64, 0, 0, 0, 0, 0, 0, 0.0}};
    ragged_rows of = ragged_new(rows, usual, length_of);
    size_t i;
    for (i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
        check_softmax(&kinds[i], &of);
    }
    for (i = 0; i < sizeof gradients / sizeof *gradients; ++i) {
        check_gradient(&gradients[i], &of);
    }
    check_segment_sums(WR_F32, 0, &of);
    check_segment_sums(WR_F32, 1, &of);
    check_segment_sums(WR_BF16, 1, &of);
    ragged_free(&of);
}

/* So many blocks a multiprocessor look through so many rows each. */
static void check_crowded_rows(size_t multiprocessors) {
    enum { BLOCKS = 8, LOOKED_THROUGH = 200 };
    static const softmax_kind kinds[] = {{WR_F32, WR_F32, 0, 0, 0, 0, 1, WR_EMPTY_ROW_NAN, 0.0},
                                         {WR_BF16, WR_BF16, 0, 0, 0, 1, 0, WR_EMPTY_ROW_NAN, 0.0},
                                         {WR_F8_E4M3, WR_F8_E4M3, 0, 0, 0, 0, 1, WR_EMPTY_ROW_NAN, 0.0}};
    static const gradient_kind gradient = {WR_BF16, WR_BF16, 0, 0, 0, 0, 0, 1, 0.0};
    ragged_rows of = ragged_new(multiprocessors * BLOCKS * LOOKED_THROUGH, 20, crowded_length_of);
    size_t i;
    for (i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
        check_softmax(&kinds[i], &of);
    }
    check_gradient(&gradient, &of);
    ragged_free(&of);
}

int main(int argc, char **argv) {
    size_t rows;
    places_open(argc, argv);
    rows = fewest_rows();
    check_rows(rows - 1, 40);
    check_rows(rows, 3);
    check_rows(rows + 3, 36);
    check_rows(2 * rows + 17, 120);
    check_rows(rows + 70, 230);
    check_crowded_rows(place_multiprocessors(place_at(place_count() - 1)));
    places_close();
    return check_report("many_short_ragged_rows");
}
