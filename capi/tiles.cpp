// The entry points of tiles: check, resolve what the numbers mean, choose the place, hand the job over.
#include "numerics/tiles.h"
#include "capi/calls.h"
#include "capi/checks.h"
#include "capi/offered.h"
#include "cuda/gpu.h"
#include "host/host.h"

#include <bit>

namespace wr::capi {

namespace {

constexpr ElementTraits word_traits = traits_of(ElementType::u32);

constexpr bool is_mode(std::int32_t number) { return number >= WR_SHUFFLE_UP && number <= WR_SHUFFLE_INDEX; }
constexpr bool is_vote(std::int32_t number) { return number >= WR_VOTE_ANY && number <= WR_VOTE_BALLOT; }
constexpr bool is_match(std::int32_t number) { return number == WR_MATCH_ANY || number == WR_MATCH_ALL; }

bool is_width(std::uint32_t width) { return width >= 2 && width <= widest_tile && std::has_single_bit(width); }

bool are_members(std::uint32_t members, std::uint32_t width) { return (members & ~mask_of_lanes(width)) == 0; }

Status traits_of_dtype(std::int32_t dtype, ElementTraits &traits) {
    traits = traits_of(static_cast<ElementType>(dtype));
    return traits.size == 0 ? Status::invalid_dtype : Status::success;
}

// An array of `count` elements into one of as many. In place where an element fits exactly into its own place.
Status check_memory(const void *input, ElementTraits input_traits, const void *output, ElementTraits output_traits,
                    std::size_t count) {
    Extent input_extent{}, output_extent{};
    if (extent_of({count}, input_traits.size, input_extent) != Status::success ||
        extent_of({count}, output_traits.size, output_extent) != Status::success) {
        return Status::size_overflow;
    }
    MemoryRange input_range{}, output_range{};
    if (const Status status = locate(input, input_extent, input_traits.alignment, input_range);
        status != Status::success) {
        return status;
    }
    if (const Status status = locate(output, output_extent, output_traits.alignment, output_range);
        status != Status::success) {
        return status;
    }
    const bool in_place = input == output && input_traits.size == output_traits.size;
    return !in_place && overlaps_any(input_range, {&output_range, 1}) ? Status::overlap : Status::success;
}

// Each describes a call as the job that it asks for, or says why there is none.

Status describe_reduce(std::int32_t op, std::int32_t dtype, const void *input, void *output, std::size_t count,
                       std::uint32_t width, TileReduceProblem &problem) {
    ReductionAsked asked{};
    asked.op = op;
    asked.dtype = dtype;
    Reduction what{};
    if (const Status status = resolve_reduction(asked, what); status != Status::success) {
        return status;
    }
    if (what.op == Operator::logsumexp || what.op == Operator::sum_exact) {
        return Status::unsupported;
    }
    if (!is_width(width)) {
        return Status::invalid_option;
    }
    problem = {what, input, output, {count, width}};
    return check_memory(input, traits_of(what.dtype), output, traits_of(what.output_dtype), count);
}

// An operand that leads out of the tile from every lane says what 0 says: each lane keeps its value.
std::uint32_t operand_below_width(Shuffle mode, std::uint32_t operand, std::uint32_t width) {
    if (mode == Shuffle::index) {
        return operand % width;
    }
    return operand < width ? operand : 0;
}

Status describe_shuffle(std::int32_t mode_number, std::int32_t dtype, const void *input, void *output,
                        std::size_t count, std::uint32_t width, std::uint32_t operand, TileShuffleProblem &problem) {
    ElementTraits traits{};
    if (const Status status = traits_of_dtype(dtype, traits); status != Status::success) {
        return status;
    }
    if (!is_mode(mode_number) || !is_width(width)) {
        return Status::invalid_option;
    }
    const auto mode = static_cast<Shuffle>(mode_number);
    if (mode == Shuffle::exclusive_or && operand >= width) {
        return Status::invalid_option;
    }
    problem = {mode, operand_below_width(mode, operand, width), traits.size, input, output, {count, width}};
    return check_memory(input, traits, output, traits, count);
}

Status describe_vote(std::int32_t vote, const std::int32_t *predicates, std::uint32_t *output, std::size_t count,
                     std::uint32_t width, std::uint32_t members, TileVoteProblem &problem) {
    if (!is_vote(vote) || !is_width(width) || !are_members(members, width)) {
        return Status::invalid_option;
    }
    problem = {static_cast<Vote>(vote), predicates, output, {count, width}, members};
    return check_memory(predicates, word_traits, output, word_traits, count);
}

Status describe_match(std::int32_t match, std::int32_t dtype, const void *input, std::uint32_t *output,
                      std::size_t count, std::uint32_t width, std::uint32_t members, TileMatchProblem &problem) {
    ElementTraits traits{};
    if (const Status status = traits_of_dtype(dtype, traits); status != Status::success) {
        return status;
    }
    if (!is_match(match) || !is_width(width) || !are_members(members, width)) {
        return Status::invalid_option;
    }
    problem = {static_cast<Match>(match), traits.size, input, output, {count, width}, members};
    return check_memory(input, traits, output, word_traits, count);
}

// Runs a job that was described with this status.
template <class Problem>
std::int32_t run(Status described, const Problem &problem, Status (*on_host)(const Problem &),
                 std::int32_t (*on_gpu)(const Problem &, void *), CUstream_st *stream) {
    if (described != Status::success || problem.tiles.count == 0) {
        return number_of(described);
    }
    return stream == wr_host_stream() ? number_of(on_host(problem)) : on_gpu(problem, stream);
}

} // namespace

} // namespace wr::capi

wr_status wr_tile_reduce(wr_op op, wr_dtype dtype, const void *input, void *output, size_t count, uint32_t width,
                         CUstream_st *stream) {
    using namespace wr;
    return capi::guarded([&] {
        TileReduceProblem problem{};
        const Status described =
            capi::describe_reduce(capi::number_of(op), capi::number_of(dtype), input, output, count, width, problem);
        return capi::run(described, problem, host::tile_reduce, cuda::tile_reduce, stream);
    });
}

wr_status wr_tile_shuffle(wr_shuffle mode, wr_dtype dtype, const void *input, void *output, size_t count,
                          uint32_t width, uint32_t operand, CUstream_st *stream) {
    using namespace wr;
    return capi::guarded([&] {
        TileShuffleProblem problem{};
        const Status described = capi::describe_shuffle(capi::number_of(mode), capi::number_of(dtype), input, output,
                                                        count, width, operand, problem);
        return capi::run(described, problem, host::tile_shuffle, cuda::tile_shuffle, stream);
    });
}

wr_status wr_tile_vote(wr_vote vote, const int32_t *predicates, uint32_t *output, size_t count, uint32_t width,
                       uint32_t members, CUstream_st *stream) {
    using namespace wr;
    return capi::guarded([&] {
        TileVoteProblem problem{};
        const Status described =
            capi::describe_vote(capi::number_of(vote), predicates, output, count, width, members, problem);
        return capi::run(described, problem, host::tile_vote, cuda::tile_vote, stream);
    });
}

wr_status wr_tile_match(wr_match match, wr_dtype dtype, const void *input, uint32_t *output, size_t count,
                        uint32_t width, uint32_t members, CUstream_st *stream) {
    using namespace wr;
    return capi::guarded([&] {
        TileMatchProblem problem{};
        const Status described = capi::describe_match(capi::number_of(match), capi::number_of(dtype), input, output,
                                                      count, width, members, problem);
        return capi::run(described, problem, host::tile_match, cuda::tile_match, stream);
    });
}
