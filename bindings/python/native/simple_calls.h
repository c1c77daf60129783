/* The calls that most people make, of NumPy arrays without options, in one step and so without Python's overhead. */
#pragma once

#include "python_abi.h"

/* set_result(op, dtype, is_bool, output_dtype, numpy_dtype): what an operator gives of such elements where no type is
 * asked for; numpy_dtype None stands for the input's own. */
PyObject *set_result(PyObject *module, PyObject *arguments);

/* reduce_simple(op, x, axis, keepdims): the result, or NotImplemented where the general way is to be gone: everything
 * that is no plain array, wants a copy, or is an error. */
PyObject *reduce_simple(PyObject *module, PyObject *arguments);

/* softmax_simple(log, x, axis, scale): likewise. */
PyObject *softmax_simple(PyObject *module, PyObject *arguments);

/* plan_reduction(shape, strides, item_size, reduced, any_order): (outer, axis, inner, outer_stride, axis_stride,
 * inner_stride, kept) with kept the sorted kept dimensions, or None where they are in their own order; None where a
 * copy is needed. Strides are in bytes, `reduced` has a bit for each reduced dimension. plan_rows(shape, strides,
 * item_size, reduced): likewise. */
PyObject *plan_reduction_of(PyObject *module, PyObject *arguments);
PyObject *plan_rows_of(PyObject *module, PyObject *arguments);
