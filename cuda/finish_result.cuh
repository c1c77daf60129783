// Finishing an output on the GPU: the common case in line, all others behind one call, so that kernels stay small.
#pragma once

#include "cuda/device_code.cuh"
#include "numerics/finish.h"

namespace wr::cuda {

template <class Accumulator>
__device__ __noinline__ void finish_any(Accumulator value, std::uint64_t count, const Finish &finish, void *output,
                                        std::size_t index) {
    finish_accumulator(value, count, finish, output, index);
}

template <class Accumulator>
__device__ __forceinline__ void finish_result(const Accumulator &value, std::uint64_t count, const Finish &finish,
                                              void *output, std::size_t index) {
    finish_any(value, count, finish, output, index);
}

__device__ __forceinline__ void finish_result(float value, std::uint64_t count, const Finish &finish, void *output,
                                              std::size_t index) {
    if (finish.op == Operator::sum && finish.output_type == ElementType::f32 && count != 0 && !finish.add_to_output) {
        static_cast<float *>(output)[index] = is_nan(value) ? bit_cast<float>(canonical_nan_f32) : value;
    } else {
        finish_any(value, count, finish, output, index);
    }
}

// Where all outputs of a call have an axis of one length.
template <class Accumulator>
__device__ __forceinline__ void finish_result(const Accumulator &value, const Finish &finish, void *output,
                                              std::size_t index) {
    finish_result(value, finish.axis, finish, output, index);
}

} // namespace wr::cuda
