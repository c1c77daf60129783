/*
 * With add_to_output the finished result is combined with what the output holds, by the operator and in the type that
 * the result is kept in, and rounded once; without it the output is overwritten whatever it holds.
 */
#include "harness/harness.h"
#include "harness/header_offers.h"
#include "harness/jobs.h"
#include "harness/random_numbers.h"
#include "reference/reference.h"

#include <math.h>
#include <string.h>

typedef struct shape {
    size_t outer, axis, inner;
} shape;

static const shape shapes[] = {{1, 0, 1},    {1, 1, 1},    {1, 33, 1},  {1, 5000, 1}, {9, 0, 4},
                               {40, 1, 1},   {33, 7, 1},   {5, 200, 1}, {3, 3000, 1}, {1, 9, 65},
                               {1, 2000, 3}, {4, 129, 17}, {700, 3, 1}, {1, 3, 700}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static data_kind kind_of(wr_op op, size_t turn) {
    static const data_kind sums[] = {DATA_INTEGERS, DATA_UNIFORM, DATA_WITH_NANS};
    static const data_kind logic[] = {DATA_MOSTLY_ZERO, DATA_FEW_ZEROS, DATA_FEW_VALUES};
    switch ((int)op) {
    case WR_PRODUCT:
        return DATA_NEAR_ONE;
    case WR_ANY:
    case WR_ALL:
    case WR_COUNT_NONZERO:
        return logic[turn % 3];
    default:
        return sums[turn % 3];
    }
}

static void check_into(wr_op op, wr_dtype dtype, wr_dtype output_dtype, shape of, data_kind kind) {
    size_t count = of.outer * of.axis * of.inner;
    image input = image_new(count * reference_size(dtype), reference_size(dtype));
    wr_reduce_args args = reduce_args(op, dtype, of.outer, of.axis, of.inner);
    fill_random(dtype, kind, count + (uint64_t)op, input.payload, count);
    args.add_to_output = 1;
    args.output_dtype = output_dtype;
    args.input = input.payload;
    check_reduce(&args, &input, 0, data_kind_name(kind));
    if (takes_accumulate_dtype(op, dtype)) {
        args.accumulate_dtype = WR_F64;
        check_reduce(&args, &input, 0, data_kind_name(kind));
    }
    image_free(&input);
}

static void check_operator(wr_op op, wr_dtype dtype) {
    type_list outputs = offered_outputs(op, dtype);
    size_t i, turn;
    for (i = 0; i < outputs.count; ++i) {
        /* small enough that the sum of an integer and a float is exact */
        int mixed = !reference_is_float(dtype) && reference_is_float(outputs.types[i]);
        for (turn = 0; turn < SHAPES; ++turn) {
            if (i == turn % outputs.count || outputs.types[i] == dtype || turn % 5 == 2) {
                check_into(op, dtype, outputs.types[i], shapes[turn], mixed ? DATA_FEW_VALUES : kind_of(op, turn));
            }
        }
    }
}

typedef struct known_case {
    wr_op op;
    double input, old, expected;
} known_case;

/* What the output holds, of one f32 element. */
static void check_f32_by_hand(void) {
    const double nan = (double)NAN, infinity = (double)INFINITY;
    const known_case cases[] = {
        {WR_SUM, 1.0, nan, nan},
        {WR_SUM, nan, 1.0, nan},
        {WR_SUM, infinity, -infinity, nan},
        {WR_SUM, -0.0, -0.0, -0.0},
        {WR_SUM, -0.0, 0.0, 0.0},
        {WR_PRODUCT, 0.0, infinity, nan},
        {WR_PRODUCT, -1.0, 0.0, -0.0},
        {WR_MIN, 1.0, nan, nan},
        {WR_MAX, 1.0, nan, nan},
        {WR_MIN, 0.0, -0.0, -0.0},
        {WR_MAX, -0.0, 0.0, 0.0},
        {WR_MIN, 3.0, 2.0, 2.0},
        {WR_MAX, 3.0, 2.0, 3.0},
        {WR_SUM_OF_SQUARES, 3.0, -9.0, 0.0},
        {WR_SUM, 0x1p24, 1.0, 0x1p24},
        {WR_SUM, 0x1p-149, -0x1p-149, 0.0},
    };
    size_t i, p;
    for (p = 0; p < place_count(); ++p) {
        for (i = 0; i < sizeof cases / sizeof *cases; ++i) {
            image input = image_new(sizeof(float), 0), output = image_new(sizeof(float), 0);
            wr_reduce_args args = reduce_args(cases[i].op, WR_F32, 1, 1, 1);
            uint64_t expected = 0;
            wr_status status;
            reference_put(WR_F32, input.payload, 0, cases[i].input);
            reference_put(WR_F32, output.payload, 0, cases[i].old);
            reference_put(WR_F32, &expected, 0, cases[i].expected);
            args.add_to_output = 1;
            args.input = input.payload;
            args.output = output.payload;
            status = reduce_at(place_at(p), &args, &input, &output);
            CHECK(status == WR_SUCCESS && reference_bits(WR_F32, output.payload, 0) == expected,
                  "%s of %a added to %a on %s: %#llx", op_name(cases[i].op), cases[i].input, cases[i].old,
                  place_at(p)->name, (unsigned long long)reference_bits(WR_F32, output.payload, 0));
            image_free(&input);
            image_free(&output);
        }
    }
}

/* 1 + 2^-9 is 1 when it is rounded to bf16 by itself, and 256 + 1 is a tie that goes to 256; the exact sum lies above
 * the tie. */
static void check_rounded_once(void) {
    image input = image_new(2 * sizeof(float), 0);
    size_t p;
    reference_put(WR_F32, input.payload, 0, 1.0);
    reference_put(WR_F32, input.payload, 1, 0x1p-9);
    for (p = 0; p < place_count(); ++p) {
        image output = image_new(sizeof(uint16_t), 0);
        wr_reduce_args args = reduce_args(WR_SUM, WR_F32, 1, 2, 1);
        wr_status status;
        double got;
        reference_put(WR_BF16, output.payload, 0, 256.0);
        args.output_dtype = WR_BF16;
        args.add_to_output = 1;
        args.input = input.payload;
        args.output = output.payload;
        status = reduce_at(place_at(p), &args, &input, &output);
        got = reference_get(WR_BF16, output.payload, 0);
        CHECK(status == WR_SUCCESS && got == 258.0, "256 + (1 + 2^-9) in bf16 on %s: %a", place_at(p)->name, got);
        image_free(&output);
    }
    image_free(&input);
}

/* Chunks added one after another give what the whole gives, where the operator is exact in any order. */
static void check_chunks(wr_op op, wr_dtype dtype) {
    enum { COUNT = 10000, CHUNK = 2500 };
    size_t size = reference_size(dtype), i, p;
    image input = image_new(COUNT * size, 0), whole = image_new(size, 0);
    wr_reduce_args args = reduce_args(op, dtype, 1, COUNT, 1);
    fill_random(dtype, DATA_NEAR_ONE, 9, input.payload, COUNT);
    args.output_dtype = dtype;
    args.input = input.payload;
    args.output = whole.payload;
    reference_reduce(&args);
    args.axis = CHUNK;
    for (p = 0; p < place_count(); ++p) {
        image output = image_new(size, 0);
        for (i = 0; i < COUNT / CHUNK; ++i) {
            wr_status status;
            args.add_to_output = i > 0;
            args.input = input.payload + i * CHUNK * size;
            args.output = output.payload;
            status = reduce_at(place_at(p), &args, &input, &output);
            CHECK(status == WR_SUCCESS, "%s", wr_status_name(status));
        }
        CHECK(image_equal(&whole, &output), "%s of %s by chunks on %s", op_name(op), dtype_name(dtype),
              place_at(p)->name);
        image_free(&output);
    }
    image_free(&input);
    image_free(&whole);
}

int main(int argc, char **argv) {
    int op, dtype;
    places_open(argc, argv);
    check_f32_by_hand();
    check_rounded_once();
    for (op = WR_SUM; op <= LAST_REDUCTION; ++op) {
        for (dtype = WR_F32; dtype <= LAST_DTYPE && takes_add_to_output((wr_op)op); ++dtype) {
            if (offered_outputs((wr_op)op, (wr_dtype)dtype).count == 0) {
                continue;
            }
            check_operator((wr_op)op, (wr_dtype)dtype);
            if (is_offered((wr_op)op, (wr_dtype)dtype, (wr_dtype)dtype) && !reference_is_float((wr_dtype)dtype) &&
                op != WR_ANY && op != WR_ALL) {
                check_chunks((wr_op)op, (wr_dtype)dtype);
            }
        }
    }
    places_close();
    return check_report("adds_to_output");
}
