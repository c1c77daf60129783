/*
 * Integer sums wrap in the width of their output, field sums are canonical words, extremes are exact, whatever the
 * order the library takes them in.
 */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/random_numbers.h"
#include "reference/reference.h"

static const size_t sizes[] = {0,   1,   2,    3,    5,    7,    31,   32,   33,    63,     65,     127,    129,
                               255, 257, 1000, 1023, 1024, 1025, 4097, 8191, 65537, 131071, 300007, 1048577};
enum { SIZES = sizeof sizes / sizeof *sizes };

typedef struct shape {
    size_t outer, axis, inner;
} shape;

static const shape shapes[] = {{1, 1, 5},    {3, 2, 1},   {5, 33, 1},    {1, 70, 9},   {2, 129, 3},
                               {1, 513, 64}, {70, 7, 11}, {4, 1025, 33}, {2000, 3, 1}, {1, 5, 3000}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void check_case(wr_op op, wr_dtype dtype, wr_dtype output_dtype, shape of, const image *input) {
    wr_reduce_args args = reduce_args(op, dtype, of.outer, of.axis, of.inner);
    args.output_dtype = output_dtype;
    args.input = input->payload;
    check_reduce(&args, input, 0, "integers");
}

static void check_integer_outputs(wr_dtype dtype, shape of, const image *input) {
    static const wr_dtype sum_outputs[] = {WR_I8,  WR_I16, WR_I32, WR_I64, WR_U8,
                                           WR_U16, WR_U32, WR_U64, WR_F32, WR_F64};
    static const wr_dtype mean_outputs[] = {WR_F32, WR_F64, WR_F16, WR_BF16, WR_F8_E4M3, WR_F8_E5M2};
    size_t i;
    check_case(WR_SUM, dtype, (wr_dtype)0, of, input);
    for (i = 0; i < sizeof sum_outputs / sizeof *sum_outputs; ++i) {
        check_case(WR_SUM, dtype, sum_outputs[i], of, input);
    }
    for (i = 0; i < sizeof mean_outputs / sizeof *mean_outputs; ++i) {
        check_case(WR_MEAN, dtype, mean_outputs[i], of, input);
    }
    check_case(WR_MIN, dtype, (wr_dtype)0, of, input);
    check_case(WR_MAX, dtype, (wr_dtype)0, of, input);
    if (dtype != WR_U64) {
        check_case(WR_MIN, dtype, WR_I64, of, input);
        check_case(WR_MAX, dtype, WR_I64, of, input);
    }
}

static void check_shape(wr_dtype dtype, shape of) {
    size_t count = of.outer * of.axis * of.inner;
    image input = image_new(count * reference_size(dtype), 0);
    fill_random(dtype, DATA_UNIFORM, count * 7 + (uint64_t)dtype, input.payload, count);
    if (reference_is_field(dtype)) {
        check_case(WR_SUM, dtype, (wr_dtype)0, of, &input);
        check_case(WR_SUM, dtype, dtype, of, &input);
    } else {
        check_integer_outputs(dtype, of, &input);
    }
    image_free(&input);
}

/* One value everywhere: sums that wrap many times, and the largest words that a field has. */
static void check_constant(wr_dtype dtype, uint64_t bits, size_t n) {
    image input = image_new(n * reference_size(dtype), 0);
    shape of = {1, n, 1};
    size_t i;
    for (i = 0; i < n; ++i) {
        reference_put_bits(dtype, input.payload, i, bits);
    }
    if (reference_is_field(dtype)) {
        check_case(WR_SUM, dtype, (wr_dtype)0, of, &input);
    } else {
        check_integer_outputs(dtype, of, &input);
    }
    image_free(&input);
}

static void check_constants(size_t n) {
    check_constant(WR_I32, UINT64_C(0x7FFFFFFF), n);
    check_constant(WR_I32, UINT64_C(0x80000000), n);
    check_constant(WR_I32, UINT64_C(0xFFFFFFFF), n);
    check_constant(WR_I64, UINT64_C(0x7FFFFFFFFFFFFFFF), n);
    check_constant(WR_I64, UINT64_C(0x8000000000000000), n);
    check_constant(WR_I64, UINT64_C(0xFFFFFFFFFFFFFFFF), n);
    check_constant(WR_I8, UINT64_C(0x80), n);
    check_constant(WR_U64, UINT64_MAX, n);
    check_constant(WR_KOALABEAR, 0, n);
    check_constant(WR_KOALABEAR, 1, n);
    check_constant(WR_KOALABEAR, REFERENCE_KOALABEAR_P - 1, n);
    check_constant(WR_KOALABEAR, REFERENCE_KOALABEAR_P / 2 + 1, n);
}

/* A lone extreme value must be found wherever it is. */
static void check_lone_extreme(wr_dtype dtype, size_t n, size_t position) {
    image input = image_new(n * reference_size(dtype), 0);
    shape of = {1, n, 1};
    size_t i;
    for (i = 0; i < n; ++i) {
        reference_put_bits(dtype, input.payload, i, i % 3);
    }
    reference_put_bits(dtype, input.payload, position, (uint64_t)INT64_C(-5));
    check_case(WR_MIN, dtype, (wr_dtype)0, of, &input);
    reference_put_bits(dtype, input.payload, position, 1000);
    check_case(WR_MAX, dtype, (wr_dtype)0, of, &input);
    image_free(&input);
}

static void check_lone_extremes(wr_dtype dtype, size_t n) {
    check_lone_extreme(dtype, n, 0);
    check_lone_extreme(dtype, n, n / 2);
    check_lone_extreme(dtype, n, n - 1);
}

int main(int argc, char **argv) {
    static const wr_dtype types[] = {WR_I32, WR_I64, WR_KOALABEAR, WR_I8, WR_U16, WR_U64, WR_GOLDILOCKS};
    size_t i, type;
    places_open(argc, argv);
    for (type = 0; type < sizeof types / sizeof *types; ++type) {
        for (i = 0; i < SIZES; ++i) {
            shape whole = {1, 0, 1};
            whole.axis = sizes[i];
            check_shape(types[type], whole);
        }
        for (i = 0; i < SHAPES; ++i) {
            check_shape(types[type], shapes[i]);
        }
    }
    for (i = 1; i < SIZES - 2; ++i) {
        check_constants(sizes[i]);
        check_lone_extremes(WR_I32, sizes[i]);
        check_lone_extremes(WR_I64, sizes[i]);
    }
    check_constant(WR_KOALABEAR, REFERENCE_KOALABEAR_P - 1, 3 * 1048576 + 1);
    places_close();
    return check_report("integers_wrap_and_fields_stay_canonical");
}
