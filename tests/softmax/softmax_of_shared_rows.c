/*
 * Softmax and log-softmax of so many long rows that all multiprocessors share them has the host's bits: rows that begin
 * and end anywhere in a turn of the GPU and at any address, in place and not, scaled and not, with their logsumexp
 * and maximum beside them and without, with rows among them that hold NaN, infinities, large logits or nothing but
 * -infinity. As many rows as the GPU at hand shares, whatever it has.
 */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/large_softmax.h"

/* Base blocks that each multiprocessor has at least: a few more than the library asks for; of 16-bit rows on 16-byte
 * boundaries, and off them. */
enum { BLOCKS_EACH = 90, NARROW_BLOCKS_EACH = 200, ODD_NARROW_BLOCKS_EACH = 400 };

static size_t multiprocessors(void) { return place_multiprocessors(place_at(place_count() - 1)); }

typedef struct form {
    int log;
    unsigned beside;
} form;

static void check_form(form wanted, wr_dtype dtype, size_t axis, double scale, size_t elements) {
    int odd = axis % 8 != 0 || elements != 0;
    size_t each = dtype == WR_F32 ? BLOCKS_EACH : odd ? ODD_NARROW_BLOCKS_EACH : NARROW_BLOCKS_EACH;
    wr_softmax_args args = softmax_args(dtype, rows_for_gpu(axis, each), axis, 1);
    args.scale = scale;
    args.log = wanted.log;
    check_large_softmax(args, elements, wanted.beside);
}

static void check_off(wr_dtype dtype, size_t axis, double scale, size_t elements) {
    static const form plain = {0, NO_ROW_VALUES};
    check_form(plain, dtype, axis, scale, elements);
}

static void check(wr_dtype dtype, size_t axis, double scale) { check_off(dtype, axis, scale, 0); }

int main(int argc, char **argv) {
    static const size_t axes[] = {33800, 57344, 65544, 98304, 100008, 131072, 200008, 262144};
    static const size_t narrow_axes[] = {18440, 19456, 20480, 24584,  28664,  30720,  33000,
                                         50256, 61440, 65536, 131064, 196608, 196616, 262144};
    static const size_t longest[] = {524296, 1048576}; /* which take more than a few multiprocessors */
    static const size_t odd_axes[] = {37001, 65537, 100003, 131066, 202755, 262143};
    static const size_t short_odd_axes[] = {18435, 20479, 24577, 28673, 30997}; /* of few turns of a multiprocessor */
    static const form forms[] = {
        {0, ROW_LOGSUMEXP}, {1, NO_ROW_VALUES}, {1, ROW_LOGSUMEXP}, {0, ROW_MAXIMUM}, {1, ROW_LOGSUMEXP | ROW_MAXIMUM}};
    size_t i;
    places_open(argc, argv);
    for (i = 0; i < sizeof axes / sizeof *axes; ++i) {
        check(WR_F32, axes[i], i % 3 == 1 ? -0.75 : 1.0);
    }
    for (i = 0; i < sizeof narrow_axes / sizeof *narrow_axes; ++i) {
        check(i % 2 == 0 ? WR_BF16 : WR_F16, narrow_axes[i], i % 3 == 1 ? 2.0 : 1.0);
    }
    for (i = 0; i < sizeof longest / sizeof *longest && multiprocessors() > 64; ++i) {
        check(WR_F32, longest[i], 1.0);
        check(WR_BF16, longest[i], 1.0);
    }
    for (i = 0; i < sizeof odd_axes / sizeof *odd_axes; ++i) {
        check(odd_axes[i] % 3 == 0 ? WR_F16 : WR_BF16, odd_axes[i], i % 3 == 1 ? -2.0 : 1.0);
        check(WR_F32, odd_axes[i] + 50000, i % 3 == 2 ? 0.5 : 1.0);
    }
    for (i = 0; i < sizeof short_odd_axes / sizeof *short_odd_axes; ++i) {
        check(WR_F32, short_odd_axes[i], i == 1 ? 2.0 : 1.0);
        check(i == 1 ? WR_F16 : WR_BF16, short_odd_axes[i], 1.0);
    }
    for (i = 1; i < 8; ++i) {
        check_off(i % 2 == 0 ? WR_F16 : WR_BF16, 37888 + 8192 * i, 1.0, i);
        check_off(WR_F32, 73728 + 8192 * i, 1.0, i % 4);
    }
    for (i = 0; i < sizeof forms / sizeof *forms; ++i) {
        form wanted = forms[i];
        check_form(wanted, WR_F32, 77824 + 8 * i, i == 1 ? 0.5 : 1.0, 0);
        check_form(wanted, WR_F32, 66666 + i, 1.0, i);
        check_form(wanted, WR_F32, 10001 + 900 * i * i, 1.0, i % 4);
        check_form(wanted, WR_F32, 32736 + 8 * i, 1.0, 0);
        check_form(wanted, WR_F32, 24584 + 8 * i, 1.0, 0);
        check_form(wanted, i % 2 == 0 ? WR_BF16 : WR_F16, 28672 - 1024 * i, 1.0, 0);
        check_form(wanted, WR_BF16, 65536, 1.0, 0);
        check_form(wanted, i % 2 == 0 ? WR_F16 : WR_BF16, 20488 + 8 * i, 1.0, 0);
        check_form(wanted, WR_BF16, 40968 + 8 * i, 1.0, 0);
        check_form(wanted, WR_F16, 200704 + 8 * i, 1.0, 0);
        check_form(wanted, WR_F16, 50001 + i, 1.0, i);
        check_form(wanted, i % 2 == 0 ? WR_F16 : WR_BF16, 19457 + 500 * i, 1.0, i);
        check_form(wanted, i % 2 == 0 ? WR_BF16 : WR_F16, 200701 + i, 1.0, 0);
    }
    if (multiprocessors() > 64) {
        check(WR_F16, 2000008, 1.0);
        check(WR_BF16, 1000001, 1.0);
        check(WR_F32, 1000003, 1.0);
    }
    places_close();
    return check_report("softmax_of_shared_rows");
}
