/*
 * Softmax has the same bits whether logsumexp, maximum, both or neither are asked for beside it, and so have these,
 * on every device, on boundaries of vectors and off them: kernels of their own do each.
 */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/softmax_jobs.h"
#include "harness/unusual_logits.h"
#include "reference/reference.h"

#include <stdio.h>

enum { ASKED_SUMS = 1, ASKED_MAXIMA = 2, ASKED_BOTH = ASKED_SUMS | ASKED_MAXIMA };

typedef struct rows {
    wr_dtype dtype;
    size_t outer, axis, moved; /* elements off a boundary */
    int log;
} rows;

/* What the host gives where both are asked for. */
typedef struct results {
    image output, sums, maxima;
} results;

static results results_for(const rows *of) {
    size_t size = reference_size(of->dtype), values = of->outer * reference_size(softmax_state_dtype(of->dtype));
    results made;
    made.output = image_new(of->outer * of->axis * size, of->moved * size);
    made.sums = image_new(values, 0);
    made.maxima = image_new(values, 0);
    return made;
}

static void results_free(results *used) {
    image_free(&used->output);
    image_free(&used->sums);
    image_free(&used->maxima);
}

static void run(const place *where, const rows *of, const image *input, int asked, results *to) {
    wr_softmax_args args = softmax_args(of->dtype, of->outer, of->axis, 1);
    softmax_images images = {input, NULL, NULL, NULL, &to->output, NULL, NULL, NULL};
    args.log = of->log;
    args.input = input->payload;
    args.output = to->output.payload;
    if ((asked & ASKED_SUMS) != 0) {
        args.logsumexp = to->sums.payload;
        images.logsumexp = &to->sums;
    }
    if ((asked & ASKED_MAXIMA) != 0) {
        args.maximum = to->maxima.payload;
        images.maximum = &to->maxima;
    }
    CHECK(softmax_with_images_at(where, &args, &images) == WR_SUCCESS, "%s of [%zu][%zu] at %s", dtype_name(of->dtype),
          of->outer, of->axis, where->name);
}

static void check(const rows *of) {
    static const char *const names[] = {"alone", "with logsumexp", "with maximum", "with both"};
    size_t size = reference_size(of->dtype), i;
    image input = image_new(of->outer * of->axis * size, of->moved * size);
    results expected = results_for(of);
    int asked;
    put_unusual_logits(of->dtype, input.payload, of->outer, of->axis, 1);
    run(place_at(0), of, &input, ASKED_BOTH, &expected);
    for (i = 0; i < place_count(); ++i) {
        for (asked = 0; asked <= ASKED_BOTH; ++asked) {
            results given = results_for(of);
            run(place_at(i), of, &input, asked, &given);
            CHECK(image_equal(&expected.output, &given.output) &&
                      ((asked & ASKED_SUMS) == 0 || image_equal(&expected.sums, &given.sums)) &&
                      ((asked & ASKED_MAXIMA) == 0 || image_equal(&expected.maxima, &given.maxima)),
                  "%s%s of [%zu][%zu], %zu elements off, %s at %s: other bits", of->log ? "log-softmax of " : "",
                  dtype_name(of->dtype), of->outer, of->axis, of->moved, names[asked], place_at(i)->name);
            results_free(&given);
        }
    }
    results_free(&expected);
    image_free(&input);
}

int main(int argc, char **argv) {
    static const wr_dtype types[] = {WR_F32, WR_F64, WR_F16, WR_BF16};
    /* Around three quarters of a base block, one, two, four and eight, whole vectors and not. */
    static const size_t axes[] = {33,   128,  504,  512,  513,  520,  760,  768,  769,  776,   1000,  1008,
                                  1016, 1023, 1024, 1025, 1032, 1536, 2047, 2048, 2056, 2560,  3000,  3072,
                                  4088, 4096, 4104, 5000, 7168, 8184, 8192, 8193, 8200, 10000, 16384, 16392};
    rows of;
    size_t type, i;
    places_open(argc, argv);
    for (type = 0; type < sizeof types / sizeof *types; ++type) {
        for (i = 0; i < sizeof axes / sizeof *axes; ++i) {
            of.dtype = types[type];
            of.axis = axes[i];
            of.outer = axes[i] < 4096 ? 131 : 67; /* no multiple of the rows that a block takes */
            for (of.log = 0; of.log < 2; ++of.log) {
                for (of.moved = 0; of.moved < 2; ++of.moved) {
                    check(&of);
                }
            }
        }
    }
    places_close();
    return check_report("softmax_is_the_same_whatever_is_beside_it");
}
