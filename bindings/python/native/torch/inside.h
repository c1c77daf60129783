/* What PyTorch's stable interface does not tell of a tensor: which Python object it is in, and what else than the
 * kernels of its device an operator on it would go through. Both are learnt from examples of which the answer is known;
 * where that fails, calls go the ways that need neither. */
#pragma once

#include "python_abi.h"
#include "torch/abi.h"

/* torch_learn(library, types, examples, plain_keys, modes): whether it was learnt. The path of PyTorch's library for
 * Python; the types of tensors that are nothing else; (tensor, the address of what is inside, its keys) of several; the
 * keys that plain tensors of the CPU and of CUDA have; the numbers of keys that a thread's modes switch on. */
PyObject *torch_learn(PyObject *module, PyObject *arguments);

/* Whether an operator on the tensor would go to its gradient and then to the kernel of its device, and nowhere else. */
int is_plain(TorchTensor *x);

/* Whether a gradient of the tensor is wanted, in reverse or in forward mode. */
int has_derivative(TorchTensor *x);

/* Whether a kernel above the gradients may call that of the device itself. */
int goes_at_once(TorchTensor *x);

/* The tensor that a Python object is, lent: NULL unless it goes at once and nothing watches PyTorch's operators. */
TorchTensor *tensor_in(PyObject *object);

/* A new tensor as a Python object, which takes it over. */
PyObject *object_of(TorchTensor *made);
