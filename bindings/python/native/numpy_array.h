/* NumPy's arrays without NumPy's headers, so that one build serves every version: through __array_struct__, which has
 * what the buffer protocol lacks (read-only arrays, ml_dtypes, Python 3.9). */
#pragma once

#include "geometry.h"
#include "python_abi.h"
#include "warp_reduce.h"

struct Framework;
struct TorchTensor;

/* An array, of NumPy or of a framework (framework_array.h). */
typedef struct ArrayView {
    char *data;
    /* a wr_dtype; 0 where Python has to find out: a type of another package, another byte order, misaligned memory */
    int dtype;
    int is_bool;
    int writable;
    int contiguous; /* in C order */
    Shape shape;
    PyObject *owner;                   /* what keeps it alive: to be given back, if it is not NULL */
    const struct Framework *framework; /* NULL: NumPy */
    int device;                        /* -1: the host */
    struct TorchTensor *tensor;        /* lent, of a tensor that torch/array.h has viewed; else NULL */
} ArrayView;

/* numpy.ndarray, numpy.empty and {dtype: wr_dtype} of the types that are not NumPy's own. Until they are set no object
 * is an array. */
void set_numpy(PyObject *ndarray, PyObject *empty, PyObject *other_types);

/* Whether `object` is a numpy.ndarray itself, not one of a derived class. */
int is_numpy_array(PyObject *object);

/* 0, or a Python exception is set. */
int view_numpy_array(PyObject *array, ArrayView *view);
void release(ArrayView *view);

/* A new array in C order; NULL with a Python exception. */
PyObject *new_numpy_array(int rank, const ptrdiff_t *lengths, PyObject *dtype);

/* array.dtype, new */
PyObject *dtype_of(PyObject *array);

/* A tuple of numbers, new. */
PyObject *tuple_of(int count, const ptrdiff_t *numbers);

int intern_numpy_names(void);

PyObject *new_reference(PyObject *object);

/* For Python's functions that give up: NotImplemented, new. */
PyObject *not_simple(void);
