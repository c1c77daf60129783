// What the kernels of exact sums are launched with. Plain data: host and GPU share it.
#pragma once

#include "numerics/exact_sum.h"
#include "numerics/problem.h"

namespace wr::cuda {

// Outputs are numbered as [outer][inner]. A block takes `across` of them and `length` elements of their axis, each
// output by `down` threads.
struct ExactArguments {
    const void *input;
    const void *weights;    // nullptr: none
    void *output;           // where a block has the whole axis,
    std::int64_t *partials; // else: [outputs][splits][words], settled but for one carry
    Shape shape;
    std::size_t outputs;
    std::size_t splits;
    std::size_t length;
    std::size_t first_block;
    std::int32_t down;
    bool down_side_by_side; // an output's threads are neighbours, or stand `across` apart
    bool ignore_nan;
    std::uint32_t filler; // elements that change no sum: -0, or NaNs where they are ignored
    ElementType type, output_type;
};

struct ExactMergeArguments {
    const std::int64_t *partials;
    void *output;
    std::size_t outputs;
    std::size_t splits;
    std::size_t first_output;
    ExactLayout layout;
    ElementType output_type;
    bool to_words; // the output takes the words
};

// Threads of a block: the words of each stand in shared memory, of which all blocks have 48 KiB.
constexpr int exact_threads(ElementType type, bool products) {
    return type != ElementType::f64 ? 128 : products ? 32 : 64;
}

inline constexpr int exact_row_threads = 256;

// The most terms of a lane of rows: they fill none of its sums.
inline constexpr std::size_t most_terms_of_lane = std::size_t{1} << 12;

// Vectors of 16 bytes that a lane has of a short row at most.
inline constexpr int exact_short_row_vectors = 4;

// Of the kernel that merges; within these bounds each warp has no more splits than are on their way at a time (2^24 f32
// on an H200 43 us; by 256 68).
inline constexpr int least_exact_merge_threads = 256, most_exact_merge_threads = 1024, exact_splits_of_warp = 8;

} // namespace wr::cuda
