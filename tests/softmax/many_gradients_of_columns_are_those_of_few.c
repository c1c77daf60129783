/*
 * The gradients of columns are the same bits however many there are: on the host device so many that they go past the
 * caches, and a few at a time that stay there; on any alignment, in place too, and with weights near the end of the
 * range.
 */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/places.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 301, COLUMNS = 5003, FEW = 16, MOST_SHIFT = 17 };

static const size_t elements = (size_t)ROWS * COLUMNS;
static uint32_t random_state = 54;

static double random_number(void) {
    random_state = random_state * 1664525u + 1013904223u;
    return (double)(random_state >> 8) / (1 << 24);
}

/* Some columns have weights that are subnormal, or close to it. */
static double weight_of(size_t column) {
    const double weight = random_number();
    return column % 97 == 5 ? weight * 1e-30 * 1e-7 : column % 97 == 6 ? 0 : weight;
}

static void put(wr_dtype dtype, void *array, size_t index, double value) {
    if (dtype == WR_F64) {
        ((double *)array)[index] = value;
    } else {
        ((float *)array)[index] = (float)value;
    }
}

static void gradients(wr_dtype dtype, const void *weights, const void *given, void *result, size_t columns) {
    wr_softmax_backward_args args;
    wr_status status;
    memset(&args, 0, sizeof args);
    args.struct_size = sizeof args;
    args.dtype = dtype;
    args.output = weights;
    args.output_gradient = given;
    args.input_gradient = result;
    args.outer = 1;
    args.axis = ROWS;
    args.inner = columns;
    args.scale = 0.5;
    status = wr_softmax_backward_ex(&args, wr_host_stream());
    CHECK(status == WR_SUCCESS, "status %d", (int)status);
}

/* `count` columns from `first` on, as an array of their own, or back. */
static void copy_columns(size_t size, char *all, char *few, size_t first, size_t count, int back) {
    size_t row;
    for (row = 0; row < ROWS; ++row) {
        char *whole = all + (row * COLUMNS + first) * size, *part = few + row * count * size;
        memcpy(back ? whole : part, back ? part : whole, count * size);
    }
}

static char *allocate(size_t bytes) {
    char *memory = malloc(bytes);
    if (memory == NULL) {
        give_up("no memory");
    }
    return memory;
}

static void expect_few_at_a_time(wr_dtype dtype, size_t size, char *weights, char *given, char *expected) {
    char *few_weights = allocate(ROWS * FEW * size), *few_given = allocate(ROWS * FEW * size);
    char *few = allocate(ROWS * FEW * size);
    size_t first;
    for (first = 0; first < COLUMNS; first += FEW) {
        const size_t count = first + FEW <= COLUMNS ? FEW : COLUMNS - first;
        copy_columns(size, weights, few_weights, first, count, 0);
        copy_columns(size, given, few_given, first, count, 0);
        gradients(dtype, few_weights, few_given, few, count);
        copy_columns(size, expected, few, first, count, 1);
    }
    free(few_weights);
    free(few_given);
    free(few);
}

static void check(wr_dtype dtype, size_t shift, int in_place) {
    const size_t size = wr_dtype_size(dtype), bytes = elements * size;
    char *memory[3], *weights, *given, *result, *expected = allocate(bytes);
    size_t i;
    for (i = 0; i < 3; ++i) {
        memory[i] = allocate(bytes + MOST_SHIFT * size);
    }
    weights = memory[0] + shift * size;
    given = memory[1] + (shift + 1) % MOST_SHIFT * size;
    result = in_place ? given : memory[2] + shift * size;
    for (i = 0; i < elements; ++i) {
        put(dtype, weights, i, weight_of(i % COLUMNS));
        put(dtype, given, i, random_number() - 0.5);
    }
    expect_few_at_a_time(dtype, size, weights, given, expected);
    gradients(dtype, weights, given, result, COLUMNS);
    CHECK(memcmp(result, expected, bytes) == 0, "%s, %zu elements behind a boundary%s", dtype_name(dtype), shift,
          in_place ? ", in place" : "");
    for (i = 0; i < 3; ++i) {
        free(memory[i]);
    }
    free(expected);
}

int main(int argc, char **argv) {
    static const size_t shifts[] = {0, 1, 4, 16};
    static const size_t threads[] = {1, 0};
    size_t i, t;
    places_open(argc, argv);
    for (t = 0; t < 2; ++t) {
        CHECK(wr_set_host_threads(threads[t], NULL) == WR_SUCCESS, "threads");
        for (i = 0; i < 4; ++i) {
            check(WR_F32, shifts[i], 0);
            check(WR_F64, shifts[i], 0);
        }
        check(WR_F32, 0, 1);
    }
    places_close();
    return check_report("many_gradients_of_columns_are_those_of_few");
}
