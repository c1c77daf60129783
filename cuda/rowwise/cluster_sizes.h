// Warps and blocks of the clusters that share a row. Plain data: host and GPU share it.
#pragma once

#include <cstddef>

namespace wr::cuda {

// Warps of a block that shares a row: of rows up to so many tiles, of longer ones (cuda/softmax/policy.h), and blocks
// of the clusters that some GPUs may be asked for.
inline constexpr std::size_t softmax_preferred_cluster_warps = 8;
inline constexpr std::size_t softmax_long_cluster_warps = 16;
inline constexpr std::size_t softmax_wide_cluster_blocks = 16;

} // namespace wr::cuda
