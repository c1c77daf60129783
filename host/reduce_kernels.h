// The reduction of a strip of outputs, for any operator of numerics/operators.h over any element type.
#pragma once

#include "host/tree_runs.h"
#include "host/vector_kernels.h"

namespace wr::host::WR_ISA {
namespace {

// Elements that an order-free operator combines before it settles.
constexpr std::size_t settle_length = std::size_t{1} << 20;

// At most settle_length elements of an order-free operator.
template <class Op, class T>
typename Op::Accumulator fold_piece(const T *x, std::size_t count, std::uint64_t flip) {
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
                chain[j] = CombineVectors<Op>::apply(chain[j], load_mapped<Op>(x + i + j * lanes, flip));
            }
        }
        for (; i < count; i += lanes) {
            const std::size_t length = smaller(lanes, count - i);
            chain[0] = CombineVectors<Op>::apply(chain[0], load_mapped_part<Op>(x + i, length, flip));
        }
        using C = CombineVectors<Op>;
        result = combine_lanes<Op>(C::apply(C::apply(chain[0], chain[1]), C::apply(chain[2], chain[3])));
    } else {
        for (; i < count; ++i) {
            result = Op::combine(result, Op::map(x[i], flip));
        }
    }
    return result;
}

template <class Op, class T>
typename Op::Accumulator fold(const T *x, std::size_t count, std::uint64_t flip) {
    auto all = Op::identity();
    for (std::size_t done = 0; done < count; done += settle_length) {
        const auto some = fold_piece<Op>(x + done, smaller(settle_length, count - done), flip);
        all = Op::combine(all, Op::settle(some));
    }
    return all;
}

template <class Op, class T>
typename Op::Accumulator reduce_run(const T *x, std::size_t count, std::uint64_t flip) {
    if constexpr (Op::order_free) {
        return fold<Op>(x, count, flip);
    } else {
        return run_tree<Op>(x, count, flip);
    }
}

// `width` runs whose starts lie `distance` apart; count is not 0.
template <class Op, class T>
void reduce_rows(const T *x, std::ptrdiff_t distance, std::size_t width, std::size_t count, std::uint64_t flip,
                 typename Op::Accumulator *results) {
    std::size_t done = 0;
    if constexpr (!Op::order_free) {
        if (count <= side_by_side_limit) {
            for (; width - done >= op_lanes<Op>; done += op_lanes<Op>) {
                const auto some =
                    trees_side_by_side<Op>(x + static_cast<std::ptrdiff_t>(done) * distance, distance, count, flip);
                std::memcpy(results + done, &some, sizeof some);
            }
        }
    }
    for (; done < width; ++done) {
        results[done] = reduce_run<Op>(x + static_cast<std::ptrdiff_t>(done) * distance, count, flip);
    }
}

template <class Op>
constexpr std::size_t most_columns = widest_strip / sizeof(typename Op::Accumulator);

template <class Op>
void combine_rows(const typename Op::Accumulator *__restrict left, std::size_t width,
                  typename Op::Accumulator *__restrict right) {
    for (std::size_t c = 0; c < width; ++c) {
        right[c] = Op::combine(left[c], right[c]);
    }
}

// TreeCounter for rows of accumulators, each column a tree of its own. `levels` is memory for log2(rows pushed) + 1
// rows.
template <class Op>
class RowCounter {
  public:
    using Accumulator = typename Op::Accumulator;

    RowCounter(std::size_t width, Accumulator *levels) : width_(width), levels_(levels) {}

    // `subtree` is overwritten.
    void push(Accumulator *subtree) {
        std::size_t level = 0;
        for (std::uint64_t c = count_; (c & 1u) != 0; c >>= 1) {
            combine_rows<Op>(levels_ + level * width_, width_, subtree);
            ++level;
        }
        std::memcpy(levels_ + level * width_, subtree, width_ * sizeof(Accumulator));
        ++count_;
    }

    void result(Accumulator *whole) const {
        bool first = true;
        for (std::size_t level = 0; (count_ >> level) != 0; ++level) {
            const Accumulator *subtree = levels_ + level * width_;
            if (((count_ >> level) & 1u) == 0) {
                continue;
            }
            if (first) {
                std::memcpy(whole, subtree, width_ * sizeof(Accumulator));
            } else {
                combine_rows<Op>(subtree, width_, whole);
            }
            first = false;
        }
    }

  private:
    std::size_t width_;
    Accumulator *levels_;
    std::uint64_t count_ = 0;
};

template <class Op, class T>
void map_row(const T *x, std::size_t width, std::uint64_t flip, typename Op::Accumulator *__restrict row) {
    std::size_t c = 0;
    if constexpr (MapVectors<Op, T>::known) {
        for (; width - c >= op_lanes<Op>; c += op_lanes<Op>) {
            store_vector(row + c, load_mapped<Op>(x + c, flip));
        }
    }
    for (; c < width; ++c) {
        row[c] = Op::map(x[c], flip);
    }
}

constexpr std::size_t rows_at_once = 8;

// The tree of eight values, x(0) .. x(7).
template <class Combine, class Load>
WR_HD auto tree_of_eight(const Combine &combine, const Load &x) {
    return combine(combine(combine(x(0), x(1)), combine(x(2), x(3))),
                   combine(combine(x(4), x(5)), combine(x(6), x(7))));
}

// The eight rows that follow x, a row after the other.
template <class T>
class NextRows {
  public:
    NextRows(const T *x, std::ptrdiff_t stride, std::size_t width)
        : x_(x), next_row_(8 * stride * size), stride_(stride * size),
          width_(stride == static_cast<std::ptrdiff_t>(width) ? 8 * width : width) {}

    WR_HD void prefetch_vectors(std::size_t lanes) {
        for (std::size_t i = 0; i < 8; ++i) {
            prefetch(x_, next_row_ + static_cast<std::ptrdiff_t>(column_ + i * lanes) * size);
        }
        column_ += 8 * lanes;
        if (column_ >= width_) {
            column_ = 0;
            next_row_ += stride_;
        }
    }

  private:
    static constexpr auto size = static_cast<std::ptrdiff_t>(sizeof(T));
    const T *x_;
    std::ptrdiff_t next_row_, stride_; // in bytes
    std::size_t width_, column_ = 0;
};

// The trees of eight rows, column by column. The eight that follow are asked for meanwhile: a strip's part of a row is
// too short for the processor to see it coming.
template <class Op, class T>
void reduce_eight_rows(const T *x, std::ptrdiff_t stride, std::size_t width, std::uint64_t flip,
                       typename Op::Accumulator *__restrict sums) {
    using Accumulator = typename Op::Accumulator;
    std::size_t c = 0;
    if constexpr (MapVectors<Op, T>::known) {
        NextRows<T> next(x, stride, width);
        for (; width - c >= op_lanes<Op>; c += op_lanes<Op>) {
            next.prefetch_vectors(op_lanes<Op>);
            store_vector(
                sums + c,
                tree_of_eight([](OpRegister<Op> a, OpRegister<Op> b) { return CombineVectors<Op>::apply(a, b); },
                              [&](std::ptrdiff_t row) { return load_mapped<Op>(x + row * stride + c, flip); }));
        }
    }
    for (; c < width; ++c) {
        sums[c] = tree_of_eight([](Accumulator a, Accumulator b) { return Op::combine(a, b); },
                                [&](std::ptrdiff_t row) { return Op::map((x + row * stride)[c], flip); });
    }
}

template <class Op, class T>
void column_trees(const T *x, std::ptrdiff_t stride, std::size_t width, std::size_t count, std::uint64_t flip,
                  typename Op::Accumulator *results) {
    using Accumulator = typename Op::Accumulator;
    alignas(64) Accumulator sums[most_columns<Op>];
    alignas(64) Accumulator levels[column_levels_bytes / sizeof(Accumulator)];
    RowCounter<Op> rest(width, levels), counter(width, levels + 3 * width);
    std::size_t row = 0;
    for (; count - row >= rows_at_once; row += rows_at_once) {
        reduce_eight_rows<Op>(x + static_cast<std::ptrdiff_t>(row) * stride, stride, width, flip, sums);
        counter.push(sums);
    }
    if (row < count) {
        for (; row < count; ++row) {
            map_row<Op>(x + static_cast<std::ptrdiff_t>(row) * stride, width, flip, sums);
            rest.push(sums);
        }
        rest.result(sums);
        counter.push(sums);
    }
    counter.result(results);
}

// At most settle_length rows.
template <class Op, class T>
void fold_columns(const T *x, std::ptrdiff_t stride, std::size_t width, std::size_t count, std::uint64_t flip,
                  typename Op::Accumulator *results) {
    alignas(64) typename Op::Accumulator row_values[most_columns<Op>];
    std::size_t row = 0;
    for (; count - row >= rows_at_once; row += rows_at_once) {
        reduce_eight_rows<Op>(x + static_cast<std::ptrdiff_t>(row) * stride, stride, width, flip, row_values);
        combine_rows<Op>(row_values, width, results);
    }
    for (; row < count; ++row) {
        map_row<Op>(x + static_cast<std::ptrdiff_t>(row) * stride, width, flip, row_values);
        combine_rows<Op>(row_values, width, results);
    }
}

// `width` neighbours, at most most_columns; `count` rows, not 0, `stride` apart.
template <class Op, class T>
void reduce_columns(const T *x, std::ptrdiff_t stride, std::size_t width, std::size_t count, std::uint64_t flip,
                    typename Op::Accumulator *results) {
    if constexpr (!Op::order_free) {
        column_trees<Op>(x, stride, width, count, flip, results);
    } else {
        for (std::size_t c = 0; c < width; ++c) {
            results[c] = Op::identity();
        }
        for (std::size_t row = 0; row < count; row += settle_length) {
            fold_columns<Op>(x + static_cast<std::ptrdiff_t>(row) * stride, stride, width,
                             smaller(settle_length, count - row), flip, results);
            for (std::size_t c = 0; c < width; ++c) {
                results[c] = Op::settle(results[c]);
            }
        }
    }
}

constexpr std::size_t most_gathered = 16;
constexpr std::size_t gather_length = 1024;

// At most gather_length elements, through a buffer of consecutive accumulators.
template <class Op, class T>
typename Op::Accumulator reduce_strided(const T *x, std::ptrdiff_t stride, std::size_t count, std::uint64_t flip) {
    alignas(64) typename Op::Accumulator buffer[gather_length];
    for (std::size_t i = 0; i < count; ++i) {
        buffer[i] = Op::map(x[static_cast<std::ptrdiff_t>(i) * stride], flip);
    }
    return Op::settle(reduce_run<Partial<Op>>(buffer, count, flip));
}

// `width` outputs, at most most_gathered, of any strides; blocks of their axes in turn, so that neighbours share cache
// lines while they are near.
template <class Op, class T>
void reduce_gathered(const T *x, std::ptrdiff_t axis_stride, std::ptrdiff_t inner_stride, std::size_t width,
                     std::size_t count, std::uint64_t flip, typename Op::Accumulator *results) {
    RunCounter<Op> counters[most_gathered];
    for (std::size_t done = 0; done < count; done += gather_length) {
        const std::size_t length = smaller(gather_length, count - done);
        for (std::size_t k = 0; k < width; ++k) {
            const T *from =
                x + static_cast<std::ptrdiff_t>(done) * axis_stride + static_cast<std::ptrdiff_t>(k) * inner_stride;
            results[k] = reduce_strided<Op>(from, axis_stride, length, flip);
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

// Of any strip.
template <class Op>
constexpr std::size_t most_outputs = most_columns<Op>;

struct Strip {
    std::size_t outer, inner, width;
};

template <class Job>
Strip strip_at(const Job &job, std::size_t index) {
    const std::size_t inner = index % job.strips.per_outer * job.strips.width;
    return {index / job.strips.per_outer, inner, smaller(job.strips.width, job.shape.inner - inner)};
}

template <class Op, class T>
struct Reduction {
    using Accumulator = typename Op::Accumulator;

    static void accumulate(const ReduceJob &job, const Strip &strip, std::size_t first, std::size_t count,
                           Accumulator *results) {
        const Shape &s = job.shape;
        const T *x = static_cast<const T *>(job.input) + static_cast<std::ptrdiff_t>(strip.outer) * s.outer_stride +
                     static_cast<std::ptrdiff_t>(first) * s.axis_stride +
                     static_cast<std::ptrdiff_t>(strip.inner) * s.inner_stride;
        if (count == 0) {
            for (std::size_t k = 0; k < strip.width; ++k) {
                results[k] = Op::identity();
            }
        } else if (job.access == Access::rows) {
            reduce_rows<Op>(x, s.inner_stride, strip.width, count, job.flip, results);
        } else if (job.access == Access::columns) {
            reduce_columns<Op>(x, s.axis_stride, strip.width, count, job.flip, results);
        } else {
            reduce_gathered<Op>(x, s.axis_stride, s.inner_stride, strip.width, count, job.flip, results);
        }
    }

    static void store(const ReduceJob &job, const Strip &strip, const Accumulator *results) {
        const std::size_t index = strip.outer * job.shape.inner + strip.inner;
        for (std::size_t k = 0; k < strip.width; ++k) {
            finish_accumulator(results[k], job.finish, job.output, index + k);
        }
    }

    static void reduce(const ReduceJob &job, std::size_t first, std::size_t last) {
        alignas(64) Accumulator results[most_outputs<Op>];
        for (std::size_t index = first; index < last; ++index) {
            const Strip strip = strip_at(job, index);
            accumulate(job, strip, 0, job.shape.axis, results);
            store(job, strip, results);
        }
    }

    static void piece(const ReduceJob &job, std::size_t index, std::size_t first, std::size_t count,
                      void *accumulators) {
        accumulate(job, strip_at(job, index), first, count, static_cast<Accumulator *>(accumulators));
    }

    static void merge(const ReduceJob &job, std::size_t index, std::size_t pieces, const void *accumulators) {
        const Strip strip = strip_at(job, index);
        const auto *partial = static_cast<const Accumulator *>(accumulators);
        Accumulator results[most_outputs<Op>];
        for (std::size_t k = 0; k < strip.width; ++k) {
            RunCounter<Op> counter;
            for (std::size_t p = 0; p < pieces; ++p) {
                counter.push(Op::settle(partial[p * job.strips.width + k]));
            }
            results[k] = counter.result();
        }
        store(job, strip, results);
    }
};

template <class Op, class T>
constexpr ReduceKernel reduce_kernel{sizeof(typename Op::Accumulator), Reduction<Op, T>::reduce,
                                     Reduction<Op, T>::piece, Reduction<Op, T>::merge};

} // namespace
} // namespace wr::host::WR_ISA
