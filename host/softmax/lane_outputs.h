// From the exponentials or logits of several rows side by side to their outputs, in their place and in memory.
#pragma once

#include "host/common/store_runs.h"
#include "host/common/stream_stores.h"
#include "host/softmax/arithmetic.h"
#include "host/softmax/lane_tile.h"
#include "host/softmax/short_rows.h"
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

// Rows that lie one behind the other are stored as one run.
template <class Float>
void store_short_rows(const SoftmaxJob &job, std::size_t index, std::size_t rows, std::size_t length, std::size_t width,
                      const Float *columns) {
    ShortRows<Float> run;
    run.length = length;
    for (std::size_t k = 0; k < rows; k += run.at_once()) {
        const std::size_t some = smaller(run.at_once(), rows - k);
        run.from_columns(some, width, columns + k);
        store_run(run.elements, some * length, job.output_type, job.output, index + k * length);
    }
}

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
    const bool are_one_run = to.axis_stride == 1 && to.lane_stride == static_cast<std::ptrdiff_t>(count);
    if (are_one_run && count < shortest_lone_row) {
        return store_short_rows(job, to.index(at, lane), width - lane, count, tile.width, tile.row(first) + lane);
    }
    for (std::size_t k = lane; k < width; ++k) {
        alignas(64) Float row[softmax_block];
        for (std::size_t r = 0; r < count; ++r) {
            row[r] = tile.row(first + r)[k];
        }
        store_run(row, count, job.output_type, job.output, to.index(at, k));
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
void finish_log(const Float *highs, const Float *lows, const LaneBlock<Float> &block, const LaneTarget<Float> &target) {
    constexpr std::size_t lanes = LaneBlock<Float>::lanes;
    Float high[lanes], low[lanes];
    std::memcpy(high, highs, sizeof high);
    std::memcpy(low, lows, sizeof low);
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
void scale(const Float *highs, const Float *lows, const LaneBlock<Float> &block, const LaneTarget<Float> &target) {
    constexpr std::size_t lanes = LaneBlock<Float>::lanes;
    Float high[lanes], low[lanes];
    std::memcpy(high, highs, sizeof high);
    std::memcpy(low, lows, sizeof low);
    for (std::size_t r = 0; r < block.count; ++r) {
        const Float *x = block.row(r);
        target.put(r, [&](std::size_t k) {
            const BlockFactor<Float> factor{high[k], low[k]};
            return Both ? softmax_output(x[k], factor) : softmax_narrow_output(x[k], factor);
        });
    }
}

template <bool Both, class Float>
void scale_small(const Float *highs, const Float *lows, const LaneBlock<Float> &block,
                 const LaneTarget<Float> &target) {
    constexpr std::size_t lanes = LaneBlock<Float>::lanes;
    Float high[lanes], low[lanes], least[lanes];
    for (std::size_t k = 0; k < lanes; ++k) {
        const SmallOutputs<Float> small = small_outputs(BlockFactor<Float>{highs[k], lows[k]});
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
