#include "tight_memory.h"

#include "harness/harness.h"
#include "reference/reference.h"

#include <stdlib.h>
#include <string.h>

void expect_cuda(cudaError_t error) {
    if (error != cudaSuccess) {
        give_up(cudaGetErrorString(error));
    }
}

void *allocate(size_t bytes) {
    void *memory = malloc(bytes + 1);
    if (memory == NULL) {
        give_up("no memory");
    }
    return memory;
}

tight tight_new(size_t bytes, size_t offset) {
    tight made = {NULL, NULL, bytes};
    void *memory = NULL;
    expect_cuda(cudaMalloc(&memory, bytes + offset));
    made.base = memory;
    made.at = made.base + offset;
    return made;
}

void tight_free(tight *used) { expect_cuda(cudaFree(used->base)); }

void tight_write(const tight *to, const void *from) {
    if (to->bytes > 0) {
        expect_cuda(cudaMemcpy(to->at, from, to->bytes, cudaMemcpyHostToDevice));
        /* A small copy from pageable memory may return before it has arrived, and the job's stream waits for no other.
         */
        expect_cuda(cudaDeviceSynchronize());
    }
}

int tight_holds(const tight *memory, const void *expected) {
    void *got = allocate(memory->bytes);
    int same;
    expect_cuda(cudaMemcpy(got, memory->at, memory->bytes, cudaMemcpyDeviceToHost));
    same = memory->bytes == 0 || (expected != NULL && memcmp(got, expected, memory->bytes) == 0);
    free(got);
    return same;
}

/* How far past an allocation a pointer may be moved. */
static size_t alignment_of(wr_dtype dtype) { return reference_size(dtype) / (size_t)reference_degree(dtype); }

tight tight_array(wr_dtype dtype, size_t count, int moved) {
    return tight_new(count * reference_size(dtype), moved ? alignment_of(dtype) : 0);
}

tight tight_copy(const void *from, wr_dtype dtype, size_t count, int moved) {
    tight made = tight_array(dtype, from == NULL ? 0 : count, moved);
    if (from != NULL) {
        tight_write(&made, from);
    }
    return made;
}
