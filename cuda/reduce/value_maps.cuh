// Maps of values that differ from call to call (numerics/mapping.h): which it is, is asked once for many elements.
#pragma once

#include "cuda/reduce/sets.cuh"

namespace wr::cuda {

// Products, and sums of magnitudes or squares, in f32.
template <class T, class Op>
inline constexpr bool has_value_maps =
    (is_made_of<Op, FloatProduct> || is_made_of<Op, MappedFloatSum>) &&
    std::is_same_v<typename Op::Accumulator, float> && sizeof(T) >= 2 && sizeof(T) <= sizeof(float);

// A magnitude or a square as a product of the value with what these bits are of it: a sign, or all.
struct FactorBits {
    unsigned kept, set;

    __device__ __forceinline__ explicit FactorBits(const Mapping &m)
        : kept(m.square ? ~0u : 0x80000000u), set(m.square ? 0 : bit_cast<unsigned>(1.0f)) {}
    __device__ __forceinline__ float of(float value) const {
        return bit_cast<float>((bit_cast<unsigned>(value) & kept) | set);
    }
};

// What work(operator, of) gives, which is to apply the operator to of(element).
template <class T, class Op, class Work>
__device__ __forceinline__ auto with_value_map(const Mapping &m, const Work &work) {
    if constexpr (!has_value_maps<T, Op>) {
        return work(Op(), [](const T &x) { return x; });
    } else {
        const float for_nan = m.ignore_nan ? Op::identity() : std::numeric_limits<float>::quiet_NaN();
        const FactorBits factor(m);
        const auto by_values = [&](const auto &value_of) {
            return work(Partial<Op>(), [&](const T &x) {
                const float value = value_of(x);
                const float mapped = is_made_of<Op, FloatProduct> ? value : value * factor.of(value);
                return is_nan(value) ? for_nan : mapped;
            });
        };
        if constexpr (std::is_same_v<T, AnyFloat16>) {
            return m.type == ElementType::bf16 ? by_values([](T x) { return widen(BF16{x.bits}); })
                                               : by_values([](T x) { return widen(F16{x.bits}); });
        } else {
            return by_values([](T x) { return widen(x); });
        }
    }
}

} // namespace wr::cuda
