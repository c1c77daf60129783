/* Softmax and its gradient, of NumPy arrays with few options. */
#include "geometry.h"
#include "simple_calls.h"
#include "simple_support.h"

#include <string.h>

static int has_shape_of(const NumpyArray *x, const NumpyArray *other) {
    return x->shape.rank == other->shape.rank &&
           memcmp(x->shape.lengths, other->shape.lengths, (size_t)x->shape.rank * sizeof(ptrdiff_t)) == 0;
}

static int plan_of_rows(const NumpyArray *x, PyObject *axis, Plan *plan) {
    uint64_t reduced = 0;
    return is_float(x->dtype) && x->shape.rank > 0 && reduced_dimensions(axis, x->shape.rank, &reduced) &&
           plan_rows(&x->shape, reduced, plan);
}

static PyObject *softmax_view(int log, PyObject *x, const NumpyArray *view, PyObject *axis, double scale,
                              const NumpyArray *mask, PyObject *out) {
    Plan plan;
    NumpyArray target;
    if (!plan_of_rows(view, axis, &plan) ||
        (mask != NULL && (!mask->is_bool || !mask->contiguous || !has_shape_of(view, mask)))) {
        return not_simple();
    }
    Result result = {view->dtype, 0, NULL};
    PyObject *array = place_for_result(x, out, view->shape.rank, view->shape.lengths, result, &target);
    if (array == NULL) {
        return PyErr_Occurred() != NULL ? NULL : not_simple();
    }
    wr_softmax_args args;
    memset(&args, 0, sizeof args);
    args.struct_size = sizeof args;
    args.dtype = (wr_dtype)view->dtype;
    args.log = log;
    args.scale = scale;
    args.input = view->data;
    args.output = target.data;
    args.mask = mask == NULL ? NULL : (const uint8_t *)mask->data;
    args.outer = plan.outer;
    args.axis = plan.axis;
    args.inner = plan.inner;
    args.outer_stride = plan.outer_stride;
    args.axis_stride = plan.axis_stride;
    args.inner_stride = plan.inner_stride;
    args.strides_given = 1;
    PyThreadState *state = PyEval_SaveThread();
    wr_status status = wr_library->wr_softmax_ex(&args, wr_library->wr_host_stream());
    PyEval_RestoreThread(state);
    return finished_result(status, array, out, &target);
}

PyObject *softmax_simple(PyObject *module, PyObject *arguments) {
    int log = 0;
    double scale = 0;
    PyObject *x = NULL, *axis = NULL, *selection = NULL, *out = NULL;
    NumpyArray view, mask;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "pOOdOO", &log, &x, &axis, &scale, &selection, &out)) {
        return NULL;
    }
    int masked = selection != Py_None;
    /* A scale of 0 is how the library says 1: the general way refuses it. */
    if (wr_library == NULL || scale == 0 || !is_numpy_array(x) || (masked && !is_numpy_array(selection))) {
        return not_simple();
    }
    if (view_numpy_array(x, &view) != 0) {
        return NULL;
    }
    PyObject *result = NULL;
    if (!masked || view_numpy_array(selection, &mask) == 0) {
        result = softmax_view(log, x, &view, axis, scale, masked ? &mask : NULL, out);
        if (masked) {
            release(&mask);
        }
    }
    release(&view);
    return result;
}

static PyObject *backward_views(int log, PyObject *y, const NumpyArray *output, const NumpyArray *gradient,
                                PyObject *axis, double scale, PyObject *out) {
    Plan plan, gradient_plan;
    NumpyArray target;
    if (output->dtype != gradient->dtype || !has_shape_of(output, gradient) || !plan_of_rows(output, axis, &plan) ||
        !plan_of_rows(gradient, axis, &gradient_plan)) {
        return not_simple();
    }
    Result result = {output->dtype, 0, NULL};
    PyObject *array = place_for_result(y, out, output->shape.rank, output->shape.lengths, result, &target);
    if (array == NULL) {
        return PyErr_Occurred() != NULL ? NULL : not_simple();
    }
    wr_softmax_backward_args args;
    memset(&args, 0, sizeof args);
    args.struct_size = sizeof args;
    args.dtype = (wr_dtype)output->dtype;
    args.log = log;
    args.scale = scale;
    args.output = output->data;
    args.output_gradient = gradient->data;
    args.input_gradient = target.data;
    args.outer = plan.outer;
    args.axis = plan.axis;
    args.inner = plan.inner;
    args.outer_stride = plan.outer_stride;
    args.axis_stride = plan.axis_stride;
    args.inner_stride = plan.inner_stride;
    args.gradient_outer_stride = gradient_plan.outer_stride;
    args.gradient_axis_stride = gradient_plan.axis_stride;
    args.gradient_inner_stride = gradient_plan.inner_stride;
    args.strides_given = 1;
    PyThreadState *state = PyEval_SaveThread();
    wr_status status = wr_library->wr_softmax_backward_ex(&args, wr_library->wr_host_stream());
    PyEval_RestoreThread(state);
    return finished_result(status, array, out, &target);
}

PyObject *softmax_backward_simple(PyObject *module, PyObject *arguments) {
    int log = 0;
    double scale = 0;
    PyObject *y = NULL, *dy = NULL, *axis = NULL, *out = NULL;
    NumpyArray output, gradient;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "pOOOdO", &log, &y, &dy, &axis, &scale, &out)) {
        return NULL;
    }
    if (wr_library == NULL || scale == 0 || !is_numpy_array(y) || !is_numpy_array(dy)) {
        return not_simple();
    }
    if (view_numpy_array(y, &output) != 0) {
        return NULL;
    }
    PyObject *result = NULL;
    if (view_numpy_array(dy, &gradient) == 0) {
        result = backward_views(log, y, &output, &gradient, axis, scale, out);
        release(&gradient);
    }
    release(&output);
    return result;
}
