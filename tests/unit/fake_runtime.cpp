#include "fake_runtime.h"

#include "cuda/common/runtime.h"

#include <algorithm>
#include <bit>

namespace fake {

namespace {

constexpr std::uintptr_t first_allocation = std::uintptr_t{1} << 44; // where no memory is mapped
constexpr std::uintptr_t between_allocations = std::uintptr_t{1} << 20;

bool has_failed() { return !runtime().failed_call.empty(); }

// Counts a call and makes it the failing one if it is its turn.
cudaError_t arrive(const char *name) {
    Runtime &r = runtime();
    if (++r.calls != r.call_to_fail) {
        return cudaSuccess;
    }
    r.failed_call = name;
    r.last_error = r.failure;
    return r.failure;
}

int device_of(cudaStream_t stream) {
    return std::bit_cast<std::uintptr_t>(stream) <= 2 ? runtime().callers_device : runtime().stream_device;
}

void expect_current_device(cudaStream_t stream, const char *what) {
    if (runtime().current_device != device_of(stream)) {
        runtime().misuse = std::string(what) + " while another device than the stream's is current";
    }
}

cudaError_t get_device_count(int *count) {
    const cudaError_t error = arrive("get_device_count");
    if (error == cudaSuccess) {
        *count = 1 + std::max(runtime().callers_device, runtime().stream_device);
    }
    return error;
}

cudaError_t get_device(int *device) {
    const cudaError_t error = arrive("get_device");
    if (error == cudaSuccess) {
        *device = runtime().current_device;
    }
    return error;
}

cudaError_t set_device(int device) {
    Runtime &r = runtime();
    const cudaError_t error = arrive("set_device");
    if (error == cudaSuccess) {
        r.current_device = device;
    } else {
        r.failed_on_way_back = device == r.callers_device && r.current_device != r.callers_device;
    }
    return error;
}

cudaError_t get_last_error() {
    const cudaError_t error = runtime().last_error;
    runtime().last_error = cudaSuccess;
    return error;
}

cudaError_t device_get_attribute(int *value, cudaDeviceAttr attribute, int) {
    const cudaError_t error = arrive("device_get_attribute");
    if (error != cudaSuccess) {
        return error;
    }
    switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
        *value = runtime().gpu.multiprocessors;
        break;
    case cudaDevAttrComputeCapabilityMajor:
        *value = runtime().gpu.compute_major;
        break;
    case cudaDevAttrComputeCapabilityMinor:
        *value = 0;
        break;
    case cudaDevAttrMemoryPoolsSupported:
        *value = 1;
        break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        *value = runtime().gpu.shared_bytes;
        break;
    default:
        runtime().misuse = "attribute " + std::to_string(attribute) + " is not known to the fake runtime";
    }
    return cudaSuccess;
}

cudaError_t stream_get_device(cudaStream_t stream, int *device) {
    const cudaError_t error = arrive("stream_get_device");
    if (error == cudaSuccess) {
        *device = device_of(stream);
    }
    return error;
}

cudaError_t stream_is_capturing(cudaStream_t, cudaStreamCaptureStatus *status) {
    const cudaError_t error = arrive("stream_is_capturing");
    if (error == cudaSuccess) {
        *status = cudaStreamCaptureStatusNone;
    }
    return error;
}

// Nothing takes memory that goes back to the system at the next synchronisation.
cudaError_t malloc_async(void **, std::size_t, cudaStream_t) {
    runtime().misuse = "memory from CUDA's default pool";
    return arrive("malloc_async");
}

cudaError_t malloc_from_pool_async(void **memory, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
    Runtime &r = runtime();
    r.allocations_after_failure += has_failed();
    const cudaError_t error = arrive("malloc_from_pool_async");
    if (error != cudaSuccess) {
        return error;
    }
    const auto of = r.pools.find(pool);
    if (of == r.pools.end() || of->second != device_of(stream)) {
        r.misuse = "memory from a pool that is not of the stream's device";
    }
    const auto number = static_cast<std::uintptr_t>(r.allocations++);
    *memory = std::bit_cast<void *>(first_allocation + number * between_allocations);
    r.allocated_bytes += bytes;
    r.live.emplace(*memory, stream);
    return cudaSuccess;
}

// Memory counts as given back even where this call is the one that fails: nobody could do more.
cudaError_t free_async(void *memory, cudaStream_t stream) {
    Runtime &r = runtime();
    const auto found = r.live.find(memory);
    if (found == r.live.end()) {
        r.misuse = "memory was given back that was not allocated";
    } else if (found->second != stream) {
        r.misuse = "memory was given back on another stream";
    }
    r.live.erase(memory);
    return arrive("free_async");
}

// Making a pool while some thread captures ends the capture, unless this thread's mode is the relaxed one.
cudaError_t mem_pool_create(cudaMemPool_t *pool, const cudaMemPoolProps *properties) {
    Runtime &r = runtime();
    const cudaError_t error = arrive("mem_pool_create");
    if (error != cudaSuccess) {
        return error;
    }
    if (r.capture_mode != cudaStreamCaptureModeRelaxed) {
        r.misuse = "a pool is made in the way of captures";
    }
    static int made = 0; // whoever remembers a pool of an earlier job names one that is not there
    *pool = std::bit_cast<cudaMemPool_t>(static_cast<std::uintptr_t>(++made) * 64);
    r.pools.emplace(*pool, properties->location.id);
    return cudaSuccess;
}

cudaError_t mem_pool_set_attribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void *value) {
    Runtime &r = runtime();
    const cudaError_t error = arrive("mem_pool_set_attribute");
    const bool bounded = *static_cast<const std::uint64_t *>(value) <= std::uint64_t{1} << 30;
    if (error == cudaSuccess &&
        (attribute != cudaMemPoolAttrReleaseThreshold || r.pools.count(pool) == 0 || !bounded)) {
        r.misuse = "an attribute that no pool should have";
    }
    return error;
}

cudaError_t mem_pool_destroy(cudaMemPool_t pool) {
    if (runtime().pools.erase(pool) == 0) {
        runtime().misuse = "a pool that is not there is destroyed";
    }
    return arrive("mem_pool_destroy");
}

cudaError_t thread_exchange_stream_capture_mode(cudaStreamCaptureMode *mode) {
    const cudaError_t error = arrive("thread_exchange_stream_capture_mode");
    if (error == cudaSuccess) {
        std::swap(*mode, runtime().capture_mode);
    }
    return error;
}

// Counts as a launch: it is work on the stream as one is.
cudaError_t memset_async(void *, int, std::size_t, cudaStream_t stream) {
    Runtime &r = runtime();
    ++r.launches;
    r.launches_after_failure += has_failed();
    expect_current_device(stream, "memory is set");
    return arrive("memset_async");
}

cudaError_t func_get_attributes(cudaFuncAttributes *attributes, const void *) {
    const cudaError_t error = arrive("func_get_attributes");
    if (error == cudaSuccess) {
        *attributes = {};
        attributes->maxThreadsPerBlock = 1024;
    }
    return error;
}

cudaError_t func_set_attribute(const void *kernel, cudaFuncAttribute attribute, int value) {
    Runtime &r = runtime();
    if (kernel == nullptr) {
        r.misuse = "an attribute of no kernel";
    }
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
        r.allowed_shared_bytes[kernel] = value;
        if (value > r.gpu.shared_bytes) {
            r.misuse = "more shared memory than this GPU's blocks may have";
        }
    }
    return arrive("func_set_attribute");
}

// One block of a cluster on each multiprocessor, in groups of 16 multiprocessors.
cudaError_t occupancy_max_active_clusters(int *clusters, const void *, const cudaLaunchConfig_t *config) {
    const cudaError_t error = arrive("occupancy_max_active_clusters");
    if (error == cudaSuccess) {
        const int blocks = static_cast<int>(config->gridDim.x);
        *clusters = blocks > runtime().gpu.largest_cluster ? 0 : runtime().gpu.multiprocessors / 16 * (16 / blocks);
    }
    return error;
}

// One on each multiprocessor.
cudaError_t occupancy_max_active_blocks(int *blocks, const void *kernel, int, std::size_t) {
    if (kernel == nullptr) {
        runtime().misuse = "how many blocks there may be of no kernel";
    }
    *blocks = 1;
    return arrive("occupancy_max_active_blocks");
}

// Clusters and dependent launches came with compute capability 9.0. Returns how many blocks a cluster has.
unsigned note_attributes(const cudaLaunchConfig_t &config) {
    Runtime &r = runtime();
    unsigned cluster_blocks = 0;
    for (unsigned i = 0; i < config.numAttrs; ++i) {
        if (config.attrs[i].id == cudaLaunchAttributeClusterDimension) {
            ++r.cluster_launches;
            cluster_blocks = config.attrs[i].val.clusterDim.x;
            if (static_cast<int>(cluster_blocks) > r.gpu.largest_cluster) {
                r.misuse = "a cluster that this GPU cannot hold";
            }
        }
        r.dependent_launches += config.attrs[i].id == cudaLaunchAttributeProgrammaticStreamSerialization;
    }
    if (config.numAttrs != 0 && r.gpu.compute_major < 9) {
        r.misuse = "a launch with what this GPU does not have";
    }
    return cluster_blocks;
}

bool has_shared_memory(const void *kernel, std::size_t bytes) {
    constexpr int unasked = 48 * 1024;
    const auto allowed = runtime().allowed_shared_bytes.find(kernel);
    const int most = allowed == runtime().allowed_shared_bytes.end() ? unasked : allowed->second;
    return bytes <= static_cast<std::size_t>(most);
}

cudaError_t launch_kernel(const cudaLaunchConfig_t *config, const void *kernel, void **arguments) {
    Runtime &r = runtime();
    ++r.launches;
    r.launches_after_failure += has_failed();
    expect_current_device(config->stream, "a launch");
    const dim3 grid = config->gridDim, block = config->blockDim;
    r.launched.insert({kernel, note_attributes(*config)});
    if (kernel == nullptr || arguments == nullptr || grid.x == 0 || grid.x > 0x7FFFFFFFu || grid.y > 65535 ||
        grid.z > 65535 || block.x * block.y * block.z == 0 || block.x * block.y * block.z > 1024) {
        r.misuse = "a launch that no GPU accepts";
    }
    if (!has_shared_memory(kernel, config->dynamicSmemBytes)) {
        r.misuse = "a launch with more shared memory than its kernel was allowed";
    }
    return arrive("launch_kernel");
}

// The runtime's own words need no GPU.
const wr::cuda::Runtime table{
    get_device_count,
    get_device,
    set_device,
    get_last_error,
    device_get_attribute,
    stream_get_device,
    stream_is_capturing,
    malloc_async,
    malloc_from_pool_async,
    free_async,
    mem_pool_create,
    mem_pool_set_attribute,
    mem_pool_destroy,
    thread_exchange_stream_capture_mode,
    memset_async,
    func_get_attributes,
    func_set_attribute,
    occupancy_max_active_clusters,
    occupancy_max_active_blocks,
    launch_kernel,
    cudaGetErrorName,
    cudaGetErrorString,
};

} // namespace

Runtime &runtime() {
    static Runtime the_runtime;
    return the_runtime;
}

void install() { wr::cuda::runtime() = table; }

void reset(const Gpu &gpu, int callers_device, int stream_device) {
    wr::cuda::forget_gpus();
    wr::cuda::forget_pools();
    runtime() = {};
    runtime().gpu = gpu;
    runtime().callers_device = runtime().current_device = callers_device;
    runtime().stream_device = stream_device;
}

} // namespace fake
