// Finishing an output on the GPU: the common case in line, all others behind one call, so that kernels stay small.
#pragma once

#include "cuda/device_code.cuh"
#include "numerics/finish.h"

namespace wr::cuda {

template <class Accumulator>
__device__ __noinline__ void finish_any(Accumulator value, const Finish &finish, void *output, std::size_t index) {
    finish_accumulator(value, finish, output, index);
}

template <class Accumulator>
__device__ __forceinline__ void finish_result(Accumulator value, const Finish &finish, void *output,
                                              std::size_t index) {
    finish_any(value, finish, output, index);
}

__device__ __forceinline__ void finish_result(float value, const Finish &finish, void *output, std::size_t index) {
    if (finish.op == Operator::sum && finish.output_type == ElementType::f32 && finish.axis != 0) {
        static_cast<float *>(output)[index] = is_nan(value) ? bit_cast<float>(canonical_nan_f32) : value;
    } else {
        finish_any(value, finish, output, index);
    }
}

} // namespace wr::cuda
