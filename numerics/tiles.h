// Tiles: what CUDA's warp functions do to lanes, as jobs and as the few rules that the CPU and the GPU share.
//
// Lanes stand in consecutive tiles of `width`, a power of two from 2 to 32. The last tile may be short: lanes beyond
// the count are absent, which no other lane may notice.
#pragma once

#include "numerics/problem.h"

namespace wr {

// The values are the public header's; capi/ checks that they agree.
enum class Shuffle : std::int32_t { up = 1, down = 2, exclusive_or = 3, index = 4 };
enum class Vote : std::int32_t { any = 1, all = 2, ballot = 3 };
enum class Match : std::int32_t { any = 1, all = 2 };

inline constexpr std::uint32_t widest_tile = 32;

struct Tiles {
    std::size_t count; // of lanes
    std::uint32_t width;
};

struct TileReduceProblem {
    Reduction what;
    const void *input;
    void *output;
    Tiles tiles;
};

struct TileShuffleProblem {
    Shuffle mode;
    std::uint32_t operand; // below the width
    std::size_t element_bytes;
    const void *input;
    void *output;
    Tiles tiles;
};

// members: bit i is lane i of each tile.
struct TileVoteProblem {
    Vote vote;
    const std::int32_t *predicates;
    std::uint32_t *output;
    Tiles tiles;
    std::uint32_t members;
};

struct TileMatchProblem {
    Match match;
    std::size_t element_bytes;
    const void *input;
    std::uint32_t *output;
    Tiles tiles;
    std::uint32_t members;
};

// Lanes that are present in the tile that begins with lane `first` of all.
WR_HD constexpr std::uint32_t lanes_of_tile(Tiles tiles, std::size_t first) {
    return static_cast<std::uint32_t>(smaller<std::size_t>(tiles.count - first, tiles.width));
}

// A bit for each of the first `lanes` lanes, 1 to 32.
WR_HD constexpr std::uint32_t mask_of_lanes(std::uint32_t lanes) { return 0xFFFFFFFFu >> (widest_tile - lanes); }

// The lane of the tile that `lane` takes its value from: itself where the other lies outside the tile or is absent.
WR_HD constexpr std::uint32_t source_lane(Shuffle mode, std::uint32_t lane, std::uint32_t operand,
                                          std::uint32_t lanes) {
    std::uint32_t source = operand;
    switch (mode) {
    case Shuffle::up:
        source = lane - operand; // below lane 0 it wraps, to a lane that is in no tile
        break;
    case Shuffle::down:
        source = lane + operand;
        break;
    case Shuffle::exclusive_or:
        source = lane ^ operand;
        break;
    case Shuffle::index:
        break;
    }
    return source < lanes ? source : lane;
}

// What a member lane learns, given the members whose predicate holds. Others get 0.
WR_HD constexpr std::uint32_t vote_of(Vote vote, std::uint32_t holds, std::uint32_t members) {
    switch (vote) {
    case Vote::any:
        return holds != 0 ? 1 : 0;
    case Vote::all:
        return holds == members ? 1 : 0;
    case Vote::ballot:
        break;
    }
    return holds;
}

} // namespace wr
