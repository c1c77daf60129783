#include "cuda/common/devices.h"

#include "cuda/common/tuning.h"

#include <array>
#include <atomic>
#include <mutex>

namespace wr::cuda {

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

} // namespace wr::cuda
