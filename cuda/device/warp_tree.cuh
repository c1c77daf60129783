// The natural tree over what a lane and a warp hold in registers, and over subtrees that come one after the other.
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

// The natural tree over a run of terms that a lane holds.

// An exponential as a term of a sum. Normal: it is known to be a positive normal number, which is widened by integer
// instructions; the conversion's unit takes eight cycles for a warp.
template <class Sum, bool Normal, class Float>
__device__ __forceinline__ Sum term(Float e) {
    if constexpr (Normal && sizeof(Float) == 4 && sizeof(Sum) == 8) {
        constexpr unsigned more_mantissa = 1u << (52 - 23);
        constexpr long long bias_difference = (1023LL - 127) << 52;
        long long bits;
        asm("mad.wide.u32 %0, %1, %2, %3;"
            : "=l"(bits)
            : "r"(__float_as_uint(e)), "n"(more_mantissa), "n"(bias_difference));
        return __longlong_as_double(bits);
    } else {
        return static_cast<Sum>(e);
    }
}

// The same where it is +0 or such a number.
template <class Sum, class Float>
__device__ __forceinline__ Sum term_or_zero(Float e) {
    const Sum normal = term<Sum, true>(e);
    if constexpr (sizeof(Float) == 4 && sizeof(Sum) == 8) {
        return __hiloint2double(e == Float(0) ? 0 : __double2hiint(normal), __double2loint(normal));
    }
    return normal;
}

// The natural tree over a lane's neighbours, a power of two of them.
template <int Run, class Sum, bool Normal = false, class Float>
__device__ __forceinline__ Sum run_sum(const Float *e) {
    Sum part[Run];
#pragma unroll
    for (int j = 0; j < Run; ++j) {
        part[j] = term<Sum, Normal>(e[j]);
    }
#pragma unroll
    for (int width = 1; width < Run; width *= 2) {
#pragma unroll
        for (int j = 0; j < Run; j += 2 * width) {
            part[j] = part[j] + part[j + width];
        }
    }
    return part[0];
}

// Subtrees that come one after the other, kept by a warp.

// TreeCounter (numerics/tree.h) for a warp: lane number l keeps level l. What is pushed is the same in every lane.
template <class Op>
class WarpCounter {
  public:
    using Accumulator = typename Op::Accumulator;

    __device__ __forceinline__ void push(Accumulator subtree) {
        int level = 0;
        for (unsigned c = count_; (c & 1u) != 0; c >>= 1) {
            subtree = Op::combine(from_lane(level_, level), subtree);
            ++level;
        }
        level_ = lane_index() == level ? subtree : level_;
        ++count_;
    }

    // The whole tree of at least one; starts again.
    __device__ __forceinline__ Accumulator take() {
        Accumulator whole = Op::identity();
        for (bool first = true; count_ != 0; first = false) {
            const Accumulator subtree = from_lane(level_, __ffs(static_cast<int>(count_)) - 1);
            whole = first ? subtree : Op::combine(subtree, whole);
            count_ &= count_ - 1;
        }
        return whole;
    }

  private:
    Accumulator level_ = Op::identity();
    unsigned count_ = 0;
};

} // namespace wr::cuda
