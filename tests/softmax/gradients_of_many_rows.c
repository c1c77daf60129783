/*
 * The gradient of softmax of so many rows that a GPU takes several after one another, or short ones together, in one
 * place: the host's bits, from outputs and from logits, of log-softmax too, scaled and not, in the place of the
 * outputs' gradient and not, with rows among them that hold NaN or infinities.
 */
#include "harness/harness.h"
#include "harness/random_numbers.h"
#include "harness/softmax_jobs.h"
#include "reference/reference.h"

#include <math.h>
#include <stdio.h>

typedef struct row_images {
    image saved, logsumexp, gradient, result;
} row_images;

/* Logits, or outputs and their logarithms: the gradient takes whatever it is given. */
static double saved_value(uint64_t *state, size_t row, size_t column, int are_logits) {
    double value = random_unit(state);
    if (are_logits) {
        value = value * 16.0 - 8.0;
    }
    if (row % 8 == 3 && column % 4099 == 17) {
        return (double)NAN;
    }
    if (row % 8 == 5 && column % 1027 == 5) {
        return are_logits ? -(double)INFINITY : 0.0;
    }
    return row % 8 == 6 && column % 2053 == 9 ? -200.0 : value;
}

/* Of [outer][axis][inner], row number o * inner + i is the one along the axis at [o][][i]. */
static void fill(row_images *images, wr_dtype dtype, const size_t shape[3], int are_logits) {
    size_t axis = shape[1], inner = shape[2], rows = shape[0] * inner, row, column;
    uint64_t state = 5;
    for (row = 0; row < rows; ++row) {
        reference_put(WR_F32, images->logsumexp.payload, row,
                      row % 8 == 7 ? -(double)INFINITY : 9.0 + (double)row / 16);
        for (column = 0; column < axis; ++column) {
            double gradient = 2.0 * random_unit(&state) - 1.0;
            size_t at = (row / inner * axis + column) * inner + row % inner;
            reference_put(dtype, images->saved.payload, at, saved_value(&state, row, column, are_logits));
            reference_put(dtype, images->gradient.payload, at,
                          row % 8 == 2 && column == axis - 1 ? (double)INFINITY : gradient);
        }
    }
}

typedef struct gradient_job {
    wr_dtype dtype;
    size_t shape[3];
    int from_logits, log, in_place;
    double scale;
} gradient_job;

static void check(const gradient_job *job) {
    const size_t *shape = job->shape;
    size_t rows = shape[0] * shape[2], bytes = rows * shape[1] * reference_size(job->dtype);
    row_images made = {image_new(bytes, 0), image_new(rows * sizeof(float), 0), image_new(bytes, 0),
                       image_new(bytes, 0)};
    wr_softmax_backward_args args = backward_args(job->dtype, shape[0], shape[1], shape[2]);
    backward_images images = {&made.saved, NULL, &made.gradient, NULL, NULL, NULL, &made.result};
    char label[128];
    fill(&made, job->dtype, shape, job->from_logits);
    args.log = job->log;
    args.scale = job->scale;
    if (job->from_logits) {
        args.input = made.saved.payload;
        args.logsumexp = made.logsumexp.payload;
        images.logsumexp = &made.logsumexp;
    } else {
        args.output = made.saved.payload;
    }
    if (job->in_place) {
        images.input_gradient = &made.gradient;
    }
    args.output_gradient = images.output_gradient->payload;
    args.input_gradient = images.input_gradient->payload;
    snprintf(label, sizeof label, "[%zu][%zu][%zu] %s, %s%s, scale %g%s", shape[0], shape[1], shape[2],
             dtype_name(job->dtype), job->from_logits ? "from logits" : "from outputs", job->log ? ", log" : "",
             job->scale, job->in_place ? ", in place" : "");
    run_backward_everywhere(&args, &images, label);
    image_free(&made.saved);
    image_free(&made.logsumexp);
    image_free(&made.gradient);
    image_free(&made.result);
}

static void check_shape(wr_dtype dtype, size_t outer, size_t axis, size_t inner) {
    int kind;
    for (kind = 0; kind < 4; ++kind) {
        const gradient_job job = {dtype, {outer, axis, inner}, kind & 1, kind >> 1, kind == 2, kind == 1 ? -0.75 : 0.0};
        check(&job);
    }
}

/* Rows a little longer than a register's way takes, of parts of blocks and of warps, up to the longest; short ones of
 * which a warp takes several; and columns. */
static void check_type(wr_dtype dtype) {
    static const size_t axes[] = {131080, 133120, 196616, 262144, 300008, 524288, 524296};
    size_t i;
    for (i = 0; i < sizeof axes / sizeof *axes; ++i) {
        if (axes[i] <= 262144 || dtype != WR_F32) {
            check_shape(dtype, 9, axes[i], 1);
        }
    }
    check_shape(dtype, 150, 133120, 1);
    check_shape(dtype, 1, 140000, 1);
    check_shape(dtype, 700, 1, 1);
    check_shape(dtype, 300, 37, 1);
    check_shape(dtype, 70, 1001, 1);
    check_shape(dtype, 40, 3333, 1);
    check_shape(dtype, 9, 8189, 1);
    check_shape(dtype, 40, 9001, 1);
    check_shape(dtype, 400, 9001, 1);
    check_shape(dtype, 120, 20001, 1);
    check_shape(dtype, 60, 40001, 1);
    check_shape(dtype, 150, 50257, 1);
    check_shape(dtype, 40, 66001, 1);
    check_shape(dtype, 24, 100003, 1);
    check_shape(dtype, 2, 131071, 1);
    check_shape(dtype, 9001, 8, 1);
    check_shape(dtype, 6000, 17, 1);
    check_shape(dtype, 5003, 33, 1);
    check_shape(dtype, 4500, 128, 1);
    check_shape(dtype, 4999, 250, 1);
    check_shape(dtype, 3001, 16, 1);
    check_shape(dtype, 4001, 24, 1);
    check_shape(dtype, 4223, 32, 1);
    check_shape(dtype, 2003, 72, 1);
    check_shape(dtype, 1, 128, 1);
    check_shape(dtype, 1007, 200, 1);
    check_shape(dtype, 517, 256, 1);
    check_shape(dtype, 503, 384, 1);
    check_shape(dtype, 515, 512, 1);
    check_shape(dtype, 300, 520, 1);
    check_shape(dtype, 1500, 100, 7);
    check_shape(dtype, 1200, 300, 8);
    check_shape(dtype, 1, 3, 16);
    check_shape(dtype, 3, 1000, 520);
    check_shape(dtype, 1, 1024, 3000);
    check_shape(dtype, 2, 1541, 264);
    check_shape(dtype, 1, 33000, 8);
    check_shape(dtype, 1, 40001, 72);
}

int main(int argc, char **argv) {
    places_open_gpu_only(argc, argv);
    check_type(WR_F32);
    check_type(WR_F16);
    check_type(WR_BF16);
    places_close();
    return check_report("gradients_of_many_rows");
}
