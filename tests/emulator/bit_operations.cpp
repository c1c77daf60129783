#include "lane_values.h"
#include "operations.h"

namespace emulator {

namespace {

template <class T>
struct And {
    static T compute(T a, T b) { return static_cast<T>(a & b); }
    static constexpr Execute execute = binary<T, compute>;
};
template <class T>
struct Or {
    static T compute(T a, T b) { return static_cast<T>(a | b); }
    static constexpr Execute execute = binary<T, compute>;
};
template <class T>
struct Xor {
    static T compute(T a, T b) { return static_cast<T>(a ^ b); }
    static constexpr Execute execute = binary<T, compute>;
};
template <class T>
struct Not {
    static T compute(T a) { return static_cast<T>(~a); }
    static constexpr Execute execute = unary<T, compute>;
};

// Of a shift by more than there are bits, nothing is left but signs.
template <class T>
void shift_left(Warp &warp, const Instruction &i, LaneMask mask) {
    std::uint64_t *to = warp.at(i.o[0]);
    const std::uint64_t *a = warp.at(i.o[1]), *by = warp.at(i.o[2]);
    each_lane(mask, [&](int l) {
        const auto bits = static_cast<std::uint32_t>(by[l]);
        to[l] = bits >= 8 * sizeof(T) ? 0 : word_of(static_cast<T>(std::uint64_t(value_of<T>(a[l])) << bits));
    });
}
template <class T>
void shift_right(Warp &warp, const Instruction &i, LaneMask mask) {
    std::uint64_t *to = warp.at(i.o[0]);
    const std::uint64_t *a = warp.at(i.o[1]), *by = warp.at(i.o[2]);
    each_lane(mask, [&](int l) {
        const auto bits = static_cast<std::uint32_t>(by[l]);
        const T x = value_of<T>(a[l]);
        to[l] = bits >= 8 * sizeof(T) ? word_of(static_cast<T>(x < T(0) ? -1 : 0)) : word_of(static_cast<T>(x >> bits));
    });
}
template <class T>
struct ShiftLeft {
    static constexpr Execute execute = shift_left<T>;
};
template <class T>
struct ShiftRight {
    static constexpr Execute execute = shift_right<T>;
};

using Word = std::uint32_t;

Word funnel_right_wrapping(Word low, Word high, Word by) {
    return static_cast<Word>((std::uint64_t{high} << 32 | low) >> (by & 31));
}
Word funnel_right_clamped(Word low, Word high, Word by) {
    return static_cast<Word>((std::uint64_t{high} << 32 | low) >> (by < 32 ? by : 32));
}
Word funnel_left_wrapping(Word low, Word high, Word by) {
    return static_cast<Word>((std::uint64_t{high} << 32 | low) << (by & 31) >> 32);
}
Word funnel_left_clamped(Word low, Word high, Word by) {
    return static_cast<Word>((std::uint64_t{high} << 32 | low) << (by < 32 ? by : 32) >> 32);
}

// Byte number i is the one of low and high, eight together, that digit number i of `which` says, or only its sign.
Word permute_bytes(Word low, Word high, Word which) {
    const std::uint64_t both = std::uint64_t{high} << 32 | low;
    Word word = 0;
    for (int i = 0; i < 4; ++i) {
        const Word digit = which >> (4 * i) & 15;
        const auto byte = static_cast<std::uint8_t>(both >> (8 * (digit & 7)));
        const Word result = (digit & 8) == 0 ? byte : (byte & 0x80) != 0 ? 0xFF : 0;
        word |= result << (8 * i);
    }
    return word;
}

Word leading_zeros(Word a) { return static_cast<Word>(std::countl_zero(a)); }
Word leading_zeros_of_64(std::uint64_t a) { return static_cast<Word>(std::countl_zero(a)); }
Word ones(Word a) { return static_cast<Word>(std::popcount(a)); }
Word ones_of_64(std::uint64_t a) { return static_cast<Word>(std::popcount(a)); }
Word reversed(Word a) {
    Word result = 0;
    for (int i = 0; i < 32; ++i) {
        result |= (a >> i & 1) << (31 - i);
    }
    return result;
}
// How far the highest one is from the top.
Word shift_to_highest(Word a) { return a == 0 ? ~Word{0} : static_cast<Word>(std::countl_zero(a)); }

template <class T>
void insert_bits(Warp &warp, const Instruction &i, LaneMask mask) {
    std::uint64_t *to = warp.at(i.o[0]);
    const std::uint64_t *bits = warp.at(i.o[1]), *into = warp.at(i.o[2]), *from = warp.at(i.o[3]),
                        *count = warp.at(i.o[4]);
    constexpr unsigned width = 8 * sizeof(T);
    each_lane(mask, [&](int l) {
        const auto position = static_cast<unsigned>(from[l] & 255), length = static_cast<unsigned>(count[l] & 255);
        const T ones = length >= width ? static_cast<T>(-1) : static_cast<T>((T{1} << length) - 1);
        const T field = position >= width ? T{0} : static_cast<T>(ones << position);
        const T moved = position >= width ? T{0} : static_cast<T>(value_of<T>(bits[l]) << position);
        to[l] = word_of(static_cast<T>((value_of<T>(into[l]) & ~field) | (moved & field)));
    });
}

// Between words of one width a move is a copy; a float's NaN keeps its bits.
void move(Warp &warp, const Instruction &i, LaneMask mask) {
    std::uint64_t *to = warp.at(i.o[0]);
    const std::uint64_t *a = warp.at(i.o[1]);
    each_lane(mask, [&](int l) { to[l] = a[l]; });
}
void select(Warp &warp, const Instruction &i, LaneMask mask) {
    std::uint64_t *to = warp.at(i.o[0]);
    const std::uint64_t *a = warp.at(i.o[1]), *b = warp.at(i.o[2]), *which = warp.at(i.o[3]);
    each_lane(mask, [&](int l) { to[l] = which[l] != 0 ? a[l] : b[l]; });
}

template <auto compute>
void of_predicates(Warp &warp, const Instruction &i, LaneMask mask) {
    std::uint64_t *to = warp.at(i.o[0]);
    const std::uint64_t *a = warp.at(i.o[1]), *b = warp.at(i.count > 2 ? i.o[2] : i.o[1]);
    each_lane(mask, [&](int l) { to[l] = compute(a[l] != 0, b[l] != 0) ? 1 : 0; });
}
Execute predicate_operation_of(std::string_view name) {
    return name == "and"   ? of_predicates<[](bool a, bool b) { return a && b; }>
           : name == "or"  ? of_predicates<[](bool a, bool b) { return a || b; }>
           : name == "xor" ? of_predicates<[](bool a, bool b) { return a != b; }>
           : name == "not" ? of_predicates<[](bool a, bool) { return !a; }>
           : name == "mov" ? move
                           : nullptr;
}

} // namespace

Execute bit_operation_of(const Opcode &opcode) {
    const std::string_view name = opcode.words[0], type = opcode.last();
    if (type == "pred") {
        return predicate_operation_of(name);
    }
    if (name == "clz") {
        return type == "b32" ? unary<Word, leading_zeros> : unary<std::uint64_t, leading_zeros_of_64>;
    }
    if (name == "popc") {
        return type == "b32" ? unary<Word, ones> : unary<std::uint64_t, ones_of_64>;
    }
    if (name == "shf") {
        return opcode.text == "shf.r.clamp.b32"   ? ternary<Word, Word, funnel_right_clamped>
               : opcode.text == "shf.r.wrap.b32"  ? ternary<Word, Word, funnel_right_wrapping>
               : opcode.text == "shf.l.wrap.b32"  ? ternary<Word, Word, funnel_left_wrapping>
               : opcode.text == "shf.l.clamp.b32" ? ternary<Word, Word, funnel_left_clamped>
                                                  : nullptr;
    }
    return name == "and"                                ? of_integer<And>(type)
           : name == "or"                               ? of_integer<Or>(type)
           : name == "xor"                              ? of_integer<Xor>(type)
           : name == "not"                              ? of_integer<Not>(type)
           : name == "shl"                              ? of_integer<ShiftLeft>(type)
           : name == "shr"                              ? of_integer<ShiftRight>(type)
           : name == "prmt" && opcode.words.size() == 2 ? ternary<Word, Word, permute_bytes>
           : name == "brev" && type == "b32"            ? unary<Word, reversed>
           : opcode.text == "bfind.shiftamt.u32"        ? unary<Word, shift_to_highest>
           : opcode.text == "bfi.b32"                   ? insert_bits<std::uint32_t>
           : opcode.text == "bfi.b64"                   ? insert_bits<std::uint64_t>
           : name == "mov"                              ? move
           : name == "selp"                             ? select
                                                        : nullptr;
}

} // namespace emulator
