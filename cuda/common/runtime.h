// Every CUDA runtime call that the library makes, as one table of function pointers, so that a test can make any of
// them fail without a GPU.
#pragma once

#include "numerics/status.h"

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

} // namespace wr::cuda
