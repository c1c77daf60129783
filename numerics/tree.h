// The natural pairwise tree: T(x[0..n)) = T(x[0..h)) + T(x[h..n)), h the largest power of two below n.
//
// Every aligned run of 2^k elements is a subtree, so results of equal runs, taken in order, combine by a binary
// counter: the classic way to sum pairwise in one pass with log2 n values of memory.
#pragma once

#include "numerics/host_device.h"

namespace wr {

// Levels bounds the number of subtrees: at most 2^Levels - 1 may be pushed.
template <class Op, int Levels>
class TreeCounter {
  public:
    using Accumulator = typename Op::Accumulator;

    // The next subtree in order; all pushed subtrees but the last span equally many elements.
    WR_HD void push(Accumulator subtree) {
        int level = 0;
        for (std::uint64_t c = count_; (c & 1u) != 0; c >>= 1) {
            subtree = Op::combine(levels_[level], subtree);
            ++level;
        }
        levels_[level] = subtree;
        ++count_;
    }

    // The whole tree; the identity where nothing was pushed.
    WR_HD Accumulator result() const {
        Accumulator whole = Op::identity();
        bool first = true;
        for (int level = 0; level < Levels; ++level) {
            if (((count_ >> level) & 1u) != 0) {
                whole = first ? levels_[level] : Op::combine(levels_[level], whole);
                first = false;
            }
        }
        return whole;
    }

  private:
    Accumulator levels_[Levels];
    std::uint64_t count_ = 0;
};

} // namespace wr
