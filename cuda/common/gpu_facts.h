// What a plan has to know of a GPU, and what it counts on of all.
#pragma once

#include <cstddef>
#include <limits>

namespace wr::cuda {

struct GpuFacts {
    int multiprocessors;
    int cluster_blocks;          // the largest cluster that is sure to fit; 0 without clusters
    bool dependent_launch;       // compute capability 9.0 and later
    int shared_bytes = 0;        // that a block may have, if it asks for them
    int device = 0;              // its number
    int wide_cluster_blocks = 0; // the largest cluster that may be asked for, where that is larger
    int compute_major = 0;       // of the compute capability: whose tuning numbers are taken; 0: no GPU's, plain ones

    // On all multiprocessors, with so many on each.
    std::size_t on_all(std::size_t each) const { return each * static_cast<std::size_t>(multiprocessors); }
};

// Multiprocessors of a GPU that stands for all: what it leaves of partial results, none leaves more of.
inline constexpr int every_gpu = std::numeric_limits<int>::max();

} // namespace wr::cuda

namespace wr::cuda::tuning {

// What every plan counts on of GPUs.

// Multiprocessors beyond this are not asked for more blocks, so that a workspace query can answer for every GPU.
inline constexpr int most_multiprocessors = 512;

// Blocks of a cluster: what every GPU with clusters promises. The 16 that some offer have to be asked for at each
// launch.
inline constexpr int cluster_blocks = 8;

// Blocks of a cluster on GPUs of compute capability 9.0, where they are asked for.
inline constexpr int wide_cluster_blocks = 16;

} // namespace wr::cuda::tuning

namespace wr::cuda {

// A warp's size, for device code and for launchers.

inline constexpr int warp_lanes = 32;
inline constexpr std::size_t warp_threads = warp_lanes; // the same where sizes are counted

} // namespace wr::cuda
