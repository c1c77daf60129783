#include "harness/jobs_of_any_kind.h"

#include "harness/harness.h"
#include "harness/random_numbers.h"
#include "harness/softmax_jobs.h"
#include "reference/reference.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const kind gradient_kinds[GRADIENT_KINDS] = {
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
};

const kind softmax_leaving_out[LEAVING_OUT] = {
    {WR_F32, WR_F32, WR_F32, MASKED},
    {WR_BF16, WR_BF16, WR_F32, MASKED | LOG},
    {WR_F32, WR_F32, WR_F32, CUT_OFF | LOG | VALUES},
    {WR_F16, WR_F16, WR_F32, MASKED | CAUSAL | VALUES},
    {WR_BF16, WR_BF16, WR_F32, CUT_OFF | IN_PLACE},
    {WR_F32, WR_F32, WR_F32, MASKED | LOG | FAR_APART | IN_PLACE},
    {WR_F16, WR_F16, WR_F32, CAUSAL | LOG},
    {WR_BF16, WR_BF16, WR_F32, MASKED | CUT_OFF | FAR_APART | VALUES},
    {WR_F32, WR_F32, WR_F32, MASKED | CUT_OFF | CAUSAL | VALUES},
};

const kind gradients_leaving_out[LEAVING_OUT] = {
    {WR_F32, WR_F32, WR_F32, MASKED},
    {WR_BF16, WR_BF16, WR_BF16, MASKED | LOG},
    {WR_F32, WR_F32, WR_F32, CUT_OFF | FROM_LOGITS},
    {WR_F16, WR_F16, WR_F16, MASKED | CAUSAL | FROM_LOGITS | LOG},
    {WR_BF16, WR_BF16, WR_BF16, CUT_OFF},
    {WR_F32, WR_F32, WR_F32, MASKED | CUT_OFF | CAUSAL | LOG},
    {WR_F16, WR_F16, WR_F16, CAUSAL},
    {WR_BF16, WR_BF16, WR_BF16, MASKED | FROM_LOGITS},
    {WR_F32, WR_F32, WR_F32, MASKED | FROM_LOGITS},
};

/* Everything that any of the jobs may want. */
typedef struct memory {
    size_t outer, axis, inner, rows, elements;
    image first, second, third, mask, lengths, offsets, sums, maxima;
} memory;

static int64_t *integers(image *of) { return (int64_t *)(void *)of->payload; }

/* Every place of the first array has one of two elements where it is strided. */
static size_t step_of(const kind *of) { return (of->what & STRIDED) != 0 ? 2 : 1; }

static void put_row(const kind *of, memory *at, size_t row, uint64_t *state) {
    size_t position, outer = row / at->inner, inner = row % at->inner;
    double reach = (of->what & FAR_APART) != 0 && row % 3 == 0 ? 200.0 : (of->what & FROM_LOGITS) != 0 ? 8.0 : 1.0;
    for (position = 0; position < at->axis; ++position) {
        size_t element = (outer * at->axis + position) * at->inner + inner;
        double value = random_unit(state) * reach;
        if (row % 8 == 5 && position % 2053 == 9) {
            value = -(double)INFINITY;
        }
        if (row % 8 == 6 && position == at->axis - 1) {
            value = (double)NAN;
        }
        reference_put(of->first, at->first.payload, element * step_of(of), value);
        at->mask.payload[element] = random_unit(state) < 0.875 && row % 16 != 4 ? (unsigned char)(1 << element % 8) : 0;
    }
}

/* Of a row's logsumexp and maximum. */
static wr_dtype sum_type(const kind *of) { return of->first == WR_F64 ? WR_F64 : WR_F32; }

static memory memory_new(const kind *of, size_t outer, size_t axis, size_t inner) {
    memory made;
    size_t row, element, sum_size = reference_size(sum_type(of)), off = (of->what & ON_BOUNDARIES) != 0 ? 0 : 1;
    uint64_t state = 11;
    made.outer = outer;
    made.axis = axis;
    made.inner = inner;
    made.rows = outer * inner;
    if (made.rows == 0) {
        give_up("a job without rows");
    }
    made.elements = made.rows * axis;
    made.first = image_new(made.elements * step_of(of) * reference_size(of->first), off * reference_size(of->first));
    made.second = image_new(made.elements * reference_size(of->second), off * reference_size(of->second));
    made.third = image_new(made.elements * reference_size(of->third), 0);
    made.mask = image_new(made.elements, off);
    made.lengths = image_new(made.rows * sizeof(int64_t), 8);
    made.offsets = image_new((made.rows + 1) * sizeof(int64_t), 8);
    made.sums = image_new(made.rows * sum_size, sum_size);
    made.maxima = image_new(made.rows * sum_size, 0);
    memset(made.first.payload, 0, made.elements * step_of(of) * reference_size(of->first));
    for (row = 0; row < made.rows; ++row) {
        put_row(of, &made, row, &state);
        integers(&made.lengths)[row] = (int64_t)(random_unit(&state) * (double)(axis + 1));
        reference_put(sum_type(of), made.sums.payload, row, row % 8 == 7 ? -(double)INFINITY : 9.0);
    }
    for (element = 0; element < made.elements; ++element) {
        double gradient = 2.0 * random_unit(&state) - 1.0;
        int of_none = (of->what & MASKED) != 0 && made.mask.payload[element] == 0 && element % 3 == 0;
        reference_put(of->second, made.second.payload, element, of_none ? (double)NAN : gradient);
        reference_put(of->third, made.third.payload, element, random_unit(&state));
    }
    for (row = 0; row <= made.rows; ++row) { /* rows of every length up to twice the axis */
        integers(&made.offsets)[row] = (int64_t)(made.elements * row * row / made.rows / made.rows);
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
    image_free(&of->maxima);
}

static void name(char (*label)[128], const char *what, const kind *of, const memory *at) {
    snprintf(*label, sizeof *label, "%s [%zu][%zu][%zu] %s, %s, %s, kind %d", what, at->outer, at->axis, at->inner,
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
        made.outer_stride = (ptrdiff_t)(2 * at->axis * at->inner);
        made.axis_stride = (ptrdiff_t)(2 * at->inner);
        made.inner_stride = at->inner == 1 ? 1 : 2;
    }
    return made;
}

void check_softmax_of_kind(const kind *of, size_t outer, size_t axis, size_t inner) {
    memory made = memory_new(of, outer, axis, inner);
    selection chosen = selection_of(of, &made);
    wr_softmax_args args = softmax_args(of->first, outer, chosen.axis, inner);
    image *output = (of->what & IN_PLACE) != 0 ? &made.first : &made.second;
    softmax_images images = {&made.first, &made.mask, &made.lengths, &made.offsets, output, NULL, NULL};
    char label[128];
    args.output_dtype = of->second;
    args.log = (of->what & LOG) != 0;
    args.empty_row = axis % 3 == 0 ? WR_EMPTY_ROW_ZERO : WR_EMPTY_ROW_NAN;
    args.input = made.first.payload;
    args.output = output->payload;
    args.mask = chosen.mask;
    args.lengths = chosen.lengths;
    args.offsets = chosen.offsets;
    args.causal = (of->what & CAUSAL) != 0;
    args.causal_first = chosen.causal_first;
    args.outer_stride = chosen.outer_stride;
    args.axis_stride = chosen.axis_stride;
    args.inner_stride = chosen.inner_stride;
    SAY_STRIDES(&args);
    args.scale = chosen.scale;
    if ((of->what & VALUES) != 0) {
        args.logsumexp = made.sums.payload;
        args.maximum = made.maxima.payload;
        images.logsumexp = &made.sums;
        images.maximum = &made.maxima;
    }
    name(&label, "softmax", of, &made);
    run_softmax_everywhere(&args, &images, label);
    memory_free(&made);
}

void check_gradient_of_kind(const kind *of, size_t outer, size_t axis, size_t inner) {
    memory made = memory_new(of, outer, axis, inner);
    selection chosen = selection_of(of, &made);
    wr_softmax_backward_args args = backward_args(of->first, outer, chosen.axis, inner);
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
    say_strides_of_both(&args);
    args.scale = chosen.scale;
    args.output_gradient_dtype = of->second;
    args.input_gradient_dtype = of->third;
    args.log = (of->what & LOG) != 0;
    args.empty_row = axis % 3 == 0 ? WR_EMPTY_ROW_ZERO : WR_EMPTY_ROW_NAN;
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
