/*
 * Few rows that wide clusters share, and such as are longer than a cluster holds, give the host's bits: around the
 * shortest and the longest that a GPU's multiprocessors hold together, of whole base blocks, of whole vectors and of
 * neither, one row and several; in place and not, scaled and not, with their logsumexp beside them and without; with
 * NaN, infinities, large logits, nothing but -infinity, or base blocks far below the others or as far as can be.
 */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/large_softmax.h"
#include "harness/random_numbers.h"
#include "reference/reference.h"

#include <math.h>

enum {
    SMALL,
    WIDE,
    NAN_IN_ONE,
    INFINITY_IN_ONE,
    LARGE_IN_ONE,
    ALL_MINUS_INFINITY,
    ONE_ALONE,
    SOME_FAR_BELOW,
    SOME_LARGE_BELOW,
    KINDS
};

/* What is put into rows that differ from the first by their number. */
static int kind_of_rows;

static double logit_of(int kind, size_t i, size_t axis, uint64_t random) {
    double unit = (double)(random >> 11) * 0x1p-53; /* 0 to 1 */
    size_t last_block = (axis - 1) / 1024;
    switch (kind) {
    case WIDE:
        return 120 * unit - 60;
    case NAN_IN_ONE:
        return i == axis - 3 ? (double)NAN : unit;
    case INFINITY_IN_ONE:
        return i == axis / 3 ? (double)INFINITY : unit;
    case LARGE_IN_ONE:
        return i / 1024 == axis / 2048 ? 30000 + 100 * unit : unit;
    case ALL_MINUS_INFINITY:
        return -(double)INFINITY;
    case ONE_ALONE:
        return i == axis - 1 ? -7 : -(double)INFINITY;
    case SOME_FAR_BELOW:
        return i / 1024 % 5 == 1 ? -300 - unit : i / 1024 == last_block ? 50 + unit : -(double)(i / 1024 % 40) + unit;
    case SOME_LARGE_BELOW: /* as masks by addition have them */
        return i / 1024 % 7 == 3 ? -60000 - unit : i / 1024 % 7 == 4 ? -1e9 : 8 * unit - 4;
    default:
        return 8 * unit - 4;
    }
}

static void put_rows(wr_dtype dtype, void *array, size_t outer, size_t axis, size_t inner) {
    uint64_t state = axis;
    size_t row, i;
    (void)inner;
    for (row = 0; row < outer; ++row) {
        for (i = 0; i < axis; ++i) {
            reference_put(dtype, array, row * axis + i,
                          logit_of((kind_of_rows + (int)row) % KINDS, i, axis, random_next(&state)));
        }
    }
}

static void check(wr_dtype dtype, size_t rows, size_t axis, int turn) {
    wr_softmax_args args = softmax_args(dtype, rows, axis, 1);
    kind_of_rows = turn % KINDS;
    args.log = turn / KINDS % 2;
    args.scale = turn % 4 == 3 ? -0.75 : 1.0;
    args.empty_row = turn % 2 == 0 ? WR_EMPTY_ROW_NAN : WR_EMPTY_ROW_ZERO;
    check_large_softmax_of(put_rows, args, 0, turn % 5 < 2 ? ROW_LOGSUMEXP : NO_ROW_VALUES);
}

int main(int argc, char **argv) {
    static const wr_dtype types[] = {WR_F32, WR_BF16, WR_F16, WR_F64};
    enum { VECTOR_TYPES = 3, TYPES = 4, THOROUGH = 4, OF_CLUSTERS = 3 }; /* f64 has clusters alone */
    static const struct {
        size_t rows, axis;
    } shapes[] = {{1, 128256},  {1, 262144},  {3, 140000},  {1, 262152},  {1, 299008},  {1, 393216},  {1, 393224},
                  {2, 262152},  {1, 524288},  {1, 524296},  {1, 1048576}, {1, 1049600}, {3, 1000000}, {1, 2162688},
                  {1, 3244032}, {1, 3300008}, {4, 1048576}, {1, 4194304}, {1, 4325376}, {1, 4325384}, {12, 262152},
                  {15, 262152}, {1, 300001},  {3, 400003},  {1, 4325387}};
    size_t shape, type, turn, turns, other = 0;
    places_open(argc, argv);
    for (shape = 0; shape < sizeof shapes / sizeof *shapes; ++shape) {
        /* Every kind of row and both functions where that takes little time, else a few by turns. */
        turns = shape < THOROUGH ? 2 * KINDS : 3;
        for (turn = 0; turn < turns; ++turn) {
            for (type = 0; type < (shape < OF_CLUSTERS ? TYPES : VECTOR_TYPES); ++type) {
                check(types[type], shapes[shape].rows, shapes[shape].axis, (int)(turns > 3 ? turn : other++));
            }
        }
    }
    places_close();
    return check_report("softmax_of_few_long_rows");
}
