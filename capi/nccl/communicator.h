// A communicator of the caller's NCCL, of which the library has neither a header nor a link.
#pragma once

#include "numerics/status.h"
#include "warp_reduce_nccl.h"

#include <cstddef>

namespace wr::capi {

class Communicator {
  public:
    // Looks NCCL up, and asks it for the ranks: success, null_pointer, no_nccl or nccl_failed.
    Status open(ncclComm *communicator);

    std::size_t ranks() const { return ranks_; }
    std::size_t rank() const { return rank_; }

    // Every rank's slot of so many bytes to all ranks; each has its own in its place already.
    Status all_gather(void *slots, std::size_t slot_bytes, CUstream_st *stream) const;

    // The sums modulo 2^64 of all ranks' words, in place.
    Status all_reduce(void *words, std::size_t count, CUstream_st *stream) const;

  private:
    // NCCL's enums are ints to C: results, types of elements, operators.
    struct Functions {
        int (*count)(const ncclComm *communicator, int *ranks);
        int (*user_rank)(const ncclComm *communicator, int *rank);
        int (*get_async_error)(ncclComm *communicator, int *result);
        int (*all_gather)(const void *from, void *to, std::size_t count, int type, ncclComm *communicator,
                          CUstream_st *stream);
        int (*all_reduce)(const void *from, void *to, std::size_t count, int type, int op, ncclComm *communicator,
                          CUstream_st *stream);
    };

    bool find_functions();
    // Waits until what was asked of NCCL is on the stream, and tells whether the communicator is sound.
    Status settle(int result) const;

    Functions nccl_{};
    ncclComm *communicator_ = nullptr;
    std::size_t ranks_ = 0, rank_ = 0;
};

} // namespace wr::capi
