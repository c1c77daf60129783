// Every CUDA runtime call that the library makes, as one table of function pointers, so that a test can make any of
// them fail without a GPU.
#pragma once

#include "cuda/common/gpu_facts.h"
#include "numerics/status.h"

#include <cstddef>
#include <cuda_runtime_api.h>

namespace wr::cuda {

struct Runtime {
    cudaError_t (*get_device_count)(int *count);
    cudaError_t (*get_device)(int *device);
    cudaError_t (*set_device)(int device);
    cudaError_t (*get_last_error)();
    cudaError_t (*device_get_attribute)(int *value, cudaDeviceAttr attribute, int device);
    cudaError_t (*stream_get_device)(cudaStream_t stream, int *device);
    cudaError_t (*stream_is_capturing)(cudaStream_t stream, cudaStreamCaptureStatus *status);
    cudaError_t (*malloc_async)(void **memory, size_t bytes, cudaStream_t stream);
    cudaError_t (*malloc_from_pool_async)(void **memory, size_t bytes, cudaMemPool_t pool, cudaStream_t stream);
    cudaError_t (*free_async)(void *memory, cudaStream_t stream);
    cudaError_t (*mem_pool_create)(cudaMemPool_t *pool, const cudaMemPoolProps *properties);
    cudaError_t (*mem_pool_set_attribute)(cudaMemPool_t pool, cudaMemPoolAttr attribute, void *value);
    cudaError_t (*mem_pool_destroy)(cudaMemPool_t pool);
    cudaError_t (*thread_exchange_stream_capture_mode)(cudaStreamCaptureMode *mode);
    cudaError_t (*memset_async)(void *memory, int value, size_t bytes, cudaStream_t stream);
    cudaError_t (*func_get_attributes)(cudaFuncAttributes *attributes, const void *kernel);
    cudaError_t (*func_set_attribute)(const void *kernel, cudaFuncAttribute attribute, int value);
    cudaError_t (*occupancy_max_active_clusters)(int *clusters, const void *kernel, const cudaLaunchConfig_t *config);
    cudaError_t (*occupancy_max_active_blocks)(int *blocks, const void *kernel, int threads, size_t shared_bytes);
    cudaError_t (*launch_kernel)(const cudaLaunchConfig_t *config, const void *kernel, void **arguments);
    const char *(*get_error_name)(cudaError_t error);
    const char *(*get_error_string)(cudaError_t error);
};

// The table in use. Tests replace its entries before they make calls; the library never writes it.
Runtime &runtime();

// A runtime error as the library reports it: its own code where it has one, else cuda_error_base + error. Clears the
// error from this library's copy of the runtime.
std::int32_t report(cudaError_t error);

// What does not change about the GPUs of a process: how many there are, and what a plan has to know of each. The
// runtime takes a third of a microsecond to say it, so it is asked once.

cudaError_t device_count(int *count);
cudaError_t current_device(int *device);
cudaError_t facts_of(int device, GpuFacts *facts);

// For tests, whose runtime may have other GPUs from one call to the next.
void forget_gpus();

// Memory for calls that bring no workspace: a pool of the library's own on each GPU, made when it is first wanted.
// CUDA's default pool gives its memory back to the system at every synchronisation, and a caller who waits for each
// result would pay for that at each call. Pools live as long as the process, for at its end CUDA may be gone before
// them.

// What a pool goes on holding at most while no job has it.
inline constexpr std::size_t pool_kept_bytes = std::size_t{64} << 20;

// Memory of the current device, in the order of the stream; given back by free_async. Of a stream that is being
// captured, the memory is the graph's.
cudaError_t malloc_from_own_pool(void **memory, std::size_t bytes, cudaStream_t stream);

// For tests, as forget_gpus().
void forget_pools();

} // namespace wr::cuda
