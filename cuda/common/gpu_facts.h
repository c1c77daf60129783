// What a plan has to know of a GPU.
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
