/*
 * Softmax, log-softmax and logsumexp of short columns have the host's bits at every height that a thread, a block or a
 * cluster of blocks holds and around it: few columns and many, whole vectors and not, on their boundaries and off, in
 * one array and in several, in place and not, scaled and not, with their logsumexp and maximum and without, of ordinary
 * logits and of others. The gradient likewise.
 */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/large_softmax.h"
#include "harness/random_numbers.h"
#include "harness/softmax_jobs.h"
#include "harness/unusual_logits.h"
#include "reference/reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_ordinary_logits(wr_dtype dtype, void *array, size_t outer, size_t axis, size_t inner) {
    put_logits_between(dtype, array, outer * axis * inner, -7.0, 5.0);
}

/* Of every 300 columns ten are unusual: one block of several has them. */
static void put_partly_unusual_logits(wr_dtype dtype, void *array, size_t outer, size_t axis, size_t inner) {
    static const partly_unusual how = {300, 10, -7.0, 5.0};
    const size_t shape[3] = {outer, axis, inner};
    put_partly_unusual(dtype, array, shape, &how);
}

/* The last row of few columns alone lies beyond what needs no maximum. */
static void put_large_last_rows(wr_dtype dtype, void *array, size_t outer, size_t axis, size_t inner) {
    size_t o, i;
    put_ordinary_logits(dtype, array, outer, axis, inner);
    for (o = 0; o < outer; ++o) {
        for (i = 3; i < inner; i += 7) {
            reference_put(dtype, array, ((o + 1) * axis - 1) * inner + i, 90.0);
        }
    }
}

static void check_softmax(put_logits put, wr_dtype dtype, const size_t shape[3], size_t variant) {
    wr_softmax_args args = softmax_args(dtype, shape[0], shape[1], shape[2]);
    args.scale = variant % 4 == 1 ? -0.75 : 1.0;
    args.log = variant % 3 == 2;
    check_large_softmax_of(put, args, variant % 5 == 4 ? 1 : 0, variant % 7 == 3 ? ROW_LOGSUMEXP | ROW_MAXIMUM : 0);
}

static void check_logsumexp(wr_dtype dtype, const size_t shape[3]) {
    size_t columns = shape[0] * shape[2], size = reference_size(dtype), bytes = columns * shape[1] * size;
    unsigned char *array = malloc(bytes), *results[2];
    size_t p;
    if (array == NULL) {
        give_up("out of memory");
    }
    put_partly_unusual_logits(dtype, array, shape[0], shape[1], shape[2]);
    for (p = 0; p < 2; ++p) { /* the host comes first */
        const place *where = place_at(p == 0 ? 0 : place_count() - 1);
        void *input = place_allocate(where, bytes), *output = place_allocate(where, columns * size);
        wr_status status;
        results[p] = malloc(columns * size);
        if (results[p] == NULL) {
            give_up("out of memory");
        }
        place_write(where, input, array, bytes);
        status = wr_reduce(WR_LOGSUMEXP, dtype, input, output, shape[0], shape[1], shape[2], where->stream);
        CHECK(status == WR_SUCCESS, "%s: %s", where->name, wr_status_name(status));
        place_read(where, output, results[p], columns * size);
        place_free(where, input);
        place_free(where, output);
    }
    CHECK(memcmp(results[0], results[1], columns * size) == 0, "[%zu][%zu][%zu] %s: not the host's logsumexp", shape[0],
          shape[1], shape[2], dtype_name(dtype));
    free(results[0]);
    free(results[1]);
    free(array);
}

/* Logits, or outputs: the gradient takes whatever it is given. */
static double saved_value(uint64_t *state, size_t i, size_t inner, int are_logits) {
    double value = random_unit(state);
    if (i % inner % 31 == 17 && i % 5 == 0) {
        return are_logits ? -(double)INFINITY : 0.0;
    }
    if (i % inner % 37 == 5 && i % 11 == 2) {
        return (double)NAN;
    }
    return are_logits ? (i % inner % 41 == 9 ? -200.0 : 16.0 * value - 8.0) : value;
}

static void check_gradient(wr_dtype dtype, const size_t shape[3], size_t variant) {
    size_t columns = shape[0] * shape[2], count = columns * shape[1], bytes = count * reference_size(dtype), i;
    image saved = image_new(bytes, 0), logsumexp = image_new(columns * sizeof(float), 0),
          gradient = image_new(bytes, 0), result = image_new(bytes, 0);
    wr_softmax_backward_args args = backward_args(dtype, shape[0], shape[1], shape[2]);
    backward_images images = {&saved, NULL, &gradient, NULL, NULL, NULL, &result};
    int from_logits = variant % 2 == 1;
    char label[128];
    uint64_t state = 5;
    for (i = 0; i < count; ++i) {
        reference_put(dtype, saved.payload, i, saved_value(&state, i, shape[2], from_logits));
        reference_put(dtype, gradient.payload, i, 2.0 * random_unit(&state) - 1.0);
    }
    for (i = 0; i < columns; ++i) {
        reference_put(WR_F32, logsumexp.payload, i, i % 29 == 7 ? -(double)INFINITY : 7.0 + random_unit(&state));
    }
    args.log = variant % 3 == 2;
    args.scale = variant % 4 == 1 ? -0.75 : 1.0;
    if (from_logits) {
        args.input = saved.payload;
        args.logsumexp = logsumexp.payload;
        images.logsumexp = &logsumexp;
    } else {
        args.output = saved.payload;
    }
    if (variant % 5 == 3) {
        images.input_gradient = &gradient;
    }
    args.output_gradient = images.output_gradient->payload;
    args.input_gradient = images.input_gradient->payload;
    snprintf(label, sizeof label, "gradient of [%zu][%zu][%zu] %s, variant %zu", shape[0], shape[1], shape[2],
             dtype_name(dtype), variant);
    run_backward_everywhere(&args, &images, label);
    image_free(&saved);
    image_free(&logsumexp);
    image_free(&gradient);
    image_free(&result);
}

int main(int argc, char **argv) {
    static const put_logits kinds[] = {put_ordinary_logits, put_partly_unusual_logits, put_unusual_logits,
                                       put_large_last_rows};
    static const wr_dtype dtypes[] = {WR_F32, WR_BF16, WR_F16};
    static const size_t axes[] = {1,   2,   3,   4,   5,   7,    8,    9,    12,   15,   16,   17,  21,  31,
                                  32,  33,  63,  65,  80,  127,  129,  150,  199,  255,  256,  257, 300, 385,
                                  511, 513, 640, 768, 769, 1000, 1024, 1025, 2048, 3001, 4096, 4097};
    static const size_t inners[] = {8, 64, 1024, 520, 1001, 2, 3000, 37, 136};
    size_t i, k, most;
    places_open(argc, argv);
    /* As many columns as a GPU takes side by side, few for a small one. */
    most = (size_t)1 << (place_multiprocessors(place_at(place_count() - 1)) > 64 ? 20 : 16);
    for (i = 0; i < sizeof axes / sizeof *axes; ++i) {
        for (k = 0; k < 9; ++k) {
            size_t variant = 10 * i + k + k / 3, wide = inners[(i + k) % 9];
            size_t inner = wide * axes[i] <= most ? wide : k % 2 == 0 ? 24 : 19;
            const size_t shape[3] = {2 * inner * axes[i] > most ? 1 : 1 + variant % 3, axes[i], inner};
            check_softmax(kinds[variant % 4], dtypes[k % 3], shape, variant);
            check_gradient(dtypes[k % 3], shape, variant);
            if (k % 3 == 0) {
                check_logsumexp(dtypes[(i + k / 3) % 3], shape);
            }
        }
    }
    places_close();
    return check_report("softmax_of_short_columns");
}
