// A row's one accumulator in device memory that many blocks share, for operators that are exact in any order: which
// operators have it. How it is updated is in cuda/reduce/atomic_update.cuh, whose headers take as long to compile as a
// dozen kernels: only the sources of these operators' kernels include it.
#pragma once

#include "numerics/operators.h"

namespace wr::cuda {

enum class AtomicUpdate { none, sum, largest, bits_or, bits_xor };

// The atomic update that does what an operator's combine does.
template <class Op>
inline constexpr AtomicUpdate atomic_update = AtomicUpdate::none;
template <>
inline constexpr AtomicUpdate atomic_update<IntegerSum> = AtomicUpdate::sum;
template <>
inline constexpr AtomicUpdate atomic_update<FieldSum<KoalaBear>> = AtomicUpdate::sum;
template <>
inline constexpr AtomicUpdate atomic_update<FieldSum<BabyBear>> = AtomicUpdate::sum;
template <>
inline constexpr AtomicUpdate atomic_update<FieldSum<Mersenne31>> = AtomicUpdate::sum;
template <>
inline constexpr AtomicUpdate atomic_update<Count> = AtomicUpdate::sum;
template <class Key>
inline constexpr AtomicUpdate atomic_update<Extreme<Key>> = AtomicUpdate::largest;
template <>
inline constexpr AtomicUpdate atomic_update<BitOr> = AtomicUpdate::bits_or;
template <>
inline constexpr AtomicUpdate atomic_update<BitXor> = AtomicUpdate::bits_xor;

template <class Op>
inline constexpr bool has_atomic_update = atomic_update<Op> != AtomicUpdate::none;

// Combines the block's warp results (in lane 0 of each warp) into *shared_row, which an earlier kernel of the call has
// set to the identity. Settled first, so that the updates cannot overflow either.
template <class Op, int BlockWarps>
__device__ __forceinline__ void update_shared_row(typename Op::Accumulator warp_result,
                                                  typename Op::Accumulator *shared_row);

} // namespace wr::cuda
