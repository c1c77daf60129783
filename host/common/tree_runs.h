// The natural tree over a contiguous run of elements, and over several runs side by side, in vectors.
#pragma once

#include "host/common/vectors.h"
#include "numerics/tree.h"

namespace wr::host::WR_ISA {
namespace {

// Adds up, in pairs, what load(0) .. load(2^level - 1) give: with level = log2(lanes), the vector of their sums.
template <class Op, int level, class Load>
WR_HD auto pairwise(const Load &load, std::size_t first = 0) {
    if constexpr (level == 0) {
        return load(first);
    } else {
        // In two statements, so that memory is read upwards: the processor prefetches no other way as well.
        constexpr std::size_t half = std::size_t{1} << (level - 1);
        const auto left = pairwise<Op, level - 1>(load, first);
        const auto right = pairwise<Op, level - 1>(load, first + half);
        return add_neighbours<Op, level - 1>(left, right);
    }
}

template <class Op>
constexpr std::size_t op_lanes = lanes_of<typename Op::Accumulator>;
template <class Op>
using OpRegister = Register<typename Op::Accumulator>;

template <class Op, class Load>
WR_HD OpRegister<Op> sums_of_vectors(const Load &load) {
    return pairwise<Op, log2_of(op_lanes<Op>)>(load);
}

// Elements whose sums, or which themselves, come as one vector.
template <class Op, class T>
constexpr std::size_t wide_lanes = (PairVectors<Op, T>::known ? 2 : 1) * op_lanes<Op>;

template <class Op, class T>
WR_HD OpRegister<Op> load_wide(const T *x, const Mapping &m) {
    if constexpr (PairVectors<Op, T>::known) {
        return PairVectors<Op, T>::apply(x);
    } else {
        return load_mapped<Op>(x, m);
    }
}

// As load_wide where only the first `count` elements exist; count is at most wide_lanes.
template <class Op, class T>
WR_HD OpRegister<Op> load_wide_part(const T *x, std::size_t count, const Mapping &m) {
    if constexpr (PairVectors<Op, T>::known) {
        return PairVectors<Op, T>::apply_part(x, count);
    } else {
        return load_mapped_part<Op>(x, count, m);
    }
}

// Elements of a run of depth d: wide_lanes lanes^d.
template <class Op, class T>
constexpr std::size_t run_length(int depth) {
    return depth == 0 ? wide_lanes<Op, T> : op_lanes<Op> * run_length<Op, T>(depth - 1);
}

// What a run asks for while it is read: from memory a sum of f32 gains a tenth, from caches nothing is lost.
constexpr std::ptrdiff_t run_bytes_ahead = 2048;

// A vector of the sums of `lanes` equal parts of a run.
template <class Op, class T, int depth>
OpRegister<Op> run_sums(const T *x, const Mapping &m) {
    constexpr std::size_t part = run_length<Op, T>(depth - 1);
    if constexpr (depth == 1) {
        return sums_of_vectors<Op>([=](std::size_t i) {
            prefetch(x + i * part, run_bytes_ahead);
            return load_wide<Op>(x + i * part, m);
        });
    } else {
        OpRegister<Op> parts[op_lanes<Op>];
        for (std::size_t i = 0; i < op_lanes<Op>; ++i) {
            parts[i] = run_sums<Op, T, depth - 1>(x + i * part, m);
        }
        return sums_of_vectors<Op>([&](std::size_t i) { return parts[i]; });
    }
}

// The tree of up to 2^level vectors, the last of which may be a part; all_there: that of 2^level.
template <class Op, int level, bool all_there, class T>
typename Op::Accumulator tree_of_vectors(const T *x, std::size_t count, const Mapping &m) {
    constexpr std::size_t lanes = wide_lanes<Op, T>, last = (std::size_t{1} << level) - 1;
    const auto mixed = pairwise<Op, level>([=](std::size_t i) {
        if (all_there) {
            return i < last ? load_wide<Op>(x + i * lanes, m)
                            : load_wide_part<Op>(x + last * lanes, count - last * lanes, m);
        }
        const std::size_t before = smaller(i * lanes, count);
        return load_wide_part<Op>(x + before, smaller(count - before, lanes), m);
    });
    const auto sums = add_within<Op, level, log2_of(op_lanes<Op>)>(mixed);
    return add_within<Op, 0, level>(sums)[0];
}

// The tree of fewer elements than a run of depth 1 has, by as few vectors as hold them.
template <class Op, int level = 0, class T>
typename Op::Accumulator short_tree(const T *x, std::size_t count, const Mapping &m) {
    if constexpr (level < log2_of(op_lanes<Op>)) {
        if (count > wide_lanes<Op, T> << level) {
            return short_tree<Op, level + 1>(x, count, m);
        }
    }
    if (level < 2 || count > (wide_lanes<Op, T> << level) - wide_lanes<Op, T>) {
        return tree_of_vectors<Op, level, true>(x, count, m);
    }
    return tree_of_vectors<Op, level, false>(x, count, m);
}

// The depth whose runs have 4096 elements, or twice as many.
template <class Op>
constexpr int long_depth = 12 / log2_of(op_lanes<Op>) - 1;

// Enough for any run in a 64-bit address space.
constexpr int most_levels = 53;
template <class Op>
using RunCounter = TreeCounter<Op, most_levels>;

// The tree of any run; count is not 0.
template <class Op, class T, int depth = long_depth<Op>>
typename Op::Accumulator run_tree(const T *x, std::size_t count, const Mapping &m) {
    if constexpr (depth == 0) {
        return short_tree<Op>(x, count, m);
    } else {
        constexpr std::size_t length = run_length<Op, T>(depth);
        if (count < length) {
            return run_tree<Op, T, depth - 1>(x, count, m);
        }
        // Below the longest runs there are at most `lanes` pieces, a shorter last one among them.
        TreeCounter<Op, depth == long_depth<Op> ? most_levels : log2_of(op_lanes<Op>) + 1> counter;
        std::size_t done = 0;
        for (; count - done >= length; done += length) {
            counter.push(combine_lanes<Op>(run_sums<Op, T, depth>(x + done, m)));
        }
        if (done < count) {
            counter.push(run_tree<Op, T, depth - 1>(x + done, count - done, m));
        }
        return counter.result();
    }
}

// For a TreeCounter of registers, each lane a tree of its own.
template <class Op>
struct LaneTrees {
    using Accumulator = OpRegister<Op>;

    WR_HD static Accumulator identity() {
        Accumulator all;
        for (std::size_t i = 0; i < op_lanes<Op>; ++i) {
            all[i] = Op::identity();
        }
        return all;
    }
    WR_HD static Accumulator combine(Accumulator a, Accumulator b) { return CombineVectors<Op>::apply(a, b); }
};

// Runs at most this long are reduced `lanes` at a time: longer ones of a power-of-two distance evict one another from
// the first-level cache.
constexpr std::size_t side_by_side_limit = 512;

// The trees of `lanes` runs, the starts of which lie `distance` apart; count is 1 .. side_by_side_limit. The
// runs that follow are asked for meanwhile, upwards through memory: the processor does not see so many streams coming.
template <class Op, class T>
OpRegister<Op> trees_side_by_side(const T *x, std::ptrdiff_t distance, std::size_t count, const Mapping &m) {
    constexpr std::size_t lanes = op_lanes<Op>, wide = wide_lanes<Op, T>;
    const auto start = [=](std::size_t i) { return x + static_cast<std::ptrdiff_t>(i) * distance; };
    const auto next_runs = static_cast<std::ptrdiff_t>(lanes) * distance * static_cast<std::ptrdiff_t>(sizeof(T));
    TreeCounter<LaneTrees<Op>, log2_of(side_by_side_limit) + 1> counter;
    std::size_t done = 0;
    for (; count - done >= wide; done += wide) {
        counter.push(sums_of_vectors<Op>([&](std::size_t i) {
            prefetch(x, next_runs + static_cast<std::ptrdiff_t>((done + i) * lanes * sizeof(T)));
            return load_wide<Op>(start(i) + done, m);
        }));
    }
    if (done < count) {
        counter.push(
            sums_of_vectors<Op>([&](std::size_t i) { return load_wide_part<Op>(start(i) + done, count - done, m); }));
    }
    return counter.result();
}

} // namespace
} // namespace wr::host::WR_ISA
