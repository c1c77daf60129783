// The states of an axis's shards, one a rank, and what is merged of them, in one piece of memory of every rank.
#pragma once

#include "capi/nccl/communicator.h"

#include <cstdint>

namespace wr::capi {

// The shards of an axis: how many elements each rank has.
struct Shards {
    const std::size_t *counts;
    std::size_t ranks, rank;

    // Elements of the ranks from `begin` up to `end`.
    std::size_t elements(std::size_t begin, std::size_t end) const;
    std::size_t first() const { return elements(0, rank); }
    std::size_t count() const { return counts[rank]; }
    std::size_t total() const { return elements(0, ranks); }
};

// null_pointer without counts, invalid_option where this rank's is not `own`, size_overflow where the sum is beyond
// 2^63 - 1.
Status check_shards(const Shards &shards, std::size_t own);

// A state of elements [first, first + count) in memory; nullptr: there are none, of no elements.
struct MergedState {
    std::size_t first, count;
    void *bytes;
    std::size_t room;
};

class ShardStates {
  public:
    // What is wanted of the states: all of them merged, or what is before and behind this rank's as well.
    enum class Wanted { whole, sides_too };

    // `common`: the fields that all calls on the states have in common.
    wr_status measure(const wr_state_args &common, const Shards &shards, Wanted wanted);
    std::size_t bytes() const { return bytes_; }
    std::size_t own_bytes() const { return own_bytes_; }
    std::size_t scratch_bytes() const { return scratch_bytes_; }

    void place(void *memory) { memory_ = static_cast<char *>(memory); }
    void *own() const { return slot(is_exact() ? 0 : shards_.rank); }
    void *scratch() const { return scratch_bytes_ == 0 ? nullptr : memory_ + scratch_; }

    // Brings all ranks' states here; of exact sums, their sum in the place of each.
    Status exchange(const Communicator &communicator, CUstream_st *stream) const;

    // Of all ranks; of those before this one; of those behind it.
    wr_status merge_all(MergedState &all, CUstream_st *stream) const;
    wr_status merge_before(MergedState &before, CUstream_st *stream) const;
    wr_status merge_behind(MergedState &behind, CUstream_st *stream) const;
    // The whole of the two and this rank's own.
    wr_status merge_sides(const MergedState &before, const MergedState &behind, MergedState &all,
                          CUstream_st *stream) const;

  private:
    struct Buffer {
        std::size_t offset, room;
    };

    bool is_exact() const;
    void *slot(std::size_t rank) const { return memory_ + rank * slot_bytes_; }
    MergedState state_of(std::size_t rank) const;
    wr_status size_of(std::size_t first, std::size_t count, std::size_t &bytes, std::size_t *scratch = nullptr) const;
    // The largest of the states that come up when the ranks from `begin` up to `end` are merged one by one.
    wr_status largest_of(std::size_t begin, std::size_t end, std::size_t &bytes) const;
    wr_status measure_slots();
    wr_status measure_merged(Wanted wanted);
    Buffer reserve(std::size_t bytes);
    wr_status merge(const MergedState &left, const MergedState &right, const Buffer &into, MergedState &both,
                    CUstream_st *stream) const;
    wr_status fold(std::size_t begin, std::size_t end, const Buffer &into, MergedState &all, CUstream_st *stream) const;

    wr_state_args common_{};
    Shards shards_{};
    std::size_t slot_bytes_ = 0, own_bytes_ = 0, scratch_ = 0, scratch_bytes_ = 0, bytes_ = 0;
    Buffer before_{}, behind_{}, all_{};
    char *memory_ = nullptr;
};

// The caller's memory, or the library's own on the stream, given back behind all that is put there meanwhile.
class StreamMemory {
  public:
    StreamMemory(void *callers, std::size_t bytes, CUstream_st *stream);
    ~StreamMemory();
    StreamMemory(const StreamMemory &) = delete;
    StreamMemory &operator=(const StreamMemory &) = delete;

    wr_status status() const { return status_; }
    void *get() const { return memory_; }
    // Gives it back, and tells what failed first.
    wr_status finish(wr_status so_far);

  private:
    CUstream_st *stream_;
    void *memory_;
    bool own_;
    wr_status status_ = WR_SUCCESS;
};

inline wr_status public_status(Status status) { return static_cast<wr_status>(status); }

} // namespace wr::capi
