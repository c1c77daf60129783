// Memory for what capi/ puts on a stream out of several jobs.
#include "cuda/common/launch.h"
#include "cuda/common/memory_pool.h"
#include "cuda/gpu.h"

namespace wr::cuda {

std::int32_t take_memory(std::size_t bytes, void *stream, void **memory) {
    const auto on = static_cast<cudaStream_t>(stream);
    const DeviceScope device(on);
    if (device.error() != cudaSuccess) {
        return report(device.error());
    }
    return report(malloc_from_own_pool(memory, bytes, on));
}

std::int32_t give_memory_back(void *memory, void *stream) {
    const auto on = static_cast<cudaStream_t>(stream);
    const DeviceScope device(on);
    if (device.error() != cudaSuccess) {
        return report(device.error());
    }
    return report(runtime().free_async(memory, on));
}

} // namespace wr::cuda
