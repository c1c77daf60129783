#include "cuda/state/judge.h"

#include "cuda/common/kernel_address.cuh"
#include "cuda/device/intrinsics.cuh"

namespace wr::cuda {

__global__ void __launch_bounds__(warp_lanes) judge_states(const __grid_constant__ JudgeArguments a) {
    take_place_on_stream();
    if (threadIdx.x != 0) {
        return;
    }
    Status found = Status::success;
    for (int i = 0; i < a.count && found == Status::success; ++i) {
        found = judge(*static_cast<const StateHeader *>(a.stored[i]), a.expected[i]);
    }
    if (a.written != nullptr) {
        *static_cast<StateHeader *>(a.written) = found == Status::success ? a.header : StateHeader{};
    }
    if (a.check != nullptr) {
        *a.check = static_cast<std::int32_t>(found);
    }
    if (a.verdict != nullptr) {
        *a.verdict = static_cast<std::int32_t>(found);
    }
}

__global__ void __launch_bounds__(copy_state_threads) copy_state(const __grid_constant__ CopyStateArguments a) {
    take_place_on_stream();
    const std::uint64_t step = std::uint64_t{gridDim.x} * copy_state_threads;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * copy_state_threads + threadIdx.x; i < a.words; i += step) {
        a.to[i] = a.from[i];
    }
}

const void *judge_states_kernel() { return address_of(judge_states); }
const void *copy_state_kernel() { return address_of(copy_state); }

} // namespace wr::cuda
