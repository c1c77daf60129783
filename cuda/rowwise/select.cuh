// Which elements of rows of whole 16-byte vectors take part in softmax: what masks, lengths and the causal limit leave.
#pragma once

#include "cuda/rowwise/vector_access.cuh"
#include "cuda/softmax/rows.h"
#include "numerics/softmax_rows.h"

namespace wr::cuda {

// Four mask bytes, each 0xFF where it was not 0. (Only the top bit of each counts.)
__device__ __forceinline__ unsigned taken_bytes(unsigned mask) { return ((mask & 0x7F7F7F7Fu) + 0x7F7F7F7Fu) | mask; }

// Bytes made of the top bits of bytes, which the nibbles of Chosen name.
template <unsigned Chosen>
__device__ __forceinline__ unsigned spread_top_bits(unsigned bytes) {
    unsigned spread;
    asm("prmt.b32 %0, %1, 0, %2;" : "=r"(spread) : "r"(bytes), "n"(Chosen | 0x8888u));
    return spread;
}

__device__ __forceinline__ unsigned chosen(unsigned taken, unsigned word, unsigned otherwise) {
    return (word & taken) | (otherwise & ~taken);
}

// Of a vector only elements stay for which the top bit of a byte is set.
__device__ __forceinline__ uint4 only_taken(uint4 vector, unsigned taken, unsigned filler) {
    return {chosen(spread_top_bits<0x0000>(taken), vector.x, filler),
            chosen(spread_top_bits<0x1111>(taken), vector.y, filler),
            chosen(spread_top_bits<0x2222>(taken), vector.z, filler),
            chosen(spread_top_bits<0x3333>(taken), vector.w, filler)};
}
__device__ __forceinline__ uint4 only_taken(uint4 vector, uint2 taken, unsigned filler) {
    return {chosen(spread_top_bits<0x1100>(taken.x), vector.x, filler),
            chosen(spread_top_bits<0x3322>(taken.x), vector.y, filler),
            chosen(spread_top_bits<0x1100>(taken.y), vector.z, filler),
            chosen(spread_top_bits<0x3322>(taken.y), vector.w, filler)};
}

// Of a vector only elements with mask bytes other than 0 stay.
__device__ __forceinline__ uint4 without_masked(uint4 vector, unsigned mask, unsigned filler) {
    return only_taken(vector, taken_bytes(mask), filler);
}
__device__ __forceinline__ uint4 without_masked(uint4 vector, uint2 mask, unsigned filler) {
    return only_taken(vector, uint2{taken_bytes(mask.x), taken_bytes(mask.y)}, filler);
}

// How many leading elements of a row take part, but for those that the mask leaves out.
__device__ __forceinline__ std::size_t taken_of_row(const MaskedRowsArguments &a, std::size_t row) {
    if (row >= a.outer) {
        return 0;
    }
    std::size_t taken = a.axis;
    if (a.lengths != nullptr) {
        taken = no_more_than(taken, a.lengths[row]);
    }
    if (a.causal) { // both terms of the sum are below 2^62
        taken = no_more_than(taken, a.causal_first + static_cast<std::uint32_t>(row) % a.causal_rows);
    }
    return taken;
}

// Asks the second-level cache for the length of a row whose turn comes later: a warp that has to wait for memory to
// learn its row's length holds up its elements as long again.
__device__ __forceinline__ void ask_for_length_ahead(const MaskedRowsArguments &a, std::size_t row) {
    if (a.lengths != nullptr && row + a.rows_ahead < a.outer) {
        asm volatile("prefetch.global.L2 [%0];" ::"l"(a.lengths + row + a.rows_ahead));
    }
}

} // namespace wr::cuda
