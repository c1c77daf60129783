/*
 * Softmax of every type into every type, with masks, lengths, the causal limit, all of them, or none, its maxima and
 * its logsumexp beside it or not: a GPU gives the host's bits, on the boundaries of vectors and off them, with rows
 * among them that hold NaN, infinities, large logits or nothing but -infinity.
 */
#include "harness/harness.h"
#include "harness/random_numbers.h"
#include "harness/softmax_jobs.h"
#include "harness/unusual_logits.h"
#include "reference/reference.h"

#include <stdio.h>
#include <string.h>

static const wr_dtype types[] = {WR_F32, WR_F64, WR_F16, WR_BF16, WR_F8_E4M3, WR_F8_E5M2};
enum { TYPES = 6, ROWS = 64 };

typedef struct knobs {
    const char *name;
    int masked, cut_off, causal, row_values, ragged;
} knobs;
static const knobs all_knobs[] = {{"plain", 0, 0, 0, 0, 0},
                                  {"with maxima and sums", 0, 0, 0, 1, 0},
                                  {"masked", 1, 0, 0, 0, 0},
                                  {"lengths", 0, 1, 0, 0, 0},
                                  {"causal", 0, 0, 1, 0, 0},
                                  {"lengths, with maxima and sums", 0, 1, 0, 1, 0},
                                  {"all but ragged", 1, 1, 1, 1, 0},
                                  {"ragged", 0, 0, 0, 0, 1},
                                  {"ragged, masked, lengths, with maxima and sums", 1, 1, 0, 1, 1}};
enum { KNOBS = sizeof all_knobs / sizeof *all_knobs };

/* The memory of all jobs of one type and shape. */
typedef struct logits {
    wr_dtype dtype;
    size_t axis, shift; /* elements behind a boundary */
    image input, mask, lengths, offsets;
} logits;

static logits logits_new(wr_dtype dtype, size_t axis, size_t shift) {
    uint64_t state = axis * 2654435761u + shift;
    logits made;
    int64_t offset = 0;
    size_t i;
    made.dtype = dtype;
    made.axis = axis;
    made.shift = shift;
    made.input = image_new(ROWS * axis * reference_size(dtype), shift * reference_size(dtype));
    made.mask = image_new(ROWS * axis, shift);
    made.lengths = image_new(ROWS * sizeof(int64_t), 0);
    made.offsets = image_new((ROWS + 1) * sizeof(int64_t), 0);
    put_unusual_logits(dtype, made.input.payload, ROWS, axis, 1);
    for (i = 0; i < ROWS * axis; ++i) { /* of one row in eight nothing takes part, of one in eight a part of it */
        size_t row = i / axis;
        made.mask.payload[i] =
            row % 8 == 3 ? 0 : (unsigned char)(row % 8 == 5 && i % axis > axis / 3 ? 0 : random_next(&state) % 4);
    }
    for (i = 0; i < ROWS; ++i) {
        int64_t length = i % 7 == 0   ? (int64_t)axis
                         : i % 7 == 1 ? 0
                         : i % 7 == 2 ? (int64_t)(axis / 8 * 4)
                                      : (int64_t)(random_next(&state) % (axis + 3)) - 1;
        memcpy(made.lengths.payload + i * sizeof length, &length, sizeof length);
    }
    for (i = 0; i <= ROWS; ++i) {
        memcpy(made.offsets.payload + i * sizeof offset, &offset, sizeof offset);
        offset += (int64_t)(i % 9 == 4 ? 0 : random_next(&state) % (axis + 1));
    }
    return made;
}

static void logits_free(logits *of) {
    image_free(&of->input);
    image_free(&of->mask);
    image_free(&of->lengths);
    image_free(&of->offsets);
}

static void check(const logits *of, wr_dtype output_dtype, const knobs *with, int log, double scale) {
    size_t value_bytes = ROWS * reference_size(softmax_state_dtype(of->dtype));
    image output = image_new(ROWS * of->axis * reference_size(output_dtype), of->shift * reference_size(output_dtype));
    image sums = image_new(value_bytes, 0), maxima = image_new(value_bytes, 0);
    wr_softmax_args args = softmax_args(of->dtype, ROWS, of->axis, 1);
    softmax_images images;
    char label[200];
    memset(&images, 0, sizeof images);
    args.output_dtype = output_dtype;
    args.log = log;
    args.scale = scale;
    args.input = of->input.payload;
    args.output = output.payload;
    args.mask = with->masked ? of->mask.payload : NULL;
    args.lengths = with->cut_off ? (const int64_t *)(const void *)of->lengths.payload : NULL;
    if (with->ragged) {
        args.offsets = (const int64_t *)(const void *)of->offsets.payload;
        args.axis = (size_t)((const int64_t *)args.offsets)[ROWS];
    }
    args.causal = with->causal;
    args.causal_first = with->causal ? (int64_t)of->axis / 5 : 0;
    args.causal_rows = with->causal ? ROWS / 2 : 0;
    args.logsumexp = with->row_values ? sums.payload : NULL;
    args.maximum = with->row_values ? maxima.payload : NULL;
    images.input = &of->input;
    images.mask = &of->mask;
    images.lengths = &of->lengths;
    images.offsets = &of->offsets;
    images.output = &output;
    images.logsumexp = &sums;
    images.maximum = &maxima;
    snprintf(label, sizeof label, "rows of %zu %s into %s, %zu behind a boundary, %s%s, scale %g", of->axis,
             dtype_name(of->dtype), dtype_name(output_dtype), of->shift, log ? "log, " : "", with->name, scale);
    run_softmax_everywhere(&args, &images, label);
    image_free(&output);
    image_free(&sums);
    image_free(&maxima);
}

/* Scaled, or a logarithm, in turn; of short rows all of it. */
static void check_shape(wr_dtype dtype, size_t axis, size_t shift) {
    logits of = logits_new(dtype, axis, shift);
    size_t i, j, turn = axis + (size_t)dtype;
    int log;
    for (i = 0; i < TYPES; ++i) {
        for (j = 0; j < KNOBS; ++j, ++turn) {
            for (log = 0; log < 2; ++log) {
                if (axis <= 2048 || (turn + (size_t)log) % 2 == 0) {
                    check(&of, types[i], &all_knobs[j], log, turn % 3 == 0 ? -0.75 : 1.0);
                }
            }
        }
    }
    logits_free(&of);
}

int main(int argc, char **argv) {
    /* A lane's, a warp's, several rows a block, a block's, clusters of few and of many warps. */
    static const size_t axes[] = {8, 33, 128, 520, 1000, 1001, 1024, 3000, 5000, 8192, 20001, 20008, 40000};
    size_t i, j;
    places_open_gpu_only(argc, argv);
    for (i = 0; i < TYPES; ++i) {
        for (j = 0; j < sizeof axes / sizeof *axes; ++j) {
            check_shape(types[i], axes[j], 0);
            if (axes[j] <= 20001) {
                check_shape(types[i], axes[j], 1);
            }
        }
    }
    places_close();
    return check_report("softmax_into_every_type");
}
