// The frame of every call: the stream's device made current and the caller's restored, memory on the stream, launches.
// Everything goes through the runtime's table.
#pragma once

#include "cuda/common/gpu_facts.h"
#include "cuda/common/runtime.h"

#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>

namespace wr::cuda {

// Makes the stream's device current for as long as it lives.
class DeviceScope {
  public:
    explicit DeviceScope(cudaStream_t stream);
    ~DeviceScope();
    DeviceScope(const DeviceScope &) = delete;
    DeviceScope &operator=(const DeviceScope &) = delete;

    cudaError_t error() const { return error_; }
    const GpuFacts &gpu() const { return gpu_; }

  private:
    cudaError_t enter(cudaStream_t stream);
    cudaError_t make_current(cudaStream_t stream, int *device);

    int callers_device_ = -1;
    bool switched_ = false;
    GpuFacts gpu_{};
    cudaError_t error_; // last: what sets it sets the others too
};

// Memory for partial results: the caller's, or taken from the library's pool and given back behind the job.
class Workspace {
  public:
    // The caller's memory, where there is as much as is needed; else memory is allocated on the stream.
    Workspace(void *callers, std::size_t callers_bytes, std::size_t bytes, cudaStream_t stream);
    template <class Problem>
    Workspace(const Problem &problem, std::size_t bytes, cudaStream_t stream)
        : Workspace(problem.workspace, problem.workspace_bytes, bytes, stream) {}
    ~Workspace();
    Workspace(const Workspace &) = delete;
    Workspace &operator=(const Workspace &) = delete;

    // Gives allocated memory back on the stream; the first error of the workspace's life.
    cudaError_t finish();
    cudaError_t error() const { return error_; }

    // The next `bytes` bytes, 16-byte aligned.
    void *take(std::size_t bytes);

  private:
    cudaStream_t stream_;
    void *allocated_ = nullptr;
    char *next_ = nullptr;
    cudaError_t error_ = cudaSuccess;
};

// Blocks that one launch may have; what needs more is left to kernels whose blocks go on to further jobs.
inline constexpr std::size_t most_blocks = std::size_t{1} << 30;
inline constexpr std::size_t most_block_rows = 65535;

// How a kernel is put on the stream.
struct Launch {
    const void *kernel;
    std::size_t blocks; // at most most_blocks
    int threads;
    int thread_rows = 1;        // blocks of threads x thread_rows
    std::size_t block_rows = 1; // a grid of blocks x block_rows, at most most_block_rows
    int cluster_blocks = 1;
    bool dependent = false;       // may take its place before the kernel in front of it on the stream has finished
    std::size_t shared_bytes = 0; // beside what the kernel declares
    bool load_balanced = false;   // a cluster's blocks go where there is room, instead of as far apart as they can
    bool together = false;        // all blocks run at the same time, or the launch fails
};

// Lets a kernel have more shared memory than it has unasked, where `how` has; not `allowed` where the GPU has less.
cudaError_t allow_shared_bytes(const Launch &how, const GpuFacts &gpu, bool *allowed);

// The same, lets it have clusters of more blocks than all GPUs promise, and tells how many of its clusters the current
// device holds at a time, or of its blocks, where it has no clusters. 0: not one.
cudaError_t prepare_clusters(const Launch &how, const GpuFacts &gpu, int *resident);

// `arguments` is the kernel's one parameter.
cudaError_t launch(const Launch &how, void *arguments, cudaStream_t stream);

// The same with all blocks at the same time; `launched` is false where the GPU does not hold them: what it holds has
// changed since it was asked, or is shared with others.
cudaError_t launch_together(Launch how, void *arguments, cudaStream_t stream, bool *launched);

// Rules that are tried from top to bottom, until one puts a call on the stream.

template <class Call>
struct Rule {
    bool (*suits)(const Call &);
    cudaError_t (*put)(Call &,
                       bool *supported); // where not `supported`, nothing was launched and the next rule is asked
};

template <class Call, std::size_t Count>
cudaError_t put_by(const Rule<Call> (&rules)[Count], Call &call) {
    for (const Rule<Call> &rule : rules) {
        bool supported = rule.suits(call);
        const cudaError_t error = supported ? rule.put(call, &supported) : cudaSuccess;
        if (error != cudaSuccess || supported) {
            return error;
        }
    }
    return cudaErrorUnknown; // the last rule suits everything
}

} // namespace wr::cuda
