/*
 * Rows that lengths or the causal limit cut off give the host's bits where there are so many of them that a block of a
 * GPU holds several rows or one, or a cluster one: cut off at and around every boundary, at none and behind their ends;
 * in place and not, scaled and not, with their logsumexp and maximum beside them and without; with rows among them that
 * hold NaN, infinities, large logits or nothing but -infinity before the cut. What is cut off is NaN. As many rows as
 * the GPU at hand takes so, whatever it has, and one more, so that the last block is not full.
 */
#include "harness.h"
#include "large_softmax.h"
#include "reference.h"
#include "softmax_jobs.h"
#include "unusual_logits.h"

#include <math.h>
#include <stdio.h>

/* Base blocks that each multiprocessor has: one more than makes rows many. */
enum { BLOCKS_EACH = 17, CAUSAL = 1, LOGARITHMS = 2, ROW_VALUES = 4, IN_PLACE = 8, SCALED = 16, ALL_OPTIONS = 32 };

/* How many elements of a row stay: around vectors, base blocks and the row's end, by turns with any number. */
static int64_t length_of(size_t row, size_t axis) {
    static const int around[] = {-1, 0, 1, 7, 8, 9, 255, 256, 257};
    size_t boundary = row / 9 % (axis / 1024 + 2) * 1024;
    switch (row % 4) {
    case 0:
        return (int64_t)(row * 2654435761u % (axis + 1));
    case 1:
        return row % 8 == 1 ? INT64_MAX - (int64_t)row : (int64_t)axis;
    case 2:
        return row % 16 == 2 ? INT64_MIN : row % 16 == 6 ? 0 : -(int64_t)row;
    default:
        return (int64_t)boundary + around[row / 4 % 9];
    }
}

/* Of the row's elements, how many stay under the arguments. */
static size_t kept(const wr_softmax_args *args, size_t row) {
    int64_t limit = args->causal ? (int64_t)(row % args->causal_rows) + args->causal_first : args->lengths[row];
    return limit < 0 ? 0 : limit < (int64_t)args->axis ? (size_t)limit : args->axis;
}

static void poison_behind(const wr_softmax_args *args, const image *input) {
    size_t row, i;
    for (row = 0; row < args->outer; ++row) {
        for (i = kept(args, row); i < args->axis; ++i) {
            reference_put(args->dtype, input->payload, row * args->axis + i, (double)NAN);
        }
    }
}

static void check(wr_dtype dtype, size_t axis, int options) {
    size_t rows = rows_for_gpu(axis, BLOCKS_EACH) + 1, bytes = rows * axis * reference_size(dtype), row;
    image input = image_new(bytes, 0), output = image_new(bytes, 0);
    image lengths = image_new(rows * sizeof(int64_t), 8);
    image sums = image_new(rows * sizeof(float), 0), maxima = image_new(rows * sizeof(float), 0);
    softmax_images images = {&input, NULL, &lengths, NULL, &output, &sums, &maxima};
    wr_softmax_args args = softmax_args(dtype, rows, axis, 1);
    char label[160];
    put_unusual_logits(dtype, input.payload, rows, axis, 1);
    for (row = 0; row < rows; ++row) {
        ((int64_t *)(void *)lengths.payload)[row] = length_of(row, axis);
    }
    args.input = input.payload;
    args.output = output.payload;
    args.log = (options & LOGARITHMS) != 0;
    args.scale = (options & SCALED) ? -0.75 : 1.0;
    args.empty_row = (options & SCALED) ? WR_EMPTY_ROW_ZERO : WR_EMPTY_ROW_NAN;
    if (options & CAUSAL) {
        args.causal = 1;
        args.causal_first = -2;
        args.causal_rows = axis + 5 < rows ? axis + 5 : rows - 1;
    } else {
        args.lengths = (const int64_t *)(const void *)lengths.payload;
    }
    if (options & ROW_VALUES) {
        args.logsumexp = sums.payload;
        args.maximum = maxima.payload;
    }
    poison_behind(&args, &input);
    if (options & IN_PLACE) {
        args.output = input.payload;
        images.output = &input;
    }
    snprintf(label, sizeof label, "%zu rows of %zu %s, options %d", rows, axis, dtype_name(dtype), options);
    run_softmax_everywhere(&args, &images, label);
    image_free(&input);
    image_free(&output);
    image_free(&lengths);
    image_free(&sums);
    image_free(&maxima);
}

int main(int argc, char **argv) {
    static const size_t axes[] = {1024, 3000, 4096, 8192};
    static const size_t other_axes[] = {520,  1000, 1032,  2048,  2056,  3072,  4104,  5120,  6152,  7168,  8184,
                                        8200, 9224, 16384, 20000, 24584, 32768, 33800, 40000, 65528, 65536, 65544};
    size_t i;
    int options;
    places_open(argc, argv);
    for (options = 0; options < ALL_OPTIONS; ++options) {
        for (i = 0; i < sizeof axes / sizeof *axes; ++i) {
            check((i + (size_t)options / 2) % 2 == 0 ? WR_BF16 : WR_F16, axes[i], options);
        }
        check(WR_F32, axes[options / 2 % 4], options);
    }
    for (i = 0; i < 4 * (sizeof other_axes / sizeof *other_axes); ++i) {
        check(i % 3 == 0 ? WR_F16 : WR_BF16, other_axes[i / 4], (int)(i * 11 % ALL_OPTIONS));
    }
    places_close();
    return check_report("softmax_of_cut_rows");
}
