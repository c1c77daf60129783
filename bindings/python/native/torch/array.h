/* PyTorch's tensors as arrays of the simple calls, by what is inside of them and without asking Python. */
#pragma once

#include "numpy_array.h"

/* 1: viewed. 0: not plainly a tensor, or PyTorch's insides were not learnt: then it is asked as others are. */
int view_torch_array(PyObject *object, ArrayView *view);

/* As new_framework_array, beside a tensor that view_torch_array has viewed. */
PyObject *new_torch_array(const ArrayView *like, int rank, const ptrdiff_t *lengths, int dtype, int is_bool,
                          ArrayView *view);

/* As stream_of_framework, without an exception. */
int stream_of_torch_array(const ArrayView *x, struct CUstream_st **stream);
