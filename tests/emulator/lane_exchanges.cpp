#include "lane_values.h"
#include "operations.h"

#include <algorithm>

namespace emulator {

namespace {

// What a lane gives that takes no part: nothing that a test expects.
constexpr std::uint64_t absent_word = 0xABAD1DEA;

using Words = std::array<std::uint64_t, lanes>;

Words words_of(Warp &warp, Slot slot, LaneMask mask) {
    Words words;
    words.fill(absent_word);
    const std::uint64_t *from = warp.at(slot);
    each_lane(mask, [&](int l) { words[static_cast<std::size_t>(l)] = from[l]; });
    return words;
}

// PTX's own rule: `bounds` holds the last lane of a segment and, above it, the bits that lanes of a segment share.
template <auto source>
void shuffle(Warp &warp, const Instruction &i, LaneMask mask) {
    const Words words = words_of(warp, i.o[2], mask);
    std::uint64_t *to = warp.at(i.o[0]), *inside = warp.at(i.o[1]);
    const std::uint64_t *by = warp.at(i.o[3]), *bounds = warp.at(i.o[4]);
    each_lane(mask, [&](int l) {
        const int shared_bits = static_cast<int>(bounds[l] >> 8 & 31), last = static_cast<int>(bounds[l] & 31);
        const int first_lane = l & shared_bits, last_lane = first_lane | (last & ~shared_bits);
        int from = 0;
        const bool valid = source(l, static_cast<int>(by[l] & 31), first_lane, last_lane, shared_bits, from);
        to[l] = words[static_cast<std::size_t>(valid ? from : l)];
        inside[l] = valid ? 1 : 0;
    });
}
bool from_below(int lane, int by, int, int last, int, int &from) {
    from = lane - by;
    return from >= last;
}
bool from_above(int lane, int by, int, int last, int, int &from) {
    from = lane + by;
    return from <= last;
}
bool from_opposite(int lane, int by, int, int last, int, int &from) {
    from = lane ^ by;
    return from <= last;
}
bool from_number(int, int by, int first, int last, int shared_bits, int &from) {
    from = first | (by & ~shared_bits);
    return from <= last;
}

LaneMask votes(Warp &warp, const Instruction &i, LaneMask mask) {
    LaneMask yes = 0;
    const std::uint64_t *vote = warp.at(i.o[1]);
    each_lane(mask, [&](int l) { yes |= vote[l] != 0 ? 1u << l : 0u; });
    return yes;
}
void ballot(Warp &warp, const Instruction &i, LaneMask mask) {
    const LaneMask yes = votes(warp, i, mask);
    std::uint64_t *to = warp.at(i.o[0]);
    each_lane(mask, [&](int l) { to[l] = yes; });
}
void all_vote(Warp &warp, const Instruction &i, LaneMask mask) {
    const bool all = votes(warp, i, mask) == mask;
    std::uint64_t *to = warp.at(i.o[0]);
    each_lane(mask, [&](int l) { to[l] = all ? 1 : 0; });
}
void any_votes(Warp &warp, const Instruction &i, LaneMask mask) {
    const bool any = votes(warp, i, mask) != 0;
    std::uint64_t *to = warp.at(i.o[0]);
    each_lane(mask, [&](int l) { to[l] = any ? 1 : 0; });
}

template <class T, auto combine>
void reduce(Warp &warp, const Instruction &i, LaneMask mask) {
    const std::uint64_t *from = warp.at(i.o[1]);
    T result = value_of<T>(from[__builtin_ctz(mask)]);
    each_lane(mask & (mask - 1), [&](int l) { result = combine(result, value_of<T>(from[l])); });
    std::uint64_t *to = warp.at(i.o[0]);
    each_lane(mask, [&](int l) { to[l] = word_of(result); });
}
template <class T>
Execute reduction_of(std::string_view how) {
    return how == "max"   ? reduce<T, [](T a, T b) { return std::max(a, b); }>
           : how == "min" ? reduce<T, [](T a, T b) { return std::min(a, b); }>
           : how == "add" ? reduce<T, [](T a, T b) { return static_cast<T>(a + b); }>
           : how == "and" ? reduce<T, [](T a, T b) { return static_cast<T>(a & b); }>
           : how == "or"  ? reduce<T, [](T a, T b) { return static_cast<T>(a | b); }>
           : how == "xor" ? reduce<T, [](T a, T b) { return static_cast<T>(a ^ b); }>
                          : nullptr;
}

template <class T>
void match_any(Warp &warp, const Instruction &i, LaneMask mask) {
    const Words words = words_of(warp, i.o[1], mask);
    std::uint64_t *to = warp.at(i.o[0]);
    each_lane(mask, [&](int l) {
        LaneMask same = 0;
        each_lane(mask, [&](int other) {
            const bool equal =
                value_of<T>(words[static_cast<std::size_t>(other)]) == value_of<T>(words[static_cast<std::size_t>(l)]);
            same |= equal ? 1u << other : 0u;
        });
        to[l] = same;
    });
}

template <class T>
void match_all(Warp &warp, const Instruction &i, LaneMask mask) {
    std::uint64_t *to = warp.at(i.o[0]), *holds = warp.at(i.o[1]);
    const std::uint64_t *word = warp.at(i.o[2]);
    const T first = value_of<T>(word[__builtin_ctz(mask)]);
    bool all = true;
    each_lane(mask, [&](int l) { all = all && value_of<T>(word[l]) == first; });
    each_lane(mask, [&](int l) {
        to[l] = all ? mask : 0;
        holds[l] = all ? 1 : 0;
    });
}

void active_lanes(Warp &warp, const Instruction &i, LaneMask mask) {
    std::uint64_t *to = warp.at(i.o[0]);
    each_lane(mask, [&](int l) { to[l] = mask; });
}

void nothing(Warp &, const Instruction &, LaneMask) {}

} // namespace

Execute lane_exchange_of(const Opcode &opcode) {
    const std::string_view text = opcode.text;
    if (text.starts_with("redux.sync.") && opcode.words.size() == 4) {
        return opcode.last() == "s32" ? reduction_of<std::int32_t>(opcode.words[2])
                                      : reduction_of<std::uint32_t>(opcode.words[2]);
    }
    return text == "shfl.sync.up.b32"       ? shuffle<from_below>
           : text == "shfl.sync.down.b32"   ? shuffle<from_above>
           : text == "shfl.sync.bfly.b32"   ? shuffle<from_opposite>
           : text == "shfl.sync.idx.b32"    ? shuffle<from_number>
           : text == "vote.sync.ballot.b32" ? ballot
           : text == "vote.sync.all.pred"   ? all_vote
           : text == "vote.sync.any.pred"   ? any_votes
           : text == "match.any.sync.b32"   ? match_any<std::uint32_t>
           : text == "match.any.sync.b64"   ? match_any<std::uint64_t>
           : text == "match.all.sync.b32"   ? match_all<std::uint32_t>
           : text == "match.all.sync.b64"   ? match_all<std::uint64_t>
           : text == "activemask.b32"       ? active_lanes
           : text == "bar.warp.sync"        ? nothing
                                            : nullptr;
}

} // namespace emulator
