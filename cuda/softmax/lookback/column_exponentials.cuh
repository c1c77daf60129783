// The exponentials of columns that all multiprocessors share, before any of their maxima is known.
//
// Tiles have no frames of their own here: a panel's columns have frames N about the largest of a few of their
// logits, in which the exponentials have the bits that they have in their tiles' frames but for a power of two,
// as long as
//   - n - N (n = rint(x log2 e)) is within [lowest_power, highest_power], so that no exponential leaves the normal
//     range here, or is 0 in the frame of its tile (whose maximum is less than 86 above it), or
//   - x is so far below (n - N under negligible_power) that it is 0 in its tile or, with all of that, in its
//     column, and
//   - each tile's sum is at least least_sum, or all of it is negligible: then the factor of its outputs
//     is more than 2^-92 (2^17 elements at most), whose pieces have all their bits, or 0.
// Columns that are otherwise (spread further, NaN, +infinity, nothing but -infinity) are left to the kernels that read
// them twice, with some beside them.
#pragma once

#include "cuda/rowwise/column_words.cuh"
#include "cuda/softmax/lookback/columns.h"

namespace wr::cuda {

// What the definition above says, as rounded sums of x log2 e and the frame's rounding constant.
struct LookbackColumnBounds {
    static constexpr int lowest_power = -85, highest_power = 35, negligible_power = -210;
    static constexpr float magic = ExponentialConstants<float>::magic;
    static constexpr float lowest = magic + lowest_power, highest = magic + highest_power;
    static constexpr float negligible = magic + negligible_power;
    static constexpr double least_sum = 0x1p-26;
};

template <int Rows>
class LookbackColumnExponentials {
    using Bounds = LookbackColumnBounds;

  public:
    static constexpr int each = vector_elements<float>, rows = Rows; // of a thread

    // What stands for the sum of a thread's elements where columns have to be left to other kernels for one of them.
    static constexpr double special_sum = std::numeric_limits<double>::infinity();

    // The rounding constant less N, for a frame about this logit.
    __device__ __forceinline__ static float frame_about(float logit) {
        return Bounds::magic - (is_ordinary(logit) ? static_cast<float>(nearest_exponent(logit)) : 0.0f);
    }

    // Whether the sum of a tile allows for outputs by these exponentials.
    __device__ __forceinline__ static bool is_usual(double sum) {
        return (sum >= Bounds::least_sum && sum < special_sum) || sum == 0;
    }

    // Normal: there is no zero among them.
    template <bool Normal>
    __device__ __forceinline__ static void add_up(const float (&e)[each][rows], double (&sums)[each]) {
#pragma unroll
        for (int c = 0; c < each; ++c) {
            sums[c] = run_sum<rows, double, Normal>(e[c]);
        }
    }

    // Whether all of them are as in their tiles, and whether zeros may be among them.
    struct Formed {
        bool usual, zeros;
    };
    __device__ __forceinline__ static Formed form_exponentials(int left, const float4 &frames,
                                                               const uint4 (&logits)[rows], float (&e)[each][rows]) {
        const float frame[each] = {frames.x, frames.y, frames.z, frames.w};
        float lowest = Bounds::magic, highest = Bounds::magic;
#pragma unroll
        for (int c = 0; c < each; ++c) {
#pragma unroll
            for (int i = 0; i < rows; ++i) {
                const float x = element_of(logits[i], c, float());
                lowest = fminf(lowest, rounded(x, frame[c]));
                highest = larger_with_nan(highest, rounded(x, frame[c]));
                e[c][i] = scaled_exponential(x, frame[c]);
            }
        }
        Formed recomputed{highest <= Bounds::highest, left < rows};
        if (!(lowest >= Bounds::lowest)) {
            recomputed.usual = leave_out_negligible(frame, logits, e) && recomputed.usual;
            recomputed.zeros = true;
        }
        if (left < rows) {
#pragma unroll
            for (int c = 0; c < each; ++c) {
#pragma unroll
                for (int i = 0; i < rows; ++i) {
                    e[c][i] = i < left ? e[c][i] : 0.0f;
                }
            }
        }
        return recomputed;
    }

  private:
    __device__ __forceinline__ static float rounded(float x, float frame) {
        return fused(x, ExponentialConstants<float>::log2e_high, frame);
    }
    __device__ __forceinline__ static bool leave_out_negligible(const float (&frame)[each], const uint4 (&logits)[rows],
                                                                float (&e)[each][rows]) {
        bool usual = true;
#pragma unroll
        for (int c = 0; c < each; ++c) {
#pragma unroll
            for (int i = 0; i < rows; ++i) {
                const float at = rounded(element_of(logits[i], c, float()), frame[c]);
                usual = usual && (at >= Bounds::lowest || at < Bounds::negligible);
                e[c][i] = at < Bounds::negligible ? 0.0f : e[c][i];
            }
        }
        return usual;
    }
};

} // namespace wr::cuda
