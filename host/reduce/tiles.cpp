// Shuffles, votes and matches: a tile is read as a whole before any of it is written, since output may be the input.
#include "host/host.h"
#include "host/reduce/each_tile.h"

namespace wr::host {

namespace {

struct Quadruple {
    std::uint32_t words[4];
    bool operator==(const Quadruple &) const = default;
};

// Calls work with an element of that size, if there is one.
template <class Work>
Status with_element_of(std::size_t bytes, Work work) {
    const auto works_with = [&](auto element) {
        const bool fits = sizeof(element) == bytes;
        if (fits) {
            work(element);
        }
        return fits;
    };
    const bool found = works_with(std::uint8_t()) || works_with(std::uint16_t()) || works_with(std::uint32_t()) ||
                       works_with(std::uint64_t()) || works_with(Quadruple());
    return found ? Status::success : Status::internal;
}

template <class T>
void shuffle_elements(const TileShuffleProblem &problem) {
    const auto *input = static_cast<const T *>(problem.input);
    auto *output = static_cast<T *>(problem.output);
    for_each_tile(problem.tiles, 2 * sizeof(T), [&](std::size_t first, std::uint32_t lanes) {
        T values[widest_tile];
        std::copy_n(input + first, lanes, values);
        for (std::uint32_t lane = 0; lane < lanes; ++lane) {
            output[first + lane] = values[source_lane(problem.mode, lane, problem.operand, lanes)];
        }
    });
}

// The lanes below `lanes` for which holds(lane) is true.
template <class Predicate>
std::uint32_t lanes_where(std::uint32_t lanes, Predicate holds) {
    std::uint32_t mask = 0;
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        mask |= static_cast<std::uint32_t>(holds(lane)) << lane;
    }
    return mask;
}

bool is_in(std::uint32_t lane, std::uint32_t mask) { return ((mask >> lane) & 1u) != 0; }

template <class T>
void match_elements(const TileMatchProblem &problem) {
    const auto *input = static_cast<const T *>(problem.input);
    for_each_tile(problem.tiles, sizeof(T) + sizeof *problem.output, [&](std::size_t first, std::uint32_t lanes) {
        const std::uint32_t members = problem.members & mask_of_lanes(lanes);
        T values[widest_tile];
        std::copy_n(input + first, lanes, values);
        for (std::uint32_t lane = 0; lane < lanes; ++lane) {
            const std::uint32_t equal =
                members & lanes_where(lanes, [&](std::uint32_t other) { return values[other] == values[lane]; });
            const std::uint32_t matched = problem.match == Match::any || equal == members ? equal : 0;
            problem.output[first + lane] = is_in(lane, members) ? matched : 0;
        }
    });
}

} // namespace

Status tile_shuffle(const TileShuffleProblem &problem) {
    return with_element_of(problem.element_bytes, [&](auto element) { shuffle_elements<decltype(element)>(problem); });
}

Status tile_vote(const TileVoteProblem &problem) {
    constexpr std::size_t bytes_a_lane = sizeof *problem.predicates + sizeof *problem.output;
    for_each_tile(problem.tiles, bytes_a_lane, [&](std::size_t first, std::uint32_t lanes) {
        const std::uint32_t members = problem.members & mask_of_lanes(lanes);
        const std::uint32_t holds =
            members & lanes_where(lanes, [&](std::uint32_t lane) { return problem.predicates[first + lane] != 0; });
        for (std::uint32_t lane = 0; lane < lanes; ++lane) {
            problem.output[first + lane] = is_in(lane, members) ? vote_of(problem.vote, holds, members) : 0;
        }
    });
    return Status::success;
}

Status tile_match(const TileMatchProblem &problem) {
    return with_element_of(problem.element_bytes, [&](auto element) { match_elements<decltype(element)>(problem); });
}

} // namespace wr::host
