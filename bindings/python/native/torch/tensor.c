#include "torch/tensor.h"

#include "calls.h"

#include <string.h>

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
    if (rank < 0 || rank > MOST_DIMENSIONS) {
        return NULL;
    }
    for (int d = rank - 1; d >= 0; --d) {
        strides[d] = step;
        step *= sizes[d] > 1 ? sizes[d] : 1;
    }
    return torch.empty_strided(rank, sizes, strides, type, beside->device_type, beside->device_index, &tensor) == 0
               ? tensor
               : NULL;
}

/* Of a kernel that an exception has gone through they are still here. */
static _Thread_local TorchTensor *held[2];

void let_arguments_go(void) { held[0] = held[1] = NULL; }

void hold_arguments(TorchTensor *first, TorchTensor *second) {
    for (int i = 0; i < 2; ++i) {
        if (held[i] != NULL) {
            (void)torch.delete_tensor(held[i]);
        }
    }
    held[0] = first;
    held[1] = second;
}

/* A device's bytes as c10::Device has them, and that there is one. */
static uint32_t device_bits(const Tensor *x) {
    return (uint32_t)x->device_type | ((uint32_t)x->device_index & 0xFF) << 8 | UINT32_C(1) << 16;
}

static int is_of_device(TorchTensor *x, const Tensor *beside) {
    int32_t type = -1, index = -1;
    return torch.get_device_type(x, &type) == 0 && torch.get_device_index(x, &index) == 0 &&
           type == beside->device_type && index == beside->device_index;
}

typedef struct Wanted {
    const Tensor *beside;
    const int64_t *sizes;
    size_t rank;
    int32_t type;
    void *inside; /* what is made */
} Wanted;

static void make(int64_t begin, int64_t end, void *of) {
    Wanted *wanted = of;
    (void)begin;
    (void)end;
    if (wanted->beside->device_type == TORCH_CUDA) {
        (void)torch.empty_cuda(&wanted->inside, wanted->sizes, wanted->rank, (int8_t)wanted->type,
                               device_bits(wanted->beside), 0);
    } else {
        (void)torch.empty_cpu(&wanted->inside, wanted->sizes, wanted->rank, (int8_t)wanted->type, 0, 0);
    }
}

/* Whether a result may be made without the dispatcher. */
static int is_quick(int rank, const int64_t *sizes, const Tensor *beside) {
    enum { SMALL = 1 << 23 }; /* elements: of larger ones any GPU's job takes longer than the host */
    int64_t count = 1;
    for (int d = 0; d < rank && count <= SMALL; ++d) {
        count *= sizes[d];
    }
    return count <= SMALL && (held[0] != NULL || torch.parallel_for != NULL) &&
           (beside->device_type == TORCH_CUDA ? torch.empty_cuda != NULL : torch.empty_cpu != NULL);
}

TorchTensor *new_result(int rank, const int64_t *sizes, int32_t type, const Tensor *beside) {
    if (!is_quick(rank, sizes, beside)) {
        return new_tensor(rank, sizes, type, beside);
    }
    Wanted wanted = {beside, sizes, (size_t)rank, type, NULL};
    if (held[0] != NULL) {
        make(0, 1, &wanted);
    } else if (torch.parallel_for(0, 1, 1, make, &wanted) != 0) {
        return NULL;
    }
    TorchTensor *made = torch.new_value(sizeof wanted.inside);
    memcpy((void *)made, &wanted.inside, sizeof wanted.inside);
    if (is_of_device(made, beside)) {
        return made;
    }
    (void)torch.delete_tensor(made);
    return new_tensor(rank, sizes, type, beside);
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
