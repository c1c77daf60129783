#include "cuda/launch.h"

#include "cuda/tuning.h"

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

cudaError_t facts_of(int device, GpuFacts *gpu) {
    int major = 0;
    cudaError_t error = runtime().device_get_attribute(&gpu->multiprocessors, cudaDevAttrMultiProcessorCount, device);
    if (error == cudaSuccess) {
        error = runtime().device_get_attribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    }
    gpu->dependent_launch = major >= 9;
    gpu->cluster_blocks = major < 9 ? 0 : tuning::cluster_blocks;
    return error;
}

} // namespace

DeviceScope::DeviceScope(cudaStream_t stream) : error_(enter(stream)) {}

cudaError_t DeviceScope::enter(cudaStream_t stream) {
    cudaError_t error = runtime().get_device(&callers_device_);
    if (error != cudaSuccess) {
        return error;
    }
    int device = callers_device_;
    if (!is_special_handle(stream)) {
        error = device_of(stream, &device);
        if (error != cudaSuccess) {
            return error;
        }
    }
    if (device != callers_device_) {
        error = runtime().set_device(device);
        if (error != cudaSuccess) {
            return error;
        }
        switched_ = true;
    }
    return facts_of(device, &gpu_);
}

DeviceScope::~DeviceScope() {
    if (switched_ && runtime().set_device(callers_device_) != cudaSuccess) {
        runtime().get_last_error(); // nothing more can be done, and the caller's last error is not ours to set
    }
}

Workspace::Workspace(void *callers, std::size_t bytes, cudaStream_t stream) : stream_(stream) {
    if (callers != nullptr || bytes == 0) {
        next_ = static_cast<char *>(callers);
        return;
    }
    error_ = runtime().malloc_async(&allocated_, bytes, stream);
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

cudaError_t launch(const Launch &how, void *arguments, cudaStream_t stream) {
    cudaLaunchAttribute attributes[2];
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(how.blocks), static_cast<unsigned>(how.block_rows));
    config.blockDim = dim3(static_cast<unsigned>(how.threads), static_cast<unsigned>(how.thread_rows));
    config.dynamicSmemBytes = static_cast<std::size_t>(how.shared_bytes);
    config.stream = stream;
    config.attrs = attributes;
    if (how.cluster_blocks > 1) {
        cudaLaunchAttribute &cluster = attributes[config.numAttrs++];
        cluster.id = cudaLaunchAttributeClusterDimension;
        cluster.val.clusterDim.x = static_cast<unsigned>(how.cluster_blocks);
        cluster.val.clusterDim.y = 1;
        cluster.val.clusterDim.z = 1;
    }
    if (how.dependent) {
        cudaLaunchAttribute &dependent = attributes[config.numAttrs++];
        dependent.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        dependent.val.programmaticStreamSerializationAllowed = 1;
    }
    void *parameters[] = {arguments};
    return runtime().launch_kernel(&config, how.kernel, parameters);
}

} // namespace wr::cuda
