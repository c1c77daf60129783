/* PyTorch's operators, and this package's own, as kernels of PyTorch's dispatcher: what no line of Python is run for.
 */
#pragma once

#include "python_abi.h"

/* torch_open(cpu, cuda): None, or the name that PyTorch's libraries at these paths lack; cuda may be None. */
PyObject *torch_open(PyObject *module, PyObject *arguments);

/* torch_register(namespace, key): a number; from now on the kernels are those of the namespace's operators (aten or
 * warp_reduce) for a dispatch key (CPU or CUDA); of "aten above" for a key that has them whole, with their gradients.
 */
PyObject *torch_register(PyObject *module, PyObject *arguments);

/* torch_unregister(number): the operators are what they were. */
PyObject *torch_unregister(PyObject *module, PyObject *arguments);

/* torch_failed(message): says in a general operator, which then returns anything, why it failed. */
PyObject *torch_failed(PyObject *module, PyObject *arguments);
