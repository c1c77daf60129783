// What becomes of the sums of lanes that share a row.
#pragma once

#include "cuda/reduce/exact/lane_sum.cuh"

namespace wr::cuda {

inline constexpr ExactLayout layout_of_rows = layout_of_narrow_sums;
inline constexpr int words_of_row = exact_words(layout_of_rows);
inline constexpr int row_warps = exact_row_threads / warp_lanes;

// Of a type that has none, a place that nothing is written to.
template <class T>
inline constexpr int bin_places = LaneSum<T>::bins == 0 ? 1 : LaneSum<T>::bins * exact_row_threads;

// The words of the sum of the lanes that take part, in shared memory, each by one lane. Few: all of them take part, and
// have no more terms than most_terms_of_lane together.
template <class T>
__device__ __forceinline__ void store_warp(const LaneSum<T> &sum, bool takes_part, bool few, std::int64_t *words) {
    const int lane = lane_index();
    const std::uint32_t marks = __reduce_or_sync(whole_warp, takes_part ? sum.marks() : 0);
    std::int64_t mine = 0;
    const auto add = [&](Units units) {
        units.count = sum_of_lanes(takes_part ? units.count : 0, warp_lanes);
        mine += digit_of(units, lane);
    };
#pragma unroll
    for (int level = 0; level < larger(LaneSum<T>::levels, 1); ++level) {
        add(sum.units(level));
    }
    if (LaneSum<T>::bins != 0 && sum.uses_bins() && few) {
        mine += sum.digit_of_all_bins();
    } else if (sum.uses_bins()) {
#pragma unroll 1
        for (int bin = 0; bin < LaneSum<T>::bins; ++bin) {
            add(sum.units_of_bin(bin));
        }
    }
    if (lane < words_of_row) {
        words[lane] = lane < layout_of_rows.limbs ? mine : marks >> (lane - layout_of_rows.limbs) & 1u;
    }
}

// Whole rows of `lanes` lanes each, of a type that has bins, by the first of their lanes.
template <class T>
__device__ __forceinline__ void finish_rows_with_bins(const ExactArguments &a, LaneSum<T> &sum, int lanes,
                                                      std::size_t output) {
    const ThreadWords words = sum.make_words(lanes);
    if (lane_index() % lanes != 0 || output >= a.outputs) {
        return;
    }
    if (a.partials == nullptr) {
        finish_exactly(words, layout_of_rows, a.output_type, a.output, output);
        return;
    }
    for (int word = 0; word < words_of_row; ++word) {
        a.partials[output * words_of_row + static_cast<std::size_t>(word)] =
            word_of_partial(words, word, layout_of_rows);
    }
}

// A row's words, that lie in shared memory, become its result or its partial sum. By one warp.
__device__ __forceinline__ void finish_words(const ExactArguments &a, std::int64_t *words, std::size_t output,
                                             std::size_t split) {
    const int lane = lane_index();
    if (a.partials == nullptr) {
        if (lane == 0) {
            finish_exactly(words, layout_of_rows, a.output_type, a.output, output);
        }
    } else if (lane < words_of_row) {
        a.partials[(output * a.splits + split) * words_of_row + static_cast<std::size_t>(lane)] =
            word_of_partial(words, lane, layout_of_rows);
    }
}

// Whole rows of `lanes` lanes each, which are in no bins: 128 bits hold the sum of one.
template <class T>
__device__ __forceinline__ void finish_rows(const ExactArguments &a, const LaneSum<T> &sum, int lanes,
                                            std::size_t output) {
    const std::uint32_t marks = marks_of_lanes(sum.marks(), lanes);
    Units units = sum.units(0);
    std::int64_t count = sum_of_lanes(units.count, lanes);
    TwoWords total{static_cast<std::uint64_t>(count >> 63), static_cast<std::uint64_t>(count)};
    if constexpr (LaneSum<T>::levels == 2) {
        const Units below = sum.units(1);
        total = sum_of(shifted_left(total, units.place - below.place), sum_of_lanes(below.count, lanes));
        units.place = below.place;
    }
    if (lane_index() % lanes == 0 && output < a.outputs) {
        finish_exactly(total, layout_of_rows.lowest + units.place, marks, a.output_type, a.output, output);
    }
}

__device__ __forceinline__ const char *begin_of_row(const ExactArguments &a, std::size_t output, std::size_t size) {
    std::ptrdiff_t first = static_cast<std::ptrdiff_t>(output) * a.shape.outer_stride;
    if (a.shape.inner != 1) {
        first = static_cast<std::ptrdiff_t>(output / a.shape.inner) * a.shape.outer_stride +
                static_cast<std::ptrdiff_t>(output % a.shape.inner) * a.shape.inner_stride;
    }
    return static_cast<const char *>(a.input) + first * static_cast<std::ptrdiff_t>(size);
}

} // namespace wr::cuda
