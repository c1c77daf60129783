#include "fields.h"

#include <limits.h>
#include <string.h>

typedef enum Kind { KIND_INT32, KIND_SIGNED, KIND_SIZE, KIND_POINTER, KIND_DOUBLE } Kind;

typedef struct Field {
    const char *name;
    size_t offset;
    Kind kind;
    PyObject *key; /* the name, as Python has it */
} Field;

#define KIND_OF(value)                                                                                                 \
    _Generic((value),                                                                                                  \
        double: KIND_DOUBLE,                                                                                           \
        size_t: KIND_SIZE,                                                                                             \
        ptrdiff_t: KIND_SIGNED,                                                                                        \
        void *: KIND_POINTER,                                                                                          \
        const void *: KIND_POINTER,                                                                                    \
        const uint8_t *: KIND_POINTER,                                                                                 \
        const int64_t *: KIND_POINTER,                                                                                 \
        int32_t *: KIND_POINTER,                                                                                       \
        default: KIND_INT32)
#define FIELD(type, name) {#name, offsetof(type, name), KIND_OF(((const type *)0)->name), NULL}

#define REDUCE(name) FIELD(wr_reduce_args, name)
static Field reduce_fields[] = {
    REDUCE(op),           REDUCE(dtype),         REDUCE(output_dtype),    REDUCE(accumulate_dtype),
    REDUCE(nan_mode),     REDUCE(add_to_output), REDUCE(weights_dtype),   REDUCE(input),
    REDUCE(weights),      REDUCE(output),        REDUCE(values),          REDUCE(outer),
    REDUCE(axis),         REDUCE(inner),         REDUCE(outer_stride),    REDUCE(axis_stride),
    REDUCE(inner_stride), REDUCE(workspace),     REDUCE(workspace_bytes), REDUCE(strides_given),
};

#define SEGMENTS(name) FIELD(wr_reduce_segments_args, name)
static Field segments_fields[] = {
    SEGMENTS(op),          SEGMENTS(dtype),         SEGMENTS(output_dtype),    SEGMENTS(accumulate_dtype),
    SEGMENTS(nan_mode),    SEGMENTS(add_to_output), SEGMENTS(offsets_dtype),   SEGMENTS(input),
    SEGMENTS(output),      SEGMENTS(values),        SEGMENTS(offsets),         SEGMENTS(segments),
    SEGMENTS(input_count), SEGMENTS(workspace),     SEGMENTS(workspace_bytes),
};

#define DOT(name) FIELD(wr_dot_args, name)
static Field dot_fields[] = {
    DOT(dtype), DOT(right_dtype), DOT(output_dtype), DOT(accumulate_dtype), DOT(add_to_output),   DOT(left),
    DOT(right), DOT(output),      DOT(count),        DOT(workspace),        DOT(workspace_bytes), DOT(op),
};

#define SOFTMAX(name) FIELD(wr_softmax_args, name)
#define SOFTMAX_FIELDS                                                                                                 \
    SOFTMAX(dtype), SOFTMAX(output_dtype), SOFTMAX(log), SOFTMAX(empty_row), SOFTMAX(causal), SOFTMAX(scale),          \
        SOFTMAX(input), SOFTMAX(output), SOFTMAX(logsumexp), SOFTMAX(maximum), SOFTMAX(mask), SOFTMAX(lengths),        \
        SOFTMAX(causal_first), SOFTMAX(causal_rows), SOFTMAX(offsets), SOFTMAX(outer), SOFTMAX(axis), SOFTMAX(inner),  \
        SOFTMAX(outer_stride), SOFTMAX(axis_stride), SOFTMAX(inner_stride), SOFTMAX(workspace),                        \
        SOFTMAX(workspace_bytes), SOFTMAX(strides_given), SOFTMAX(scales)
static Field softmax_fields[] = {SOFTMAX_FIELDS};

#define PIECE(name) FIELD(SoftmaxPiece, name)
static Field softmax_piece_fields[] = {
    SOFTMAX_FIELDS, PIECE(first),  PIECE(count), PIECE(state), PIECE(state_bytes),
    PIECE(whole),   PIECE(before), PIECE(after), PIECE(check),
};

#define STATE(name) FIELD(wr_state_args, name)
static Field state_fields[] = {
    STATE(op),           STATE(dtype),         STATE(output_dtype),  STATE(accumulate_dtype),
    STATE(nan_mode),     STATE(weights_dtype), STATE(strides_given), STATE(outer),
    STATE(inner),        STATE(first),         STATE(count),         STATE(right_count),
    STATE(input),        STATE(weights),       STATE(outer_stride),  STATE(axis_stride),
    STATE(inner_stride), STATE(state),         STATE(state_bytes),   STATE(right),
    STATE(right_bytes),  STATE(merged),        STATE(merged_bytes),  STATE(output),
    STATE(values),       STATE(check),         STATE(workspace),     STATE(workspace_bytes),
    STATE(scale),
};

#define BACKWARD(name) FIELD(wr_softmax_backward_args, name)
static Field softmax_backward_fields[] = {
    BACKWARD(dtype),
    BACKWARD(output_gradient_dtype),
    BACKWARD(input_gradient_dtype),
    BACKWARD(log),
    BACKWARD(empty_row),
    BACKWARD(causal),
    BACKWARD(add_to_input_gradient),
    BACKWARD(scale),
    BACKWARD(output),
    BACKWARD(input),
    BACKWARD(logsumexp),
    BACKWARD(output_gradient),
    BACKWARD(input_gradient),
    BACKWARD(mask),
    BACKWARD(lengths),
    BACKWARD(causal_first),
    BACKWARD(causal_rows),
    BACKWARD(offsets),
    BACKWARD(outer),
    BACKWARD(axis),
    BACKWARD(inner),
    BACKWARD(outer_stride),
    BACKWARD(axis_stride),
    BACKWARD(inner_stride),
    BACKWARD(gradient_outer_stride),
    BACKWARD(gradient_axis_stride),
    BACKWARD(gradient_inner_stride),
    BACKWARD(workspace),
    BACKWARD(workspace_bytes),
    BACKWARD(strides_given),
    BACKWARD(scales),
};

typedef struct Struct {
    Field *fields;
    size_t count;
} Struct;

#define STRUCT(fields) {fields, sizeof(fields) / sizeof *(fields)}
static const Struct structs[CALLS] = {
    [CALL_REDUCE] = STRUCT(reduce_fields),
    [CALL_SEGMENTS] = STRUCT(segments_fields),
    [CALL_DOT] = STRUCT(dot_fields),
    [CALL_SOFTMAX] = STRUCT(softmax_fields),
    [CALL_SOFTMAX_BACKWARD] = STRUCT(softmax_backward_fields),
    [CALL_STATE_REDUCE] = STRUCT(state_fields),
    [CALL_STATE_MERGE] = STRUCT(state_fields),
    [CALL_STATE_FINISH] = STRUCT(state_fields),
    [CALL_SOFTMAX_STATE] = STRUCT(softmax_piece_fields),
    [CALL_SOFTMAX_FROM_STATE] = STRUCT(softmax_piece_fields),
};

int intern_field_names(void) {
    for (int call = 0; call < CALLS; ++call) {
        for (size_t i = 0; i < structs[call].count; ++i) {
            Field *field = &structs[call].fields[i];
            field->key = PyUnicode_InternFromString(field->name);
            if (field->key == NULL) {
                return -1;
            }
        }
    }
    return 0;
}

static int set_int32(const Field *field, PyObject *value, void *place) {
    long long number = PyLong_AsLongLong(value);
    int32_t stored = (int32_t)number;
    if (stored != number) {
        PyErr_Format(PyExc_OverflowError, "%s does not fit into 32 bits", field->name);
        return -1;
    }
    memcpy(place, &stored, sizeof stored);
    return 0;
}

/* A failed conversion has set an exception, which the caller looks for. */
static int set_field(const Field *field, PyObject *value, void *place) {
    if (field->kind == KIND_INT32) {
        return set_int32(field, value, place);
    }
    if (field->kind == KIND_DOUBLE) {
        double number = PyFloat_AsDouble(value);
        memcpy(place, &number, sizeof number);
    } else if (field->kind == KIND_POINTER) {
        void *pointer = value == Py_None ? NULL : PyLong_AsVoidPtr(value);
        memcpy(place, &pointer, sizeof pointer);
    } else if (field->kind == KIND_SIZE) {
        unsigned long long number = PyLong_AsUnsignedLongLong(value);
        memcpy(place, &number, sizeof number);
    } else {
        long long number = PyLong_AsLongLong(value);
        memcpy(place, &number, sizeof number);
    }
    return 0;
}

int fill_args(Call call, PyObject *fields, Args *args) {
    const Struct *known = &structs[call];
    Py_ssize_t found = 0, given = PyDict_Size(fields);
    if (given < 0) {
        return -1;
    }
    *args = empty_args(call);
    for (size_t i = 0; i < known->count; ++i) {
        PyObject *value = PyDict_GetItemWithError(fields, known->fields[i].key);
        if (value != NULL && set_field(&known->fields[i], value, (char *)args + known->fields[i].offset) != 0) {
            return -1;
        }
        found += value != NULL;
    }
    if (PyErr_Occurred() != NULL) {
        return -1;
    }
    if (found != given) {
        PyErr_SetString(PyExc_TypeError, "a name among the fields is none of the struct's");
        return -1;
    }
    return 0;
}

PyObject *field_names(Call call) {
    const Struct *known = &structs[call];
    PyObject *names = PyTuple_New((Py_ssize_t)known->count);
    for (size_t i = 0; names != NULL && i < known->count; ++i) {
        Py_IncRef(known->fields[i].key);
        (void)PyTuple_SetItem(names, (Py_ssize_t)i, known->fields[i].key);
    }
    return names;
}

int place_of_pointer(Call call, const char *name, size_t *offset) {
    const Struct *known = &structs[call];
    for (size_t i = 0; i < known->count; ++i) {
        if (known->fields[i].kind == KIND_POINTER && strcmp(known->fields[i].name, name) == 0) {
            *offset = known->fields[i].offset;
            return 0;
        }
    }
    PyErr_Format(PyExc_TypeError, "%s is no pointer of the call's struct", name);
    return -1;
}
