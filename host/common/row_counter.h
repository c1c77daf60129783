// The natural tree over rows of accumulators, each column a tree of its own.
#pragma once

#include "host/common/tree_runs.h"
#include "host/common/vector_kernels.h"

namespace wr::host::WR_ISA {
namespace {

template <class Op>
constexpr std::size_t most_columns = widest_panel / sizeof(typename Op::Accumulator);

template <class Op>
void combine_rows(const typename Op::Accumulator *__restrict left, std::size_t width,
                  typename Op::Accumulator *__restrict right) {
    for (std::size_t c = 0; c < width; ++c) {
        right[c] = Op::combine(left[c], right[c]);
    }
}

// TreeCounter for rows of accumulators, each column a tree of its own. `levels` is memory for log2(rows pushed) + 1
// rows.
template <class Op>
class RowCounter {
  public:
    using Accumulator = typename Op::Accumulator;

    RowCounter(std::size_t width, Accumulator *levels) : width_(width), levels_(levels) {}

    // `subtree` is overwritten.
    void push(Accumulator *subtree) {
        std::size_t level = 0;
        for (std::uint64_t c = count_; (c & 1u) != 0; c >>= 1) {
            combine_rows<Op>(levels_ + level * width_, width_, subtree);
            ++level;
        }
        std::memcpy(levels_ + level * width_, subtree, width_ * sizeof(Accumulator));
        ++count_;
    }

    void result(Accumulator *whole) const {
        bool first = true;
        for (std::size_t level = 0; (count_ >> level) != 0; ++level) {
            const Accumulator *subtree = levels_ + level * width_;
            if (((count_ >> level) & 1u) == 0) {
                continue;
            }
            if (first) {
                std::memcpy(whole, subtree, width_ * sizeof(Accumulator));
            } else {
                combine_rows<Op>(subtree, width_, whole);
            }
            first = false;
        }
    }

  private:
    std::size_t width_;
    Accumulator *levels_;
    std::uint64_t count_ = 0;
};

} // namespace
} // namespace wr::host::WR_ISA
