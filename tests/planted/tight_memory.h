/* Memory of the GPU in which a byte too many shows. */
#ifndef WARP_REDUCE_TESTS_TIGHT_MEMORY_H
#define WARP_REDUCE_TESTS_TIGHT_MEMORY_H

#include "warp_reduce.h"

#include <cuda_runtime_api.h>
#include <stddef.h>

/* Gives up where CUDA fails. */
void expect_cuda(cudaError_t error);

/* Of the host, to be freed; never NULL. */
void *allocate(size_t bytes);

/* On the GPU: `bytes` bytes and not one more behind them; before them `offset` bytes that nobody writes. */
typedef struct tight {
    unsigned char *base, *at;
    size_t bytes;
} tight;

tight tight_new(size_t bytes, size_t offset);
void tight_free(tight *used);
void tight_write(const tight *to, const void *from);
/* Whether it has these bytes. */
int tight_holds(const tight *memory, const void *expected);

/* Of elements; moved: past the allocation's begin by as little as the type allows. */
tight tight_array(wr_dtype dtype, size_t count, int moved);
/* A copy of what the host's job reads, or nothing. */
tight tight_copy(const void *from, wr_dtype dtype, size_t count, int moved);

#endif
