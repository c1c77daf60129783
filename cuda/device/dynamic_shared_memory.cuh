// The shared memory that a block gets by its launch, beside what its kernel declares.
#pragma once

namespace wr::cuda {

__device__ __forceinline__ unsigned char *launched_memory() {
    extern __shared__ uint4 memory[];
    return reinterpret_cast<unsigned char *>(memory);
}

} // namespace wr::cuda
