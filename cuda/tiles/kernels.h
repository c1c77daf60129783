// The kernels of tiles, as the launcher sees them. Each takes the problem itself as its one parameter; reductions take
// TileReduceArguments.
#pragma once

#include "numerics/tiles.h"

namespace wr::cuda {

inline constexpr int tile_threads = 256;

// Runs of 32 lanes that a warp has in flight: with one the loads of a whole GPU are too few to keep its memory busy.
inline constexpr int tile_runs = 4;

inline constexpr std::size_t lanes_a_tile_block = std::size_t{tile_threads} * tile_runs;

// nullptr where there is no element of that size.
const void *tile_shuffle_kernel(std::size_t element_bytes);
const void *tile_match_kernel(std::size_t element_bytes);

const void *tile_vote_kernel();

struct TileReduceArguments {
    const void *input;
    void *output;
    Tiles tiles;
    Mapping mapping;
    Finish finish; // of a tile that is not short
};

// nullptr where there is none.
const void *tile_reduce_kernel(const Reduction &what);

} // namespace wr::cuda
