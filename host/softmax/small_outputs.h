// Outputs of softmax below the normal range at full speed: the bits of softmax_output and softmax_narrow_output.
//
// A processor takes a hundred cycles and more for an operation whose operand or result is subnormal. Here the factor is
// lifted by a power of two, so that none is. Below the normal range all numbers are multiples of the least one: adding
// the lowest normal number, lifted, rounds to a multiple and leaves how many they are in the sum's low bits, which are
// the output's own.
#pragma once

#include "host/common/vectors.h"
#include "numerics/softmax.h"

namespace wr::host::WR_ISA {
namespace {

template <class Float>
struct LiftedRange;
template <>
struct LiftedRange<float> {
    using Bits = std::uint32_t;
    static constexpr Bits lift_in_exponent = Bits{64} << 23;
    static constexpr float lift = 0x1p64f;
};
template <>
struct LiftedRange<double> {
    using Bits = std::uint64_t;
    static constexpr Bits lift_in_exponent = Bits{512} << 52;
    static constexpr double lift = 0x1p512;
};

template <class Float>
struct SmallOutputs {
    Float high, low;  // pieces of the factor, lifted
    Float least_seen; // smaller exponentials give less than half of the least output, which is 0

    // With both pieces. What the lower one adds to an output below the normal range is at most half of its last place,
    // so that it rounds to 0.
    WR_HD Float output(Float exponential) const {
        const Float e = seen(exponential);
        const Float magnitude = low < 0 ? -low : low;
        const Float product = e * magnitude;
        const Float rounded = product < lowest_normal ? fused(e, magnitude, lowest_normal) - lowest_normal : product;
        return lowered(e, fused(e, high, low < 0 ? -rounded : rounded));
    }
    WR_HD Float narrow_output(Float exponential) const {
        const Float e = seen(exponential);
        return lowered(e, e * high);
    }

  private:
    using Range = LiftedRange<Float>;
    using Bits = typename Range::Bits;
    static constexpr Float lowest_normal = std::numeric_limits<Float>::min() * Range::lift;

    WR_HD Float seen(Float e) const { return e < least_seen ? Float(0) : e; }

    WR_HD Float lowered(Float e, Float lifted) const {
        const Bits normal = bit_cast<Bits>(lifted) - Range::lift_in_exponent;
        const Bits below = bit_cast<Bits>(fused(e, high, lowest_normal)) - bit_cast<Bits>(lowest_normal);
        return bit_cast<Float>(lifted < lowest_normal ? below : normal);
    }
};

template <class Float>
WR_HD SmallOutputs<Float> small_outputs(BlockFactor<Float> factor) {
    constexpr Float lift = LiftedRange<Float>::lift,
                    quarter_of_least = std::numeric_limits<Float>::denorm_min() * lift / 4;
    const Float high = factor.high * lift;
    return {high, factor.low * lift, quarter_of_least / high};
}

// Exponentials e are what they are for where e's bits less 1 are less than this; one of 0 is not. It is the lowest
// normal number by the least piece, divided by subtracting logarithms that are linear between powers of two: at most an
// eighth too much.
template <class Float>
WR_HD auto small_exponential_bound(BlockFactor<Float> factor, bool both) {
    using Bits = typename LiftedRange<Float>::Bits;
    const Float low = factor.low < 0 ? -factor.low : factor.low;
    const Float piece = both && low != 0 ? low : factor.high;
    const Bits least =
        bit_cast<Bits>(std::numeric_limits<Float>::min()) + bit_cast<Bits>(Float(1)) - bit_cast<Bits>(piece);
    return piece == 0 ? Bits(0) : least - 1;
}

// For combine_lanes.
template <class Bits>
struct Smallest {
    using Accumulator = Bits;
};
template <class Bits>
struct CombineVectors<Smallest<Bits>> {
    WR_HD static Register<Bits> apply(Register<Bits> a, Register<Bits> b) { return a < b ? a : b; }
};

// The least magnitude of some numbers but for 0, as its bits less 1.
template <class Float>
auto least_magnitude(std::size_t count, const Float *x) {
    using Bits = typename LiftedRange<Float>::Bits;
    using V = Register<Bits>;
    constexpr Bits all_but_sign = ~Bits{} >> 1;
    V smallest = ~V{};
    std::size_t i = 0;
    for (; i + lanes_of<Bits> <= count; i += lanes_of<Bits>) {
        const V less_one = (load_vector<V>(x + i) & all_but_sign) - 1;
        smallest = CombineVectors<Smallest<Bits>>::apply(smallest, less_one);
    }
    Bits of_all = combine_lanes<Smallest<Bits>>(smallest);
    for (; i < count; ++i) {
        of_all = smaller(of_all, (bit_cast<Bits>(x[i]) & all_but_sign) - 1);
    }
    return of_all;
}

} // namespace
} // namespace wr::host::WR_ISA
