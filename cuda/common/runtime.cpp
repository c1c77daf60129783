#include "cuda/common/runtime.h"

#include "cuda/common/gpu_facts.h"
#include "cuda/gpu.h"

#include <array>
#include <atomic>
#include <mutex>
#include <optional>

namespace wr::cuda {

namespace {

// The library's own status for an error that it has one for.
std::optional<Status> own_status(cudaError_t error) {
    switch (error) {
    case cudaSuccess:
        return Status::success;
    case cudaErrorMemoryAllocation:
        return Status::out_of_memory;
    case cudaErrorNoDevice:
        return Status::no_device;
    // None, none but the linker's stand-in, or one older than the runtime.
    case cudaErrorInsufficientDriver:
    case cudaErrorStubLibrary:
    case cudaErrorCallRequiresNewerDriver:
        return Status::no_driver;
    // The last: PTX is there, but of a toolkit newer than the driver that would compile it.
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorUnsupportedPtxVersion:
        return Status::no_kernel;
    default:
        return std::nullopt;
    }
}

} // namespace

Runtime &runtime() {
    static Runtime table{
        cudaGetDeviceCount,
        cudaGetDevice,
        cudaSetDevice,
        cudaGetLastError,
        cudaDeviceGetAttribute,
        cudaStreamGetDevice,
        cudaStreamIsCapturing,
        cudaMallocAsync,
        cudaMallocFromPoolAsync,
        cudaFreeAsync,
        cudaMemPoolCreate,
        cudaMemPoolSetAttribute,
        cudaMemPoolDestroy,
        cudaThreadExchangeStreamCaptureMode,
        cudaMemsetAsync,
        cudaFuncGetAttributes,
        cudaFuncSetAttribute,
        cudaOccupancyMaxActiveClusters,
        cudaOccupancyMaxActiveBlocksPerMultiprocessor,
        cudaLaunchKernelExC,
        cudaGetErrorName,
        cudaGetErrorString,
    };
    return table;
}

std::int32_t report(cudaError_t error) {
    if (error != cudaSuccess) {
        runtime().get_last_error();
    }
    const std::optional<Status> own = own_status(error);
    return own ? static_cast<std::int32_t>(*own) : cuda_error_base + static_cast<std::int32_t>(error);
}

const char *error_name(std::int32_t cuda_error) {
    return runtime().get_error_name(static_cast<cudaError_t>(cuda_error));
}

const char *error_string(std::int32_t cuda_error) {
    return runtime().get_error_string(static_cast<cudaError_t>(cuda_error));
}

namespace {

constexpr int most_known = 64; // of more devices, those behind are asked for at every call

struct KnownGpus {
    std::atomic<int> count = 0;
    std::array<std::atomic<bool>, most_known> known{};
    std::array<GpuFacts, most_known> facts{};
    std::mutex writing;
};

KnownGpus &known_gpus() {
    static KnownGpus gpus;
    return gpus;
}

cudaError_t ask(int device, GpuFacts *facts) {
    facts->device = device;
    cudaError_t error = runtime().device_get_attribute(&facts->multiprocessors, cudaDevAttrMultiProcessorCount, device);
    if (error == cudaSuccess) {
        error = runtime().device_get_attribute(&facts->compute_major, cudaDevAttrComputeCapabilityMajor, device);
    }
    if (error == cudaSuccess) {
        error = runtime().device_get_attribute(&facts->shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    }
    facts->dependent_launch = facts->compute_major >= 9;
    facts->cluster_blocks = facts->compute_major < 9 ? 0 : tuning::cluster_blocks;
    facts->wide_cluster_blocks = facts->compute_major == 9 ? tuning::wide_cluster_blocks : facts->cluster_blocks;
    return error;
}

} // namespace

cudaError_t device_count(int *count) {
    std::atomic<int> &known = known_gpus().count;
    *count = known.load(std::memory_order_relaxed);
    if (*count != 0) {
        return cudaSuccess;
    }
    const cudaError_t error = runtime().get_device_count(count);
    if (error == cudaSuccess) {
        known.store(*count, std::memory_order_relaxed);
    }
    return error;
}

cudaError_t current_device(int *device) {
    int devices = 0;
    *device = 0;
    const cudaError_t error = device_count(&devices);
    return error == cudaSuccess && devices > 1 ? runtime().get_device(device) : error;
}

cudaError_t facts_of(int device, GpuFacts *facts) {
    KnownGpus &gpus = known_gpus();
    const bool has_place = device >= 0 && device < most_known;
    const auto place = static_cast<std::size_t>(has_place ? device : 0);
    if (has_place && gpus.known[place].load(std::memory_order_acquire)) {
        *facts = gpus.facts[place];
        return cudaSuccess;
    }
    const cudaError_t error = ask(device, facts);
    if (has_place && error == cudaSuccess) {
        const std::lock_guard lock(gpus.writing);
        if (!gpus.known[place].load(std::memory_order_relaxed)) {
            gpus.facts[place] = *facts;
            gpus.known[place].store(true, std::memory_order_release);
        }
    }
    return error;
}

void forget_gpus() {
    known_gpus().count.store(0);
    for (std::atomic<bool> &known : known_gpus().known) {
        known.store(false);
    }
}

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
