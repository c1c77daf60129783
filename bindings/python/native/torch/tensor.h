/* PyTorch's tensors as the library's arrays. */
#pragma once

#include "geometry.h"
#include "library.h"
#include "torch/abi.h"

typedef struct Tensor {
    TorchTensor *handle;
    const int64_t *sizes; /* the tensor's own */
    Shape shape;
    int32_t type; /* PyTorch's number */
    int dtype;    /* a wr_dtype; 0: a type that the library has not */
    int32_t device_type, device_index;
    const void *data;
} Tensor;

/* 0, or PyTorch could not say. */
int view_tensor(TorchTensor *handle, Tensor *tensor);

/* What PyTorch's element types are to the library, a wr_dtype: 0 for what it has not; bool counts as bytes. */
int dtype_of_type(int32_t type);

int is_bool_type(int32_t type);

/* The other way round; -1 where PyTorch has no such type. */
int32_t type_of_dtype(int dtype, int is_bool);

/* A new tensor in row-major order beside another. NULL: there was no memory. */
TorchTensor *new_tensor(int rank, const int64_t *sizes, int32_t type, const Tensor *beside);

/* The same for a result: small ones come without PyTorch's dispatcher. Its exceptions may go through a kernel that
 * holds something; where nothing is held they end here. What the kernel holds of its arguments is named before, and is
 * given back when the thread's next kernel names its own; NULL where nothing is held, as behind a call. */
TorchTensor *new_result(int rank, const int64_t *sizes, int32_t type, const Tensor *beside);
void hold_arguments(TorchTensor *first, TorchTensor *second);
void let_arguments_go(void);

/* The stream that PyTorch has its work for the tensor's device on. 0, or PyTorch could not say. */
int stream_of(const Tensor *tensor, struct CUstream_st **stream);
