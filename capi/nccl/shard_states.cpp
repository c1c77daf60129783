#include "capi/nccl/shard_states.h"

#include "capi/calls.h"
#include "capi/checks.h"
#include "cuda/gpu.h"
#include "numerics/state.h"

#include <algorithm>
#include <limits>

namespace wr::capi {

namespace {

constexpr std::size_t most_elements = std::size_t{1} << 63;

std::size_t aligned(std::size_t bytes) { return (bytes + state_alignment - 1) / state_alignment * state_alignment; }

} // namespace

std::size_t Shards::elements(std::size_t begin, std::size_t end) const {
    std::size_t sum = 0;
    for (std::size_t r = begin; r < end; ++r) {
        sum += counts[r];
    }
    return sum;
}

Status check_shards(const Shards &shards, std::size_t own) {
    if (shards.counts == nullptr) {
        return Status::null_pointer;
    }
    if (shards.rank >= shards.ranks || shards.counts[shards.rank] != own) {
        return Status::invalid_option;
    }
    std::size_t sum = 0;
    for (std::size_t r = 0; r < shards.ranks; ++r) {
        if (shards.counts[r] >= most_elements - sum) {
            return Status::size_overflow;
        }
        sum += shards.counts[r];
    }
    return Status::success;
}

bool ShardStates::is_exact() const { return number_of(common_.op) == WR_SUM_EXACT; }

wr_status ShardStates::size_of(std::size_t first, std::size_t count, std::size_t &bytes, std::size_t *scratch) const {
    wr_state_args args = common_;
    args.first = first;
    args.count = count;
    return wr_state_size(&args, &bytes, scratch);
}

wr_status ShardStates::largest_of(std::size_t begin, std::size_t end, std::size_t &bytes) const {
    const std::size_t first = shards_.elements(0, begin);
    std::size_t count = 0;
    bytes = 0;
    for (std::size_t r = begin; r < end; ++r) {
        std::size_t merged = 0;
        count += shards_.counts[r];
        if (const wr_status status = size_of(first, count, merged); status != WR_SUCCESS) {
            return status;
        }
        bytes = std::max(bytes, merged);
    }
    return WR_SUCCESS;
}

ShardStates::Buffer ShardStates::reserve(std::size_t bytes) {
    const Buffer buffer{bytes_, aligned(bytes)};
    bytes_ += buffer.room;
    return buffer;
}

wr_status ShardStates::measure_slots() {
    std::size_t first = 0;
    for (std::size_t r = 0; r < shards_.ranks; ++r) {
        std::size_t state = 0;
        if (const wr_status status = size_of(first, shards_.counts[r], state); status != WR_SUCCESS) {
            return status;
        }
        slot_bytes_ = std::max(slot_bytes_, aligned(state));
        first += shards_.counts[r];
    }
    const std::size_t slots = is_exact() ? 1 : std::max<std::size_t>(shards_.ranks, 1);
    if (slot_bytes_ > most_elements / 8 / slots) {
        return WR_ERROR_SIZE_OVERFLOW;
    }
    bytes_ = slots * slot_bytes_;
    return size_of(shards_.first(), shards_.count(), own_bytes_, &scratch_bytes_);
}

wr_status ShardStates::measure_merged(Wanted wanted) {
    std::size_t before = 0, behind = 0, all = 0, half = 0;
    const std::size_t rank = shards_.rank, ranks = shards_.ranks;
    wr_status status = WR_SUCCESS;
    if (wanted == Wanted::whole) {
        status = largest_of(0, ranks, all);
    } else {
        status = largest_of(0, rank, before);
        status = status == WR_SUCCESS ? largest_of(rank + 1, ranks, behind) : status;
        status = status == WR_SUCCESS ? size_of(0, shards_.elements(0, rank + 1), half) : status;
        status = status == WR_SUCCESS ? size_of(0, shards_.total(), all) : status;
    }
    before_ = reserve(before);
    behind_ = reserve(behind);
    all_ = reserve(std::max(all, half));
    return status;
}

wr_status ShardStates::measure(const wr_state_args &common, const Shards &shards, Wanted wanted) {
    common_ = common;
    shards_ = shards;
    if (const wr_status status = measure_slots(); status != WR_SUCCESS) {
        return status;
    }
    if (!is_exact()) {
        if (const wr_status status = measure_merged(wanted); status != WR_SUCCESS) {
            return status;
        }
    }
    scratch_ = reserve(scratch_bytes_).offset;
    return bytes_ <= std::numeric_limits<std::ptrdiff_t>::max() ? WR_SUCCESS : WR_ERROR_SIZE_OVERFLOW;
}

Status ShardStates::exchange(const Communicator &communicator, CUstream_st *stream) const {
    if (!is_exact()) {
        return communicator.all_gather(memory_, slot_bytes_, stream);
    }
    // The headers are the same on all ranks, and what is behind them is added up.
    const std::size_t words = (own_bytes_ - state_header_bytes) / sizeof(std::int64_t);
    return communicator.all_reduce(memory_ + state_header_bytes, words, stream);
}

MergedState ShardStates::state_of(std::size_t rank) const {
    return {shards_.elements(0, rank), shards_.counts[rank], slot(rank), slot_bytes_};
}

wr_status ShardStates::merge(const MergedState &left, const MergedState &right, const Buffer &into, MergedState &both,
                             CUstream_st *stream) const {
    // The neighbour of no elements' state is that of both.
    if (left.count == 0 || right.count == 0) {
        both = right.count != 0 || left.bytes == nullptr ? right : left;
        return WR_SUCCESS;
    }
    wr_state_args args = common_;
    args.first = left.first;
    args.count = left.count;
    args.right_count = right.count;
    args.state = left.bytes;
    args.state_bytes = left.room;
    args.right = right.bytes;
    args.right_bytes = right.room;
    args.merged = memory_ + into.offset;
    args.merged_bytes = into.room;
    both = {left.first, left.count + right.count, args.merged, into.room};
    return wr_state_merge(&args, stream);
}

wr_status ShardStates::fold(std::size_t begin, std::size_t end, const Buffer &into, MergedState &all,
                            CUstream_st *stream) const {
    all = {};
    for (std::size_t r = begin; r < end; ++r) {
        const MergedState left = all;
        if (const wr_status status = merge(left, state_of(r), into, all, stream); status != WR_SUCCESS) {
            return status;
        }
    }
    return WR_SUCCESS;
}

wr_status ShardStates::merge_all(MergedState &all, CUstream_st *stream) const {
    if (is_exact()) {
        all = {0, shards_.total(), memory_, slot_bytes_};
        return WR_SUCCESS;
    }
    return fold(0, shards_.ranks, all_, all, stream);
}

wr_status ShardStates::merge_before(MergedState &before, CUstream_st *stream) const {
    return fold(0, shards_.rank, before_, before, stream);
}

wr_status ShardStates::merge_behind(MergedState &behind, CUstream_st *stream) const {
    return fold(shards_.rank + 1, shards_.ranks, behind_, behind, stream);
}

wr_status ShardStates::merge_sides(const MergedState &before, const MergedState &behind, MergedState &all,
                                   CUstream_st *stream) const {
    MergedState half{};
    const wr_status status = merge(before, state_of(shards_.rank), all_, half, stream);
    return status == WR_SUCCESS ? merge(half, behind, all_, all, stream) : status;
}

StreamMemory::StreamMemory(void *callers, std::size_t bytes, CUstream_st *stream)
    : stream_(stream), memory_(callers), own_(callers == nullptr) {
    if (own_) {
        status_ = static_cast<wr_status>(cuda::take_memory(bytes, stream, &memory_));
        own_ = status_ == WR_SUCCESS;
    }
}

wr_status StreamMemory::finish(wr_status so_far) {
    if (own_) {
        own_ = false;
        const auto given = static_cast<wr_status>(cuda::give_memory_back(memory_, stream_));
        return so_far == WR_SUCCESS ? given : so_far;
    }
    return so_far;
}

StreamMemory::~StreamMemory() { finish(WR_SUCCESS); }

} // namespace wr::capi
