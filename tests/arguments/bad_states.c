/* States: making, merging, finishing, and softmax by them. What is wrong in a state's bytes is told by others. */
#include "arguments/bad_arguments.h"
#include "harness/harness.h"
#include "harness/softmax_jobs.h"

#include <string.h>

#define S(field, to) SET(wr_state_args, field, to)
#define S_AT(field, byte) AT(wr_state_args, field, byte)
enum { ROOM = 2048 };

static wr_status query_state(const void *args, size_t *bytes) {
    size_t workspace = 0, found = 0, *const wanted = bytes == NULL ? NULL : &found;
    const wr_status status = wr_state_size(args, wanted, &workspace);
    if (status == WR_SUCCESS && bytes != NULL) {
        *bytes = workspace;
    }
    return status;
}

static wr_state_args state_args(void) {
    wr_state_args made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    made.op = WR_SUM;
    made.dtype = WR_F32;
    made.outer = 2;
    made.inner = 3;
    made.first = 5;
    made.count = 11;
    return made;
}

/* ---- a piece: 2 x 11 x 3 f32, three nodes */

static void put_piece(void *args) {
    wr_state_args made = state_args();
    made.input = at(ARENA_INPUT);
    made.state = at(ARENA_OUTPUT);
    made.state_bytes = ROOM;
    made.check = at(ARENA_EXTRA);
    memcpy(args, &made, sizeof made);
}
static wr_status reduce_piece(const void *args) { return wr_state_reduce(args, around.where->stream); }
static const subject pieces = {{reduce_piece, query_state, sizeof(wr_state_args)}, put_piece};

static const bad_call bad_pieces[] = {
    QUERY(INVALID_OP, "no operator", S(op, 0)),
    QUERY(INVALID_OP, "an operator that nobody knows", S(op, 999)),
    QUERY(INVALID_DTYPE, "no type", S(dtype, 0)),
    QUERY(INVALID_DTYPE, "an output type that nobody knows", S(output_dtype, 99)),
    QUERY(INVALID_DTYPE, "an accumulator that nobody knows", S(accumulate_dtype, 99)),
    QUERY(INVALID_DTYPE, "weights of a type that nobody knows", S(weights_dtype, 99)),
    QUERY(INVALID_OPTION, "a NaN mode that nobody knows", S(nan_mode, 2)),
    QUERY(INVALID_OPTION, "strides_given is 2", S(strides_given, 2)),
    QUERY(INVALID_OPTION, "a stride that is not given", S(inner_stride, 1)),
    QUERY(INVALID_OPTION, "a scale, of a sum", S(scale, 0x3FF0000000000000)),
    QUERY(UNSUPPORTED, "a float as a field element", S(op, WR_BIT_XOR)),
    QUERY(UNSUPPORTED, "the exact dot product is one of two vectors", S(op, WR_DOT_EXACT)),
    QUERY(SIZE_OVERFLOW, "elements from 2^63 on", S(first, INT64_MIN)),
    QUERY(SIZE_OVERFLOW, "an end beyond 2^63", S(first, INT64_MAX)),
    QUERY(SIZE_OVERFLOW, "a state of 2^64 bytes", S(outer, TWO_TO(31)), S(inner, TWO_TO(31))),
    CALL(NULL_POINTER, "input is NULL", S(input, 0)),
    CALL(NULL_POINTER, "state is NULL", S(state, 0)),
    CALL(NULL_POINTER, "weights are NULL, of which there is a type", S(weights_dtype, WR_F32)),
    CALL(MISALIGNED, "input", S_AT(input, ARENA_INPUT + 2)),
    CALL(MISALIGNED, "weights", S_AT(weights, ARENA_WORKSPACE + 2)),
    CALL(MISALIGNED, "state on 8 bytes", S_AT(state, ARENA_OUTPUT + 8)),
    CALL(MISALIGNED, "check", S_AT(check, ARENA_EXTRA + 2)),
    CALL(MISALIGNED, "workspace on 8 bytes", S_AT(workspace, ARENA_WORKSPACE + 8), S(workspace_bytes, ROOM)),
    CALL(INVALID_STATE, "a byte too few", S(state_bytes, 128 + 4 * 3 * 6 - 1)),
    CALL(INVALID_STATE, "no bytes", S(state_bytes, 0)),
    CALL(OVERLAP, "the state is the input", S_AT(state, ARENA_INPUT)),
    CALL(OVERLAP, "the state ends on the input", S_AT(input, ARENA_OUTPUT + 128)),
    CALL(OVERLAP, "the state is the weights", S_AT(weights, ARENA_OUTPUT + 144)),
    CALL(OVERLAP, "check within the state", S_AT(check, ARENA_OUTPUT + 124)),
    CALL(OVERLAP, "check within the input", S_AT(check, ARENA_INPUT + 4)),
    CALL(OVERLAP, "check within the weights", S_AT(weights, ARENA_EXTRA - 40)),
    CALL(OVERLAP, "the workspace is the state", S_AT(workspace, ARENA_OUTPUT), S(workspace_bytes, ROOM)),
    CALL(OVERLAP, "the workspace is the input", S_AT(workspace, ARENA_INPUT), S(workspace_bytes, ROOM)),
    FINE("just enough bytes", S(state_bytes, 128 + 4 * 3 * 6)),
    FINE("no check", S(check, 0)),
    FINE("an empty piece of nothing", S(count, 0), S(input, 0)),
};

/* ---- merging: what is read is no state, so that no call succeeds */

static void put_merge(void *args) {
    wr_state_args made = state_args();
    made.right_count = 7;
    made.state = at(ARENA_INPUT);
    made.right = at(ARENA_OUTPUT);
    made.merged = at(ARENA_EXTRA);
    made.state_bytes = made.right_bytes = made.merged_bytes = ROOM;
    made.check = at(ARENA_WORKSPACE);
    memcpy(args, &made, sizeof made);
}
static wr_status merge_pieces(const void *args) { return wr_state_merge(args, around.where->stream); }
static const subject merges = {{merge_pieces, query_state, sizeof(wr_state_args)}, put_merge};

static const bad_call bad_merges[] = {
    QUERY(INVALID_OP, "no operator", S(op, 0)),
    QUERY(INVALID_DTYPE, "no type", S(dtype, 0)),
    QUERY(INVALID_OPTION, "a stride that is not given", S(outer_stride, 1)),
    QUERY(SIZE_OVERFLOW, "elements from 2^63 on", S(first, INT64_MIN)),
    CALL(SIZE_OVERFLOW, "a right end beyond 2^63", S(right_count, INT64_MAX)),
    CALL(NULL_POINTER, "state is NULL", S(state, 0)),
    CALL(NULL_POINTER, "right is NULL", S(right, 0)),
    CALL(NULL_POINTER, "merged is NULL", S(merged, 0)),
    CALL(MISALIGNED, "state", S_AT(state, ARENA_INPUT + 4)),
    CALL(MISALIGNED, "right", S_AT(right, ARENA_OUTPUT + 8)),
    CALL(MISALIGNED, "merged", S_AT(merged, ARENA_EXTRA + 8)),
    CALL(MISALIGNED, "check", S_AT(check, ARENA_WORKSPACE + 1)),
    CALL(INVALID_STATE, "state has a byte too few", S(state_bytes, 128 + 4 * 3 * 6 - 1)),
    CALL(INVALID_STATE, "right has none", S(right_bytes, 0)),
    CALL(INVALID_STATE, "merged has its header alone", S(merged_bytes, 128)),
    CALL(OVERLAP, "merged is the right one", S_AT(merged, ARENA_OUTPUT)),
    CALL(OVERLAP, "merged begins on the left one's last bytes", S_AT(merged, ARENA_INPUT + 192)),
    CALL(OVERLAP, "check in the left one", S_AT(check, ARENA_INPUT + 4)),
    CALL(OVERLAP, "check in the right one", S_AT(check, ARENA_OUTPUT + 4)),
    CALL(OVERLAP, "check in the merged one", S_AT(check, ARENA_EXTRA + 4)),
    CALL(OVERLAP, "in place, and check within", S_AT(merged, ARENA_INPUT), S_AT(check, ARENA_INPUT + 60)),
};

/* ---- finishing: likewise */

static void put_finish(void *args) {
    wr_state_args made = state_args();
    made.first = 0;
    made.count = 16;
    made.state = at(ARENA_INPUT);
    made.state_bytes = ROOM;
    made.output = at(ARENA_OUTPUT);
    made.check = at(ARENA_EXTRA);
    memcpy(args, &made, sizeof made);
}
static wr_status finish_whole(const void *args) { return wr_state_finish(args, around.where->stream); }
static const subject finishes = {{finish_whole, query_state, sizeof(wr_state_args)}, put_finish};

static const bad_call bad_finishes[] = {
    QUERY(INVALID_OP, "no operator", S(op, 0)),
    QUERY(UNSUPPORTED, "a state of a bit operator on floats", S(op, WR_BIT_AND)),
    QUERY(SIZE_OVERFLOW, "2^63 elements", S(count, INT64_MIN)),
    CALL(NOT_NEIGHBOUR, "first is 1", S(first, 1)),
    CALL(UNSUPPORTED, "values of a sum", S_AT(values, ARENA_WORKSPACE)),
    CALL(NULL_POINTER, "state is NULL", S(state, 0)),
    CALL(NULL_POINTER, "output is NULL", S(output, 0)),
    CALL(MISALIGNED, "state", S_AT(state, ARENA_INPUT + 8)),
    CALL(MISALIGNED, "output", S_AT(output, ARENA_OUTPUT + 2)),
    CALL(MISALIGNED, "indices", S(op, WR_ARGMAX), S_AT(output, ARENA_OUTPUT + 4)),
    CALL(MISALIGNED, "values", S(op, WR_ARGMAX), S_AT(values, ARENA_WORKSPACE + 2)),
    CALL(MISALIGNED, "check", S_AT(check, ARENA_EXTRA + 3)),
    CALL(INVALID_STATE, "the header alone", S(state_bytes, 128)),
    CALL(OVERLAP, "output in the state", S_AT(output, ARENA_INPUT + 128)),
    CALL(OVERLAP, "check in the state", S_AT(check, ARENA_INPUT)),
    CALL(OVERLAP, "check in the output", S_AT(check, ARENA_OUTPUT + 20)),
    CALL(OVERLAP, "values are the indices", S(op, WR_ARGMAX), S_AT(values, ARENA_OUTPUT)),
};

/* ---- softmax by states: 2 rows of elements 5 .. 15 of 30 f32, in one base block with what is beside them */

typedef struct by_states {
    wr_softmax_args softmax;
    size_t first, count, state_bytes;
    void *state; /* to be written; or of the whole */
    const void *before, *after;
    int32_t *check;
} by_states;

static by_states softmax_piece(void) {
    by_states made;
    memset(&made, 0, sizeof made);
    made.softmax = softmax_args(WR_F32, 2, 11, 1);
    made.softmax.input = at(ARENA_INPUT);
    made.first = 5;
    made.count = 30;
    made.state = at(ARENA_OUTPUT);
    made.state_bytes = ROOM;
    made.check = at(ARENA_WORKSPACE);
    return made;
}
static void put_softmax_state(void *args) {
    const by_states made = softmax_piece();
    memcpy(args, &made, sizeof made);
}
static void put_softmax_outputs(void *args) {
    by_states made = softmax_piece();
    made.before = at(ARENA_OUTPUT + 1024);
    made.after = at(ARENA_OUTPUT + 2048);
    made.softmax.output = at(ARENA_EXTRA);
    memcpy(args, &made, sizeof made);
}
static wr_status write_softmax_state(const void *args) {
    const by_states *of = args;
    return wr_softmax_state(&of->softmax, of->first, of->state, of->state_bytes, of->check, around.where->stream);
}
static wr_status write_softmax_outputs(const void *args) {
    const by_states *of = args;
    return wr_softmax_from_state(&of->softmax, of->first, of->count, of->state, of->before, of->after, of->check,
                                 around.where->stream);
}
static wr_status query_nothing(const void *args, size_t *bytes) {
    (void)args;
    (void)bytes;
    return WR_SUCCESS;
}
static const subject softmax_states = {{write_softmax_state, query_nothing, sizeof(by_states)}, put_softmax_state};
static const subject softmax_outputs = {{write_softmax_outputs, query_nothing, sizeof(by_states)}, put_softmax_outputs};

#define B(field, to) SET(by_states, field, to)
#define B_AT(field, byte) AT(by_states, field, byte)

/* What both calls look at. */
static const bad_call bad_softmax_pieces[] = {
    CALL(STRUCT_SIZE, "a struct of another size", B(softmax.struct_size, 8)),
    CALL(INVALID_DTYPE, "no type", B(softmax.dtype, 0)),
    CALL(UNSUPPORTED, "integers", B(softmax.dtype, WR_I32)),
    CALL(INVALID_OPTION, "log is 2", B(softmax.log, 2)),
    CALL(INVALID_OPTION, "empty_row is 2", B(softmax.empty_row, 2)),
    CALL(INVALID_OPTION, "an infinite scale", B(softmax.scale, 0x7FF0000000000000)),
    CALL(INVALID_OPTION, "causal of rows that nobody has counted", B(softmax.causal, 1)),
    CALL(INVALID_OPTION, "causal_rows without causal", B(softmax.causal_rows, 1)),
    CALL(INVALID_OPTION, "a stride that is not given", B(softmax.axis_stride, 1)),
    CALL(UNSUPPORTED, "offsets", B_AT(softmax.offsets, ARENA_INPUT + 2048)),
    CALL(UNSUPPORTED, "scales", B_AT(softmax.scales, ARENA_INPUT + 2048)),
    CALL(SIZE_OVERFLOW, "elements from 2^63 on", B(first, INT64_MIN)),
    CALL(SIZE_OVERFLOW, "more rows than there can be", B(softmax.outer, TWO_TO(62))),
    CALL(NULL_POINTER, "input is NULL", B(softmax.input, 0)),
    CALL(NULL_POINTER, "state is NULL", B(state, 0)),
    CALL(MISALIGNED, "input", B_AT(softmax.input, ARENA_INPUT + 2)),
    CALL(MISALIGNED, "state on 8 bytes", B_AT(state, ARENA_OUTPUT + 8)),
    CALL(MISALIGNED, "check", B_AT(check, ARENA_WORKSPACE + 2)),
    CALL(MISALIGNED, "lengths", B_AT(softmax.lengths, ARENA_INPUT + 1028)),
    CALL(OVERLAP, "check in the state", B_AT(check, ARENA_OUTPUT + 8)),
    CALL(OVERLAP, "check in the input", B_AT(check, ARENA_INPUT + 8)),
    CALL(OVERLAP, "check in the mask", B_AT(softmax.mask, ARENA_WORKSPACE - 20)),
    CALL(OVERLAP, "check in the lengths", B_AT(softmax.lengths, ARENA_WORKSPACE - 8)),
};
static const bad_call bad_softmax_states[] = {
    CALL(INVALID_STATE, "a byte too few", B(state_bytes, 128 + 2 * 11 * 4 - 1)),
    CALL(MISALIGNED, "workspace", B_AT(softmax.workspace, ARENA_EXTRA + 8), B(softmax.workspace_bytes, ROOM)),
    CALL(OVERLAP, "the state is the input", B_AT(state, ARENA_INPUT)),
    CALL(OVERLAP, "the workspace in the input", B_AT(softmax.workspace, ARENA_INPUT + 16),
         B(softmax.workspace_bytes, ROOM)),
    FINE("just enough bytes", B(state_bytes, 128 + 2 * 11 * 4)),
};
static const bad_call bad_softmax_outputs[] = {
    CALL(NOT_NEIGHBOUR, "a whole that ends before the piece", B(count, 15)),
    CALL(SIZE_OVERFLOW, "a whole of 2^63 elements", B(count, INT64_MIN)),
    CALL(NULL_POINTER, "output is NULL", B(softmax.output, 0)),
    CALL(NULL_POINTER, "before is NULL, in the middle of a base block", B(before, 0)),
    CALL(NULL_POINTER, "after is NULL, in the middle of a base block", B(after, 0)),
    CALL(MISALIGNED, "output", B_AT(softmax.output, ARENA_EXTRA + 2)),
    CALL(MISALIGNED, "before", B_AT(before, ARENA_OUTPUT + 1032)),
    CALL(MISALIGNED, "after", B_AT(after, ARENA_OUTPUT + 2052)),
    CALL(OVERLAP, "output in the whole's state", B_AT(softmax.output, ARENA_OUTPUT + 128)),
    CALL(OVERLAP, "output in before", B_AT(softmax.output, ARENA_OUTPUT + 1024 + 128)),
    CALL(OVERLAP, "output in after", B_AT(softmax.output, ARENA_OUTPUT + 2048 - 40)),
    CALL(OVERLAP, "output moved up by one element", B_AT(softmax.output, ARENA_INPUT + 4)),
    CALL(OVERLAP, "check in the output", B_AT(check, ARENA_EXTRA)),
};

void check_bad_states(void) {
    const size_t pointers[] = {offsetof(wr_state_args, input), offsetof(wr_state_args, state),
                               offsetof(wr_state_args, check), offsetof(wr_state_args, workspace)};
    check_valid_call(&pieces, pointers, COUNT_OF(pointers));
    check_bad_calls(&pieces, bad_pieces, COUNT_OF(bad_pieces));
    check_bad_calls(&merges, bad_merges, COUNT_OF(bad_merges));
    check_bad_calls(&finishes, bad_finishes, COUNT_OF(bad_finishes));
    check_bad_calls(&softmax_states, bad_softmax_pieces, COUNT_OF(bad_softmax_pieces));
    check_bad_calls(&softmax_states, bad_softmax_states, COUNT_OF(bad_softmax_states));
    check_bad_calls(&softmax_outputs, bad_softmax_pieces, COUNT_OF(bad_softmax_pieces));
    check_bad_calls(&softmax_outputs, bad_softmax_outputs, COUNT_OF(bad_softmax_outputs));
    expect_refusal(WR_ERROR_NULL_POINTER, wr_state_merge(NULL, around.where->stream), "merging NULL");
    expect_refusal(WR_ERROR_NULL_POINTER, wr_state_finish(NULL, around.where->stream), "finishing NULL");
    expect_refusal(WR_ERROR_NULL_POINTER, wr_softmax_state(NULL, 0, at(0), ROOM, NULL, around.where->stream),
                   "the state of NULL");
    expect_refusal(WR_ERROR_NULL_POINTER,
                   wr_softmax_from_state(NULL, 0, 1, at(0), NULL, NULL, NULL, around.where->stream), "outputs of NULL");
}
