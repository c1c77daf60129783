#include "torch/direct.h"

#include "torch/dimensions.h"
#include "torch/inside.h"
#include "torch/jobs.h"

#include <math.h>

enum { UNKNOWN_TYPE = -2 };

static PyObject *types;

PyObject *torch_types(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *given = NULL;
    if (!PyArg_ParseTuple(arguments, "O", &given)) {
        return NULL;
    }
    Py_IncRef(given);
    types = given;
    return Py_BuildValue("");
}

static PyObject *none(void) {
    PyErr_Clear();
    return Py_BuildValue("");
}

/* ---- arguments */

static int32_t type_of(PyObject *dtype) {
    if (dtype == Py_None) {
        return NO_TYPE;
    }
    PyObject *number = types == NULL ? NULL : PyDict_GetItemWithError(types, dtype);
    return number == NULL ? UNKNOWN_TYPE : (int32_t)PyNumber_AsSsize_t(number, NULL);
}

/* 0, or they are not what the operator takes. */
static int find_dimensions(PyObject *given, int rank, Dimensions *found) {
    *found = (Dimensions){0, 0, 0, 0};
    Py_ssize_t size = given == Py_None ? 0 : PySequence_Size(given);
    if (size < 0) {
        PyErr_Clear();
        Py_ssize_t dimension = PyNumber_AsSsize_t(given, PyExc_ValueError);
        *found = one_dimension(dimension, 1, rank);
        return PyErr_Occurred() != NULL || found->wrong;
    }
    if (size == 0) {
        *found = all_dimensions(rank);
    }
    for (Py_ssize_t i = 0; i < size; ++i) {
        PyObject *item = PySequence_GetItem(given, i);
        Py_ssize_t dimension = item == NULL ? 0 : PyNumber_AsSsize_t(item, PyExc_ValueError);
        if (item == NULL) {
            return 1;
        }
        Py_DecRef(item);
        add_one_dimension(found, rank, dimension);
    }
    found->chosen &= all_dimensions(rank).chosen;
    return PyErr_Occurred() != NULL || found->wrong || found->twice;
}

/* ---- jobs, without Python's lock */

static PyObject *finished(Outcome outcome) { return outcome.tensor == NULL ? NULL : object_of(outcome.tensor); }

/* NULL: a case for the dispatcher. */
static PyObject *reduced(TorchTensor *handle, const Reduction *job) {
    Tensor x;
    Outcome outcome = {NULL, NULL};
    PyThreadState *state = PyEval_SaveThread();
    hold_arguments(NULL, NULL); /* no exception of PyTorch's goes through Python */
    if (view_tensor(handle, &x) == 0) {
        outcome = reduce_tensor(&x, job);
    }
    PyEval_RestoreThread(state);
    return finished(outcome);
}

static PyObject *softmax_of(TorchTensor *handle, const Rows *job) {
    Tensor x;
    Outcome outcome = {NULL, NULL};
    PyThreadState *state = PyEval_SaveThread();
    hold_arguments(NULL, NULL); /* no exception of PyTorch's goes through Python */
    if (view_tensor(handle, &x) == 0) {
        outcome = softmax_tensor(&x, job);
    }
    PyEval_RestoreThread(state);
    return finished(outcome);
}

static PyObject *or_none(PyObject *result) { return result != NULL ? result : none(); }

/* NULL: a case for the dispatcher. */
static PyObject *reduce_object(PyObject *object, int op, PyObject *dim, int keepdim, PyObject *dtype) {
    TorchTensor *x = tensor_in(object);
    int64_t rank = 0;
    Dimensions found;
    int32_t type = type_of(dtype);
    if (x == NULL || type == UNKNOWN_TYPE || torch.get_dim(x, &rank) != 0 || find_dimensions(dim, (int)rank, &found)) {
        return NULL;
    }
    Reduction job = {(wr_op)op, found.chosen, keepdim, type};
    return reduced(x, &job);
}

PyObject *torch_reduce(PyObject *module, PyObject *arguments) {
    int op = 0, keepdim = 0;
    PyObject *object = NULL, *dim = NULL, *dtype = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "iOOpO", &op, &object, &dim, &keepdim, &dtype)) {
        return NULL;
    }
    return or_none(reduce_object(object, op, dim, keepdim, dtype));
}

PyObject *torch_softmax(PyObject *module, PyObject *arguments) {
    int log = 0;
    PyObject *object = NULL, *dim = NULL, *dtype = NULL;
    int64_t rank = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "pOOO", &log, &object, &dim, &dtype)) {
        return NULL;
    }
    TorchTensor *x = tensor_in(object);
    int32_t type = type_of(dtype);
    Py_ssize_t dimension = PyNumber_AsSsize_t(dim, PyExc_ValueError);
    if (x == NULL || type == UNKNOWN_TYPE || PyErr_Occurred() != NULL || torch.get_dim(x, &rank) != 0) {
        return none();
    }
    Dimensions found = one_dimension(dimension, 1, (int)rank);
    Rows job = {log, index_of(found), type};
    return found.wrong ? none() : or_none(softmax_of(x, &job));
}

static PyObject *dot_of(TorchTensor *left, TorchTensor *right, int exact, int32_t type) {
    Tensor x, y;
    Outcome outcome = {NULL, NULL};
    PyThreadState *state = PyEval_SaveThread();
    hold_arguments(NULL, NULL); /* no exception of PyTorch's goes through Python */
    if (view_tensor(left, &x) == 0 && view_tensor(right, &y) == 0) {
        outcome = dot_tensors(&x, &y, exact, type);
    }
    PyEval_RestoreThread(state);
    return finished(outcome);
}

PyObject *torch_dot(PyObject *module, PyObject *arguments) {
    int exact = 0;
    PyObject *left = NULL, *right = NULL, *dtype = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "pOOO", &exact, &left, &right, &dtype)) {
        return NULL;
    }
    TorchTensor *x = tensor_in(left), *y = tensor_in(right);
    int32_t type = type_of(dtype);
    return x == NULL || y == NULL || type == UNKNOWN_TYPE ? none() : or_none(dot_of(x, y, exact, type));
}

/* ---- norms */

/* A wr_op; 0: of another order. */
static int norm_of(double order) {
    return order == 2 ? WR_NORM_L2 : order == 1 ? WR_NORM_L1 : isinf(order) && order > 0 ? WR_NORM_MAX : 0;
}

/* PyTorch refuses to narrow, and has its own results for what is no float. */
static int is_norms_type(TorchTensor *x, int32_t type) {
    enum { TORCH_F16 = 5, TORCH_F32 = 6, TORCH_F64 = 7, TORCH_BF16 = 15 };
    int32_t own = 0;
    if (torch.get_dtype(x, &own) != 0) {
        return 0;
    }
    return (own == TORCH_BF16 || (own >= TORCH_F16 && own <= TORCH_F64)) &&
           (type == NO_TYPE || type == own || type == TORCH_F64);
}

/* NULL: not given. */
typedef struct Norm {
    PyObject *object, *order, *dim, *keepdim, *dtype;
} Norm;

static int is_of(PyObject *object, PyTypeObject *type) { return PyObject_IsInstance(object, (PyObject *)type) == 1; }

static int is_integer(PyObject *object) {
    return is_of(object, &PyLong_Type) && object != Py_True && object != Py_False;
}

static int are_integers(PyObject *dim) {
    if (!is_of(dim, &PyTuple_Type) && !is_of(dim, &PyList_Type)) {
        return is_integer(dim);
    }
    const Py_ssize_t size = PySequence_Size(dim);
    int all = 1;
    for (Py_ssize_t i = 0; all && i < size; ++i) {
        PyObject *item = PySequence_GetItem(dim, i);
        all = item != NULL && is_integer(item);
        Py_DecRef(item);
    }
    return all;
}

/* What PyTorch's parser takes without a word. */
static int are_plain(const Norm *norm) {
    return (norm->order == NULL || is_of(norm->order, &PyFloat_Type) || is_integer(norm->order)) &&
           (norm->dim == NULL || norm->dim == Py_None || are_integers(norm->dim));
}

static PyObject *norm_object(const Norm *norm) {
    TorchTensor *x = tensor_in(norm->object);
    PyObject *dtype = norm->dtype == NULL ? Py_None : norm->dtype;
    int32_t type = type_of(dtype);
    double order = norm->order == NULL ? 2 : PyFloat_AsDouble(norm->order);
    int op = PyErr_Occurred() != NULL ? 0 : norm_of(order);
    if (x == NULL || op == 0 || type == UNKNOWN_TYPE || !is_norms_type(x, type)) {
        return NULL;
    }
    return reduce_object(norm->object, op, norm->dim == NULL ? Py_None : norm->dim, norm->keepdim == Py_True, dtype);
}

/* An argument that may come by name instead; 0 where it comes both ways. */
static int take(PyObject *options, const char *name, PyObject **value, Py_ssize_t *left) {
    PyObject *named = *left == 0 ? NULL : PyDict_GetItemString(options, name);
    if (named == NULL) {
        return 1;
    }
    --*left;
    int is_first = *value == NULL;
    *value = named;
    return is_first;
}

static int is_truth_value(PyObject *object) { return object == NULL || object == Py_True || object == Py_False; }

/* (self, ord=2, dim=None, keepdim=False, *, dtype=None) */
static PyObject *vector_norm(PyObject *otherwise, PyObject *arguments, PyObject *options) {
    Norm norm = {NULL, NULL, NULL, NULL, NULL};
    Py_ssize_t left = options == NULL ? 0 : PyDict_Size(options);
    PyObject *result = NULL;
    if (PyArg_ParseTuple(arguments, "O|OOO", &norm.object, &norm.order, &norm.dim, &norm.keepdim) &&
        take(options, "dim", &norm.dim, &left) && take(options, "ord", &norm.order, &left) &&
        take(options, "keepdim", &norm.keepdim, &left) && take(options, "dtype", &norm.dtype, &left) && left == 0 &&
        is_truth_value(norm.keepdim) && are_plain(&norm)) {
        result = norm_object(&norm);
    }
    PyErr_Clear();
    return result != NULL ? result : PyObject_Call(otherwise, arguments, options);
}

PyObject *torch_vector_norm(PyObject *module, PyObject *arguments) {
    static PyMethodDef kernel = {"vector_norm", NULL, METH_VARARGS | METH_KEYWORDS, "a kernel of linalg_vector_norm"};
    PyObject *otherwise = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O", &otherwise)) {
        return NULL;
    }
    kernel.ml_meth = (PyCFunction)(void (*)(void))vector_norm;
    return PyCMethod_New(&kernel, otherwise, NULL, NULL);
}
