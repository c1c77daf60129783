#include "numpy_array.h"

#include <string.h>

/* What __array_struct__ holds; its layout is that of NumPy's documents. */
typedef struct ArrayInterface {
    int two;
    int rank;
    char kind;
    int item_size;
    int flags;
    ptrdiff_t *lengths;
    ptrdiff_t *strides;
    void *data;
    PyObject *description;
} ArrayInterface;

enum { C_CONTIGUOUS = 1, ALIGNED = 0x100, NATIVE_ORDER = 0x200, WRITABLE = 0x400 };

static PyObject *ndarray_type, *empty_function, *other_types;
static PyObject *array_struct_name, *dtype_name;

PyObject *new_reference(PyObject *object) {
    Py_IncRef(object);
    return object;
}

PyObject *not_simple(void) { return new_reference(Py_NotImplemented); }

int intern_numpy_names(void) {
    array_struct_name = PyUnicode_InternFromString("__array_struct__");
    dtype_name = PyUnicode_InternFromString("dtype");
    return array_struct_name == NULL || dtype_name == NULL ? -1 : 0;
}

static void keep(PyObject **place, PyObject *object) {
    Py_IncRef(object);
    if (*place != NULL) {
        Py_DecRef(*place);
    }
    *place = object;
}

void set_numpy(PyObject *ndarray, PyObject *empty, PyObject *others) {
    keep(&ndarray_type, ndarray);
    keep(&empty_function, empty);
    keep(&other_types, others);
}

int is_numpy_array(PyObject *object) {
    PyObject *type = PyObject_Type(object);
    int same = type != NULL && type == ndarray_type;
    Py_DecRef(type);
    return same;
}

PyObject *dtype_of(PyObject *array) { return PyObject_GetAttr(array, dtype_name); }

/* Of a type that is none of NumPy's own: 0 where nobody has said what it is, -1 with an exception. */
static long other_type(PyObject *array) {
    PyObject *dtype = dtype_of(array);
    if (dtype == NULL) {
        return -1;
    }
    PyObject *code = PyDict_GetItemWithError(other_types, dtype);
    Py_DecRef(dtype);
    if (code == NULL) {
        return PyErr_Occurred() != NULL ? -1 : 0;
    }
    return (long)PyLong_AsLongLong(code);
}

static int own_type(char kind, int item_size) {
    static const int floats[] = {[2] = WR_F16, [4] = WR_F32, [8] = WR_F64};
    static const int integers[] = {[1] = WR_I8, [2] = WR_I16, [4] = WR_I32, [8] = WR_I64};
    static const int naturals[] = {[1] = WR_U8, [2] = WR_U16, [4] = WR_U32, [8] = WR_U64};
    if (item_size > 8) {
        return 0;
    }
    switch (kind) {
    case 'f':
        return floats[item_size];
    case 'i':
        return integers[item_size];
    case 'u':
        return naturals[item_size];
    case 'b':
        return WR_U8;
    default:
        return 0;
    }
}

int view_numpy_array(PyObject *array, ArrayView *view) {
    view->owner = PyObject_GetAttr(array, array_struct_name);
    const ArrayInterface *found = view->owner == NULL ? NULL : PyCapsule_GetPointer(view->owner, NULL);
    if (found == NULL) {
        release(view);
        return -1;
    }
    view->framework = NULL;
    view->tensor = NULL;
    view->device = -1;
    view->data = found->data;
    view->is_bool = found->kind == 'b';
    view->writable = (found->flags & WRITABLE) != 0;
    view->contiguous = (found->flags & C_CONTIGUOUS) != 0;
    view->shape.rank = found->rank;
    view->shape.item_size = found->item_size;
    size_t bytes = (size_t)found->rank * sizeof(ptrdiff_t);
    memcpy(view->shape.lengths, found->lengths, bytes);
    memcpy(view->shape.strides, found->strides, bytes);
    view->dtype = own_type(found->kind, found->item_size);
    if (view->dtype == 0) {
        long code = other_type(array);
        if (code < 0) {
            release(view);
            return -1;
        }
        view->dtype = (int)code;
    }
    if ((found->flags & ALIGNED) == 0 || (found->flags & NATIVE_ORDER) == 0) {
        view->dtype = 0;
    }
    return 0;
}

void release(ArrayView *view) {
    if (view->owner != NULL) {
        Py_DecRef(view->owner);
        view->owner = NULL;
    }
}

PyObject *tuple_of(int count, const ptrdiff_t *numbers) {
    PyObject *tuple = PyTuple_New(count);
    for (int d = 0; tuple != NULL && d < count; ++d) {
        PyObject *number = PyLong_FromSsize_t(numbers[d]);
        if (number == NULL || PyTuple_SetItem(tuple, d, number) != 0) {
            Py_DecRef(tuple);
            return NULL;
        }
    }
    return tuple;
}

PyObject *new_numpy_array(int rank, const ptrdiff_t *lengths, PyObject *dtype) {
    PyObject *shape = tuple_of(rank, lengths);
    if (shape == NULL) {
        return NULL;
    }
    PyObject *array = PyObject_CallFunctionObjArgs(empty_function, shape, dtype, NULL);
    Py_DecRef(shape);
    return array;
}
