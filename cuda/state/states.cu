// What states go through beside the reductions of their nodes: the header, merging, finishing; a thread an output.
#include "cuda/device/intrinsics.cuh"
#include "cuda/state/arguments.h"
#include "cuda/state/judge.cuh"

namespace wr::cuda {

namespace {

__device__ __forceinline__ std::size_t first_of_thread() {
    return static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ std::size_t threads_of_grid() { return static_cast<std::size_t>(gridDim.x) * blockDim.x; }

// Canonical NaNs and field words, places along the whole axis, carries that have gone up.
__device__ __forceinline__ void seal_accumulator(const StateSealArguments &a, void *payload, std::size_t index) {
    switch (a.kind) {
    case StateKind::exact:
        settle_state_words(
            static_cast<std::int64_t *>(payload) + index * static_cast<std::size_t>(exact_words(a.layout)), a.layout);
        break;
    case StateKind::place_32:
        move_place<std::int32_t>(payload, index, a.first);
        break;
    case StateKind::place_64:
        move_place<std::int64_t>(payload, index, a.first);
        break;
    default:
        with_state_kind(a.kind, [&](auto op) {
            using Op = decltype(op);
            store_node(Op::settle(load_node<Op>(payload, index)), payload, index);
        });
        break;
    }
}

template <class Work>
__device__ __forceinline__ void for_each_output(std::size_t outputs, Work work) {
    for (std::size_t output = first_of_thread(); output < outputs; output += threads_of_grid()) {
        work(StateOutput{output, outputs});
    }
}

__device__ __forceinline__ const std::int64_t *words_of(const void *payload, const StateOutput &at,
                                                        ExactLayout layout) {
    return static_cast<const std::int64_t *>(payload) + at.output * static_cast<std::size_t>(exact_words(layout));
}

} // namespace

__global__ void __launch_bounds__(state_threads) seal_state(const __grid_constant__ StateSealArguments a) {
    pdl_wait_and_release();
    void *payload = payload_of(a.state);
    for (std::size_t index = first_of_thread(); index < a.accumulators; index += threads_of_grid()) {
        seal_accumulator(a, payload, index);
    }
    if (first_of_thread() == 0) {
        *static_cast<StateHeader *>(a.state) = a.header;
        if (a.check != nullptr) {
            *a.check = 0;
        }
    }
}

__global__ void __launch_bounds__(state_threads) merge_states(const __grid_constant__ StateMergeArguments a) {
    __shared__ Status verdict;
    pdl_wait_and_release();
    if (a.judges) {
        judge_by_block(a.judged, verdict);
    }
    if (a.judges ? verdict != Status::success : *static_cast<const std::uint64_t *>(a.merged) != state_magic) {
        return;
    }
    const void *left = payload_of(a.left), *right = payload_of(a.right);
    void *merged = payload_of(a.merged);
    if (a.kind == StateKind::exact) {
        for_each_output(a.outputs, [&](const StateOutput &at) {
            const std::int64_t *words = words_of(merged, at, a.layout);
            merge_exact_output(words_of(left, at, a.layout), words_of(right, at, a.layout),
                               const_cast<std::int64_t *>(words), a.layout);
        });
        return;
    }
    with_state_kind(a.kind, [&](auto op) {
        for_each_output(a.outputs,
                        [&](const StateOutput &at) { merge_output<decltype(op)>(a.nodes, at, left, right, merged); });
    });
}

__global__ void __launch_bounds__(state_threads) finish_state(const __grid_constant__ StateFinishArguments a) {
    __shared__ Status verdict;
    pdl_wait_and_release();
    if (judge_by_block(a.judged, verdict) != Status::success) {
        return;
    }
    const void *payload = payload_of(a.state);
    if (a.kind == StateKind::exact) {
        for_each_output(a.outputs, [&](const StateOutput &at) {
            finish_exact_output(words_of(payload, at, a.layout), a.layout, a.output_type, a.output, at.output);
        });
        return;
    }
    with_state_kind(a.kind, [&](auto op) {
        for_each_output(a.outputs, [&](const StateOutput &at) {
            finish_output<decltype(op)>(a.nodes, at, payload, a.finish, a.output);
        });
    });
}

const void *seal_state_kernel() { return address_of(seal_state); }
const void *merge_states_kernel() { return address_of(merge_states); }
const void *finish_state_kernel() { return address_of(finish_state); }

} // namespace wr::cuda
