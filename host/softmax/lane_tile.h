// A base block of each of several rows side by side, each a lane of the vectors: its exponentials, whatever type the
// logits came from.
#pragma once

#include "host/common/vectors.h"
#include "numerics/softmax.h"

namespace wr::host::WR_ISA {
namespace {

template <class Float>
struct LaneBlock {
    static constexpr std::size_t lanes = 64 / sizeof(Float);

    alignas(64) Float values[softmax_block][lanes]; // logits, their exponentials, outputs
    Float maxima[lanes];
};

template <class Float>
void find_maxima(std::size_t count, LaneBlock<Float> &block) {
    for (Float &each : block.maxima) {
        each = -std::numeric_limits<Float>::infinity();
    }
    for (std::size_t r = 0; r < count; ++r) {
        for (std::size_t k = 0; k < block.lanes; ++k) {
            block.maxima[k] = larger_or_nan(block.maxima[k], block.values[r][k]);
        }
    }
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
        for (std::size_t k = 0; k < lanes; ++k) {
            block.values[r][k] = exponential_in(Frame<Float>{magic[k], shift[k], lowest[k]}, block.values[r][k]);
        }
    }
}

} // namespace
} // namespace wr::host::WR_ISA
