/* Softmax and its gradient read and write their arrays and nothing beside them. */
#include "harness/guarded_calls.h"
#include "harness/harness.h"
#include "harness/random_numbers.h"
#include "harness/softmax_jobs.h"
#include "reference/reference.h"

#include <string.h>

enum {
    WITH_LOG = 1,
    WITH_MASK = 2,
    WITH_LENGTHS = 4,
    WITH_CAUSAL = 8,
    WITH_OFFSETS = 16,
    WITH_SUMS = 32,
    WITH_STRIDES = 64,
    WITH_LOGITS = 128,
    WITH_OTHER_TYPE = 256
};
static const int softmax_variants[] = {0,
                                       WITH_LOG,
                                       WITH_SUMS,
                                       WITH_LOG | WITH_SUMS | WITH_OTHER_TYPE,
                                       WITH_MASK,
                                       WITH_LENGTHS,
                                       WITH_CAUSAL | WITH_LOG,
                                       WITH_MASK | WITH_LENGTHS | WITH_SUMS,
                                       WITH_STRIDES,
                                       WITH_STRIDES | WITH_MASK | WITH_OTHER_TYPE,
                                       WITH_OFFSETS,
                                       WITH_OFFSETS | WITH_MASK | WITH_SUMS,
                                       WITH_LOGITS,
                                       WITH_LOGITS | WITH_MASK | WITH_LOG,
                                       WITH_LOGITS | WITH_OFFSETS | WITH_OTHER_TYPE,
                                       WITH_LOGITS | WITH_LENGTHS | WITH_STRIDES};
enum { SOFTMAX_VARIANTS = sizeof softmax_variants / sizeof *softmax_variants };

/* The rows' lengths, mask and offsets that the variants point into. */
static int64_t row_lengths[GUARDED_ELEMENTS];
static unsigned char mask_bytes[GUARDED_ELEMENTS];
static int64_t row_offsets[GUARDED_ELEMENTS + 1];

static void make_selections(void) {
    uint64_t state = 5;
    size_t i;
    for (i = 0; i < GUARDED_ELEMENTS; ++i) {
        row_lengths[i] = (int64_t)random_below(&state, 40) - 2;
        mask_bytes[i] = (unsigned char)random_below(&state, 3);
    }
}

typedef struct softmax_job {
    wr_softmax_args args;
    wr_softmax_backward_args backward;
    size_t origin_bytes, gradient_origin_bytes;
} softmax_job;

enum { SAVED, RESULT, MASK_ARRAY, LENGTHS_ARRAY, OFFSETS_ARRAY, SUMS, MAXIMA, GRADIENT, SOFTMAX_ARRAYS };

static wr_status run_softmax(const void *call, unsigned char *const *arrays) {
    const softmax_job *of = call;
    wr_softmax_args args = of->args;
    args.input = arrays[SAVED] + of->origin_bytes;
    args.output = arrays[RESULT];
    args.mask = args.mask == NULL ? NULL : arrays[MASK_ARRAY];
    args.lengths = args.lengths == NULL ? NULL : (const int64_t *)(const void *)arrays[LENGTHS_ARRAY];
    args.offsets = args.offsets == NULL ? NULL : (const int64_t *)(const void *)arrays[OFFSETS_ARRAY];
    args.logsumexp = args.logsumexp == NULL ? NULL : arrays[SUMS];
    args.maximum = args.maximum == NULL ? NULL : arrays[MAXIMA];
    return wr_softmax_ex(&args, wr_host_stream());
}

static wr_status run_backward(const void *call, unsigned char *const *arrays) {
    const softmax_job *of = call;
    wr_softmax_backward_args args = of->backward;
    const void *saved = arrays[SAVED] + of->origin_bytes;
    args.output = args.output == NULL ? NULL : saved;
    args.input = args.input == NULL ? NULL : saved;
    args.logsumexp = args.logsumexp == NULL ? NULL : arrays[SUMS];
    args.output_gradient = arrays[GRADIENT] + of->gradient_origin_bytes;
    args.input_gradient = arrays[RESULT];
    args.mask = args.mask == NULL ? NULL : arrays[MASK_ARRAY];
    args.lengths = args.lengths == NULL ? NULL : (const int64_t *)(const void *)arrays[LENGTHS_ARRAY];
    args.offsets = args.offsets == NULL ? NULL : (const int64_t *)(const void *)arrays[OFFSETS_ARRAY];
    return wr_softmax_backward_ex(&args, wr_host_stream());
}

static wr_dtype other_type(wr_dtype dtype) {
    return dtype == WR_F32 ? WR_BF16 : dtype == WR_F64 ? WR_F32 : dtype == WR_F16 ? WR_F8_E4M3 : WR_F32;
}

/* Ragged rows: as many as there are, of what the shape has in all. */
static void cut_into_rows(size_t rows, size_t count) {
    size_t i;
    for (i = 0; i <= rows; ++i) {
        row_offsets[i] = (int64_t)(count * i / rows);
    }
}

/* The arrays that both calls have; zero bytes for what a variant has not. */
static void selection_arrays(guarded_array *arrays, int variant, size_t rows, size_t count) {
    if (variant & WITH_MASK) {
        arrays[MASK_ARRAY].content = mask_bytes;
        arrays[MASK_ARRAY].bytes = count;
    }
    if (variant & WITH_LENGTHS) {
        arrays[LENGTHS_ARRAY].content = row_lengths;
        arrays[LENGTHS_ARRAY].bytes = rows * sizeof *row_lengths;
    }
    if (variant & WITH_OFFSETS) {
        cut_into_rows(rows, count);
        arrays[OFFSETS_ARRAY].content = row_offsets;
        arrays[OFFSETS_ARRAY].bytes = (rows + 1) * sizeof *row_offsets;
    }
}

static void check_softmax(wr_dtype dtype, shape size, int variant) {
    const size_t count = elements_of(size), rows = size.outer * size.inner, state = dtype == WR_F64 ? 8 : 4;
    const strides by = guarded_strides(size, variant & WITH_STRIDES ? 1 + (int)(size.axis % 3) : 0);
    guarded_array arrays[SOFTMAX_ARRAYS];
    softmax_job of;
    char label[GUARDED_LABEL_BYTES];
    size_t origin;
    memset(&of, 0, sizeof of);
    memset(arrays, 0, sizeof arrays);
    of.args = softmax_args(dtype, size.outer, size.axis, size.inner);
    arrays[SAVED].bytes = extent_of(size, by, &origin) * reference_size(dtype);
    arrays[SAVED].content = guarded_elements(dtype);
    of.origin_bytes = origin * reference_size(dtype);
    if (variant & WITH_STRIDES) {
        of.args.outer_stride = by.outer;
        of.args.axis_stride = by.axis;
        of.args.inner_stride = by.inner;
        of.args.strides_given = 1;
    }
    if (variant & WITH_OFFSETS) {
        of.args.axis = count;
        of.args.offsets = row_offsets;
    }
    of.args.log = variant & WITH_LOG;
    of.args.output_dtype = variant & WITH_OTHER_TYPE ? other_type(dtype) : dtype;
    of.args.mask = variant & WITH_MASK ? mask_bytes : NULL;
    of.args.lengths = variant & WITH_LENGTHS ? row_lengths : NULL;
    of.args.causal = (variant & WITH_CAUSAL) != 0;
    of.args.logsumexp = variant & WITH_SUMS ? &of : NULL;
    of.args.maximum = variant & WITH_SUMS ? &of : NULL;
    arrays[RESULT].bytes = count * reference_size(of.args.output_dtype);
    arrays[SUMS].bytes = arrays[MAXIMA].bytes = variant & WITH_SUMS ? rows * state : 0;
    selection_arrays(arrays, variant, rows, count);
    describe_guarded(label, "softmax", "", dtype, size, variant);
    if (arrays[SAVED].bytes <= GUARDED_ELEMENTS * reference_size(dtype)) {
        check_guarded_call(run_softmax, &of, arrays, SOFTMAX_ARRAYS, label);
    }
}

static void set_backward_selection(wr_softmax_backward_args *args, int variant) {
    args->log = variant & WITH_LOG;
    args->mask = variant & WITH_MASK ? mask_bytes : NULL;
    args->lengths = variant & WITH_LENGTHS ? row_lengths : NULL;
    args->offsets = variant & WITH_OFFSETS ? row_offsets : NULL;
    args->causal = (variant & WITH_CAUSAL) != 0;
}

static void check_backward(wr_dtype dtype, shape size, int variant) {
    const size_t count = elements_of(size), rows = size.outer * size.inner, bytes = reference_size(dtype);
    const int is_strided = (variant & WITH_STRIDES) != 0;
    const strides by = guarded_strides(size, is_strided ? 1 + (int)(size.axis % 3) : 0);
    const strides gradient_by = guarded_strides(size, is_strided ? 1 + (int)((size.axis + 1) % 3) : 0);
    wr_dtype sums = softmax_state_dtype(dtype);
    guarded_array arrays[SOFTMAX_ARRAYS];
    softmax_job of;
    char label[GUARDED_LABEL_BYTES];
    size_t origin, gradient_origin;
    memset(&of, 0, sizeof of);
    memset(arrays, 0, sizeof arrays);
    of.backward = backward_args(dtype, size.outer, size.axis, size.inner);
    arrays[SAVED].bytes = extent_of(size, by, &origin) * bytes;
    arrays[GRADIENT].bytes = extent_of(size, gradient_by, &gradient_origin) * bytes;
    arrays[SAVED].content = arrays[GRADIENT].content = guarded_elements(dtype);
    of.origin_bytes = origin * bytes;
    of.gradient_origin_bytes = gradient_origin * bytes;
    if (is_strided) {
        of.backward.outer_stride = by.outer;
        of.backward.axis_stride = by.axis;
        of.backward.inner_stride = by.inner;
        of.backward.gradient_outer_stride = gradient_by.outer;
        of.backward.gradient_axis_stride = gradient_by.axis;
        of.backward.gradient_inner_stride = gradient_by.inner;
        of.backward.strides_given = 1;
    }
    set_backward_selection(&of.backward, variant);
    of.backward.axis = variant & WITH_OFFSETS ? count : size.axis;
    if (variant & WITH_LOGITS) {
        of.backward.input = of.backward.logsumexp = &of;
        arrays[SUMS].content = guarded_elements(sums);
        arrays[SUMS].bytes = rows * reference_size(sums);
    } else {
        of.backward.output = &of;
    }
    of.backward.input_gradient_dtype = variant & WITH_OTHER_TYPE ? other_type(dtype) : dtype;
    arrays[RESULT].bytes = count * reference_size(of.backward.input_gradient_dtype);
    selection_arrays(arrays, variant, rows, count);
    describe_guarded(label, "gradient", "", dtype, size, variant);
    if (arrays[SAVED].bytes <= GUARDED_ELEMENTS * bytes && arrays[GRADIENT].bytes <= GUARDED_ELEMENTS * bytes) {
        check_guarded_call(run_backward, &of, arrays, SOFTMAX_ARRAYS, label);
    }
}

static void check_all_softmaxes(void) {
    int dtype;
    size_t index, v;
    for (dtype = WR_F32; dtype <= WR_F8_E5M2; ++dtype) {
        for (index = 0; index < guarded_shapes(); ++index) {
            shape size = guarded_shape(index);
            for (v = 0; v < SOFTMAX_VARIANTS && elements_of(size) > 0; ++v) {
                int variant = softmax_variants[v];
                if ((variant & WITH_OFFSETS) && size.inner > 1) {
                    continue;
                }
                if (!(variant & WITH_LOGITS)) {
                    check_softmax((wr_dtype)dtype, size, variant);
                }
                if (!(variant & WITH_SUMS)) {
                    check_backward((wr_dtype)dtype, size, variant);
                }
            }
        }
    }
}

int main(int argc, char **argv) {
    places_open(argc, argv);
    guarded_calls_open();
    make_selections();
    check_all_softmaxes();
    guarded_calls_close();
    places_close();
    return check_report("softmax_touches_only_its_arrays");
}
