/* The operators for Python without PyTorch's dispatcher, where it would do nothing but find the kernel. */
#pragma once

#include "python_abi.h"

/* torch_types({dtype: PyTorch's number}) */
PyObject *torch_types(PyObject *module, PyObject *arguments);

/* torch_reduce(op, x, dim, keepdim, dtype), dim None, an integer or a sequence; torch_softmax(log, x, dim, dtype);
 * dtype None for the operator's own. A new tensor, or None: it is a case for the dispatcher. */
PyObject *torch_reduce(PyObject *module, PyObject *arguments);
PyObject *torch_softmax(PyObject *module, PyObject *arguments);
PyObject *torch_dot(PyObject *module, PyObject *arguments);

/* torch_vector_norm(otherwise): a kernel of aten::linalg_vector_norm, whose `ord` PyTorch's stable interface cannot
 * pass, and the function. `otherwise` is called with what it does not take. */
PyObject *torch_vector_norm(PyObject *module, PyObject *arguments);
