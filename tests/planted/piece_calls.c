#include "piece_calls.h"

#include "reference/reference.h"

#include <string.h>

size_t piece_cut(size_t axis) { return axis % 2048 == 0 ? axis / 2 : axis * 3 / 5 | 1; }

static wr_state_args state_args(const wr_softmax_args *of, size_t first, size_t count) {
    wr_state_args args;
    memset(&args, 0, sizeof args);
    args.struct_size = sizeof args;
    args.op = WR_LOGSUMEXP;
    args.dtype = of->dtype;
    args.outer = of->outer;
    args.inner = of->inner;
    args.first = first;
    args.count = count;
    args.scale = of->scale;
    return args;
}

size_t piece_state_bytes(const wr_softmax_args *args, size_t first, size_t count) {
    wr_state_args of_piece = state_args(args, first, count);
    size_t bytes = 0;
    return wr_state_size(&of_piece, &bytes, NULL) == WR_SUCCESS ? bytes : 0;
}

static wr_softmax_args piece_args(const wr_softmax_args *whole, size_t first, size_t count) {
    wr_softmax_args args = *whole;
    args.strides_given = 1;
    args.outer_stride = (ptrdiff_t)(whole->axis * whole->inner);
    args.axis_stride = (ptrdiff_t)whole->inner;
    args.inner_stride = 1;
    args.axis = count;
    args.input = (const char *)whole->input + first * whole->inner * reference_size(whole->dtype);
    return args;
}

/* The same with a selection that leaves nothing out. */
static wr_softmax_args selecting(const wr_softmax_args *all, size_t axis) {
    wr_softmax_args args = *all;
    args.causal = 1;
    args.causal_first = (int64_t)axis;
    args.causal_rows = 1;
    return args;
}

static wr_status write_state(const wr_softmax_args *whole, size_t first, size_t count, void *state, int32_t *check,
                             struct CUstream_st *stream) {
    wr_softmax_args args = piece_args(whole, first, count);
    return wr_softmax_state(&args, first, state, piece_state_bytes(whole, first, count), check, stream);
}

static wr_status merge(const wr_softmax_args *whole, const piece_memory *memory, void *merged,
                       struct CUstream_st *stream) {
    size_t cut = piece_cut(whole->axis);
    wr_state_args args = state_args(whole, 0, cut);
    args.right_count = whole->axis - cut;
    args.state = memory->left;
    args.state_bytes = piece_state_bytes(whole, 0, cut);
    args.right = memory->right;
    args.right_bytes = piece_state_bytes(whole, cut, args.right_count);
    args.merged = merged;
    args.merged_bytes = piece_state_bytes(whole, 0, whole->axis);
    args.check = memory->check;
    return wr_state_merge(&args, stream);
}

static wr_status finish(const wr_softmax_args *whole, const piece_memory *memory, struct CUstream_st *stream) {
    wr_state_args args = state_args(whole, 0, whole->axis);
    args.state = memory->whole;
    args.state_bytes = piece_state_bytes(whole, 0, whole->axis);
    args.output = memory->sums;
    args.check = memory->check;
    return wr_state_finish(&args, stream);
}

/* A sum of the same rows, through the same memory. */
static wr_status sum_in_pieces(const wr_softmax_args *whole, const piece_memory *memory, struct CUstream_st *stream) {
    const size_t cut = piece_cut(whole->axis);
    wr_softmax_args right = piece_args(whole, cut, whole->axis - cut);
    wr_state_args args = state_args(whole, 0, cut);
    wr_status status;
    args.op = WR_SUM;
    args.scale = 0;
    args.strides_given = 1;
    args.outer_stride = right.outer_stride;
    args.axis_stride = right.axis_stride;
    args.inner_stride = right.inner_stride;
    args.input = whole->input;
    args.state = memory->left;
    args.state_bytes = piece_state_bytes(whole, 0, cut);
    args.check = memory->check;
    status = wr_state_reduce(&args, stream);
    if (status == WR_SUCCESS) {
        args.first = cut;
        args.count = right.axis;
        args.input = right.input;
        args.state = memory->right;
        args.state_bytes = piece_state_bytes(whole, cut, right.axis);
        status = wr_state_reduce(&args, stream);
    }
    args.first = 0;
    args.count = cut;
    args.right_count = right.axis;
    args.right = args.state;
    args.right_bytes = args.state_bytes;
    args.state = memory->left;
    args.state_bytes = piece_state_bytes(whole, 0, cut);
    args.merged = memory->whole;
    args.merged_bytes = piece_state_bytes(whole, 0, whole->axis);
    if (status == WR_SUCCESS) {
        status = wr_state_merge(&args, stream);
    }
    args.count = whole->axis;
    args.state = memory->whole;
    args.state_bytes = args.merged_bytes;
    args.output = memory->sums;
    return status == WR_SUCCESS ? wr_state_finish(&args, stream) : status;
}

wr_status softmax_in_pieces(const wr_softmax_args *args, const piece_memory *memory, struct CUstream_st *stream) {
    size_t cut = piece_cut(args->axis), count = args->axis - cut;
    wr_softmax_args outputs = piece_args(args, cut, count);
    wr_status status = sum_in_pieces(args, memory, stream);
    wr_softmax_args selected = selecting(args, args->axis), logarithms;
    if (status == WR_SUCCESS) {
        status = write_state(&selected, 0, cut, memory->left, memory->check, stream);
    }
    outputs.output = memory->output;
    selected = selecting(&outputs, args->axis);
    logarithms = outputs;
    logarithms.log = 1;
    if (status == WR_SUCCESS) {
        status = write_state(args, 0, cut, memory->left, memory->check, stream);
    }
    if (status == WR_SUCCESS) {
        status = write_state(args, cut, count, memory->right, memory->check, stream);
    }
    if (status == WR_SUCCESS) {
        status = merge(args, memory, memory->whole, stream);
    }
    if (status == WR_SUCCESS) {
        status = finish(args, memory, stream);
    }
    if (status == WR_SUCCESS) {
        status =
            wr_softmax_from_state(&selected, cut, args->axis, memory->whole, memory->left, NULL, memory->check, stream);
    }
    if (status == WR_SUCCESS) {
        status = wr_softmax_from_state(&logarithms, cut, args->axis, memory->whole, NULL, NULL, memory->check, stream);
    }
    if (status == WR_SUCCESS) {
        status =
            wr_softmax_from_state(&outputs, cut, args->axis, memory->whole, memory->left, NULL, memory->check, stream);
    }
    return status == WR_SUCCESS ? merge(args, memory, memory->left, stream) : status;
}

wr_state_args node_args(const reduction *job, wr_dtype weights, const shape *of) {
    wr_state_args args;
    memset(&args, 0, sizeof args);
    args.struct_size = sizeof args;
    args.op = job->op;
    args.dtype = job->dtype;
    args.accumulate_dtype = job->accumulate;
    args.nan_mode = job->ignore_nan ? WR_NAN_IGNORE : WR_NAN_PROPAGATE;
    args.weights_dtype = weights;
    args.outer = of->outer;
    args.inner = of->inner;
    args.first = NODES_BEGIN;
    args.count = of->axis;
    if (wr_state_size(&args, &args.state_bytes, NULL) != WR_SUCCESS) {
        args.state_bytes = 0;
    }
    return args;
}
