#include "cuda/softmax/columns/clusters.h"

#include "cuda/common/vector_types.h"
#include "cuda/rowwise/persistent_clusters.h"
#include "cuda/softmax/columns/cluster_kernels.h"
#include "cuda/softmax/plan.h"

#include <bit>

namespace wr::cuda {

namespace {

// Softmax of columns of at least so many elements goes through clusters that share tiles; shorter ones would leave
// threads of their blocks idle. TB/s on an H200, and by softmax_register_tiles: f32 1024 x 512K 3.86 and 2.39, 4096 x
// 128K 3.42 and 2.18, 32768 x 16K 2.15 and 1.31; bf16 1024 x 1M 2.49 and 1.42, 4096 x 256K 2.07 and 1.25.
constexpr std::size_t softmax_column_cluster_axis = 769;

bool are_served(const SoftmaxProblem &problem, const GpuFacts &gpu) {
    return gpu.cluster_blocks > 0 && problem.shape.inner > 1 && !problem.log &&
           problem.shape.axis >= softmax_column_cluster_axis && takes_column_vectors(problem);
}

const SoftmaxColumnKernels *find_column_kernels(ElementType dtype) {
    return of_vector_type(dtype, []<class T>() { return &softmax_column_kernels<T>(); });
}

} // namespace

cudaError_t launch_column_clusters(const SoftmaxProblem &problem, const SoftmaxArguments &a, const GpuFacts &gpu,
                                   cudaStream_t stream, bool *served) {
    *served = false;
    const SoftmaxColumnKernels *kernels = find_column_kernels(problem.dtype);
    if (kernels == nullptr || !are_served(problem, gpu)) {
        return cudaSuccess;
    }
    for (int i = 0; i < kernels->count; ++i) {
        const SoftmaxColumnKernel &k = kernels->kernels[i];
        const std::size_t cluster = divide_up(a.axis, k.rows);
        const std::size_t tiles_across = divide_up(a.inner, k.columns);
        if (cluster > k.most_blocks || a.outer > most_blocks / tiles_across ||
            a.outer * tiles_across * cluster < static_cast<std::size_t>(gpu.multiprocessors)) {
            continue;
        }
        const auto log_parts = static_cast<unsigned>(std::bit_width(cluster * k.parts - 1));
        Launch how{k.kernel, cluster, static_cast<int>(k.threads), 1, 1, static_cast<int>(cluster)};
        how.shared_bytes = k.fixed_bytes + (k.state_bytes << log_parts);
        int resident = 0;
        const cudaError_t error = prepare_clusters(how, gpu, &resident);
        if (error != cudaSuccess) {
            return error;
        }
        if (resident == 0) {
            continue;
        }
        *served = true;
        SoftmaxColumnArguments arguments{.softmax = a,
                                         .tiles_across = static_cast<std::uint32_t>(tiles_across),
                                         .tiles = static_cast<std::uint32_t>(a.outer * tiles_across),
                                         .resident_clusters = static_cast<std::uint32_t>(resident),
                                         .log_parts = static_cast<std::int32_t>(log_parts)};
        arguments.softmax.cluster_blocks = static_cast<std::int32_t>(cluster);
        how.dependent = gpu.dependent_launch;
        how.blocks =
            cluster * pipeline_clusters(arguments.tiles, static_cast<std::uint32_t>(resident), column_round_eighths);
        return launch(how, &arguments, stream);
    }
    return cudaSuccess;
}

} // namespace wr::cuda
