/*
 * Some rows for each multiprocessor, of so many tiles that a block's warps take them in turn: sums, products and norms
 * of floats give what their definitions say.
 */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/random_numbers.h"
#include "reference/reference.h"

enum { TILE = 4096, ROWS_A_MULTIPROCESSOR = 4 };

/* So many tiles and an element: of the warps that take turns some have one less. No row that is dealt has more. */
enum { FEW_TILES = 9, MOST_TILES = 63 };

static const wr_op operators[] = {WR_SUM, WR_PRODUCT, WR_NORM_L1, WR_NORM_L2};
enum { OPERATORS = sizeof operators / sizeof *operators };

static void check_rows(wr_op op, wr_dtype dtype, size_t rows, size_t tiles) {
    size_t size = reference_size(dtype), axis = tiles * TILE / size + 1, misalignment = (size_t)op % 2;
    image input = image_new(rows * axis * size, misalignment * size);
    wr_reduce_args args = reduce_args(op, dtype, rows, axis, 1);
    fill_random(dtype, op == WR_PRODUCT ? DATA_NEAR_ONE : DATA_WIDE, axis + (size_t)op, input.payload, rows * axis);
    args.input = input.payload;
    args.nan_mode = op == WR_NORM_L1 ? WR_NAN_IGNORE : WR_NAN_PROPAGATE;
    check_reduce(&args, &input, 0, "one of many middling rows");
    image_free(&input);
}

int main(int argc, char **argv) {
    size_t op, rows;
    places_open(argc, argv);
    rows = ROWS_A_MULTIPROCESSOR * place_multiprocessors(place_at(place_count() - 1));
    for (op = 0; op < OPERATORS; ++op) {
        check_rows(operators[op], WR_F32, rows, FEW_TILES);
        check_rows(operators[op], WR_BF16, rows, FEW_TILES);
    }
    check_rows(WR_NORM_L1, WR_F32, rows, MOST_TILES);
    places_close();
    return check_report("many_middling_rows");
}
