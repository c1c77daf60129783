// Subtrees that come one after the other, kept by a warp.
#pragma once

#include "cuda/device/intrinsics.cuh"

namespace wr::cuda {

// TreeCounter (numerics/tree.h) for a warp: lane number l keeps level l. What is pushed is the same in every lane.
template <class Op>
class WarpCounter {
  public:
    using Accumulator = typename Op::Accumulator;

    __device__ __forceinline__ void push(Accumulator subtree) {
        int level = 0;
        for (unsigned c = count_; (c & 1u) != 0; c >>= 1) {
            subtree = Op::combine(from_lane(level_, level), subtree);
            ++level;
        }
        level_ = lane_index() == level ? subtree : level_;
        ++count_;
    }

    // The whole tree of at least one; starts again.
    __device__ __forceinline__ Accumulator take() {
        Accumulator whole = Op::identity();
        for (bool first = true; count_ != 0; first = false) {
            const Accumulator subtree = from_lane(level_, __ffs(static_cast<int>(count_)) - 1);
            whole = first ? subtree : Op::combine(subtree, whole);
            count_ &= count_ - 1;
        }
        return whole;
    }

  private:
    Accumulator level_ = Op::identity();
    unsigned count_ = 0;
};

} // namespace wr::cuda
