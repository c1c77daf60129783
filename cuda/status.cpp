// Whether the GPU can be used.
#include "cuda/common/launch.h"
#include "cuda/gpu.h"
#include "cuda/reduce/kernels.h"

namespace wr::cuda {

std::int32_t status() {
    const DeviceScope device(nullptr);
    if (device.error() != cudaSuccess) {
        return report(device.error());
    }
    cudaFuncAttributes attributes;
    return report(runtime().func_get_attributes(&attributes, fill_kernel()));
}

} // namespace wr::cuda
