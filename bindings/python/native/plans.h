/* geometry.h for Python. */
#pragma once

#include "python_abi.h"

/* plan_reduction(shape, strides, item_size, reduced, any_order): (outer, axis, inner, outer_stride, axis_stride,
 * inner_stride, kept) with kept the sorted kept dimensions, or None where they are in their own order; None where a
 * copy is needed. Strides are in bytes, `reduced` has a bit for each reduced dimension. */
PyObject *plan_reduction_of(PyObject *module, PyObject *arguments);

/* plan_rows(shape, strides, item_size, reduced): likewise, for a result of the array's own shape. */
PyObject *plan_rows_of(PyObject *module, PyObject *arguments);
