/*
 * Columns that are of no common kind, softmax and its gradient: types mixed, masked, cut off, strided, off the
 * boundaries, scaled, with logsumexp and maximum, in place. Of lengths around every edge at which a thread holds no
 * more, more warps share a column, or it is read again, the host's bits; of few columns and of many, of one array and
 * of several.
 */
#include "harness/harness.h"
#include "harness/jobs_of_any_kind.h"
#include "harness/places.h"

static const kind forwards[] = {
    {WR_F32, WR_BF16, WR_F32, 0},
    {WR_BF16, WR_F32, WR_F32, LOG | VALUES},
    {WR_F32, WR_F32, WR_F32, MASKED | VALUES},
    {WR_F16, WR_F16, WR_F32, MASKED | CUT_OFF | IN_PLACE},
    {WR_F64, WR_F64, WR_F32, IN_PLACE},
    {WR_F64, WR_F64, WR_F32, MASKED | LOG | VALUES},
    {WR_F64, WR_F16, WR_F32, STRIDED},
    {WR_F32, WR_F64, WR_F32, LOG | CUT_OFF},
    {WR_BF16, WR_BF16, WR_F32, 0}, /* which is scaled where the axis is odd */
    {WR_F8_E4M3, WR_F8_E4M3, WR_F32, 0},
    {WR_F8_E5M2, WR_F8_E4M3, WR_F32, LOG | MASKED},
    {WR_F16, WR_F8_E5M2, WR_F32, CAUSAL | STRIDED},
    {WR_F32, WR_F32, WR_F32, CAUSAL | LOG | IN_PLACE},
};
enum { FORWARDS = sizeof forwards / sizeof *forwards };

static const size_t axes[] = {1,   2,   4,   5,   8,   9,   16,  17,   31,   32,   33,  63,
                              64,  65,  128, 129, 160, 191, 192, 193,  256,  257,  300, 383,
                              384, 385, 511, 640, 767, 768, 769, 1000, 1024, 1025, 2500};

/* Columns side by side: fewer and more than a warp has lanes, whole vectors and not. */
static const size_t inners[] = {17, 32, 37, 136, 600};
enum { INNERS = sizeof inners / sizeof *inners, MOST_ELEMENTS = 40000 };

int main(int argc, char **argv) {
    size_t i, k;
    places_open(argc, argv);
    for (i = 0; i < sizeof axes / sizeof *axes; ++i) {
        for (k = 0; k < FORWARDS + GRADIENT_KINDS; ++k) {
            size_t wide = inners[(i + k) % INNERS], inner = wide * axes[i] <= MOST_ELEMENTS ? wide : 17 + k % 3;
            size_t outer = inner * axes[i] * 3 <= MOST_ELEMENTS ? 1 + (i + k) % 3 : 1;
            if (k < FORWARDS) {
                check_softmax_of_kind(forwards + k, outer, axes[i], inner);
            } else {
                check_gradient_of_kind(gradient_kinds + k - FORWARDS, outer, axes[i], inner);
            }
        }
    }
    places_close();
    return check_report("columns_of_any_kind");
}
