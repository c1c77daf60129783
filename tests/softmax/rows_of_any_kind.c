/*
 * Rows beyond a warp's registers that are of no common kind, softmax and its gradient: types mixed, masked, cut off,
 * strided, off the boundaries, ragged, into 8 bits as logarithms. Of lengths around every edge at which more warps, a
 * cluster, or a second reading come into it, the host's bits.
 */
#include "harness/harness.h"
#include "harness/jobs_of_any_kind.h"
#include "harness/places.h"

static const kind forwards[] = {
    {WR_F32, WR_F8_E4M3, WR_F32, LOG},     {WR_BF16, WR_F8_E5M2, WR_F32, LOG},
    {WR_F32, WR_BF16, WR_F32, CAUSAL},     {WR_F16, WR_BF16, WR_F32, MASKED | CUT_OFF},
    {WR_F8_E4M3, WR_F8_E4M3, WR_F32, 0},   {WR_F8_E5M2, WR_F32, WR_F32, LOG | CUT_OFF},
    {WR_F32, WR_F32, WR_F32, STRIDED},     {WR_BF16, WR_BF16, WR_F32, STRIDED | LOG},
    {WR_F64, WR_F32, WR_F32, STRIDED},     {WR_F32, WR_F64, WR_F32, 0},
    {WR_F8_E4M3, WR_BF16, WR_F32, RAGGED},
};
static const kind ragged_gradient = {WR_BF16, WR_BF16, WR_F32, RAGGED | MASKED};

/* Elements of a row: around a warp's, a block's and the longest cluster's of 8 and 16 blocks. */
static const size_t axes[] = {1025, 3072, 4099, 8192, 8193, 17000, 65537, 131072, 131073, 140001};

int main(int argc, char **argv) {
    size_t i, k;
    places_open(argc, argv);
    for (i = 0; i < sizeof axes / sizeof *axes; ++i) {
        size_t rows = axes[i] > 20000 ? 3 : 9;
        for (k = 0; k < sizeof forwards / sizeof *forwards; ++k) {
            check_softmax_of_kind(forwards + k, rows, axes[i], 1);
        }
        for (k = 0; k < GRADIENT_KINDS; ++k) {
            check_gradient_of_kind(gradient_kinds + k, rows, axes[i], 1);
        }
        check_gradient_of_kind(&ragged_gradient, rows, axes[i], 1);
    }
    for (k = 0; k < sizeof forwards / sizeof *forwards; ++k) { /* enough for narrow clusters */
        check_gradient_of_kind(k < GRADIENT_KINDS ? gradient_kinds + k : &ragged_gradient, 150, 20000, 1);
        check_softmax_of_kind(forwards + k, 150, 20000, 1);
    }
    places_close();
    return check_report("rows_of_any_kind");
}
