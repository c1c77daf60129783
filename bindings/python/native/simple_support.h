/* What the simple calls share: which result an operator gives, axes, and where results are put. */
#pragma once

#include "calls.h"
#include "numpy_array.h"

typedef struct Result {
    int dtype; /* a wr_dtype; 0: the general way */
    int is_bool;
    PyObject *numpy_dtype; /* NULL: the input's own */
} Result;

/* set_result(op, dtype, is_bool, output_dtype, output_is_bool, numpy_dtype): what an operator gives of such elements
 * where no type is asked for; numpy_dtype None stands for the input's own. */
PyObject *set_result(PyObject *module, PyObject *arguments);

/* set_dtype(name, dtype, numpy_dtype): what the argument dtype=name means. */
PyObject *set_dtype(PyObject *module, PyObject *arguments);

Result result_of(wr_op op, const ArrayView *x);

/* Likewise where `dtype` is asked for; None: as above. A dtype of 0 where Python has to find out. */
Result result_asked_for(wr_op op, const ArrayView *x, PyObject *dtype);

/* 1 and the bits of the reduced dimensions; 0 where axis is no integer, tuple or None that the array has. */
int reduced_dimensions(PyObject *axis, int rank, uint64_t *reduced);

/* 1: viewed, to be released. 0: no array that the simple calls take. -1: a Python exception is set. */
int view_array(PyObject *array, ArrayView *view);

/* Likewise of two, which are viewed both or neither. */
int view_both(PyObject *first, ArrayView *one, PyObject *second, ArrayView *other);

/* Whether two arrays are of one framework, on one device. */
int lie_together(const ArrayView *x, const ArrayView *y);

/* An array for the result, and a view of its memory: `out` itself where it is given and fits, otherwise a new one.
 * NULL with a Python exception, or without one where `out` does not fit. */
PyObject *place_for_result(PyObject *x, const ArrayView *like, PyObject *out, int rank, const ptrdiff_t *lengths,
                           Result result, ArrayView *view);

/* Calls the library where x lies, on its framework's stream and with its memory, without Python's lock. */
wr_status run_beside(PyObject *x, const ArrayView *view, Call call, Args *args);

/* What a call returns: the array, or its number where it is NumPy's, has no dimensions and is new; NotImplemented, so
 * that the general way puts the refusal into words, for another status than success. Takes over `array` and releases
 * `view`. */
PyObject *finished_result(wr_status status, PyObject *array, PyObject *out, ArrayView *view);

int is_float(int dtype);

/* A result of f64 is summed in f64. */
int is_summed_in_f64(wr_op op, int dtype, int output);
