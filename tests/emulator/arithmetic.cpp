#include "lane_values.h"
#include "operations.h"

#include <algorithm>
#include <limits>

namespace emulator {

namespace {

// Integers wrap; they are computed without a sign, which their bits do not depend on.
template <class T>
using Wrapping = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;

template <class T>
struct Add {
    static T compute(T a, T b) { return static_cast<T>(Wrapping<T>(a) + Wrapping<T>(b)); }
    static constexpr Execute execute = binary<T, compute>;
};
template <class T>
struct Subtract {
    static T compute(T a, T b) { return static_cast<T>(Wrapping<T>(a) - Wrapping<T>(b)); }
    static constexpr Execute execute = binary<T, compute>;
};
// Of f32 a GPU knows one NaN alone, with all bits but the sign.
template <class T>
struct Multiply {
    static T compute(T a, T b) {
        const T product = static_cast<T>(Wrapping<T>(a) * Wrapping<T>(b));
        if constexpr (std::is_same_v<T, float>) {
            return std::isnan(product) ? std::bit_cast<float>(0x7FFFFFFFu) : product;
        }
        return product;
    }
    static constexpr Execute execute = binary<T, compute>;
};
template <class T>
struct MultiplyAdd {
    static T compute(T a, T b, T c) { return static_cast<T>(std::uint64_t(a) * std::uint64_t(b) + std::uint64_t(c)); }
    static constexpr Execute execute = ternary<T, T, compute>;
};

template <class T>
struct Double;
template <>
struct Double<std::int16_t> {
    using Type = std::int32_t;
};
template <>
struct Double<std::uint16_t> {
    using Type = std::uint32_t;
};
template <>
struct Double<std::uint8_t> {
    using Type = std::uint16_t;
};
template <>
struct Double<std::int8_t> {
    using Type = std::int16_t;
};
template <>
struct Double<std::int32_t> {
    using Type = std::int64_t;
};
template <>
struct Double<std::uint32_t> {
    using Type = std::uint64_t;
};
__extension__ using Signed128 = __int128;
__extension__ using Unsigned128 = unsigned __int128;
template <>
struct Double<std::int64_t> {
    using Type = Signed128;
};
template <>
struct Double<std::uint64_t> {
    using Type = Unsigned128;
};

template <class T>
struct MultiplyHigh {
    using Wide = typename Double<T>::Type;
    static T compute(T a, T b) { return static_cast<T>((Wide{a} * Wide{b}) >> (8 * sizeof(T))); }
    static constexpr Execute execute = binary<T, compute>;
};
template <class T>
struct MultiplyWide {
    using Wide = std::conditional_t<(sizeof(T) < 8), typename Double<T>::Type, T>;
    static Wide compute(T a, T b) { return static_cast<Wide>(Wide(a) * Wide(b)); }
    static constexpr Execute execute = binary<T, compute>;
};
template <class T>
struct MultiplyAddWide {
    using Wide = typename MultiplyWide<T>::Wide;
    static Wide compute(T a, T b, Wide c) {
        return static_cast<Wide>(Wrapping<Wide>(Wide(a) * Wide(b)) + Wrapping<Wide>(c));
    }
    static constexpr Execute execute = ternary<T, Wide, compute>;
};

// Division by 0 gives whatever on a GPU.
template <class T>
struct Divide {
    static T compute(T a, T b) {
        if constexpr (std::is_integral_v<T>) {
            return b == 0 ? static_cast<T>(-1)
                          : static_cast<T>(std::is_signed_v<T> && b == T(-1) ? T(0 - Wrapping<T>(a)) : T(a / b));
        } else {
            return a / b;
        }
    }
    static constexpr Execute execute = binary<T, compute>;
};
template <class T>
struct Remainder {
    static T compute(T a, T b) { return b == 0 || (std::is_signed_v<T> && b == T(-1)) ? T(0) : static_cast<T>(a % b); }
    static constexpr Execute execute = binary<T, compute>;
};

// The number where one is not; -0 below 0.
template <class T>
struct Least {
    static T compute(T a, T b) {
        if constexpr (std::is_integral_v<T>) {
            return std::min(a, b);
        } else {
            return std::isnan(a) ? b : std::isnan(b) ? a : a == b ? (std::signbit(a) ? a : b) : std::min(a, b);
        }
    }
    static constexpr Execute execute = binary<T, compute>;
};
template <class T>
struct Largest {
    static T compute(T a, T b) {
        if constexpr (std::is_integral_v<T>) {
            return std::max(a, b);
        } else {
            return std::isnan(a) ? b : std::isnan(b) ? a : a == b ? (std::signbit(a) ? b : a) : std::max(a, b);
        }
    }
    static constexpr Execute execute = binary<T, compute>;
};

float largest_or_nan(float a, float b) {
    return std::isnan(a) || std::isnan(b) ? std::numeric_limits<float>::quiet_NaN() : Largest<float>::compute(a, b);
}
float least_or_nan(float a, float b) {
    return std::isnan(a) || std::isnan(b) ? std::numeric_limits<float>::quiet_NaN() : Least<float>::compute(a, b);
}

// Of max.NaN.xorsign.abs.
float larger_magnitude(float a, float b) {
    const float magnitude = largest_or_nan(std::fabs(a), std::fabs(b));
    return std::signbit(a) != std::signbit(b) ? -magnitude : magnitude;
}

// One 16-bit format's operation on both halves.
template <auto compute, auto widen, auto narrow>
struct OfHalves {
    static std::uint16_t one(std::uint16_t a, std::uint16_t b) { return narrow(compute(widen(a), widen(b))); }
    static Halves both(Halves a, Halves b) { return {one(a.low, b.low), one(a.high, b.high)}; }
    static constexpr Execute execute = binary<Halves, both>;
};
template <auto compute>
Execute of_halves(std::string_view type) {
    return type == "f16x2"    ? OfHalves<compute, of_f16, to_f16>::execute
           : type == "bf16x2" ? OfHalves<compute, of_bf16, to_bf16>::execute
                              : nullptr;
}
Halves largest_of_halves(Halves a, Halves b) { return {std::max(a.low, b.low), std::max(a.high, b.high)}; }

template <class T>
struct Negative {
    static T compute(T a) {
        if constexpr (std::is_integral_v<T>) {
            return static_cast<T>(0 - Wrapping<T>(a));
        } else {
            return -a;
        }
    }
    static constexpr Execute execute = unary<T, compute>;
};
template <class T>
struct Magnitude {
    static T compute(T a) {
        if constexpr (std::is_integral_v<T>) {
            return a < T(0) ? static_cast<T>(0 - Wrapping<T>(a)) : a;
        } else {
            return std::fabs(a);
        }
    }
    static constexpr Execute execute = unary<T, compute>;
};
template <class T>
struct Root {
    static T compute(T a) { return std::sqrt(a); }
    static constexpr Execute execute = unary<T, compute>;
};
// Approximate ones: whoever uses them corrects what they give, so that any close value will do.
template <class T>
struct Reciprocal {
    static T compute(T a) { return T(1) / a; }
    static constexpr Execute execute = unary<T, compute>;
};
template <class T>
struct Fused {
    static T compute(T a, T b, T c) { return std::fma(a, b, c); }
    static constexpr Execute execute = ternary<T, T, compute>;
};

// Four or two products of parts of words, and a sum.
template <class Small, class Large>
Large dot_of_bytes(Large a, Large b, Large sum) {
    for (int i = 0; i < 4; ++i) {
        const auto product =
            static_cast<Large>(static_cast<Small>(a >> (8 * i))) * static_cast<Large>(static_cast<Small>(b >> (8 * i)));
        sum = static_cast<Large>(static_cast<std::uint32_t>(sum) + static_cast<std::uint32_t>(product));
    }
    return sum;
}
template <class Small, class Half, class Large>
Large dot_of_halves(Large a, Large b, Large sum) {
    for (int i = 0; i < 2; ++i) {
        const auto product =
            static_cast<Large>(static_cast<Half>(a >> (16 * i))) * static_cast<Large>(static_cast<Small>(b >> (8 * i)));
        sum = static_cast<Large>(static_cast<std::uint32_t>(sum) + static_cast<std::uint32_t>(product));
    }
    return sum;
}

Execute dot_of(const Opcode &opcode) {
    using S = std::int32_t;
    using U = std::uint32_t;
    const bool is_signed = opcode.last() == "s32";
    if (opcode.words[0] == "dp4a") {
        return is_signed ? ternary<S, S, dot_of_bytes<std::int8_t, S>> : ternary<U, U, dot_of_bytes<std::uint8_t, U>>;
    }
    return is_signed ? ternary<S, S, dot_of_halves<std::int8_t, std::int16_t, S>>
                     : ternary<U, U, dot_of_halves<std::uint8_t, std::uint16_t, U>>;
}

Execute extreme_of(const Opcode &opcode) {
    const bool largest = opcode.words[0] == "max";
    const std::string_view type = opcode.last();
    if (type == "u16x2" && largest) {
        return binary<Halves, largest_of_halves>;
    }
    if (opcode.has("xorsign")) {
        return largest && opcode.has("NaN") && opcode.has("abs") ? of_halves<larger_magnitude>(type) : nullptr;
    }
    if (opcode.has("NaN")) {
        const Execute pair = largest ? of_halves<largest_or_nan>(type) : of_halves<least_or_nan>(type);
        const Execute single = largest ? binary<float, largest_or_nan> : binary<float, least_or_nan>;
        return pair != nullptr ? pair : type == "f32" ? single : nullptr;
    }
    const Execute pair = largest ? of_halves<Largest<float>::compute>(type) : of_halves<Least<float>::compute>(type);
    return pair != nullptr ? pair : largest ? of_number<Largest>(type) : of_number<Least>(type);
}

Execute product_of(const Opcode &opcode) {
    const std::string_view type = opcode.last();
    const bool adds = opcode.words[0] == "mad";
    if (opcode.has("wide")) {
        return adds ? of_integer<MultiplyAddWide>(type) : of_integer<MultiplyWide>(type);
    }
    if (opcode.has("hi")) {
        return adds ? nullptr : of_integer<MultiplyHigh>(type);
    }
    return adds ? of_integer<MultiplyAdd>(type) : of_number<Multiply>(type);
}

} // namespace

Execute arithmetic_of(const Opcode &opcode) {
    const std::string_view name = opcode.words[0], type = opcode.last();
    if (opcode.has("cc") || opcode.has("sat") || opcode.has("rz") || opcode.has("rm") || opcode.has("rp")) {
        return nullptr;
    }
    return name == "add"                      ? of_number<Add>(type)
           : name == "sub"                    ? of_number<Subtract>(type)
           : name == "mul" || name == "mad"   ? product_of(opcode)
           : name == "fma"                    ? of_float<Fused>(type)
           : name == "div"                    ? of_number<Divide>(type)
           : name == "rem"                    ? of_integer<Remainder>(type)
           : name == "min" || name == "max"   ? extreme_of(opcode)
           : name == "neg"                    ? of_number<Negative>(type)
           : name == "abs"                    ? of_number<Magnitude>(type)
           : name == "sqrt"                   ? of_float<Root>(type)
           : name == "rcp"                    ? of_float<Reciprocal>(type)
           : name == "dp4a" || name == "dp2a" ? dot_of(opcode)
                                              : nullptr;
}

} // namespace emulator
