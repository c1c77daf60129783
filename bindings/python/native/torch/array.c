#include "torch/array.h"

#include "torch/inside.h"
#include "torch/tensor.h"

int view_torch_array(PyObject *object, ArrayView *view) {
    TorchTensor *handle = tensor_in(object);
    Tensor x;
    if (handle == NULL || view_tensor(handle, &x) != 0 || x.dtype == 0) {
        return 0;
    }
    view->data = (char *)(uintptr_t)x.data;
    view->dtype = x.dtype;
    view->is_bool = is_bool_type(x.type);
    view->writable = 1;
    view->contiguous = is_in_order(&x.shape);
    view->shape = x.shape;
    view->owner = NULL;
    view->device = x.device_type == TORCH_CPU ? -1 : x.device_index;
    view->tensor = handle;
    return 1;
}

PyObject *new_torch_array(const ArrayView *like, int rank, const ptrdiff_t *lengths, int dtype, int is_bool,
                          ArrayView *view) {
    int64_t sizes[MOST_DIMENSIONS];
    int32_t type = type_of_dtype(dtype, is_bool);
    Tensor beside;
    void *data = NULL;
    for (int d = 0; d < rank; ++d) {
        sizes[d] = lengths[d];
    }
    if (type < 0 || view_tensor(like->tensor, &beside) != 0) {
        return NULL;
    }
    TorchTensor *made = new_tensor(rank, sizes, type, &beside);
    if (made == NULL || torch.get_mutable_data(made, &data) != 0) {
        return NULL;
    }
    view->framework = like->framework;
    view->tensor = NULL;
    view->owner = NULL;
    view->data = data;
    view->shape.rank = rank;
    return object_of(made);
}

int stream_of_torch_array(const ArrayView *x, struct CUstream_st **stream) {
    void *current = NULL;
    if (torch.current_stream == NULL || torch.current_stream(x->device, &current) != 0) {
        return -1;
    }
    *stream = current;
    return 0;
}
