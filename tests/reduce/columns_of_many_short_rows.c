/*
 * Narrow columns of so many rows, and short ones so many side by side, that a GPU has ways of its own for them: the
 * host's bits, whole blocks and odd ends, alone and in a batch, on the boundaries of vectors and off them.
 */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/random_numbers.h"
#include "reference/reference.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS = 56 << 20, BLOCKS = 800, MOST_OUTPUTS = 7 << 20 };

/* Columns, and the words that a block of the GPU takes. */
static const struct {
    size_t inner, block_words;
} widths[] = {{3, 49152}, {4, 65536}, {6, 49152}, {8, 65536}, {16, 65536}};

/* The same words for all jobs of a type, on the host and on the GPU. */
typedef struct words {
    wr_dtype dtype;
    unsigned char *on_host, *on_gpu;
} words;

static void open_words(words *all, wr_dtype dtype, data_kind kind) {
    size_t bytes = (size_t)WORDS * reference_size(dtype);
    all->dtype = dtype;
    all->on_host = malloc(bytes);
    if (all->on_host == NULL) {
        give_up("out of memory");
    }
    fill_random(dtype, kind, 7, all->on_host, WORDS);
    all->on_gpu = place_allocate(place_at(1), bytes);
    place_write(place_at(1), all->on_gpu, all->on_host, bytes);
}

static void close_words(words *all) {
    place_free(place_at(1), all->on_gpu);
    free(all->on_host);
}

static void check(const words *all, wr_op op, size_t first, size_t outer, size_t axis, size_t inner) {
    static unsigned char expected[MOST_OUTPUTS * 8], got[MOST_OUTPUTS * 8];
    size_t size = reference_size(all->dtype), bytes = outer * inner * size;
    int i;
    CHECK(first + outer * axis * inner <= WORDS && outer * inner <= MOST_OUTPUTS, "too large: %zu of %zu", outer, axis);
    for (i = 0; i < 2; ++i) {
        const place *where = place_at((size_t)i);
        const unsigned char *input = i == 0 ? all->on_host : all->on_gpu;
        void *output = place_allocate(where, bytes);
        wr_status status = wr_reduce(op, all->dtype, input + first * size, output, outer, axis, inner, where->stream);
        CHECK(status == WR_SUCCESS, "%s: %s", where->name, wr_status_name(status));
        place_read(where, output, i == 0 ? expected : got, bytes);
        place_free(where, output);
        CHECK(i == 0 || memcmp(expected, got, bytes) == 0,
              "operator %d of %s, [%zu][%zu][%zu] from %zu: not the host's", (int)op, dtype_name(all->dtype), outer,
              axis, inner, first);
    }
}

static void check_widths(wr_op op, wr_dtype dtype, data_kind kind) {
    words all;
    size_t i;
    open_words(&all, dtype, kind);
    for (i = 0; i < sizeof widths / sizeof *widths; ++i) {
        size_t inner = widths[i].inner, rows = widths[i].block_words / inner, whole = BLOCKS * rows;
        check(&all, op, 0, 1, whole, inner);
        check(&all, op, 4, 1, whole + 1, inner);
        check(&all, op, 0, 1, whole - 1, inner);
        check(&all, op, 8, 1, whole + rows / 64 + 1, inner);
        check(&all, op, 0, 1, whole + rows / 8 * 3, inner);
        check(&all, op, 1, 1, whole + 77, inner);
        check(&all, op, 0, 1, whole + rows / 64 - 2, inner);
        check(&all, op, 0, 3, whole / 3 + 4001, inner);
        check(&all, op, 4, 3, whole / 3 / 4 * 4 + 4004, inner);
        check(&all, op, 0, BLOCKS, rows, inner);
        check(&all, op, 0, BLOCKS + 1, rows + 1, inner);
        check(&all, op, 0, BLOCKS + 1, rows + 4, inner);
    }
    close_words(&all);
}

/* Axes of 2 to 5 rows: one matrix, and images with a few channels. */
static void check_short_axes(wr_op op, wr_dtype dtype, data_kind kind) {
    words all;
    size_t axis;
    open_words(&all, dtype, kind);
    for (axis = 2; axis <= 5; ++axis) {
        check(&all, op, 0, 1, axis, 6 << 20);
        check(&all, op, 8, 1, axis, (5 << 20) + 1032);
        check(&all, op, 0, 1, axis, (5 << 20) + 4);
        check(&all, op, 1, 1, axis, 3 << 20);
        check(&all, op, 0, 128, axis, 224 * 224);
        check(&all, op, 0, 700, axis, 112 * 56);
        check(&all, op, 0, 5000, axis, 520);
    }
    close_words(&all);
}

int main(int argc, char **argv) {
    places_open_gpu_only(argc, argv);
    check_widths(WR_SUM, WR_F32, DATA_WIDE);
    check_widths(WR_SUM, WR_F32, DATA_SPECIALS);
    check_widths(WR_MAX, WR_F32, DATA_SPECIALS);
    check_widths(WR_SUM, WR_I32, DATA_UNIFORM);
    check_widths(WR_MIN, WR_U32, DATA_UNIFORM);
    check_widths(WR_SUM, WR_KOALABEAR, DATA_UNIFORM);
    check_widths(WR_SUM, WR_MERSENNE31, DATA_UNIFORM);
    check_short_axes(WR_SUM, WR_F32, DATA_WIDE);
    check_short_axes(WR_MEAN, WR_BF16, DATA_SPECIALS);
    check_short_axes(WR_MAX, WR_F32, DATA_SPECIALS);
    places_close();
    return check_report("columns_of_many_short_rows");
}
