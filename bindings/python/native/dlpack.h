/* Reads DLPack capsules, old and versioned, without taking them over: who holds the capsule holds the memory. */
#pragma once

#include "python_abi.h"

/* dlpack(capsule): (pointer, shape, strides, type code, bits, lanes, device type, device, read_only); strides are in
 * elements, or None where the tensor is contiguous. ValueError for what is no capsule, has been taken already, or is of
 * a major version that is not known. */
PyObject *read_dlpack(PyObject *module, PyObject *arguments);
