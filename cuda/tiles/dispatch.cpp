// Puts the jobs of tiles on a stream: one kernel each, no workspace.
#include "cuda/common/launch.h"
#include "cuda/gpu.h"
#include "cuda/tiles/kernels.h"

#include <algorithm>

namespace wr::cuda {

namespace {

template <class Arguments>
std::int32_t run(const void *kernel, Arguments arguments, void *stream_handle) {
    if (kernel == nullptr) {
        return static_cast<std::int32_t>(Status::unsupported);
    }
    const auto stream = static_cast<cudaStream_t>(stream_handle);
    const DeviceScope device(stream);
    if (device.error() != cudaSuccess) {
        return report(device.error());
    }
    const std::size_t blocks = std::min(divide_up(arguments.tiles.count, lanes_a_tile_block), most_blocks);
    return report(launch({kernel, blocks, tile_threads}, &arguments, stream));
}

} // namespace

std::int32_t tile_reduce(const TileReduceProblem &problem, void *stream) {
    const TileReduceArguments arguments{problem.input, problem.output, problem.tiles, mapping_of(problem.what, nullptr),
                                        finish_of(problem.what, problem.tiles.width, nullptr)};
    return run(tile_reduce_kernel(problem.what), arguments, stream);
}

std::int32_t tile_shuffle(const TileShuffleProblem &problem, void *stream) {
    return run(tile_shuffle_kernel(problem.element_bytes), problem, stream);
}

std::int32_t tile_vote(const TileVoteProblem &problem, void *stream) {
    return run(tile_vote_kernel(), problem, stream);
}

std::int32_t tile_match(const TileMatchProblem &problem, void *stream) {
    return run(tile_match_kernel(problem.element_bytes), problem, stream);
}

} // namespace wr::cuda
