/*
 * Softmax of rows off the boundaries has the host's bits, and is served at all, whatever number of base blocks the rows
 * have of those that clusters share, be there some rows or many: into the same type and another, logarithms and not,
 * some with the maximum of each row beside them. The same of the f32 rows, on the boundaries too, whose clusters have
 * smaller blocks, and of the maxima of rows that one block holds.
 */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/large_softmax.h"

/* Base blocks of a row, and base blocks that each multiprocessor has at least: so many that several share a block, and
 * so many that clusters need not be as wide as can be. */
enum { OF_SMALL_BLOCKS = 9, SHORTEST = 33, LONGEST = 137, SOME = 17, MANY = 130 };

static void check(size_t each, wr_dtype dtype, size_t blocks, int log, wr_dtype output_dtype) {
    size_t axis = 1024 * blocks - 1023;
    wr_softmax_args args = softmax_args(dtype, rows_for_gpu(axis, each), axis, 1);
    args.log = log;
    args.output_dtype = output_dtype;
    check_large_softmax(args, 0, blocks % 5 == 0 ? ROW_MAXIMUM : NO_ROW_VALUES);
}

/* Of f32 rows of whole vectors and a last block of one. */
static void check_vectors(size_t blocks, int log, unsigned wanted) {
    size_t axis = 1024 * blocks - 1020;
    wr_softmax_args args = softmax_args(WR_F32, rows_for_gpu(axis, SOME), axis, 1);
    args.log = log;
    check_large_softmax(args, 0, wanted);
}

/* Of so many base blocks and some elements more. */
static void check_maxima(wr_dtype dtype, size_t blocks, size_t elements) {
    wr_softmax_args args =
        softmax_args(dtype, rows_for_gpu(1024 * blocks + elements, SOME), 1024 * blocks + elements, 1);
    args.log = blocks % 2 == 0;
    check_large_softmax(args, 0, blocks % 3 == 0 ? ROW_LOGSUMEXP | ROW_MAXIMUM : ROW_MAXIMUM);
}

int main(int argc, char **argv) {
    size_t blocks;
    places_open(argc, argv);
    for (blocks = 1; blocks <= OF_SMALL_BLOCKS; ++blocks) {
        check_maxima(WR_F32, blocks, 0);
        check_maxima(WR_F64, blocks, 8);
        check_maxima(WR_BF16, blocks, 8 * (blocks % 2));
        check_maxima(blocks % 2 == 0 ? WR_F16 : WR_F32, blocks, 3);
    }
    for (blocks = OF_SMALL_BLOCKS; blocks < SHORTEST; ++blocks) {
        check(SOME, WR_F32, blocks, blocks % 2 == 0, WR_F32);
        check_vectors(blocks, 0, 1 + (unsigned)blocks % 3);
        check_vectors(blocks, 1, (unsigned)blocks % 4);
    }
    for (blocks = SHORTEST; blocks <= LONGEST; ++blocks) {
        int log = blocks % 2 == 0;
        check(SOME, WR_F32, blocks, log, WR_F32);
        switch (blocks % 3) {
        case 0:
            check(MANY, WR_F32, blocks, 1, WR_F32);
            break;
        case 1:
            check(SOME, WR_F32, blocks, log, WR_BF16);
            break;
        default:
            check(SOME, WR_BF16, blocks, log, log ? WR_BF16 : WR_F32);
            break;
        }
    }
    check(MANY, WR_F16, SHORTEST, 1, WR_F16);
    check(MANY, WR_F32, SHORTEST, 0, WR_BF16);
    places_close();
    return check_report("softmax_of_every_cluster");
}
