#include "capi/nccl/communicator.h"

#include <dlfcn.h>
#include <sched.h>

namespace wr::capi {

namespace {

constexpr int nccl_success = 0, nccl_in_progress = 7;
constexpr int nccl_uint8 = 1, nccl_int64 = 4, nccl_sum = 0;

// The process's NCCL, held for as long as this lives. Nothing is loaded: a communicator of another copy would be
// memory that this one takes for its own.
class LoadedNccl {
  public:
    LoadedNccl() : library_(dlopen("libnccl.so.2", RTLD_LAZY | RTLD_NOLOAD)) {}
    ~LoadedNccl() {
        if (library_ != nullptr) {
            dlclose(library_);
        }
    }
    LoadedNccl(const LoadedNccl &) = delete;
    LoadedNccl &operator=(const LoadedNccl &) = delete;

    template <class Function>
    bool find(const char *name, Function *&function) const {
        // A program may have NCCL linked into it.
        function = reinterpret_cast<Function *>(dlsym(library_ != nullptr ? library_ : RTLD_DEFAULT, name));
        return function != nullptr;
    }

  private:
    void *library_;
};

} // namespace

bool Communicator::find_functions() {
    const LoadedNccl loaded;
    return loaded.find("ncclCommCount", nccl_.count) && loaded.find("ncclCommUserRank", nccl_.user_rank) &&
           loaded.find("ncclCommGetAsyncError", nccl_.get_async_error) &&
           loaded.find("ncclAllGather", nccl_.all_gather) && loaded.find("ncclAllReduce", nccl_.all_reduce);
}

Status Communicator::open(ncclComm *communicator) {
    if (communicator == nullptr) {
        return Status::null_pointer;
    }
    if (!find_functions()) {
        return Status::no_nccl;
    }
    communicator_ = communicator;
    int ranks = 0, rank = 0;
    if (nccl_.count(communicator, &ranks) != nccl_success || nccl_.user_rank(communicator, &rank) != nccl_success ||
        rank < 0 || rank >= ranks) {
        return Status::nccl_failed;
    }
    ranks_ = static_cast<std::size_t>(ranks);
    rank_ = static_cast<std::size_t>(rank);
    return settle(nccl_success);
}

Status Communicator::settle(int result) const {
    if (result != nccl_success && result != nccl_in_progress) {
        return Status::nccl_failed;
    }
    int state = nccl_in_progress;
    while (state == nccl_in_progress) {
        if (nccl_.get_async_error(communicator_, &state) != nccl_success) {
            return Status::nccl_failed;
        }
        if (state == nccl_in_progress) {
            sched_yield();
        }
    }
    return state == nccl_success ? Status::success : Status::nccl_failed;
}

Status Communicator::all_gather(void *slots, std::size_t slot_bytes, CUstream_st *stream) const {
    const void *own = static_cast<const char *>(slots) + rank_ * slot_bytes;
    return settle(nccl_.all_gather(own, slots, slot_bytes, nccl_uint8, communicator_, stream));
}

Status Communicator::all_reduce(void *words, std::size_t count, CUstream_st *stream) const {
    return settle(nccl_.all_reduce(words, words, count, nccl_int64, nccl_sum, communicator_, stream));
}

} // namespace wr::capi
