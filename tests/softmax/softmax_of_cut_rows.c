/*
 * Rows that lengths or the causal limit cut off, or that a mask cuts elements out of, with them or alone, give the
 * host's bits where there are so many of them that a block of a GPU holds several rows or one, or a cluster one: cut
 * off at and around every boundary, at none and behind their ends; masks that leave out some elements, whole base
 * blocks, a row, all but few or nothing; in place and not, scaled and not, with their logsumexp and maximum beside them
 * and without; with rows among them that hold NaN, infinities, large logits or nothing but -infinity before the cut.
 * What is cut off is NaN, what is cut out is NaN, a large logit or any. Into their own type and into others. As many
 * rows as the GPU at hand takes so, whatever it has, and one more, so that the last block is not full.
 */
#include "harness/harness.h"
#include "harness/large_softmax.h"
#include "harness/softmax_jobs.h"
#include "harness/unusual_logits.h"
#include "reference/reference.h"

#include <math.h>
#include <stdio.h>

/* Base blocks that each multiprocessor has: one more than makes rows many. */
enum { BLOCKS_EACH = 17 };

enum {
    CAUSAL = 1,
    LOGARITHMS = 2,
    ROW_VALUES = 4,
    IN_PLACE = 8,
    SCALED = 16,
    ALL_OPTIONS = 32, /* without a mask */
    MASKED = 32,
    MASK_ALONE = 64, /* neither lengths nor the causal limit */
    ANYWHERE = 128   /* input, output and mask each off their boundaries in a way of its own */
};

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

/* Whether an element stays, as a byte: any but 0. The pattern changes with the base block and the row. */
static uint8_t mask_of(size_t row, size_t at) {
    static const uint8_t taken[] = {1, 2, 0x7F, 0x80, 0xFF};
    size_t hash = (row * 40503u + at) * 2654435761u >> 7;
    uint8_t any = taken[hash % 5];
    switch ((row + at / 1024) % 7) {
    case 0:
        return any;
    case 1:
        return at % 8 == row % 8 ? any : 0;
    case 2:
        return 0;
    case 3:
        return row % 8 == 3 ? 0 : hash % 4 == 0 ? any : 0;
    default:
        return row % 16 == 9 ? 0 : hash % 4 != 0 ? any : 0;
    }
}

/* Of the row's elements, how many stay under the arguments, but for what the mask leaves out. */
static size_t kept(const wr_softmax_args *args, size_t row) {
    int64_t limit;
    if (!args->causal && args->lengths == NULL) {
        return args->axis;
    }
    limit = args->causal ? (int64_t)(row % args->causal_rows) + args->causal_first : args->lengths[row];
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

/* Two rows of three have something there that would change them, one what any logits are. */
static void poison_what_is_masked(const wr_softmax_args *args, const image *input) {
    size_t row, i;
    for (row = 0; row < args->outer; ++row) {
        for (i = 0; row % 3 != 0 && i < args->axis; ++i) {
            if (args->mask[row * args->axis + i] == 0) {
                reference_put(args->dtype, input->payload, row * args->axis + i, row % 3 == 1 ? (double)NAN : 6e4);
            }
        }
    }
}

static void check_into(wr_dtype dtype, wr_dtype to, size_t axis, int options) {
    size_t rows = rows_for_gpu(axis, BLOCKS_EACH) + 1, row, i;
    size_t size = reference_size(dtype), to_size = reference_size(to), off = (options & ANYWHERE) ? 1 + axis % 7 : 0;
    image input = image_new(rows * axis * size, off * size);
    image output = image_new(rows * axis * to_size, off * 3 % 8 * to_size);
    image lengths = image_new(rows * sizeof(int64_t), 8);
    image sums = image_new(rows * sizeof(float), 0), maxima = image_new(rows * sizeof(float), 0);
    image mask = image_new(rows * axis, off);
    softmax_images images = {&input, NULL, &lengths, NULL, &output, &sums, &maxima};
    wr_softmax_args args = softmax_args(dtype, rows, axis, 1);
    char label[160];
    put_unusual_logits(dtype, input.payload, rows, axis, 1);
    for (row = 0; row < rows; ++row) {
        ((int64_t *)(void *)lengths.payload)[row] = length_of(row, axis);
        for (i = 0; i < axis; ++i) {
            ((uint8_t *)mask.payload)[row * axis + i] = mask_of(row, i);
        }
    }
    args.input = input.payload;
    args.output = output.payload;
    args.output_dtype = to;
    args.log = (options & LOGARITHMS) != 0;
    args.scale = (options & SCALED) ? -0.75 : 1.0;
    args.empty_row = (options & SCALED) ? WR_EMPTY_ROW_ZERO : WR_EMPTY_ROW_NAN;
    if (options & MASKED) {
        args.mask = mask.payload;
        images.mask = &mask;
    }
    if (options & MASK_ALONE) {
        images.lengths = NULL;
    } else if (options & CAUSAL) {
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
    if (options & MASKED) {
        poison_what_is_masked(&args, &input);
    }
    if ((options & IN_PLACE) && to == dtype) {
        args.output = input.payload;
        images.output = &input;
    }
    snprintf(label, sizeof label, "%zu rows of %zu %s into %s, options %d", rows, axis, dtype_name(dtype),
             dtype_name(to), options);
    run_softmax_everywhere(&args, &images, label);
    image_free(&input);
    image_free(&output);
    image_free(&lengths);
    image_free(&sums);
    image_free(&maxima);
    image_free(&mask);
}

static void check(wr_dtype dtype, size_t axis, int options) { check_into(dtype, dtype, axis, options); }

/* Into other types, and from 8 bits; not logarithms into 8 bits, which are other kernels'. */
static void check_converted(void) {
    static const wr_dtype pairs[][2] = {{WR_F32, WR_BF16},    {WR_F32, WR_F16},        {WR_F32, WR_F8_E4M3},
                                        {WR_F16, WR_F32},     {WR_F16, WR_F8_E5M2},    {WR_BF16, WR_F32},
                                        {WR_BF16, WR_F16},    {WR_BF16, WR_F8_E4M3},   {WR_F8_E4M3, WR_BF16},
                                        {WR_F8_E5M2, WR_F32}, {WR_F8_E4M3, WR_F8_E4M3}};
    static const size_t axes[] = {520,  1000, 1024,  2048,  3000,  4096,  7168,
                                  8192, 9000, 16384, 20000, 32768, 40000, 65536};
    enum { PAIRS = sizeof pairs / sizeof *pairs, AXES = sizeof axes / sizeof *axes };
    size_t i, j;
    for (i = 0; i < PAIRS; ++i) {
        for (j = 0; j < AXES; ++j) {
            int options = (int)((i * AXES + j) * 11 % ALL_OPTIONS);
            if (reference_size(pairs[i][1]) == 1) {
                options &= ~LOGARITHMS;
            }
            check_into(pairs[i][0], pairs[i][1], axes[j], options);
            check_into(pairs[i][0], pairs[i][1], axes[j], options | MASKED);
            check_into(pairs[i][0], pairs[i][1], axes[j], options | MASKED | MASK_ALONE);
        }
    }
}

/* Rows off the boundaries, which their number of elements or their first element's address keeps there. */
static void check_anywhere(void) {
    static const wr_dtype dtypes[] = {WR_F32, WR_F16, WR_BF16};
    static const size_t axes[] = {515,  1000, 1001, 2047,  3001,  4096,  5003,
                                  8190, 8193, 9001, 20001, 40003, 50257, 65535};
    enum { AXES = sizeof axes / sizeof *axes };
    size_t i;
    for (i = 0; i < 6 * AXES; ++i) {
        int options = (int)(i * 11 % ALL_OPTIONS) | (i % 4 == 3 ? 0 : ANYWHERE);
        if (axes[i % AXES] % 8 == 0) {
            options |= ANYWHERE;
        }
        check(dtypes[i / AXES % 3], axes[i % AXES], options);
        check(dtypes[(i / AXES + 1) % 3], axes[i % AXES], options | MASKED);
        check(dtypes[(i / AXES + 2) % 3], axes[i % AXES], options | MASKED | MASK_ALONE);
    }
}

int main(int argc, char **argv) {
    static const size_t axes[] = {1024, 3000, 4096, 8192}, long_axes[] = {9000, 16384, 20000, 40000};
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
        check(options % 3 == 0 ? WR_F16 : WR_BF16, axes[options % 4], options | MASKED | MASK_ALONE);
        check(options % 3 == 0 ? WR_BF16 : WR_F16, axes[(options + 1) % 4], options | MASKED);
        check(WR_F32, long_axes[options % 4], options);
        check(WR_F32, long_axes[(options + 1) % 4], options | MASKED | MASK_ALONE);
        check(WR_F32, long_axes[(options + 2) % 4], options | MASKED);
    }
    for (i = 0; i < 4 * (sizeof other_axes / sizeof *other_axes); ++i) {
        check(i % 3 == 0 ? WR_F16 : WR_BF16, other_axes[i / 4], (int)(i * 11 % ALL_OPTIONS));
        check(i % 4 == 0   ? WR_F32
              : i % 4 == 1 ? WR_F16
                           : WR_BF16,
              other_axes[i / 4], (int)(i * 13 % ALL_OPTIONS) | MASKED | (i % 2 == 0 ? MASK_ALONE : 0));
    }
    check_converted();
    check_anywhere();
    places_close();
    return check_report("softmax_of_cut_rows");
}
