#include "torch/inside.h"

#include <malloc.h>
#include <string.h>

enum { MOST_MODES = 16, MOST_TYPES = 4, WORD = sizeof(uint64_t) };

/* Offsets in bytes; 0: not learnt. */
static struct Inside {
    size_t tensor_at; /* in a Python object: the address of what is inside of the tensor */
    size_t keys_at;   /* in what is inside */
    uint64_t plain_keys;
    PyObject *types[MOST_TYPES];
    int type_count;
    uint16_t modes[MOST_MODES];
    int mode_count;
} inside;

static uint64_t word_at(const void *memory, size_t offset) {
    uint64_t word;
    memcpy(&word, (const char *)memory + offset, sizeof word);
    return word;
}

/* ---- learning */

typedef struct Example {
    PyObject *tensor;
    const void *address;
    uint64_t keys;
} Example;

static int read_example(PyObject *examples, Py_ssize_t index, Example *example) {
    unsigned long long address = 0, keys = 0;
    if (!PyArg_ParseTuple(PyTuple_GetItem(examples, index), "OKK", &example->tensor, &address, &keys)) {
        return -1;
    }
    example->address = (const void *)(uintptr_t)address;
    example->keys = keys;
    return 0;
}

/* Words at which a value stands, one bit each, of the first `size` bytes. */
static uint64_t places_of(uint64_t value, const void *memory, size_t size) {
    uint64_t places = 0;
    for (size_t i = 0; i < size / WORD && i < 64; ++i) {
        places |= (uint64_t)(word_at(memory, i * WORD) == value) << i;
    }
    return places;
}

/* In bytes; 0 unless there is one place, which is not the first. */
static size_t only_place(uint64_t places) {
    size_t place = 0;
    if (places == 0 || (places & (places - 1)) != 0) {
        return 0;
    }
    while (places >> place > 1) {
        ++place;
    }
    return place * WORD;
}

/* Python's object begins with its count and its type; no tensor has fewer than two words behind them. */
static int learn_places(PyObject *examples) {
    enum { SURE_WORDS = 4 };
    uint64_t tensors = ~UINT64_C(0), keys = ~UINT64_C(0);
    Example example;
    for (Py_ssize_t i = 0; i < PyTuple_Size(examples); ++i) {
        if (read_example(examples, i, &example) != 0) {
            return -1;
        }
        tensors &= places_of((uint64_t)(uintptr_t)example.address, example.tensor, (size_t)SURE_WORDS * WORD);
        keys &= places_of(example.keys, example.address, malloc_usable_size((void *)example.address));
    }
    inside.tensor_at = only_place(tensors);
    inside.keys_at = only_place(keys);
    return 0;
}

static int learn_types(PyObject *types) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(types) && inside.type_count < MOST_TYPES; ++i) {
        PyObject *type = PyTuple_GetItem(types, i);
        Py_IncRef(type);
        inside.types[inside.type_count++] = type;
    }
    return 0;
}

static int learn_modes(PyObject *modes) {
    inside.mode_count = (int)PyTuple_Size(modes);
    if (inside.mode_count < 0 || inside.mode_count > MOST_MODES) {
        inside.mode_count = 0;
        PyErr_SetString(PyExc_ValueError, "too many modes");
        return -1;
    }
    for (int i = 0; i < inside.mode_count; ++i) {
        inside.modes[i] = (uint16_t)PyNumber_AsSsize_t(PyTuple_GetItem(modes, i), NULL);
    }
    return PyErr_Occurred() != NULL ? -1 : 0;
}

PyObject *torch_learn(PyObject *module, PyObject *arguments) {
    const char *library = NULL;
    PyObject *types = NULL, *examples = NULL, *modes = NULL;
    unsigned long long plain_keys = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "sOOKO", &library, &types, &examples, &plain_keys, &modes)) {
        return NULL;
    }
    memset(&inside, 0, sizeof inside);
    inside.plain_keys = plain_keys;
    if (!find_torch_inside(library)) {
        return PyLong_FromLong(0);
    }
    if (learn_modes(modes) != 0 || learn_types(types) != 0 || learn_places(examples) != 0) {
        return NULL;
    }
    if (inside.tensor_at == 0 || inside.keys_at == 0) {
        memset(&inside, 0, sizeof inside);
    }
    return PyLong_FromLong(inside.keys_at != 0);
}

/* ---- asking */

static int has_modes(void) {
    for (int i = 0; i < inside.mode_count; ++i) {
        if (torch.key_is_included(inside.modes[i])) {
            return 1;
        }
    }
    return 0;
}

int is_plain(TorchTensor *x) {
    if (inside.keys_at == 0) {
        return 0;
    }
    const void *of_tensor = *(const void *const *)(const void *)x;
    return (word_at(of_tensor, inside.keys_at) & ~inside.plain_keys) == 0 && !has_modes();
}

int has_derivative(TorchTensor *x) {
    const void *of_tensor = *(const void *const *)(const void *)x;
    return (torch.grad_is_enabled() && torch.requires_grad(of_tensor)) ||
           *torch.tangent(of_tensor, 0, x) != torch.no_tensor;
}

int goes_at_once(TorchTensor *x) { return is_plain(x) && !has_derivative(x); }

static int is_tensor(PyObject *object) {
    PyObject *type = PyObject_Type(object);
    int found = 0;
    for (int i = 0; i < inside.type_count; ++i) {
        found |= type == inside.types[i];
    }
    Py_DecRef(type);
    return found;
}

TorchTensor *tensor_in(PyObject *object) {
    if (inside.tensor_at == 0 || !is_tensor(object) || torch.has_callbacks() || torch.function_modes() != 0) {
        return NULL;
    }
    TorchTensor *x = (TorchTensor *)(void *)((char *)object + inside.tensor_at);
    return goes_at_once(x) ? x : NULL;
}

PyObject *object_of(TorchTensor *made) {
    PyObject *object = torch.wrap(made);
    (void)torch.delete_tensor(made);
    return object;
}
