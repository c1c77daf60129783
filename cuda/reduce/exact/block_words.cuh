// The words that a block's threads keep in shared memory: a column each, so that threads never meet in a bank.
#pragma once

#include "cuda/reduce/exact/arguments.h"

namespace wr::cuda {

// Word i of one thread's sum.
struct ThreadWords {
    std::int64_t *column;
    int threads;

    __device__ __forceinline__ std::int64_t &operator[](int i) const { return column[i * threads]; }
};

// Limb i with the carry of the limb below: of magnitude 2^32 + 2^31 at most, so that 2^30 such sums may be added up.
template <class Words>
__device__ __forceinline__ std::int64_t word_of_partial(const Words &words, int i, ExactLayout layout) {
    const std::int64_t word = words[i];
    if (i >= layout.limbs) {
        return word != 0 ? 1 : 0;
    }
    const std::int64_t carry = i == 0 ? 0 : words[i - 1] >> limb_bits;
    return (i == layout.limbs - 1 ? word : word & 0xFFFFFFFF) + carry;
}

} // namespace wr::cuda
