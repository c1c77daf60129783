/*
 * With WR_NAN_IGNORE a NaN counts as absent: sums and extremes are those of the others, a mean divides by how many are
 * left, an index never points at it, and nothing left is an empty axis. Integers and fields have none to ignore.
 */
#include "harness/harness.h"
#include "harness/header_offers.h"
#include "harness/jobs.h"
#include "harness/random_numbers.h"
#include "reference/reference.h"

#include <math.h>

static const size_t sizes[] = {0, 1, 2, 3, 4, 7, 31, 33, 64, 257, 1024, 1025, 4097};
enum { SIZES = sizeof sizes / sizeof *sizes };

static const data_kind kinds[] = {DATA_WITH_NANS, DATA_SPECIALS, DATA_WIDE};
enum { KINDS = sizeof kinds / sizeof *kinds };

static unsigned char wanted;

static void check_job(wr_op op, wr_dtype dtype, const image *input, size_t outer, size_t axis, size_t inner,
                      const char *label) {
    type_list outputs = offered_outputs(op, dtype);
    wr_reduce_args args = reduce_args(op, dtype, outer, axis, inner);
    args.nan_mode = WR_NAN_IGNORE;
    args.input = input->payload;
    args.output_dtype = has_default_output(op, dtype) ? (wr_dtype)0 : outputs.types[0];
    check_reduce(&args, input, 0, label);
    if (takes_accumulate_dtype(op, dtype)) {
        args.accumulate_dtype = WR_F64;
        check_reduce(&args, input, 0, label);
    }
    if (op == WR_ARGMIN || op == WR_ARGMAX) {
        args.values = &wanted;
        check_reduce(&args, input, 0, label);
    }
    if (takes_add_to_output(op)) {
        args.add_to_output = 1;
        check_reduce(&args, input, 0, label);
    }
}

static void check_random(wr_op op, wr_dtype dtype, data_kind kind, size_t size) {
    image input = image_new(size * 9 * reference_size(dtype), reference_size(dtype));
    uint64_t seed;
    for (seed = size; seed < size + 3; ++seed) {
        fill_random(dtype, kind, seed, input.payload, size * 9);
        check_job(op, dtype, &input, 1, size, 1, data_kind_name(kind));
        check_job(op, dtype, &input, 9, size, 1, data_kind_name(kind));
        check_job(op, dtype, &input, 1, size, 9, data_kind_name(kind));
        check_job(op, dtype, &input, 3, size, 3, data_kind_name(kind));
    }
    image_free(&input);
}

static void put_nan(wr_dtype dtype, image *input, size_t i) {
    uint64_t nan = 0, sign = UINT64_C(1) << (8 * reference_size(dtype) - 1);
    reference_put(dtype, &nan, 0, (double)NAN);
    reference_put_bits(dtype, input->payload, i, nan | (i % 2 != 0 ? sign : 0));
}

/* All but the element at `left_over` (none of them, where it is `size`) are NaNs. */
static void check_nearly_all(wr_op op, wr_dtype dtype, size_t size, size_t left_over, double value) {
    image input = image_new(size * reference_size(dtype), 0);
    size_t i;
    for (i = 0; i < size; ++i) {
        if (i == left_over) {
            reference_put(dtype, input.payload, i, value);
        } else {
            put_nan(dtype, &input, i);
        }
    }
    check_job(op, dtype, &input, 1, size, 1, "one element left, or none");
    check_job(op, dtype, &input, 1, 1, size, "one element left, or none");
    image_free(&input);
}

static void check_operator(wr_op op, wr_dtype dtype) {
    static const double values[] = {0.0, -0.0, -1.5, (double)INFINITY, -(double)INFINITY};
    size_t i;
    for (i = 0; i < SIZES; ++i) {
        if (!places_take(i + (size_t)op + (size_t)dtype)) {
            continue;
        }
        check_random(op, dtype, kinds[i % KINDS], sizes[i]);
        if (reference_is_float(dtype) && sizes[i] > 0) {
            check_nearly_all(op, dtype, sizes[i], sizes[i], 0.0);
            check_nearly_all(op, dtype, sizes[i], 0, values[i % 5]);
            check_nearly_all(op, dtype, sizes[i], sizes[i] / 2, values[(i + 1) % 5]);
            check_nearly_all(op, dtype, sizes[i], sizes[i] - 1, values[(i + 2) % 5]);
        }
    }
}

/* By hand: 1, NaN, 3 and -0. */
static void check_by_hand(void) {
    static const struct {
        wr_op op;
        double expected;
    } known[] = {{WR_SUM, 4.0},        {WR_PRODUCT, -0.0}, {WR_MIN, -0.0},     {WR_MAX, 3.0},
                 {WR_MEAN, 4.0 / 3.0}, {WR_NORM_L1, 4.0},  {WR_NORM_MAX, 3.0}, {WR_SUM_OF_SQUARES, 10.0}};
    image input = image_new(4 * sizeof(double), 0), output = image_new(sizeof(double), 0);
    size_t i, p;
    reference_put(WR_F64, input.payload, 0, 1.0);
    reference_put(WR_F64, input.payload, 1, (double)NAN);
    reference_put(WR_F64, input.payload, 2, 3.0);
    reference_put(WR_F64, input.payload, 3, -0.0);
    for (p = 0; p < place_count(); ++p) {
        for (i = 0; i < sizeof known / sizeof *known; ++i) {
            wr_reduce_args args = reduce_args(known[i].op, WR_F64, 1, 4, 1);
            wr_status status;
            double got;
            args.nan_mode = WR_NAN_IGNORE;
            args.input = input.payload;
            args.output = output.payload;
            status = reduce_at(place_at(p), &args, &input, &output);
            got = reference_get(WR_F64, output.payload, 0);
            CHECK(status == WR_SUCCESS && got == known[i].expected && signbit(got) == signbit(known[i].expected),
                  "%s of 1, NaN, 3, -0 on %s: %a", op_name(known[i].op), place_at(p)->name, got);
        }
    }
    image_free(&input);
    image_free(&output);
}

int main(int argc, char **argv) {
    int op, dtype;
    places_open(argc, argv);
    check_by_hand();
    for (op = WR_SUM; op <= LAST_REDUCTION; ++op) {
        for (dtype = WR_F32; dtype <= WR_F8_E5M2; ++dtype) {
            if (offered_outputs((wr_op)op, (wr_dtype)dtype).count > 0) {
                check_operator((wr_op)op, (wr_dtype)dtype);
            }
        }
    }
    check_operator(WR_SUM, WR_I16);
    check_operator(WR_ARGMAX, WR_U32);
    check_operator(WR_SUM, WR_GOLDILOCKS);
    check_operator(WR_COUNT_NONZERO, WR_KOALABEAR_X4);
    places_close();
    return check_report("nan_is_ignored");
}
