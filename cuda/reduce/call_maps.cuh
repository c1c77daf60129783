// How elements come to the tree of a run: what differs from call to call (numerics/mapping.h) is asked once, not of
// every element, and what stands for elements behind the end is one that changes nothing.
#pragma once

#include "cuda/reduce/sets.cuh"

namespace wr::cuda {

// Products, and sums of magnitudes or squares, in f32, and of f64.
template <class T, class Op>
inline constexpr bool has_call_maps =
    (is_made_of<Op, FloatProduct> || is_made_of<Op, MappedFloatSum>) &&
    (std::is_same_v<T, double> || (std::is_same_v<typename Op::Accumulator, float> && sizeof(T) >= 2));

// Where no element of T is the operator's identity.
struct NoAbsentElement {};

template <class T>
__device__ __forceinline__ T element_of_bits(std::uint64_t bits) {
    T element;
    memcpy(&element, &bits, sizeof(T));
    return element;
}
template <class T>
inline constexpr std::uint64_t sign_of_element = std::uint64_t{1} << (8 * sizeof(T) - 1);

// Magnitudes that the hardware takes as it adds.
__device__ __forceinline__ float magnitude_in_operand(float x) { return fabsf(x); }
__device__ __forceinline__ double magnitude_in_operand(double x) { return fabs(x); }

// An element that is mapped to the identity, or that is added without changing what is not negative. Not where NaNs are
// left out.
template <class T, class Op>
__device__ __forceinline__ T absent_element(const Mapping &m) {
    constexpr bool is_one = is_made_of<Op, FloatProduct>;
    if constexpr (sizeof(T) >= sizeof(float)) {
        return T(is_one ? 1 : 0);
    } else {
        constexpr std::uint64_t bf16_one = 0x3F80, f16_one = 0x3C00;
        return element_of_bits<T>(!is_one ? 0 : m.type == ElementType::bf16 ? bf16_one : f16_one);
    }
}

// What work(operator, of, absent) gives, which is to apply the operator to of(element), `absent` being an element that
// changes nothing. Of such maps as long as no NaN is left out.
template <class T, class Op, class Work>
__device__ __forceinline__ auto with_map_of_call(const Mapping &m, const Work &work) {
    if constexpr (is_made_of<Op, FloatSum>) {
        return work(Op(), [](const T &x) { return x; }, element_of_bits<T>(sign_of_element<T>));
    } else if constexpr (!has_call_maps<T, Op>) {
        return work(Op(), [](const T &x) { return x; }, NoAbsentElement());
    } else {
        const auto by_values = [&](const auto &value_of) {
            const T absent = absent_element<T, Op>(m);
            if constexpr (is_made_of<Op, FloatProduct>) {
                return work(Partial<Op>(), value_of, absent);
            } else if (m.square) {
                return work(Partial<Op>(), [&](const T &x) { return value_of(x) * value_of(x); }, absent);
            } else {
                return work(Partial<Op>(), [&](const T &x) { return magnitude_in_operand(value_of(x)); }, absent);
            }
        };
        if constexpr (std::is_same_v<T, AnyFloat16>) {
            return m.type == ElementType::bf16 ? by_values([](const T &x) { return widen(BF16{x.bits}); })
                                               : by_values([](const T &x) { return widen(F16{x.bits}); });
        } else {
            return by_values([](const T &x) { return x; });
        }
    }
}

} // namespace wr::cuda
