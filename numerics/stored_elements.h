// Elements of a type that is known at run time only: reading and writing one of an array.
#pragma once

#include "numerics/float_formats.h"

namespace wr {

// As f64, which is exact.
WR_HD_RARE double load_float(ElementType type, const void *array, std::size_t index) {
    switch (type) {
    case ElementType::f64:
        return static_cast<const double *>(array)[index];
    case ElementType::f32:
        return static_cast<double>(static_cast<const float *>(array)[index]);
    case ElementType::f16:
        return static_cast<double>(widen(static_cast<const F16 *>(array)[index]));
    case ElementType::bf16:
        return static_cast<double>(widen(static_cast<const BF16 *>(array)[index]));
    case ElementType::f8_e4m3:
        return static_cast<double>(widen(static_cast<const E4M3 *>(array)[index]));
    default:
        return static_cast<double>(widen(static_cast<const E5M2 *>(array)[index]));
    }
}

// Modulo 2^64: signed types keep their value.
WR_HD_RARE std::uint64_t load_integer(ElementType type, const void *array, std::size_t index) {
    switch (type) {
    case ElementType::i8:
        return static_cast<std::uint64_t>(static_cast<const std::int8_t *>(array)[index]);
    case ElementType::i16:
        return static_cast<std::uint64_t>(static_cast<const std::int16_t *>(array)[index]);
    case ElementType::i32:
        return static_cast<std::uint64_t>(static_cast<const std::int32_t *>(array)[index]);
    case ElementType::u8:
        return static_cast<const std::uint8_t *>(array)[index];
    case ElementType::u16:
        return static_cast<const std::uint16_t *>(array)[index];
    case ElementType::u32:
        return static_cast<const std::uint32_t *>(array)[index];
    default:
        return static_cast<const std::uint64_t *>(array)[index];
    }
}

// Writes the low bits of value.
WR_HD_RARE void store_integer(std::uint64_t value, ElementType type, void *array, std::size_t index) {
    switch (traits_of(type).size) {
    case 1:
        static_cast<std::uint8_t *>(array)[index] = static_cast<std::uint8_t>(value);
        break;
    case 2:
        static_cast<std::uint16_t *>(array)[index] = static_cast<std::uint16_t>(value);
        break;
    case 4:
        static_cast<std::uint32_t *>(array)[index] = static_cast<std::uint32_t>(value);
        break;
    default:
        static_cast<std::uint64_t *>(array)[index] = value;
        break;
    }
}

// The ends of an integer type's range, modulo 2^64.
WR_HD std::uint64_t smallest_integer(ElementType type) {
    const ElementTraits traits = traits_of(type);
    return traits.is_signed ? ~std::uint64_t{0} << (8 * traits.size - 1) : 0;
}
WR_HD std::uint64_t largest_integer(ElementType type) {
    const ElementTraits traits = traits_of(type);
    return ~std::uint64_t{0} >> (64 - 8 * traits.size + (traits.is_signed ? 1 : 0));
}

} // namespace wr
