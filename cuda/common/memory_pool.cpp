#include "cuda/common/memory_pool.h"

#include "cuda/common/devices.h"

#include <array>
#include <atomic>
#include <mutex>

namespace wr::cuda {

namespace {

constexpr int most_pools = 64; // of more devices, those behind use CUDA's own

struct Pools {
    std::array<std::atomic<cudaMemPool_t>, most_pools> of_device{};
    std::mutex making;
};

Pools &pools() {
    static Pools all;
    return all;
}

cudaError_t make_pool(int device, cudaMemPool_t *pool) {
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = device;
    cudaError_t error = runtime().mem_pool_create(pool, &properties);
    if (error != cudaSuccess) {
        return error;
    }
    std::uint64_t kept = pool_kept_bytes;
    error = runtime().mem_pool_set_attribute(*pool, cudaMemPoolAttrReleaseThreshold, &kept);
    if (error != cudaSuccess) {
        if (runtime().mem_pool_destroy(*pool) != cudaSuccess) {
            runtime().get_last_error();
        }
        *pool = nullptr;
    }
    return error;
}

// While any thread captures a graph, CUDA refuses what it cannot put into one, and ends the capture; a pool is no part
// of a graph.
cudaError_t make_pool_beside_captures(int device, cudaMemPool_t *pool) {
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaError_t error = runtime().thread_exchange_stream_capture_mode(&mode);
    if (error != cudaSuccess) {
        return error;
    }
    error = make_pool(device, pool);
    const cudaError_t restored = runtime().thread_exchange_stream_capture_mode(&mode);
    return error == cudaSuccess ? restored : error;
}

cudaError_t pool_of(int device, cudaMemPool_t *pool) {
    std::atomic<cudaMemPool_t> &known = pools().of_device[static_cast<std::size_t>(device)];
    *pool = known.load(std::memory_order_acquire);
    if (*pool != nullptr) {
        return cudaSuccess;
    }
    const std::lock_guard lock(pools().making);
    *pool = known.load(std::memory_order_relaxed);
    if (*pool != nullptr) {
        return cudaSuccess;
    }
    const cudaError_t error = make_pool_beside_captures(device, pool);
    known.store(*pool, std::memory_order_release);
    return error;
}

} // namespace

cudaError_t malloc_from_own_pool(void **memory, std::size_t bytes, cudaStream_t stream) {
    int device = 0;
    cudaError_t error = current_device(&device);
    if (error != cudaSuccess) {
        return error;
    }
    if (device >= most_pools) {
        return runtime().malloc_async(memory, bytes, stream);
    }
    cudaMemPool_t pool = nullptr;
    error = pool_of(device, &pool);
    return error == cudaSuccess ? runtime().malloc_from_pool_async(memory, bytes, pool, stream) : error;
}

void forget_pools() {
    for (std::atomic<cudaMemPool_t> &pool : pools().of_device) {
        pool.store(nullptr);
    }
}

} // namespace wr::cuda
