// The first largest key of a contiguous run, block by block: a block is looked through for the place only where its
// largest key is larger than all before it.
#pragma once

#include "host/reduce/extreme_runs.h"

namespace wr::host::WR_ISA {
namespace {

template <class Op, class T>
constexpr bool is_found_by_bits = false;
template <class Key, class T>
constexpr bool is_found_by_bits<ArgExtreme<Key>, T> = finds_deciding_element<T>;

// Shorter runs are over before so much is set up.
template <class T>
constexpr std::size_t shortest_found = 8 * word_lanes<T>;

template <class Op, class T>
WR_HD bool finds_extreme(std::size_t count, const Mapping &m) {
    if constexpr (is_found_by_bits<Op, T>) {
        return count >= shortest_found<T> && !m.ignore_nan;
    } else {
        return false;
    }
}

// What stays in the first-level cache until it is looked through.
constexpr std::size_t searched_bytes = 16384;

// As Op, an ArgExtreme, has it of at least shortest_found elements, the first of which stands at `first` on its axis.
template <class Op, class T>
typename Op::Accumulator find_extreme(const T *x, std::size_t count, std::size_t first, const Mapping &m) {
    using Key = decltype(Op::Accumulator::key);
    constexpr std::size_t block = searched_bytes / sizeof(T);
    auto best = Op::identity();
    for (std::size_t done = 0; done < count;) {
        // A block has at least a register's elements: the last one some of those before it.
        const std::size_t start = smaller(done, count - word_lanes<T>), length = smaller(block, count - start);
        const T element = deciding_element(x + start, length, m);
        const Key key = Extreme<Key>::map(element, m);
        if (key > best.key || best.position == Op::nowhere) {
            best = {key, first + start + first_place_of(element, x + start, length)};
        }
        done = start + length;
    }
    return best;
}

} // namespace
} // namespace wr::host::WR_ISA
