/*
 * However many rows or columns there are, and however short, the workspace that a query asks for is a quarter of the
 * input at most, or some megabytes where that is little.
 */
#include "harness/harness.h"
#include "harness/softmax_jobs.h"
#include "reference/reference.h"

enum { LITTLE = 4 << 20 };

typedef struct shape {
    size_t outer, axis, inner;
} shape;

static void check_small(wr_status status, size_t bytes, wr_dtype dtype, shape of, const char *what) {
    size_t input = of.outer * of.axis * of.inner * reference_size(dtype);
    CHECK(status == WR_SUCCESS, "%s: %s", what, wr_status_name(status));
    CHECK(bytes <= input / 4 + LITTLE, "%s of %s, [%zu][%zu][%zu]: %zu bytes beside %zu", what, dtype_name(dtype),
          of.outer, of.axis, of.inner, bytes, input);
}

static void check_reductions(wr_dtype dtype, shape of) {
    static const wr_op ops[] = {WR_SUM, WR_MEAN, WR_MAX, WR_ARGMIN, WR_NORM_L2, WR_LOGSUMEXP};
    size_t i, bytes = 0;
    for (i = 0; i < sizeof ops / sizeof *ops; ++i) {
        wr_reduce_args args = reduce_args(ops[i], dtype, of.outer, of.axis, of.inner);
        wr_status status = wr_reduce_workspace_size(&args, &bytes);
        check_small(status, bytes, dtype, of, op_name(ops[i]));
    }
}

static void check_softmax(wr_dtype dtype, shape of) {
    static const uint8_t mask;
    static double sums;
    size_t bytes = 0, variant;
    for (variant = 0; variant < 8; ++variant) {
        wr_softmax_args args = softmax_args(dtype, of.outer, of.axis, of.inner);
        wr_status status;
        args.log = variant % 2 == 1;
        args.mask = variant / 2 % 2 == 1 ? &mask : NULL;
        args.maximum = variant / 4 == 1 ? &sums : NULL;
        args.output_dtype = variant == 5 ? WR_F32 : dtype;
        status = wr_softmax_workspace_size(&args, &bytes);
        check_small(status, bytes, dtype, of, "softmax");
    }
}

static void check_gradient(wr_dtype dtype, shape of) {
    static const uint8_t mask;
    size_t bytes = 0, variant;
    for (variant = 0; variant < 4; ++variant) {
        wr_softmax_backward_args args = backward_args(dtype, of.outer, of.axis, of.inner);
        wr_status status;
        args.output = &mask;
        args.log = variant % 2 == 1;
        args.mask = variant / 2 == 1 ? &mask : NULL;
        status = wr_softmax_backward_workspace_size(&args, &bytes);
        check_small(status, bytes, dtype, of, "the gradient");
    }
}

int main(void) {
    static const wr_dtype dtypes[] = {WR_F32, WR_F64, WR_F16, WR_BF16, WR_F8_E4M3};
    static const size_t axes[] = {0,    1,    2,     3,     8,      21,     32,     33,      128,
                                  255,  256,  257,   384,   511,    768,    769,    1023,    1024,
                                  1025, 4096, 32768, 33000, 131072, 262144, 500000, 16777216};
    static const size_t many = (size_t)1 << 30;
    size_t i, k;
    for (i = 0; i < sizeof axes / sizeof *axes; ++i) {
        size_t rows = axes[i] == 0 ? 1000 : many / axes[i];
        const shape shapes[] = {{rows, axes[i], 1},
                                {1, axes[i], rows},
                                {rows / 2 + 1, axes[i], 2},
                                {rows / 7 + 1, axes[i], 7},
                                {rows / 64 + 1, axes[i], 64},
                                {3, axes[i], rows / 3 + 1},
                                {rows / 1000 + 1, axes[i], 1000}};
        for (k = 0; k < sizeof shapes / sizeof *shapes * 5; ++k) {
            check_reductions(dtypes[k % 5], shapes[k / 5]);
            check_softmax(dtypes[k % 5], shapes[k / 5]);
            check_gradient(dtypes[k % 5], shapes[k / 5]);
        }
    }
    return check_report("workspace_stays_small");
}
