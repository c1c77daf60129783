/* A sum, product or L1 norm of integers that 64 bits hold is rounded once into a float output. */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "reference/reference.h"

#include <string.h>

typedef struct known {
    wr_op op;
    wr_dtype dtype, output_dtype;
    size_t count;
    uint64_t elements[3];
    uint64_t bits;
} known;

#define TWO_TO(n) (UINT64_C(1) << (n))

/* Rounding to f64 first would make a tie of what lies beyond it: 2^60 + 2^36 is half way between floats. */
static const known knowns[] = {
    {WR_SUM, WR_I64, WR_F32, 1, {TWO_TO(60) + TWO_TO(36) + 1}, 0x5D800001},
    {WR_SUM, WR_I64, WR_F32, 2, {TWO_TO(60), TWO_TO(36) + 1}, 0x5D800001},
    {WR_SUM, WR_I64, WR_F32, 3, {TWO_TO(60), TWO_TO(36), 1}, 0x5D800001},
    {WR_SUM, WR_I64, WR_F32, 3, {TWO_TO(60), TWO_TO(36), 0}, 0x5D800000},
    {WR_SUM, WR_I64, WR_F32, 2, {-(TWO_TO(60) + TWO_TO(36)), -UINT64_C(1)}, 0xDD800001},
    {WR_SUM, WR_I64, WR_F32, 2, {TWO_TO(60) + 3 * TWO_TO(36), -UINT64_C(1)}, 0x5D800001},
    {WR_SUM, WR_U64, WR_F32, 2, {TWO_TO(63), TWO_TO(39) + 1}, 0x5F000001},
    {WR_SUM, WR_U64, WR_F32, 2, {TWO_TO(63) - 1, TWO_TO(62)}, 0x5F400000},
    {WR_NORM_L1, WR_I64, WR_F32, 2, {-(TWO_TO(60) + TWO_TO(36)), 1}, 0x5D800001},
    {WR_PRODUCT, WR_I64, WR_F32, 2, {3, (TWO_TO(60) + TWO_TO(36) + 1) / 3}, 0x5D800001},
    {WR_PRODUCT, WR_I64, WR_F32, 2, {1, -(TWO_TO(60) + TWO_TO(36) + 1)}, 0xDD800001},
    {WR_SUM, WR_I64, WR_F64, 2, {TWO_TO(62) + TWO_TO(9), 1}, 0x43D0000000000001},
    {WR_SUM, WR_U64, WR_F64, 2, {TWO_TO(63) + TWO_TO(10), 0}, 0x43E0000000000000},
    {WR_SUM, WR_I32, WR_F32, 3, {0x7FFFFFFF, 0x7FFFFFFF, 0x182}, 0x4F800001},
    {WR_SUM, WR_I16, WR_F32, 2, {0x8000, 0x8000}, 0xC7800000},
};
enum { KNOWNS = sizeof knowns / sizeof *knowns };

/* Rows and columns that are all the same. */
static void check_known(const known *of, size_t outer, size_t inner) {
    image input = image_new(outer * inner * of->count * reference_size(of->dtype), 0);
    image output = image_new(outer * inner * reference_size(of->output_dtype), 0);
    wr_reduce_args args = reduce_args(of->op, of->dtype, outer, of->count, inner);
    size_t i, p;
    for (i = 0; i < outer * inner * of->count; ++i) {
        reference_put_bits(of->dtype, input.payload, i, of->elements[i / inner % of->count]);
    }
    args.input = input.payload;
    args.output = output.payload;
    args.output_dtype = of->output_dtype;
    for (p = 0; p < place_count(); ++p) {
        const wr_status status = reduce_at(place_at(p), &args, &input, &output);
        CHECK(status == WR_SUCCESS, "%s", wr_status_name(status));
        for (i = 0; i < outer * inner; ++i) {
            const uint64_t got = reference_bits(of->output_dtype, output.payload, i);
            CHECK(got == of->bits, "%s of %s to %s, case %td: %llX for %llX", op_name(of->op), dtype_name(of->dtype),
                  dtype_name(of->output_dtype), of - knowns, (unsigned long long)got, (unsigned long long)of->bits);
        }
    }
    image_free(&input);
    image_free(&output);
}

int main(int argc, char **argv) {
    size_t i;
    places_open(argc, argv);
    for (i = 0; i < KNOWNS; ++i) {
        check_known(&knowns[i], 1, 1);
        check_known(&knowns[i], 3, 1);
        check_known(&knowns[i], 1, 21);
        check_known(&knowns[i], 2, 70);
    }
    places_close();
    return check_report("integers_round_once");
}
