/*
 * The part of Python's stable ABI (PEP 384) that the adapter uses, of Python 3.9.
 *
 * It is declared here, as the Rust world does, so that a build needs a Python and not its headers: they are a package
 * of their own on most systems. A test compiles these declarations together with Python.h where that is there.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

typedef ssize_t Py_ssize_t;
typedef struct _typeobject PyTypeObject;
typedef struct _ts PyThreadState;

#ifndef Py_PYTHON_H
typedef struct _object {
    Py_ssize_t ob_refcnt;
    PyTypeObject *ob_type;
} PyObject;

typedef PyObject *(*PyCFunction)(PyObject *, PyObject *);

typedef struct PyMethodDef {
    const char *ml_name;
    PyCFunction ml_meth;
    int ml_flags;
    const char *ml_doc;
} PyMethodDef;

typedef struct PyModuleDef_Base {
    PyObject ob_base;
    PyObject *(*m_init)(void);
    Py_ssize_t m_index;
    PyObject *m_copy;
} PyModuleDef_Base;

typedef struct PyModuleDef {
    PyModuleDef_Base m_base;
    const char *m_name;
    const char *m_doc;
    Py_ssize_t m_size;
    PyMethodDef *m_methods;
    void *m_slots, *m_traverse, *m_clear, *m_free;
} PyModuleDef;

enum { METH_VARARGS = 1, METH_KEYWORDS = 2, PYTHON_ABI_VERSION = 3 };
#define PyModuleDef_HEAD_INIT {{1, NULL}, NULL, 0, NULL}
#define Py_None (&_Py_NoneStruct)
#define Py_True ((PyObject *)&_Py_TrueStruct)
#define Py_False ((PyObject *)&_Py_FalseStruct)
#define Py_NotImplemented (&_Py_NotImplementedStruct)
#endif

extern PyTypeObject PyFloat_Type, PyList_Type, PyLong_Type, PyTuple_Type;
extern PyObject _Py_NoneStruct, _Py_NotImplementedStruct;
extern struct _longobject _Py_TrueStruct, _Py_FalseStruct;
extern PyObject *PyExc_MemoryError, *PyExc_OverflowError, *PyExc_TypeError, *PyExc_ValueError;

PyObject *PyModule_Create2(PyModuleDef *definition, int abi_version);
int PyArg_ParseTuple(PyObject *arguments, const char *format, ...);
PyObject *Py_BuildValue(const char *format, ...);

void Py_IncRef(PyObject *object);
void Py_DecRef(PyObject *object);
PyObject *PyObject_Type(PyObject *object);
int PyObject_IsInstance(PyObject *object, PyObject *type);
PyObject *PyObject_GetAttr(PyObject *object, PyObject *name);
PyObject *PyObject_GetItem(PyObject *object, PyObject *key);
PyObject *PyObject_Call(PyObject *callable, PyObject *arguments, PyObject *options);
PyObject *PyObject_CallFunctionObjArgs(PyObject *callable, ...);
PyObject *PyCMethod_New(PyMethodDef *method, PyObject *self, PyObject *module, PyTypeObject *type);
Py_ssize_t PyNumber_AsSsize_t(PyObject *object, PyObject *overflow);

PyObject *PyDict_GetItemWithError(PyObject *dictionary, PyObject *key);
PyObject *PyDict_GetItemString(PyObject *dictionary, const char *key);
Py_ssize_t PyDict_Size(PyObject *dictionary);
Py_ssize_t PySequence_Size(PyObject *sequence);
PyObject *PySequence_GetItem(PyObject *sequence, Py_ssize_t index);
PyObject *PyTuple_New(Py_ssize_t size);
Py_ssize_t PyTuple_Size(PyObject *tuple);
PyObject *PyTuple_GetItem(PyObject *tuple, Py_ssize_t index);
int PyTuple_SetItem(PyObject *tuple, Py_ssize_t index, PyObject *item);
PyObject *PyLong_FromSsize_t(Py_ssize_t value);
PyObject *PyLong_FromSize_t(size_t value);
PyObject *PyLong_FromLong(long value);
PyObject *PyLong_FromVoidPtr(void *pointer);
void *PyLong_AsVoidPtr(PyObject *integer);
long long PyLong_AsLongLong(PyObject *integer);
unsigned long long PyLong_AsUnsignedLongLong(PyObject *integer);
double PyFloat_AsDouble(PyObject *number);
PyObject *PyUnicode_InternFromString(const char *text);
PyObject *PyUnicode_FromString(const char *text);
PyObject *PyCapsule_New(void *pointer, const char *name, void (*destructor)(PyObject *));
void *PyCapsule_GetPointer(PyObject *capsule, const char *name);
int PyCapsule_IsValid(PyObject *capsule, const char *name);

PyObject *PyErr_Occurred(void);
void PyErr_Clear(void);
void PyErr_SetString(PyObject *type, const char *message);
PyObject *PyErr_Format(PyObject *type, const char *format, ...);
PyThreadState *PyEval_SaveThread(void);
void PyEval_RestoreThread(PyThreadState *state);
