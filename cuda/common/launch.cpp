#include "cuda/common/launch.h"

#include "cuda/common/gpu_facts.h"
#include "cuda/common/runtime.h"
#include "cuda/gpu.h"
#include "numerics/host_device.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>

namespace wr::cuda {

namespace {

constexpr std::size_t workspace_alignment = 16;

// CUDA's special handles name no stream object and belong to the current device.
bool is_special_handle(cudaStream_t stream) { return reinterpret_cast<std::uintptr_t>(stream) <= 2; }

// A stream that is being captured cannot be asked for its device (the question would end the capture): it is taken to
// be of the current one, and a launch says so if it is not.
cudaError_t device_of(cudaStream_t stream, int *device) {
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    const cudaError_t error = runtime().stream_is_capturing(stream, &capture);
    if (error != cudaSuccess || capture != cudaStreamCaptureStatusNone) {
        return error;
    }
    return runtime().stream_get_device(stream, device);
}

} // namespace

DeviceScope::DeviceScope(cudaStream_t stream) : error_(enter(stream)) {}

cudaError_t DeviceScope::enter(cudaStream_t stream) {
    int devices = 0, device = 0;
    cudaError_t error = device_count(&devices);
    if (error == cudaSuccess && devices > 1) {
        error = make_current(stream, &device);
    }
    return error == cudaSuccess ? facts_of(device, &gpu_) : error;
}

cudaError_t DeviceScope::make_current(cudaStream_t stream, int *device) {
    cudaError_t error = runtime().get_device(&callers_device_);
    *device = callers_device_;
    if (error == cudaSuccess && !is_special_handle(stream)) {
        error = device_of(stream, device);
    }
    if (error == cudaSuccess && *device != callers_device_) {
        error = runtime().set_device(*device);
        switched_ = error == cudaSuccess;
    }
    return error;
}

DeviceScope::~DeviceScope() {
    if (switched_ && runtime().set_device(callers_device_) != cudaSuccess) {
        runtime().get_last_error(); // nothing more can be done, and the caller's last error is not ours to set
    }
}

Workspace::Workspace(void *callers, std::size_t callers_bytes, std::size_t bytes, cudaStream_t stream)
    : stream_(stream) {
    if ((callers != nullptr && callers_bytes >= bytes) || bytes == 0) {
        next_ = static_cast<char *>(callers);
        return;
    }
    error_ = malloc_from_own_pool(&allocated_, bytes, stream);
    next_ = static_cast<char *>(allocated_);
}

cudaError_t Workspace::finish() {
    if (allocated_ != nullptr) {
        const cudaError_t freed = runtime().free_async(allocated_, stream_);
        allocated_ = nullptr;
        error_ = error_ == cudaSuccess ? freed : error_;
    }
    return error_;
}

Workspace::~Workspace() {
    if (finish() != cudaSuccess) {
        runtime().get_last_error();
    }
}

void *Workspace::take(std::size_t bytes) {
    char *taken = next_;
    next_ += divide_up(bytes, workspace_alignment) * workspace_alignment;
    return taken;
}

namespace {

constexpr int most_attributes = 4;
// What every kernel may have: 48 KB, with the few that it declares itself.
constexpr std::size_t unasked_shared_bytes = 40 * 1024;

// `attributes` must outlive the configuration.
cudaLaunchConfig_t configuration_of(const Launch &how, cudaLaunchAttribute (&attributes)[most_attributes],
                                    cudaStream_t stream) {
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(how.blocks), static_cast<unsigned>(how.block_rows));
    config.blockDim = dim3(static_cast<unsigned>(how.threads), static_cast<unsigned>(how.thread_rows));
    config.dynamicSmemBytes = how.shared_bytes;
    config.stream = stream;
    config.attrs = attributes;
    if (how.cluster_blocks > 1) {
        cudaLaunchAttribute &cluster = attributes[config.numAttrs++];
        cluster.id = cudaLaunchAttributeClusterDimension;
        cluster.val.clusterDim.x = static_cast<unsigned>(how.cluster_blocks);
        cluster.val.clusterDim.y = 1;
        cluster.val.clusterDim.z = 1;
        if (how.load_balanced) {
            cudaLaunchAttribute &policy = attributes[config.numAttrs++];
            policy.id = cudaLaunchAttributeClusterSchedulingPolicyPreference;
            policy.val.clusterSchedulingPolicyPreference = cudaClusterSchedulingPolicyLoadBalancing;
        }
    }
    if (how.together) {
        cudaLaunchAttribute &together = attributes[config.numAttrs++];
        together.id = cudaLaunchAttributeCooperative;
        together.val.cooperative = 1;
    }
    if (how.dependent) {
        cudaLaunchAttribute &dependent = attributes[config.numAttrs++];
        dependent.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        dependent.val.programmaticStreamSerializationAllowed = 1;
    }
    return config;
}

// The answers to the last few questions of a kind: the runtime takes up to half a microsecond for one, every time.
template <class Question>
class RecentAnswers {
  public:
    // -1 where the answer is not known.
    int find(const Question &question) {
        const std::lock_guard lock(mutex_);
        auto *const entry = std::find_if(entries_.begin(), entries_.end(),
                                         [&](const Entry &known) { return known.question == question; });
        if (entry == entries_.end()) {
            return -1;
        }
        entry->asked = ++questions_;
        return entry->answer;
    }
    // In the place of what nobody has asked for longest.
    void keep(const Question &question, int answer) {
        const std::lock_guard lock(mutex_);
        *std::min_element(entries_.begin(), entries_.end(), [](const Entry &a, const Entry &b) {
            return a.asked < b.asked;
        }) = {question, answer, ++questions_};
    }

  private:
    struct Entry {
        Question question;
        int answer;
        std::uint64_t asked;
    };
    std::mutex mutex_;
    std::array<Entry, 32> entries_{}; // no kernel is nullptr
    std::uint64_t questions_ = 0;
};

// How many clusters of a kind a GPU holds.
struct ClusterQuestion {
    const void *kernel;
    int device, multiprocessors, shared_bytes_of_gpu, cluster_blocks, threads;
    std::size_t shared_bytes;

    bool operator==(const ClusterQuestion &) const = default;
};

RecentAnswers<ClusterQuestion> &cluster_counts() {
    static RecentAnswers<ClusterQuestion> counts;
    return counts;
}

ClusterQuestion question_of(const Launch &how, const GpuFacts &gpu) {
    return {how.kernel,         gpu.device,  gpu.multiprocessors, gpu.shared_bytes,
            how.cluster_blocks, how.threads, how.shared_bytes};
}

// The shared memory that a kernel declares itself.
struct DeclaredQuestion {
    const void *kernel;
    int device, shared_bytes_of_gpu;

    bool operator==(const DeclaredQuestion &) const = default;
};

cudaError_t ask_declared_bytes(const Launch &how, const GpuFacts &gpu, int *bytes) {
    static RecentAnswers<DeclaredQuestion> declared;
    const DeclaredQuestion question{how.kernel, gpu.device, gpu.shared_bytes};
    *bytes = declared.find(question);
    if (*bytes >= 0) {
        return cudaSuccess;
    }
    cudaFuncAttributes attributes{};
    const cudaError_t error = runtime().func_get_attributes(&attributes, how.kernel);
    *bytes = static_cast<int>(attributes.sharedSizeBytes);
    if (error == cudaSuccess) {
        declared.keep(question, *bytes);
    }
    return error;
}

cudaError_t count_clusters(const Launch &how, const GpuFacts &gpu, int *resident) {
    cudaLaunchAttribute attributes[most_attributes];
    cudaLaunchConfig_t config = configuration_of(how, attributes, nullptr);
    config.gridDim = dim3(static_cast<unsigned>(how.cluster_blocks));
    *resident = 0;
    cudaError_t error = cudaSuccess;
    if (how.cluster_blocks > 1) {
        error = runtime().occupancy_max_active_clusters(resident, how.kernel, &config);
    } else {
        error = runtime().occupancy_max_active_blocks(resident, how.kernel, how.threads, how.shared_bytes);
        *resident *= gpu.multiprocessors;
    }
    if (error == cudaSuccess) {
        cluster_counts().keep(question_of(how, gpu), *resident);
    }
    return error;
}

cudaError_t allow_wide_clusters(const void *kernel) {
    return runtime().func_set_attribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
}

} // namespace

cudaError_t allow_shared_bytes(const Launch &how, const GpuFacts &gpu, bool *allowed) {
    *allowed = true;
    if (how.shared_bytes <= unasked_shared_bytes) {
        return cudaSuccess;
    }
    int declared = 0;
    const cudaError_t error = ask_declared_bytes(how, gpu, &declared);
    if (error != cudaSuccess) {
        return error;
    }
    // Always the same, whatever this launch needs: another thread may be about to launch the same kernel.
    const int most = gpu.shared_bytes - declared;
    *allowed = how.shared_bytes <= static_cast<std::size_t>(std::max(most, 0));
    return *allowed ? runtime().func_set_attribute(how.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most)
                    : cudaSuccess;
}

cudaError_t prepare_clusters(const Launch &how, const GpuFacts &gpu, int *resident) {
    const int known = cluster_counts().find(question_of(how, gpu));
    *resident = 0;
    bool allowed = false;
    cudaError_t error = allow_shared_bytes(how, gpu, &allowed);
    if (error != cudaSuccess || !allowed) {
        return error;
    }
    if (known >= 0) {
        *resident = known;
        return cudaSuccess;
    }
    error = how.cluster_blocks > tuning::cluster_blocks ? allow_wide_clusters(how.kernel) : cudaSuccess;
    return error == cudaSuccess ? count_clusters(how, gpu, resident) : error;
}

cudaError_t launch(const Launch &how, void *arguments, cudaStream_t stream) {
    cudaLaunchAttribute attributes[most_attributes];
    const cudaLaunchConfig_t config = configuration_of(how, attributes, stream);
    void *parameters[] = {arguments};
    cudaError_t error = runtime().launch_kernel(&config, how.kernel, parameters);
    if (error == cudaErrorInvalidClusterSize && how.cluster_blocks > tuning::cluster_blocks) {
        // The kernel was allowed such clusters once, but the GPU has been reset since.
        runtime().get_last_error();
        error = allow_wide_clusters(how.kernel);
        error = error == cudaSuccess ? runtime().launch_kernel(&config, how.kernel, parameters) : error;
    }
    return error;
}

cudaError_t launch_together(Launch how, void *arguments, cudaStream_t stream, bool *launched) {
    how.together = true;
    const cudaError_t error = launch(how, arguments, stream);
    *launched = error == cudaSuccess;
    if (error == cudaErrorCooperativeLaunchTooLarge) {
        runtime().get_last_error();
        return cudaSuccess;
    }
    return error;
}

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
