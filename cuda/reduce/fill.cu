// Sets accumulators to their identity before blocks update them.
#include "cuda/common/kernel_address.cuh"
#include "cuda/device/intrinsics.cuh"
#include "cuda/reduce/kernels.h"

namespace wr::cuda {

namespace {

__global__ void fill_identity(const __grid_constant__ FillArguments a) {
    allow_dependent_launch();
    const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < a.count; i += step) {
        if (a.bytes == 4) {
            static_cast<std::uint32_t *>(a.output)[i] = static_cast<std::uint32_t>(a.identity);
        } else {
            static_cast<std::uint64_t *>(a.output)[i] = a.identity;
        }
    }
}

} // namespace

const void *fill_kernel() { return address_of(fill_identity); }

} // namespace wr::cuda
