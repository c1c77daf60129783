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

    alignas(64) Float values[lane_tile_bytes / sizeof(Float)]; // logits, their exponentials, outputs
    std::size_t width;                                         // lanes of all groups

    Float *row(std::size_t r) { return values + r * width; }
    const Float *row(std::size_t r) const { return values + r * width; }
};

// One group of a tile.
template <class Float>
struct LaneBlock {
    static constexpr std::size_t lanes = LaneTile<Float>::lanes;

    Float *values;
    std::size_t width;
    Float maxima[lanes];

    LaneBlock(LaneTile<Float> &tile, std::size_t group) : values(tile.row(0) + group * lanes), width(tile.width) {}

    Float *row(std::size_t r) const { return values + r * width; }
};

// What is asked for while rows of a panel are read: rows some kilobytes on, which are too short and too far apart for
// the processor to see them coming.
class RowsAhead {
  public:
    RowsAhead(std::size_t row_bytes, std::ptrdiff_t stride)
        : row_bytes_(static_cast<std::ptrdiff_t>(row_bytes)),
          ahead_(static_cast<std::ptrdiff_t>(divide_up(bytes_ahead, row_bytes)) * stride) {}

    void prefetch_row(const void *row) const {
        for (std::ptrdiff_t at = 0; at < row_bytes_; at += static_cast<std::ptrdiff_t>(cache_line)) {
            prefetch(row, ahead_ + at);
        }
    }

  private:
    static constexpr std::size_t bytes_ahead = 4096;
    std::ptrdiff_t row_bytes_, ahead_;
};

template <class Float>
void find_maxima(std::size_t count, LaneBlock<Float> &block) {
    constexpr std::size_t lanes = LaneBlock<Float>::lanes;
    Float maxima[lanes];
    for (Float &each : maxima) {
        each = -std::numeric_limits<Float>::infinity();
    }
    for (std::size_t r = 0; r < count; ++r) {
        const Float *x = block.row(r);
        for (std::size_t k = 0; k < lanes; ++k) {
            maxima[k] = larger_or_nan(maxima[k], x[k]);
        }
    }
    std::memcpy(block.maxima, maxima, sizeof maxima);
}

template <class Float>
void exponentiate(std::size_t count, LaneBlock<Float> &block) {
    constexpr std::size_t lanes = LaneBlock<Float>::lanes;
    Float magic[lanes], shift[lanes], lowest[lanes];
    for (std::size_t k = 0; k < lanes; ++k) {
        const Frame<Float> frame = frame_of(block.maxima[k]);
        magic[k] = frame.magic_less_n;
        shift[k] = frame.shift;
        lowest[k] = frame.lowest;
    }
    for (std::size_t r = 0; r < count; ++r) {
        Float *x = block.row(r);
        for (std::size_t k = 0; k < lanes; ++k) {
            x[k] = exponential_in(Frame<Float>{magic[k], shift[k], lowest[k]}, x[k]);
        }
    }
}

} // namespace
} // namespace wr::host::WR_ISA
