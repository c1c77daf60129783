/*
 * Softmax of rows whose base blocks lie far apart has the host's bits, however far: where a factor leaves the normal
 * range, where outputs do, where all of them are 0, and where each way to them begins and ends. One logit above all
 * others, every base block at a height of its own, and rows that masks of any value cut off; of a block, a cluster and
 * all multiprocessors, on the boundaries and off them, into every width of outputs.
 */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/large_softmax.h"
#include "harness/random_numbers.h"
#include "reference/reference.h"

#include <math.h>

enum { STEPS_OF_ONE = 4, FARTHEST = 260, ROWS = FARTHEST * STEPS_OF_ONE / 2 + 1, BLOCK = 1024 };

static double small_logit(uint64_t *state) { return (double)(random_next(state) % 65536) / 16384.0 - 2.0; }
static double distance_of(size_t row) {
    return (double)(row * 2 % (FARTHEST * STEPS_OF_ONE) + row / ROWS % 2) / STEPS_OF_ONE;
}

static void put_each(wr_dtype dtype, void *array, size_t rows, size_t axis,
                     double (*logit)(size_t row, size_t column, size_t axis, uint64_t *state)) {
    uint64_t state = 23;
    size_t row, column;
    for (row = 0; row < rows; ++row) {
        for (column = 0; column < axis; ++column) {
            reference_put(dtype, array, row * axis + column, logit(row, column, axis, &state));
        }
    }
}

static double below_one(size_t row, size_t column, size_t axis, uint64_t *state) {
    double x = small_logit(state);
    return column == row * 37 % axis ? x + distance_of(row) : x;
}
static void put_below_one(wr_dtype dtype, void *array, size_t outer, size_t axis, size_t inner) {
    put_each(dtype, array, outer, axis * inner, below_one);
}

/* Blocks about 0, where frames are left out, about 40, where they are not, and below 0, where a row's sum is small. */
static double in_steps(size_t row, size_t column, size_t axis, uint64_t *state) {
    size_t block = column / BLOCK;
    double top = row % 4 == 0 ? distance_of(row) : row % 4 == 1 ? 40.0 : row % 4 == 2 ? -12.0 : -25.0;
    (void)axis;
    return small_logit(state) + (block == row % 3 ? top : top - distance_of(row + block * 31));
}
static void put_in_steps(wr_dtype dtype, void *array, size_t outer, size_t axis, size_t inner) {
    put_each(dtype, array, outer, axis * inner, in_steps);
}

static double masked(size_t row, size_t column, size_t axis, uint64_t *state) {
    static const double masks[] = {-INFINITY, -1e4, -1048575.0, -1048577.0, -2097151.0, -2097168.0, -1e9, -3e38};
    double x = small_logit(state);
    size_t kept = row * 131 % (axis + BLOCK);
    if (row % 11 == 3) { /* masked as a whole, by two values */
        return masks[column / BLOCK % 2 == 0 ? row % 8 : row / 8 % 8];
    }
    return column < kept ? x : masks[row % 8];
}
static void put_masked(wr_dtype dtype, void *array, size_t outer, size_t axis, size_t inner) {
    put_each(dtype, array, outer, axis * inner, masked);
}

static const put_logits kinds[] = {put_below_one, put_in_steps, put_masked};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void check(wr_dtype dtype, wr_dtype output, size_t rows, size_t axis, size_t off, unsigned wanted) {
    size_t kind;
    for (kind = 0; kind < KINDS; ++kind) {
        wr_softmax_args args = softmax_args(dtype, rows, axis, 1);
        args.output_dtype = output;
        check_large_softmax_of(kinds[kind], args, off, wanted);
    }
}

static void check_types(size_t rows, size_t axis, size_t off) {
    check(WR_F32, WR_F32, rows, axis, off, NO_ROW_VALUES);
    check(WR_BF16, WR_BF16, rows, axis, off, NO_ROW_VALUES);
    check(WR_F16, WR_F16, rows, axis, off, NO_ROW_VALUES);
}

int main(int argc, char **argv) {
    size_t i;
    places_open(argc, argv);
    check_types(ROWS, 2 * BLOCK, 0);
    check_types(ROWS, 2 * BLOCK + 5, 1);
    check_types(ROWS / 4, 5000, 3);
    check_types(ROWS / 4, 9 * BLOCK, 0);
    check_types(ROWS / 8, 9 * BLOCK + 3, 2);
    check(WR_F32, WR_F32, ROWS, 2 * BLOCK, 0, ROW_MAXIMUM);
    check(WR_BF16, WR_BF16, ROWS, 2 * BLOCK, 0, ROW_LOGSUMEXP);
    check(WR_BF16, WR_F32, ROWS, 2 * BLOCK, 0, NO_ROW_VALUES);
    check(WR_F32, WR_BF16, ROWS, 2 * BLOCK, 0, NO_ROW_VALUES);
    check(WR_BF16, WR_F8_E5M2, ROWS, 2 * BLOCK, 0, NO_ROW_VALUES);
    for (i = 0; i < 2; ++i) { /* as many as all multiprocessors share */
        check(WR_F32, WR_F32, rows_for_gpu(33800 + i, 90), 33800 + i, i, NO_ROW_VALUES);
        check(i == 0 ? WR_BF16 : WR_F16, (wr_dtype)0, rows_for_gpu(20480, 200), 20480, 0, NO_ROW_VALUES);
        check(i == 0 ? WR_BF16 : WR_F16, (wr_dtype)0, rows_for_gpu(20479, 400), 20479, i, NO_ROW_VALUES);
    }
    places_close();
    return check_report("softmax_of_distant_blocks");
}
