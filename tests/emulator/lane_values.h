// Values of registers: 64 bits, of which a type counts the lowest.
#pragma once

#include "machine.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace emulator {

// A pair of 16-bit values in one word.
struct Halves {
    std::uint16_t low, high;
};

template <class T>
T value_of(std::uint64_t word) {
    T value;
    std::memcpy(&value, &word, sizeof(value));
    return value;
}

// A GPU has one NaN for results of f32.
template <class T>
std::uint64_t word_of(T value) {
    if constexpr (std::is_same_v<T, float>) {
        return std::isnan(value) ? 0x7FFFFFFFu : std::bit_cast<std::uint32_t>(value);
    } else if constexpr (std::is_same_v<T, bool>) {
        return value ? 1 : 0;
    } else {
        std::uint64_t word = 0;
        std::memcpy(&word, &value, sizeof(value));
        return word;
    }
}

template <class T, auto compute>
void unary(Warp &warp, const Instruction &i, LaneMask mask) {
    std::uint64_t *to = warp.at(i.o[0]);
    const std::uint64_t *a = warp.at(i.o[1]);
    each_lane(mask, [&](int l) { to[l] = word_of(compute(value_of<T>(a[l]))); });
}

template <class T, auto compute>
void binary(Warp &warp, const Instruction &i, LaneMask mask) {
    std::uint64_t *to = warp.at(i.o[0]);
    const std::uint64_t *a = warp.at(i.o[1]), *b = warp.at(i.o[2]);
    each_lane(mask, [&](int l) { to[l] = word_of(compute(value_of<T>(a[l]), value_of<T>(b[l]))); });
}

template <class T, class C, auto compute>
void ternary(Warp &warp, const Instruction &i, LaneMask mask) {
    std::uint64_t *to = warp.at(i.o[0]);
    const std::uint64_t *a = warp.at(i.o[1]), *b = warp.at(i.o[2]), *c = warp.at(i.o[3]);
    each_lane(mask, [&](int l) { to[l] = word_of(compute(value_of<T>(a[l]), value_of<T>(b[l]), value_of<C>(c[l]))); });
}

// The instance of `Make` for the type of a PTX name, or nullptr.
template <template <class> class Make>
Execute of_integer(std::string_view type) {
    return type == "u8"                     ? Make<std::uint8_t>::execute
           : type == "s8"                   ? Make<std::int8_t>::execute
           : type == "s16"                  ? Make<std::int16_t>::execute
           : type == "u16" || type == "b16" ? Make<std::uint16_t>::execute
           : type == "s32"                  ? Make<std::int32_t>::execute
           : type == "u32" || type == "b32" ? Make<std::uint32_t>::execute
           : type == "s64"                  ? Make<std::int64_t>::execute
           : type == "u64" || type == "b64" ? Make<std::uint64_t>::execute
                                            : nullptr;
}

template <template <class> class Make>
Execute of_float(std::string_view type) {
    return type == "f32" ? Make<float>::execute : type == "f64" ? Make<double>::execute : nullptr;
}

template <template <class> class Make>
Execute of_number(std::string_view type) {
    const Execute integer = of_integer<Make>(type);
    return integer != nullptr ? integer : of_float<Make>(type);
}

// f16 and bf16 as floats, and back: rounded to nearest, ties to even.
inline float of_f16(std::uint16_t bits) {
    const bool is_finite = (bits & 0x7C00) != 0x7C00;
    const float scaled = std::bit_cast<float>((std::uint32_t{bits} & 0x7FFF) << 13) * 0x1p112f;
    const std::uint32_t sign = (std::uint32_t{bits} & 0x8000) << 16;
    const std::uint32_t magnitude =
        is_finite ? std::bit_cast<std::uint32_t>(scaled) : 0x7F800000 | (std::uint32_t{bits} & 0x3FF) << 13;
    return std::bit_cast<float>(sign | magnitude);
}
inline float of_bf16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

inline std::uint16_t to_f16(float x) {
    constexpr std::uint32_t exponent_difference = 112, infinity = 0x7C00;
    const auto bits = std::bit_cast<std::uint32_t>(x), magnitude = bits & 0x7FFFFFFF;
    const std::uint32_t sign = bits >> 16 & 0x8000;
    if (std::isnan(x)) {
        return 0x7FFF;
    }
    if (magnitude < (exponent_difference + 1) << 23) {
        // Below the normal range: beside 1/2 the last bit of f32 is that of f16's smallest numbers.
        const float beside_half = std::bit_cast<float>(magnitude) + 0.5f;
        return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(beside_half) & 0x7FF));
    }
    const std::uint32_t rounded = ((magnitude + 0xFFF + (magnitude >> 13 & 1)) >> 13) - (exponent_difference << 10);
    return static_cast<std::uint16_t>(sign | (rounded < infinity ? rounded : infinity));
}
inline std::uint16_t to_bf16(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    return std::isnan(x) ? 0x7FFF : static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

} // namespace emulator
