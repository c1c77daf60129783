// The final asynchronous tile update: for operators that are exact in any order, a block adds its result to a row's one
// accumulator in device memory without waiting for it.
#pragma once

#include "cuda/device/intrinsics.cuh"
#include "cuda/reduce/shared_row.cuh"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/atomic>

namespace wr::cuda {

// The group operator that stands for an atomic update, and the word that it is made of.
template <AtomicUpdate Update, class Accumulator>
struct GroupOperator;
template <>
struct GroupOperator<AtomicUpdate::sum, std::uint64_t> {
    using Word = unsigned long long;
    using Type = cooperative_groups::plus<Word>;
};
template <>
struct GroupOperator<AtomicUpdate::largest, std::int32_t> {
    using Word = int;
    using Type = cooperative_groups::greater<Word>;
};
template <>
struct GroupOperator<AtomicUpdate::largest, std::int64_t> {
    using Word = long long;
    using Type = cooperative_groups::greater<Word>;
};
template <>
struct GroupOperator<AtomicUpdate::bits_or, std::uint64_t> {
    using Word = unsigned long long;
    using Type = cooperative_groups::bit_or<Word>;
};
template <>
struct GroupOperator<AtomicUpdate::bits_xor, std::uint64_t> {
    using Word = unsigned long long;
    using Type = cooperative_groups::bit_xor<Word>;
};

template <class Op, int BlockWarps>
__device__ __forceinline__ void update_shared_row(typename Op::Accumulator warp_result,
                                                  typename Op::Accumulator *shared_row) {
    namespace cg = cooperative_groups;
    using Group = GroupOperator<atomic_update<Op>, typename Op::Accumulator>;
    using Word = typename Group::Word;
    __shared__ typename Op::Accumulator results[BlockWarps];
    if (lane_index() == 0) {
        results[warp_index()] = Op::settle(warp_result);
    }
    __syncthreads();
    wait_for_previous_kernel();
    const auto tile = cg::tiled_partition<BlockWarps>(cg::this_thread_block());
    if (tile.meta_group_rank() == 0) {
        ::cuda::atomic_ref<Word, ::cuda::thread_scope_device> target(*reinterpret_cast<Word *>(shared_row));
        const Word mine = static_cast<Word>(results[tile.thread_rank()]);
        cg::reduce_update_async(tile, target, mine, typename Group::Type());
    }
}

} // namespace wr::cuda
