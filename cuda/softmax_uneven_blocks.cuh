// Base blocks at any address, read by whole vectors.
#pragma once

#include "cuda/softmax_leading_blocks.cuh"
#include "cuda/softmax_realigned.cuh"
#include "cuda/softmax_uneven.h"

namespace wr::cuda {

// Vectors on their boundaries for blocks that lie at any address. What stands behind a block's end is anything at all.
template <class T>
struct RealignedPlaces : VectorPlaces<T> {
    static constexpr bool realigned = true;
};

} // namespace wr::cuda
