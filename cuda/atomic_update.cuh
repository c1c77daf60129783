// The final asynchronous tile update: for operators that are exact in any order, a block adds its result to a row's one
// accumulator in device memory without waiting for it.
#pragma once

#include "cuda/block_reduce.cuh"
#include "numerics/operators.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/atomic>

namespace wr::cuda {

// The group operator that stands for an operator's combine, where an atomic one does it.
template <class Op>
struct GroupOperator {
    using Type = void;
};

struct GroupSum {
    using Type = cooperative_groups::plus<unsigned long long>;
    using Word = unsigned long long;
};
template <>
struct GroupOperator<IntegerSum> : GroupSum {};
template <>
struct GroupOperator<FieldSum<KoalaBear>> : GroupSum {};
template <>
struct GroupOperator<FieldSum<BabyBear>> : GroupSum {};
template <>
struct GroupOperator<FieldSum<Mersenne31>> : GroupSum {};
template <>
struct GroupOperator<Count> : GroupSum {};
template <>
struct GroupOperator<Extreme<std::int32_t>> {
    using Type = cooperative_groups::greater<int>;
    using Word = int;
};
template <>
struct GroupOperator<Extreme<std::int64_t>> {
    using Type = cooperative_groups::greater<long long>;
    using Word = long long;
};
template <>
struct GroupOperator<BitOr> {
    using Type = cooperative_groups::bit_or<unsigned long long>;
    using Word = unsigned long long;
};
template <>
struct GroupOperator<BitXor> {
    using Type = cooperative_groups::bit_xor<unsigned long long>;
    using Word = unsigned long long;
};

template <class Op>
inline constexpr bool has_atomic_update = !std::is_void_v<typename GroupOperator<Op>::Type>;

// Combines the block's warp results (in lane 0 of each warp) into *shared_row, which an earlier kernel of the call has
// set to the identity. Settled first, so that the updates cannot overflow either.
template <class Op, int BlockWarps>
__device__ __forceinline__ void update_shared_row(typename Op::Accumulator warp_result,
                                                  typename Op::Accumulator *shared_row) {
    namespace cg = cooperative_groups;
    using Word = typename GroupOperator<Op>::Word;
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
        cg::reduce_update_async(tile, target, mine, typename GroupOperator<Op>::Type());
    }
}

} // namespace wr::cuda
