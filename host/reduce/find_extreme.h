// The first largest key of a contiguous run, block by block: only the first block that has it is looked through for the
// place.
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
constexpr std::size_t shortest_found = 16 * word_lanes<T>;

template <class Op, class T>
WR_HD bool finds_extreme(std::size_t count, const Mapping &m) {
    if constexpr (is_found_by_bits<Op, T>) {
        return count >= shortest_found<T> && !m.ignore_nan;
    } else {
        return false;
    }
}

// What is looked through for the place: of a run, the block that decides.
constexpr std::size_t searched_bytes = 16384;

// As Op, an ArgExtreme, has it of at least shortest_found elements, the first of which stands at `first` on its axis.
template <class Op, class T>
typename Op::Accumulator find_extreme(const T *x, std::size_t count, std::size_t first, const Mapping &m) {
    using Key = decltype(Op::Accumulator::key);
    constexpr std::size_t block = searched_bytes / sizeof(T);
    T best = x[0];
    Key best_key = Extreme<Key>::map(best, m);
    std::size_t best_start = 0;
    for (std::size_t done = 0; done < count;) {
        // A block has at least a register's elements: the last one some of those before it.
        const std::size_t start = smaller(done, count - word_lanes<T>), length = smaller(block, count - start);
        const T element = deciding_element(x + start, length, m);
        const Key key = Extreme<Key>::map(element, m);
        if (key > best_key) {
            best = element;
            best_key = key;
            best_start = start;
        }
        done = start + length;
    }
    return {best_key, first + best_start + first_place_of(best, x + best_start, smaller(block, count - best_start))};
}

} // namespace
} // namespace wr::host::WR_ISA
