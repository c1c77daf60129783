/*
 * The bits are the same with a caller's workspace of exactly the size that the query says, with a larger one, and
 * with none; and a workspace's margins stay untouched.
 */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/random_numbers.h"
#include "reference/reference.h"

#include <stdio.h>

typedef struct shape {
    size_t outer, axis, inner;
} shape;

static const shape shapes[] = {{1, 0, 1},      {1, 1, 1},      {1, 1000, 1},    {1, 16384, 1},
                               {1, 65537, 1},  {1, 262145, 1}, {1, 2000003, 1}, {3, 150001, 1},
                               {500, 1000, 1}, {1, 100000, 7}, {1, 3000, 200},  {40, 33, 129},
                               {17, 40000, 1}, {3, 40008, 1},  {2, 131073, 2},  {1, 524288, 1}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static size_t jobs_that_want_workspace;

/* A non-NULL pointer asks reduce_at and softmax_at to lend a workspace in the place. */
static unsigned char lend;

static void check_reduce_with(wr_op op, wr_dtype dtype, shape of) {
    size_t count = of.outer * of.axis * of.inner, bytes = 0;
    image input = image_new(count * reference_size(dtype), 0);
    wr_reduce_args args = reduce_args(op, dtype, of.outer, of.axis, of.inner);
    wr_status status = wr_reduce_workspace_size(&args, &bytes);
    CHECK(status == WR_SUCCESS, "query: %s", wr_status_name(status));
    fill_random(dtype, DATA_WIDE, count, input.payload, count);
    args.input = input.payload;
    check_reduce(&args, &input, 0, "no workspace");
    args.workspace = &lend;
    args.workspace_bytes = bytes;
    check_reduce(&args, &input, 0, "a workspace that just suffices");
    args.workspace_bytes = bytes + 1024;
    check_reduce(&args, &input, 0, "more workspace than needed");
    jobs_that_want_workspace += bytes > 0;
    image_free(&input);
}

static void check_logsumexp_with(wr_dtype dtype, shape of) {
    size_t count = of.outer * of.axis * of.inner, rows = of.outer * of.inner, bytes = 0, p, lent;
    image input = image_new(count * reference_size(dtype), 0), expected = image_new(rows * sizeof(float), 0);
    wr_reduce_args args = reduce_args(WR_LOGSUMEXP, dtype, of.outer, of.axis, of.inner);
    args.output_dtype = WR_F32;
    fill_random(dtype, DATA_UNIFORM, count, input.payload, count);
    args.input = input.payload;
    args.output = expected.payload;
    CHECK(reduce_at(place_at(0), &args, &input, &expected) == WR_SUCCESS, "on the host");
    CHECK(wr_reduce_workspace_size(&args, &bytes) == WR_SUCCESS, "query");
    for (p = 0; p < place_count(); ++p) {
        for (lent = 0; lent < 2; ++lent) {
            image output = image_new(rows * sizeof(float), 0);
            wr_status status;
            args.output = output.payload;
            args.workspace = lent != 0 ? &lend : NULL;
            args.workspace_bytes = lent != 0 ? bytes : 0;
            status = reduce_at(place_at(p), &args, &input, &output);
            CHECK(status == WR_SUCCESS && image_equal(&output, &expected), "%s: logsumexp of %s, [%zu][%zu][%zu]: %s",
                  place_at(p)->name, dtype_name(dtype), of.outer, of.axis, of.inner, wr_status_name(status));
            image_free(&output);
        }
    }
    jobs_that_want_workspace += bytes > 0;
    image_free(&input);
    image_free(&expected);
}

static void check_same_softmax(const wr_softmax_args *args, const image *input, const image *expected,
                               const char *label) {
    image output = image_new(expected->payload_bytes, 0);
    wr_softmax_args job = *args;
    job.output = output.payload;
    softmax_everywhere(&job, input, &output, NULL, label);
    CHECK(image_equal(&output, expected), "%s, [%zu][%zu][%zu]", label, args->outer, args->axis, args->inner);
    image_free(&output);
}

static void check_softmax_with(wr_dtype dtype, int log, shape of) {
    size_t count = of.outer * of.axis * of.inner, bytes = 0;
    image input = image_new(count * reference_size(dtype), 0);
    image expected = image_new(count * reference_size(dtype), 0);
    wr_softmax_args args = softmax_args(dtype, of.outer, of.axis, of.inner);
    wr_status status;
    args.log = log;
    status = wr_softmax_workspace_size(&args, &bytes);
    CHECK(status == WR_SUCCESS, "query: %s", wr_status_name(status));
    fill_random(dtype, DATA_UNIFORM, count, input.payload, count);
    args.input = input.payload;
    args.output = expected.payload;
    softmax_everywhere(&args, &input, &expected, NULL, "no workspace");
    args.workspace = &lend;
    args.workspace_bytes = bytes;
    check_same_softmax(&args, &input, &expected, "a workspace that just suffices");
    args.workspace_bytes = bytes + 4096;
    check_same_softmax(&args, &input, &expected, "more workspace than needed");
    jobs_that_want_workspace += bytes > 0;
    image_free(&input);
    image_free(&expected);
}

int main(int argc, char **argv) {
    size_t i;
    places_open(argc, argv);
    for (i = 0; i < SHAPES; ++i) {
        check_reduce_with(WR_SUM, WR_F32, shapes[i]);
        check_reduce_with(WR_MEAN, WR_BF16, shapes[i]);
        check_reduce_with(WR_SUM, WR_KOALABEAR, shapes[i]);
        check_reduce_with(WR_MIN, WR_I64, shapes[i]);
        check_reduce_with(WR_ARGMAX, WR_F32, shapes[i]);
        check_reduce_with(WR_NORM_L2, WR_F16, shapes[i]);
        check_reduce_with(WR_PRODUCT, WR_F64, shapes[i]);
        check_reduce_with(WR_COUNT_NONZERO, WR_U8, shapes[i]);
        check_reduce_with(WR_SUM, WR_KOALABEAR_X4, shapes[i]);
        check_logsumexp_with(WR_F32, shapes[i]);
        check_logsumexp_with(WR_BF16, shapes[i]);
        check_softmax_with(WR_F32, 0, shapes[i]);
        check_softmax_with(WR_BF16, 1, shapes[i]);
    }
    printf("%zu of %d jobs want a workspace\n", jobs_that_want_workspace, SHAPES * 13);
    places_close();
    return check_report("workspace_changes_nothing");
}
