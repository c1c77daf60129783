/*
 * A float that takes a sum, mean, norm, product or dot product of integers gets what the exact result is, rounded once:
 * nothing wraps on the way, whatever the operator, the type and the layout.
 */
#include "harness/dot_jobs.h"
#include "harness/harness.h"
#include "harness/random_numbers.h"
#include "harness/segment_jobs.h"
#include "reference/reference.h"

#include <math.h>
#include <string.h>

#define TWO_63 (UINT64_C(1) << 63)

typedef struct known {
    wr_op op;
    wr_dtype dtype, output_dtype;
    size_t count;
    /* the elements again and again */
    uint64_t elements[3];
    double result;
} known;

static const known by_hand[] = {
    {WR_MEAN, WR_I64, WR_F64, 4, {UINT64_C(1) << 62, UINT64_C(1) << 62, UINT64_C(1) << 62}, 0x1p62},
    {WR_MEAN, WR_I64, WR_F64, 2, {TWO_63 - 1, 1, 0}, 0x1p62},
    {WR_MEAN, WR_I64, WR_BF16, 4, {UINT64_C(1) << 62, UINT64_C(1) << 62, TWO_63 + (UINT64_C(1) << 62)}, 0x1p61},
    {WR_NORM_L2, WR_I32, WR_F64, 4, {0x80000000, 0x80000000, 0x80000000}, 0x1p32},
    {WR_NORM_L2, WR_I32, WR_F64, 6, {0x7FFFFFFF, 0x7FFFFFFF, 0x7FFFFFFF}, 5260239166.121111},
    {WR_NORM_L2, WR_U32, WR_F64, 2, {0xFFFFFFFF, 0xFFFFFFFF, 0}, 6074000998.537886},
    {WR_NORM_L2, WR_I64, WR_F64, 4, {TWO_63, TWO_63, TWO_63}, 0x1p64},
    {WR_NORM_L1, WR_I64, WR_F64, 2, {TWO_63, TWO_63, 0}, 0x1p64},
    {WR_SUM, WR_U64, WR_F64, 2, {UINT64_MAX, 1, 0}, 0x1p64},
    {WR_SUM, WR_U64, WR_F32, 3, {UINT64_MAX, UINT64_MAX, UINT64_MAX}, 0x1.8p65},
    {WR_SUM, WR_I64, WR_F32, 2, {TWO_63, TWO_63, 0}, -0x1p64},
    {WR_SUM, WR_I64, WR_F32, 3, {UINT64_C(1) << 60, UINT64_C(1) << 36, 1}, 0x1.000002p60},
    {WR_SUM, WR_I64, WR_F32, 3, {(UINT64_C(1) << 62) + 1, UINT64_C(3) << 62, TWO_63 / 2}, 0x1p62},
    {WR_SUM_OF_SQUARES, WR_I64, WR_F64, 3, {TWO_63, TWO_63, 1}, 0x1p127},
    {WR_SUM_OF_SQUARES, WR_I64, WR_F64, 2, {3037000499, 1, 0}, 9223372030926249002.0},
    {WR_SUM_OF_SQUARES, WR_U32, WR_F32, 3, {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, 0x1.8p65},
    {WR_PRODUCT, WR_I64, WR_F64, 2, {UINT64_C(1) << 40, UINT64_C(1) << 40, 0}, 0x1p80},
    {WR_PRODUCT, WR_I64, WR_F64, 3, {UINT64_C(1) << 40, UINT64_C(0) - (UINT64_C(1) << 40), 7}, -0x1.cp82},
    {WR_PRODUCT, WR_U8, WR_F64, 300, {2, 2, 2}, 0x1p300},
    {WR_PRODUCT, WR_U64, WR_F64, 40, {TWO_63, TWO_63, TWO_63}, (double)INFINITY},
    {WR_PRODUCT, WR_U64, WR_F64, 41, {TWO_63, TWO_63, 0}, 0.0},
    {WR_PRODUCT, WR_I8, WR_F32, 3, {0x80, 0x80, 0x80}, -0x1p21},
    {WR_PRODUCT, WR_I64, WR_F64, 2, {UINT64_C(3), UINT64_C(3074457345618258603), 0}, 0x1.0p63},
};

static void check_known(const known *of, const place *where) {
    wr_reduce_args args = reduce_args(of->op, of->dtype, 1, of->count, 1);
    image input = image_new(of->count * reference_size(of->dtype), 0);
    image expected = image_new(reference_size(of->output_dtype), 0), output = image_copy(&expected);
    size_t i;
    for (i = 0; i < of->count; ++i) {
        reference_put_bits(of->dtype, input.payload, i, of->elements[i % 3]);
    }
    reference_put(of->output_dtype, expected.payload, 0, of->result);
    args.output_dtype = of->output_dtype;
    args.input = input.payload;
    args.output = output.payload;
    check_same_elements(reduce_at(where, &args, &input, &output), where, of->output_dtype, &expected, &output,
                        op_name(of->op));
    image_free(&input);
    image_free(&expected);
    image_free(&output);
}

/* ---- and the reference, on elements at the ends of their types' ranges and on any */

static const wr_op ops[] = {WR_SUM, WR_PRODUCT, WR_MEAN, WR_SUM_OF_SQUARES, WR_NORM_L1, WR_NORM_L2};
enum { OPS = sizeof ops / sizeof *ops };

static image elements(wr_dtype dtype, size_t count, int extreme, uint64_t seed) {
    image made = image_new(count * reference_size(dtype), seed % 3 * reference_size(dtype));
    uint64_t state = seed;
    size_t i, bits = 8 * reference_size(dtype);
    fill_random(dtype, DATA_UNIFORM, seed, made.payload, count);
    for (i = 0; extreme && i < count; ++i) {
        uint64_t end = reference_is_signed(dtype) ? UINT64_C(1) << (bits - 1) : 0;
        reference_put_bits(dtype, made.payload, i, end - random_next(&state) % 3 * (extreme == 2));
    }
    return made;
}

static int is_offered(wr_op op, wr_dtype output_dtype) {
    return op == WR_MEAN || op == WR_NORM_L2 || output_dtype == WR_F32 || output_dtype == WR_F64;
}

static void check_shape(wr_dtype dtype, size_t outer, size_t axis, size_t inner, int extreme) {
    static const wr_dtype outputs[] = {WR_F64, WR_F32, WR_BF16};
    image input = elements(dtype, outer * axis * inner, extreme, axis + inner), weights;
    size_t op, output;
    weights = elements(dtype, axis, extreme, axis + 5);
    for (output = 0; output < 3; ++output) {
        wr_reduce_args args;
        for (op = 0; op < OPS; ++op) {
            args = reduce_args(ops[op], dtype, outer, axis, inner);
            args.output_dtype = outputs[output];
            args.input = input.payload;
            if (is_offered(ops[op], outputs[output])) {
                check_reduce(&args, &input, 0, "integers into a float");
            }
        }
        args = reduce_args(WR_SUM, dtype, outer, axis, inner);
        args.output_dtype = outputs[output];
        args.weights_dtype = dtype;
        args.input = input.payload;
        args.weights = weights.payload;
        args.add_to_output = axis % 2 == 0;
        if (axis != 0 && is_offered(WR_SUM, outputs[output])) {
            check_weighted_reduce(&args, &input, &weights, 0, "integers with weights into a float");
        }
    }
    image_free(&input);
    image_free(&weights);
}

static void check_dot_of(wr_dtype dtype, size_t count) {
    image left = elements(dtype, count, 1, 3), right = elements(dtype, count, 2, 4);
    wr_dot_args args = dot_args(dtype, count);
    args.output_dtype = WR_F64;
    args.left = left.payload;
    args.right = right.payload;
    check_dot(&args, &left, &right, 0, "a dot product of integers into f64");
    image_free(&left);
    image_free(&right);
}

static void check_segments_of(wr_dtype dtype, wr_op op) {
    static const int64_t offsets[] = {0, 1, 1, 4, 40, 41, 3000, 3007, 20000};
    image input = elements(dtype, 20000, 2, 9), starts = image_new(sizeof offsets, 0);
    wr_reduce_segments_args args = segments_args(op, dtype, sizeof offsets / sizeof *offsets - 1);
    memcpy(starts.payload, offsets, sizeof offsets);
    args.output_dtype = WR_F64;
    args.input = input.payload;
    args.offsets = starts.payload;
    check_segments(&args, &input, &starts, 0, "segments of integers into f64");
    image_free(&input);
    image_free(&starts);
}

int main(int argc, char **argv) {
    static const size_t shapes[][3] = {{1, 0, 3},     {1, 1, 1},    {7, 2, 1}, {3, 33, 1},   {1, 4097, 1},
                                       {2, 40000, 1}, {1, 100, 70}, {3, 9, 5}, {1, 3000, 3}, {700, 12, 1}};
    int dtype;
    size_t i, p;
    places_open(argc, argv);
    for (p = 0; p < place_count(); ++p) {
        for (i = 0; i < sizeof by_hand / sizeof *by_hand; ++i) {
            check_known(&by_hand[i], place_at(p));
        }
    }
    for (dtype = WR_I8; dtype <= WR_U64; ++dtype) {
        for (i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
            check_shape((wr_dtype)dtype, shapes[i][0], shapes[i][1], shapes[i][2], (int)(i + (size_t)dtype) % 3);
        }
        check_dot_of((wr_dtype)dtype, 20000);
        for (i = 0; i < OPS; ++i) {
            check_segments_of((wr_dtype)dtype, ops[i]);
        }
    }
    places_close();
    return check_report("integers_into_floats_never_wrap");
}
