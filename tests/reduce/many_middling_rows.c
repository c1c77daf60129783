/*
 * Some rows for each multiprocessor, of so many tiles that a block's warps take them in turn: sums, products and norms
 * of floats give what their definitions say.
 */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/random_numbers.h"
#include "reference/reference.h"

enum { TILE = 4096, ROWS_A_MULTIPROCESSOR = 4 };

/* A row's elements: so many bytes' worth and so many more. */
static const struct {
    size_t bytes;
    int more;
} lengths[] = {{8 * TILE, 1}, {10 * TILE, 0}, {25 * TILE, -3}};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static const wr_op operators[] = {WR_SUM, WR_PRODUCT, WR_MEAN, WR_SUM_OF_SQUARES, WR_NORM_L1, WR_NORM_L2};
enum { OPERATORS = sizeof operators / sizeof *operators };

static void check_rows(wr_op op, wr_dtype dtype, size_t rows, size_t length) {
    size_t size = reference_size(dtype),
           axis = (size_t)((ptrdiff_t)(lengths[length].bytes / size) + lengths[length].more);
    image input = image_new(rows * axis * size, length % 2 * size);
    wr_reduce_args args = reduce_args(op, dtype, rows, axis, 1);
    fill_random(dtype, op == WR_PRODUCT ? DATA_NEAR_ONE : DATA_WIDE, axis + (size_t)op, input.payload, rows * axis);
    args.input = input.payload;
    args.nan_mode = length % 2 == 0 ? WR_NAN_PROPAGATE : WR_NAN_IGNORE;
    check_reduce(&args, &input, 0, "one of many middling rows");
    image_free(&input);
}

int main(int argc, char **argv) {
    static const wr_dtype types[] = {WR_F32, WR_F64, WR_F16, WR_BF16};
    size_t op, type, length, rows;
    places_open(argc, argv);
    rows = ROWS_A_MULTIPROCESSOR * place_multiprocessors(place_at(place_count() - 1));
    for (op = 0; op < OPERATORS; ++op) {
        for (type = 0; type < sizeof types / sizeof *types; ++type) {
            for (length = 0; length < LENGTHS; ++length) {
                check_rows(operators[op], types[type], rows, length);
            }
        }
    }
    places_close();
    return check_report("many_middling_rows");
}
