// The reduction of a panel of outputs by an operator of numerics/operators.h whose accumulators are numbers, the
// elements mapped in registers. No operator here is positional.
#pragma once

#include "host/reduce/extreme_runs.h"
#include "host/reduce/panel_reduction.h"

#include <bit>

namespace wr::host::WR_ISA {
namespace {

template <class Op>
constexpr bool is_extreme = false;
template <class Key>
constexpr bool is_extreme<Extreme<Key>> = true;
template <class Op>
constexpr bool is_extreme<Plain<Op>> = is_extreme<Op>;

// At most settle_length elements of an order-free operator.
template <class Op, class T>
typename Op::Accumulator fold_piece(const T *x, std::size_t count, const Mapping &m) {
    if constexpr (is_extreme<Op> && finds_deciding_element<T>) {
        if (count >= word_lanes<T> && !m.ignore_nan) {
            return Op::map(deciding_element(x, count, m), m);
        }
    }
    auto result = Op::identity();
    std::size_t i = 0;
    if constexpr (MapVectors<Op, T>::known) {
        constexpr std::size_t lanes = op_lanes<Op>, chains = 4;
        OpRegister<Op> chain[chains];
        for (auto &each : chain) {
            each = LaneTrees<Op>::identity();
        }
        for (; count - i >= chains * lanes; i += chains * lanes) {
            for (std::size_t j = 0; j < chains; ++j) {
                chain[j] = CombineVectors<Op>::apply(chain[j], load_mapped<Op>(x + i + j * lanes, m));
            }
        }
        for (; i < count; i += lanes) {
            const std::size_t length = smaller(lanes, count - i);
            chain[0] = CombineVectors<Op>::apply(chain[0], load_mapped_part<Op>(x + i, length, m));
        }
        using C = CombineVectors<Op>;
        result = combine_lanes<Op>(C::apply(C::apply(chain[0], chain[1]), C::apply(chain[2], chain[3])));
    } else {
        for (; i < count; ++i) {
            result = Op::combine(result, Op::map(x[i], m));
        }
    }
    return result;
}

template <class Op, class T>
typename Op::Accumulator fold(const T *x, std::size_t count, const Mapping &m) {
    auto all = Op::identity();
    for (std::size_t done = 0; done < count; done += settle_length) {
        const auto some = fold_piece<Op>(x + done, smaller(settle_length, count - done), m);
        all = Op::combine(all, Op::settle(some));
    }
    return all;
}

template <class Op, class T>
typename Op::Accumulator reduce_run(const T *x, std::size_t count, const Mapping &m) {
    if constexpr (Op::order_free) {
        return fold<Op>(x, count, m);
    } else {
        return run_tree<Op>(x, count, m);
    }
}

template <class Op, class T>
constexpr bool goes_side_by_side = !Op::order_free || (is_extreme<Op> && MapVectors<Op, T>::known);

// Extremes of longer runs are found sooner than their keys.
template <class Op>
constexpr std::size_t longest_side_by_side = Op::order_free ? 128 : side_by_side_limit;

// `width` runs whose starts lie `distance` apart; count is not 0.
template <class Op, class T>
void reduce_rows(const T *x, std::ptrdiff_t distance, std::size_t width, std::size_t count, const Mapping &m,
                 typename Op::Accumulator *results) {
    std::size_t done = 0;
    if constexpr (goes_side_by_side<Op, T>) {
        if (count <= longest_side_by_side<Op>) {
            for (; width - done >= op_lanes<Op>; done += op_lanes<Op>) {
                const auto some =
                    trees_side_by_side<Op>(x + static_cast<std::ptrdiff_t>(done) * distance, distance, count, m);
                std::memcpy(results + done, &some, sizeof some);
            }
        }
    }
    for (; done < width; ++done) {
        results[done] = reduce_run<Op>(x + static_cast<std::ptrdiff_t>(done) * distance, count, m);
    }
}

constexpr std::size_t rows_at_once = 8;

// The tree of x(first) .. x(first + count - 1).
template <std::size_t count, class Combine, class Load>
WR_HD auto tree_of_few(const Combine &combine, const Load &x, std::ptrdiff_t first = 0) -> decltype(x(first)) {
    if constexpr (count == 1) {
        return x(first);
    } else {
        constexpr std::size_t left = std::bit_ceil(count) / 2;
        const auto sum = tree_of_few<left>(combine, x, first);
        return combine(sum, tree_of_few<count - left>(combine, x, first + static_cast<std::ptrdiff_t>(left)));
    }
}

// As many columns are left to the compiler, which has registers of half the size.
template <class Op>
constexpr std::size_t half_register = op_lanes<Op> / 2;

// Accumulators of neighbouring columns are kept in whole registers where the elements of the last are read as a part of
// one.
template <class Op, class T>
constexpr bool fills_registers = MapVectors<Op, T>::known && parts_are_quick;
template <class Op, class T>
WR_HD std::size_t kept_columns(std::size_t width) {
    const bool whole = fills_registers<Op, T> && width != half_register<Op>;
    return whole ? divide_up(width, op_lanes<Op>) * op_lanes<Op> : width;
}

// What is asked for while a panel's eight rows are read: the same rows some vectors on, and at their end the eight that
// follow. A panel's part of a row is too short for the processor to see it coming. It goes to the second-level cache,
// for rows a power of two apart share their places in the first (65536 x 1024 f32: 15.5 GB/s, with the eight that
// follow in the first 10.7).
template <class T>
class EightRowsAhead {
  public:
    EightRowsAhead(const T *x, std::ptrdiff_t stride, std::size_t width, std::size_t lanes)
        : x_(x), stride_(stride), width_(width), lanes_(lanes), column_(vectors_ahead * lanes % width),
          row_(static_cast<std::ptrdiff_t>(vectors_ahead * lanes / width * rows_at_once)) {}

    WR_HD void prefetch_vectors() {
        for (std::ptrdiff_t row = row_; row < row_ + static_cast<std::ptrdiff_t>(rows_at_once); ++row) {
            prefetch_far(x_, (row * stride_ + static_cast<std::ptrdiff_t>(column_)) *
                                 static_cast<std::ptrdiff_t>(sizeof(T)));
        }
        column_ += lanes_;
        if (column_ >= width_) {
            column_ = 0;
            row_ += static_cast<std::ptrdiff_t>(rows_at_once);
        }
    }

  private:
    static constexpr std::size_t vectors_ahead = 16;
    const T *x_;
    std::ptrdiff_t stride_;
    std::size_t width_, lanes_, column_;
    std::ptrdiff_t row_;
};

// The trees of `count` rows, column by column, kept_columns of them; `ahead` is called before every step.
template <class Op, std::size_t count, std::size_t step, class T, class Ahead>
void trees_of_rows(const T *x, std::ptrdiff_t stride, std::size_t width, const Mapping &m, Ahead &&ahead,
                   typename Op::Accumulator *__restrict results) {
    using Accumulator = typename Op::Accumulator;
    const auto reduce_column = [&](std::size_t c) {
        results[c] = tree_of_few<count>([](Accumulator a, Accumulator b) { return Op::combine(a, b); },
                                        [&](std::ptrdiff_t row) { return Op::map((x + row * stride)[c], m); });
    };
    const auto reduce_vector = [&](std::size_t c, const auto &load) {
        const auto combine = [](OpRegister<Op> a, OpRegister<Op> b) { return CombineVectors<Op>::apply(a, b); };
        store_vector(results + c,
                     tree_of_few<count>(combine, [&](std::ptrdiff_t row) { return load(x + row * stride + c); }));
    };
    std::size_t c = 0;
    for (; c + step <= width; c += step) {
        ahead();
        if constexpr (MapVectors<Op, T>::known) {
            reduce_vector(c, [&](const T *from) { return load_mapped<Op>(from, m); });
        } else {
            for (std::size_t k = 0; k < step; ++k) {
                reduce_column(c + k);
            }
        }
    }
    if (fills_registers<Op, T> && width == half_register<Op>) {
        for (std::size_t k = 0; k < half_register<Op>; ++k) {
            reduce_column(k);
        }
    } else if constexpr (fills_registers<Op, T>) {
        if (c < width) {
            reduce_vector(c, [&](const T *from) { return load_mapped_part<Op>(from, width - c, m); });
        }
    } else {
        for (; c < width; ++c) {
            reduce_column(c);
        }
    }
}

template <class Op, class T>
constexpr std::size_t columns_at_once = MapVectors<Op, T>::known ? op_lanes<Op> : cache_line / sizeof(T);

template <class Op, class T>
void reduce_eight_rows(const T *x, std::ptrdiff_t stride, std::size_t width, const Mapping &m,
                       typename Op::Accumulator *results) {
    constexpr std::size_t step = columns_at_once<Op, T>;
    EightRowsAhead<T> ahead(x, stride, width, step);
    trees_of_rows<Op, rows_at_once, step>(x, stride, width, m, [&] { ahead.prefetch_vectors(); }, results);
}

// One row to eight, in the first-level cache or of so few that nothing need be asked for.
template <class Op, std::size_t most = rows_at_once, class T>
void trees_of_few_rows(const T *x, std::ptrdiff_t stride, std::size_t width, std::size_t count, const Mapping &m,
                       typename Op::Accumulator *results) {
    if (count == most) {
        trees_of_rows<Op, most, columns_at_once<Op, T>>(x, stride, width, m, [] {}, results);
    } else if constexpr (most > 1) {
        trees_of_few_rows<Op, most - 1>(x, stride, width, count, m, results);
    }
}

// One row to eight.
template <class Op, class T>
void reduce_few_rows(const T *x, std::ptrdiff_t stride, std::size_t width, std::size_t count, const Mapping &m,
                     typename Op::Accumulator *results) {
    if (count == rows_at_once) {
        reduce_eight_rows<Op>(x, stride, width, m, results);
    } else {
        trees_of_few_rows<Op, rows_at_once - 1>(x, stride, width, count, m, results);
    }
}

template <class Op, std::size_t levels_bytes, class T>
void column_trees(const T *x, std::ptrdiff_t stride, std::size_t width, std::size_t count, const Mapping &m,
                  typename Op::Accumulator *results) {
    using Accumulator = typename Op::Accumulator;
    alignas(64) Accumulator sums[most_columns<Op>];
    alignas(64) Accumulator levels[levels_bytes / sizeof(Accumulator)];
    RowCounter<Op> counter(kept_columns<Op, T>(width), levels);
    for (std::size_t row = 0; row < count; row += rows_at_once) {
        reduce_few_rows<Op>(x + static_cast<std::ptrdiff_t>(row) * stride, stride, width,
                            smaller(rows_at_once, count - row), m, sums);
        counter.push(sums);
    }
    counter.result(results);
}

// At most settle_length rows, onto `results`.
template <class Op, class T>
void fold_columns(const T *x, std::ptrdiff_t stride, std::size_t width, std::size_t count, const Mapping &m,
                  typename Op::Accumulator *results) {
    alignas(64) typename Op::Accumulator row_values[most_columns<Op>];
    for (std::size_t row = 0; row < count; row += rows_at_once) {
        reduce_few_rows<Op>(x + static_cast<std::ptrdiff_t>(row) * stride, stride, width,
                            smaller(rows_at_once, count - row), m, row_values);
        combine_rows<Op>(row_values, kept_columns<Op, T>(width), results);
    }
}

// Rows that lie one behind the other, in any order: so many are one row that fills registers, and more than a few. 1:
// each is taken as it is.
template <class Op>
std::size_t rows_in_one(std::ptrdiff_t stride, std::size_t width, std::size_t count) {
    const bool fills_some = width % op_lanes<Op> == 0 && width >= 4 * op_lanes<Op>;
    if (stride != static_cast<std::ptrdiff_t>(width) || fills_some) {
        return 1;
    }
    const std::size_t rows = power_of_two_in(smaller(most_columns<Op> / width, count / rows_at_once));
    return rows * width % op_lanes<Op> == 0 ? larger(rows, std::size_t{1}) : 1;
}

template <class Op>
void settle_columns(typename Op::Accumulator *results, std::size_t width) {
    for (std::size_t c = 0; c < width; ++c) {
        results[c] = Op::settle(results[c]);
    }
}

template <class Op, class T>
void fold_all_columns(const T *x, std::ptrdiff_t stride, std::size_t width, std::size_t count, const Mapping &m,
                      typename Op::Accumulator *results) {
    alignas(64) typename Op::Accumulator sums[most_columns<Op>];
    const std::size_t in_one = rows_in_one<Op>(stride, width, count), columns = in_one * width;
    for (std::size_t c = 0; c < kept_columns<Op, T>(columns); ++c) {
        sums[c] = Op::identity();
    }
    const std::size_t steps = count / in_one;
    for (std::size_t row = 0; row < steps; row += settle_length) {
        fold_columns<Op>(x + static_cast<std::ptrdiff_t>(row * in_one) * stride,
                         stride * static_cast<std::ptrdiff_t>(in_one), columns, smaller(settle_length, steps - row), m,
                         sums);
        settle_columns<Op>(sums, columns);
    }
    for (std::size_t row = 1; row < in_one; ++row) {
        combine_rows<Op>(sums + row * width, width, sums);
    }
    fold_columns<Op>(x + static_cast<std::ptrdiff_t>(steps * in_one) * stride, stride, width, count - steps * in_one, m,
                     sums);
    settle_columns<Op>(sums, width);
    std::memcpy(results, sums, width * sizeof(typename Op::Accumulator));
}

// `width` neighbours, at most most_columns; `count` rows, not 0, `stride` apart. `results` has room for whole
// registers.
template <class Op, std::size_t levels_bytes = column_levels_bytes, class T>
void reduce_columns(const T *x, std::ptrdiff_t stride, std::size_t width, std::size_t count, const Mapping &m,
                    typename Op::Accumulator *results) {
    if (count <= rows_at_once) {
        reduce_few_rows<Op>(x, stride, width, count, m, results);
        settle_columns<Op>(results, width);
    } else if constexpr (!Op::order_free) {
        column_trees<Op, levels_bytes>(x, stride, width, count, m, results);
    } else {
        fold_all_columns<Op>(x, stride, width, count, m, results);
    }
}

constexpr std::size_t gather_length = 1024;

// At most gather_length elements, through a buffer of consecutive accumulators.
template <class Op, class T>
typename Op::Accumulator reduce_strided(const T *x, std::ptrdiff_t stride, std::size_t count, const Mapping &m) {
    alignas(64) typename Op::Accumulator buffer[gather_length];
    for (std::size_t i = 0; i < count; ++i) {
        buffer[i] = Op::map(x[static_cast<std::ptrdiff_t>(i) * stride], m);
    }
    return Op::settle(reduce_run<Partial<Op>>(buffer, count, m));
}

// `width` outputs, at most most_gathered, of any strides; blocks of their axes in turn, so that neighbours share cache
// lines while they are near.
template <class Op, class T>
void reduce_gathered(const T *x, std::ptrdiff_t axis_stride, std::ptrdiff_t inner_stride, std::size_t width,
                     std::size_t count, const Mapping &m, typename Op::Accumulator *results) {
    RunCounter<Op> counters[most_gathered];
    for (std::size_t done = 0; done < count; done += gather_length) {
        const std::size_t length = smaller(gather_length, count - done);
        for (std::size_t k = 0; k < width; ++k) {
            const T *from =
                x + static_cast<std::ptrdiff_t>(done) * axis_stride + static_cast<std::ptrdiff_t>(k) * inner_stride;
            results[k] = reduce_strided<Op>(from, axis_stride, length, m);
            counters[k].push(results[k]);
        }
    }
    if (count <= gather_length) {
        return;
    }
    for (std::size_t k = 0; k < width; ++k) {
        results[k] = counters[k].result();
    }
}

// Elements straight from memory into registers: for the operators and types that are asked for most.
template <class Op, class T>
struct DirectReduction {
    using Operator = Op;
    using Accumulator = typename Op::Accumulator;

    static void accumulate(const ReduceJob &job, const Panel &panel, std::size_t first, std::size_t count,
                           Accumulator *results) {
        const Shape &s = job.shape;
        const T *x = static_cast<const T *>(job.input) + offset_of(s, panel, first);
        if (job.access == Access::rows) {
            reduce_rows<Op>(x, s.inner_stride, panel.width, count, job.mapping, results);
        } else if (job.access == Access::columns) {
            reduce_columns<Op>(x, s.axis_stride, panel.width, count, job.mapping, results);
        } else {
            reduce_gathered<Op>(x, s.axis_stride, s.inner_stride, panel.width, count, job.mapping, results);
        }
    }

    static Accumulator segment(const void *input, std::size_t first, std::size_t count, const Mapping &m) {
        return reduce_run<Op>(static_cast<const T *>(input) + first, count, m);
    }
};

} // namespace
} // namespace wr::host::WR_ISA
