/* What a test sees of the GPU that the host device plays. */
#ifndef WARP_REDUCE_TESTS_GPU_ON_THE_HOST_H
#define WARP_REDUCE_TESTS_GPU_ON_THE_HOST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Blocks of memory that were taken on a stream and not given back; jobs that were launched. */
size_t played_gpu_blocks(void);
size_t played_gpu_jobs(void);
void played_gpu_has_memory(int32_t any);

#ifdef __cplusplus
}
#endif

#endif
