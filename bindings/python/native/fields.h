/* The args structs of warp_reduce.h by the names of their fields. */
#pragma once

#include "calls.h"
#include "python_abi.h"

/* Makes the names that are looked up. 0, or a Python exception is set. */
int intern_field_names(void);

/* The struct of a call from a dictionary {field: number or None}: what is not in it is zero. 0, or a Python exception
 * is set: a name that is none of the struct's, a value that its field cannot hold. */
int fill_args(Call call, PyObject *fields, Args *args);

/* The names of a call's fields but for struct_size, as a new tuple. */
PyObject *field_names(Call call);

/* Where in the call's struct the pointer of that name is. 0, or a Python exception is set. */
int place_of_pointer(Call call, const char *name, size_t *offset);
