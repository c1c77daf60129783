/* The library's calls as functions that XLA calls from compiled programs. */
#pragma once

#include "python_abi.h"

/* xla_handler(name, minor): a capsule for jax.ffi.register_ffi_target. name: reduce, softmax or softmax_backward,
 * followed by _cpu or _cuda; minor: of the interface's version, as JAX's header has it. */
PyObject *xla_handler(PyObject *module, PyObject *arguments);
