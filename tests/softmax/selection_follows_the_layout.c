/*
 * Which elements a mask, lengths and the causal limit leave out does not depend on how rows lie in memory: softmax and
 * its gradient of columns, and of rows between others, have the bits of the same rows one behind the other.
 */
#include "harness/harness.h"
#include "harness/random_numbers.h"
#include "harness/softmax_jobs.h"
#include "reference/reference.h"

#include <string.h>

enum { MASKED = 1, WITH_LENGTHS = 2, CAUSAL = 4, FROM_LOGITS = 8, KINDS = 16 };

/* Rows of `axis` elements as [outer][axis][inner]. */
typedef struct rows {
    size_t outer, axis, inner;
} rows;

static size_t place_of(rows of, size_t row, size_t i) {
    return (row / of.inner * of.axis + i) * of.inner + row % of.inner;
}

/* The same elements of `bytes` bytes, from rows one behind the other. */
static image laid_out(rows of, const image *plain, size_t bytes) {
    image made = image_new(plain->payload_bytes, 0);
    size_t row, i;
    for (row = 0; row < of.outer * of.inner; ++row) {
        for (i = 0; i < of.axis; ++i) {
            memcpy(made.payload + place_of(of, row, i) * bytes, plain->payload + (row * of.axis + i) * bytes, bytes);
        }
    }
    return made;
}

static void check_same(rows of, const image *plain, const image *result, wr_dtype dtype, const char *what, int kind) {
    image expected = laid_out(of, plain, reference_size(dtype));
    CHECK(memcmp(expected.payload, result->payload, result->payload_bytes) == 0,
          "%s of %s, [%zu][%zu][%zu], selection %d: other bits than of rows", what, dtype_name(dtype), of.outer,
          of.axis, of.inner, kind);
    image_free(&expected);
}

/* The inputs of the calls as rows one behind the other. */
typedef struct inputs {
    image logits, gradients, mask, lengths, sums;
} inputs;

static inputs inputs_of(wr_dtype dtype, size_t count, size_t axis, uint64_t seed) {
    inputs made;
    size_t i;
    made.logits = image_new(count * axis * reference_size(dtype), 0);
    made.gradients = image_new(made.logits.payload_bytes, 0);
    made.mask = image_new(count * axis, 0);
    made.lengths = image_new(count * sizeof(int64_t), 0);
    made.sums = image_new(count * reference_size(softmax_state_dtype(dtype)), 0);
    fill_random(dtype, DATA_UNIFORM, seed, made.logits.payload, count * axis);
    fill_random(dtype, DATA_UNIFORM, seed + 1, made.gradients.payload, count * axis);
    fill_random(softmax_state_dtype(dtype), DATA_UNIFORM, seed + 2, made.sums.payload, count);
    for (i = 0; i < count * axis; ++i) {
        made.mask.payload[i] = (unsigned char)(random_below(&seed, 4) != 0);
    }
    for (i = 0; i < count; ++i) {
        reference_put_bits(WR_I64, made.lengths.payload, i, (uint64_t)random_below(&seed, axis + axis / 4 + 1));
    }
    return made;
}

static void free_inputs(inputs *of) {
    image_free(&of->logits);
    image_free(&of->gradients);
    image_free(&of->mask);
    image_free(&of->lengths);
    image_free(&of->sums);
}

/* Both calls on the host device with this layout; the causal limit is the same for all rows, which it counts along
 * outer. */
static void run(wr_dtype dtype, rows of, const inputs *from, int kind, image *output, image *gradient) {
    image logits = laid_out(of, &from->logits, reference_size(dtype));
    image given = laid_out(of, &from->gradients, reference_size(dtype)), mask = laid_out(of, &from->mask, 1);
    wr_softmax_args args = softmax_args(dtype, of.outer, of.axis, of.inner);
    wr_softmax_backward_args back = backward_args(dtype, of.outer, of.axis, of.inner);
    args.mask = back.mask = kind & MASKED ? mask.payload : NULL;
    args.lengths = back.lengths = kind & WITH_LENGTHS ? (const int64_t *)(const void *)from->lengths.payload : NULL;
    args.causal = back.causal = kind & CAUSAL ? 1 : 0;
    args.causal_first = back.causal_first = kind & CAUSAL ? (int64_t)(of.axis * 2 / 3) : 0;
    args.causal_rows = back.causal_rows = kind & CAUSAL ? 1 : 0;
    args.input = logits.payload;
    args.output = output->payload;
    back.output = kind & FROM_LOGITS ? NULL : logits.payload;
    back.input = kind & FROM_LOGITS ? logits.payload : NULL;
    back.logsumexp = kind & FROM_LOGITS ? from->sums.payload : NULL;
    back.output_gradient = given.payload;
    back.input_gradient = gradient->payload;
    CHECK(wr_softmax_ex(&args, wr_host_stream()) == WR_SUCCESS, "softmax");
    CHECK(wr_softmax_backward_ex(&back, wr_host_stream()) == WR_SUCCESS, "gradient");
    image_free(&logits);
    image_free(&given);
    image_free(&mask);
}

static void check_layouts(wr_dtype dtype, size_t count, size_t axis) {
    const rows plain = {count, axis, 1}, columns = {1, axis, count}, between = {count / 4, axis, 4};
    inputs from = inputs_of(dtype, count, axis, axis + (uint64_t)dtype);
    image output = image_new(from.logits.payload_bytes, 0), gradient = image_new(from.logits.payload_bytes, 0);
    image result = image_new(from.logits.payload_bytes, 0), of_gradient = image_new(from.logits.payload_bytes, 0);
    int kind;
    for (kind = 0; kind < KINDS; ++kind) {
        run(dtype, plain, &from, kind, &output, &gradient);
        run(dtype, columns, &from, kind, &result, &of_gradient);
        check_same(columns, &output, &result, dtype, "softmax", kind);
        check_same(columns, &gradient, &of_gradient, dtype, "gradient", kind);
        run(dtype, between, &from, kind, &result, &of_gradient);
        check_same(between, &output, &result, dtype, "softmax", kind);
        check_same(between, &gradient, &of_gradient, dtype, "gradient", kind);
    }
    free_inputs(&from);
    image_free(&output);
    image_free(&gradient);
    image_free(&result);
    image_free(&of_gradient);
}

int main(int argc, char **argv) {
    static const size_t axes[] = {1, 2, 7, 16, 33, 100, 1023, 1500};
    int dtype;
    size_t i;
    places_open(argc, argv);
    for (dtype = WR_F32; dtype <= WR_F8_E5M2; ++dtype) {
        for (i = 0; i < sizeof axes / sizeof *axes; ++i) {
            check_layouts((wr_dtype)dtype, 20, axes[i]);
        }
        check_layouts((wr_dtype)dtype, 4, 70001);
    }
    places_close();
    return check_report("selection_follows_the_layout");
}
