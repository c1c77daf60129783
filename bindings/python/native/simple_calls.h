/* The calls that most people make, of NumPy's, CuPy's and PyTorch's arrays with few options, without Python's overhead.
 * Each gives NotImplemented where the general way is to be gone: everything that is no plain array, wants a copy, or is
 * an error. */
#pragma once

#include "python_abi.h"
#include "warp_reduce.h"

/* The order of the elements changes nothing: exact sums, extremes, counts. */
int takes_any_order(wr_op op, wr_dtype dtype);

/* reduce_simple(op, x, axis, keepdims, dtype, out, where): where True, or bools that are broadcast to x */
PyObject *reduce_simple(PyObject *module, PyObject *arguments);

/* dot_simple(x, y, out): each row of x times the vector y */
PyObject *dot_simple(PyObject *module, PyObject *arguments);

/* segments_simple(op, x, offsets): of one dimension, offsets of int64 */
PyObject *segments_simple(PyObject *module, PyObject *arguments);

/* softmax_simple(log, x, axis, scale, mask, out): mask of x's shape, or None */
PyObject *softmax_simple(PyObject *module, PyObject *arguments);

/* softmax_backward_simple(log, output, output_gradient, axis, scale, out) */
PyObject *softmax_backward_simple(PyObject *module, PyObject *arguments);
