/* Reductions, dot products and reductions of segments. */
#include "arguments/bad_arguments.h"
#include "harness/dot_jobs.h"
#include "harness/harness.h"
#include "harness/header_offers.h"
#include "harness/segment_jobs.h"

#include <string.h>

static const int64_t bad_ops[] = {0, LAST_OP + 1, 999, -1, WR_OP_FORCE_INT32};
static const int64_t bad_dtypes[] = {21, 999, -1, WR_DTYPE_FORCE_INT32};
static const int64_t bad_modes[] = {2, 77, -1, WR_NAN_MODE_FORCE_INT32}, bad_flags[] = {2, -1, INT32_MAX, INT32_MIN};
static const int64_t zero = 0;

#define BAD(subject, type, field, values, status)                                                                      \
    check_bad_values(subject, FIELD(type, field), values, COUNT_OF(values), status, #type " " #field)

/* ---- reductions: the sum of 3 rows of 4 f32 */

static void put_reduction(void *args) {
    wr_reduce_args made = reduce_args(WR_SUM, WR_F32, 3, 4, 1);
    made.input = at(ARENA_INPUT);
    made.output = at(ARENA_OUTPUT);
    memcpy(args, &made, sizeof made);
}
static wr_status reduce(const void *args) { return wr_reduce_ex(args, around.where->stream); }
static wr_status query_reduce(const void *args, size_t *bytes) { return wr_reduce_workspace_size(args, bytes); }
static const subject reductions = {{reduce, query_reduce, sizeof(wr_reduce_args)}, put_reduction};

#define R(field, to) SET(wr_reduce_args, field, to)
#define R_AT(field, byte) AT(wr_reduce_args, field, byte)
#define R_SHAPE(type, o, a, i) R(dtype, type), R(outer, o), R(axis, a), R(inner, i)
#define R_STRIDES(o, a, i) R(strides_given, 1), R(outer_stride, o), R(axis_stride, a), R(inner_stride, i)
#define R_SIZES(type, o, a, i, label)                                                                                  \
    {                                                                                                                  \
        BY_QUERY_TOO, WR_ERROR_SIZE_OVERFLOW, label, { R_SHAPE(type, o, a, i) }                                        \
    }
#define R_FAR(o, a, i, label)                                                                                          \
    {                                                                                                                  \
        BY_QUERY_TOO, WR_ERROR_SIZE_OVERFLOW, label, { R_SHAPE(WR_F32, 2, 3, 2), R_STRIDES(o, a, i) }                  \
    }
#define R_KEPT(op_, type, to, kept, label)                                                                             \
    {                                                                                                                  \
        BY_QUERY_TOO, WR_ERROR_UNSUPPORTED, label, {                                                                   \
            R(op, op_), R(dtype, type), R(output_dtype, to), R(accumulate_dtype, kept)                                 \
        }                                                                                                              \
    }
#define R_OFF(type, off)                                                                                               \
    {BY_CALL, WR_ERROR_MISALIGNED, "input", {R(dtype, type), R_AT(input, ARENA_INPUT + (off))}}, {                     \
        BY_CALL, WR_ERROR_MISALIGNED, "output", { R(dtype, type), R_AT(output, ARENA_OUTPUT + (off)) }                 \
    }
#define R_OVER(o, a, from, to) R(outer, o), R(axis, a), R_AT(input, from), R_AT(output, to)
#define R_WEIGHTED(type, weights_type) R(dtype, type), R(weights_dtype, weights_type), R_AT(weights, ARENA_EXTRA)
#define R_VALUES R(op, WR_ARGMAX), R_AT(values, ARENA_EXTRA)

static const bad_call bad_reductions[] = {
    QUERY(INVALID_OPTION, "strides_given is 2", R(strides_given, 2)),
    QUERY(INVALID_OPTION, "an outer stride that is not given", R(outer_stride, 1)),
    QUERY(INVALID_OPTION, "an axis stride that is not given", R(axis_stride, -1)),
    QUERY(INVALID_OPTION, "an inner stride that is not given", R(inner_stride, 1)),
    QUERY(UNSUPPORTED, "NaNs ignored", R_WEIGHTED(WR_F32, 0), R(nan_mode, WR_NAN_IGNORE)),
    QUERY(UNSUPPORTED, "logsumexp", R(op, WR_LOGSUMEXP), R(nan_mode, WR_NAN_IGNORE)),
    QUERY(UNSUPPORTED, "a dot's", R_WEIGHTED(WR_F32, 0), R(op, WR_DOT_EXACT)),
    QUERY(UNSUPPORTED, "NaNs ignored in an exact sum with weights", R_WEIGHTED(WR_F32, 0), R(op, WR_SUM_EXACT),
          R(nan_mode, WR_NAN_IGNORE)),
    CALL(NULL_POINTER, "weights_dtype without weights", R(weights_dtype, WR_F32)),
    QUERY(UNSUPPORTED, "an extension's sum in the base field", R_WEIGHTED(WR_KOALABEAR, WR_KOALABEAR_X4),
          R(output_dtype, WR_KOALABEAR)),
    CALL(MISALIGNED, "weights", R(dtype, WR_F64), R_AT(weights, ARENA_EXTRA + 4)),
    CALL(MISALIGNED, "half a word", R(dtype, WR_KOALABEAR_X4), R_AT(weights, ARENA_EXTRA + 2)),
    CALL(OVERLAP, "the weights are the output", R_AT(weights, ARENA_OUTPUT)),
    CALL(OVERLAP, "the output begins on the last weight", R_AT(weights, ARENA_OUTPUT - 12)),
    CALL(OVERLAP, "the weights begin on the last output", R_AT(weights, ARENA_OUTPUT + 8)),
    CALL(MISALIGNED, "values", R(op, WR_ARGMAX), R_AT(values, ARENA_EXTRA + 2)),
    CALL(OVERLAP, "values on the last element", R(op, WR_ARGMAX), R_AT(values, ARENA_INPUT + 44)),
    CALL(OVERLAP, "values on the last index", R(op, WR_ARGMAX), R_AT(values, ARENA_OUTPUT + 16)),
    CALL(OVERLAP, "the values are the input", R(op, WR_ARGMAX), R_AT(values, ARENA_INPUT)),
    QUERY(UNSUPPORTED, "i32 indices of 2^31 elements", R_VALUES, R(output_dtype, WR_I32),
          R_SHAPE(WR_I8, 1, TWO_TO(31), 1)),
    QUERY(UNSUPPORTED, "i32 indices of 2^40 elements", R_VALUES, R(output_dtype, WR_I32),
          R_SHAPE(WR_I8, 1, TWO_TO(40), 1)),
    R_KEPT(WR_SUM, WR_F64, 0, WR_F32, "f64 kept in f32"),
    R_KEPT(WR_SUM_EXACT, WR_F32, 0, WR_F64, "an exact sum kept in f64"),
    R_KEPT(WR_SUM, WR_F32, 0, WR_F16, "f32 kept in f16"),
    R_KEPT(WR_MEAN, WR_BF16, 0, WR_BF16, "bf16 kept in bf16"),
    R_KEPT(WR_SUM, WR_F32, 0, WR_I64, "f32 kept in i64"),
    R_KEPT(WR_SUM, WR_I32, 0, WR_F64, "integers kept in f64"),
    R_KEPT(WR_SUM, WR_I32, 0, WR_I64, "accumulate_dtype of an integer sum"),
    R_KEPT(WR_SUM, WR_KOALABEAR, 0, WR_F64, "field words kept in f64"),
    R_KEPT(WR_MIN, WR_F32, 0, WR_F32, "accumulate_dtype of an extreme"),
    R_KEPT(WR_MAX, WR_F32, 0, WR_F64, "accumulate_dtype of an extreme"),
    R_KEPT(WR_ARGMIN, WR_F32, 0, WR_F32, "accumulate_dtype of an index"),
    R_KEPT(WR_COUNT_NONZERO, WR_F32, 0, WR_F32, "accumulate_dtype of a count"),
    R_KEPT(WR_NORM_L2, WR_I32, WR_F32, WR_F64, "accumulate_dtype of a norm of integers"),
    CALL(NULL_POINTER, "input is NULL", R(input, 0)),
    CALL(NULL_POINTER, "output is NULL", R(output, 0)),
    R_SIZES(WR_F32, TWO_TO(40), TWO_TO(40), 1, "a product beyond 64 bits"),
    R_SIZES(WR_BF16, 1, TWO_TO(40), TWO_TO(40), "a product beyond 64 bits"),
    R_SIZES(WR_I64, TWO_TO(40), 1, TWO_TO(40), "a product beyond 64 bits"),
    R_SIZES(WR_F32, TWO_TO(32), TWO_TO(32), 1, "a product of exactly 2^64"),
    R_SIZES(WR_F16, TWO_TO(32), 16, TWO_TO(32), "three factors"),
    R_SIZES(WR_F32, 1, SIZE_MAX, 1, "the largest size"),
    R_SIZES(WR_F64, SIZE_MAX, 1, 1, "the largest size"),
    R_SIZES(WR_F32, 1, TWO_TO(61), 1, "2^63 bytes of f32"),
    R_SIZES(WR_F64, 1, TWO_TO(60), 1, "2^63 bytes of f64"),
    R_SIZES(WR_F16, 1, TWO_TO(62), 1, "2^63 bytes of f16"),
    R_SIZES(WR_F32, TWO_TO(61), 0, 1, "2^63 bytes of output"),
    R_FAR(PTRDIFF_MAX, 0, 0, "the largest outer stride"),
    R_FAR(PTRDIFF_MIN, 0, 0, "the smallest outer stride"),
    R_FAR(0, PTRDIFF_MAX, 0, "the largest axis stride"),
    R_FAR(0, PTRDIFF_MIN, 0, "the smallest axis stride"),
    R_FAR(0, 0, PTRDIFF_MIN, "the smallest inner stride"),
    R_FAR(0, TWO_TO(60), 0, "2^63 bytes by an axis stride"),
    R_FAR(TWO_TO(60), TWO_TO(59), 0, "2^63 bytes by two strides"),
    R_FAR(TWO_TO(60), -TWO_TO(59), 0, "2^63 bytes by strides up and down"),
    R_OFF(WR_F32, 1),
    R_OFF(WR_F32, 2),
    R_OFF(WR_F64, 4),
    R_OFF(WR_F64, 1),
    R_OFF(WR_F16, 1),
    R_OFF(WR_BF16, 1),
    R_OFF(WR_I32, 2),
    R_OFF(WR_I64, 4),
    R_OFF(WR_KOALABEAR, 2),
    R_OFF(WR_I16, 1),
    R_OFF(WR_U16, 1),
    R_OFF(WR_U64, 4),
    R_OFF(WR_GOLDILOCKS, 4),
    R_OFF(WR_KOALABEAR_X4, 2),
    R_OFF(WR_BABYBEAR_X4, 1),
    R_OFF(WR_MERSENNE31, 3),
    CALL(MISALIGNED, "a wider output", R(output_dtype, WR_F64), R_AT(output, ARENA_OUTPUT + 4)),
    CALL(OVERLAP, "output is the input, axis 4", R_OVER(16, 4, 1024, 1024)),
    CALL(OVERLAP, "output inside the input", R_OVER(16, 4, 1024, 1124)),
    CALL(OVERLAP, "output on the input's last element", R_OVER(16, 4, 1024, 1276)),
    CALL(OVERLAP, "output's last element on the input's first", R_OVER(16, 4, 1024, 964)),
    CALL(OVERLAP, "one output inside the input", R_OVER(1, 4, 1024, 1032)),
    CALL(OVERLAP, "axis 1, moved up", R_OVER(16, 1, 1024, 1028)),
    CALL(OVERLAP, "axis 1, moved down", R_OVER(16, 1, 1024, 1020)),
    CALL(OVERLAP, "in place, wider", R_OVER(16, 1, 1024, 1024), R(output_dtype, WR_F64)),
    CALL(OVERLAP, "in place, narrower", R_OVER(16, 1, 1024, 1024), R(output_dtype, WR_BF16)),
    CALL(OVERLAP, "every second element", R_OVER(16, 1, 1024, 1024), R_STRIDES(2, 1, 1)),
    CALL(OVERLAP, "in place, backwards", R_OVER(16, 1, 1024, 1024), R_STRIDES(-1, 1, 1)),
    CALL(OVERLAP, "one element for all", R_OVER(16, 1, 1024, 1024), R_STRIDES(0, 0, 0)),
    CALL(OVERLAP, "rows that run backwards", R_OVER(8, 4, 1024, 912), R_STRIDES(-4, 1, 1)),
    FINE("output right behind the input", R_OVER(16, 4, 1024, 1280)),
    FINE("output right before the input", R_OVER(16, 4, 1024, 960)),
    FINE("axis 1, in place", R_OVER(16, 1, 1024, 1024)),
    FINE("strides written out", R_OVER(16, 1, 1024, 1024), R_STRIDES(1, 1, 1)),
    FINE("in place, another type of the same size", R_OVER(16, 1, 1024, 1024), R(dtype, WR_F16),
         R(output_dtype, WR_BF16)),
};

/* Of the header's tables: the query takes what they list, and all else is refused. */
static void check_offer(const subject *of, int offered, const setting *set, size_t count, const char *label) {
    bad_call wrong = {BY_QUERY_TOO, WR_ERROR_UNSUPPORTED, label, {{0, 0, 0, 0}}};
    memcpy(wrong.set, set, count * sizeof *set);
    if (offered) {
        check_allowed_query(of, &wrong);
    } else {
        check_bad_calls(of, &wrong, 1);
    }
}

static int contains(type_list list, int dtype) {
    size_t i;
    for (i = 0; i < list.count; ++i) {
        if ((int)list.types[i] == dtype) {
            return 1;
        }
    }
    return 0;
}

static void check_short_reduction(wr_status status, int op, int dtype, const void *input, void *output,
                                  const size_t shape[3], const char *label) {
    expect_refusal(
        status,
        wr_reduce((wr_op)op, (wr_dtype)dtype, input, output, shape[0], shape[1], shape[2], around.where->stream),
        label);
}

/* The header's table of reductions from end to end. */
static void check_reductions_of(int op, int dtype) {
    static const size_t shape[3] = {3, 4, 1};
    const int sixth = op == WR_MEAN || op == WR_NORM_L2 ? WR_F32 : 0;
    const type_list outputs = offered_outputs((wr_op)op, (wr_dtype)dtype);
    int output;
    for (output = 0; output <= LAST_DTYPE; ++output) {
        const setting set[] = {R(op, op), R(dtype, dtype), R(output_dtype, output)};
        const int offered = output == 0 ? has_default_output((wr_op)op, (wr_dtype)dtype)
                                        : is_offered((wr_op)op, (wr_dtype)dtype, (wr_dtype)output);
        check_offer(&reductions, offered, set, 3, op_name((wr_op)op));
        if (output == 0 && !offered) {
            check_short_reduction(WR_ERROR_UNSUPPORTED, op, dtype, at(ARENA_INPUT), at(ARENA_OUTPUT), shape, "short");
        }
    }
    if (outputs.count != 0) {
        const setting set[] = {R(op, op), R(dtype, dtype), R(output_dtype, outputs.types[0]), R(add_to_output, 1)};
        check_offer(&reductions, takes_add_to_output((wr_op)op), set, 4, "add_to_output");
    }
    if (dtype == WR_I32 && op != WR_SUM) {
        const setting set[] = {R(op, op), R(output_dtype, sixth), R_WEIGHTED(WR_I32, 0)};
        check_offer(&reductions, 0, set, 5, "weights with another operator than the sum");
    }
    if (dtype == WR_I32 && op != WR_ARGMIN && op != WR_ARGMAX) {
        const setting set[] = {R(op, op), R(output_dtype, sixth), R(dtype, dtype), R_AT(values, ARENA_EXTRA)};
        check_offer(&reductions, 0, set, 4, "values of another operator");
    }
}

static void check_short_reductions(void) {
    static const size_t rows[3] = {3, 4, 1}, empty[3] = {3, 0, 1}, no_rows[3] = {0, 4, 1}, no_columns[3] = {3, 4, 0},
                        nothing[3] = {0, 0, 0}, sixteen[3] = {16, 4, 1};
    void *input = at(ARENA_INPUT), *output = at(ARENA_OUTPUT);
    float sums[3] = {1.0f, 1.0f, 1.0f};
    size_t i;
    for (i = 0; i < COUNT_OF(bad_ops); ++i) {
        check_short_reduction(WR_ERROR_INVALID_OP, (int)bad_ops[i], WR_F32, input, output, rows, "op, short");
    }
    for (i = 0; i < COUNT_OF(bad_dtypes); ++i) {
        check_short_reduction(WR_ERROR_INVALID_DTYPE, WR_SUM, (int)bad_dtypes[i], input, output, rows, "dtype, short");
    }
    check_short_reduction(WR_ERROR_INVALID_DTYPE, WR_SUM, 0, input, output, rows, "dtype 0, short");
    for (i = 0; i < COUNT_OF(bad_reductions); ++i) { /* of sizes and of inputs off their boundaries */
        const bad_call *like = &bad_reductions[i];
        const setting *set = like->set;
        if (like->status == WR_ERROR_SIZE_OVERFLOW && set[4].size == 0) {
            const size_t shape[3] = {(size_t)set[1].value, (size_t)set[2].value, (size_t)set[3].value};
            check_short_reduction(like->status, WR_SUM, (int)set[0].value, input, output, shape, "sizes, short");
        } else if (like->status == WR_ERROR_MISALIGNED && strcmp(like->label, "input") == 0) {
            check_short_reduction(like->status, WR_SUM, (int)set[0].value, at((size_t)set[1].value), output, rows,
                                  "input, short");
        }
    }
    check_short_reduction(WR_ERROR_NULL_POINTER, WR_SUM, WR_F32, NULL, output, rows, "input is NULL, short");
    check_short_reduction(WR_ERROR_NULL_POINTER, WR_SUM, WR_F32, input, NULL, rows, "output is NULL, short");
    check_short_reduction(WR_ERROR_NULL_POINTER, WR_SUM, WR_F32, input, NULL, empty, "an empty axis has outputs");
    check_short_reduction(WR_ERROR_OVERLAP, WR_SUM, WR_F32, at(1024), at(1024), sixteen, "output is the input, short");
    check_short_reduction(WR_SUCCESS, WR_SUM, WR_F32, NULL, NULL, no_rows, "no rows, nothing is written");
    check_short_reduction(WR_SUCCESS, WR_SUM, WR_F32, NULL, NULL, no_columns, "no columns, nothing is written");
    check_short_reduction(WR_SUCCESS, WR_MIN, WR_F64, input, output, nothing, "nothing at all");
    CHECK(wr_reduce(WR_SUM, WR_F32, NULL, output, 3, 0, 1, around.where->stream) == WR_SUCCESS, "no input");
    place_read(around.where, output, sums, sizeof sums);
    CHECK(sums[0] == 0.0f && sums[1] == 0.0f && sums[2] == 0.0f, "sums of nothing");
    arena_reset();
}

void check_bad_reductions(void) {
    static const size_t pointers[] = {offsetof(wr_reduce_args, input), offsetof(wr_reduce_args, output)};
    static const workspace_fields fields = {offsetof(wr_reduce_args, axis), offsetof(wr_reduce_args, input),
                                            offsetof(wr_reduce_args, output), offsetof(wr_reduce_args, workspace),
                                            offsetof(wr_reduce_args, workspace_bytes)};
    static const setting most_indices[] = {R_VALUES, R(output_dtype, WR_I32), R_SHAPE(WR_I8, 1, TWO_TO(31) - 1, 1)};
    int op, dtype, weights;
    check_valid_call(&reductions, pointers, 2);
    BAD(&reductions, wr_reduce_args, op, bad_ops, WR_ERROR_INVALID_OP);
    BAD(&reductions, wr_reduce_args, dtype, bad_dtypes, WR_ERROR_INVALID_DTYPE);
    BAD(&reductions, wr_reduce_args, output_dtype, bad_dtypes, WR_ERROR_INVALID_DTYPE);
    BAD(&reductions, wr_reduce_args, accumulate_dtype, bad_dtypes, WR_ERROR_INVALID_DTYPE);
    BAD(&reductions, wr_reduce_args, nan_mode, bad_modes, WR_ERROR_INVALID_OPTION);
    BAD(&reductions, wr_reduce_args, add_to_output, bad_flags, WR_ERROR_INVALID_OPTION);
    check_bad_values(&reductions, FIELD(wr_reduce_args, dtype), &zero, 1, WR_ERROR_INVALID_DTYPE, "dtype 0");
    check_bad_calls(&reductions, bad_reductions, COUNT_OF(bad_reductions));
    check_offer(&reductions, 1, most_indices, COUNT_OF(most_indices), "i32 indices of 2^31 - 1 elements");
    for (dtype = WR_F32; dtype <= LAST_DTYPE; ++dtype) {
        for (op = WR_SUM; op <= LAST_OP; ++op) {
            check_reductions_of(op, dtype);
        }
        for (weights = WR_F32; weights <= LAST_DTYPE; ++weights) {
            const setting set[] = {R_WEIGHTED(dtype, weights)};
            check_offer(&reductions, contains(offered_weights((wr_dtype)dtype), weights), set, 3, "weights");
        }
    }
    for (op = 0; op < (int)COUNT_OF(bad_dtypes); ++op) {
        const bad_call wrong = QUERY(INVALID_DTYPE, "weights_dtype", R_WEIGHTED(WR_F32, bad_dtypes[op]));
        check_bad_calls(&reductions, &wrong, 1);
    }
    check_short_reductions();
    check_workspaces(&reductions, &fields);
}

/* ---- dot products: of 12 f32 */

static void put_dot(void *args) {
    wr_dot_args made = dot_args(WR_F32, 12);
    made.left = at(ARENA_INPUT);
    made.right = at(ARENA_EXTRA);
    made.output = at(ARENA_OUTPUT);
    memcpy(args, &made, sizeof made);
}
static wr_status dot(const void *args) { return wr_dot_ex(args, around.where->stream); }
static wr_status query_dot(const void *args, size_t *bytes) { return wr_dot_workspace_size(args, bytes); }
static const subject dots = {{dot, query_dot, sizeof(wr_dot_args)}, put_dot};

#define D(field, to) SET(wr_dot_args, field, to)
#define D_AT(field, byte) AT(wr_dot_args, field, byte)

static const bad_call bad_dots[] = {
    QUERY(INVALID_OPTION, "add_to_output", D(add_to_output, 2)),
    QUERY(UNSUPPORTED, "f32 kept in i32", D(accumulate_dtype, WR_I32)),
    QUERY(UNSUPPORTED, "f64 kept in f32", D(dtype, WR_F64), D(accumulate_dtype, WR_F32)),
    QUERY(UNSUPPORTED, "integers kept in f64", D(dtype, WR_I32), D(accumulate_dtype, WR_F64)),
    QUERY(INVALID_OP, "op", D(op, LAST_OP + 1)),
    QUERY(INVALID_OP, "op", D(op, -1)),
    QUERY(UNSUPPORTED, "an exact dot of integers", D(op, WR_DOT_EXACT), D(dtype, WR_I32)),
    QUERY(UNSUPPORTED, "an exact dot in f64", D(op, WR_DOT_EXACT), D(accumulate_dtype, WR_F64)),
    QUERY(UNSUPPORTED, "an exact dot that is added", D(op, WR_DOT_EXACT), D(add_to_output, 1)),
    FINE("a struct without op", D(struct_size, offsetof(wr_dot_args, op)), D(op, -1)),
    FINE("left and right are the same memory", D_AT(right, ARENA_INPUT)),
    FINE("left and right overlap", D_AT(right, ARENA_INPUT + 20)),
};

/* Of the short call; `left` and the like are bytes of the arena, or -1 for NULL. */
static const struct short_dot {
    wr_status status;
    int dtype;
    int left, right, output;
    size_t count;
} short_dots[] = {
    {WR_ERROR_INVALID_DTYPE, 0, ARENA_INPUT, ARENA_EXTRA, ARENA_OUTPUT, 12},
    {WR_ERROR_INVALID_DTYPE, 21, ARENA_INPUT, ARENA_EXTRA, ARENA_OUTPUT, 12},
    {WR_ERROR_INVALID_DTYPE, -1, ARENA_INPUT, ARENA_EXTRA, ARENA_OUTPUT, 12},
    {WR_ERROR_INVALID_DTYPE, WR_DTYPE_FORCE_INT32, ARENA_INPUT, ARENA_EXTRA, ARENA_OUTPUT, 12},
    {WR_ERROR_NULL_POINTER, WR_F32, -1, ARENA_EXTRA, ARENA_OUTPUT, 12},
    {WR_ERROR_NULL_POINTER, WR_F32, ARENA_INPUT, -1, ARENA_OUTPUT, 12},
    {WR_ERROR_NULL_POINTER, WR_F32, ARENA_INPUT, ARENA_EXTRA, -1, 12},
    {WR_ERROR_NULL_POINTER, WR_F32, -1, -1, -1, 0}, /* nothing has a sum too */
    {WR_ERROR_MISALIGNED, WR_F32, ARENA_INPUT + 2, ARENA_EXTRA, ARENA_OUTPUT, 12},
    {WR_ERROR_MISALIGNED, WR_F32, ARENA_INPUT, ARENA_EXTRA + 1, ARENA_OUTPUT, 12},
    {WR_ERROR_MISALIGNED, WR_F32, ARENA_INPUT, ARENA_EXTRA, ARENA_OUTPUT + 2, 12},
    {WR_ERROR_MISALIGNED, WR_GOLDILOCKS, ARENA_INPUT + 4, ARENA_EXTRA, ARENA_OUTPUT, 12},
    {WR_ERROR_OVERLAP, WR_F32, ARENA_INPUT, ARENA_EXTRA, ARENA_INPUT + 44, 12},
    {WR_ERROR_OVERLAP, WR_F32, ARENA_INPUT, ARENA_EXTRA, ARENA_EXTRA, 12},
    {WR_ERROR_OVERLAP, WR_F32, ARENA_INPUT, ARENA_EXTRA, ARENA_EXTRA, 1},
    {WR_ERROR_OVERLAP, WR_F32, ARENA_INPUT, ARENA_EXTRA, ARENA_INPUT, 1},
    {WR_ERROR_SIZE_OVERFLOW, WR_F32, ARENA_INPUT, ARENA_EXTRA, ARENA_OUTPUT, SIZE_MAX},
    {WR_ERROR_SIZE_OVERFLOW, WR_F64, ARENA_INPUT, ARENA_EXTRA, ARENA_OUTPUT, (size_t)1 << 60},
};

static void *byte_or_null(int byte) { return byte < 0 ? NULL : at((size_t)byte); }

void check_bad_dots(void) {
    static const size_t pointers[] = {offsetof(wr_dot_args, left), offsetof(wr_dot_args, right),
                                      offsetof(wr_dot_args, output)};
    float sum = 1.0f;
    int dtype, other;
    size_t i;
    check_valid_call(&dots, pointers, 3);
    check_bad_values(&dots, FIELD(wr_dot_args, dtype), &zero, 1, WR_ERROR_INVALID_DTYPE, "dtype 0");
    BAD(&dots, wr_dot_args, dtype, bad_dtypes, WR_ERROR_INVALID_DTYPE);
    BAD(&dots, wr_dot_args, right_dtype, bad_dtypes, WR_ERROR_INVALID_DTYPE);
    BAD(&dots, wr_dot_args, output_dtype, bad_dtypes, WR_ERROR_INVALID_DTYPE);
    BAD(&dots, wr_dot_args, accumulate_dtype, bad_dtypes, WR_ERROR_INVALID_DTYPE);
    check_bad_calls(&dots, bad_dots, COUNT_OF(bad_dots));
    for (i = WR_SUM; i <= LAST_OP; ++i) {
        const setting op[] = {D(op, i)};
        check_offer(&dots, i == WR_SUM || i == WR_DOT_EXACT, op, 1, op_name((wr_op)i));
    }
    for (dtype = WR_F32; dtype <= LAST_DTYPE; ++dtype) {
        for (other = WR_F32; other <= LAST_DTYPE; ++other) {
            const setting right[] = {D(dtype, dtype), D(right_dtype, other), D(output_dtype, dtype)};
            const setting output[] = {D(dtype, dtype), D(right_dtype, dtype), D(output_dtype, other)};
            const type_list rights = offered_weights((wr_dtype)dtype);
            check_offer(&dots,
                        contains(rights, other) &&
                            contains(offered_weighted_outputs((wr_dtype)dtype, (wr_dtype)other), dtype),
                        right, 3, "right_dtype");
            check_offer(&dots,
                        contains(rights, dtype) &&
                            contains(offered_weighted_outputs((wr_dtype)dtype, (wr_dtype)dtype), other),
                        output, 3, "output_dtype");
        }
    }
    for (i = 0; i < COUNT_OF(short_dots); ++i) {
        const struct short_dot *of = &short_dots[i];
        expect_refusal(of->status,
                       wr_dot((wr_dtype)of->dtype, byte_or_null(of->left), byte_or_null(of->right),
                              byte_or_null(of->output), of->count, around.where->stream),
                       "a short dot product");
    }
    CHECK(wr_dot(WR_F32, NULL, NULL, at(ARENA_OUTPUT), 0, around.where->stream) == WR_SUCCESS, "no elements");
    place_read(around.where, at(ARENA_OUTPUT), &sum, sizeof sum);
    CHECK(sum == 0.0f, "the dot product of nothing: %a", (double)sum);
    arena_reset();
}

/* ---- segments: sums of segments of 0, 3 and 5 f32; wrong offsets are segments_are_rows_of_their_own's */

static void put_segments(void *args) {
    wr_reduce_segments_args made = segments_args(WR_SUM, WR_F32, 3);
    made.input = at(ARENA_INPUT);
    made.output = at(ARENA_OUTPUT);
    made.offsets = at(ARENA_EXTRA);
    memcpy(args, &made, sizeof made);
}
static wr_status segments(const void *args) { return wr_reduce_segments_ex(args, around.where->stream); }
static wr_status query_segments(const void *args, size_t *bytes) {
    return wr_reduce_segments_workspace_size(args, bytes);
}
static const subject segmented = {{segments, query_segments, sizeof(wr_reduce_segments_args)}, put_segments};

#define S(field, to) SET(wr_reduce_segments_args, field, to)
#define S_AT(field, byte) AT(wr_reduce_segments_args, field, byte)

static const bad_call bad_segments[] = {
    QUERY(INVALID_OPTION, "nan_mode", S(nan_mode, 2)),
    QUERY(INVALID_OPTION, "add_to_output", S(add_to_output, 2)),
    QUERY(UNSUPPORTED, "a mean is not added to", S(add_to_output, 1), S(op, WR_MEAN)),
    QUERY(UNSUPPORTED, "f32 kept in f16", S(accumulate_dtype, WR_F16)),
    QUERY(UNSUPPORTED, "values of a sum", S_AT(values, ARENA_WORKSPACE)),
    CALL(NULL_POINTER, "input is NULL", S(input, 0)),
    CALL(NULL_POINTER, "output is NULL", S(output, 0)),
    CALL(NULL_POINTER, "offsets is NULL", S(offsets, 0)),
    CALL(MISALIGNED, "input", S_AT(input, ARENA_INPUT + 2)),
    CALL(MISALIGNED, "output", S_AT(output, ARENA_OUTPUT + 1)),
    CALL(MISALIGNED, "i64 offsets", S_AT(offsets, ARENA_EXTRA + 4)),
    CALL(MISALIGNED, "i32 offsets", S_AT(offsets, ARENA_EXTRA + 2), S(offsets_dtype, WR_I32)),
    CALL(OVERLAP, "the output is the offsets", S_AT(output, ARENA_EXTRA)),
    CALL(OVERLAP, "the output begins on the last offset", S_AT(output, ARENA_EXTRA + 28)),
    CALL(OVERLAP, "values on the last index", S(op, WR_ARGMAX), S_AT(values, ARENA_OUTPUT + 16)),
    CALL(OVERLAP, "values on the first offset", S(op, WR_ARGMAX), S_AT(values, ARENA_EXTRA - 8)),
    QUERY(SIZE_OVERFLOW, "the largest number of segments", S(segments, SIZE_MAX)),
    QUERY(SIZE_OVERFLOW, "2^64 bytes of offsets", S(segments, TWO_TO(61))),
    QUERY(SIZE_OVERFLOW, "more than 2^63 bytes of input", S(input_count, SIZE_MAX / 2)),
};

/* What the host device sees in the offsets before it reads an element. */
static const bad_call bad_segments_of_host[] = {
    CALL(OVERLAP, "the output on the input's last element", S_AT(output, ARENA_INPUT + 28)),
};
static const bad_call long_segments[] = {
    CALL(UNSUPPORTED, "i32 indices of 2^31 elements", S(op, WR_ARGMAX), S(output_dtype, WR_I32)),
};
static const bad_call no_segments[] = {FINE("no elements, input NULL", S(input, 0))};

/* Puts the offsets into the arena, as a part of what a refused call must leave alone. */
static void put_offsets(int64_t first, int64_t second, int64_t third, int64_t fourth) {
    const int64_t offsets[] = {first, second, third, fourth};
    memcpy(around.before + ARENA_EXTRA, offsets, sizeof offsets);
    arena_reset();
}

static void expect_short_segments(wr_status status, int op, int dtype, int input, int output, int offsets,
                                  size_t count) {
    expect_refusal(status,
                   wr_reduce_segments((wr_op)op, (wr_dtype)dtype, byte_or_null(input), byte_or_null(output),
                                      byte_or_null(offsets), count, around.where->stream),
                   "short call of segments");
}

static void check_short_segments(void) {
    size_t i;
    for (i = 0; i < COUNT_OF(bad_dtypes); ++i) {
        expect_short_segments(WR_ERROR_INVALID_OP, (int)bad_ops[i], WR_F32, ARENA_INPUT, ARENA_OUTPUT, ARENA_EXTRA, 3);
        expect_short_segments(WR_ERROR_INVALID_DTYPE, WR_SUM, (int)bad_dtypes[i], ARENA_INPUT, ARENA_OUTPUT,
                              ARENA_EXTRA, 3);
    }
    expect_short_segments(WR_ERROR_INVALID_DTYPE, WR_SUM, 0, ARENA_INPUT, ARENA_OUTPUT, ARENA_EXTRA, 3);
    expect_short_segments(WR_ERROR_NULL_POINTER, WR_SUM, WR_F32, ARENA_INPUT, ARENA_OUTPUT, -1, 3);
    expect_short_segments(WR_SUCCESS, WR_SUM, WR_F32, -1, -1, -1, 0);
}

static void check_workspace_of_segments(void) {
    wr_reduce_segments_args args;
    size_t bytes = 0, i;
    put_segments(&args);
    args.input_count = 8;
    CHECK(wr_reduce_segments_workspace_size(&args, &bytes) == WR_SUCCESS, "query");
    {
        const bad_call wrong[] = {CALL(MISALIGNED, "a workspace aligned to 8 bytes", S(input_count, 8),
                                       S_AT(workspace, ARENA_WORKSPACE + 8), S(workspace_bytes, bytes + 64)),
                                  CALL(WORKSPACE_TOO_SMALL, "a byte too few", S(input_count, 8),
                                       S_AT(workspace, ARENA_WORKSPACE), S(workspace_bytes, bytes - 1)),
                                  CALL(OVERLAP, "the workspace begins at the offsets", S(input_count, 8),
                                       S_AT(workspace, ARENA_EXTRA), S(workspace_bytes, bytes)),
                                  CALL(OVERLAP, "the workspace begins at the output", S(input_count, 8),
                                       S_AT(workspace, ARENA_OUTPUT), S(workspace_bytes, bytes))};
        for (i = 0; i < (bytes > 0 ? COUNT_OF(wrong) : 1); ++i) {
            check_bad_calls(&segmented, &wrong[i], 1);
        }
    }
}

static void check_types_of_segments(void) {
    int op, dtype, output;
    for (dtype = WR_F32; dtype <= LAST_DTYPE; ++dtype) {
        const setting offsets[] = {S(offsets_dtype, dtype)};
        check_offer(&segmented, dtype == WR_I32 || dtype == WR_I64, offsets, 1, "offsets_dtype");
        for (op = WR_SUM; op <= LAST_OP; ++op) {
            for (output = WR_F32; output <= LAST_DTYPE; ++output) {
                const setting set[] = {S(op, op), S(dtype, dtype), S(output_dtype, output)};
                check_offer(&segmented,
                            is_offered((wr_op)op, (wr_dtype)dtype, (wr_dtype)output) && is_offered_in_pieces((wr_op)op),
                            set, 3, op_name((wr_op)op));
            }
        }
    }
}

static void check_sums_of_segments(void) {
    wr_reduce_segments_args args;
    float sums[3] = {1.0f, 0.0f, 0.0f};
    put_segments(&args);
    CHECK(segments(&args) == WR_SUCCESS, "segments");
    place_read(around.where, at(ARENA_OUTPUT), sums, sizeof sums);
    CHECK(sums[0] == 0.0f && sums[1] != 0.0f && sums[2] != 0.0f, "their sums");
    arena_reset();
}

void check_bad_segments(void) {
    static const size_t pointers[] = {offsetof(wr_reduce_segments_args, input),
                                      offsetof(wr_reduce_segments_args, output),
                                      offsetof(wr_reduce_segments_args, offsets)};
    put_offsets(0, 0, 3, 8);
    check_valid_call(&segmented, pointers, 3);
    check_sums_of_segments();
    BAD(&segmented, wr_reduce_segments_args, op, bad_ops, WR_ERROR_INVALID_OP);
    BAD(&segmented, wr_reduce_segments_args, dtype, bad_dtypes, WR_ERROR_INVALID_DTYPE);
    BAD(&segmented, wr_reduce_segments_args, output_dtype, bad_dtypes, WR_ERROR_INVALID_DTYPE);
    BAD(&segmented, wr_reduce_segments_args, accumulate_dtype, bad_dtypes, WR_ERROR_INVALID_DTYPE);
    BAD(&segmented, wr_reduce_segments_args, offsets_dtype, bad_dtypes, WR_ERROR_INVALID_DTYPE);
    check_bad_values(&segmented, FIELD(wr_reduce_segments_args, dtype), &zero, 1, WR_ERROR_INVALID_DTYPE, "dtype 0");
    check_bad_calls(&segmented, bad_segments, COUNT_OF(bad_segments));
    check_types_of_segments();
    check_short_segments();
    check_workspace_of_segments();
    if (!around.where->on_gpu) {
        check_bad_calls(&segmented, bad_segments_of_host, COUNT_OF(bad_segments_of_host));
        put_offsets(0, 3, 3 + TWO_TO(31), 3 + TWO_TO(31));
        check_bad_calls(&segmented, long_segments, COUNT_OF(long_segments));
        put_offsets(7, 7, 7, 7);
        check_bad_calls(&segmented, no_segments, COUNT_OF(no_segments));
    }
}
