/* Softmax and its gradient, of NumPy arrays with few options. */
#include "geometry.h"
#include "simple_calls.h"
#include "simple_support.h"

#include <string.h>

static int has_shape_of(const ArrayView *x, const ArrayView *other) {
    return x->shape.rank == other->shape.rank &&
           memcmp(x->shape.lengths, other->shape.lengths, (size_t)x->shape.rank * sizeof(ptrdiff_t)) == 0;
}

static int plan_of_rows(const ArrayView *x, PyObject *axis, Plan *plan) {
    uint64_t reduced = 0;
    return is_float(x->dtype) && x->shape.rank > 0 && reduced_dimensions(axis, x->shape.rank, &reduced) &&
           plan_rows(&x->shape, reduced, plan);
}

static PyObject *softmax_view(int log, PyObject *x, const ArrayView *view, PyObject *axis, double scale,
                              const ArrayView *mask, PyObject *out) {
    Plan plan;
    ArrayView target;
    if (!plan_of_rows(view, axis, &plan) || (mask != NULL && (!lie_together(view, mask) || !mask->is_bool ||
                                                              !mask->contiguous || !has_shape_of(view, mask)))) {
        return not_simple();
    }
    Result result = {view->dtype, 0, NULL};
    PyObject *array = place_for_result(x, view, out, view->shape.rank, view->shape.lengths, result, &target);
    if (array == NULL) {
        return PyErr_Occurred() != NULL ? NULL : not_simple();
    }
    Args args = empty_args(CALL_SOFTMAX);
    wr_softmax_args *softmax = &args.softmax;
    softmax->dtype = (wr_dtype)view->dtype;
    softmax->log = log;
    softmax->scale = scale;
    softmax->input = view->data;
    softmax->output = target.data;
    softmax->mask = mask == NULL ? NULL : (const uint8_t *)mask->data;
    SET_PLAN(softmax, &plan);
    return finished_result(run_beside(x, view, CALL_SOFTMAX, &args), array, out, &target);
}

PyObject *softmax_simple(PyObject *module, PyObject *arguments) {
    int log = 0;
    double scale = 0;
    PyObject *x = NULL, *axis = NULL, *selection = NULL, *out = NULL;
    ArrayView view, mask;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "pOOdOO", &log, &x, &axis, &scale, &selection, &out)) {
        return NULL;
    }
    int masked = selection != Py_None;
    /* A scale of 0 is how the library says 1: the general way refuses it. */
    int viewed = scale == 0 ? 0 : masked ? view_both(x, &view, selection, &mask) : view_array(x, &view);
    if (viewed != 1) {
        return viewed == 0 ? not_simple() : NULL;
    }
    PyObject *result = softmax_view(log, x, &view, axis, scale, masked ? &mask : NULL, out);
    if (masked) {
        release(&mask);
    }
    release(&view);
    return result;
}

static PyObject *backward_views(int log, PyObject *y, const ArrayView *output, const ArrayView *gradient,
                                PyObject *axis, double scale, PyObject *out) {
    Plan plan, gradient_plan;
    ArrayView target;
    if (!lie_together(output, gradient) || output->dtype != gradient->dtype || !has_shape_of(output, gradient) ||
        !plan_of_rows(output, axis, &plan) || !plan_of_rows(gradient, axis, &gradient_plan)) {
        return not_simple();
    }
    Result result = {output->dtype, 0, NULL};
    PyObject *array = place_for_result(y, output, out, output->shape.rank, output->shape.lengths, result, &target);
    if (array == NULL) {
        return PyErr_Occurred() != NULL ? NULL : not_simple();
    }
    Args args = empty_args(CALL_SOFTMAX_BACKWARD);
    wr_softmax_backward_args *backward = &args.softmax_backward;
    backward->dtype = (wr_dtype)output->dtype;
    backward->log = log;
    backward->scale = scale;
    backward->output = output->data;
    backward->output_gradient = gradient->data;
    backward->input_gradient = target.data;
    SET_PLAN(backward, &plan);
    SET_GRADIENT_PLAN(backward, &gradient_plan);
    return finished_result(run_beside(y, output, CALL_SOFTMAX_BACKWARD, &args), array, out, &target);
}

PyObject *softmax_backward_simple(PyObject *module, PyObject *arguments) {
    int log = 0;
    double scale = 0;
    PyObject *y = NULL, *dy = NULL, *axis = NULL, *out = NULL;
    ArrayView output, gradient;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "pOOOdO", &log, &y, &dy, &axis, &scale, &out)) {
        return NULL;
    }
    int viewed = scale == 0 ? 0 : view_both(y, &output, dy, &gradient);
    if (viewed != 1) {
        return viewed == 0 ? not_simple() : NULL;
    }
    PyObject *result = backward_views(log, y, &output, &gradient, axis, scale, out);
    release(&gradient);
    release(&output);
    return result;
}
