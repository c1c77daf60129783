// The element types: their numbers, their sizes, and the struct that each is in memory.
#pragma once

#include "numerics/host_device.h"

namespace wr {

// The values are the public header's wr_dtype; capi/ checks that they agree.
enum class ElementType : std::int32_t {
    none = 0,
    f32 = 1,
    f64 = 2,
    f16 = 3,
    bf16 = 4,
    f8_e4m3 = 5,
    f8_e5m2 = 6,
    i8 = 7,
    i16 = 8,
    i32 = 9,
    i64 = 10,
    u8 = 11,
    u16 = 12,
    u32 = 13,
    u64 = 14,
    koalabear = 15,
    babybear = 16,
    mersenne31 = 17,
    goldilocks = 18,
    koalabear_x4 = 19,
    babybear_x4 = 20,
};

WR_HD bool is_float_of_8_bits(ElementType type) { return type == ElementType::f8_e4m3 || type == ElementType::f8_e5m2; }

// Storage of the types that C++ has no name for. Which words a field element may have is numerics/fields.h's.
struct F16 {
    std::uint16_t bits;
};
struct BF16 {
    std::uint16_t bits;
};
struct E4M3 {
    std::uint8_t bits;
};
struct E5M2 {
    std::uint8_t bits;
};
struct KoalaBear {
    std::uint32_t word;
};
struct BabyBear {
    std::uint32_t word;
};
struct Mersenne31 {
    std::uint32_t word;
};
struct Goldilocks {
    std::uint64_t word;
};
struct KoalaBearX4 {
    KoalaBear words[4];
};
struct BabyBearX4 {
    BabyBear words[4];
};

// Storage of one of two formats; which of them is known at run time (decode in numerics/mapping.h). One kernel serves
// both, where it need not be as short as it can be.
struct AnyFloat16 {
    std::uint16_t bits;
};
struct AnyFloat8 {
    std::uint8_t bits;
};

struct ElementTraits {
    std::uint8_t size;      // bytes of one element
    std::uint8_t alignment; // bytes that a pointer to it must be a multiple of
    bool is_float;
    bool is_integer;
    bool is_signed;

    WR_HD constexpr bool is_field() const { return size != 0 && !is_float && !is_integer; }
};

WR_HD constexpr ElementTraits traits_of(ElementType type) {
    switch (type) {
    case ElementType::f32:
        return {4, 4, true, false, true};
    case ElementType::f64:
        return {8, 8, true, false, true};
    case ElementType::f16:
    case ElementType::bf16:
        return {2, 2, true, false, true};
    case ElementType::f8_e4m3:
    case ElementType::f8_e5m2:
        return {1, 1, true, false, true};
    case ElementType::i8:
        return {1, 1, false, true, true};
    case ElementType::i16:
        return {2, 2, false, true, true};
    case ElementType::i32:
        return {4, 4, false, true, true};
    case ElementType::i64:
        return {8, 8, false, true, true};
    case ElementType::u8:
        return {1, 1, false, true, false};
    case ElementType::u16:
        return {2, 2, false, true, false};
    case ElementType::u32:
        return {4, 4, false, true, false};
    case ElementType::u64:
        return {8, 8, false, true, false};
    case ElementType::koalabear:
    case ElementType::babybear:
    case ElementType::mersenne31:
        return {4, 4, false, false, false};
    case ElementType::goldilocks:
        return {8, 8, false, false, false};
    case ElementType::koalabear_x4:
    case ElementType::babybear_x4:
        return {16, 4, false, false, false};
    case ElementType::none:
        break;
    }
    return {0, 0, false, false, false};
}

} // namespace wr
