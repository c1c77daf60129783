#include "walk_parts.h"

#include "harness/header_offers.h"
#include "reference/reference.h"

#include <string.h>

/* A length: so many bytes of elements, and so many elements more. */
typedef struct length {
    size_t bytes, elements;
} length;

typedef struct sized_shape {
    const char *regime;
    size_t outer;
    length axis, inner;
    size_t axis_stride;
    int moved;
} sized_shape;

static const sized_shape reduce_shapes[] = {
    {"several rows a tile", 2001, {0, 64}, {0, 1}, 1, START},
    {"three vectors a thread", 3001, {0, 3}, {0, 1}, 1, START},
    {"short rows", 501, {0, 33}, {0, 1}, 1, MOVED},
    {"short rows of vectors", 1501, {1280, 0}, {0, 1}, 1, START},
    {"a row a warp", 37, {5002, 1}, {0, 1}, 1, MOVED},
    {"a row a warp, on boundaries", 37, {12288, 0}, {0, 1}, 1, START},
    {"a row a block", 3, {30001, 1}, {0, 1}, 1, MOVED},
    {"a row a block, on boundaries", 3, {32768, 0}, {0, 1}, 1, START},
    {"a row a cluster", 1, {240000, 3}, {0, 1}, 1, START},
    {"a longer row a cluster", 1, {1000000, 1}, {0, 1}, 1, MOVED},
    {"pieces of a row", 3, {1100000, 3}, {0, 1}, 1, MOVED},
    {"pieces of a row, on boundaries", 3, {1105920, 0}, {0, 1}, 1, START},
    {"a scattered row a warp", 300, {0, 101}, {0, 1}, 3, MOVED},
    {"pieces of a scattered row", 3, {0, 5001}, {0, 1}, 3, START},
    {"columns in long runs", 540, {0, 5}, {2064, 0}, 1, START},
    {"columns in short runs", 1, {0, 3001}, {256, 0}, 1, START},
    {"columns in short runs, once", 3, {0, 17}, {256, 0}, 1, START},
    {"columns in runs of many rows", 200, {0, 300}, {256, 0}, 1, START},
    {"columns in runs of all rows", 190, {0, 33}, {4096, 0}, 1, START},
    {"columns of few rows", 3, {0, 2}, {16400, 0}, 1, START},
    {"many columns of few rows", 400, {0, 2}, {8256, 0}, 1, START},
    {"single columns", 1, {0, 3001}, {528, 1}, 1, MOVED},
    {"single columns, once", 7, {0, 10}, {528, 1}, 1, MOVED},
    {"narrow columns", 2001, {0, 5}, {0, 3}, 1, START},
    {"narrow columns in groups", 1, {0, 30001}, {0, 3}, 1, MOVED},
    {"an empty axis", 5, {0, 0}, {0, 1}, 1, START},
};
enum { REDUCE_SHAPES = sizeof reduce_shapes / sizeof *reduce_shapes };

static const ragged raggeds[] = {
    {"one huge segment among tiny ones", 3001, 3, 700001},
    {"segments of up to 1024", 300, 1024, 0},
    {"tiny segments", 20001, 8, 0},
    {"empty segments", 501, 0, 0},
};
enum { RAGGEDS = sizeof raggeds / sizeof *raggeds };

/* Sums and products of floats that are kept in f64 have kernels of their own, and so have means that leave NaNs out. */
static const reduction special_sums[] = {{WR_SUM, WR_F32, WR_F64, 0},
                                         {WR_SUM, WR_F16, WR_F64, 0},
                                         {WR_SUM, WR_BF16, WR_F64, 0},
                                         {WR_SUM, WR_F8_E5M2, WR_F64, 0},
                                         {WR_PRODUCT, WR_F32, WR_F64, 0},
                                         {WR_PRODUCT, WR_BF16, WR_F64, 0},
                                         {WR_PRODUCT, WR_F8_E4M3, WR_F64, 0},
                                         {WR_NORM_L2, WR_F32, WR_F64, 0},
                                         {WR_MEAN, WR_F16, WR_F64, 0},
                                         {WR_NORM_L1, WR_F8_E4M3, WR_F64, 0},
                                         {WR_MEAN, WR_F32, WR_F32, 1},
                                         {WR_MEAN, WR_F32, WR_F64, 1},
                                         {WR_MEAN, WR_F64, WR_F64, 1},
                                         {WR_MEAN, WR_F16, WR_F32, 1},
                                         {WR_MEAN, WR_BF16, WR_F64, 1},
                                         {WR_MEAN, WR_F8_E4M3, WR_F32, 1},
                                         {WR_MEAN, WR_F8_E5M2, WR_F64, 1},
                                         {WR_NORM_L2, WR_F32, WR_F32, 0},
                                         {WR_NORM_L2, WR_BF16, WR_F32, 0},
                                         {WR_NORM_L2, WR_F64, WR_F64, 0},
                                         {WR_PRODUCT, WR_I8, WR_F64, 0},
                                         {WR_PRODUCT, WR_I16, WR_F64, 0},
                                         {WR_PRODUCT, WR_I32, WR_F64, 0},
                                         {WR_PRODUCT, WR_I64, WR_F64, 0},
                                         {WR_SUM_OF_SQUARES, WR_I16, WR_F64, 0},
                                         {WR_SUM_OF_SQUARES, WR_I32, WR_F64, 0},
                                         {WR_SUM, WR_I64, WR_F64, 0}};
enum { SPECIAL_SUMS = sizeof special_sums / sizeof *special_sums };

static const weighting special_weightings[] = {{WR_SUM, WR_F32, WR_F32, WR_F64},
                                               {WR_SUM, WR_F16, WR_F16, WR_F64},
                                               {WR_SUM, WR_BF16, WR_BF16, WR_F64},
                                               {WR_SUM, WR_F8_E4M3, WR_F8_E4M3, WR_F64},
                                               {WR_SUM, WR_I16, WR_I16, WR_F64},
                                               {WR_SUM, WR_I32, WR_I32, WR_F64},
                                               {WR_SUM, WR_I64, WR_I64, WR_F64},
                                               {WR_SUM_EXACT, WR_F32, WR_F32, (wr_dtype)0},
                                               {WR_SUM_EXACT, WR_F64, WR_F64, (wr_dtype)0},
                                               {WR_SUM_EXACT, WR_BF16, WR_BF16, (wr_dtype)0},
                                               {WR_SUM_EXACT, WR_F8_E4M3, WR_F8_E4M3, (wr_dtype)0}};
enum { SPECIAL_WEIGHTINGS = sizeof special_weightings / sizeof *special_weightings };

int shape_is_contiguous(const shape *of) { return of->axis_stride == 1 && of->gap == 0; }

size_t shape_row(const shape *of) { return of->axis * of->axis_stride * of->inner + of->gap; }

size_t shape_elements(const shape *of) {
    if (shape_is_contiguous(of)) {
        return of->outer * of->axis * of->inner;
    }
    return (of->outer - 1) * shape_row(of) + (of->axis - 1) * of->axis_stride + 1;
}

static shape shape_for(const sized_shape *sized, wr_dtype dtype) {
    size_t size = reference_size(dtype);
    shape made = {NULL, 0, 0, 0, 0, 0};
    made.regime = sized->regime;
    made.outer = sized->outer;
    made.axis = sized->axis.bytes / size + sized->axis.elements;
    made.inner = sized->inner.bytes / size + sized->inner.elements;
    made.axis_stride = sized->axis_stride;
    made.gap = sized->axis_stride != 1;
    return made;
}

/* Of segments one kind a job, for they take thousands of blocks each. Logsumexp of rows and columns is softmax's. */
static void walk_everywhere(const reduction *job, const walker *by) {
    size_t i, turn = (size_t)job->op + (size_t)job->dtype;
    if (job->op != WR_LOGSUMEXP) {
        for (i = 0; i < REDUCE_SHAPES; ++i) {
            shape of = shape_for(&reduce_shapes[i], job->dtype);
            by->reduce(job, &of, reduce_shapes[i].moved);
        }
    }
    if (is_offered_in_pieces(job->op)) {
        by->segments(job, &raggeds[turn % RAGGEDS], turn / RAGGEDS % 2 != 0);
    }
}

/* The others go through the same kernels as one of these, and integers without a sign through those of integers with.
 */
static const wr_op operators[] = {WR_SUM, WR_PRODUCT, WR_MIN,     WR_ARGMIN,    WR_MEAN,     WR_SUM_OF_SQUARES,
                                  WR_ANY, WR_BIT_AND, WR_BIT_XOR, WR_LOGSUMEXP, WR_SUM_EXACT};
enum { OPERATORS = sizeof operators / sizeof *operators };

static void walk_operators(wr_dtype first, wr_dtype last, const walker *by) {
    size_t i;
    int dtype;
    for (i = 0; i < OPERATORS; ++i) {
        for (dtype = (int)first; dtype <= (int)last; ++dtype) {
            reduction job = {operators[i], (wr_dtype)dtype, (wr_dtype)0, 0};
            if (offered_outputs(job.op, job.dtype).count > 0) {
                walk_everywhere(&job, by);
            }
        }
    }
}

static void walk_wide_floats(const walker *by) { walk_operators(WR_F32, WR_F64, by); }
static void walk_narrow_floats(const walker *by) { walk_operators(WR_F16, WR_F8_E5M2, by); }
static void walk_special_sums(const walker *by) {
    size_t i;
    for (i = 0; i < SPECIAL_SUMS; ++i) {
        walk_everywhere(&special_sums[i], by);
    }
}
static void walk_integers(const walker *by) { walk_operators(WR_I8, WR_I64, by); }
static void walk_fields(const walker *by) { walk_operators(WR_KOALABEAR, (wr_dtype)LAST_DTYPE, by); }

/* Of rows that are short, and of ones that are so short that a thread takes one. */
static void walk_short_rows_of_states(const reduction *job, wr_dtype weights, const walker *by) {
    static const shape shorter = {"nodes of very short rows", 17000, 5, 1, 1, 0},
                       longer = {"nodes of short rows", 264, 200, 1, 1, 0};
    by->nodes(job, weights, &shorter);
    by->nodes(job, weights, &longer);
}

/* Of every class of operators whose states have several nodes. */
static void walk_nodes(const walker *by) {
    static const reduction jobs[] = {
        {WR_SUM, WR_F32, (wr_dtype)0, 0},     {WR_SUM, WR_F64, (wr_dtype)0, 0},
        {WR_SUM, WR_F16, (wr_dtype)0, 0},     {WR_SUM, WR_BF16, (wr_dtype)0, 0},
        {WR_SUM, WR_F8_E4M3, (wr_dtype)0, 0}, {WR_SUM, WR_F8_E5M2, (wr_dtype)0, 0},
        {WR_NORM_L1, WR_F32, (wr_dtype)0, 0}, {WR_NORM_L1, WR_F64, (wr_dtype)0, 0},
        {WR_NORM_L1, WR_F16, (wr_dtype)0, 0}, {WR_NORM_L1, WR_F8_E4M3, (wr_dtype)0, 0},
        {WR_SUM, WR_F32, WR_F64, 0},          {WR_SUM, WR_F16, WR_F64, 0},
        {WR_SUM, WR_F8_E4M3, WR_F64, 0},      {WR_SUM, WR_F32, (wr_dtype)0, 1},
        {WR_SUM, WR_F64, (wr_dtype)0, 1},     {WR_SUM, WR_F16, (wr_dtype)0, 1},
        {WR_SUM, WR_F8_E4M3, (wr_dtype)0, 1}, {WR_SUM, WR_F32, WR_F64, 1},
        {WR_SUM, WR_F16, WR_F64, 1},          {WR_SUM, WR_F8_E4M3, WR_F64, 1},
        {WR_NORM_L2, WR_F32, (wr_dtype)0, 0}, {WR_NORM_L2, WR_BF16, (wr_dtype)0, 0},
        {WR_NORM_L2, WR_F64, (wr_dtype)0, 0},
    };
    static const reduction weighted[] = {
        {WR_SUM, WR_F32, (wr_dtype)0, 0},     {WR_SUM, WR_F64, (wr_dtype)0, 0}, {WR_SUM, WR_F16, (wr_dtype)0, 0},
        {WR_SUM, WR_F8_E4M3, (wr_dtype)0, 0}, {WR_SUM, WR_F32, WR_F64, 0},      {WR_SUM, WR_F16, WR_F64, 0},
        {WR_SUM, WR_F8_E4M3, WR_F64, 0},
    };
    size_t i;
    for (i = 0; i < sizeof jobs / sizeof *jobs; ++i) {
        walk_short_rows_of_states(&jobs[i], (wr_dtype)0, by);
    }
    for (i = 0; i < sizeof weighted / sizeof *weighted; ++i) {
        walk_short_rows_of_states(&weighted[i], weighted[i].dtype, by);
    }
}

static void walk_weighting(const weighting *job, const walker *by) {
    size_t i;
    for (i = 0; i < REDUCE_SHAPES; ++i) {
        shape of = shape_for(&reduce_shapes[i], job->dtype);
        by->weigh(job, &of, reduce_shapes[i].moved);
    }
}

static void walk_weights(const walker *by) {
    int dtype;
    size_t i;
    for (dtype = WR_F32; dtype <= LAST_DTYPE; ++dtype) {
        type_list weights = offered_weights((wr_dtype)dtype);
        for (i = 0; i < weights.count; ++i) {
            weighting job = {WR_SUM, (wr_dtype)dtype, weights.types[i], (wr_dtype)0};
            walk_weighting(&job, by);
        }
    }
    for (i = 0; i < SPECIAL_WEIGHTINGS; ++i) {
        walk_weighting(&special_weightings[i], by);
    }
}

/* Every operator, where there is one for the type, and the other calls on every size of element; the last tile is
 * short, and some lanes are no members. */
static void walk_tiles(const walker *by) {
    tile_call call = {TILE_VOTE, WR_VOTE_ALL, WR_I32, 1001, 16, 0x5F7F};
    int dtype;
    by->tiles(&call);
    for (dtype = WR_F32; dtype <= LAST_DTYPE; ++dtype) {
        call.dtype = (wr_dtype)dtype;
        for (call.kind = TILE_REDUCE, call.what = WR_SUM; call.what < WR_LOGSUMEXP; ++call.what) {
            by->tiles(&call);
        }
        for (call.kind = TILE_MATCH, call.what = WR_MATCH_ANY; call.what <= WR_MATCH_ALL; ++call.what) {
            by->tiles(&call);
        }
        call.kind = TILE_SHUFFLE;
        call.argument = 5;
        for (call.what = WR_SHUFFLE_UP; call.what <= WR_SHUFFLE_INDEX; ++call.what) {
            by->tiles(&call);
        }
    }
}

static const struct {
    const char *name;
    void (*walk)(const walker *);
} parts[] = {
    {"integers", walk_integers},
    {"narrow_floats", walk_narrow_floats},
    {"many_columns", walk_many_columns},
    {"softmax_of_wide", walk_softmax_of_wide},
    {"softmax_of_16_bits", walk_softmax_of_16_bits},
    {"fields", walk_fields},
    {"wide_floats", walk_wide_floats},
    {"special_sums", walk_special_sums},
    {"weights", walk_weights},
    {"nodes", walk_nodes},
    {"many_rows", walk_many_rows},
    {"many_gradients", walk_many_gradients},
    {"softmax_of_8_bits", walk_softmax_of_8_bits},
    {"tiles", walk_tiles},
    {"uneven_rows", walk_uneven_rows},
    {"softmax_in_pieces", walk_softmax_in_pieces},
    {"many_wide_clusters", walk_many_wide_clusters},
    {"large", walk_large},
};
enum { PARTS = sizeof parts / sizeof *parts, FOR_SOME_TOOLS = 2 };

const char *walk_part(size_t number) { return number < PARTS ? parts[number].name : NULL; }

int walk_part_is_for_every_tool(size_t number) { return number < PARTS - FOR_SOME_TOOLS; }

int walk(const char *part, const walker *by) {
    size_t i;
    for (i = 0; i < PARTS; ++i) {
        if (strcmp(part, parts[i].name) == 0) {
            parts[i].walk(by);
            return 1;
        }
    }
    return 0;
}
