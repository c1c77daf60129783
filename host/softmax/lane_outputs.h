// From the exponentials or logits of several rows side by side to their outputs, in their place and in memory.
#pragma once

#include "host/common/store_runs.h"
#include "host/softmax/arithmetic.h"
#include "host/softmax/lane_tile.h"
#include "host/softmax/small_outputs.h"

namespace wr::host::WR_ISA {
namespace {

// Where they lie.
struct LaneOutputs {
    std::size_t first; // index of the first row's first output
    std::ptrdiff_t axis_stride, lane_stride;

    std::size_t index(std::size_t at, std::size_t lane) const {
        return static_cast<std::size_t>(static_cast<std::ptrdiff_t>(first) +
                                        static_cast<std::ptrdiff_t>(at) * axis_stride +
                                        static_cast<std::ptrdiff_t>(lane) * lane_stride);
    }
};

// Those of elements `done` on of the first `width` rows.
template <class Float>
void store_lanes(const SoftmaxJob &job, const LaneOutputs &to, std::size_t width, std::size_t done, std::size_t count,
                 const LaneTile<Float> &tile) {
    if (to.lane_stride == 1) {
        for (std::size_t r = 0; r < count; ++r) {
            store_run(tile.row(r), width, job.output_type, job.output, to.index(done + r, 0));
        }
        return;
    }
    // Rows that lie one behind the other are stored as one run.
    const bool are_one_run = to.axis_stride == 1 && to.lane_stride == static_cast<std::ptrdiff_t>(count);
    const std::size_t at_once = are_one_run ? softmax_block / count : 1;
    for (std::size_t k = 0; k < width; k += at_once) {
        alignas(64) Float run[softmax_block];
        const std::size_t some = smaller(at_once, width - k);
        for (std::size_t j = 0; j < some; ++j) {
            for (std::size_t r = 0; r < count; ++r) {
                run[j * count + r] = tile.row(r)[k + j];
            }
        }
        store_run(run, some * count, job.output_type, job.output, to.index(done, k));
    }
}

template <class Float>
void finish_log(const RowFinish<Float> *finish, std::size_t count, LaneBlock<Float> &block) {
    constexpr std::size_t lanes = LaneBlock<Float>::lanes;
    Float high[lanes], low[lanes];
    for (std::size_t k = 0; k < lanes; ++k) {
        high[k] = finish[k].pieces.high;
        low[k] = finish[k].pieces.low;
    }
    for (std::size_t r = 0; r < count; ++r) {
        Float *x = block.row(r);
        for (std::size_t k = 0; k < lanes; ++k) {
            x[k] = log_softmax_output(x[k], LogPieces<Float>{high[k], low[k]});
        }
    }
}

template <class Float>
bool any_small_exponential(const BlockFactor<Float> *factors, bool both, std::size_t count,
                           const LaneBlock<Float> &block) {
    using Bits = typename LiftedRange<Float>::Bits;
    constexpr std::size_t lanes = LaneBlock<Float>::lanes;
    Bits smallest[lanes];
    for (Bits &each : smallest) {
        each = std::numeric_limits<Bits>::max();
    }
    for (std::size_t r = 0; r < count; ++r) {
        const Float *x = block.row(r);
        for (std::size_t k = 0; k < lanes; ++k) {
            smallest[k] = smaller(smallest[k], bit_cast<Bits>(x[k]) - 1);
        }
    }
    bool any = false;
    for (std::size_t k = 0; k < lanes; ++k) {
        any |= smallest[k] < small_exponential_bound(factors[k], both);
    }
    return any;
}

// Both pieces of the factors, or the first. Not one loop with a choice in it: compilers that compute both outputs and
// drop one meet numbers below the normal range in the lower pieces.
template <bool Both, class Float>
void scale(const BlockFactor<Float> *factors, std::size_t count, LaneBlock<Float> &block) {
    constexpr std::size_t lanes = LaneBlock<Float>::lanes;
    Float high[lanes], low[lanes];
    for (std::size_t k = 0; k < lanes; ++k) {
        high[k] = factors[k].high;
        low[k] = factors[k].low;
    }
    for (std::size_t r = 0; r < count; ++r) {
        Float *x = block.row(r);
        for (std::size_t k = 0; k < lanes; ++k) {
            const BlockFactor<Float> factor{high[k], low[k]};
            const Float e = x[k];
            x[k] = Both ? softmax_output(e, factor) : softmax_narrow_output(e, factor);
        }
    }
}

template <bool Both, class Float>
void scale_small(const BlockFactor<Float> *factors, std::size_t count, LaneBlock<Float> &block) {
    constexpr std::size_t lanes = LaneBlock<Float>::lanes;
    Float high[lanes], low[lanes], least[lanes];
    for (std::size_t k = 0; k < lanes; ++k) {
        const SmallOutputs<Float> small = small_outputs(factors[k]);
        high[k] = small.high;
        low[k] = small.low;
        least[k] = small.least_seen;
    }
    for (std::size_t r = 0; r < count; ++r) {
        Float *x = block.row(r);
        for (std::size_t k = 0; k < lanes; ++k) {
            const SmallOutputs<Float> small{high[k], low[k], least[k]};
            const Float e = x[k];
            x[k] = Both ? small.output(e) : small.narrow_output(e);
        }
    }
}

} // namespace
} // namespace wr::host::WR_ISA
