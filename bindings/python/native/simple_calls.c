#include "simple_calls.h"

#include "geometry.h"
#include "library.h"
#include "numpy_array.h"

#include <string.h>

enum { OPERATORS = 32, TYPES = 32 };

typedef struct Result {
    wr_dtype dtype;
    PyObject *numpy_dtype; /* NULL: the input's own */
} Result;

/* by operator, element type and whether it is bool; a dtype of 0: the general way */
static Result results[OPERATORS][TYPES][2];

static PyObject *new_reference(PyObject *object) {
    Py_IncRef(object);
    return object;
}

PyObject *set_result(PyObject *module, PyObject *arguments) {
    int op = 0, dtype = 0, is_bool = 0, output = 0;
    PyObject *numpy_dtype = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "iipiO", &op, &dtype, &is_bool, &output, &numpy_dtype)) {
        return NULL;
    }
    if (op < 0 || op >= OPERATORS || dtype < 0 || dtype >= TYPES) {
        PyErr_SetString(PyExc_ValueError, "no such operator or element type");
        return NULL;
    }
    Result *place = &results[op][dtype][is_bool];
    place->dtype = (wr_dtype)output;
    place->numpy_dtype = numpy_dtype == Py_None ? NULL : new_reference(numpy_dtype);
    return new_reference(Py_None);
}

/* 1 and the bits of the reduced dimensions; 0 where axis is no integer, tuple or None that the array has. */
static int reduced_dimensions(PyObject *axis, int rank, uint64_t *reduced) {
    if (axis == Py_None) {
        *reduced = rank == MOST_DIMENSIONS ? ~UINT64_C(0) : (UINT64_C(1) << rank) - 1;
        return 1;
    }
    Py_ssize_t dimension = PyNumber_AsSsize_t(axis, NULL);
    if (dimension == -1 && PyErr_Occurred() != NULL) {
        PyErr_Clear();
        return 0;
    }
    if (dimension < -rank || dimension >= rank) {
        return 0;
    }
    *reduced = UINT64_C(1) << (dimension < 0 ? dimension + rank : dimension);
    return 1;
}

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

static PyObject *result_array(PyObject *x, int rank, const ptrdiff_t *lengths, PyObject *numpy_dtype) {
    if (numpy_dtype != NULL) {
        return new_numpy_array(rank, lengths, numpy_dtype);
    }
    PyObject *own = dtype_of(x);
    PyObject *array = own == NULL ? NULL : new_numpy_array(rank, lengths, own);
    if (own != NULL) {
        Py_DecRef(own);
    }
    return array;
}

/* The element of an array without dimensions, as NumPy's functions return it. */
static PyObject *element(PyObject *array) {
    PyObject *nowhere = PyTuple_New(0);
    PyObject *item = nowhere == NULL ? NULL : PyObject_GetItem(array, nowhere);
    if (nowhere != NULL) {
        Py_DecRef(nowhere);
    }
    Py_DecRef(array);
    return item;
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

/* With the output's memory in place; a refusal is left to the general way, which puts it into words. */
static PyObject *run_reduction(wr_reduce_args *args, PyObject *output, int rank) {
    NumpyArray target;
    if (view_numpy_array(output, &target) != 0) {
        Py_DecRef(output);
        return NULL;
    }
    args->output = target.data;
    PyThreadState *state = PyEval_SaveThread();
    wr_status status = wr_library->wr_reduce_ex(args, wr_library->wr_host_stream());
    PyEval_RestoreThread(state);
    release(&target);
    if (status != WR_SUCCESS) {
        Py_DecRef(output);
        return new_reference(Py_NotImplemented);
    }
    return rank == 0 ? element(output) : output;
}

/* The order of the elements changes nothing: exact sums, extremes, counts. */
static int takes_any_order(wr_op op, wr_dtype dtype) {
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

static PyObject *reduce_view(wr_op op, PyObject *x, const NumpyArray *view, PyObject *axis, int keepdims) {
    uint64_t reduced = 0;
    Plan plan;
    ptrdiff_t lengths[MOST_DIMENSIONS];
    const Result *result = &results[op][view->dtype][view->is_bool];
    if (view->dtype == 0 || result->dtype == 0 || !reduced_dimensions(axis, view->shape.rank, &reduced) ||
        !plan_reduction(&view->shape, reduced, takes_any_order(op, view->dtype), &plan) || !plan.natural ||
        (plan.axis == 0 && gives_nothing_of_nothing(op))) {
        return new_reference(Py_NotImplemented);
    }
    int rank = result_shape(&view->shape, reduced, keepdims, lengths);
    PyObject *output = result_array(x, rank, lengths, result->numpy_dtype);
    if (output == NULL) {
        return NULL;
    }
    wr_reduce_args args;
    memset(&args, 0, sizeof args);
    args.struct_size = sizeof args;
    args.op = op;
    args.dtype = view->dtype;
    args.output_dtype = result->dtype;
    args.input = view->data;
    set_plan(&plan, &args);
    return run_reduction(&args, output, rank);
}

PyObject *reduce_simple(PyObject *module, PyObject *arguments) {
    int op = 0, keepdims = 0;
    PyObject *x = NULL, *axis = NULL;
    NumpyArray view;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "iOOp", &op, &x, &axis, &keepdims)) {
        return NULL;
    }
    if (wr_library == NULL || op < 0 || op >= OPERATORS || !is_numpy_array(x)) {
        return new_reference(Py_NotImplemented);
    }
    if (view_numpy_array(x, &view) != 0) {
        return NULL;
    }
    PyObject *result = reduce_view((wr_op)op, x, &view, axis, keepdims);
    release(&view);
    return result;
}

static PyObject *run_softmax(wr_softmax_args *args, PyObject *output) {
    NumpyArray target;
    if (view_numpy_array(output, &target) != 0) {
        Py_DecRef(output);
        return NULL;
    }
    args->output = target.data;
    PyThreadState *state = PyEval_SaveThread();
    wr_status status = wr_library->wr_softmax_ex(args, wr_library->wr_host_stream());
    PyEval_RestoreThread(state);
    release(&target);
    if (status != WR_SUCCESS) {
        Py_DecRef(output);
        return new_reference(Py_NotImplemented);
    }
    return output;
}

static int is_float(wr_dtype dtype) { return dtype >= WR_F32 && dtype <= WR_F8_E5M2; }

static PyObject *softmax_view(int log, PyObject *x, const NumpyArray *view, PyObject *axis, double scale) {
    uint64_t reduced = 0;
    Plan plan;
    if (!is_float(view->dtype) || view->shape.rank == 0 || !reduced_dimensions(axis, view->shape.rank, &reduced) ||
        !plan_rows(&view->shape, reduced, &plan)) {
        return new_reference(Py_NotImplemented);
    }
    PyObject *output = result_array(x, view->shape.rank, view->shape.lengths, NULL);
    if (output == NULL) {
        return NULL;
    }
    wr_softmax_args args;
    memset(&args, 0, sizeof args);
    args.struct_size = sizeof args;
    args.dtype = view->dtype;
    args.log = log;
    args.scale = scale;
    args.input = view->data;
    args.outer = plan.outer;
    args.axis = plan.axis;
    args.inner = plan.inner;
    args.outer_stride = plan.outer_stride;
    args.axis_stride = plan.axis_stride;
    args.inner_stride = plan.inner_stride;
    args.strides_given = 1;
    return run_softmax(&args, output);
}

PyObject *softmax_simple(PyObject *module, PyObject *arguments) {
    int log = 0;
    double scale = 0;
    PyObject *x = NULL, *axis = NULL;
    NumpyArray view;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "pOOd", &log, &x, &axis, &scale)) {
        return NULL;
    }
    if (wr_library == NULL || scale == 0 || !is_numpy_array(x)) {
        return new_reference(Py_NotImplemented); /* 0 is how the library says 1: the general way refuses it */
    }
    if (view_numpy_array(x, &view) != 0) {
        return NULL;
    }
    PyObject *result = softmax_view(log, x, &view, axis, scale);
    release(&view);
    return result;
}

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
