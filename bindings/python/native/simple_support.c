#include "simple_support.h"

#include "framework_array.h"

#include <string.h>

enum { OPERATORS = 32, TYPES = 32, NAMES = 128 };

/* By operator, element type and whether it is bool. */
static Result results[OPERATORS][TYPES][2];

/* Few, and looked up by identity, then by the objects' own equality. */
static struct {
    PyObject *name;
    Result result;
} names[NAMES];
static int name_count;

static PyObject *none_or(PyObject *object) { return object == Py_None ? NULL : new_reference(object); }

PyObject *set_result(PyObject *module, PyObject *arguments) {
    int op = 0, dtype = 0, is_bool = 0, output = 0, output_is_bool = 0;
    PyObject *numpy_dtype = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "iipipO", &op, &dtype, &is_bool, &output, &output_is_bool, &numpy_dtype)) {
        return NULL;
    }
    if (op < 0 || op >= OPERATORS || dtype < 0 || dtype >= TYPES) {
        PyErr_SetString(PyExc_ValueError, "no such operator or element type");
        return NULL;
    }
    results[op][dtype][is_bool] = (Result){output, output_is_bool, none_or(numpy_dtype)};
    return Py_BuildValue("");
}

PyObject *set_dtype(PyObject *module, PyObject *arguments) {
    int dtype = 0;
    PyObject *name = NULL, *numpy_dtype = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OiO", &name, &dtype, &numpy_dtype)) {
        return NULL;
    }
    if (name_count == NAMES) {
        PyErr_SetString(PyExc_ValueError, "too many names of types");
        return NULL;
    }
    names[name_count].name = new_reference(name);
    names[name_count].result = (Result){dtype, 0, new_reference(numpy_dtype)};
    ++name_count;
    return Py_BuildValue("");
}

Result result_of(wr_op op, const ArrayView *x) {
    if ((int)op < 0 || (int)op >= OPERATORS || x->dtype < 0 || x->dtype >= TYPES) {
        return (Result){0, 0, NULL};
    }
    return results[op][x->dtype][x->is_bool];
}

static int takes_a_dtype(wr_op op) {
    switch (op) {
    case WR_SUM:
    case WR_PRODUCT:
    case WR_MEAN:
    case WR_NORM_L1:
    case WR_NORM_L2:
    case WR_LOGSUMEXP:
        return 1;
    default:
        return 0;
    }
}

Result result_asked_for(wr_op op, const ArrayView *x, PyObject *dtype) {
    Result result = result_of(op, x);
    if (dtype == Py_None || result.dtype == 0) {
        return result;
    }
    for (int i = 0; takes_a_dtype(op) && i < name_count; ++i) {
        if (names[i].name == dtype) {
            return names[i].result;
        }
    }
    return (Result){0, 0, NULL};
}

static int add_dimension(PyObject *axis, int rank, uint64_t *reduced) {
    Py_ssize_t dimension = PyNumber_AsSsize_t(axis, NULL);
    if (dimension == -1 && PyErr_Occurred() != NULL) {
        PyErr_Clear();
        return 0;
    }
    if (dimension < -rank || dimension >= rank) {
        return 0;
    }
    uint64_t bit = UINT64_C(1) << (dimension < 0 ? dimension + rank : dimension);
    int is_new = (*reduced & bit) == 0;
    *reduced |= bit;
    return is_new;
}

int reduced_dimensions(PyObject *axis, int rank, uint64_t *reduced) {
    *reduced = 0;
    if (axis == Py_None) {
        *reduced = rank == MOST_DIMENSIONS ? ~UINT64_C(0) : (UINT64_C(1) << rank) - 1;
        return 1;
    }
    if (!PyObject_IsInstance(axis, (PyObject *)&PyTuple_Type)) {
        return add_dimension(axis, rank, reduced);
    }
    for (Py_ssize_t i = 0; i < PyTuple_Size(axis); ++i) {
        if (!add_dimension(PyTuple_GetItem(axis, i), rank, reduced)) {
            return 0;
        }
    }
    return 1;
}

int view_array(PyObject *array, ArrayView *view) {
    if (wr_library == NULL) {
        return 0;
    }
    if (!is_numpy_array(array)) {
        return view_framework_array(array, view);
    }
    return view_numpy_array(array, view) == 0 ? 1 : -1;
}

int view_both(PyObject *first, ArrayView *one, PyObject *second, ArrayView *other) {
    int viewed = view_array(first, one);
    if (viewed != 1) {
        return viewed;
    }
    viewed = view_array(second, other);
    if (viewed != 1) {
        release(one);
    }
    return viewed;
}

int lie_together(const ArrayView *x, const ArrayView *y) {
    return x->framework == y->framework && x->device == y->device;
}

static PyObject *new_array(PyObject *x, int rank, const ptrdiff_t *lengths, PyObject *numpy_dtype, ArrayView *view) {
    PyObject *dtype = numpy_dtype != NULL ? new_reference(numpy_dtype) : dtype_of(x);
    PyObject *array = dtype == NULL ? NULL : new_numpy_array(rank, lengths, dtype);
    if (dtype != NULL) {
        Py_DecRef(dtype);
    }
    if (array != NULL && view_numpy_array(array, view) != 0) {
        Py_DecRef(array);
        return NULL;
    }
    return array;
}

static int fits(const ArrayView *out, int rank, const ptrdiff_t *lengths, Result result) {
    return out->dtype == result.dtype && out->is_bool == result.is_bool && out->writable && out->contiguous &&
           out->shape.rank == rank && memcmp(out->shape.lengths, lengths, (size_t)rank * sizeof *lengths) == 0;
}

PyObject *place_for_result(PyObject *x, const ArrayView *like, PyObject *out, int rank, const ptrdiff_t *lengths,
                           Result result, ArrayView *view) {
    if (out == Py_None) {
        return like->framework != NULL ? new_framework_array(x, like, rank, lengths, result.dtype, result.is_bool, view)
                                       : new_array(x, rank, lengths, result.numpy_dtype, view);
    }
    if (like->framework != NULL || !is_numpy_array(out) || view_numpy_array(out, view) != 0) {
        return NULL;
    }
    if (!fits(view, rank, lengths, result)) {
        release(view);
        return NULL;
    }
    return new_reference(out);
}

static wr_status run_unlocked(Call call, const Args *args, struct CUstream_st *stream) {
    PyThreadState *state = PyEval_SaveThread();
    wr_status status = run_call(wr_library, call, args, stream);
    PyEval_RestoreThread(state);
    return status;
}

wr_status run_beside(PyObject *x, const ArrayView *view, Call call, Args *args) {
    struct CUstream_st *stream = wr_library->wr_host_stream();
    size_t bytes = 0;
    if (view->device < 0) {
        return run_unlocked(call, args, stream);
    }
    wr_status status = workspace_of_call(wr_library, call, args, &bytes);
    if (status != WR_SUCCESS || stream_of_framework(view, &stream) != 0) {
        return status != WR_SUCCESS ? status : WR_ERROR_NO_DEVICE;
    }
    if (bytes == 0) {
        return run_unlocked(call, args, stream);
    }
    ArrayView memory;
    ptrdiff_t length = (ptrdiff_t)bytes;
    PyObject *workspace = new_framework_array(x, view, 1, &length, WR_U8, 0, &memory);
    if (workspace == NULL) {
        return WR_ERROR_OUT_OF_MEMORY;
    }
    set_workspace(call, args, memory.data, bytes);
    status = run_unlocked(call, args, stream);
    Py_DecRef(workspace);
    return status;
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

PyObject *finished_result(wr_status status, PyObject *array, PyObject *out, ArrayView *view) {
    int is_number = view->shape.rank == 0 && view->framework == NULL && out == Py_None;
    release(view);
    if (status != WR_SUCCESS) {
        Py_DecRef(array);
        return PyErr_Occurred() != NULL ? NULL : not_simple();
    }
    return is_number ? element(array) : array;
}

int is_float(int dtype) { return dtype >= WR_F32 && dtype <= WR_F8_E5M2; }

int is_summed_in_f64(wr_op op, int dtype, int output) {
    int sums = op == WR_SUM || op == WR_PRODUCT || op == WR_MEAN || op == WR_NORM_L1 || op == WR_NORM_L2;
    return sums && is_float(dtype) && dtype != WR_F64 && output == WR_F64;
}
