#include "torch/jobs.h"

#include "calls.h"
#include "simple_calls.h"
#include "simple_support.h"
#include "torch/workspace.h"

#include <string.h>

static const Outcome general_way;

static Outcome failed(const char *message) { return (Outcome){NULL, message}; }

enum { TORCH_I64 = 4, TORCH_F32 = 6, TORCH_F64 = 7, TORCH_BOOL = 11, TORCH_U8 = 0 };

/* The arguments that a workspace's size depends on: of arrays only whether there are weights, which the types say. */
static Args without_arrays(Call call, const Args *args) {
    Args kept = *args;
    if (call == CALL_REDUCE) {
        kept.reduce.input = kept.reduce.weights = NULL;
        kept.reduce.output = NULL;
    } else if (call == CALL_SOFTMAX) {
        kept.softmax.input = NULL;
        kept.softmax.output = NULL;
    } else {
        kept.softmax_backward.output = kept.softmax_backward.output_gradient = NULL;
        kept.softmax_backward.input_gradient = NULL;
    }
    return kept;
}

/* Jobs come again and again: what the last one of the thread was told is remembered. */
static wr_status workspace_again(Call call, const Args *args, size_t *bytes) {
    static _Thread_local struct {
        Args of;
        Call call;
        size_t bytes;
    } last;
    Args asked = without_arrays(call, args);
    if (last.call == call && memcmp(&last.of, &asked, sizeof asked) == 0) {
        *bytes = last.bytes;
        return WR_SUCCESS;
    }
    wr_status status = workspace_of_call(wr_library, call, args, bytes);
    if (status == WR_SUCCESS) {
        last.of = asked;
        last.call = call;
        last.bytes = *bytes;
    }
    return status;
}

/* On a GPU the partial results' memory is PyTorch's: it is free for what follows on the stream when this returns. */
static wr_status run_with_workspace(Call call, Args *args, const Tensor *x, struct CUstream_st *stream) {
    size_t size = 0;
    wr_status status = workspace_again(call, args, &size);
    if (status != WR_SUCCESS || size == 0) {
        return status != WR_SUCCESS ? status : run_call(wr_library, call, args, stream);
    }
    int64_t bytes = (int64_t)size;
    void *memory = NULL;
    KeptWorkspace *kept = take_workspace(x, stream, size, &memory);
    if (kept != NULL) {
        set_workspace(call, args, memory, size);
        status = run_call(wr_library, call, args, stream);
        give_workspace_back(kept);
        return status;
    }
    TorchTensor *workspace = new_tensor(1, &bytes, TORCH_U8, x);
    if (workspace == NULL || torch.get_mutable_data(workspace, &memory) != 0) {
        return WR_ERROR_OUT_OF_MEMORY;
    }
    set_workspace(call, args, memory, size);
    status = run_call(wr_library, call, args, stream);
    (void)torch.delete_tensor(workspace);
    return status;
}

/* CUDA's default stream is of the current device; others say themselves whose they are. */
static wr_status run_on_gpu(Call call, Args *args, const Tensor *x, struct CUstream_st *stream) {
    int32_t current = x->device_index;
    TorchGuard *guard = NULL;
    if (stream == NULL && (torch.current_device(&current) != 0 ||
                           (current != x->device_index && torch.new_guard(x->device_index, &guard) != 0))) {
        return WR_ERROR_NO_DEVICE;
    }
    wr_status status = run_with_workspace(call, args, x, stream);
    if (guard != NULL) {
        (void)torch.delete_guard(guard);
    }
    return status;
}

/* The outcome of a job whose result is `output`, which is given up where the job is. */
static Outcome run(Call call, Args *args, const Tensor *x, TorchTensor *output) {
    struct CUstream_st *stream = NULL;
    wr_status status = WR_ERROR_NO_DEVICE;
    if (stream_of(x, &stream) == 0) {
        status =
            x->device_type == TORCH_CPU ? run_call(wr_library, call, args, stream) : run_on_gpu(call, args, x, stream);
    }
    if (status == WR_SUCCESS) {
        return (Outcome){output, NULL};
    }
    (void)torch.delete_tensor(output);
    return status == WR_ERROR_UNSUPPORTED ? general_way : failed(wr_library->wr_status_string(status));
}

static int lie_beside(const Tensor *x, const Tensor *y) {
    return x->device_type == y->device_type && x->device_index == y->device_index;
}

/* ---- reductions */

/* The result's type by PyTorch's rules; -1: not here. */
static int32_t result_type(const Tensor *x, const Reduction *job) {
    int whole = !is_float(x->dtype);
    switch (job->op) {
    case WR_ARGMIN:
    case WR_ARGMAX:
        return x->type == TORCH_BOOL ? NO_TYPE : TORCH_I64;
    case WR_SUM:
    case WR_PRODUCT:
        if (job->type == NO_TYPE) {
            return whole ? TORCH_I64 : x->type;
        }
        if (job->type == TORCH_BOOL || (!whole && !is_float(dtype_of_type(job->type)))) {
            return NO_TYPE;
        }
        return job->type;
    case WR_MIN:
    case WR_MAX:
        return x->type;
    case WR_LOGSUMEXP:
        return whole ? NO_TYPE : x->type;
    case WR_SUM_EXACT:
        if (job->type == NO_TYPE) {
            return whole ? NO_TYPE : x->type;
        }
        return !whole && is_float(dtype_of_type(job->type)) ? job->type : NO_TYPE;
    default: /* means and norms */
        if (job->type == NO_TYPE) {
            return whole ? NO_TYPE : x->type;
        }
        return is_float(dtype_of_type(job->type)) && !(whole && job->op != WR_MEAN) ? job->type : NO_TYPE;
    }
}

/* PyTorch refuses these of nothing, each in its own words. */
static int gives_nothing_of_nothing(wr_op op) {
    return op == WR_MIN || op == WR_MAX || op == WR_ARGMIN || op == WR_ARGMAX || op == WR_NORM_MAX;
}

static int result_sizes(const Tensor *x, const Reduction *job, int64_t *sizes, int *nothing) {
    int rank = 0;
    *nothing = 0;
    for (int d = 0; d < x->shape.rank; ++d) {
        if ((job->dimensions >> d & 1) == 0) {
            sizes[rank++] = x->sizes[d];
        } else {
            *nothing |= x->sizes[d] == 0;
            if (job->keepdim) {
                sizes[rank++] = 1;
            }
        }
    }
    return rank;
}

static Args reduction(const Tensor *x, const Reduction *job, int result, const Plan *plan) {
    Args args = empty_args(CALL_REDUCE);
    wr_reduce_args *reduce = &args.reduce;
    reduce->op = job->op;
    reduce->dtype = (wr_dtype)x->dtype;
    reduce->output_dtype = (wr_dtype)result;
    if (is_summed_in_f64(job->op, x->dtype, result)) {
        reduce->accumulate_dtype = WR_F64;
    }
    reduce->input = x->data;
    SET_PLAN(reduce, plan);
    return args;
}

/* With weights, one for each place along the axis, or NULL. */
static Outcome reduce_weighted(const Tensor *x, const Tensor *weights, const Reduction *job) {
    int64_t sizes[MOST_DIMENSIONS];
    int nothing = 0;
    if (x->dtype < WR_F32) {
        return general_way;
    }
    int32_t type = result_type(x, job);
    int result = dtype_of_type(type);
    Plan plan;
    int rank = result_sizes(x, job, sizes, &nothing);
    if (result == 0 || (nothing && gives_nothing_of_nothing(job->op)) ||
        !plan_reduction(&x->shape, job->dimensions, weights == NULL && takes_any_order(job->op, (wr_dtype)x->dtype),
                        &plan) ||
        !plan.natural) {
        return general_way;
    }
    TorchTensor *output = new_result(rank, sizes, type, x);
    if (output == NULL) {
        return failed("there was no memory for the result");
    }
    Args args = reduction(x, job, result, &plan);
    if (weights != NULL) {
        args.reduce.weights = weights->data;
        args.reduce.weights_dtype = (wr_dtype)weights->dtype;
    }
    (void)torch.get_mutable_data(output, &args.reduce.output);
    return run(CALL_REDUCE, &args, x, output);
}

Outcome reduce_tensor(const Tensor *x, const Reduction *job) { return reduce_weighted(x, NULL, job); }

Outcome dot_tensors(const Tensor *x, const Tensor *y, int exact, int32_t type) {
    int last = x->shape.rank - 1;
    if (last < 0 || y->shape.rank != 1 || x->sizes[last] != y->sizes[0] || x->type != y->type ||
        is_bool_type(x->type) || (y->sizes[0] > 1 && y->shape.strides[0] != y->shape.item_size) || !lie_beside(x, y)) {
        return general_way;
    }
    Reduction job = {exact ? WR_SUM_EXACT : WR_SUM, UINT64_C(1) << last, 0, type};
    return reduce_weighted(x, y, &job);
}

/* ---- rows */

/* Bit `dimension`; none of a tensor without dimensions, whose one element is a row. */
static uint64_t row_dimension(const Tensor *x, const Rows *job) {
    return x->shape.rank == 0 ? 0 : UINT64_C(1) << job->dimension;
}

Outcome softmax_tensor(const Tensor *x, const Rows *job) {
    int32_t type = job->type == NO_TYPE ? x->type : job->type;
    int result = dtype_of_type(type);
    Plan plan;
    if (!is_float(x->dtype) || !is_float(result) || (result == WR_F64 && x->dtype != WR_F64) ||
        !plan_rows(&x->shape, row_dimension(x, job), &plan)) {
        return general_way;
    }
    TorchTensor *output = new_result(x->shape.rank, x->sizes, type, x);
    if (output == NULL) {
        return failed("there was no memory for the result");
    }
    Args args = empty_args(CALL_SOFTMAX);
    wr_softmax_args *softmax = &args.softmax;
    softmax->dtype = (wr_dtype)x->dtype;
    softmax->output_dtype = (wr_dtype)result;
    softmax->log = job->log;
    softmax->input = x->data;
    SET_PLAN(softmax, &plan);
    (void)torch.get_mutable_data(output, &softmax->output);
    return run(CALL_SOFTMAX, &args, x, output);
}

static int same_sizes(const Tensor *x, const Tensor *y) {
    return x->shape.rank == y->shape.rank &&
           memcmp(x->sizes, y->sizes, (size_t)x->shape.rank * sizeof *x->sizes) == 0 && lie_beside(x, y);
}

Outcome softmax_backward_tensor(const Tensor *output, const Tensor *gradient, const Rows *job) {
    int result = dtype_of_type(job->type);
    int wide = (result == WR_F64) + (output->dtype == WR_F64) + (gradient->dtype == WR_F64);
    uint64_t dimension = row_dimension(output, job);
    Plan plan, other;
    if (!same_sizes(output, gradient) || !is_float(result) || !is_float(output->dtype) || !is_float(gradient->dtype) ||
        (wide != 0 && wide != 3) || !plan_rows(&output->shape, dimension, &plan) ||
        !plan_rows(&gradient->shape, dimension, &other)) {
        return general_way;
    }
    TorchTensor *made = new_result(output->shape.rank, output->sizes, job->type, output);
    if (made == NULL) {
        return failed("there was no memory for the result");
    }
    Args args = empty_args(CALL_SOFTMAX_BACKWARD);
    wr_softmax_backward_args *backward = &args.softmax_backward;
    backward->dtype = (wr_dtype)output->dtype;
    backward->output_gradient_dtype = (wr_dtype)gradient->dtype;
    backward->input_gradient_dtype = (wr_dtype)result;
    backward->log = job->log;
    backward->output = output->data;
    backward->output_gradient = gradient->data;
    SET_PLAN(backward, &plan);
    SET_GRADIENT_PLAN(backward, &other);
    (void)torch.get_mutable_data(made, &backward->input_gradient);
    return run(CALL_SOFTMAX_BACKWARD, &args, output, made);
}
