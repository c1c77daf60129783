// From the exponentials or logits of several rows side by side to their outputs, in their place and in memory.
#pragma once

#include "host/common/store_runs.h"
#include "host/common/stream_stores.h"
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

// `count` elements of rows `lane` to `width` - 1, from element `at` on, which are the tile's from row `first` on.
template <class Float>
void store_lanes(const SoftmaxJob &job, const LaneOutputs &to, std::size_t lane, std::size_t width, std::size_t at,
                 std::size_t count, const LaneTile<Float> &tile, std::size_t first) {
    if (to.lane_stride == 1) {
        for (std::size_t r = 0; r < count; ++r) {
            store_run(tile.row(first + r) + lane, width - lane, job.output_type, job.output, to.index(at + r, lane));
        }
        return;
    }
    // Rows that lie one behind the other are stored as one run.
    const bool are_one_run = to.axis_stride == 1 && to.lane_stride == static_cast<std::ptrdiff_t>(count);
    const std::size_t at_once = are_one_run ? softmax_block / count : 1;
    for (std::size_t k = lane; k < width; k += at_once) {
        alignas(64) Float run[softmax_block];
        const std::size_t some = smaller(at_once, width - k);
        for (std::size_t j = 0; j < some; ++j) {
            for (std::size_t r = 0; r < count; ++r) {
                run[j * count + r] = tile.row(first + r)[k + j];
            }
        }
        store_run(run, some * count, job.output_type, job.output, to.index(at, k));
    }
}

// Where the outputs of a group go, row by row: to the tile, or to where they stay.
template <class Float>
class LaneTarget {
  public:
    static constexpr std::size_t lanes = LaneTile<Float>::lanes;

    LaneTarget(Float *to, std::ptrdiff_t stride, bool past_caches)
        : to_(to), stride_(stride), streams_(past_caches && (reinterpret_cast<std::uintptr_t>(to) |
                                                             static_cast<std::uintptr_t>(stride) * sizeof(Float)) %
                                                                    vector_bytes ==
                                                                0) {}

    // Row r, `value` of each lane.
    template <class Value>
    WR_HD void put(std::size_t r, const Value &value) const {
        Float *to = to_ + static_cast<std::ptrdiff_t>(r) * stride_;
        if (!streams_) {
            for (std::size_t k = 0; k < lanes; ++k) {
                to[k] = value(k);
            }
            return;
        }
        alignas(64) Float row[lanes];
        for (std::size_t k = 0; k < lanes; ++k) {
            row[k] = value(k);
        }
        for (std::size_t k = 0; k < lanes; k += lanes_of<Float>) {
            stream_vector(to + k, load_vector<Register<Float>>(row + k));
        }
    }

  private:
    Float *to_;
    std::ptrdiff_t stride_;
    bool streams_;
};

template <class Float>
void finish_log(const RowFinish<Float> *finish, const LaneBlock<Float> &block, const LaneTarget<Float> &target) {
    constexpr std::size_t lanes = LaneBlock<Float>::lanes;
    Float high[lanes], low[lanes];
    for (std::size_t k = 0; k < lanes; ++k) {
        high[k] = finish[k].pieces.high;
        low[k] = finish[k].pieces.low;
    }
    for (std::size_t r = 0; r < block.count; ++r) {
        const Float *x = block.row(r);
        target.put(r, [&](std::size_t k) { return log_softmax_output(x[k], LogPieces<Float>{high[k], low[k]}); });
    }
}

// `bounds`: small_exponential_bound of each lane.
template <class Float, class Bits>
bool any_small_exponential(const Bits *bounds, const LaneBlock<Float> &block) {
    constexpr std::size_t lanes = LaneBlock<Float>::lanes;
    Bits smallest[lanes];
    for (Bits &each : smallest) {
        each = std::numeric_limits<Bits>::max();
    }
    for (std::size_t r = 0; r < block.count; ++r) {
        const Float *x = block.row(r);
        for (std::size_t k = 0; k < lanes; ++k) {
            smallest[k] = smaller(smallest[k], bit_cast<Bits>(x[k]) - 1);
        }
    }
    Bits any = 0;
    for (std::size_t k = 0; k < lanes; ++k) {
        any |= Bits{smallest[k] < bounds[k]};
    }
    return any != 0;
}

// Both pieces of the factors, or the first. Not one loop with a choice in it: compilers that compute both outputs and
// drop one meet numbers below the normal range in the lower pieces.
template <bool Both, class Float>
void scale(const BlockFactor<Float> *factors, const LaneBlock<Float> &block, const LaneTarget<Float> &target) {
    constexpr std::size_t lanes = LaneBlock<Float>::lanes;
    Float high[lanes], low[lanes];
    for (std::size_t k = 0; k < lanes; ++k) {
        high[k] = factors[k].high;
        low[k] = factors[k].low;
    }
    for (std::size_t r = 0; r < block.count; ++r) {
        const Float *x = block.row(r);
        target.put(r, [&](std::size_t k) {
            const BlockFactor<Float> factor{high[k], low[k]};
            return Both ? softmax_output(x[k], factor) : softmax_narrow_output(x[k], factor);
        });
    }
}

template <bool Both, class Float>
void scale_small(const BlockFactor<Float> *factors, const LaneBlock<Float> &block, const LaneTarget<Float> &target) {
    constexpr std::size_t lanes = LaneBlock<Float>::lanes;
    Float high[lanes], low[lanes], least[lanes];
    for (std::size_t k = 0; k < lanes; ++k) {
        const SmallOutputs<Float> small = small_outputs(factors[k]);
        high[k] = small.high;
        low[k] = small.low;
        least[k] = small.least_seen;
    }
    for (std::size_t r = 0; r < block.count; ++r) {
        const Float *x = block.row(r);
        target.put(r, [&](std::size_t k) {
            const SmallOutputs<Float> small{high[k], low[k], least[k]};
            return Both ? small.output(x[k]) : small.narrow_output(x[k]);
        });
    }
}

} // namespace
} // namespace wr::host::WR_ISA
