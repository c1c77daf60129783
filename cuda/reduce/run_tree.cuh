// The tree over a run of up to 64 elements that one thread takes by itself.
#pragma once

#include "cuda/device/warp_tree.cuh"
#include "cuda/reduce/arguments.h"
#include "numerics/operators.h"

namespace wr::cuda {

inline constexpr int run_part = 8;

// The tree over Count (a power of two) elements from number `first` of the run on.
template <class Op, int Count, class Element>
__device__ __forceinline__ typename Op::Accumulator part_tree(const Element &element, int first, const Mapping &m,
                                                              std::size_t position) {
    typename Op::Accumulator values[Count];
#pragma unroll
    for (int i = 0; i < Count; ++i) {
        values[i] = map_element<Op>(element(first + i), m, position + static_cast<std::size_t>(first + i));
    }
    return tree_of_elements<Op>(values);
}

// Fewer elements than a part's: the tree cuts off the largest power of two again and again.
template <class Op, class Element>
__device__ __forceinline__ typename Op::Accumulator rest_tree(const Element &element, int first, int count,
                                                              const Mapping &m, std::size_t position) {
    auto value = Op::identity();
    if ((count & 1) != 0) {
        value = part_tree<Op, 1>(element, first + (count & 6), m, position);
    }
    if ((count & 2) != 0) {
        value = Op::combine(part_tree<Op, 2>(element, first + (count & 4), m, position), value);
    }
    if ((count & 4) != 0) {
        value = Op::combine(part_tree<Op, 4>(element, first, m, position), value);
    }
    return value;
}

// element(i) is element number i of the run, the first of which stands at `position`; the run ends behind the first
// `count`, and is empty where that is below 1. A loop over parts of eight, so that kernels stay small.
template <class Op, class Element>
__device__ __forceinline__ typename Op::Accumulator run_tree(const Element &element, int count, const Mapping &m,
                                                             std::size_t position) {
    static_assert(most_run_elements == 8 * run_part);
    const int parts = smaller(larger(count, 0), most_run_elements) / run_part;
    auto one = Op::identity(), two = Op::identity(), four = Op::identity();
#pragma unroll 1
    for (int p = 0; p < parts; ++p) {
        auto value = part_tree<Op, run_part>(element, p * run_part, m, position);
        if ((p & 1) == 0) {
            one = value;
            continue;
        }
        value = Op::combine(one, value);
        if ((p & 2) == 0) {
            two = value;
            continue;
        }
        value = Op::combine(two, value);
        if ((p & 4) != 0) {
            return Op::combine(four, value);
        }
        four = value;
    }
    auto value = rest_tree<Op>(element, parts * run_part, count < 0 ? 0 : count % run_part, m, position);
    value = (parts & 1) != 0 ? Op::combine(one, value) : value;
    value = (parts & 2) != 0 ? Op::combine(two, value) : value;
    return (parts & 4) != 0 ? Op::combine(four, value) : value;
}

} // namespace wr::cuda
