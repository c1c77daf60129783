// Shuffles, votes and matches by the warp's own functions. They are always called by the whole warp; what a narrower
// or short tile or a member mask leaves out is masked off what they say.
#include "cuda/device/intrinsics.cuh"
#include "cuda/tiles/runs.cuh"

namespace wr::cuda {

namespace {

// An element as the registers that the warp's functions take.
template <std::size_t Bytes>
struct Words {
    static constexpr int count = Bytes <= 4 ? 1 : static_cast<int>(Bytes / 4);
    std::uint32_t words[count];
};

template <std::size_t Bytes>
__device__ __forceinline__ Words<Bytes> load_words(const void *input, std::size_t index) {
    if constexpr (Bytes == 1) {
        return {{static_cast<const std::uint8_t *>(input)[index]}};
    } else if constexpr (Bytes == 2) {
        return {{static_cast<const std::uint16_t *>(input)[index]}};
    } else if constexpr (Bytes == 4) {
        return {{static_cast<const std::uint32_t *>(input)[index]}};
    } else if constexpr (Bytes == 8) {
        const uint2 element = static_cast<const uint2 *>(input)[index];
        return {{element.x, element.y}};
    } else {
        const std::uint32_t *element = static_cast<const std::uint32_t *>(input) + 4 * index;
        return {{element[0], element[1], element[2], element[3]}};
    }
}

template <std::size_t Bytes>
__device__ __forceinline__ void store_words(Words<Bytes> value, void *output, std::size_t index) {
    if constexpr (Bytes == 1) {
        static_cast<std::uint8_t *>(output)[index] = static_cast<std::uint8_t>(value.words[0]);
    } else if constexpr (Bytes == 2) {
        static_cast<std::uint16_t *>(output)[index] = static_cast<std::uint16_t>(value.words[0]);
    } else if constexpr (Bytes == 4) {
        static_cast<std::uint32_t *>(output)[index] = value.words[0];
    } else if constexpr (Bytes == 8) {
        static_cast<uint2 *>(output)[index] = make_uint2(value.words[0], value.words[1]);
    } else {
        std::uint32_t *element = static_cast<std::uint32_t *>(output) + 4 * index;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            element[i] = value.words[i];
        }
    }
}

__device__ __forceinline__ std::uint32_t shuffle_word(Shuffle mode, std::uint32_t word, std::uint32_t operand,
                                                      std::uint32_t width) {
    const int lanes = static_cast<int>(width);
    switch (mode) {
    case Shuffle::up:
        return __shfl_up_sync(whole_warp, word, operand, lanes);
    case Shuffle::down:
        return __shfl_down_sync(whole_warp, word, operand, lanes);
    case Shuffle::exclusive_or:
        return __shfl_xor_sync(whole_warp, word, static_cast<int>(operand), lanes);
    case Shuffle::index:
        break;
    }
    return __shfl_sync(whole_warp, word, static_cast<int>(operand), lanes);
}

template <std::size_t Bytes>
__global__ void __launch_bounds__(tile_threads) shuffle_tiles(const __grid_constant__ TileShuffleProblem problem) {
    const auto load = [&](std::size_t index) { return load_words<Bytes>(problem.input, index); };
    const auto work = [&](const TileLane &at, Words<Bytes> value) {
        // The warp leaves a lane its own value where the source lies outside the tile; it does not know of absent ones.
        const bool moves = source_lane(problem.mode, at.lane, problem.operand, at.lanes) != at.lane;
        Words<Bytes> result;
#pragma unroll
        for (int i = 0; i < Words<Bytes>::count; ++i) {
            const std::uint32_t from_source =
                shuffle_word(problem.mode, value.words[i], problem.operand, problem.tiles.width);
            result.words[i] = moves ? from_source : value.words[i];
        }
        if (at.present) {
            store_words(result, problem.output, at.index);
        }
    };
    for_each_tile_run(problem.tiles, Words<Bytes>{}, load, work);
}

__global__ void __launch_bounds__(tile_threads) vote_tiles(const __grid_constant__ TileVoteProblem problem) {
    const auto load = [&](std::size_t index) { return problem.predicates[index]; };
    const auto work = [&](const TileLane &at, std::int32_t predicate) {
        const std::uint32_t members = problem.members & mask_of_lanes(at.lanes);
        const std::uint32_t holds = members & at.mask_in_tile(__ballot_sync(whole_warp, predicate));
        if (at.present) {
            const bool is_member = ((members >> at.lane) & 1u) != 0;
            problem.output[at.index] = is_member ? vote_of(problem.vote, holds, members) : 0;
        }
    };
    for_each_tile_run(problem.tiles, 0, load, work);
}

// The lanes of the warp that hold this lane's value.
template <std::size_t Bytes>
__device__ __forceinline__ std::uint32_t lanes_that_match(const Words<Bytes> &value) {
    if constexpr (Bytes <= 4) {
        return __match_any_sync(whole_warp, value.words[0]);
    } else {
        std::uint32_t lanes = whole_warp;
#pragma unroll
        for (int i = 0; i < Words<Bytes>::count; i += 2) {
            const auto low = static_cast<unsigned long long>(value.words[i]);
            const auto high = static_cast<unsigned long long>(value.words[i + 1]);
            lanes &= __match_any_sync(whole_warp, high << 32 | low);
        }
        return lanes;
    }
}

// Whether the tile's members all hold one value: each compares its own with the first member's, and they vote.
template <std::size_t Bytes>
__device__ __forceinline__ bool members_agree(const Words<Bytes> &value, std::uint32_t members, const TileLane &at,
                                              std::uint32_t width) {
    const int first_member = __ffs(static_cast<int>(members)) - 1;
    bool equal = true;
#pragma unroll
    for (int i = 0; i < Words<Bytes>::count; ++i) {
        const std::uint32_t theirs = __shfl_sync(whole_warp, value.words[i], first_member, static_cast<int>(width));
        equal = equal && value.words[i] == theirs;
    }
    return (members & ~at.mask_in_tile(__ballot_sync(whole_warp, equal))) == 0;
}

template <std::size_t Bytes>
__global__ void __launch_bounds__(tile_threads) match_tiles(const __grid_constant__ TileMatchProblem problem) {
    const auto load = [&](std::size_t index) { return load_words<Bytes>(problem.input, index); };
    const auto work = [&](const TileLane &at, const Words<Bytes> &value) {
        const std::uint32_t members = problem.members & mask_of_lanes(at.lanes);
        std::uint32_t matched = 0;
        if (problem.match == Match::any) {
            matched = members & at.mask_in_tile(lanes_that_match(value));
        } else {
            matched = members_agree(value, members, at, problem.tiles.width) ? members : 0;
        }
        if (at.present) {
            problem.output[at.index] = ((members >> at.lane) & 1u) != 0 ? matched : 0;
        }
    };
    for_each_tile_run(problem.tiles, Words<Bytes>{}, load, work);
}

} // namespace

const void *tile_shuffle_kernel(std::size_t element_bytes) {
    switch (element_bytes) {
    case 1:
        return address_of(shuffle_tiles<1>);
    case 2:
        return address_of(shuffle_tiles<2>);
    case 4:
        return address_of(shuffle_tiles<4>);
    case 8:
        return address_of(shuffle_tiles<8>);
    case 16:
        return address_of(shuffle_tiles<16>);
    default:
        return nullptr;
    }
}

const void *tile_match_kernel(std::size_t element_bytes) {
    switch (element_bytes) {
    case 1:
        return address_of(match_tiles<1>);
    case 2:
        return address_of(match_tiles<2>);
    case 4:
        return address_of(match_tiles<4>);
    case 8:
        return address_of(match_tiles<8>);
    case 16:
        return address_of(match_tiles<16>);
    default:
        return nullptr;
    }
}

const void *tile_vote_kernel() { return address_of(vote_tiles); }

} // namespace wr::cuda
