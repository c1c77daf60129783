// Puts a segmented reduction on a stream.
#include "cuda/gpu.h"
#include "cuda/launch.h"
#include "cuda/reduce_kernels.h"
#include "cuda/tuning.h"

#include <algorithm>

namespace wr::cuda {

namespace {

constexpr int block_threads = 256;
constexpr std::size_t segments_a_block = 256;
constexpr std::size_t windows = most_segment_windows;

std::size_t runs_bytes(const ReduceKernels &kernels) {
    return divide_up(windows * static_cast<std::size_t>(kernels.partial_bytes), std::size_t{16}) * 16;
}

std::size_t workspace_bytes(const ReduceKernels &kernels) {
    return 2 * runs_bytes(kernels) + windows * sizeof(std::int64_t);
}

// Blocks that go on to further windows where there are more; how many there are only the GPU knows.
std::size_t blocks_for_windows(GpuFacts gpu) {
    return static_cast<std::size_t>(gpu.multiprocessors) * tuning::segment_blocks_a_multiprocessor;
}

// Enough to fill the GPU several times over: segments differ in length.
std::size_t blocks_for_groups(GpuFacts gpu) {
    return static_cast<std::size_t>(gpu.multiprocessors) * tuning::segment_group_blocks_a_multiprocessor;
}

SegmentArguments arguments_of(const SegmentsProblem &problem, const ReduceKernels &kernels, Workspace &workspace,
                              GpuFacts gpu) {
    SegmentArguments a{};
    a.input = problem.input;
    a.output = problem.output;
    a.offsets = problem.offsets;
    a.narrow_offsets = problem.offsets_type == ElementType::i32;
    a.segments = problem.segments;
    a.input_count = problem.input_count;
    a.group_blocks = std::min(divide_up(problem.segments, segments_a_block), blocks_for_groups(gpu));
    a.window_blocks = blocks_for_windows(gpu);
    a.least_window = std::int64_t{bytes_a_tile / kernels.element_bytes} * segment_window_tiles;
    a.first_runs = workspace.take(runs_bytes(kernels));
    a.later_runs = workspace.take(runs_bytes(kernels));
    a.long_segments = static_cast<std::int64_t *>(workspace.take(windows * sizeof(std::int64_t)));
    a.mapping = mapping_of(problem.what, nullptr);
    a.finish = finish_of(problem.what, 0, problem.values);
    return a;
}

cudaError_t run(const ReduceKernels &kernels, SegmentArguments &a, cudaStream_t stream, GpuFacts gpu) {
    const std::size_t blocks = a.group_blocks + a.window_blocks;
    Launch how{kernels.segments, 1, block_threads};
    for (; a.first_block < blocks; a.first_block += most_blocks) {
        how.blocks = std::min(blocks - a.first_block, most_blocks);
        const cudaError_t error = launch(how, &a, stream);
        if (error != cudaSuccess) {
            return error;
        }
    }
    how = {kernels.partial().long_segments, a.window_blocks, block_threads};
    how.dependent = gpu.dependent_launch;
    return launch(how, &a, stream);
}

} // namespace

std::size_t segments_workspace_bytes(const SegmentsProblem &problem) {
    const ReduceKernels *kernels = find_reduce_kernels(problem.what);
    return kernels == nullptr ? 0 : workspace_bytes(*kernels);
}

std::int32_t reduce_segments(const SegmentsProblem &problem, void *stream_handle) {
    const auto stream = static_cast<cudaStream_t>(stream_handle);
    const ReduceKernels *kernels = find_reduce_kernels(problem.what);
    if (kernels == nullptr) {
        return static_cast<std::int32_t>(Status::unsupported);
    }
    const DeviceScope device(stream);
    if (device.error() != cudaSuccess) {
        return report(device.error());
    }
    Workspace workspace(problem.workspace, workspace_bytes(*kernels), stream);
    if (workspace.error() != cudaSuccess) {
        return report(workspace.error());
    }
    SegmentArguments a = arguments_of(problem, *kernels, workspace, device.gpu());
    const cudaError_t launched = run(*kernels, a, stream, device.gpu());
    const cudaError_t freed = workspace.finish();
    return report(launched != cudaSuccess ? launched : freed);
}

} // namespace wr::cuda
