#include "framework_array.h"

#include "calls.h"
#include "gpu_fill.h"
#include "torch/array.h"

#include <dlfcn.h>
#include <string.h>

enum { MOST_FRAMEWORKS = 8, TYPES = 32 };

enum Question { POINTER, SHAPE, STRIDES, DTYPE, DEVICE, IS_SPECIAL, STREAM, EMPTY, FILLED, QUESTIONS };

struct Framework {
    PyObject *type;
    PyObject *functions[QUESTIONS];
    int in_bytes;
    PyObject *codes;            /* {dtype: (wr_dtype, is_bool)} */
    PyObject *dtypes[TYPES][2]; /* the same from the other side */
};

static struct Framework frameworks[MOST_FRAMEWORKS];
static int framework_count;

/* (wr_dtype, is_bool) of one of the framework's types: 0 where it is none of them, -1 with an exception. */
static int code_of(const struct Framework *framework, PyObject *dtype, int *code, int *is_bool) {
    PyObject *found = PyDict_GetItemWithError(framework->codes, dtype);
    if (found == NULL) {
        return PyErr_Occurred() != NULL ? -1 : 0;
    }
    return PyArg_ParseTuple(found, "ip", code, is_bool) ? 1 : -1;
}

static int fill_dtypes(struct Framework *framework, PyObject *dtypes) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(dtypes); ++i) {
        int code = 0, is_bool = 0;
        PyObject *dtype = PyTuple_GetItem(dtypes, i);
        if (code_of(framework, dtype, &code, &is_bool) != 1 || code <= 0 || code >= TYPES) {
            return -1;
        }
        framework->dtypes[code][is_bool] = new_reference(dtype);
    }
    return 0;
}

PyObject *set_framework(PyObject *module, PyObject *arguments) {
    struct Framework made;
    PyObject **f = made.functions, *dtypes = NULL;
    (void)module;
    memset(&made, 0, sizeof made);
    if (!PyArg_ParseTuple(arguments, "OOOOOOOOOOpOO", &made.type, &f[POINTER], &f[SHAPE], &f[STRIDES], &f[DTYPE],
                          &f[DEVICE], &f[IS_SPECIAL], &f[STREAM], &f[EMPTY], &f[FILLED], &made.in_bytes, &made.codes,
                          &dtypes)) {
        return NULL;
    }
    if (framework_count == MOST_FRAMEWORKS || fill_dtypes(&made, dtypes) != 0) {
        PyErr_SetString(PyExc_ValueError, "too many frameworks, or a type that is none of the dictionary's");
        return NULL;
    }
    for (int i = 0; i < QUESTIONS; ++i) {
        Py_IncRef(f[i]);
    }
    Py_IncRef(made.type);
    Py_IncRef(made.codes);
    frameworks[framework_count++] = made;
    return new_reference(Py_None);
}

static const struct Framework *framework_of(PyObject *array) {
    PyObject *type = PyObject_Type(array);
    const struct Framework *found = NULL;
    for (int i = 0; i < framework_count && found == NULL; ++i) {
        if (type == frameworks[i].type) {
            found = &frameworks[i];
        }
    }
    Py_DecRef(type);
    return found;
}

static PyObject *ask(const struct Framework *framework, enum Question question, PyObject *x) {
    return PyObject_CallFunctionObjArgs(framework->functions[question], x, NULL);
}

static int ask_number(const struct Framework *framework, enum Question question, PyObject *x, Py_ssize_t *number) {
    PyObject *answer = ask(framework, question, x);
    if (answer == NULL) {
        return -1;
    }
    *number = PyNumber_AsSsize_t(answer, NULL);
    Py_DecRef(answer);
    return *number == -1 && PyErr_Occurred() != NULL ? -1 : 0;
}

/* -1: an exception, or more dimensions than are taken. */
static int ask_numbers(const struct Framework *framework, enum Question question, PyObject *x, ptrdiff_t factor,
                       ptrdiff_t *numbers) {
    PyObject *answer = ask(framework, question, x);
    Py_ssize_t count = answer == NULL ? -1 : PyTuple_Size(answer);
    if (count > MOST_DIMENSIONS) {
        count = -1;
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
        numbers[i] = PyNumber_AsSsize_t(PyTuple_GetItem(answer, i), NULL) * factor;
    }
    if (answer != NULL) {
        Py_DecRef(answer);
    }
    return PyErr_Occurred() != NULL ? -1 : (int)count;
}

static int view_type(const struct Framework *framework, PyObject *array, ArrayView *view) {
    PyObject *dtype = ask(framework, DTYPE, array);
    int known = dtype == NULL ? -1 : code_of(framework, dtype, &view->dtype, &view->is_bool);
    if (dtype != NULL) {
        Py_DecRef(dtype);
    }
    return known;
}

static int view_memory(const struct Framework *framework, PyObject *array, ArrayView *view) {
    Shape *shape = &view->shape;
    Py_ssize_t pointer = 0, device = 0;
    shape->item_size = size_of_dtype(view->dtype);
    shape->rank = ask_numbers(framework, SHAPE, array, 1, shape->lengths);
    ptrdiff_t factor = framework->in_bytes ? 1 : shape->item_size;
    if (shape->rank < 0 || ask_numbers(framework, STRIDES, array, factor, shape->strides) != shape->rank ||
        ask_number(framework, DEVICE, array, &device) != 0 || ask_number(framework, POINTER, array, &pointer) != 0) {
        return -1;
    }
    view->data = (char *)pointer;
    view->device = (int)device;
    view->writable = 1;
    view->contiguous = is_in_order(shape);
    return 0;
}

static int is_special(const struct Framework *framework, PyObject *array) {
    Py_ssize_t answer = 0;
    if (framework->functions[IS_SPECIAL] == Py_None) {
        return 0;
    }
    return ask_number(framework, IS_SPECIAL, array, &answer) != 0 || answer != 0;
}

/* The current GPU's default stream is the one that is taken. */
static int is_elsewhere(const ArrayView *view) { return view->device >= 0 && !is_current_gpu(view->device); }

int view_framework_array(PyObject *array, ArrayView *view) {
    const struct Framework *framework = framework_of(array);
    if (framework == NULL) {
        return 0;
    }
    view->framework = framework;
    if (view_torch_array(array, view)) {
        return !is_elsewhere(view);
    }
    view->owner = NULL;
    view->tensor = NULL;
    int known = view_type(framework, array, view);
    if (known == 1 &&
        (is_special(framework, array) || view_memory(framework, array, view) != 0 || is_elsewhere(view))) {
        PyErr_Clear(); /* which the general way puts into words */
        return 0;
    }
    return known;
}

PyObject *new_framework_array(PyObject *x, const ArrayView *like, int rank, const ptrdiff_t *lengths, int dtype,
                              int is_bool, ArrayView *view) {
    const struct Framework *framework = like->framework;
    if (like->tensor != NULL) {
        return new_torch_array(like, rank, lengths, dtype, is_bool, view);
    }
    PyObject *type = dtype > 0 && dtype < TYPES ? framework->dtypes[dtype][is_bool] : NULL;
    PyObject *shape = type == NULL ? NULL : tuple_of(rank, lengths);
    if (shape == NULL) {
        return NULL;
    }
    PyObject *array = PyObject_CallFunctionObjArgs(framework->functions[EMPTY], x, shape, type, NULL);
    Py_DecRef(shape);
    if (array == NULL) {
        return NULL;
    }
    Py_ssize_t pointer = 0;
    if (ask_number(framework, POINTER, array, &pointer) != 0) {
        Py_DecRef(array);
        return NULL;
    }
    view->framework = framework;
    view->tensor = NULL;
    view->owner = NULL;
    view->data = (char *)pointer;
    view->shape.rank = rank;
    return array;
}

static int lie_in_one_order(const ArrayView *x, const ArrayView *mask) {
    const Shape *shape = &x->shape, *other = &mask->shape;
    int nothing = 0;
    for (int d = 0; d < shape->rank; ++d) {
        nothing |= shape->lengths[d] == 0;
    }
    return !nothing && x->contiguous && mask->contiguous && shape->rank == other->rank &&
           memcmp(shape->lengths, other->lengths, (size_t)shape->rank * sizeof *shape->lengths) == 0;
}

/* NULL with a Python exception, or without one where it is left to the framework. */
static PyObject *filled_by_kernel(PyObject *x, const ArrayView *like, const ArrayView *mask, int64_t word,
                                  ArrayView *view) {
    struct CUstream_st *stream = NULL;
    const Shape *shape = &like->shape;
    size_t count = 1;
    if (like->device < 0 || !lie_in_one_order(like, mask)) {
        return NULL;
    }
    *view = *like;
    view->owner = NULL;
    PyObject *array = new_framework_array(x, like, shape->rank, shape->lengths, like->dtype, like->is_bool, view);
    view->tensor = like->tensor;
    for (int d = 0; d < shape->rank; ++d) {
        count *= (size_t)shape->lengths[d];
    }
    if (array != NULL &&
        (stream_of_framework(like, &stream) != 0 ||
         fill_on_gpu(like->data, mask->data, view->data, word, count, shape->item_size, stream) != 0)) {
        Py_DecRef(array);
        return NULL;
    }
    return array;
}

static PyObject *filled_by_framework(PyObject *x, const ArrayView *like, PyObject *where, int64_t word,
                                     ArrayView *view) {
    PyObject *number = PyLong_FromSsize_t((Py_ssize_t)word);
    PyObject *array = number == NULL
                          ? NULL
                          : PyObject_CallFunctionObjArgs(like->framework->functions[FILLED], x, where, number, NULL);
    if (number != NULL) {
        Py_DecRef(number);
    }
    if (array != NULL && view_framework_array(array, view) != 1) {
        Py_DecRef(array);
        return NULL;
    }
    return array;
}

PyObject *filled_framework_array(PyObject *x, const ArrayView *like, PyObject *where, const ArrayView *mask,
                                 int64_t word, ArrayView *view) {
    PyObject *array = filled_by_kernel(x, like, mask, word, view);
    return array != NULL || PyErr_Occurred() != NULL ? array : filled_by_framework(x, like, where, word, view);
}

int stream_of_framework(const ArrayView *x, struct CUstream_st **stream) {
    Py_ssize_t number = 0;
    if (x->tensor != NULL) {
        return stream_of_torch_array(x, stream);
    }
    PyObject *device = PyLong_FromLong(x->device);
    int failed = device == NULL || ask_number(x->framework, STREAM, device, &number) != 0;
    if (device != NULL) {
        Py_DecRef(device);
    }
    *stream = (struct CUstream_st *)number;
    return failed ? -1 : 0;
}

int is_current_gpu(int device) {
    static int (*current_device)(int *);
    int current = -1;
    if (current_device == NULL) {
        void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
        void *address = driver == NULL ? NULL : dlsym(driver, "cuCtxGetDevice");
        memcpy(&current_device, &address, sizeof address);
    }
    return current_device != NULL && current_device(&current) == 0 && current == device;
}
