/*
 * Given strides mean what they say: a stride of zero reads one element again and again, in reductions, softmax and
 * gradients, and not a byte beside it. The bits are those of the same values written out.
 */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/random_numbers.h"
#include "harness/softmax_jobs.h"
#include "reference/reference.h"

#include <stdio.h>
#include <string.h>

/* Which of the three directions are broadcast, one bit each. */
enum { OUTER = 1, AXIS = 2, INNER = 4, ALL = 8 };

typedef struct shape {
    size_t outer, axis, inner;
} shape;

static const shape shapes[] = {{4, 7, 1},   {3, 33, 1},   {2, 5, 6},    {5, 3, 32},   {1, 4000, 1},
                               {40, 64, 1}, {7, 1, 9},    {1, 300, 50}, {3, 1500, 1}, {300, 8, 1},
                               {2, 20, 64}, {1, 1, 2000}, {2, 9001, 1}, {1, 65, 512}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* An array of which nothing but what its strides reach exists, and the same values written out. */
typedef struct broadcast {
    shape of;
    ptrdiff_t outer_stride, axis_stride, inner_stride;
    image stored, written_out;
} broadcast;

static broadcast new_broadcast(wr_dtype dtype, shape of, int which, uint64_t seed) {
    broadcast made;
    size_t inner = which & INNER ? 1 : of.inner, axis = which & AXIS ? 1 : of.axis,
           outer = which & OUTER ? 1 : of.outer;
    size_t size = reference_size(dtype), o, a, i, at = 0;
    made.of = of;
    made.inner_stride = which & INNER ? 0 : 1;
    made.axis_stride = which & AXIS ? 0 : (ptrdiff_t)inner;
    made.outer_stride = which & OUTER ? 0 : (ptrdiff_t)(axis * inner);
    made.stored = image_new(outer * axis * inner * size, seed % 3 * size);
    made.written_out = image_new(of.outer * of.axis * of.inner * size, 0);
    fill_random(dtype, DATA_UNIFORM, seed, made.stored.payload, outer * axis * inner);
    for (o = 0; o < of.outer; ++o) {
        for (a = 0; a < of.axis; ++a) {
            for (i = 0; i < of.inner; ++i, ++at) {
                size_t from =
                    o * (size_t)made.outer_stride + a * (size_t)made.axis_stride + i * (size_t)made.inner_stride;
                reference_copy_element(dtype, made.written_out.payload, at, made.stored.payload, from);
            }
        }
    }
    return made;
}

static void free_broadcast(broadcast *used) {
    image_free(&used->stored);
    image_free(&used->written_out);
}

#define GIVE_STRIDES(args, from)                                                                                       \
    ((args)->strides_given = 1, (args)->outer_stride = (from)->outer_stride,                                           \
     (args)->axis_stride = (from)->axis_stride, (args)->inner_stride = (from)->inner_stride)

static void check_reduction(wr_op op, wr_dtype dtype, size_t s, int which) {
    broadcast from = new_broadcast(dtype, shapes[s], which, s);
    wr_reduce_args args = reduce_args(op, dtype, from.of.outer, from.of.axis, from.of.inner);
    char label[80];
    snprintf(label, sizeof label, "broadcast %d of shape %zu", which, s);
    args.input = from.stored.payload;
    GIVE_STRIDES(&args, &from);
    check_reduce(&args, &from.stored, 0, label);
    free_broadcast(&from);
}

static void check_reductions(wr_op op, wr_dtype dtype) {
    size_t i;
    for (i = 0; i < SHAPES * ALL; ++i) {
        if (places_take(i + (size_t)dtype)) {
            check_reduction(op, dtype, i / ALL, (int)(i % ALL));
        }
    }
}

static void check_softmax_of(wr_dtype dtype, int log, size_t s, int which) {
    broadcast from = new_broadcast(dtype, shapes[s], which, s);
    wr_softmax_args args = softmax_args(dtype, from.of.outer, from.of.axis, from.of.inner);
    image expected = image_new(from.written_out.payload_bytes, 0),
          output = image_new(from.written_out.payload_bytes, 0);
    args.log = log;
    args.input = from.written_out.payload;
    args.output = expected.payload;
    CHECK(wr_softmax_ex(&args, wr_host_stream()) == WR_SUCCESS, "written out");
    args.input = from.stored.payload;
    args.output = output.payload;
    GIVE_STRIDES(&args, &from);
    softmax_everywhere(&args, &from.stored, &output, NULL, "broadcast");
    CHECK(image_equal(&expected, &output), "softmax of %s, broadcast %d of shape %zu, log %d", dtype_name(dtype), which,
          s, log);
    image_free(&expected);
    image_free(&output);
    free_broadcast(&from);
}

static void check_softmax(wr_dtype dtype, int log) {
    size_t i;
    for (i = 0; i < SHAPES * ALL; ++i) {
        if (places_take(i + (size_t)dtype + (size_t)log)) {
            check_softmax_of(dtype, log, i / ALL, (int)(i % ALL));
        }
    }
}

static void check_gradient(wr_dtype dtype, shape of, int of_saved, int of_gradient, int log) {
    broadcast saved = new_broadcast(dtype, of, of_saved, 1), gradient = new_broadcast(dtype, of, of_gradient, 2);
    wr_softmax_backward_args args = backward_args(dtype, of.outer, of.axis, of.inner);
    image expected = image_new(saved.written_out.payload_bytes, 0),
          result = image_new(saved.written_out.payload_bytes, 0);
    backward_images images;
    args.log = log;
    args.output = saved.written_out.payload;
    args.output_gradient = gradient.written_out.payload;
    args.input_gradient = expected.payload;
    CHECK(wr_softmax_backward_ex(&args, wr_host_stream()) == WR_SUCCESS, "written out");
    memset(&images, 0, sizeof images);
    images.saved = &saved.stored;
    images.output_gradient = &gradient.stored;
    images.input_gradient = &result;
    args.output = saved.stored.payload;
    args.output_gradient = gradient.stored.payload;
    args.input_gradient = result.payload;
    GIVE_STRIDES(&args, &saved);
    args.gradient_outer_stride = gradient.outer_stride;
    args.gradient_axis_stride = gradient.axis_stride;
    args.gradient_inner_stride = gradient.inner_stride;
    run_backward_everywhere(&args, &images, "broadcast");
    CHECK(image_equal(&expected, &result), "gradient of %s [%zu][%zu][%zu], broadcasts %d and %d, log %d",
          dtype_name(dtype), of.outer, of.axis, of.inner, of_saved, of_gradient, log);
    image_free(&expected);
    image_free(&result);
    free_broadcast(&saved);
    free_broadcast(&gradient);
}

static void check_gradients(wr_dtype dtype) {
    size_t s;
    int which;
    for (s = 0; s < SHAPES; ++s) {
        for (which = 0; which < ALL; ++which) {
            if (places_take(s * ALL + (size_t)which)) {
                check_gradient(dtype, shapes[s], which, ALL - 1, which & 1);
                check_gradient(dtype, shapes[s], (which * 3 + (int)s) % ALL, which, (which + 1) & 1);
            }
        }
    }
}

int main(int argc, char **argv) {
    static const wr_dtype floats[] = {WR_F32, WR_BF16, WR_F64, WR_F8_E4M3};
    size_t i;
    places_open(argc, argv);
    check_reductions(WR_SUM, WR_F32);
    check_reductions(WR_SUM, WR_F16);
    check_reductions(WR_SUM, WR_U8);
    check_reductions(WR_SUM, WR_BABYBEAR_X4);
    check_reductions(WR_NORM_L2, WR_F64);
    check_reductions(WR_PRODUCT, WR_GOLDILOCKS);
    check_reductions(WR_ARGMAX, WR_I32);
    check_reductions(WR_COUNT_NONZERO, WR_I16);
    for (i = 0; i < sizeof floats / sizeof *floats; ++i) {
        check_softmax(floats[i], 0);
        check_softmax(floats[i], 1);
        check_gradients(floats[i]);
    }
    return check_report("a_stride_of_zero_is_a_broadcast");
}
