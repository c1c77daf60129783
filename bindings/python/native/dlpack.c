#include "dlpack.h"

#include <stdint.h>

/* DLPack's structs, of version 1 and of the time before versions; dlpack.h of that project is not needed to read them.
 */
typedef struct Tensor {
    void *data;
    int32_t device_type;
    int32_t device_id;
    int32_t rank;
    uint8_t type_code;
    uint8_t bits;
    uint16_t lanes;
    const int64_t *shape;
    const int64_t *strides;
    uint64_t byte_offset;
} Tensor;

typedef struct OldTensor {
    Tensor tensor;
    void *context;
    void (*deleter)(void *);
} OldTensor;

typedef struct VersionedTensor {
    uint32_t major, minor;
    void *context;
    void (*deleter)(void *);
    uint64_t flags;
    Tensor tensor;
} VersionedTensor;

enum { KNOWN_MAJOR_VERSION = 1, READ_ONLY = 1 };

static const Tensor *tensor_in(PyObject *capsule, int *read_only) {
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        const VersionedTensor *versioned = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        if (versioned->major != KNOWN_MAJOR_VERSION) {
            PyErr_Format(PyExc_ValueError, "a DLPack capsule of version %d.%d; 1.x is known", (int)versioned->major,
                         (int)versioned->minor);
            return NULL;
        }
        *read_only = (int)(versioned->flags & READ_ONLY);
        return &versioned->tensor;
    }
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        const OldTensor *old = PyCapsule_GetPointer(capsule, "dltensor");
        *read_only = 0;
        return &old->tensor;
    }
    PyErr_SetString(PyExc_ValueError, "no DLPack capsule, or one that has been taken already");
    return NULL;
}

static PyObject *numbers(const int64_t *values, int32_t count) {
    if (values == NULL && count > 0) {
        return Py_BuildValue("");
    }
    PyObject *tuple = PyTuple_New(count);
    for (int32_t i = 0; tuple != NULL && i < count; ++i) {
        (void)PyTuple_SetItem(tuple, i, PyLong_FromSsize_t((Py_ssize_t)values[i]));
    }
    return tuple;
}

PyObject *read_dlpack(PyObject *module, PyObject *arguments) {
    PyObject *capsule = NULL;
    int read_only = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O", &capsule)) {
        return NULL;
    }
    const Tensor *tensor = tensor_in(capsule, &read_only);
    if (tensor == NULL) {
        return NULL;
    }
    uintptr_t pointer = (uintptr_t)tensor->data + (uintptr_t)tensor->byte_offset;
    return Py_BuildValue("(NNNiiiiii)", PyLong_FromSize_t(pointer), numbers(tensor->shape, tensor->rank),
                         numbers(tensor->strides, tensor->rank), (int)tensor->type_code, (int)tensor->bits,
                         (int)tensor->lanes, (int)tensor->device_type, (int)tensor->device_id, read_only);
}
