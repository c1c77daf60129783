/*
 * Softmax of short columns with masks, lengths and the causal limit and its gradient have the host's bits at every
 * height that a thread, a block or a cluster of blocks holds and around it: of whole vectors and of others, on their
 * boundaries and off them, with columns of which nothing takes part, of logits near 0 and far from it, with logsumexp
 * and maximum, in place.
 */
#include "harness/harness.h"
#include "harness/jobs_of_any_kind.h"
#include "harness/places.h"

static const size_t axes[] = {1,   2,   3,   4,   5,   8,   9,   16,   21,   31,   32,  33,
                              64,  65,  100, 128, 129, 150, 200, 256,  257,  384,  385, 512,
                              513, 640, 641, 767, 768, 769, 850, 1000, 1023, 1024, 1025};
static const size_t axes_of_gradients[] = {1500, 2047, 2048, 2049, 3100, 4095, 4096, 4097};

/* Columns side by side: whole vectors, in one tile and in several, and not. */
static const size_t inners[] = {8, 40, 64, 136, 520, 20};
enum { INNERS = sizeof inners / sizeof *inners, MOST_ELEMENTS = 30000 };

static void check_columns(check_of_kind *check, const kind *kinds, size_t axis, size_t number) {
    size_t k;
    for (k = 0; k < LEAVING_OUT; ++k, ++number) {
        kind of = kinds[k];
        size_t wide = inners[number % INNERS], inner = wide * axis <= MOST_ELEMENTS ? wide : 8 + 8 * (number % 3);
        of.what |= number % 5 == 0 ? 0 : ON_BOUNDARIES;
        check(&of, inner * axis * 3 <= MOST_ELEMENTS ? 1 + number % 3 : 1, axis, inner);
    }
}

int main(int argc, char **argv) {
    size_t i;
    places_open(argc, argv);
    for (i = 0; i < sizeof axes / sizeof *axes; ++i) {
        check_columns(check_softmax_of_kind, softmax_leaving_out, axes[i], i);
        check_columns(check_gradient_of_kind, gradients_leaving_out, axes[i], i);
    }
    for (i = 0; i < sizeof axes_of_gradients / sizeof *axes_of_gradients; ++i) {
        check_columns(check_gradient_of_kind, gradients_leaving_out, axes_of_gradients[i], i);
    }
    places_close();
    return check_report("short_columns_leave_elements_out");
}
