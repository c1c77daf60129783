/* Arrays of other frameworks than NumPy, as CuPy and PyTorch: Python says once by which functions each is asked. */
#pragma once

#include "numpy_array.h"

/* set_framework(type, pointer, shape, strides, dtype, device, is_special, stream, empty, strides_in_bytes, codes,
 * dtypes): functions of an array, of which device gives -1 on the host and is_special (or None) says of which the
 * general way must take care; stream(device); empty(x, shape, dtype); filled(x, where, word): x with the word where
 * `where` is false, as a signed integer;
 * {dtype: (wr_dtype, is_bool)}, and all of its keys. */
PyObject *set_framework(PyObject *module, PyObject *arguments);

/* 1: viewed. 0: of no framework that is known, or one that only the general way can work on. -1: a Python exception. */
int view_framework_array(PyObject *array, ArrayView *view);

/* A new array in row-major order beside x, and its view; `dtype` and `is_bool` as the library has them. NULL with a
 * Python exception, or without one where the framework has no such type. */
PyObject *new_framework_array(PyObject *x, const ArrayView *like, int rank, const ptrdiff_t *lengths, int dtype,
                              int is_bool, ArrayView *view);

/* x with the word where the mask is false, new, and its view: on a GPU by a kernel of ours where both are of one shape
 * and in order, otherwise by the framework. NULL with a Python exception. */
PyObject *filled_framework_array(PyObject *x, const ArrayView *like, PyObject *where, const ArrayView *mask,
                                 int64_t word, ArrayView *view);

/* The framework's current stream for the GPU that the array lies on. 0, or a Python exception is set. */
int stream_of_framework(const ArrayView *x, struct CUstream_st **stream);

/* Whether a GPU is this thread's current one: its default stream, and new memory, are of that. */
int is_current_gpu(int device);
