/*
 * Softmax of so many f32 columns that all multiprocessors share them has the host's bits: whatever part of a tile and
 * of a strip of columns is there, in one array and in several, in place and not, scaled and not; of logits about
 * anything, of which some are masked, with columns or whole strips among them that are left to other kernels, and of
 * columns of which so many are left that the others are given up. As many as the GPU at hand shares, whatever it has.
 */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/large_softmax.h"
#include "harness/random_numbers.h"
#include "harness/unusual_logits.h"
#include "reference/reference.h"

#include <math.h>

enum {
    STRIP = 64,           /* columns side by side */
    TILE = 128,           /* rows */
    TILES_EACH = 11,      /* a multiprocessor, a few more than the library asks for */
    MANY_TILES_EACH = 75, /* which have to be put where others were, three times */
    MOST_DOWN_EACH = 3    /* of a strip */
};

static size_t multiprocessors(void) { return place_multiprocessors(place_at(place_count() - 1)); }

static double ordinary_logit(uint64_t *state) { return (double)(random_next(state) % 65536) / 3276.8 - 10.0; }

/* Every column about a value of its own. */
static double centre_of(size_t column) { return (double)(column % 13) * 150.0 - 900.0; }

static void put_each(wr_dtype dtype, void *array, size_t outer, size_t axis, size_t inner,
                     double (*logit)(size_t row, size_t axis, size_t column, size_t inner, uint64_t *state)) {
    uint64_t state = 11;
    size_t o, row, column;
    for (o = 0; o < outer; ++o) {
        for (row = 0; row < axis; ++row) {
            for (column = 0; column < inner; ++column) {
                double x = logit(row, axis, column, inner, &state);
                reference_put(dtype, array, (o * axis + row) * inner + column, x);
            }
        }
    }
}

static double centred(size_t row, size_t axis, size_t column, size_t inner, uint64_t *state) {
    (void)row;
    (void)axis;
    (void)inner;
    return centre_of(column) + ordinary_logit(state);
}
static void put_centred_logits(wr_dtype dtype, void *array, size_t outer, size_t axis, size_t inner) {
    put_each(dtype, array, outer, axis, inner, centred);
}

/* The rows in front of a column's own place, whole base blocks of the last ones, by every value that masks have. */
static double masked(size_t row, size_t axis, size_t column, size_t inner, uint64_t *state) {
    static const double masks[] = {-INFINITY, -1e9, -10000.0, -3e38};
    double x = ordinary_logit(state);
    return row * inner < column * (axis - 1) ? masks[column / 4 % 4] : x;
}
static void put_masked_logits(wr_dtype dtype, void *array, size_t outer, size_t axis, size_t inner) {
    put_each(dtype, array, outer, axis, inner, masked);
}

/* Some of every column so far below, or, in one column of 97, one so far above the others, that each kernel may draw
 * the line where bits would begin to differ. */
static double spread(size_t row, size_t axis, size_t column, size_t inner, uint64_t *state) {
    double x = ordinary_logit(state);
    uint64_t draw = random_next(state);
    (void)inner;
    if (column % 97 == 5 && row == axis - 3) {
        return 15.0 + (double)(column % 60);
    }
    return draw % 64 == 0 && column % 11 != 0 ? x - (double)(column % 180) : x;
}
static void put_spread_logits(wr_dtype dtype, void *array, size_t outer, size_t axis, size_t inner) {
    put_each(dtype, array, outer, axis, inner, spread);
}

/* A base block of each column lies as far below the others as its number says. */
static double stepped(size_t row, size_t axis, size_t column, size_t inner, uint64_t *state) {
    (void)axis;
    (void)inner;
    return ordinary_logit(state) - (row / 1024 == column % 3 ? (double)(column / 3 % 240) : 0.0);
}
static void put_stepped_logits(wr_dtype dtype, void *array, size_t outer, size_t axis, size_t inner) {
    put_each(dtype, array, outer, axis, inner, stepped);
}

/* Each column holds a logit so far above the others that it is left: after some strips all others are, too. */
static double left_alone(size_t row, size_t axis, size_t column, size_t inner, uint64_t *state) {
    (void)inner;
    return ordinary_logit(state) + (row == column * 7 % axis ? 200.0 : 0.0);
}
static void put_logits_left_alone(wr_dtype dtype, void *array, size_t outer, size_t axis, size_t inner) {
    put_each(dtype, array, outer, axis, inner, left_alone);
}

static const put_logits kinds[] = {put_centred_logits, put_masked_logits,  put_spread_logits,
                                   put_stepped_logits, put_unusual_logits, put_logits_left_alone};
enum { KINDS = sizeof kinds / sizeof *kinds };

static size_t tiles_down(size_t axis) { return (axis + TILE - 1) / TILE; }

/* So many tiles a multiprocessor, in `outer` arrays whose last strips have `less` columns less. */
static void check(size_t kind, size_t outer, size_t axis, size_t tiles_each, size_t less) {
    size_t strips = (multiprocessors() * tiles_each + tiles_down(axis) - 1) / tiles_down(axis);
    size_t across = (strips + outer - 1) / outer;
    wr_softmax_args args = softmax_args(WR_F32, outer, axis, (across + (less != 0)) * STRIP - less);
    args.scale = (kind + axis) % 4 == 1 ? -0.75 : 1.0;
    if (tiles_down(axis) <= MOST_DOWN_EACH * multiprocessors()) {
        check_large_softmax_of(kinds[kind], args, 0, 0);
    }
}

int main(int argc, char **argv) {
    static const size_t axes[] = {1025, 1026, 1151, 1152, 1153, 1408, 2047, 2048, 2049, 3000, 3072, 4100, 5999, 6144};
    static const size_t long_axes[] = {8192, 8193, 16383, 20000, 32768, 49151};
    size_t i;
    places_open(argc, argv);
    for (i = 0; i < sizeof axes / sizeof *axes; ++i) {
        check(i % KINDS, 1 + i % 3, axes[i], TILES_EACH, 4 * (i * 5 % 16));
    }
    for (i = 0; i < sizeof long_axes / sizeof *long_axes; ++i) {
        check((i + 2) % KINDS, 1 + i % 2, long_axes[i], TILES_EACH, 4 * (i * 3 % 16));
    }
    for (i = 0; i < KINDS; ++i) {
        check(i, 2, 1030 + 7 * i, TILES_EACH, 4 * i);
        check(i, 1, 3000 + 9 * i, TILES_EACH, 20);
    }
    check(0, 3, 1200, MANY_TILES_EACH, 12);
    check(2, 1, 1537, MANY_TILES_EACH, 0);
    check(1, 1, MOST_DOWN_EACH * multiprocessors() * TILE, MANY_TILES_EACH / 3, 0);
    places_close();
    return check_report("softmax_of_shared_columns");
}
