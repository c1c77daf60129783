/*
 * Softmax of columns, its logarithm and its gradients are the same bits however many there are: on the host device so
 * many that they go past the caches, and a few at a time that stay there; on any alignment, in place too, columns of
 * one base block and of two, and among them such as are NaN, empty or near the end of the range.
 */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/places.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 16, MOST_SHIFT = 17, LINE = 64 };

typedef enum { SOFTMAX, LOG_SOFTMAX, GRADIENT } function;

typedef struct job {
    function what;
    wr_dtype dtype;
    size_t rows, columns;
} job;

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

static double logit_of(size_t row, size_t column) {
    const double logit = 8 * random_number() - 4;
    switch (column % 197) {
    case 5:
        return row == 7 ? (double)NAN : logit;
    case 6:
        return -(double)INFINITY;
    case 7:
        return 30 * logit;
    case 8:
        return 3e6 + logit;
    default:
        return logit;
    }
}

static void put(wr_dtype dtype, void *array, size_t index, double value) {
    if (dtype == WR_F64) {
        ((double *)array)[index] = value;
    } else {
        ((float *)array)[index] = (float)value;
    }
}

static wr_status gradients(const job *of, const void *weights, const void *given, void *result, size_t columns) {
    wr_softmax_backward_args args;
    memset(&args, 0, sizeof args);
    args.struct_size = sizeof args;
    args.dtype = of->dtype;
    args.output = weights;
    args.output_gradient = given;
    args.input_gradient = result;
    args.outer = 1;
    args.axis = of->rows;
    args.inner = columns;
    args.scale = 0.5;
    return wr_softmax_backward_ex(&args, wr_host_stream());
}

static wr_status outputs(const job *of, const void *logits, void *result, size_t columns) {
    wr_softmax_args args;
    memset(&args, 0, sizeof args);
    args.struct_size = sizeof args;
    args.dtype = of->dtype;
    args.log = of->what == LOG_SOFTMAX;
    args.input = logits;
    args.output = result;
    args.outer = 1;
    args.axis = of->rows;
    args.inner = columns;
    return wr_softmax_ex(&args, wr_host_stream());
}

/* Of gradients from weights and the output's gradients, of outputs from logits, which are `given`. */
static void compute(const job *of, const void *weights, const void *given, void *result, size_t columns) {
    const wr_status status =
        of->what == GRADIENT ? gradients(of, weights, given, result, columns) : outputs(of, given, result, columns);
    CHECK(status == WR_SUCCESS, "status %d", (int)status);
}

/* `count` columns from `first` on, as an array of their own, or back. */
static void copy_columns(const job *of, char *all, char *few, size_t first, size_t count, int back) {
    const size_t size = wr_dtype_size(of->dtype);
    size_t row;
    for (row = 0; row < of->rows; ++row) {
        char *whole = all + (row * of->columns + first) * size, *part = few + row * count * size;
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

/* `shift` elements behind a cache line's boundary. */
static char *behind_boundary(char *memory, size_t shift, size_t size) {
    return memory + (LINE - (uintptr_t)memory % LINE) % LINE + shift * size;
}

static void expect_few_at_a_time(const job *of, char *weights, char *given, char *expected) {
    const size_t bytes = of->rows * FEW * wr_dtype_size(of->dtype);
    char *few_weights = allocate(bytes), *few_given = allocate(bytes), *few = allocate(bytes);
    size_t first;
    for (first = 0; first < of->columns; first += FEW) {
        const size_t count = first + FEW <= of->columns ? FEW : of->columns - first;
        copy_columns(of, weights, few_weights, first, count, 0);
        copy_columns(of, given, few_given, first, count, 0);
        compute(of, few_weights, few_given, few, count);
        copy_columns(of, expected, few, first, count, 1);
    }
    free(few_weights);
    free(few_given);
    free(few);
}

static void check(function what, wr_dtype dtype, size_t rows, size_t columns, size_t shift, int in_place) {
    static const char *const names[] = {"softmax", "log-softmax", "gradient"};
    const job of = {what, dtype, rows, columns};
    const size_t size = wr_dtype_size(dtype), bytes = rows * columns * size;
    char *memory[3], *weights, *given, *result, *expected = allocate(bytes);
    size_t i;
    for (i = 0; i < 3; ++i) {
        memory[i] = allocate(bytes + MOST_SHIFT * size + LINE);
    }
    weights = behind_boundary(memory[0], shift, size);
    given = behind_boundary(memory[1], (shift + 1) % MOST_SHIFT, size);
    result = in_place ? given : behind_boundary(memory[2], shift, size);
    for (i = 0; i < rows * columns; ++i) {
        const double number = what == GRADIENT ? random_number() - 0.5 : logit_of(i / columns, i % columns);
        put(dtype, weights, i, weight_of(i % columns));
        put(dtype, given, i, number);
    }
    expect_few_at_a_time(&of, weights, given, expected);
    compute(&of, weights, given, result, columns);
    CHECK(memcmp(result, expected, bytes) == 0, "%s of %zu x %zu %s, %zu elements behind a boundary%s", names[what],
          rows, columns, dtype_name(dtype), shift, in_place ? ", in place" : "");
    for (i = 0; i < 3; ++i) {
        free(memory[i]);
    }
    free(expected);
}

static void check_shift(size_t shift) {
    check(GRADIENT, WR_F32, 301, 5003, shift, 0);
    check(GRADIENT, WR_F64, 301, 5003, shift, 0);
    check(SOFTMAX, WR_F32, 301, 5024, shift, 0);
    check(SOFTMAX, WR_F32, 1100, 1003, shift, 0);
    check(SOFTMAX, WR_F64, 301, 2003, shift, 0);
    check(SOFTMAX, WR_F64, 301, 2008, shift, 0);
    check(LOG_SOFTMAX, WR_F32, 1100, 1008, shift, 0);
}

int main(int argc, char **argv) {
    static const size_t shifts[] = {0, 1, 4, 16};
    static const size_t threads[] = {1, 0};
    size_t i, t;
    places_open(argc, argv);
    for (t = 0; t < 2; ++t) {
        CHECK(wr_set_host_threads(threads[t], NULL) == WR_SUCCESS, "threads");
        for (i = 0; i < 4; ++i) {
            check_shift(shifts[i]);
        }
        check(GRADIENT, WR_F32, 301, 5003, 0, 1);
        check(SOFTMAX, WR_F32, 1100, 1008, 0, 1);
        check(LOG_SOFTMAX, WR_F32, 301, 5024, 0, 1);
    }
    places_close();
    return check_report("many_columns_are_those_of_few");
}
