// Subtrees of one size that a thread makes one after the other, combined as soon as their neighbours are there: what
// TreeCounter (numerics/tree.h) does, in registers.
#pragma once

namespace wr::cuda {

// Of up to 2^Levels subtrees. `combined(a, b)` gives the tree over both.
template <class Value, int Levels>
class SubtreeStack {
  public:
    __device__ __forceinline__ explicit SubtreeStack(const Value &identity) {
#pragma unroll
        for (Value &level : levels_) {
            level = identity;
        }
    }

    template <class Combined>
    __device__ __forceinline__ void push(const Value &subtree, const Combined &combined) {
        push_at<0>(subtree, combined);
        ++count_;
    }

    // The tree over all of them; the identity, where there are none.
    template <class Combined>
    __device__ __forceinline__ Value whole(const Combined &combined) const {
        if (count_ == 1 << Levels) {
            return levels_[Levels - 1];
        }
        Value tree = levels_[0];
        bool any = (count_ & 1) != 0;
#pragma unroll
        for (int level = 1; level < Levels; ++level) {
            if ((count_ >> level & 1) != 0) {
                tree = any ? combined(levels_[level], tree) : levels_[level];
                any = true;
            }
        }
        return tree;
    }

  private:
    // No loop, which would have the levels lie in memory.
    template <int Level, class Combined>
    __device__ __forceinline__ void push_at(const Value &subtree, const Combined &combined) {
        if constexpr (Level == Levels) {
            levels_[Levels - 1] = subtree;
        } else if ((count_ >> Level & 1) == 0) {
            levels_[Level] = subtree;
        } else {
            push_at<Level + 1>(combined(levels_[Level], subtree), combined);
        }
    }

    Value levels_[Levels];
    int count_ = 0;
};

} // namespace wr::cuda
