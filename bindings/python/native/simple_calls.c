#include "simple_calls.h"

#include "geometry.h"
#include "simple_support.h"

#include <string.h>

static int result_shape(const Shape *shape, uint64_t reduced, int keepdims, ptrdiff_t *lengths) {
    int rank = 0;
    for (int d = 0; d < shape->rank; ++d) {
        if ((reduced >> d & 1) == 0) {
            lengths[rank++] = shape->lengths[d];
        } else if (keepdims) {
            lengths[rank++] = 1;
        }
    }
    return rank;
}

static void set_plan(const Plan *plan, wr_reduce_args *args) {
    args->outer = plan->outer;
    args->axis = plan->axis;
    args->inner = plan->inner;
    args->outer_stride = plan->outer_stride;
    args->axis_stride = plan->axis_stride;
    args->inner_stride = plan->inner_stride;
    args->strides_given = 1;
}

int takes_any_order(wr_op op, wr_dtype dtype) {
    switch (op) {
    case WR_SUM:
    case WR_PRODUCT:
        return dtype >= WR_I8;
    case WR_MIN:
    case WR_MAX:
    case WR_NORM_MAX:
    case WR_ANY:
    case WR_ALL:
    case WR_COUNT_NONZERO:
        return 1;
    default:
        return 0;
    }
}

static int gives_nothing_of_nothing(wr_op op) {
    return op == WR_MIN || op == WR_MAX || op == WR_ARGMIN || op == WR_ARGMAX;
}

/* A result of f64 is summed in f64. */
static int is_summed_in_f64(wr_op op, int dtype, int output) {
    int sums = op == WR_SUM || op == WR_PRODUCT || op == WR_MEAN || op == WR_NORM_L1 || op == WR_NORM_L2;
    return sums && is_float(dtype) && dtype != WR_F64 && output == WR_F64;
}

static wr_reduce_args reduction(wr_op op, const NumpyArray *x, const Plan *plan, int output) {
    wr_reduce_args args;
    memset(&args, 0, sizeof args);
    args.struct_size = sizeof args;
    args.op = op;
    args.dtype = (wr_dtype)x->dtype;
    args.output_dtype = (wr_dtype)output;
    if (is_summed_in_f64(op, x->dtype, output)) {
        args.accumulate_dtype = WR_F64;
    }
    args.input = x->data;
    set_plan(plan, &args);
    return args;
}

/* Of `args` without an output. */
static PyObject *run_reduction(wr_reduce_args *args, PyObject *x, PyObject *out, int rank, const ptrdiff_t *lengths,
                               Result result) {
    NumpyArray target;
    PyObject *array = place_for_result(x, out, rank, lengths, result, &target);
    if (array == NULL) {
        return PyErr_Occurred() != NULL ? NULL : not_simple();
    }
    args->output = target.data;
    PyThreadState *state = PyEval_SaveThread();
    wr_status status = wr_library->wr_reduce_ex(args, wr_library->wr_host_stream());
    PyEval_RestoreThread(state);
    return finished_result(status, array, out, &target);
}

static PyObject *reduce_view(wr_op op, PyObject *x, const NumpyArray *view, PyObject *axis, int keepdims,
                             PyObject *dtype, PyObject *out) {
    uint64_t reduced = 0;
    Plan plan;
    ptrdiff_t lengths[MOST_DIMENSIONS];
    Result result = result_asked_for(op, view, dtype);
    if (view->dtype == 0 || result.dtype == 0 || !reduced_dimensions(axis, view->shape.rank, &reduced) ||
        !plan_reduction(&view->shape, reduced, takes_any_order(op, (wr_dtype)view->dtype), &plan) || !plan.natural ||
        (plan.axis == 0 && gives_nothing_of_nothing(op))) {
        return not_simple();
    }
    int rank = result_shape(&view->shape, reduced, keepdims, lengths);
    wr_reduce_args args = reduction(op, view, &plan, result.dtype);
    return run_reduction(&args, x, out, rank, lengths, result);
}

PyObject *reduce_simple(PyObject *module, PyObject *arguments) {
    int op = 0, keepdims = 0;
    PyObject *x = NULL, *axis = NULL, *dtype = NULL, *out = NULL;
    NumpyArray view;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "iOOpOO", &op, &x, &axis, &keepdims, &dtype, &out)) {
        return NULL;
    }
    if (wr_library == NULL || !is_numpy_array(x)) {
        return not_simple();
    }
    if (view_numpy_array(x, &view) != 0) {
        return NULL;
    }
    PyObject *result = reduce_view((wr_op)op, x, &view, axis, keepdims, dtype, out);
    release(&view);
    return result;
}

static PyObject *dot_views(PyObject *x, const NumpyArray *left, const NumpyArray *right, PyObject *out) {
    Plan plan;
    int rank = left->shape.rank - 1;
    Result result = result_of(WR_SUM, left);
    if (left->dtype == 0 || left->dtype != right->dtype || left->is_bool || right->is_bool || result.dtype == 0 ||
        rank < 0 || right->shape.rank != 1 || !right->contiguous ||
        left->shape.lengths[rank] != right->shape.lengths[0] ||
        !plan_reduction(&left->shape, UINT64_C(1) << rank, 0, &plan) || !plan.natural) {
        return not_simple();
    }
    wr_reduce_args args = reduction(WR_SUM, left, &plan, result.dtype);
    args.weights = right->data;
    args.weights_dtype = (wr_dtype)right->dtype;
    return run_reduction(&args, x, out, rank, left->shape.lengths, result);
}

PyObject *dot_simple(PyObject *module, PyObject *arguments) {
    PyObject *x = NULL, *y = NULL, *out = NULL;
    NumpyArray left, right;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOO", &x, &y, &out)) {
        return NULL;
    }
    if (wr_library == NULL || !is_numpy_array(x) || !is_numpy_array(y)) {
        return not_simple();
    }
    if (view_numpy_array(x, &left) != 0) {
        return NULL;
    }
    PyObject *result = NULL;
    if (view_numpy_array(y, &right) == 0) {
        result = dot_views(x, &left, &right, out);
        release(&right);
    }
    release(&left);
    return result;
}

static PyObject *reduce_segments(wr_op op, PyObject *x, const NumpyArray *view, const NumpyArray *offsets) {
    Result result = result_of(op, view);
    if (view->dtype == 0 || result.dtype == 0 || offsets->dtype != WR_I64 || view->shape.rank != 1 ||
        offsets->shape.rank != 1 || !view->contiguous || !offsets->contiguous || view->shape.lengths[0] == 0 ||
        offsets->shape.lengths[0] == 0) {
        return not_simple();
    }
    wr_reduce_segments_args args;
    memset(&args, 0, sizeof args);
    args.struct_size = sizeof args;
    args.op = op;
    args.dtype = (wr_dtype)view->dtype;
    args.output_dtype = (wr_dtype)result.dtype;
    args.input = view->data;
    args.offsets = offsets->data;
    args.segments = (size_t)offsets->shape.lengths[0] - 1;
    args.input_count = (size_t)view->shape.lengths[0];
    NumpyArray target;
    ptrdiff_t length = offsets->shape.lengths[0] - 1;
    PyObject *array = place_for_result(x, Py_None, 1, &length, result, &target);
    if (array == NULL) {
        return NULL;
    }
    args.output = target.data;
    PyThreadState *state = PyEval_SaveThread();
    wr_status status = wr_library->wr_reduce_segments_ex(&args, wr_library->wr_host_stream());
    PyEval_RestoreThread(state);
    return finished_result(status, array, Py_None, &target);
}

PyObject *segments_simple(PyObject *module, PyObject *arguments) {
    int op = 0;
    PyObject *x = NULL, *starts = NULL;
    NumpyArray view, offsets;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "iOO", &op, &x, &starts)) {
        return NULL;
    }
    if (wr_library == NULL || !is_numpy_array(x) || !is_numpy_array(starts)) {
        return not_simple();
    }
    if (view_numpy_array(x, &view) != 0) {
        return NULL;
    }
    PyObject *result = NULL;
    if (view_numpy_array(starts, &offsets) == 0) {
        result = reduce_segments((wr_op)op, x, &view, &offsets);
        release(&offsets);
    }
    release(&view);
    return result;
}
