/*
 * NaN, infinities, signed zeros, subnormals and nothing at all: each case's bits are written down here. The special
 * elements stand at both ends and inside rows of every length, among elements that do not change the result.
 */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "reference/reference.h"

#include <math.h>

static const wr_dtype float_types[] = {WR_F32, WR_F64, WR_F16, WR_BF16};
enum { FLOAT_TYPES = 4 };

/* The same value's bits in each of float_types. */
typedef struct value {
    uint64_t bits[FLOAT_TYPES];
} value;

static const value canonical_nan = {{0x7FC00000, 0x7FF8000000000000, 0x7E00, 0x7FC0}};
static const value negative_nan = {{0xFFC00001, 0xFFF8000000000001, 0xFE01, 0xFFC1}};
static const value signalling_nan = {{0x7F800001, 0x7FF0000000000001, 0x7C01, 0x7F81}};
static const value infinity = {{0x7F800000, 0x7FF0000000000000, 0x7C00, 0x7F80}};
static const value minus_infinity = {{0xFF800000, 0xFFF0000000000000, 0xFC00, 0xFF80}};
static const value zero = {{0, 0, 0, 0}};
static const value minus_zero = {{0x80000000, 0x8000000000000000, 0x8000, 0x8000}};
static const value one = {{0x3F800000, 0x3FF0000000000000, 0x3C00, 0x3F80}};
static const value largest = {{0x7F7FFFFF, 0x7FEFFFFFFFFFFFFF, 0x7BFF, 0x7F7F}};
static const value smallest_subnormal = {{1, 1, 1, 1}};
static const value twice_smallest_subnormal = {{2, 2, 2, 2}};
static const value minus_smallest_subnormal = {{0x80000001, 0x8000000000000001, 0x8001, 0x8001}};
static const value smallest_normal = {{0x00800000, 0x0010000000000000, 0x0400, 0x0080}};

typedef struct special_case {
    wr_op op;
    const char *label;
    /* what the other elements are */
    const value *filler;
    /* one or two special elements; second may be NULL */
    const value *first, *second;
    const value *result;
} special_case;

static const special_case cases[] = {
    {WR_SUM, "a NaN", &one, &canonical_nan, NULL, &canonical_nan},
    {WR_SUM, "a NaN with sign and payload", &one, &negative_nan, NULL, &canonical_nan},
    {WR_SUM, "a signalling NaN", &one, &signalling_nan, NULL, &canonical_nan},
    {WR_SUM, "two NaNs", &one, &negative_nan, &signalling_nan, &canonical_nan},
    {WR_SUM, "infinity", &one, &infinity, NULL, &infinity},
    {WR_SUM, "-infinity", &one, &minus_infinity, NULL, &minus_infinity},
    {WR_SUM, "two infinities", &one, &infinity, &infinity, &infinity},
    {WR_SUM, "infinities that meet", &one, &infinity, &minus_infinity, &canonical_nan},
    {WR_SUM, "infinity and NaN", &one, &infinity, &negative_nan, &canonical_nan},
    {WR_SUM, "only -0", &minus_zero, &minus_zero, NULL, &minus_zero},
    {WR_SUM, "a +0 among -0", &minus_zero, &zero, NULL, &zero},
    {WR_SUM, "1 among -0", &minus_zero, &one, NULL, &one},
    {WR_SUM, "subnormals are not flushed", &zero, &smallest_subnormal, &smallest_subnormal, &twice_smallest_subnormal},
    {WR_SUM, "subnormals cancel to +0", &minus_zero, &smallest_subnormal, &minus_smallest_subnormal, &zero},
    {WR_SUM, "overflow", &zero, &largest, &largest, &infinity},
    {WR_MEAN, "a NaN", &one, &signalling_nan, NULL, &canonical_nan},
    {WR_MEAN, "infinity", &one, &infinity, NULL, &infinity},
    {WR_MEAN, "infinities that meet", &one, &minus_infinity, &infinity, &canonical_nan},
    {WR_MEAN, "only -0", &minus_zero, &minus_zero, NULL, &minus_zero},
    {WR_MIN, "a NaN", &one, &canonical_nan, NULL, &canonical_nan},
    {WR_MIN, "a negative NaN", &one, &negative_nan, NULL, &canonical_nan},
    {WR_MIN, "a signalling NaN", &one, &signalling_nan, NULL, &canonical_nan},
    {WR_MIN, "NaN wins over -infinity", &one, &negative_nan, &minus_infinity, &canonical_nan},
    {WR_MIN, "-infinity", &one, &minus_infinity, NULL, &minus_infinity},
    {WR_MIN, "only infinity", &infinity, &infinity, NULL, &infinity},
    {WR_MIN, "-0 is below +0", &zero, &minus_zero, NULL, &minus_zero},
    {WR_MIN, "+0 among -0", &minus_zero, &zero, NULL, &minus_zero},
    {WR_MIN, "both zeros among ones", &one, &zero, &minus_zero, &minus_zero},
    {WR_MIN, "a subnormal below a normal", &smallest_normal, &smallest_subnormal, NULL, &smallest_subnormal},
    {WR_MIN, "zero below a subnormal", &smallest_subnormal, &zero, NULL, &zero},
    {WR_MIN, "a negative subnormal below -0", &minus_zero, &minus_smallest_subnormal, NULL, &minus_smallest_subnormal},
    {WR_MAX, "a NaN", &one, &canonical_nan, NULL, &canonical_nan},
    {WR_MAX, "a negative NaN", &one, &negative_nan, NULL, &canonical_nan},
    {WR_MAX, "a signalling NaN", &one, &signalling_nan, NULL, &canonical_nan},
    {WR_MAX, "NaN wins over infinity", &one, &negative_nan, &infinity, &canonical_nan},
    {WR_MAX, "infinity", &one, &infinity, NULL, &infinity},
    {WR_MAX, "only -infinity", &minus_infinity, &minus_infinity, NULL, &minus_infinity},
    {WR_MAX, "+0 is above -0", &minus_zero, &zero, NULL, &zero},
    {WR_MAX, "-0 among +0", &zero, &minus_zero, NULL, &zero},
    {WR_MAX, "only -0", &minus_zero, &minus_zero, NULL, &minus_zero},
    {WR_MAX, "a subnormal above +0", &zero, &smallest_subnormal, NULL, &smallest_subnormal},
    {WR_MAX, "+0 above a negative subnormal", &minus_smallest_subnormal, &zero, NULL, &zero},
};
enum { CASES = sizeof cases / sizeof *cases };

static void check_result(const wr_reduce_args *args, const image *input, uint64_t expected, const char *label) {
    wr_dtype output_dtype = reference_output_dtype(args);
    size_t outputs = args->outer * args->inner;
    size_t i, j;
    for (i = 0; i < place_count(); ++i) {
        image output = image_new(outputs * reference_size(output_dtype), 0);
        wr_reduce_args job = *args;
        wr_status status;
        job.output = output.payload;
        status = reduce_at(place_at(i), &job, input, &output);
        CHECK(status == WR_SUCCESS, "%s: %s", label, wr_status_name(status));
        for (j = 0; j < outputs; ++j) {
            uint64_t bits = reference_bits(output_dtype, output.payload, j);
            CHECK(bits == expected, "%s, op %d, %s to %s, [%zu][%zu][%zu], output %zu on %s: %#llx instead of %#llx",
                  label, (int)args->op, dtype_name(args->dtype), dtype_name(output_dtype), args->outer, args->axis,
                  args->inner, j, place_at(i)->name, (unsigned long long)bits, (unsigned long long)expected);
        }
        image_free(&output);
    }
}

/* Element `position` of every row of [rows][axis] or of every column of [axis][rows]. */
static void put_in_each(int columns, size_t rows, size_t axis, wr_dtype dtype, image *input, size_t position,
                        uint64_t bits) {
    size_t row;
    for (row = 0; row < rows; ++row) {
        size_t index = columns ? position * rows + row : row * axis + position;
        reference_put_bits(dtype, input->payload, index, bits);
    }
}

static void check_case(const special_case *of, int type, int columns, size_t rows, size_t axis, size_t first,
                       size_t second) {
    wr_dtype dtype = float_types[type];
    image input = image_new(rows * axis * reference_size(dtype), 0);
    wr_reduce_args args =
        columns ? reduce_args(of->op, dtype, 1, axis, rows) : reduce_args(of->op, dtype, rows, axis, 1);
    size_t i;
    for (i = 0; i < rows * axis; ++i) {
        reference_put_bits(dtype, input.payload, i, of->filler->bits[type]);
    }
    put_in_each(columns, rows, axis, dtype, &input, first, of->first->bits[type]);
    if (of->second != NULL) {
        put_in_each(columns, rows, axis, dtype, &input, second, of->second->bits[type]);
    }
    args.input = input.payload;
    check_result(&args, &input, of->result->bits[type], of->label);
    image_free(&input);
}

static void check_cases(int type, int columns, size_t rows, size_t axis) {
    size_t i;
    for (i = 0; i < CASES; ++i) {
        check_case(&cases[i], type, columns, rows, axis, 0, axis - 1);
        check_case(&cases[i], type, columns, rows, axis, axis / 2, 0);
        check_case(&cases[i], type, columns, rows, axis, axis - 1, axis / 2);
    }
}

static void check_empty(int type) {
    static const value expected_of_op[] = {
        {{0, 0, 0, 0}},
        {{0x7FC00000, 0x7FF8000000000000, 0x7E00, 0x7FC0}},
        {{0x7F800000, 0x7FF0000000000000, 0x7C00, 0x7F80}},
        {{0xFF800000, 0xFFF0000000000000, 0xFC00, 0xFF80}},
    };
    static const wr_op ops[] = {WR_SUM, WR_MEAN, WR_MIN, WR_MAX};
    size_t i;
    for (i = 0; i < 4; ++i) {
        image input = image_new(0, 0);
        wr_reduce_args args = reduce_args(ops[i], float_types[type], 3, 0, 5);
        args.input = input.payload;
        check_result(&args, &input, expected_of_op[i].bits[type], "empty axis");
        image_free(&input);
    }
}

static void check_empty_integers(void) {
    static const struct {
        wr_op op;
        wr_dtype dtype;
        uint64_t expected;
    } empties[] = {
        {WR_SUM, WR_I32, 0},       {WR_MIN, WR_I32, 0x7FFFFFFF},         {WR_MAX, WR_I32, 0x80000000},
        {WR_SUM, WR_I64, 0},       {WR_MIN, WR_I64, 0x7FFFFFFFFFFFFFFF}, {WR_MAX, WR_I64, 0x8000000000000000},
        {WR_SUM, WR_KOALABEAR, 0},
    };
    size_t i;
    for (i = 0; i < sizeof empties / sizeof *empties; ++i) {
        image input = image_new(0, 0);
        wr_reduce_args args = reduce_args(empties[i].op, empties[i].dtype, 2, 0, 2);
        args.input = input.payload;
        check_result(&args, &input, empties[i].expected, "empty axis");
        image_free(&input);
    }
}

/* The narrow sum is kept in f32: what would overflow on the way in the narrow type does not. */
static void check_narrow_sums_do_not_overflow_on_the_way(void) {
    const double half_elements[] = {65504.0, 65504.0, -65504.0, -65504.0, 1.0};
    image input = image_new(sizeof half_elements / sizeof *half_elements * sizeof(uint16_t), 0);
    wr_reduce_args args = reduce_args(WR_SUM, WR_F16, 1, 5, 1);
    size_t i;
    for (i = 0; i < 5; ++i) {
        reference_put(WR_F16, input.payload, i, half_elements[i]);
    }
    args.input = input.payload;
    check_result(&args, &input, 0x3C00, "f16 sum through 131008");
    image_free(&input);
}

int main(int argc, char **argv) {
    static const size_t lengths[] = {3, 4, 31, 33, 257, 1024, 1025, 5000};
    size_t i;
    int type;
    places_open(argc, argv);
    for (type = 0; type < FLOAT_TYPES; ++type) {
        check_empty(type);
        for (i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
            check_cases(type, 0, 1, lengths[i]);
            check_cases(type, 0, 3, lengths[i]);
            check_cases(type, 1, 9, lengths[i]);
        }
        check_cases(type, 0, 1, 70001);
    }
    check_empty_integers();
    check_narrow_sums_do_not_overflow_on_the_way();
    places_close();
    return check_report("special_values");
}
