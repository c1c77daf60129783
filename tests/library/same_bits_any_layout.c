/*
 * A row gives the same bits alone and in any batch, as a row, as a column, along a middle axis, strided, backwards,
 * in place.
 */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/layouts.h"
#include "harness/random_numbers.h"
#include "reference/reference.h"

#include <string.h>

static const size_t lengths[] = {1,   2,   3,   7,   8,    17,   32,   33,   63,   100,
                                 128, 129, 257, 512, 1000, 1024, 1025, 2047, 3100, 9001};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

/* Rows of a batch: enough for several warps or blocks where rows are short. */
static size_t rows_for(size_t axis) { return axis <= 64 ? 260 : axis <= 1100 ? 36 : 12; }

/* Softmax that this program asks for, besides the shape. */
typedef struct variant {
    wr_dtype dtype, output_dtype;
    int log;
    double scale;
} variant;

static wr_dtype output_of(const variant *of) { return (int)of->output_dtype == 0 ? of->dtype : of->output_dtype; }

static size_t sum_size(const variant *of) { return of->dtype == WR_F64 ? 8 : 4; }

static wr_softmax_args args_of(const variant *of, size_t outer, size_t axis, size_t inner) {
    wr_softmax_args args = softmax_args(of->dtype, outer, axis, inner);
    args.output_dtype = of->output_dtype;
    args.log = of->log;
    args.scale = of->scale;
    return args;
}

static image new_array(wr_dtype dtype, size_t count) { return image_new(count * reference_size(dtype), 0); }

/* Each row by a call of its own on the host, its outputs and its logsumexp put at their place in the images. */
static void softmax_rows_alone(const variant *of, const image *rows, size_t count, size_t axis, image *outputs,
                               image *sums) {
    size_t input_bytes = axis * reference_size(of->dtype), output_bytes = axis * reference_size(output_of(of));
    size_t row;
    for (row = 0; row < count; ++row) {
        wr_softmax_args args = args_of(of, 1, axis, 1);
        wr_status status;
        args.input = rows->payload + row * input_bytes;
        args.output = outputs->payload + row * output_bytes;
        args.logsumexp = sums->payload + row * sum_size(of);
        status = wr_softmax_ex(&args, wr_host_stream());
        CHECK(status == WR_SUCCESS, "a row alone: %s", wr_status_name(status));
    }
}

static void compare_rows(const variant *of, const layout *as, size_t axis, const image *outputs, const image *sums,
                         const image *result, const image *result_sums, const char *how) {
    size_t count = as->outer * as->inner, output_bytes = axis * reference_size(output_of(of));
    image row_image = image_new(output_bytes, 0);
    size_t row;
    for (row = 0; row < count; ++row) {
        gather_row(as, output_of(of), result->payload, axis, row, row_image.payload);
        CHECK(memcmp(row_image.payload, outputs->payload + row * output_bytes, output_bytes) == 0,
              "%s %s of %s to %s as %s, row %zu of %zu, length %zu", how, of->log ? "log-softmax" : "softmax",
              dtype_name(of->dtype), dtype_name(output_of(of)), as->name, row, count, axis);
    }
    CHECK(result_sums == NULL || memcmp(sums->payload, result_sums->payload, count * sum_size(of)) == 0,
          "logsumexp of %s as %s, length %zu", dtype_name(of->dtype), as->name, axis);
    image_free(&row_image);
}

static void check_softmax_layout(const variant *of, const layout *as, const image *rows, size_t axis,
                                 const image *outputs, const image *sums) {
    size_t count = as->outer * as->inner;
    image result = new_array(output_of(of), count * axis);
    image result_sums = image_new(count * sum_size(of), 0);
    wr_softmax_args args = args_of(of, as->outer, axis, as->inner);
    image input = lay_out(as, of->dtype, rows->payload, axis, axis % 3, &args.input);
    args.outer_stride = as->outer_stride;
    args.axis_stride = as->axis_stride;
    args.inner_stride = as->inner_stride;
    SAY_STRIDES(&args);
    args.output = result.payload;
    args.logsumexp = result_sums.payload;
    softmax_everywhere(&args, &input, &result, &result_sums, as->name);
    compare_rows(of, as, axis, outputs, sums, &result, &result_sums, "batched");
    image_free(&input);
    image_free(&result);
    image_free(&result_sums);
}

static void check_softmax_in_place(const variant *of, const layout *as, const image *rows, size_t axis,
                                   const image *outputs) {
    wr_softmax_args args = args_of(of, as->outer, axis, as->inner);
    image array = lay_out(as, of->dtype, rows->payload, axis, axis % 3, &args.input);
    args.output = array.payload;
    softmax_everywhere(&args, &array, &array, NULL, as->name);
    compare_rows(of, as, axis, outputs, NULL, &array, NULL, "in place");
    image_free(&array);
}

static void check_softmax_short_call(const variant *of, const layout *as, const image *rows, size_t axis,
                                     const image *outputs) {
    size_t i;
    for (i = 0; i < place_count(); ++i) {
        image result = new_array(of->dtype, rows->payload_bytes / reference_size(of->dtype));
        wr_softmax_args args = args_of(of, as->outer, axis, as->inner);
        image input = lay_out(as, of->dtype, rows->payload, axis, 0, &args.input);
        wr_status status;
        args.output = result.payload;
        status = softmax_short_at(place_at(i), &args, &input, &result);
        CHECK(status == WR_SUCCESS, "%s", wr_status_name(status));
        compare_rows(of, as, axis, outputs, NULL, &result, NULL, "short call,");
        image_free(&input);
        image_free(&result);
    }
}

static void check_softmax(const variant *of, size_t axis) {
    static const data_kind kinds[] = {DATA_UNIFORM, DATA_INTEGERS, DATA_WIDE};
    size_t count = rows_for(axis);
    image rows = new_array(of->dtype, count * axis);
    image outputs = new_array(output_of(of), count * axis);
    image sums = image_new(count * sum_size(of), 0);
    int which;
    fill_random(of->dtype, kinds[axis % 3], axis, rows.payload, count * axis);
    softmax_rows_alone(of, &rows, count, axis, &outputs, &sums);
    for (which = 0; which < LAYOUTS; ++which) {
        layout as = layout_of(which, count, axis);
        check_softmax_layout(of, &as, &rows, axis, &outputs, &sums);
        if (layout_is_contiguous(&as) && reference_size(output_of(of)) == reference_size(of->dtype)) {
            check_softmax_in_place(of, &as, &rows, axis, &outputs);
        }
        if (layout_is_contiguous(&as) && output_of(of) == of->dtype && of->scale == 0.0) {
            check_softmax_short_call(of, &as, &rows, axis, &outputs);
        }
    }
    image_free(&rows);
    image_free(&outputs);
    image_free(&sums);
}

static void check_reduce_layouts(wr_op op, wr_dtype dtype, size_t axis) {
    size_t count = rows_for(axis), size = reference_size(dtype);
    image rows = new_array(dtype, count * axis);
    size_t row;
    int which;
    fill_random(dtype, DATA_WIDE, axis, rows.payload, count * axis);
    for (which = 0; which < LAYOUTS; ++which) {
        layout as = layout_of(which, count, axis);
        wr_reduce_args args = reduce_args(op, dtype, as.outer, axis, as.inner);
        image input = lay_out(&as, dtype, rows.payload, axis, axis % 3, &args.input);
        args.outer_stride = as.outer_stride;
        args.axis_stride = as.axis_stride;
        args.inner_stride = as.inner_stride;
        SAY_STRIDES(&args);
        /* the reference takes each row by itself: equal to it means equal to the row alone */
        check_reduce(&args, &input, 0, as.name);
        image_free(&input);
    }
    for (row = 0; row < count; row += 11) {
        wr_reduce_args args = reduce_args(op, dtype, 1, axis, 1);
        args.input = rows.payload + row * axis * size;
        check_reduce(&args, &rows, 0, "a row alone");
    }
    image_free(&rows);
}

/* Rows that share elements: a window that moves by one. */
static void check_overlapping_rows(wr_dtype dtype, size_t axis) {
    enum { WINDOWS = 40 };
    image input = new_array(dtype, axis + WINDOWS);
    wr_reduce_args args = reduce_args(WR_SUM, dtype, WINDOWS, axis, 1);
    fill_random(dtype, DATA_WIDE, axis, input.payload, axis + WINDOWS);
    args.input = input.payload;
    args.outer_stride = 1;
    SAY_STRIDES(&args);
    check_reduce(&args, &input, 0, "windows that move by one");
    image_free(&input);
}

/* Rows of one element may be reduced where they are. */
static void check_in_place(wr_dtype dtype, wr_dtype output_dtype) {
    enum { COUNT = 777 };
    image input = new_array(dtype, COUNT);
    wr_reduce_args args = reduce_args(WR_SUM, dtype, COUNT, 1, 1);
    image expected;
    size_t i;
    fill_random(dtype, DATA_WIDE, 5, input.payload, COUNT);
    expected = image_copy(&input);
    args.output_dtype = output_dtype;
    args.input = input.payload;
    args.output = expected.payload;
    reference_reduce(&args);
    for (i = 0; i < place_count(); ++i) {
        image array = image_copy(&input);
        wr_status status;
        args.input = array.payload;
        args.output = array.payload;
        status = reduce_at(place_at(i), &args, &array, &array);
        CHECK(status == WR_SUCCESS, "in place: %s", wr_status_name(status));
        CHECK(image_equal(&expected, &array), "in place, %s on %s", dtype_name(dtype), place_at(i)->name);
        image_free(&array);
    }
    image_free(&input);
    image_free(&expected);
}

static void check_all_softmax(void) {
    static const variant variants[] = {
        {WR_F32, (wr_dtype)0, 0, 0.0},  {WR_F32, (wr_dtype)0, 1, 0.0}, {WR_F64, (wr_dtype)0, 0, 0.0},
        {WR_F64, (wr_dtype)0, 1, 0.0},  {WR_F16, (wr_dtype)0, 0, 0.0}, {WR_F16, (wr_dtype)0, 1, 0.0},
        {WR_BF16, (wr_dtype)0, 0, 0.0}, {WR_BF16, WR_F16, 1, -1.5},    {WR_BF16, WR_F32, 0, 0.125},
        {WR_F32, WR_BF16, 0, 3.0},      {WR_F32, WR_F8_E4M3, 0, 0.0},  {WR_F64, WR_F32, 0, 0.7},
        {WR_F16, WR_F8_E5M2, 1, 0.0},   {WR_F32, WR_F64, 1, 0.0},
    };
    size_t i, n;
    for (i = 0; i < sizeof variants / sizeof *variants; ++i) {
        for (n = 0; n < LENGTHS; ++n) {
            if (places_take(i + n)) {
                check_softmax(&variants[i], lengths[n]);
            }
        }
    }
}

static void check_length(wr_dtype dtype, size_t axis, size_t number) {
    if (places_take(number)) {
        check_reduce_layouts(WR_SUM, dtype, axis);
        check_overlapping_rows(dtype, axis);
    }
    if (places_take(number + 1) && !reference_is_field(dtype)) {
        check_reduce_layouts(WR_MIN, dtype, axis);
    }
    if (places_take(number + 2) && !reference_is_field(dtype)) {
        check_reduce_layouts(WR_ARGMIN, dtype, axis);
    }
}

int main(int argc, char **argv) {
    static const wr_dtype types[] = {WR_F32, WR_F64, WR_F16,       WR_BF16,       WR_F8_E5M2,    WR_I8,
                                     WR_I32, WR_I64, WR_KOALABEAR, WR_GOLDILOCKS, WR_BABYBEAR_X4};
    size_t i, n;
    places_open(argc, argv);
    for (i = 0; i < sizeof types / sizeof *types; ++i) {
        for (n = 0; n < LENGTHS; ++n) {
            check_length(types[i], lengths[n], i + n);
        }
        check_in_place(types[i], types[i]);
    }
    check_in_place(WR_F16, WR_BF16);
    check_all_softmax();
    places_close();
    return check_report("same_bits_any_layout");
}
