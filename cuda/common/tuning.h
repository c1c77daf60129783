// What every plan counts on of GPUs.
#pragma once

#include <cstddef>

namespace wr::cuda::tuning {

// Multiprocessors beyond this are not asked for more blocks, so that a workspace query can answer for every GPU.
inline constexpr int most_multiprocessors = 512;

// Blocks of a cluster: what every GPU with clusters promises. The 16 that some offer have to be asked for at each
// launch.
inline constexpr int cluster_blocks = 8;

// Blocks of a cluster on GPUs of compute capability 9.0, where they are asked for.
inline constexpr int wide_cluster_blocks = 16;

} // namespace wr::cuda::tuning
