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

/* A graph: what this thread puts on the stream from played_gpu_records to played_gpu_recorded is not done but kept, and
 * done at each replay; memory that was taken meanwhile is the graph's until it is forgotten. */
typedef struct played_graph played_graph;
void played_gpu_records(void);
played_graph *played_gpu_recorded(void);
void played_gpu_replays(const played_graph *graph);
void played_gpu_forgets(played_graph *graph);
/* Another's work on the stream, with a copy of its job: 0 where this thread records nothing. */
int32_t played_gpu_put(void (*run)(const void *job), const void *job, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
