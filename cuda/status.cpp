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
    Reduction sum{};
    sum.op = Operator::sum;
    sum.dtype = sum.output_dtype = sum.accumulate_dtype = ElementType::f32;
    const ReduceKernels *any = find_reduce_kernels(sum);
    cudaFuncAttributes attributes;
    return report(runtime().func_get_attributes(&attributes, any->aligned_rows));
}

} // namespace wr::cuda
