// Why a job was not done. The values are the public header's wr_status; capi/ checks that they agree.
#pragma once

#include <cstdint>

namespace wr {

enum class Status : std::int32_t {
    success = 0,
    null_pointer = 1,
    invalid_op = 2,
    invalid_dtype = 3,
    invalid_option = 4,
    unsupported = 5,
    size_overflow = 6,
    misaligned = 7,
    overlap = 8,
    workspace_too_small = 9,
    struct_size = 10,
    out_of_memory = 11,
    no_driver = 12,
    no_device = 13,
    no_kernel = 14,
    no_cuda = 15,
    internal = 16,
    invalid_offsets = 17,
    invalid_state = 18,
    state_mismatch = 19,
    not_neighbour = 20,
    no_nccl = 21,
    nccl_failed = 22,
};

// Errors of the CUDA runtime that have no name of their own above arrive as this plus their number.
inline constexpr std::int32_t cuda_error_base = 1000;

} // namespace wr
