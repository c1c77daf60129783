/* warp_reduce._native: libwarp_reduce for Python, as one extension module for every version from 3.9 on. */
#include "dlpack.h"
#include "fields.h"
#include "file_crew.h"
#include "framework_array.h"
#include "library.h"
#include "numpy_array.h"
#include "plans.h"
#include "simple_calls.h"
#include "simple_support.h"
#include "torch/direct.h"
#include "torch/inside.h"
#include "torch/kernels.h"
#include "xla_calls.h"

#include <stdlib.h>

static PyObject *open_at(PyObject *module, PyObject *arguments) {
    const char *path = NULL;
    char message[512];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "s", &path)) {
        return NULL;
    }
    int number = open_library(path, message, sizeof message);
    return number < 0 ? PyUnicode_FromString(message) : PyLong_FromLong(number);
}

static const Library *library_of(int number) {
    const Library *library = library_numbered(number);
    if (library == NULL) {
        PyErr_SetString(PyExc_ValueError, "no such library");
    }
    return library;
}

/* The library that is the only argument. */
static const Library *only_library(PyObject *arguments) {
    int number = 0;
    return PyArg_ParseTuple(arguments, "i", &number) ? library_of(number) : NULL;
}

static PyObject *use(PyObject *module, PyObject *arguments) {
    const Library *library = only_library(arguments);
    (void)module;
    if (library == NULL) {
        return NULL;
    }
    wr_library = library;
    return Py_BuildValue("");
}

static PyObject *version(PyObject *module, PyObject *arguments) {
    const Library *library = only_library(arguments);
    (void)module;
    return library == NULL ? NULL : PyLong_FromSize_t(library->wr_version());
}

static PyObject *host_stream(PyObject *module, PyObject *arguments) {
    const Library *library = only_library(arguments);
    (void)module;
    return library == NULL ? NULL : PyLong_FromVoidPtr(library->wr_host_stream());
}

static PyObject *host_threads(PyObject *module, PyObject *arguments) {
    const Library *library = only_library(arguments);
    (void)module;
    return library == NULL ? NULL : PyLong_FromSize_t(library->wr_host_threads());
}

static PyObject *set_host_threads(PyObject *module, PyObject *arguments) {
    int number = 0;
    Py_ssize_t most = 0;
    (void)module;
    const Library *library = PyArg_ParseTuple(arguments, "in", &number, &most) ? library_of(number) : NULL;
    if (library == NULL) {
        return NULL;
    }
    if (most < 0) {
        PyErr_SetString(PyExc_ValueError, "a number of threads is not negative; 0 stands for all cores");
        return NULL;
    }
    size_t before = 0;
    (void)library->wr_set_host_threads((size_t)most, &before);
    return PyLong_FromSize_t(before);
}

/* CUDA may take seconds to start. */
static PyObject *cuda_status(PyObject *module, PyObject *arguments) {
    const Library *library = only_library(arguments);
    (void)module;
    if (library == NULL) {
        return NULL;
    }
    PyThreadState *state = PyEval_SaveThread();
    wr_status status = library->wr_cuda_status();
    PyEval_RestoreThread(state);
    return PyLong_FromLong(status);
}

static PyObject *status_name(PyObject *module, PyObject *arguments) {
    int number = 0, status = 0;
    (void)module;
    const Library *library = PyArg_ParseTuple(arguments, "ii", &number, &status) ? library_of(number) : NULL;
    return library == NULL ? NULL : PyUnicode_FromString(library->wr_status_name((wr_status)status));
}

static PyObject *status_string(PyObject *module, PyObject *arguments) {
    int number = 0, status = 0;
    (void)module;
    const Library *library = PyArg_ParseTuple(arguments, "ii", &number, &status) ? library_of(number) : NULL;
    return library == NULL ? NULL : PyUnicode_FromString(library->wr_status_string((wr_status)status));
}

/* A call with all that it needs. */
typedef struct Prepared {
    const Library *library;
    Call call;
    Args args;
    struct CUstream_st *stream;
} Prepared;

/* 0, or a Python exception is set. */
static int set_call(int library, int call, PyObject *fields, Prepared *job) {
    job->library = library_of(library);
    if (job->library == NULL) {
        return -1;
    }
    if (call < 0 || call >= CALLS) {
        PyErr_SetString(PyExc_ValueError, "no such call");
        return -1;
    }
    job->call = (Call)call;
    return fill_args(job->call, fields, &job->args);
}

/* (library, call, fields, stream) */
static int read_job(PyObject *arguments, Prepared *job) {
    int library = 0, call = 0;
    PyObject *fields = NULL, *stream = NULL;
    if (!PyArg_ParseTuple(arguments, "iiOO", &library, &call, &fields, &stream) ||
        set_call(library, call, fields, job) != 0) {
        return -1;
    }
    job->stream = PyLong_AsVoidPtr(stream);
    return PyErr_Occurred() == NULL ? 0 : -1;
}

static PyObject *status_of(const Prepared *job) {
    PyThreadState *state = PyEval_SaveThread();
    wr_status status = run_call(job->library, job->call, &job->args, job->stream);
    PyEval_RestoreThread(state);
    return PyLong_FromLong(status);
}

static PyObject *call_with(PyObject *module, PyObject *arguments) {
    Prepared job;
    (void)module;
    return read_job(arguments, &job) != 0 ? NULL : status_of(&job);
}

static const char prepared_name[] = "warp_reduce.prepared";

static void free_prepared(PyObject *capsule) { free(PyCapsule_GetPointer(capsule, prepared_name)); }

static PyObject *prepare(PyObject *module, PyObject *arguments) {
    Prepared *job = malloc(sizeof *job);
    (void)module;
    if (job == NULL) {
        PyErr_SetString(PyExc_MemoryError, "no memory for a call's arguments");
        return NULL;
    }
    PyObject *capsule = read_job(arguments, job) != 0 ? NULL : PyCapsule_New(job, prepared_name, free_prepared);
    if (capsule == NULL) {
        free(job);
    }
    return capsule;
}

static PyObject *run_prepared(PyObject *module, PyObject *arguments) {
    PyObject *capsule = NULL;
    (void)module;
    const Prepared *job =
        PyArg_ParseTuple(arguments, "O", &capsule) ? PyCapsule_GetPointer(capsule, prepared_name) : NULL;
    return job == NULL ? NULL : status_of(job);
}

static PyObject *workspace_size(PyObject *module, PyObject *arguments) {
    int library = 0, call = 0;
    size_t bytes = 0;
    PyObject *fields = NULL;
    Prepared job;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "iiO", &library, &call, &fields) || set_call(library, call, fields, &job) != 0) {
        return NULL;
    }
    wr_status status = workspace_of_call(job.library, job.call, &job.args, &bytes);
    return Py_BuildValue("(in)", (int)status, (Py_ssize_t)bytes);
}

static PyObject *state_size(PyObject *module, PyObject *arguments) {
    int library = 0;
    size_t bytes = 0;
    PyObject *fields = NULL;
    Prepared job;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "iO", &library, &fields) ||
        set_call(library, CALL_STATE_REDUCE, fields, &job) != 0) {
        return NULL;
    }
    wr_status status = job.library->wr_state_size(&job.args.state, &bytes, NULL);
    return Py_BuildValue("(in)", (int)status, (Py_ssize_t)bytes);
}

static PyObject *fields_of(PyObject *module, PyObject *arguments) {
    int number = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "i", &number)) {
        return NULL;
    }
    if (number < 0 || number >= CALLS) {
        PyErr_SetString(PyExc_ValueError, "no such call");
        return NULL;
    }
    return field_names((Call)number);
}

static PyObject *set_numpy_of(PyObject *module, PyObject *arguments) {
    PyObject *ndarray = NULL, *empty = NULL, *others = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOO", &ndarray, &empty, &others)) {
        return NULL;
    }
    set_numpy(ndarray, empty, others);
    return Py_BuildValue("");
}

static PyMethodDef methods[] = {
    {"open", open_at, METH_VARARGS, "open(path): the number of the library there, or in words why it cannot be used."},
    {"use", use, METH_VARARGS, "use(library): the one that the simple calls go to."},
    {"version", version, METH_VARARGS, "version(library): wr_version()"},
    {"host_stream", host_stream, METH_VARARGS, "host_stream(library): wr_host_stream()"},
    {"host_threads", host_threads, METH_VARARGS, "host_threads(library): wr_host_threads()"},
    {"set_host_threads", set_host_threads, METH_VARARGS, "set_host_threads(library, most): what was set before"},
    {"cuda_status", cuda_status, METH_VARARGS, "cuda_status(library): wr_cuda_status()"},
    {"status_name", status_name, METH_VARARGS, "status_name(library, status): wr_status_name(status)"},
    {"status_string", status_string, METH_VARARGS, "status_string(library, status): wr_status_string(status)"},
    {"call", call_with, METH_VARARGS,
     "call(library, call, fields, stream): the status of a call of its struct's fields."},
    {"prepare", prepare, METH_VARARGS,
     "prepare(library, call, fields, stream): the same call, to be run again and again."},
    {"run", run_prepared, METH_VARARGS, "run(prepared): its status"},
    {"workspace_size", workspace_size, METH_VARARGS, "workspace_size(library, call, fields): (status, bytes)"},
    {"state_size", state_size, METH_VARARGS, "state_size(library, fields): (status, bytes)"},
    {"crew_open", crew_open, METH_VARARGS,
     "crew_open(library, driver, context, threads, part_bytes, piece_bytes, output_bytes, room): threads for files."},
    {"crew_put", crew_put, METH_VARARGS,
     "crew_put(crew, call, fields, inputs, outputs, workspace): a piece to be done."},
    {"crew_take", crew_take, METH_VARARGS, "crew_take(crew): None, or how the next piece has ended."},
    {"crew_close", crew_close, METH_VARARGS, "crew_close(crew)"},
    {"field_names", fields_of, METH_VARARGS, "field_names(call): what the fields of a call are called."},
    {"set_numpy", set_numpy_of, METH_VARARGS, "set_numpy(ndarray, empty, other_types)"},
    {"set_framework", set_framework, METH_VARARGS, "set_framework(type, functions): how its arrays are asked."},
    {"set_result", set_result, METH_VARARGS,
     "set_result(op, dtype, is_bool, output_dtype, output_is_bool, numpy_dtype)"},
    {"set_dtype", set_dtype, METH_VARARGS, "set_dtype(name, dtype, numpy_dtype)"},
    {"reduce_simple", reduce_simple, METH_VARARGS, "reduce_simple(op, x, axis, keepdims, dtype, out, where)"},
    {"dot_simple", dot_simple, METH_VARARGS, "dot_simple(x, y, out)"},
    {"segments_simple", segments_simple, METH_VARARGS, "segments_simple(op, x, offsets)"},
    {"softmax_simple", softmax_simple, METH_VARARGS, "softmax_simple(log, x, axis, scale, mask, out)"},
    {"softmax_backward_simple", softmax_backward_simple, METH_VARARGS,
     "softmax_backward_simple(log, output, output_gradient, axis, scale, out)"},
    {"plan_reduction", plan_reduction_of, METH_VARARGS,
     "plan_reduction(shape, strides, item_size, reduced, any_order)"},
    {"plan_rows", plan_rows_of, METH_VARARGS, "plan_rows(shape, strides, item_size, reduced)"},
    {"dlpack", read_dlpack, METH_VARARGS, "dlpack(capsule): what a DLPack capsule holds."},
    {"torch_open", torch_open, METH_VARARGS,
     "torch_open(cpu, cuda, keys_of_gradients): None, or what PyTorch's libraries lack."},
    {"torch_register", torch_register, METH_VARARGS, "torch_register(namespace, key): the number of the kernels."},
    {"torch_unregister", torch_unregister, METH_VARARGS, "torch_unregister(number)"},
    {"torch_failed", torch_failed, METH_VARARGS, "torch_failed(message): why a general operator failed."},
    {"torch_learn", torch_learn, METH_VARARGS,
     "torch_learn(library, types, examples, plain_keys, modes): whether it was."},
    {"torch_types", torch_types, METH_VARARGS, "torch_types({dtype: PyTorch's number})"},
    {"torch_reduce", torch_reduce, METH_VARARGS, "torch_reduce(op, x, dim, keepdim, dtype): a tensor or None"},
    {"torch_softmax", torch_softmax, METH_VARARGS, "torch_softmax(log, x, dim, dtype): a tensor or None"},
    {"torch_dot", torch_dot, METH_VARARGS, "torch_dot(exact, x, y, dtype): a tensor or None"},
    {"torch_vector_norm", torch_vector_norm, METH_VARARGS, "torch_vector_norm(otherwise): a kernel"},
    {"xla_handler", xla_handler, METH_VARARGS, "xla_handler(name, minor): a capsule for JAX."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_native",
    .m_doc = "libwarp_reduce through its C interface; warp_reduce is what programs import.",
    .m_size = -1,
    .m_methods = methods,
};

WR_API PyObject *PyInit__native(void);

/* By this name _thread_limits.py tells the adapter from other packages' modules. */
WR_API extern const char warp_reduce_adapter[];
const char warp_reduce_adapter[] = "warp_reduce";

PyObject *PyInit__native(void) {
    if (intern_field_names() != 0 || intern_numpy_names() != 0) {
        return NULL;
    }
    return PyModule_Create2(&definition, PYTHON_ABI_VERSION);
}
