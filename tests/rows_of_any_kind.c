/*
 * Rows beyond a warp's registers that are of no common kind, softmax and its gradient: types mixed, masked, cut off,
 * strided, off the boundaries, ragged, into 8 bits as logarithms. Of lengths around every edge at which more warps, a
 * cluster, or a second reading come into it, the host's bits.
 */
#include "harness.h"
#include "random_numbers.h"
#include "reference.h"
#include "softmax_jobs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MASKED = 1, CUT_OFF = 2, CAUSAL = 4, STRIDED = 8, RAGGED = 16, LOG = 32, FROM_LOGITS = 64, ADDED = 128 };

typedef struct kind {
    wr_dtype first, second,
        third; /* input and output; or what was saved, the outputs' gradient, the inputs' gradient */
    int what;
} kind;

/* Everything that any of the jobs may want. */
typedef struct memory {
    size_t rows, axis, elements;
    image first, second, third, mask, lengths, offsets, sums;
} memory;

static int64_t *integers(image *of) { return (int64_t *)(void *)of->payload; }

static void put_row(const kind *of, memory *at, size_t row, uint64_t *state) {
    size_t column, stride = (of->what & STRIDED) != 0 ? 2 : 1;
    for (column = 0; column < at->axis; ++column) {
        size_t element = row * at->axis + column;
        double value = random_unit(state) * ((of->what & FROM_LOGITS) != 0 ? 8.0 : 1.0);
        if (row % 8 == 5 && column % 2053 == 9) {
            value = -(double)INFINITY;
        }
        if (row % 8 == 6 && column == at->axis - 1) {
            value = (double)NAN;
        }
        reference_put(of->first, at->first.payload, element * stride, value);
        at->mask.payload[element] = (unsigned char)(random_unit(state) < 0.875);
    }
}

/* Of a row's logsumexp. */
static wr_dtype sum_type(const kind *of) { return of->first == WR_F64 ? WR_F64 : WR_F32; }

static memory memory_new(const kind *of, size_t rows, size_t axis) {
    memory made;
    size_t row, element, stride = (of->what & STRIDED) != 0 ? 2 : 1;
    uint64_t state = 11;
    made.rows = rows;
    made.axis = axis;
    made.elements = rows * axis;
    made.first = image_new(made.elements * stride * reference_size(of->first), reference_size(of->first));
    made.second = image_new(made.elements * reference_size(of->second), reference_size(of->second));
    made.third = image_new(made.elements * reference_size(of->third), 0);
    made.mask = image_new(made.elements, 1);
    made.lengths = image_new(rows * sizeof(int64_t), 8);
    made.offsets = image_new((rows + 1) * sizeof(int64_t), 8);
    made.sums = image_new(rows * reference_size(sum_type(of)), reference_size(sum_type(of)));
    memset(made.first.payload, 0, made.elements * stride * reference_size(of->first));
    for (row = 0; row < rows; ++row) {
        put_row(of, &made, row, &state);
        integers(&made.lengths)[row] = (int64_t)(random_unit(&state) * (double)(axis + 1));
        reference_put(sum_type(of), made.sums.payload, row, row % 8 == 7 ? -(double)INFINITY : 9.0);
    }
    for (element = 0; element < made.elements; ++element) {
        reference_put(of->second, made.second.payload, element, 2.0 * random_unit(&state) - 1.0);
        reference_put(of->third, made.third.payload, element, random_unit(&state));
    }
    for (row = 0; row <= rows; ++row) { /* rows of every length up to twice the axis */
        integers(&made.offsets)[row] = (int64_t)(made.elements * row * row / rows / rows);
    }
    return made;
}

static void memory_free(memory *of) {
    image_free(&of->first);
    image_free(&of->second);
    image_free(&of->third);
    image_free(&of->mask);
    image_free(&of->lengths);
    image_free(&of->offsets);
    image_free(&of->sums);
}

static void name(char (*label)[128], const char *what, const kind *of, const memory *at) {
    snprintf(*label, sizeof *label, "%s [%zu][%zu] %s, %s, %s, kind %d", what, at->rows, at->axis,
             dtype_name(of->first), dtype_name(of->second), dtype_name(of->third), of->what);
}

/* What a kind leaves out of the rows, and how they lie: the same of softmax and of its gradient. */
typedef struct selection {
    const uint8_t *mask;
    const int64_t *lengths, *offsets;
    int64_t causal_first;
    size_t axis;
    ptrdiff_t outer_stride, axis_stride, inner_stride;
    double scale;
} selection;

static selection selection_of(const kind *of, memory *at) {
    selection made;
    memset(&made, 0, sizeof made);
    made.mask = (of->what & MASKED) != 0 ? at->mask.payload : NULL;
    made.lengths = (of->what & CUT_OFF) != 0 ? integers(&at->lengths) : NULL;
    made.offsets = (of->what & RAGGED) != 0 ? integers(&at->offsets) : NULL;
    made.causal_first = (of->what & CAUSAL) != 0 ? (int64_t)(at->axis / 2) : 0;
    made.axis = made.offsets != NULL ? at->elements : at->axis;
    made.scale = at->axis % 2 == 0 ? 0.0 : -1.5;
    if ((of->what & STRIDED) != 0) {
        made.outer_stride = (ptrdiff_t)(2 * at->axis);
        made.axis_stride = 2;
        made.inner_stride = 1;
    }
    return made;
}

static void check_softmax(const kind *of, size_t rows, size_t axis) {
    memory made = memory_new(of, rows, axis);
    selection chosen = selection_of(of, &made);
    wr_softmax_args args = softmax_args(of->first, rows, chosen.axis, 1);
    softmax_images images = {&made.first, &made.mask, &made.lengths, &made.offsets, &made.second, NULL, NULL};
    char label[128];
    args.output_dtype = of->second;
    args.log = (of->what & LOG) != 0;
    args.input = made.first.payload;
    args.output = made.second.payload;
    args.mask = chosen.mask;
    args.lengths = chosen.lengths;
    args.offsets = chosen.offsets;
    args.causal = (of->what & CAUSAL) != 0;
    args.causal_first = chosen.causal_first;
    args.outer_stride = chosen.outer_stride;
    args.axis_stride = chosen.axis_stride;
    args.inner_stride = chosen.inner_stride;
    args.scale = chosen.scale;
    name(&label, "softmax", of, &made);
    run_softmax_everywhere(&args, &images, label);
    memory_free(&made);
}

static void check_gradient(const kind *of, size_t rows, size_t axis) {
    memory made = memory_new(of, rows, axis);
    selection chosen = selection_of(of, &made);
    wr_softmax_backward_args args = backward_args(of->first, rows, chosen.axis, 1);
    backward_images images = {&made.first, NULL, &made.second, &made.mask, &made.lengths, &made.offsets, &made.third};
    char label[128];
    args.mask = chosen.mask;
    args.lengths = chosen.lengths;
    args.offsets = chosen.offsets;
    args.causal = (of->what & CAUSAL) != 0;
    args.causal_first = chosen.causal_first;
    args.outer_stride = chosen.outer_stride;
    args.axis_stride = chosen.axis_stride;
    args.inner_stride = chosen.inner_stride;
    args.scale = chosen.scale;
    args.output_gradient_dtype = of->second;
    args.input_gradient_dtype = of->third;
    args.log = (of->what & LOG) != 0;
    args.add_to_input_gradient = (of->what & ADDED) != 0;
    if ((of->what & FROM_LOGITS) != 0) {
        args.input = made.first.payload;
        args.logsumexp = made.sums.payload;
        images.logsumexp = &made.sums;
    } else {
        args.output = made.first.payload;
    }
    args.output_gradient = made.second.payload;
    args.input_gradient = made.third.payload;
    name(&label, "gradient", of, &made);
    run_backward_everywhere(&args, &images, label);
    memory_free(&made);
}

static const kind forwards[] = {
    {WR_F32, WR_F8_E4M3, WR_F32, LOG},     {WR_BF16, WR_F8_E5M2, WR_F32, LOG},
    {WR_F32, WR_BF16, WR_F32, CAUSAL},     {WR_F16, WR_BF16, WR_F32, MASKED | CUT_OFF},
    {WR_F8_E4M3, WR_F8_E4M3, WR_F32, 0},   {WR_F8_E5M2, WR_F32, WR_F32, LOG | CUT_OFF},
    {WR_F32, WR_F32, WR_F32, STRIDED},     {WR_BF16, WR_BF16, WR_F32, STRIDED | LOG},
    {WR_F64, WR_F32, WR_F32, STRIDED},     {WR_F32, WR_F64, WR_F32, 0},
    {WR_F8_E4M3, WR_BF16, WR_F32, RAGGED},
};
static const kind gradients[] = {
    {WR_F32, WR_F32, WR_BF16, 0},
    {WR_F32, WR_F32, WR_F16, LOG | ADDED},
    {WR_BF16, WR_BF16, WR_BF16, MASKED},
    {WR_BF16, WR_F32, WR_F8_E4M3, FROM_LOGITS | CUT_OFF},
    {WR_F16, WR_F16, WR_F16, CAUSAL | LOG},
    {WR_F32, WR_F32, WR_F32, MASKED | FROM_LOGITS | LOG},
    {WR_F8_E4M3, WR_BF16, WR_F32, STRIDED},
    {WR_F8_E5M2, WR_F8_E5M2, WR_F64, ADDED},
    {WR_F64, WR_F64, WR_F64, MASKED | CUT_OFF},
    {WR_F64, WR_F64, WR_F32, FROM_LOGITS | ADDED},
    {WR_BF16, WR_BF16, WR_F32, RAGGED | MASKED},
};

/* Elements of a row: around a warp's, a block's and the longest cluster's of 8 and 16 blocks. */
static const size_t axes[] = {1025, 3072, 4099, 8192, 8193, 17000, 65537, 131072, 131073, 140001};

int main(int argc, char **argv) {
    size_t i, k;
    places_open(argc, argv);
    for (i = 0; i < sizeof axes / sizeof *axes; ++i) {
        size_t rows = axes[i] > 20000 ? 3 : 9;
        for (k = 0; k < sizeof forwards / sizeof *forwards; ++k) {
            check_softmax(forwards + k, rows, axes[i]);
        }
        for (k = 0; k < sizeof gradients / sizeof *gradients; ++k) {
            check_gradient(gradients + k, rows, axes[i]);
        }
    }
    for (k = 0; k < sizeof gradients / sizeof *gradients; ++k) { /* enough for narrow clusters */
        check_gradient(gradients + k, 150, 20000);
        check_softmax(forwards + k, 150, 20000);
    }
    places_close();
    return check_report("rows_of_any_kind");
}
