/*
 * Softmax and log-softmax of columns has the host's bits at every height: what a block holds, what a cluster's blocks
 * share, what is read twice; whether all of them are ordinary, or some, or none are; in one array and in several, in
 * place and not, scaled and not, with their logsumexp beside them and without.
 */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/large_softmax.h"
#include "harness/random_numbers.h"
#include "harness/unusual_logits.h"
#include "reference/reference.h"

static void put_ordinary_logits(wr_dtype dtype, void *array, size_t outer, size_t axis, size_t inner) {
    put_logits_between(dtype, array, outer * axis * inner, -25.0, 25.0);
}

/* Some columns side by side are unusual, and the 300 behind them are not. */
static void put_partly_unusual_logits(wr_dtype dtype, void *array, size_t outer, size_t axis, size_t inner) {
    static const partly_unusual how = {340, 40, -25.0, 25.0};
    const size_t shape[3] = {outer, axis, inner};
    put_partly_unusual(dtype, array, shape, &how);
}

static void check(put_logits put, wr_dtype dtype, size_t outer, size_t axis, size_t inner, int variant) {
    wr_softmax_args args = softmax_args(dtype, outer, axis, inner);
    args.scale = variant % 4 == 1 ? -0.75 : 1.0;
    args.log = variant % 5 == 3;
    check_large_softmax_of(put, args, 0, variant % 3 == 2);
}

int main(int argc, char **argv) {
    static const put_logits kinds[] = {put_ordinary_logits, put_partly_unusual_logits, put_unusual_logits};
    static const wr_dtype dtypes[] = {WR_F32, WR_BF16, WR_F16};
    static const size_t axes[] = {768, 769, 1024, 1025, 2049, 2560, 4096, 4097, 7000, 8193, 16384, 16385};
    /* Tens of thousands of columns for a GPU, as few as its clusters take for a small one. */
    static const size_t elements[] = {1 << 20, 1 << 23};
    size_t i, k;
    places_open(argc, argv);
    for (i = 0; i < sizeof axes / sizeof *axes; ++i) {
        for (k = 0; k < 3; ++k) {
            size_t all = elements[place_multiprocessors(place_at(place_count() - 1)) > 64];
            size_t inner = all / axes[i] / 64 * 64 + 8 * i;
            check(kinds[(i + k) % 3], dtypes[k], 1 + (i + k) % 2, axes[i], inner, (int)(3 * i + k));
        }
    }
    places_close();
    return check_report("softmax_of_tall_columns");
}
