// A call on an axis of shards, whatever is done along it: its order of checks, memory and launches.
#pragma once

#include "capi/calls.h"
#include "capi/nccl/shard_states.h"

namespace wr::capi {

// `Job` holds what is known of the call, and its ShardStates as `states`. It comes with describe(args, shards, job),
// check_arrays(args, shards, check, job) and put_on_stream(args, shards, check, job, communicator, stream).
template <class Job, class Args>
wr_status run_on_shards(const Args *args, const std::size_t *counts, std::int32_t *check, ncclComm *nccl_communicator,
                        CUstream_st *stream) {
    const auto run = [&](const Args &known) {
        if (stream == wr_host_stream()) {
            return WR_ERROR_UNSUPPORTED;
        }
        Communicator communicator;
        if (const Status status = communicator.open(nccl_communicator); status != Status::success) {
            return public_status(status);
        }
        const Shards shards{counts, communicator.ranks(), communicator.rank()};
        Job job{};
        if (const wr_status status = describe(known, shards, job); status != WR_SUCCESS) {
            return status;
        }
        if (const Status status = check_arrays(known, shards, check, job); status != Status::success) {
            return public_status(status);
        }
        StreamMemory memory(known.workspace, job.states.bytes(), stream);
        if (memory.status() != WR_SUCCESS) {
            return memory.status();
        }
        job.states.place(memory.get());
        return memory.finish(put_on_stream(known, shards, check, job, communicator, stream));
    };
    return args == nullptr ? WR_ERROR_NULL_POINTER : guarded([&] { return with_args(*args, run); });
}

template <class Job, class Args>
wr_status workspace_on_shards(const Args *args, const Shards &shards, std::size_t *bytes) {
    const auto ask = [&](const Args &known) {
        Job job{};
        const wr_status status = describe(known, shards, job);
        *bytes = status == WR_SUCCESS ? job.states.bytes() : *bytes;
        return status;
    };
    return args == nullptr || bytes == nullptr ? WR_ERROR_NULL_POINTER : guarded([&] { return with_args(*args, ask); });
}

} // namespace wr::capi
