// Columns that are walked downwards: how they are cut into tiles, each a block's. A thread walks the rows of one vector
// of columns, several threads below each other a tile. Plain data: host and GPU share it.
#pragma once

#include "numerics/problem.h"

#include <cstddef>
#include <cstdint>

namespace wr::cuda {

struct TwoPassColumnTiles {
    std::uint32_t across, down; // of one array [axis][inner]
    std::int32_t log_across;    // vectors of a tile side by side
};

inline constexpr int two_pass_column_threads = 256;
inline constexpr int two_pass_column_runs = 8; // threads of a tile

// Tiles as wide as a warp, or as there are columns, and then of more tiles.
TwoPassColumnTiles cut_into_two_pass_column_tiles(const Shape &shape, std::size_t element_bytes);

// All tiles of a shape; 0 where they are more than one launch's.
std::size_t count_two_pass_column_tiles(const Shape &shape, std::size_t element_bytes);

} // namespace wr::cuda
