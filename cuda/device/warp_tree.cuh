// The natural tree over what a warp holds in registers.
#pragma once

#include "cuda/device/intrinsics.cuh"

namespace wr::cuda {

// Registers that a lane of a reduction brings to the tree.
inline constexpr int tree_registers = 8;

// The tree over what one lane holds, a power of two of neighbours.
template <class Op, int Elements>
__device__ __forceinline__ typename Op::Accumulator tree_of_elements(typename Op::Accumulator (&values)[Elements]) {
#pragma unroll
    for (int width = 1; width < Elements; width *= 2) {
#pragma unroll
        for (int e = 0; e < Elements; e += 2 * width) {
            values[e] = Op::combine(values[e], values[e + width]);
        }
    }
    return values[0];
}

constexpr int log2_of(int power) { return power <= 1 ? 0 : 1 + log2_of(power / 2); }

// One step of the exchange for one pair of registers: lanes that differ in bit Step swap what they do not keep.
template <class Op, int Step>
__device__ __forceinline__ typename Op::Accumulator exchange_pair(typename Op::Accumulator low,
                                                                  typename Op::Accumulator high) {
    const bool upper = ((lane_index() >> Step) & 1) != 0;
    return Op::combine(upper ? high : low, from_lane_xor(upper ? low : high, 1 << Step));
}

// The first steps of the tree, for values[v] of lane l standing at position 32 v + l. In each step neighbouring lanes
// swap halves of their registers and add what they then both hold, so that no lane adds what another adds too: for 8
// registers 7 shuffles instead of 24 for the three lowest levels. Afterwards lane l holds in values[0 .. V >> Steps)
// the sums for the registers that start at exchanged_register(l), over 2^Steps lanes. Steps before First are done
// already.
template <class Op, int Steps, int First = 0, int Half = -1, int Registers>
__device__ __forceinline__ void exchange_halves(typename Op::Accumulator (&values)[Registers]) {
    constexpr int half = Half < 0 ? Registers / 2 : Half;
    if constexpr (half > 0 && First < Steps) {
        const bool upper = ((lane_index() >> First) & 1) != 0;
#pragma unroll
        for (int j = 0; j < half; ++j) {
            const auto keep = upper ? values[j + half] : values[j];
            const auto send = upper ? values[j] : values[j + half];
            values[j] = Op::combine(keep, from_lane_xor(send, 1 << First));
        }
        exchange_halves<Op, Steps, First + 1, half / 2>(values); // not a loop, which may stay one
    }
}

template <int Steps, int V>
__device__ __forceinline__ int exchanged_register(int lane) {
    int first = 0;
#pragma unroll
    for (int step = 0; step < Steps; ++step) {
        first += ((lane >> step) & 1) * (V >> (step + 1));
    }
    return first;
}

// The lane distance that a level of the tree crosses once all V registers are exchanged: first the lanes that were not
// exchanged, then the registers, lowest first, which log2 V lane bits now stand for.
template <int V>
__device__ __forceinline__ int distance_of_level(int level) {
    return level < 5 ? 1 << level : 1 << (log2_of(V) + 4 - level);
}

// The tree over 32 V values; every lane gets it. Where First is 1, `values` are the V / 2 registers that the first step
// of the exchange has left.
template <class Op, int First = 0, int Registers>
__device__ __forceinline__ typename Op::Accumulator warp_tree(typename Op::Accumulator (&values)[Registers]) {
    constexpr int registers = Registers << First;
    constexpr int steps = log2_of(registers);
    exchange_halves<Op, steps, First>(values);
    typename Op::Accumulator sum = values[0];
#pragma unroll
    for (int level = steps; level < 5 + steps; ++level) {
        sum = Op::combine(sum, from_lane_xor(sum, distance_of_level<registers>(level)));
    }
    return sum;
}

// The tree over the first `lanes` (a power of two) lanes' values; each of those lanes gets it.
template <class Op>
__device__ __forceinline__ typename Op::Accumulator tree_over_lanes(typename Op::Accumulator value, int lanes) {
    for (int distance = 1; distance < lanes; distance *= 2) {
        value = Op::combine(value, from_lane_xor(value, distance));
    }
    return value;
}

} // namespace wr::cuda
