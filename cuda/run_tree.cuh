// The tree over a run of up to 32 elements that one thread takes by itself.
#pragma once

#include "cuda/device_code.cuh"
#include "cuda/reduce_arguments.h"
#include "numerics/operators.h"

namespace wr::cuda {

// element(i) is element number i of the run, the first of which stands at `position`; the identity stands behind the
// first `valid`. A loop over parts of eight, so that kernels stay small.
template <class Op, class Element>
__device__ __forceinline__ typename Op::Accumulator run_tree(const Element &element, int valid, const Mapping &m,
                                                             std::size_t position) {
    constexpr int part = 8;
    auto lower = Op::identity(), upper = Op::identity();
#pragma unroll 1
    for (int first = 0; first < valid && first < run_elements; first += part) {
        typename Op::Accumulator values[part];
#pragma unroll
        for (int i = 0; i < part; ++i) {
            values[i] = Op::identity();
            if (first + i < valid) {
                values[i] = map_element<Op>(element(first + i), m, position + static_cast<std::size_t>(first + i));
            }
        }
#pragma unroll
        for (int width = 1; width < part; width *= 2) {
#pragma unroll
            for (int i = 0; i < part; i += 2 * width) {
                values[i] = Op::combine(values[i], values[i + width]);
            }
        }
        auto &half = first < run_elements / 2 ? lower : upper;
        half = Op::combine(half, values[0]);
    }
    return Op::combine(lower, upper);
}

} // namespace wr::cuda
