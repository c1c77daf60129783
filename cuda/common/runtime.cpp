#include "cuda/common/runtime.h"

#include "cuda/gpu.h"

#include <optional>

namespace wr::cuda {

namespace {

// The library's own status for an error that it has one for.
std::optional<Status> own_status(cudaError_t error) {
    switch (error) {
    case cudaSuccess:
        return Status::success;
    case cudaErrorMemoryAllocation:
        return Status::out_of_memory;
    case cudaErrorNoDevice:
        return Status::no_device;
    // None, none but the linker's stand-in, or one older than the runtime.
    case cudaErrorInsufficientDriver:
    case cudaErrorStubLibrary:
    case cudaErrorCallRequiresNewerDriver:
        return Status::no_driver;
    // The last: PTX is there, but of a toolkit newer than the driver that would compile it.
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorUnsupportedPtxVersion:
        return Status::no_kernel;
    default:
        return std::nullopt;
    }
}

} // namespace

Runtime &runtime() {
    static Runtime table{
        cudaGetDeviceCount,
        cudaGetDevice,
        cudaSetDevice,
        cudaGetLastError,
        cudaDeviceGetAttribute,
        cudaStreamGetDevice,
        cudaStreamIsCapturing,
        cudaMallocAsync,
        cudaMallocFromPoolAsync,
        cudaFreeAsync,
        cudaMemPoolCreate,
        cudaMemPoolSetAttribute,
        cudaMemPoolDestroy,
        cudaThreadExchangeStreamCaptureMode,
        cudaMemsetAsync,
        cudaFuncGetAttributes,
        cudaFuncSetAttribute,
        cudaOccupancyMaxActiveClusters,
        cudaOccupancyMaxActiveBlocksPerMultiprocessor,
        cudaLaunchKernelExC,
        cudaGetErrorName,
        cudaGetErrorString,
    };
    return table;
}

std::int32_t report(cudaError_t error) {
    if (error != cudaSuccess) {
        runtime().get_last_error();
    }
    const std::optional<Status> own = own_status(error);
    return own ? static_cast<std::int32_t>(*own) : cuda_error_base + static_cast<std::int32_t>(error);
}

const char *error_name(std::int32_t cuda_error) {
    return runtime().get_error_name(static_cast<cudaError_t>(cuda_error));
}

const char *error_string(std::int32_t cuda_error) {
    return runtime().get_error_string(static_cast<cudaError_t>(cuda_error));
}

} // namespace wr::cuda
