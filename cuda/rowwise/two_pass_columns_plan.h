// Columns that are walked downwards: how they are cut into tiles, each a block's. A thread walks the rows of one vector
// of columns, several threads below each other a base block. Plain data: host and GPU share it.
#pragma once

#include "numerics/problem.h"

#include <cstddef>
#include <cstdint>

namespace wr::cuda {

struct TallTiles {
    std::uint32_t across, down; // of one array [axis][inner]
    std::int32_t log_across;    // vectors of a tile side by side
};

inline constexpr int tall_threads = 256;
inline constexpr int tall_runs = 8; // threads of a base block

// Tiles as wide as a warp, or as there are columns, and then of more base blocks.
TallTiles cut_into_tall_tiles(const Shape &shape, std::size_t element_bytes);

// All tiles of a shape; 0 where they are more than one launch's.
std::size_t count_tall_tiles(const Shape &shape, std::size_t element_bytes);

} // namespace wr::cuda
