#include "plans.h"

#include "geometry.h"
#include "numpy_array.h"

/* 0, or a Python exception is set. */
static int read_shape(PyObject *lengths, PyObject *strides, Shape *shape) {
    Py_ssize_t rank = PyTuple_Size(lengths);
    if (rank < 0 || PyTuple_Size(strides) != rank || rank > MOST_DIMENSIONS || shape->item_size <= 0) {
        if (PyErr_Occurred() == NULL) {
            PyErr_SetString(PyExc_ValueError, "lengths and strides are tuples of one size");
        }
        return -1;
    }
    shape->rank = (int)rank;
    for (int d = 0; d < shape->rank; ++d) {
        shape->lengths[d] = PyNumber_AsSsize_t(PyTuple_GetItem(lengths, d), PyExc_OverflowError);
        shape->strides[d] = PyNumber_AsSsize_t(PyTuple_GetItem(strides, d), PyExc_OverflowError);
    }
    return PyErr_Occurred() == NULL ? 0 : -1;
}

static PyObject *kept_dimensions(const Plan *plan) {
    if (plan->natural) {
        return new_reference(Py_None);
    }
    PyObject *kept = PyTuple_New(plan->kept_count);
    for (int i = 0; kept != NULL && i < plan->kept_count; ++i) {
        (void)PyTuple_SetItem(kept, i, PyLong_FromLong(plan->kept[i]));
    }
    return kept;
}

static PyObject *described(const Plan *plan) {
    PyObject *kept = kept_dimensions(plan);
    if (kept == NULL) {
        return NULL;
    }
    return Py_BuildValue("(nnnnnnN)", (Py_ssize_t)plan->outer, (Py_ssize_t)plan->axis, (Py_ssize_t)plan->inner,
                         plan->outer_stride, plan->axis_stride, plan->inner_stride, kept);
}

PyObject *plan_reduction_of(PyObject *module, PyObject *arguments) {
    PyObject *lengths = NULL, *strides = NULL;
    unsigned long long reduced = 0;
    int any_order = 0;
    Shape shape;
    Plan plan;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOnKp", &lengths, &strides, &shape.item_size, &reduced, &any_order) ||
        read_shape(lengths, strides, &shape) != 0) {
        return NULL;
    }
    return plan_reduction(&shape, reduced, any_order, &plan) ? described(&plan) : new_reference(Py_None);
}

PyObject *plan_rows_of(PyObject *module, PyObject *arguments) {
    PyObject *lengths = NULL, *strides = NULL;
    unsigned long long reduced = 0;
    Shape shape;
    Plan plan;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOnK", &lengths, &strides, &shape.item_size, &reduced) ||
        read_shape(lengths, strides, &shape) != 0) {
        return NULL;
    }
    return plan_rows(&shape, reduced, &plan) ? described(&plan) : new_reference(Py_None);
}
