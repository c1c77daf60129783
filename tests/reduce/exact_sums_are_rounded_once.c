/*
 * WR_SUM_EXACT and WR_DOT_EXACT are the exact result, rounded once, whatever the order of the elements: terms that
 * cancel, sums half way between two numbers and just beside it, every exponent, overflow on the way, zeros of both
 * signs, infinities and NaNs; of every type into every type, of rows, columns and strides, and back to front.
 *
 *     exact_sums_are_rounded_once host|gpu [ROUNDS]
 */
#include "harness/dot_jobs.h"
#include "harness/harness.h"
#include "harness/header_offers.h"
#include "harness/jobs.h"
#include "harness/random_numbers.h"
#include "reference/reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum hard_kind {
    /* half a unit of the first element's last place, and something smaller than all of it, or nothing */
    HALF_WAY,
    /* the largest numbers, of both signs: the sum is small, what is added up on the way is not */
    OVERFLOW_ON_THE_WAY,
    /* each element and its opposite, and one more */
    ALL_BUT_ONE_CANCEL,
    /* one element of every exponent, again and again, of both signs */
    EVERY_EXPONENT,
    ZEROS,
    MINUS_ZEROS,
    /* what ReproBLAS is validated on: one or two elements far above the others, numbers that grow, a sine's periods */
    ONE_LARGE,
    TWO_LARGE_CANCEL,
    GROWING,
    SINE,
    HARD_KINDS
} hard_kind;

static void shuffle(wr_dtype dtype, uint64_t *state, void *array, size_t count) {
    size_t i;
    for (i = count; i > 1; --i) {
        size_t j = random_below(state, i);
        uint64_t moved = reference_bits(dtype, array, i - 1);
        reference_put_bits(dtype, array, i - 1, reference_bits(dtype, array, j));
        reference_put_bits(dtype, array, j, moved);
    }
}

static int mantissa_bits(wr_dtype dtype) {
    static const int bits[] = {0, 23, 52, 10, 7, 3, 2};
    return bits[dtype];
}

static uint64_t sign_bit(wr_dtype dtype) { return (uint64_t)1 << (8 * reference_size(dtype) - 1); }

static void fill_half_way(wr_dtype dtype, uint64_t *state, void *array, size_t count) {
    double first, unit;
    int exponent;
    memset(array, 0, count * reference_size(dtype));
    fill_random(dtype, DATA_ANY_FINITE, random_next(state), array, 1);
    first = reference_get(dtype, array, 0);
    frexp(first, &exponent);
    unit = ldexp(1.0, exponent - 1 - mantissa_bits(dtype));
    if (count > 1) {
        reference_put(dtype, array, 1, random_below(state, 2) ? unit / 2 : -unit / 2);
    }
    if (count > 2) {
        reference_put_bits(dtype, array, 2,
                           random_below(state, 3) == 0 ? 0 : 1 + random_below(state, 2) * sign_bit(dtype));
    }
    if (count > 4) {
        fill_random(dtype, DATA_ANY_FINITE, random_next(state), (unsigned char *)array + 3 * reference_size(dtype), 1);
        reference_put_bits(dtype, array, 4, reference_bits(dtype, array, 3) ^ sign_bit(dtype));
    }
    shuffle(dtype, state, array, count);
}

static void fill_one(wr_dtype dtype, hard_kind kind, uint64_t *state, void *array, size_t i) {
    uint64_t sign = random_below(state, 2) * sign_bit(dtype), bits;
    switch (kind) {
    case OVERFLOW_ON_THE_WAY:
        reference_put(dtype, array, i, reference_largest(dtype));
        bits = reference_bits(dtype, array, i) - (isinf(reference_largest(dtype)) ? 1 : 0);
        reference_put_bits(dtype, array, i, (random_below(state, 4) ? bits : 1) | sign);
        break;
    case EVERY_EXPONENT: {
        uint64_t exponents = (sign_bit(dtype) >> mantissa_bits(dtype)) - 1; /* but for that of infinity */
        bits = (uint64_t)i % exponents << mantissa_bits(dtype);
        reference_put_bits(dtype, array, i,
                           bits | (random_next(state) & (((uint64_t)1 << mantissa_bits(dtype)) - 1)) | sign);
        break;
    }
    case ZEROS:
        reference_put_bits(dtype, array, i, sign);
        break;
    default:
        reference_put_bits(dtype, array, i, sign_bit(dtype));
        break;
    }
}

/* What is far above 1 and far from the type's end. */
static double large_of(wr_dtype dtype) {
    return dtype == WR_F32 || dtype == WR_BF16 ? 0x1p60 : dtype == WR_F64 ? 0x1p500 : 256.0;
}

static void fill_scaled(wr_dtype dtype, hard_kind kind, uint64_t *state, void *array, size_t count) {
    static const double two_pi = 6.283185307179586;
    size_t large = random_below(state, count), opposite = random_below(state, count), i;
    for (i = 0; i < count; ++i) {
        double small = (double)(1 + random_below(state, 4096)) / 4096, share = (double)i / (double)count;
        double value = kind == GROWING ? small + share * large_of(dtype) : kind == SINE ? sin(two_pi * share) : small;
        reference_put(dtype, array, i, value);
    }
    if (kind == ONE_LARGE || kind == TWO_LARGE_CANCEL) {
        reference_put(dtype, array, large, large_of(dtype));
    }
    if (kind == TWO_LARGE_CANCEL && opposite != large) {
        reference_put(dtype, array, opposite, -large_of(dtype));
    }
}

static void fill_hard(wr_dtype dtype, hard_kind kind, uint64_t seed, void *array, size_t count) {
    uint64_t state = seed;
    size_t i;
    if (count == 0) {
        return;
    }
    if (kind == HALF_WAY) {
        fill_half_way(dtype, &state, array, count);
        return;
    }
    if (kind >= ONE_LARGE) {
        fill_scaled(dtype, kind, &state, array, count);
        return;
    }
    if (kind == ALL_BUT_ONE_CANCEL) {
        fill_random(dtype, DATA_ANY_FINITE, seed, array, count);
        for (i = 0; i + 1 < count; i += 2) {
            reference_put_bits(dtype, array, i + 1, reference_bits(dtype, array, i) ^ sign_bit(dtype));
        }
        shuffle(dtype, &state, array, count);
        return;
    }
    for (i = 0; i < count; ++i) {
        fill_one(dtype, kind, &state, array, i);
    }
}

static const data_kind ordinary_kinds[] = {DATA_UNIFORM,    DATA_WIDE,     DATA_CANCELLING, DATA_SUBNORMAL,
                                           DATA_ANY_FINITE, DATA_SPECIALS, DATA_WITH_NANS,  DATA_FEW_VALUES};
enum { ORDINARY_KINDS = sizeof ordinary_kinds / sizeof *ordinary_kinds };

/* `rows` rows of `count` elements, each row of a kind and a seed of its own. */
static void fill_rows(wr_dtype dtype, uint64_t seed, unsigned char *array, size_t rows, size_t count) {
    uint64_t state = seed;
    size_t row;
    for (row = 0; row < rows; ++row) {
        size_t kind = random_below(&state, ORDINARY_KINDS + HARD_KINDS);
        unsigned char *first = array + row * count * reference_size(dtype);
        if (kind < ORDINARY_KINDS) {
            fill_random(dtype, ordinary_kinds[kind], random_next(&state), first, count);
        } else {
            fill_hard(dtype, (hard_kind)(kind - ORDINARY_KINDS), random_next(&state), first, count);
        }
    }
}

/* A row of fill_rows is reduced as one, and as one that is read from its end. */
static void check_rows(wr_dtype dtype, wr_dtype output, wr_nan_mode nan_mode, size_t rows, size_t count,
                       size_t misaligned, uint64_t seed) {
    size_t size = reference_size(dtype);
    image input = image_new(rows * count * size, misaligned * size);
    wr_reduce_args args = reduce_args(WR_SUM_EXACT, dtype, rows, count, 1);
    fill_rows(dtype, seed, input.payload, rows, count);
    args.output_dtype = output;
    args.nan_mode = nan_mode;
    args.input = input.payload;
    check_reduce(&args, &input, reference_size(output) * (seed % 3), "rows");
    if (count > 0) {
        args.input = input.payload + (count - 1) * size;
        args.strides_given = 1;
        args.outer_stride = (ptrdiff_t)count;
        args.axis_stride = -1;
        check_reduce(&args, &input, 0, "rows back to front");
    }
    image_free(&input);
}

/* The same as columns, and with weights. */
static void check_columns(wr_dtype dtype, wr_dtype output, size_t columns, size_t count, uint64_t seed) {
    size_t size = reference_size(dtype), i, j;
    image rows = image_new(columns * count * size, 0), input = image_new(columns * count * size, size);
    image weights = image_new(count * size, size);
    wr_reduce_args args = reduce_args(WR_SUM_EXACT, dtype, 1, count, columns);
    fill_rows(dtype, seed, rows.payload, columns, count);
    for (i = 0; i < columns; ++i) {
        for (j = 0; j < count; ++j) {
            reference_copy_element(dtype, input.payload, j * columns + i, rows.payload, i * count + j);
        }
    }
    fill_rows(dtype, seed + 1, weights.payload, 1, count);
    args.output_dtype = output;
    args.input = input.payload;
    check_reduce(&args, &input, 0, "columns");
    if (count > 0) {
        args.weights = weights.payload;
        args.weights_dtype = dtype;
        check_weighted_reduce(&args, &input, &weights, 0, "weighted columns");
    }
    image_free(&rows);
    image_free(&input);
    image_free(&weights);
}

static void check_dots(wr_dtype dtype, wr_dtype output, size_t count, uint64_t seed) {
    size_t size = reference_size(dtype);
    image left = image_new(count * size, size), right = image_new(count * size, 0);
    wr_dot_args args = dot_args(dtype, count);
    fill_rows(dtype, seed, left.payload, 1, count);
    fill_rows(dtype, seed + 7, right.payload, 1, count);
    args.op = WR_DOT_EXACT;
    args.output_dtype = output;
    args.left = left.payload;
    args.right = right.payload;
    check_dot(&args, &left, &right, 0, "dot products");
    image_free(&left);
    image_free(&right);
}

static void check_every_length(void) {
    static const size_t lengths[] = {0,    1,    2,    3,    7,    8,    9,    15,   16,    17,    31,    32,
                                     33,   63,   64,   65,   127,  128,  255,  257,  511,   512,   513,   1000,
                                     1023, 1024, 1025, 2047, 2049, 4096, 5000, 8200, 16385, 33000, 66000, 300001};
    size_t i;
    int dtype;
    for (i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
        size_t rows = lengths[i] < 1000 ? 5 : lengths[i] < 20000 ? 2 : 1;
        for (dtype = WR_F32; dtype <= WR_F8_E5M2; ++dtype) {
            check_rows((wr_dtype)dtype, (wr_dtype)dtype, WR_NAN_PROPAGATE, rows, lengths[i], i % 9, 1000 * i + 3);
            check_dots((wr_dtype)dtype, (wr_dtype)dtype, lengths[i], 1000 * i + 5);
        }
    }
}

/* The same elements in any order, more of them than any block of the library's has. */
static void check_permutations(void) {
    static const hard_kind kinds[] = {
        EVERY_EXPONENT, ALL_BUT_ONE_CANCEL, OVERFLOW_ON_THE_WAY, TWO_LARGE_CANCEL, GROWING, SINE};
    enum { COUNT = 3001, ORDERS = 4 };
    size_t kind, order;
    int dtype;
    for (dtype = WR_F32; dtype <= WR_F8_E5M2; ++dtype) {
        for (kind = 0; kind < sizeof kinds / sizeof *kinds; ++kind) {
            image input = image_new(COUNT * reference_size((wr_dtype)dtype), 0);
            wr_reduce_args args = reduce_args(WR_SUM_EXACT, (wr_dtype)dtype, 1, COUNT, 1);
            uint64_t state = kind;
            fill_hard((wr_dtype)dtype, kinds[kind], kind + 11, input.payload, COUNT);
            args.input = input.payload;
            for (order = 0; order < ORDERS; ++order) {
                check_reduce(&args, &input, 0, "elements in another order");
                shuffle((wr_dtype)dtype, &state, input.payload, COUNT);
            }
            image_free(&input);
        }
    }
}

/* Rows of whole vectors, all of one kind, so that none does for its neighbours what they need; and with gaps. */
static void check_rows_of_one_kind(wr_dtype dtype, size_t count, hard_kind kind) {
    enum { ROWS = 96, GAP = 1 };
    size_t size = reference_size(dtype), pitch = count + GAP, row;
    image input = image_new(ROWS * pitch * size, 0);
    wr_reduce_args args = reduce_args(WR_SUM_EXACT, dtype, ROWS, count, 1);
    args.input = input.payload;
    for (row = 0; row < ROWS; ++row) {
        fill_hard(dtype, kind, 100 * count + row, input.payload + row * count * size, count);
        if (row % 4 == 1) {
            fill_random(dtype, DATA_WITH_NANS, row, input.payload + row * count * size, count);
        }
    }
    check_reduce(&args, &input, 0, "rows of one kind");
    fill_rows(dtype, count, input.payload, ROWS, pitch);
    args.outer = 2;
    args.inner = ROWS / 2;
    args.strides_given = 1;
    args.outer_stride = (ptrdiff_t)(args.inner * pitch);
    args.axis_stride = 1;
    args.inner_stride = (ptrdiff_t)pitch;
    check_reduce(&args, &input, 0, "rows with gaps");
    image_free(&input);
}

static void check_short_rows(void) {
    static const size_t counts[] = {16, 32, 64, 272};
    static const hard_kind kinds[] = {HALF_WAY, ALL_BUT_ONE_CANCEL};
    size_t i, kind;
    int dtype;
    for (dtype = WR_F32; dtype <= WR_F8_E5M2; ++dtype) {
        for (i = 0; i < sizeof counts / sizeof *counts; ++i) {
            for (kind = 0; kind < sizeof kinds / sizeof *kinds; ++kind) {
                check_rows_of_one_kind((wr_dtype)dtype, counts[i], kinds[kind]);
            }
        }
    }
}

/* Small elements, then much larger ones that cancel. */
static void check_rising_rows(void) {
    enum { HALF = 512 };
    int dtype;
    for (dtype = WR_F32; dtype <= WR_F8_E5M2; ++dtype) {
        size_t size = reference_size((wr_dtype)dtype), i;
        image input = image_new(2 * HALF * size, 0);
        wr_reduce_args args = reduce_args(WR_SUM_EXACT, (wr_dtype)dtype, 1, 2 * HALF, 1);
        fill_random((wr_dtype)dtype, DATA_WIDE, 5, input.payload, HALF);
        for (i = HALF; i < 2 * HALF; ++i) {
            double large = dtype == WR_F32 || dtype == WR_F64 || dtype == WR_BF16 ? 0x1p100 : 256.0;
            reference_put((wr_dtype)dtype, input.payload, i, i % 2 ? large : -large);
        }
        args.input = input.payload;
        args.output_dtype = WR_F64;
        check_reduce(&args, &input, 0, "small elements before large ones");
        image_free(&input);
    }
}

/* Many short rows, the sums of which land everywhere between two numbers; all types into all types. */
static void check_round(uint64_t round) {
    uint64_t state = round;
    int dtype;
    for (dtype = WR_F32; dtype <= WR_F8_E5M2; ++dtype) {
        wr_dtype output = random_below(&state, 2) ? (wr_dtype)dtype : (wr_dtype)(WR_F32 + random_below(&state, 6));
        wr_nan_mode nan_mode = random_below(&state, 4) == 0 ? WR_NAN_IGNORE : WR_NAN_PROPAGATE;
        check_rows((wr_dtype)dtype, output, nan_mode, 100, random_below(&state, 24), random_below(&state, 9),
                   random_next(&state));
        check_rows((wr_dtype)dtype, output, nan_mode, 2, random_below(&state, 1500), random_below(&state, 9),
                   random_next(&state));
        check_columns((wr_dtype)dtype, output, 1 + random_below(&state, 70), random_below(&state, 40),
                      random_next(&state));
        check_dots((wr_dtype)dtype, output, random_below(&state, 300), random_next(&state));
    }
}

int main(int argc, char **argv) {
    long rounds = argc > 2 ? atol(argv[2]) : 60, round;
    places_open(argc, argv);
    check_every_length();
    check_permutations();
    check_short_rows();
    check_rising_rows();
    for (round = 0; round < rounds; ++round) {
        check_round((uint64_t)round);
    }
    places_close();
    return check_report("exact_sums_are_rounded_once");
}
