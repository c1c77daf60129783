// Widening to f32 and f64, which is exact, and narrowing, which rounds once, to nearest even.
#pragma once

#include "numerics/element_types.h"

namespace wr {

// The canonical quiet NaN of each type: the only NaN that a result may be.
inline constexpr std::uint64_t canonical_nan_f64 = 0x7FF8000000000000u;
inline constexpr std::uint32_t canonical_nan_f32 = 0x7FC00000u;
inline constexpr std::uint16_t canonical_nan_f16 = 0x7E00u;
inline constexpr std::uint16_t canonical_nan_bf16 = 0x7FC0u;
inline constexpr std::uint8_t canonical_nan_e4m3 = 0x7Fu;
inline constexpr std::uint8_t canonical_nan_e5m2 = 0x7Eu;

WR_HD float widen(float x) { return x; }
WR_HD double widen(double x) { return x; }
WR_HD float widen(BF16 x) { return bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }

WR_HD float widen(F16 x) {
#if defined(__CUDA_ARCH__)
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
    return wide;
#else
    // The exponent's bias differs by 112; multiplying also makes subnormals normal, and is exact.
    const std::uint32_t magnitude = x.bits & 0x7FFFu;
    const std::uint32_t sign = static_cast<std::uint32_t>(x.bits & 0x8000u) << 16;
    const float scaled = bit_cast<float>(magnitude << 13) * 0x1p112f;
    const std::uint32_t finite = bit_cast<std::uint32_t>(scaled);
    const std::uint32_t special = magnitude >= 0x7C00u ? 0x7F800000u : 0u;
    return bit_cast<float>(finite | special | sign);
#endif
}

// The upper half of an f16.
WR_HD float widen(E5M2 x) { return widen(F16{static_cast<std::uint16_t>(x.bits << 8)}); }

// The exponent's bias differs from that of f32 by 120; multiplying also makes subnormals normal, and is exact.
WR_HD float widen(E4M3 x) {
    const auto magnitude = static_cast<std::uint32_t>(x.bits & 0x7Fu);
    const auto sign = static_cast<std::uint32_t>(x.bits & 0x80u) << 24;
    const float scaled = bit_cast<float>(magnitude << 20) * 0x1p120f;
    return bit_cast<float>((magnitude == canonical_nan_e4m3 ? canonical_nan_f32 : bit_cast<std::uint32_t>(scaled)) |
                           sign);
}

// A binary float format narrower than f64. `largest` is the bit pattern of its largest finite value, `overflow` what
// lies beyond: infinity, or NaN where the format has none.
struct FloatFormat {
    int mantissa_bits;
    int exponent_bias;
    std::uint32_t largest;
    std::uint32_t overflow;
    std::uint32_t nan;
    std::uint32_t sign;
};

inline constexpr FloatFormat format_f32{23, 127, 0x7F7FFFFFu, 0x7F800000u, canonical_nan_f32, 0x80000000u};
inline constexpr FloatFormat format_f16{10, 15, 0x7BFFu, 0x7C00u, canonical_nan_f16, 0x8000u};
inline constexpr FloatFormat format_bf16{7, 127, 0x7F7Fu, 0x7F80u, canonical_nan_bf16, 0x8000u};
inline constexpr FloatFormat format_e4m3{3, 7, 0x7Eu, canonical_nan_e4m3, canonical_nan_e4m3, 0x80u};
inline constexpr FloatFormat format_e5m2{2, 15, 0x7Bu, 0x7Cu, canonical_nan_e5m2, 0x80u};

// The bits of x rounded once to `format`, to nearest even; NaN becomes the format's canonical one. f64's own
// subnormals lie below half of every format's smallest value and become zero.
WR_HD_RARE std::uint32_t narrow(double x, FloatFormat format) {
    const std::uint64_t bits = bit_cast<std::uint64_t>(x);
    const std::uint64_t magnitude = bits & 0x7FFFFFFFFFFFFFFFu;
    if (magnitude > 0x7FF0000000000000u) {
        return format.nan;
    }
    const std::uint32_t sign = (bits >> 63) != 0 ? format.sign : 0u;
    if (magnitude == 0x7FF0000000000000u) {
        return format.overflow == format.nan ? format.nan : sign | format.overflow;
    }
    const int exponent = static_cast<int>(magnitude >> 52) - 1023;
    const int smallest_normal = 1 - format.exponent_bias;
    const int below = exponent < smallest_normal ? smallest_normal - exponent : 0;
    const int dropped = 52 - format.mantissa_bits + below;
    if (dropped > 54 || exponent == -1023) {
        return sign;
    }
    const std::uint64_t significand = (magnitude & 0x000FFFFFFFFFFFFFu) | 0x0010000000000000u;
    const std::uint64_t half_less_one = (std::uint64_t{1} << (dropped - 1)) - 1;
    const std::uint64_t rounded = (significand + half_less_one + ((significand >> dropped) & 1u)) >> dropped;
    // The significand's leading one counts as one exponent step, so a carry out of the mantissa lands where it should.
    const int steps = below > 0 ? 0 : exponent - smallest_normal;
    const std::uint64_t result = (static_cast<std::uint64_t>(steps) << format.mantissa_bits) + rounded;
    if (result > format.largest) {
        return format.overflow == format.nan ? format.nan : sign | format.overflow;
    }
    return sign | static_cast<std::uint32_t>(result);
}

WR_HD bool is_nan(float x) { return x != x; }
WR_HD bool is_nan(double x) { return x != x; }

// Writes value as element `index` of an array of float type `type`, rounded once.
WR_HD_RARE void store_float(double value, ElementType type, void *output, std::size_t index) {
    switch (type) {
    case ElementType::f64:
        static_cast<std::uint64_t *>(output)[index] =
            is_nan(value) ? canonical_nan_f64 : bit_cast<std::uint64_t>(value);
        break;
    case ElementType::f32:
        static_cast<std::uint32_t *>(output)[index] = narrow(value, format_f32);
        break;
    case ElementType::f16:
        static_cast<std::uint16_t *>(output)[index] = static_cast<std::uint16_t>(narrow(value, format_f16));
        break;
    case ElementType::bf16:
        static_cast<std::uint16_t *>(output)[index] = static_cast<std::uint16_t>(narrow(value, format_bf16));
        break;
    case ElementType::f8_e4m3:
        static_cast<std::uint8_t *>(output)[index] = static_cast<std::uint8_t>(narrow(value, format_e4m3));
        break;
    default:
        static_cast<std::uint8_t *>(output)[index] = static_cast<std::uint8_t>(narrow(value, format_e5m2));
        break;
    }
}

// The same for a value that is already f32, which saves the rounding where the output is f32 too.
WR_HD_RARE void store_float(float value, ElementType type, void *output, std::size_t index) {
    if (type == ElementType::f32) {
        static_cast<std::uint32_t *>(output)[index] =
            is_nan(value) ? canonical_nan_f32 : bit_cast<std::uint32_t>(value);
    } else {
        store_float(static_cast<double>(value), type, output, index);
    }
}

} // namespace wr
