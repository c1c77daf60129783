#include "lane_values.h"
#include "operations.h"

#include <limits>

namespace emulator {

namespace {

// What is too large becomes the largest, and NaN 0.
template <class To, class From>
To truncated(From x) {
    if (std::isnan(x)) {
        return To{0};
    }
    const From whole = std::trunc(x);
    const From end = std::ldexp(From(1), std::numeric_limits<To>::digits);
    return whole >= end                                                ? std::numeric_limits<To>::max()
           : whole < static_cast<From>(std::numeric_limits<To>::min()) ? std::numeric_limits<To>::min()
                                                                       : static_cast<To>(whole);
}

template <class To, class From>
To converted(From x) {
    if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
        return truncated<To>(x);
    } else {
        return static_cast<To>(x);
    }
}

template <class To>
struct ConversionTo {
    template <class From>
    struct Of {
        static constexpr Execute execute = unary<From, converted<To, From>>;
    };
};

template <class T>
struct Nearest {
    static T compute(T x) { return std::nearbyint(x); }
    static constexpr Execute execute = unary<T, compute>;
};

float float_of_f16(std::uint16_t bits) { return of_f16(bits); }
float float_of_bf16(std::uint16_t bits) { return of_bf16(bits); }

// The first operand is the upper half.
Halves f16_pair(float high, float low) { return {to_f16(low), to_f16(high)}; }
Halves bf16_pair(float high, float low) { return {to_bf16(low), to_bf16(high)}; }

std::uint16_t computed_f16_of_e4m3(std::uint8_t bits) {
    const int exponent = bits >> 3 & 15, fraction = bits & 7;
    const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -9)
                                          : std::ldexp(static_cast<float>(8 + fraction), exponent - 10);
    return (bits & 0x7F) == 0x7F ? 0x7FFF : to_f16((bits & 0x80) != 0 ? -magnitude : magnitude);
}

// What becomes of each byte, computed once.
template <auto of>
auto of_byte(std::uint8_t bits) {
    static const auto results = [] {
        std::array<decltype(of(bits)), 256> made{};
        for (std::size_t i = 0; i < made.size(); ++i) {
            made[i] = of(static_cast<std::uint8_t>(i));
        }
        return made;
    }();
    return results[bits];
}

std::uint16_t f16_of_e4m3(std::uint8_t bits) { return of_byte<computed_f16_of_e4m3>(bits); }
Halves f16_pair_of_e4m3(std::uint16_t pair) {
    return {f16_of_e4m3(static_cast<std::uint8_t>(pair)), f16_of_e4m3(static_cast<std::uint8_t>(pair >> 8))};
}

float float_of_e4m3(std::uint8_t bits) { return of_f16(f16_of_e4m3(bits)); }
float float_of_e5m2(std::uint8_t bits) { return of_f16(static_cast<std::uint16_t>(bits << 8)); }

// The nearest of a format's numbers up to `largest`, at a tie the even one; where all are too small, the largest.
template <auto widen, std::uint8_t largest>
std::uint8_t nearest_float8(float x) {
    const float magnitude = std::fabs(x);
    int above = 0, beyond = largest + 1; // the first number that is not smaller lies between them
    while (above < beyond) {
        const int middle = (above + beyond) / 2;
        const bool is_smaller = of_byte<widen>(static_cast<std::uint8_t>(middle)) < magnitude;
        above = is_smaller ? middle + 1 : above;
        beyond = is_smaller ? beyond : middle;
    }
    int nearest = above > largest ? largest : above;
    if (above > 0 && above <= largest) {
        const double up = double{of_byte<widen>(static_cast<std::uint8_t>(above))} - double{magnitude};
        const double down = double{magnitude} - double{of_byte<widen>(static_cast<std::uint8_t>(above - 1))};
        nearest -= down < up || (down == up && above % 2 != 0) ? 1 : 0;
    }
    return std::isnan(x) ? 0x7F : static_cast<std::uint8_t>(nearest | (std::signbit(x) ? 0x80 : 0));
}
template <auto widen, std::uint8_t largest>
std::uint16_t float8_pair(float high, float low) {
    return static_cast<std::uint16_t>(nearest_float8<widen, largest>(high) << 8 | nearest_float8<widen, largest>(low));
}

// Between numbers: the last word is what is read, the one before it what is written.
Execute number_conversion_of(std::string_view to, std::string_view from) {
    return to == "u8"                   ? of_number<ConversionTo<std::uint8_t>::Of>(from)
           : to == "s8"                 ? of_number<ConversionTo<std::int8_t>::Of>(from)
           : to == "u16" || to == "b16" ? of_number<ConversionTo<std::uint16_t>::Of>(from)
           : to == "s16"                ? of_number<ConversionTo<std::int16_t>::Of>(from)
           : to == "u32" || to == "b32" ? of_number<ConversionTo<std::uint32_t>::Of>(from)
           : to == "s32"                ? of_number<ConversionTo<std::int32_t>::Of>(from)
           : to == "u64" || to == "b64" ? of_number<ConversionTo<std::uint64_t>::Of>(from)
           : to == "s64"                ? of_number<ConversionTo<std::int64_t>::Of>(from)
           : to == "f32"                ? of_number<ConversionTo<float>::Of>(from)
           : to == "f64"                ? of_number<ConversionTo<double>::Of>(from)
                                        : nullptr;
}

} // namespace

Execute conversion_of(const Opcode &opcode) {
    if (opcode.words[0] != "cvt" || opcode.words.size() < 3 || opcode.has("sat")) {
        return nullptr;
    }
    const std::string_view from = opcode.last(), to = opcode.words[opcode.words.size() - 2];
    const bool to_integer = to[0] == 'u' || to[0] == 's', of_floats = from[0] == 'f';
    if ((to_integer && of_floats && !opcode.has("rzi")) || (!to_integer && opcode.has("rz"))) {
        return nullptr;
    }
    if (opcode.has("rni")) {
        return to == from ? of_float<Nearest>(to) : nullptr;
    }
    return opcode.text == "cvt.f32.f16"                   ? unary<std::uint16_t, float_of_f16>
           : opcode.text == "cvt.f32.bf16"                ? unary<std::uint16_t, float_of_bf16>
           : opcode.text == "cvt.rn.f16.f32"              ? unary<float, to_f16>
           : opcode.text == "cvt.rn.bf16.f32"             ? unary<float, to_bf16>
           : opcode.text == "cvt.rn.f16x2.f32"            ? binary<float, f16_pair>
           : opcode.text == "cvt.rn.bf16x2.f32"           ? binary<float, bf16_pair>
           : opcode.text == "cvt.rn.f16x2.e4m3x2"         ? unary<std::uint16_t, f16_pair_of_e4m3>
           : opcode.text == "cvt.rn.satfinite.e4m3x2.f32" ? binary<float, float8_pair<float_of_e4m3, 0x7E>>
           : opcode.text == "cvt.rn.satfinite.e5m2x2.f32" ? binary<float, float8_pair<float_of_e5m2, 0x7B>>
                                                          : number_conversion_of(to, from);
}

} // namespace emulator
