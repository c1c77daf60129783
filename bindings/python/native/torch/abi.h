/*
 * The part of PyTorch's stable C interface (2.10 and later) that the adapter uses, found at run time in the libraries
 * that `import torch` has loaded: a build needs neither PyTorch nor its headers, and one module serves every version.
 */
#pragma once

#include "python_abi.h"

#include <stddef.h>
#include <stdint.h>

/* An argument or result of an operator: a number, an owned tensor or list, for an option NULL or an owned pointer to a
 * value. */
typedef uint64_t TorchValue;

typedef struct TorchTensor TorchTensor;
typedef struct TorchList TorchList;
typedef struct TorchLibrary TorchLibrary;
typedef struct TorchGuard TorchGuard;
typedef void (*TorchKernel)(TorchValue *stack, uint64_t arguments, uint64_t results);

enum { TORCH_CPU = 0, TORCH_CUDA = 1 };

/* The interface's version that values are passed by: 2.10 */
#define TORCH_INTERFACE (((uint64_t)2 << 56) | ((uint64_t)10 << 48))

/* Keeps an operator that is called from what stands above some keys; as large as PyTorch's, and more. */
typedef struct TorchExclusion {
    uint64_t words[4];
} TorchExclusion;

/* The first functions return 0 where they have worked. */
typedef struct Torch {
    int32_t (*get_dim)(TorchTensor *, int64_t *);
    int32_t (*get_sizes)(TorchTensor *, int64_t **);
    int32_t (*get_strides)(TorchTensor *, int64_t **);
    int32_t (*get_dtype)(TorchTensor *, int32_t *);
    int32_t (*get_device_type)(TorchTensor *, int32_t *);
    int32_t (*get_device_index)(TorchTensor *, int32_t *);
    int32_t (*get_const_data)(TorchTensor *, const void **);
    int32_t (*get_mutable_data)(TorchTensor *, void **);
    int32_t (*empty_strided)(int64_t rank, const int64_t *sizes, const int64_t *strides, int32_t dtype,
                             int32_t device_type, int32_t device_index, TorchTensor **);
    int32_t (*delete_tensor)(TorchTensor *);
    int32_t (*list_size)(TorchList *, size_t *);
    int32_t (*list_item)(TorchList *, size_t, TorchValue *);
    int32_t (*delete_list)(TorchList *);
    int32_t (*call)(const char *name, const char *overload, TorchValue *stack, uint64_t interface);
    int32_t (*new_library)(const char *space, const char *key, const char *file, uint32_t line, TorchLibrary **);
    int32_t (*implement)(TorchLibrary *, const char *name, TorchKernel, uint64_t interface);
    int32_t (*delete_library)(TorchLibrary *);
    int32_t (*current_device)(int32_t *);
    uint8_t (*grad_is_enabled)(void);
    /* Of what a handle points to; its tangent of a level of forward mode is a tensor's handle, or of `no_tensor`. */
    uint8_t (*requires_grad)(const void *);
    const void *const *(*tangent)(const void *, uint64_t level, TorchTensor *);
    const void *no_tensor;
    void (*exclude)(TorchExclusion *, uint64_t keys);
    void (*include)(TorchExclusion *);
    /* NULL where PyTorch is built without CUDA */
    int32_t (*current_stream)(int32_t device, void **);
    int32_t (*new_guard)(int32_t device, TorchGuard **);
    int32_t (*delete_guard)(TorchGuard *);
    /* Throws RuntimeError, through the caller's frames. */
    void (*fail)(const char *function, const char *file, uint32_t line, const char *message);
    /* The dimension, counted from the first; throws PyTorch's IndexError where there is none. */
    int64_t (*wrap_dimension)(int64_t dimension, int64_t rank, uint8_t wrap_scalar);
    /* operator delete, by which values behind options go */
    void (*delete_value)(void *);
    /* operator new */
    void *(*new_value)(size_t);
    /* Kernels' own ways to a contiguous tensor, which they write the first word of: without the dispatcher, and with
     * C++'s exceptions. A device is type, index << 8 and a mark. NULL where this PyTorch has them not. */
    void *(*empty_cpu)(void **tensor, const int64_t *sizes, size_t rank, int8_t type, uint8_t pinned, uint16_t format);
    void *(*empty_cuda)(void **tensor, const int64_t *sizes, size_t rank, int8_t type, uint32_t device,
                        uint16_t format);
    /* Likewise to a copy in the target's type; gives the target. */
    TorchTensor *(*copy)(TorchTensor *target, const TorchTensor *source, uint8_t non_blocking);
    /* Calls the function, and gives an exception that it throws as what is not 0. NULL where this PyTorch has it not.
     */
    int32_t (*parallel_for)(int64_t begin, int64_t end, int64_t grain, void (*)(int64_t, int64_t, void *), void *);
    /* What follows is there once find_torch_inside has found all of it. */
    uint8_t (*key_is_included)(uint16_t key); /* by a mode of this thread */
    uint8_t (*has_callbacks)(void);           /* of profilers */
    int64_t (*function_modes)(void);          /* how many modes of Python see all calls of functions */
    PyObject *(*wrap)(const TorchTensor *);   /* a new reference to the tensor's Python object */
} Torch;

extern Torch torch;

/* Finds the interface in the library at `cpu`, and what is CUDA's at `cuda` unless that is NULL. Returns NULL, or the
 * name that is missing. */
const char *find_torch(const char *cpu, const char *cuda);

/* After find_torch, with the path of PyTorch's library for Python: whether all is there. */
int find_torch_inside(const char *python);
