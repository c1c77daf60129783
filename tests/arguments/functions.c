/* The functions that are called wrongly: their fields by name, and a right call of each. */
#include "arguments/bad_arguments.h"

#define STREAM around.where->stream
#define RUN(name, type, call)                                                                                          \
    static wr_status name(const void *args) {                                                                          \
        const type *of = args;                                                                                         \
        return call;                                                                                                   \
    }
/* A function that takes a struct, with its query. */
#define RUN_STRUCT(name)                                                                                               \
    static wr_status run_##name(const void *args) { return wr_##name##_ex(args, STREAM); }                             \
    static wr_status query_##name(const void *args, size_t *bytes) { return wr_##name##_workspace_size(args, bytes); }

/* Fields of the struct that ARGS names, some of which several structs have. */
#define FIELD(name) {#name, offsetof(ARGS, name), sizeof(((ARGS *)0)->name)}
#define NO_MORE {NULL, 0, 0}
#define TYPES FIELD(op), FIELD(dtype), FIELD(output_dtype), FIELD(accumulate_dtype)
#define STRIDES FIELD(outer_stride), FIELD(axis_stride), FIELD(inner_stride), FIELD(strides_given)
#define SHAPE FIELD(outer), FIELD(axis), FIELD(inner)
#define WORKSPACE FIELD(workspace), FIELD(workspace_bytes)
#define ROWS                                                                                                           \
    FIELD(dtype), FIELD(log), FIELD(empty_row), FIELD(scale), FIELD(causal), FIELD(causal_rows), FIELD(mask),          \
        FIELD(lengths), FIELD(offsets), FIELD(scales), FIELD(input), FIELD(output), FIELD(logsumexp)
#define SOFTMAX_ROWS ROWS, FIELD(struct_size), FIELD(output_dtype), FIELD(causal_first), FIELD(maximum)

/* ---- reductions, of 3 rows of 4; dot products, of 12; sums of segments of 0, 3 and 5 */

RUN_STRUCT(reduce)
RUN(reduce_short, wr_reduce_args,
    wr_reduce(of->op, of->dtype, of->input, of->output, of->outer, of->axis, of->inner, STREAM))
#define ARGS wr_reduce_args
static const field of_reduce[] = {TYPES,           FIELD(weights_dtype),
                                  FIELD(nan_mode), FIELD(add_to_output),
                                  FIELD(input),    FIELD(weights),
                                  FIELD(output),   FIELD(values),
                                  SHAPE,           STRIDES,
                                  WORKSPACE,       NO_MORE};
#undef ARGS
static const char right_reduce[] = "op=sum dtype=f32 outer=3 axis=4 inner=1 input=@i output=@o";

RUN_STRUCT(dot)
RUN(dot_short, wr_dot_args, wr_dot(of->dtype, of->left, of->right, of->output, of->count, STREAM))
#define ARGS wr_dot_args
static const field of_dot[] = {TYPES,
                               FIELD(struct_size),
                               FIELD(right_dtype),
                               FIELD(add_to_output),
                               FIELD(left),
                               FIELD(right),
                               FIELD(output),
                               FIELD(count),
                               WORKSPACE,
                               NO_MORE};
#undef ARGS
static const char right_dot[] = "dtype=f32 count=12 left=@i right=@x output=@o";

RUN_STRUCT(reduce_segments)
RUN(segments_short, wr_reduce_segments_args,
    wr_reduce_segments(of->op, of->dtype, of->input, of->output, of->offsets, of->segments, STREAM))
#define ARGS wr_reduce_segments_args
static const field of_segments[] = {
    TYPES,         FIELD(nan_mode), FIELD(add_to_output), FIELD(offsets_dtype), FIELD(input), FIELD(output),
    FIELD(values), FIELD(offsets),  FIELD(segments),      FIELD(input_count),   WORKSPACE,    NO_MORE};
#undef ARGS
static const char right_segments[] = "op=sum dtype=f32 segments=3 input=@i output=@o offsets=@x [@x]=0/0/3/8";

/* ---- softmax of 3 rows of 4 with their logsumexp, and the gradient of as many */

RUN_STRUCT(softmax)
RUN(softmax_short, wr_softmax_args,
    wr_softmax(of->dtype, of->input, of->output, of->outer, of->axis, of->inner, STREAM))
RUN(log_softmax_short, wr_softmax_args,
    wr_log_softmax(of->dtype, of->input, of->output, of->outer, of->axis, of->inner, STREAM))
#define ARGS wr_softmax_args
static const field of_softmax[] = {SOFTMAX_ROWS, SHAPE, STRIDES, WORKSPACE, NO_MORE};
#undef ARGS
static const char right_softmax[] = "dtype=f32 outer=3 axis=4 inner=1 input=@i output=@o logsumexp=@x";

RUN_STRUCT(softmax_backward)
RUN(gradient_short, wr_softmax_backward_args,
    wr_softmax_backward(of->dtype, of->output, of->output_gradient, of->input_gradient, of->outer, of->axis, of->inner,
                        STREAM))
RUN(log_gradient_short, wr_softmax_backward_args,
    wr_log_softmax_backward(of->dtype, of->output, of->output_gradient, of->input_gradient, of->outer, of->axis,
                            of->inner, STREAM))
#define ARGS wr_softmax_backward_args
static const field of_gradient[] = {ROWS,
                                    FIELD(output_gradient_dtype),
                                    FIELD(input_gradient_dtype),
                                    FIELD(add_to_input_gradient),
                                    FIELD(output_gradient),
                                    FIELD(input_gradient),
                                    SHAPE,
                                    STRIDES,
                                    FIELD(gradient_outer_stride),
                                    FIELD(gradient_axis_stride),
                                    FIELD(gradient_inner_stride),
                                    WORKSPACE,
                                    NO_MORE};
#undef ARGS
static const char right_gradient[] = "dtype=f32 outer=3 axis=4 inner=1 output=@i output_gradient=@o input_gradient=@x";

/* ---- states: of 2 x 11 x 3 f32, three nodes; what is wrong in a state's bytes is told by others */

RUN(reduce_piece, wr_state_args, wr_state_reduce(of, STREAM))
RUN(merge_pieces, wr_state_args, wr_state_merge(of, STREAM))
RUN(finish_whole, wr_state_args, wr_state_finish(of, STREAM))
static wr_status query_state(const void *args, size_t *bytes) {
    size_t found = 0, workspace = 0, *const wanted = bytes == NULL ? NULL : &found;
    const wr_status status = wr_state_size(args, wanted, &workspace);
    if (status == WR_SUCCESS && bytes != NULL) {
        *bytes = workspace;
    }
    return status;
}
#define ARGS wr_state_args
static const field of_state[] = {
    TYPES,         FIELD(weights_dtype), FIELD(nan_mode),    FIELD(scale),       FIELD(outer),   FIELD(inner),
    FIELD(first),  FIELD(count),         FIELD(right_count), FIELD(input),       FIELD(weights), STRIDES,
    FIELD(state),  FIELD(state_bytes),   FIELD(right),       FIELD(right_bytes), FIELD(merged),  FIELD(merged_bytes),
    FIELD(output), FIELD(values),        FIELD(check),       WORKSPACE,          NO_MORE};
#undef ARGS
#define PIECE "op=sum dtype=f32 outer=2 inner=3 count=11 first=5 state_bytes=2048 "
static const char right_state[] = PIECE "input=@i state=@o check=@x";
static const char right_merge[] =
    PIECE "right_count=7 state=@i right=@o merged=@x right_bytes=2048 merged_bytes=2048 check=@w";
static const char right_finish[] = PIECE "first=0 count=16 state=@i output=@o check=@x";

/* ---- softmax by states: 2 rows of elements 5 .. 15 of 30 f32, in one base block with what is beside them */

typedef struct by_states {
    wr_softmax_args softmax;
    size_t first, count, state_bytes;
    void *state; /* to be written; or of the whole */
    const void *before, *after;
    int32_t *check;
} by_states;

RUN(softmax_state, by_states, wr_softmax_state(&of->softmax, of->first, of->state, of->state_bytes, of->check, STREAM))
RUN(softmax_from_state, by_states,
    wr_softmax_from_state(&of->softmax, of->first, of->count, of->state, of->before, of->after, of->check, STREAM))
#define PIECE_FIELD(name) {#name, offsetof(by_states, name), sizeof(((by_states *)0)->name)}
#define ARGS wr_softmax_args
static const field of_pieces[] = {SOFTMAX_ROWS,
                                  SHAPE,
                                  STRIDES,
                                  WORKSPACE,
                                  PIECE_FIELD(first),
                                  PIECE_FIELD(count),
                                  PIECE_FIELD(state_bytes),
                                  PIECE_FIELD(state),
                                  PIECE_FIELD(before),
                                  PIECE_FIELD(after),
                                  PIECE_FIELD(check),
                                  NO_MORE};
#undef ARGS
#define ROWS_OF_PIECES "dtype=f32 outer=2 axis=11 inner=1 input=@i first=5 count=30 state=@o state_bytes=2048 check=@w "
static const char right_softmax_state[] = ROWS_OF_PIECES;
static const char right_softmax_outputs[] = ROWS_OF_PIECES "before=@o+1024 after=@o+2048 output=@x";

/* ---- tiles: 100 lanes of i32 in tiles of 8 */

typedef struct tile_args {
    size_t struct_size;
    int op, dtype; /* operator, mode, vote or match */
    const void *input;
    void *output;
    size_t count;
    uint32_t width, operand, members;
} tile_args;

#define LANES of->input, of->output, of->count, of->width
RUN(tile_reduce, tile_args, wr_tile_reduce((wr_op)of->op, (wr_dtype)of->dtype, LANES, STREAM))
RUN(tile_shuffle, tile_args, wr_tile_shuffle((wr_shuffle)of->op, (wr_dtype)of->dtype, LANES, of->operand, STREAM))
RUN(tile_vote, tile_args, wr_tile_vote((wr_vote)of->op, LANES, of->members, STREAM))
RUN(tile_match, tile_args, wr_tile_match((wr_match)of->op, (wr_dtype)of->dtype, LANES, of->members, STREAM))
#define ARGS tile_args
static const field of_tile[] = {FIELD(op),    FIELD(dtype),   FIELD(input),   FIELD(output), FIELD(count),
                                FIELD(width), FIELD(operand), FIELD(members), NO_MORE};
#undef ARGS
static const char right_tile[] = "op=1 dtype=i32 count=100 width=8 operand=3 members=127 input=@i output=@o";

#define EX(name, fields)                                                                                               \
    {"wr_" #name "_ex", {run_##name, query_##name, sizeof(wr_##name##_args)}, of_##fields, right_##fields}
#define SHORT(name, run, args, fields) {name, {run, NULL, sizeof(args)}, of_##fields, right_##fields}
#define STATE_OF(name, run, right) {name, {run, query_state, sizeof(wr_state_args)}, of_state, right_##right}
#define PIECE_OF(name, run, right) {name, {run, NULL, sizeof(wr_softmax_args)}, of_pieces, right_##right}
const function functions[FUNCTIONS] = {
    EX(reduce, reduce),
    SHORT("wr_reduce", reduce_short, wr_reduce_args, reduce),
    EX(dot, dot),
    SHORT("wr_dot", dot_short, wr_dot_args, dot),
    EX(reduce_segments, segments),
    SHORT("wr_reduce_segments", segments_short, wr_reduce_segments_args, segments),
    EX(softmax, softmax),
    SHORT("wr_softmax", softmax_short, wr_softmax_args, softmax),
    SHORT("wr_log_softmax", log_softmax_short, wr_softmax_args, softmax),
    EX(softmax_backward, gradient),
    SHORT("wr_softmax_backward", gradient_short, wr_softmax_backward_args, gradient),
    SHORT("wr_log_softmax_backward", log_gradient_short, wr_softmax_backward_args, gradient),
    STATE_OF("wr_state_reduce", reduce_piece, state),
    STATE_OF("wr_state_merge", merge_pieces, merge),
    STATE_OF("wr_state_finish", finish_whole, finish),
    PIECE_OF("wr_softmax_state", softmax_state, softmax_state),
    PIECE_OF("wr_softmax_from_state", softmax_from_state, softmax_outputs),
    SHORT("wr_tile_reduce", tile_reduce, tile_args, tile),
    SHORT("wr_tile_shuffle", tile_shuffle, tile_args, tile),
    SHORT("wr_tile_vote", tile_vote, tile_args, tile),
    SHORT("wr_tile_match", tile_match, tile_args, tile),
};
