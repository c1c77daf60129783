/*
 * Softmax of short rows with masks, lengths and the causal limit and its gradient have the host's bits at every length
 * that a lane or several hold and around it, on the boundaries of vectors and off them: of so few rows that each has
 * many lanes, of one or several turns of a warp, of the last turn half of one; with rows of which nothing takes part,
 * of logits near 0 and far from it, with logsumexp and maximum, in place.
 */
#include "harness/harness.h"
#include "harness/jobs_of_any_kind.h"
#include "harness/places.h"

static const size_t axes[] = {1,  2,  3,  4,  5,  7,   8,   9,   15,  16,  17,  31,  32,  33,  36,  40,  47, 63,
                              64, 65, 72, 77, 96, 127, 128, 129, 150, 191, 255, 256, 257, 301, 401, 511, 512};

/* From one row to more than a block takes. */
static const size_t counts[] = {1, 5, 33, 130, 1000, 3001};
enum { COUNTS = sizeof counts / sizeof *counts, MOST_ELEMENTS = 40000 };

static void check_rows(check_of_kind *check, const kind *kinds, size_t axis, size_t number) {
    size_t k;
    for (k = 0; k < LEAVING_OUT; ++k, ++number) {
        kind of = kinds[k];
        size_t many = counts[number % COUNTS], outer = many * axis <= MOST_ELEMENTS ? many : 1 + MOST_ELEMENTS / axis;
        of.what |= number % 3 == 0 ? ON_BOUNDARIES : 0;
        check(&of, outer, axis, 1);
    }
}

int main(int argc, char **argv) {
    static const kind of_turns = {WR_F32, WR_F32, WR_F32, MASKED | CUT_OFF | VALUES},
                      of_narrow_turns = {WR_BF16, WR_BF16, WR_BF16, MASKED};
    size_t i;
    places_open(argc, argv);
    for (i = 0; i < sizeof axes / sizeof *axes; ++i) {
        check_rows(check_softmax_of_kind, softmax_leaving_out, axes[i], i);
        check_rows(check_gradient_of_kind, gradients_leaving_out, axes[i], i);
    }
    check_softmax_of_kind(&of_turns, 500001, 3, 1);
    check_softmax_of_kind(&of_narrow_turns, 250001, 9, 1);
    places_close();
    return check_report("short_rows_leave_elements_out");
}
