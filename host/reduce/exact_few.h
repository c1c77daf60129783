// Sums of a few elements of 16 bits each in f32, which they mostly fit without a rounding: fewer terms to widen and
// take.
#pragma once

#include "host/common/vectors.h"

namespace wr::host::WR_ISA {
namespace {

using Floats = Register<float>;
using FloatPatterns = Register<std::int32_t>;

constexpr std::int32_t all_but_the_sign_of_f32 = 0x7FFFFFFF;

// Sums of a few neighbouring elements each: of two, and of two such sums.
struct FewSums {
    Floats sums;
    FloatPatterns inexact;           // but for the sign, 0 where a sum has lost nothing
    FloatPatterns unlike_minus_zero; // 0 where all elements are -0
};

// Which elements make a pair does not matter to an exact sum.
WR_HD FewSums pair_sums(Floats a, Floats b, FloatPatterns unlike_minus_zero) {
    const Floats sums = a + b;
    // The larger one leaves the other if, and only if, nothing was rounded away (T. J. Dekker, 1971); it never leaves
    // the other with the opposite sign, so that signs need not be compared.
    const auto inexact = (bit_cast<FloatPatterns>(sums - a) ^ bit_cast<FloatPatterns>(b)) |
                         (bit_cast<FloatPatterns>(sums - b) ^ bit_cast<FloatPatterns>(a));
    return {sums, inexact, unlike_minus_zero};
}

WR_HD FewSums pairs_of(const BF16 *from) {
    const auto words = load_vector<Register<std::uint32_t>>(from);
    return pair_sums(bit_cast<Floats>(words << 16), bit_cast<Floats>(words & 0xFFFF0000u),
                     bit_cast<FloatPatterns>(words ^ 0x80008000u));
}

// How many elements of a type become one vector of sums; 0: it goes without. With their 8 digits four of BF16 mostly
// fit f32, with 11 two of F16.
template <class T>
constexpr std::size_t elements_of_sums = 0;
template <>
constexpr std::size_t elements_of_sums<BF16> = 4 * lanes_of<float>;
template <>
constexpr std::size_t elements_of_sums<F16> = 2 * lanes_of<float>;

WR_HD FewSums few_sums(const BF16 *from) {
    const FewSums a = pairs_of(from), b = pairs_of(from + 2 * lanes_of<float>);
    FewSums all = pair_sums(a.sums, b.sums, a.unlike_minus_zero | b.unlike_minus_zero);
    all.inexact |= a.inexact | b.inexact;
    return all;
}
WR_HD FewSums few_sums(const F16 *from) {
    const Mapping none{};
    return pair_sums(load_mapped<FloatSum<float>>(from, none),
                     load_mapped<FloatSum<float>>(from + lanes_of<float>, none),
                     load_vector<FloatPatterns>(from) ^ static_cast<std::int32_t>(0x80008000u));
}

template <int first, std::size_t... i>
WR_HD auto lanes_from(Floats v, std::index_sequence<i...>) {
    return __builtin_shufflevector(v, v, (first + static_cast<int>(i))...);
}

// Half 0 or 1 of a vector. (Compilers do the conversion by halves again.)
template <int half>
WR_HD Register<double> widen_half(Floats v) {
    constexpr std::size_t count = lanes_of<double>;
    const auto lanes = lanes_from<half *static_cast<int>(count)>(v, std::make_index_sequence<count>{});
#if defined(__AVX512F__)
    return bit_cast<Register<double>>(_mm512_maskz_cvtps_pd(0xFF, bit_cast<__m256>(lanes)));
#else
    return __builtin_convertvector(lanes, Register<double>);
#endif
}

} // namespace
} // namespace wr::host::WR_ISA
