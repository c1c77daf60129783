#include "torch/workspace.h"

#include "gpu_fill.h"

#include <stdatomic.h>

enum { KEPT = 16, LEAST_BYTES = 1 << 16, MOST_BYTES = 1 << 22, TORCH_U8 = 0 };

struct KeptWorkspace {
    TorchTensor *tensor; /* NULL: not yet */
    void *memory;
    size_t bytes;
    struct CUstream_st *stream;
    int32_t device;
    atomic_flag taken;
};

static KeptWorkspace kept[KEPT];

/* In the place of what was too small, whose memory is free for what follows on the stream. */
static int make(KeptWorkspace *place, const Tensor *x, struct CUstream_st *stream, size_t least) {
    int64_t bytes = LEAST_BYTES;
    while ((size_t)bytes < least) {
        bytes *= 2;
    }
    void *memory = NULL;
    TorchTensor *made = new_tensor(1, &bytes, TORCH_U8, x);
    if (made == NULL) {
        return 0;
    }
    if (torch.get_mutable_data(made, &memory) != 0) {
        (void)torch.delete_tensor(made);
        return 0;
    }
    if (place->tensor != NULL) {
        (void)torch.delete_tensor(place->tensor);
    }
    place->tensor = made;
    place->memory = memory;
    place->bytes = (size_t)bytes;
    place->device = x->device_index;
    place->stream = stream;
    return 1;
}

static int is_for(const KeptWorkspace *place, const Tensor *x, struct CUstream_st *stream) {
    return place->tensor == NULL || (place->device == x->device_index && place->stream == stream);
}

KeptWorkspace *take_workspace(const Tensor *x, struct CUstream_st *stream, size_t bytes, void **memory) {
    if (bytes > MOST_BYTES || may_be_captured(stream)) {
        return NULL;
    }
    for (int i = 0; i < KEPT; ++i) {
        KeptWorkspace *place = &kept[i];
        if (atomic_flag_test_and_set_explicit(&place->taken, memory_order_acquire)) {
            continue; /* by another thread: of the same stream there may be several */
        }
        int found = is_for(place, x, stream);
        if (found && (bytes <= place->bytes || make(place, x, stream, bytes))) {
            *memory = place->memory;
            return place;
        }
        give_workspace_back(place);
        if (found) {
            return NULL;
        }
    }
    return NULL;
}

void give_workspace_back(KeptWorkspace *workspace) {
    atomic_flag_clear_explicit(&workspace->taken, memory_order_release);
}
