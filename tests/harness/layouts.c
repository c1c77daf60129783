#include "harness/layouts.h"

#include "reference/reference.h"

typedef struct strides {
    ptrdiff_t outer, axis, inner;
} strides;

static strides strides_of(const layout *of, size_t axis) {
    strides in_elements;
    in_elements.outer = of->outer_stride != 0 ? of->outer_stride : (ptrdiff_t)(axis * of->inner);
    in_elements.axis = of->axis_stride != 0 ? of->axis_stride : (ptrdiff_t)of->inner;
    in_elements.inner = of->inner_stride != 0 ? of->inner_stride : 1;
    return in_elements;
}

static void measure(layout *of, size_t axis) {
    strides by = strides_of(of, axis);
    ptrdiff_t steps[3], lowest = 0, highest = 0;
    int i;
    steps[0] = (ptrdiff_t)(of->outer - 1) * by.outer;
    steps[1] = axis == 0 ? 0 : (ptrdiff_t)(axis - 1) * by.axis;
    steps[2] = (ptrdiff_t)(of->inner - 1) * by.inner;
    for (i = 0; i < 3; ++i) {
        lowest += steps[i] < 0 ? steps[i] : 0;
        highest += steps[i] > 0 ? steps[i] : 0;
    }
    of->origin = (size_t)-lowest;
    of->extent = (size_t)(highest - lowest) + 1;
}

layout layout_of(int which, size_t rows, size_t axis) {
    ptrdiff_t n = (ptrdiff_t)axis, r = (ptrdiff_t)rows;
    const layout all[LAYOUTS] = {
        {"rows", rows, 1, 0, 0, 0, 0, 0},
        {"columns", 1, rows, 0, 0, 0, 0, 0},
        {"middle axis, 4 outer", 4, rows / 4, 0, 0, 0, 0, 0},
        {"middle axis, 2 inner", rows / 2, 2, 0, 0, 0, 0, 0},
        {"every second element", rows, 1, 2 * n, 2, 0, 0, 0},
        {"every third element", rows, 1, 3 * n, 3, 0, 0, 0},
        {"rows with a gap", rows, 1, n + 3, 0, 0, 0, 0},
        {"columns with a gap", 1, rows, 0, r + 5, 0, 0, 0},
        {"every second column", 1, rows, 0, 2 * r, 2, 0, 0},
        {"elements backwards", rows, 1, n, -1, 0, 0, 0},
        {"rows backwards", rows, 1, -n, 1, 0, 0, 0},
        {"columns backwards", 1, rows, 0, r, -1, 0, 0},
        {"a transposed matrix through strides", rows, 1, 1, r, 0, 0, 0},
        {"all backwards, two apart", 4, rows / 4, -2 * n * (r / 4), -2 * (r / 4), -2, 0, 0},
    };
    layout chosen = all[which];
    measure(&chosen, axis);
    return chosen;
}

int layout_is_contiguous(const layout *of) {
    return of->outer_stride == 0 && of->axis_stride == 0 && of->inner_stride == 0;
}

image lay_out(const layout *of, wr_dtype dtype, const void *rows, size_t axis, size_t misalignment,
              const void **first) {
    strides by = strides_of(of, axis);
    size_t size = reference_size(dtype);
    image made = image_new(of->extent * size, misalignment * size);
    size_t row, i;
    for (row = 0; row < of->outer * of->inner; ++row) {
        ptrdiff_t start =
            (ptrdiff_t)of->origin + (ptrdiff_t)(row / of->inner) * by.outer + (ptrdiff_t)(row % of->inner) * by.inner;
        for (i = 0; i < axis; ++i) {
            reference_copy_element(dtype, made.payload, (size_t)(start + (ptrdiff_t)i * by.axis), rows, row * axis + i);
        }
    }
    *first = made.payload + of->origin * size;
    return made;
}

void gather_row(const layout *of, wr_dtype dtype, const void *result, size_t axis, size_t row, void *gathered) {
    size_t start = row / of->inner * axis * of->inner + row % of->inner;
    size_t i;
    for (i = 0; i < axis; ++i) {
        reference_copy_element(dtype, gathered, i, result, start + i * of->inner);
    }
}
