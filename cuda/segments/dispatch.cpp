// Puts a segmented reduction on a stream.
#include "cuda/common/launch.h"
#include "cuda/gpu.h"
#include "cuda/reduce/kernels.h"

#include <algorithm>

namespace wr::cuda {

namespace {

constexpr std::size_t windows = most_segment_windows;
constexpr std::size_t grains = most_segment_grains;

// What a segment costs beside its elements, in elements of work (one of 2^29 elements among 10^5 of 0 to 8: 3.63
// TB/s with 8, 3.90 with 16, before other changes; 515 us with 16, 513 with 32 and 64).
constexpr std::size_t segment_work = 32;

// Elements of the shortest window. Segments up to a window's length are one warp's.
constexpr std::size_t least_segment_window = 2048;

// Blocks a multiprocessor; 6 are there at a time. The more, the smaller is what the last warps end with; the
// fewer, the less often one begins. Microseconds (H200, the kernel alone) with 12, 18, 24 and 30: one of 2^29 among
// 10^5 of 0 to 8 527, 513, 508 and 510; 10^6 of 0 to 1024 554, 522, 523 and 529; 10^7 of 1 to 8 105, 109, 115 and 121,
// so there are half as many where segments have fewer elements than tiny_segment on average.
constexpr std::size_t segment_blocks_a_multiprocessor = 24;

constexpr int log2_of(std::size_t power) { return power <= 1 ? 0 : 1 + log2_of(power / 2); }

std::size_t runs_bytes(const ReduceKernels &kernels) {
    return divide_up(windows * static_cast<std::size_t>(kernels.partial_bytes), std::size_t{16}) * 16;
}

std::size_t workspace_bytes(const ReduceKernels &kernels) {
    return 2 * runs_bytes(kernels) + grains * sizeof(std::int64_t);
}

SegmentArguments arguments_of(const SegmentsProblem &problem, const ReduceKernels &kernels, Workspace &workspace) {
    SegmentArguments a{};
    a.input = problem.input;
    a.output = problem.output;
    a.offsets = problem.offsets;
    a.narrow_offsets = problem.offsets_type == ElementType::i32;
    a.segments = problem.segments;
    a.input_count = problem.input_count;
    a.segment_work = segment_work;
    a.least_window_log2 = log2_of(least_segment_window);
    a.first_runs = workspace.take(runs_bytes(kernels));
    a.later_runs = workspace.take(runs_bytes(kernels));
    a.long_segments = static_cast<std::int64_t *>(workspace.take(grains * sizeof(std::int64_t)));
    a.mapping = mapping_of(problem.what, nullptr);
    a.finish = finish_of(problem.what, 0, problem.values);
    return a;
}

// Enough to fill the GPU several times over; fewer where the caller has said how many elements there are.
std::size_t blocks_for(const SegmentsProblem &problem, GpuFacts gpu) {
    const std::size_t most = static_cast<std::size_t>(gpu.multiprocessors) * segment_blocks_a_multiprocessor;
    if (problem.input_count == 0) {
        return most;
    }
    const std::size_t line = problem.input_count + problem.segments * segment_work;
    return std::min(most, divide_up(line, least_segment_window * segment_block_warps));
}

cudaError_t run(const ReduceKernels &kernels, SegmentArguments &a, std::size_t blocks, cudaStream_t stream,
                GpuFacts gpu) {
    Launch how{kernels.segments, blocks, segment_block_threads};
    how.dependent = gpu.dependent_launch;
    const cudaError_t error = launch(how, &a, stream);
    if (error != cudaSuccess) {
        return error;
    }
    how = {kernels.partial().long_segments, windows / long_segment_threads, long_segment_threads};
    how.cluster_blocks = gpu.cluster_blocks >= long_segment_cluster ? long_segment_cluster : 1;
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
    if (kernels == nullptr || kernels->segments == nullptr) {
        return static_cast<std::int32_t>(Status::unsupported);
    }
    const DeviceScope device(stream);
    if (device.error() != cudaSuccess) {
        return report(device.error());
    }
    Workspace workspace(problem, workspace_bytes(*kernels), stream);
    if (workspace.error() != cudaSuccess) {
        return report(workspace.error());
    }
    SegmentArguments a = arguments_of(problem, *kernels, workspace);
    const cudaError_t launched = run(*kernels, a, blocks_for(problem, device.gpu()), stream, device.gpu());
    const cudaError_t freed = workspace.finish();
    return report(launched != cudaSuccess ? launched : freed);
}

} // namespace wr::cuda
