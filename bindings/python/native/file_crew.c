#include "file_crew.h"

#include "crew_work.h"
#include "fields.h"

#include <string.h>

static const char crew_name[] = "warp_reduce.crew";

static Crew *crew_of(PyObject *capsule) { return PyCapsule_GetPointer(capsule, crew_name); }

static int set_driver(PyObject *addresses) {
    void *functions[DRIVER_FUNCTIONS];
    for (int i = 0; i < DRIVER_FUNCTIONS; ++i) {
        PyObject *address = PyTuple_GetItem(addresses, i);
        functions[i] = address == NULL ? NULL : PyLong_AsVoidPtr(address);
        if (functions[i] == NULL) {
            return -1;
        }
    }
    memcpy(&crew_driver, functions, sizeof crew_driver);
    return 0;
}

PyObject *crew_open(PyObject *module, PyObject *arguments) {
    int number = 0, threads = 0;
    unsigned long long context = 0;
    Py_ssize_t part_bytes = 0, piece_bytes = 0, output_bytes = 0, room = 0;
    PyObject *addresses = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "iOKinnnn", &number, &addresses, &context, &threads, &part_bytes, &piece_bytes,
                          &output_bytes, &room) ||
        set_driver(addresses) != 0) {
        return NULL;
    }
    const Library *library = library_numbered(number);
    int fine = library != NULL && threads > 0 && part_bytes > 0 && piece_bytes > 0 && output_bytes >= 0 && room > 0;
    Crew *crew = fine ? new_crew(library, (void *)(uintptr_t)context, threads, (size_t)room) : NULL;
    if (crew == NULL) {
        PyErr_SetString(PyExc_ValueError, "no such library, nothing to do, or no memory for it");
        return NULL;
    }
    crew->part_bytes = crew_aligned((size_t)part_bytes);
    crew->piece_bytes = crew_aligned((size_t)piece_bytes);
    crew->output_bytes = crew_aligned((size_t)output_bytes);
    PyThreadState *state = PyEval_SaveThread();
    Failure failure = start_crew(crew); /* which pins memory, for a good part of a second */
    if (failure.what != NULL) {
        end_crew(crew);
    }
    PyEval_RestoreThread(state);
    if (failure.what != NULL) {
        return Py_BuildValue("(si)", failure.what, failure.number);
    }
    PyObject *capsule = PyCapsule_New(crew, crew_name, NULL);
    if (capsule == NULL) {
        end_crew(crew);
    }
    return capsule;
}

/* (field, file, offset, bytes) or (field, address, bytes). 0, or a Python exception is set. */
static int set_array(Call call, PyObject *given, int is_input, Array *array) {
    const char *field = NULL;
    long long offset = 0;
    unsigned long long address = 0;
    Py_ssize_t bytes = 0;
    int fine = is_input ? PyArg_ParseTuple(given, "siLn", &field, &array->file, &offset, &bytes)
                        : PyArg_ParseTuple(given, "sKn", &field, &address, &bytes);
    if (!fine) {
        return -1;
    }
    array->offset = (off_t)offset;
    array->address = (void *)(uintptr_t)address;
    array->bytes = (size_t)bytes;
    return place_of_pointer(call, field, &array->field);
}

/* Their number, or -1 and a Python exception is set. */
static int set_arrays(Call call, PyObject *given, int is_input, Array *arrays) {
    Py_ssize_t count = PyTuple_Size(given);
    if (count < 0) {
        return -1;
    }
    if (count > MOST_ARRAYS) {
        PyErr_SetString(PyExc_ValueError, "a piece has at most two inputs and two outputs");
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
        if (set_array(call, PyTuple_GetItem(given, i), is_input, &arrays[i]) != 0) {
            return -1;
        }
    }
    return (int)count;
}

PyObject *crew_put(PyObject *module, PyObject *arguments) {
    int call = 0;
    Py_ssize_t workspace = 0;
    PyObject *capsule = NULL, *fields = NULL, *inputs = NULL, *outputs = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OiOOOn", &capsule, &call, &fields, &inputs, &outputs, &workspace)) {
        return NULL;
    }
    Crew *crew = crew_of(capsule);
    if (crew == NULL) {
        return NULL;
    }
    if (call < 0 || call >= CALLS || crew->put - crew->taken == crew->room) {
        PyErr_SetString(PyExc_ValueError, "no such call, or no room for a piece");
        return NULL;
    }
    Piece *piece = &crew->pieces[crew->put % crew->room];
    piece->call = (Call)call;
    piece->workspace = (size_t)workspace;
    piece->input_count = set_arrays(piece->call, inputs, 1, piece->inputs);
    piece->output_count = piece->input_count < 0 ? -1 : set_arrays(piece->call, outputs, 0, piece->outputs);
    if (piece->output_count < 0 || fill_args(piece->call, fields, &piece->args) != 0) {
        return NULL;
    }
    if (!lay_out(crew, piece)) {
        PyErr_SetString(PyExc_ValueError, "a piece has no inputs, or is larger than the crew was told");
        return NULL;
    }
    put_piece(crew);
    return Py_BuildValue("");
}

PyObject *crew_take(PyObject *module, PyObject *arguments) {
    PyObject *capsule = NULL;
    (void)module;
    Crew *crew = PyArg_ParseTuple(arguments, "O", &capsule) ? crew_of(capsule) : NULL;
    if (crew == NULL) {
        return NULL;
    }
    if (crew->taken == crew->put) {
        PyErr_SetString(PyExc_ValueError, "all pieces have been taken");
        return NULL;
    }
    Failure failure = NO_FAILURE;
    PyThreadState *state = PyEval_SaveThread();
    int is_taken = take_piece(crew, &failure);
    PyEval_RestoreThread(state);
    if (!is_taken) {
        return Py_BuildValue("");
    }
    return Py_BuildValue("(si)", failure.what == NULL ? "" : failure.what, failure.number);
}

PyObject *crew_close(PyObject *module, PyObject *arguments) {
    PyObject *capsule = NULL;
    (void)module;
    Crew *crew = PyArg_ParseTuple(arguments, "O", &capsule) ? crew_of(capsule) : NULL;
    if (crew == NULL) {
        return NULL;
    }
    PyThreadState *state = PyEval_SaveThread();
    end_crew(crew);
    PyEval_RestoreThread(state);
    return Py_BuildValue("");
}
