// Of many ragged rows the longer ones, where other kernels have several of the others in a warp. Plain data: host and
// GPU share it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wr::cuda {

struct LargeRows {
    std::size_t least;  // elements that one has; 0: all rows are wanted
    std::int32_t among; // how many rows a block of threads looks through for them
};

// By blocks of so many threads at least.
inline constexpr int most_rows_looked_through = 1024;
inline constexpr int least_looking_threads = 256;

} // namespace wr::cuda
