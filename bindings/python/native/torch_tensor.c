#include "torch_tensor.h"

#include "calls.h"

/* by c10::ScalarType */
static const int dtypes[] = {
    WR_U8,  WR_I8,  WR_I16,           WR_I32,    WR_I64, WR_F16,     WR_F32,     WR_F64, 0 /* complex */,
    0,      0,      WR_U8 /* bool */, 0 /* q */, 0,      0,          WR_BF16,    0,      0,
    0,      0,      0 /* bits */,     0,         0,      WR_F8_E5M2, WR_F8_E4M3, 0,      0 /* fnuz */,
    WR_U16, WR_U32, WR_U64,
};

int dtype_of_type(int32_t type) {
    return type >= 0 && type < (int32_t)(sizeof dtypes / sizeof *dtypes) ? dtypes[type] : 0;
}

enum { TORCH_BOOL = 11 };

int is_bool_type(int32_t type) { return type == TORCH_BOOL; }

int32_t type_of_dtype(int dtype, int is_bool) {
    if (is_bool) {
        return TORCH_BOOL;
    }
    int32_t type = (int32_t)(sizeof dtypes / sizeof *dtypes) - 1;
    while (type >= 0 && (dtypes[type] != dtype || type == TORCH_BOOL)) {
        --type;
    }
    return type;
}

static int view_shape(TorchTensor *handle, Tensor *tensor) {
    int64_t rank = 0, *sizes = NULL, *strides = NULL;
    Shape *shape = &tensor->shape;
    if (torch.get_dim(handle, &rank) != 0 || rank > MOST_DIMENSIONS || torch.get_sizes(handle, &sizes) != 0 ||
        torch.get_strides(handle, &strides) != 0) {
        return -1;
    }
    tensor->sizes = sizes;
    shape->rank = (int)rank;
    shape->item_size = size_of_dtype(tensor->dtype);
    for (int d = 0; d < shape->rank; ++d) {
        shape->lengths[d] = (ptrdiff_t)sizes[d];
        shape->strides[d] = (ptrdiff_t)strides[d] * shape->item_size;
    }
    return 0;
}

int view_tensor(TorchTensor *handle, Tensor *tensor) {
    tensor->handle = handle;
    if (torch.get_dtype(handle, &tensor->type) != 0) {
        return -1;
    }
    tensor->dtype = dtype_of_type(tensor->type);
    return view_shape(handle, tensor) == 0 && torch.get_device_type(handle, &tensor->device_type) == 0 &&
                   torch.get_device_index(handle, &tensor->device_index) == 0 &&
                   torch.get_const_data(handle, &tensor->data) == 0
               ? 0
               : -1;
}

TorchTensor *new_tensor(int rank, const int64_t *sizes, int32_t type, const Tensor *beside) {
    int64_t strides[MOST_DIMENSIONS], step = 1;
    TorchTensor *tensor = NULL;
    for (int d = rank - 1; d >= 0; --d) {
        strides[d] = step;
        step *= sizes[d] > 1 ? sizes[d] : 1;
    }
    return torch.empty_strided(rank, sizes, strides, type, beside->device_type, beside->device_index, &tensor) == 0
               ? tensor
               : NULL;
}

int stream_of(const Tensor *tensor, struct CUstream_st **stream) {
    void *current = NULL;
    if (tensor->device_type == TORCH_CPU) {
        *stream = wr_library->wr_host_stream();
        return 0;
    }
    if (torch.current_stream == NULL || torch.current_stream(tensor->device_index, &current) != 0) {
        return -1;
    }
    *stream = current;
    return 0;
}
