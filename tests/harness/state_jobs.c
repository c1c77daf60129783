#include "harness/state_jobs.h"

#include "harness/harness.h"
#include "harness/softmax_jobs.h"

#include <string.h>

enum { LEFT, RIGHT, WHOLE };

static size_t first_of(const cut_job *of, int which) { return which == RIGHT ? of->axis / 3 : 0; }
static size_t count_of(const cut_job *of, int which) {
    return which == LEFT ? of->axis / 3 : which == RIGHT ? of->axis - of->axis / 3 : of->axis;
}

static wr_state_args args_of(const cut_job *of, int which) {
    wr_state_args args;
    memset(&args, 0, sizeof args);
    args.struct_size = sizeof args;
    args.op = of->op;
    args.dtype = of->dtype;
    args.outer = of->outer;
    args.inner = of->inner;
    args.first = first_of(of, which);
    args.count = count_of(of, which);
    return args;
}

static size_t size_of(const cut_job *of, int which, size_t *workspace_bytes) {
    const wr_state_args args = args_of(of, which);
    size_t bytes = 0;
    const wr_status status = wr_state_size(&args, &bytes, workspace_bytes);
    CHECK(status == WR_SUCCESS, "the size of a state: %s", wr_status_name(status));
    return (bytes + 15) / 16 * 16;
}

size_t bytes_of_states(const cut_job *of) {
    return size_of(of, LEFT, NULL) + size_of(of, RIGHT, NULL) + size_of(of, WHOLE, NULL);
}

size_t workspace_of_states(const cut_job *of) {
    size_t left = 0, right = 0;
    size_of(of, LEFT, &left);
    size_of(of, RIGHT, &right);
    return left > right ? left : right;
}

static wr_state_args merge_args(const cut_job *of, void *states) {
    wr_state_args args = args_of(of, LEFT);
    args.right_count = count_of(of, RIGHT);
    args.state = states;
    args.state_bytes = size_of(of, LEFT, NULL);
    args.right = (unsigned char *)states + args.state_bytes;
    args.right_bytes = size_of(of, RIGHT, NULL);
    args.merged = (unsigned char *)states + args.state_bytes + args.right_bytes;
    args.merged_bytes = size_of(of, WHOLE, NULL);
    return args;
}

static size_t bytes_before(const cut_job *of, int which) {
    return first_of(of, which) * of->inner * wr_dtype_size(of->dtype);
}

wr_status reduce_by_states(const cut_job *of, const void *input, void *states, void *output, void *values,
                           void *workspace, size_t workspace_bytes, struct CUstream_st *stream) {
    const wr_state_args merge = merge_args(of, states);
    wr_state_args finish = args_of(of, WHOLE);
    wr_status status = WR_SUCCESS;
    int which;
    for (which = LEFT; which <= RIGHT && status == WR_SUCCESS; ++which) {
        wr_state_args args = args_of(of, which);
        args.input = (const unsigned char *)input + bytes_before(of, which);
        args.state = which == LEFT ? states : (unsigned char *)states + merge.state_bytes;
        args.state_bytes = which == LEFT ? merge.state_bytes : merge.right_bytes;
        args.workspace = workspace;
        args.workspace_bytes = workspace_bytes;
        status = wr_state_reduce(&args, stream);
    }
    finish.state = merge.merged;
    finish.state_bytes = merge.merged_bytes;
    finish.output = output;
    finish.values = values;
    status = status == WR_SUCCESS ? wr_state_merge(&merge, stream) : status;
    return status == WR_SUCCESS ? wr_state_finish(&finish, stream) : status;
}

static wr_softmax_args piece_args(const cut_job *of, const void *input, void *output, int which) {
    wr_softmax_args args = softmax_args(of->dtype, of->outer, count_of(of, which), of->inner);
    args.input = (const unsigned char *)input + bytes_before(of, which);
    args.output = (unsigned char *)output + of->outer * bytes_before(of, which);
    args.strides_given = 1;
    args.outer_stride = (ptrdiff_t)(of->axis * of->inner);
    args.axis_stride = (ptrdiff_t)of->inner;
    args.inner_stride = 1;
    return args;
}

wr_status softmax_by_states(const cut_job *of, const void *input, void *states, void *output,
                            struct CUstream_st *stream) {
    const wr_state_args merge = merge_args(of, states);
    wr_status status = WR_SUCCESS;
    int which;
    for (which = LEFT; which <= RIGHT && status == WR_SUCCESS; ++which) {
        const wr_softmax_args args = piece_args(of, input, output, which);
        void *const state = which == LEFT ? states : (unsigned char *)states + merge.state_bytes;
        status = wr_softmax_state(&args, first_of(of, which), state,
                                  which == LEFT ? merge.state_bytes : merge.right_bytes, NULL, stream);
    }
    status = status == WR_SUCCESS ? wr_state_merge(&merge, stream) : status;
    for (which = LEFT; which <= RIGHT && status == WR_SUCCESS; ++which) {
        const wr_softmax_args args = piece_args(of, input, output, which);
        status =
            wr_softmax_from_state(&args, first_of(of, which), of->axis, merge.merged,
                                  which == LEFT ? NULL : merge.state, which == LEFT ? merge.right : NULL, NULL, stream);
    }
    return status;
}
