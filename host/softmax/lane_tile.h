// A base block of each of several rows side by side, each a lane of the vectors: its exponentials, whatever type the
// logits came from.
#pragma once

#include "host/common/vector_kernels.h"
#include "host/common/vectors.h"
#include "numerics/softmax.h"

namespace wr::host::WR_ISA {
namespace {

// Rows side by side are taken a register's worth at a time, and loaded and stored several such groups at once: memory
// comes and goes in longer runs than a cache line.
template <class Float>
struct LaneTile {
    static constexpr std::size_t lanes = 64 / sizeof(Float); // of a group
    static constexpr std::size_t most_lanes = lane_groups * lanes;
    static_assert(lane_tile_bytes >= softmax_block * lanes * sizeof(Float));

    static constexpr std::size_t most_elements = lane_tile_bytes / sizeof(Float);

    alignas(64) Float values[most_elements]; // logits, their exponentials, outputs
    std::size_t width;                       // lanes of all groups

    Float *row(std::size_t r) { return values + r * width; }
    const Float *row(std::size_t r) const { return values + r * width; }

    // Rows that go from one step to the next while they are in the first-level cache. A power of two and no less than
    // eight, so that they are a subtree of the sums.
    std::size_t near_rows() const { return power_of_two_in(near_bytes / (width * sizeof(Float))); }

  private:
    static constexpr std::size_t near_bytes = 16 * 1024;
    static_assert(near_bytes >= 8 * most_lanes * sizeof(Float));
};

// Some rows of one group of a tile.
template <class Float>
struct LaneBlock {
    static constexpr std::size_t lanes = LaneTile<Float>::lanes;

    Float *values;
    std::size_t width, count;

    LaneBlock(LaneTile<Float> &tile, std::size_t group, std::size_t first, std::size_t some)
        : values(tile.row(first) + group * lanes), width(tile.width), count(some) {}

    Float *row(std::size_t r) const { return values + r * width; }
};

// What is asked for while rows of a panel are read: rows some kilobytes on, which are too short and too far apart for
// the processor to see them coming. It goes to the second-level cache, for rows a power of two apart share their places
// in the first.
class RowsAhead {
  public:
    RowsAhead(std::size_t row_bytes, std::ptrdiff_t stride)
        : row_bytes_(static_cast<std::ptrdiff_t>(row_bytes)),
          ahead_(static_cast<std::ptrdiff_t>(divide_up(bytes_ahead, row_bytes)) * stride) {}

    void prefetch_row(const void *row) const {
        for (std::ptrdiff_t at = 0; at < row_bytes_; at += static_cast<std::ptrdiff_t>(cache_line)) {
            prefetch_far(row, ahead_ + at);
        }
    }

  private:
    static constexpr std::size_t bytes_ahead = 4096;
    std::ptrdiff_t row_bytes_, ahead_;
};

// `maxima` are those of the rows before. Which of two zeros is one, nothing depends on.
template <class Float>
void raise_maxima(const LaneBlock<Float> &block, Float *maxima) {
    constexpr std::size_t lanes = LaneBlock<Float>::lanes;
    Float largest[lanes], nan[lanes] = {};
    std::memcpy(largest, maxima, sizeof largest);
    for (std::size_t r = 0; r < block.count; ++r) {
        const Float *x = block.row(r);
        for (std::size_t k = 0; k < lanes; ++k) {
            largest[k] = x[k] > largest[k] ? x[k] : largest[k];
            nan[k] = is_nan(x[k]) ? x[k] : nan[k];
        }
    }
    for (std::size_t k = 0; k < lanes; ++k) {
        const Float seen = is_nan(nan[k]) ? nan[k] : largest[k];
        maxima[k] = is_nan(maxima[k]) ? maxima[k] : seen;
    }
}

template <class Float>
void exponentiate(const Float *maxima, const LaneBlock<Float> &block) {
    constexpr std::size_t lanes = LaneBlock<Float>::lanes;
    Float magic[lanes], shift[lanes], lowest[lanes];
    for (std::size_t k = 0; k < lanes; ++k) {
        const Frame<Float> frame = frame_of(maxima[k]);
        magic[k] = frame.magic_less_n;
        shift[k] = frame.shift;
        lowest[k] = frame.lowest;
    }
    for (std::size_t r = 0; r < block.count; ++r) {
        Float *x = block.row(r);
        for (std::size_t k = 0; k < lanes; ++k) {
            x[k] = exponential_in(Frame<Float>{magic[k], shift[k], lowest[k]}, x[k]);
        }
    }
}

} // namespace
} // namespace wr::host::WR_ISA
