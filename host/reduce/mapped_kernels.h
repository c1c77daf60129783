// Reductions that map a block of elements into a buffer and then combine the buffer. Compiled once for each way of
// combining; an operator on an element type adds no more than the loop that maps.
#pragma once

#include "host/reduce/element_maps.h"
#include "host/reduce/find_extreme.h"
#include "host/reduce/panel_reduction.h"
#include "host/reduce/products.h"
#include "host/reduce/reduce_kernels.h"

#include <algorithm>
#include <limits>

namespace wr::host::WR_ISA {
namespace {

// Combining a block's values, which are consecutive on the axis from `first` on. The buffer is overwritten.
template <class Op>
struct BlockOf {
    using Accumulator = typename Op::Accumulator;

    static Accumulator combine(Accumulator *values, std::size_t count, std::size_t, const Mapping &m) {
        if constexpr (Op::order_free) {
            return by_halves(values, count);
        } else if constexpr (!std::is_arithmetic_v<Accumulator>) {
            return by_neighbours(values, count);
        } else {
            return run_tree<Partial<Op>>(values, count, m);
        }
    }

    static Accumulator at(const Accumulator &value, std::size_t, const Mapping &) { return value; }

  private:
    // Level by level; what has no neighbour moves up as it is.
    static Accumulator by_neighbours(Accumulator *values, std::size_t count) {
        while (count > 1) {
            for (std::size_t i = 0; i < count / 2; ++i) {
                values[i] = Op::combine(values[2 * i], values[2 * i + 1]);
            }
            values[count / 2] = values[count - 1];
            count = divide_up(count, std::size_t{2});
        }
        return values[0];
    }

    // Halves upon one another: each step is a loop without dependencies.
    static Accumulator by_halves(Accumulator *values, std::size_t count) {
        while (count > 1) {
            const std::size_t pairs = count / 2, left = count - pairs;
            Accumulator *__restrict lower = values;
            const Accumulator *__restrict upper = values + left;
            for (std::size_t i = 0; i < pairs; ++i) {
                lower[i] = Op::combine(lower[i], upper[i]);
            }
            count = left;
        }
        return values[0];
    }
};

// The sum and the count are trees of their own.
template <class Float>
struct BlockOf<CountedFloatSum<Float>> {
    using Accumulator = Counted<Float>;

    static Accumulator combine(Float *values, std::size_t count, std::size_t, const Mapping &m) {
        std::uint32_t left = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const bool absent = is_nan(values[i]);
            left += absent ? 0 : 1;
            values[i] = absent ? Float(-0.0) : values[i];
        }
        return {run_tree<FloatSum<Float>>(values, count, m), left};
    }

    static Accumulator at(Float value, std::size_t, const Mapping &) {
        return is_nan(value) ? CountedFloatSum<Float>::identity() : Accumulator{value, 1};
    }
};

// The largest key, then the first place where it stands.
template <class Key>
struct BlockOf<ArgExtreme<Key>> {
    using Accumulator = KeyAt<Key>;

    static Accumulator combine(const Key *keys, std::size_t count, std::size_t first, const Mapping &m) {
        Key best = Extreme<Key>::identity();
        for (std::size_t i = 0; i < count; ++i) {
            best = larger(best, keys[i]);
        }
        Key place = static_cast<Key>(count);
        for (std::size_t i = 0; i < count; ++i) {
            place = smaller(place, keys[i] == best ? static_cast<Key>(i) : static_cast<Key>(count));
        }
        return at(best, first + static_cast<std::size_t>(place), m);
    }

    // The identity's key is that of no number: where NaNs are left out, it is theirs.
    static Accumulator at(Key key, std::size_t position, const Mapping &m) {
        return m.ignore_nan && key == Extreme<Key>::identity() ? ArgExtreme<Key>::identity()
                                                               : Accumulator{key, position};
    }
};

// A power of two, so that a block is a subtree; buffers stay in the first-level cache.
constexpr std::size_t block_bytes = 8192;
template <class Op>
constexpr std::size_t block_length = block_bytes / sizeof(ValueOf<Op>);
static_assert(block_bytes / sizeof(float) == longest_run);

template <std::size_t size>
void gather_elements(const std::byte *from, std::ptrdiff_t stride, std::size_t count, std::byte *to) {
    const std::ptrdiff_t distance = stride * static_cast<std::ptrdiff_t>(size);
    for (std::size_t i = 0; i < count; ++i) {
        std::memcpy(to + i * size, from + static_cast<std::ptrdiff_t>(i) * distance, size);
    }
}

void gather(const std::byte *from, std::ptrdiff_t stride, std::size_t count, std::size_t size, std::byte *to) {
    switch (size) {
    case 1:
        return gather_elements<1>(from, stride, count, to);
    case 2:
        return gather_elements<2>(from, stride, count, to);
    case 4:
        return gather_elements<4>(from, stride, count, to);
    case 8:
        return gather_elements<8>(from, stride, count, to);
    default:
        return gather_elements<16>(from, stride, count, to);
    }
}

// `count` copies of one element, count not 0.
void repeat(const void *element, std::size_t size, std::size_t count, std::byte *to) {
    std::memcpy(to, element, size);
    for (std::size_t done = 1; done < count; done *= 2) {
        std::memcpy(to + done * size, to, smaller(done, count - done) * size);
    }
}

template <class Op>
class MappedElements {
  public:
    using Value = ValueOf<Op>;
    using Accumulator = typename Op::Accumulator;

    MappedElements(const ElementMap<Value> &elements, const Mapping &m) : elements_(elements), m_(m) {}

    // `count` elements, not none, the first of which is at `first` on the axis.
    Accumulator axis(const std::byte *x, std::ptrdiff_t stride, std::size_t count, std::size_t first) const {
        if (count <= block_length<Op>) {
            return block(x, stride, count, first);
        }
        RunCounter<Op> counter;
        for (std::size_t done = 0; done < count; done += block_length<Op>) {
            counter.push(
                block(x + distance(done, stride), stride, smaller(block_length<Op>, count - done), first + done));
        }
        return counter.result();
    }

    void rows(const std::byte *x, std::ptrdiff_t inner_stride, std::size_t width, std::size_t count, std::size_t first,
              Accumulator *results) const {
        std::size_t done = 0;
        if constexpr (has_vector_tree) {
            if (count <= block_length<Op> / op_lanes<Op>) {
                for (; width - done >= op_lanes<Op>; done += op_lanes<Op>) {
                    side_by_side(x + distance(done, inner_stride), inner_stride, count, first, results + done);
                }
            }
        }
        for (; done < width; ++done) {
            results[done] = axis(x + distance(done, inner_stride), 1, count, first);
        }
    }

    // Blocks of the outputs' axes in turn, so that neighbours share cache lines while they are near.
    void gathered(const std::byte *x, std::ptrdiff_t axis_stride, std::ptrdiff_t inner_stride, std::size_t width,
                  std::size_t count, std::size_t first, Accumulator *results) const {
        RunCounter<Op> counters[most_gathered];
        for (std::size_t done = 0; done < count; done += block_length<Op>) {
            const std::size_t length = smaller(block_length<Op>, count - done);
            const std::byte *from = x + distance(done, axis_stride);
            for (std::size_t k = 0; k < width; ++k) {
                counters[k].push(block(from + distance(k, inner_stride), axis_stride, length, first + done));
            }
        }
        for (std::size_t k = 0; k < width; ++k) {
            results[k] = counters[k].result();
        }
    }

    void columns(const std::byte *x, std::ptrdiff_t axis_stride, std::size_t width, std::size_t count,
                 std::size_t first, Accumulator *results) const {
        if constexpr (!std::is_same_v<Value, Accumulator> && Op::order_free) {
            find_in_columns(x, axis_stride, width, count, first, results);
        } else if constexpr (Op::order_free) {
            fold_columns(x, axis_stride, width, count, first, results);
        } else {
            column_trees(x, axis_stride, width, count, first, results);
        }
    }

  private:
    static constexpr std::size_t few_columns = 5 * lanes_of<Value>;

    static constexpr bool has_vector_tree =
        !Op::order_free && std::is_same_v<Value, Accumulator> && std::is_arithmetic_v<Accumulator>;

    std::ptrdiff_t distance(std::size_t steps, std::ptrdiff_t stride) const {
        return static_cast<std::ptrdiff_t>(steps) * stride * static_cast<std::ptrdiff_t>(elements_.element_size);
    }

    Accumulator block(const std::byte *x, std::ptrdiff_t stride, std::size_t count, std::size_t first) const {
        alignas(64) Value values[block_length<Op>];
        alignas(64) std::byte contiguous[2 * block_bytes];
        if (stride != 1) {
            gather(x, stride, count, elements_.element_size, contiguous);
            x = contiguous;
        }
        elements_.map(x, count, first, m_, values);
        return Op::settle(BlockOf<Op>::combine(values, count, first, m_));
    }

    // As many short rows as a register has lanes, each lane a tree of its own.
    void side_by_side(const std::byte *x, std::ptrdiff_t inner_stride, std::size_t count, std::size_t first,
                      Accumulator *results) const {
        alignas(64) Value values[block_length<Op>];
        for (std::size_t k = 0; k < op_lanes<Op>; ++k) {
            elements_.map(x + distance(k, inner_stride), count, first, m_, values + k * count);
        }
        store_vector(results, trees_side_by_side<Partial<Op>>(values, static_cast<std::ptrdiff_t>(count), count, m_));
    }

    // Row r of the panel, which begins at x, and what is asked for meanwhile: some rows on, to the second-level cache.
    const std::byte *row_at(const std::byte *x, std::ptrdiff_t axis_stride, std::size_t width, std::size_t r) const {
        constexpr std::size_t bytes_ahead = 16384;
        const std::size_t bytes = width * elements_.element_size;
        const std::byte *const row = x + distance(r, axis_stride);
        const std::ptrdiff_t ahead = distance(divide_up(bytes_ahead, bytes), axis_stride);
        for (std::size_t at = 0; at < bytes; at += cache_line) {
            prefetch_far(row, ahead + static_cast<std::ptrdiff_t>(at));
        }
        return row;
    }

    // A row of the panel: its elements all stand at one position of their axes.
    void row(const std::byte *x, std::size_t width, std::size_t position, Accumulator *accumulators) const {
        if constexpr (std::is_same_v<Value, Accumulator>) {
            map_row(x, width, position, accumulators);
        } else {
            alignas(64) Value values[most_columns<Op>];
            map_row(x, width, position, values);
            for (std::size_t c = 0; c < width; ++c) {
                accumulators[c] = BlockOf<Op>::at(values[c], position, m_);
            }
        }
    }

    void map_row(const std::byte *x, std::size_t width, std::size_t position, Value *values) const {
        if (elements_.weight_size == 0) {
            elements_.map(x, width, position, m_, values);
            return;
        }
        alignas(64) std::byte weights[widest_panel];
        const std::size_t size = elements_.weight_size;
        repeat(static_cast<const std::byte *>(m_.weights) + position * size, size, width, weights);
        Mapping m = m_;
        m.weights = weights;
        elements_.map(x, width, 0, m, values);
    }

    void column_trees(const std::byte *x, std::ptrdiff_t axis_stride, std::size_t width, std::size_t count,
                      std::size_t first, Accumulator *results) const {
        alignas(64) Accumulator levels[column_levels_bytes / sizeof(Accumulator)];
        RowCounter<Op> counter(width, levels);
        for (std::size_t r = 0; r < count; ++r) {
            row(row_at(x, axis_stride, width, r), width, first + r, results);
            counter.push(results);
        }
        counter.result(results);
    }

    void fold_columns(const std::byte *x, std::ptrdiff_t axis_stride, std::size_t width, std::size_t count,
                      std::size_t first, Accumulator *results) const {
        alignas(64) Accumulator values[most_columns<Op>];
        row(x, width, first, results);
        for (std::size_t r = 1; r < count; ++r) {
            row(row_at(x, axis_stride, width, r), width, first + r, values);
            combine_rows<Op>(values, width, results);
            if (r % settle_length == 0) {
                settle(results, width);
            }
        }
        settle(results, width);
    }

    // The first largest keys, of fewer rows at a time than a key counts.
    void find_in_columns(const std::byte *x, std::ptrdiff_t axis_stride, std::size_t width, std::size_t count,
                         std::size_t first, Accumulator *results) const {
        constexpr std::size_t most = std::size_t{1} << 30;
        find_in_rows(x, axis_stride, width, smaller(most, count), first, results);
        for (std::size_t done = most; done < count; done += most) {
            Accumulator later[most_columns<Op>];
            find_in_rows(x + distance(done, axis_stride), axis_stride, width, smaller(most, count - done), first + done,
                         later);
            combine_rows<Op>(results, width, later);
            std::memcpy(results, later, width * sizeof(Accumulator));
        }
    }

    // Rows come in order, so only a larger key takes a place.
    void find_in_rows(const std::byte *x, std::ptrdiff_t axis_stride, std::size_t width, std::size_t count,
                      std::size_t first, Accumulator *results) const {
        if (width <= few_columns && axis_stride == static_cast<std::ptrdiff_t>(width) && elements_.weight_size == 0) {
            return find_in_few_columns(x, width, count, first, results);
        }
        alignas(64) Value best[most_columns<Op>], places[most_columns<Op>], keys[most_columns<Op>];
        map_row(row_at(x, axis_stride, width, 0), width, first, best);
        std::memset(places, 0, width * sizeof(Value));
        for (std::size_t r = 1; r < count; ++r) {
            map_row(row_at(x, axis_stride, width, r), width, first + r, keys);
            take_larger(keys, width, static_cast<Value>(r), best, places);
        }
        for (std::size_t c = 0; c < width; ++c) {
            results[c] = BlockOf<Op>::at(best[c], first + static_cast<std::size_t>(places[c]), m_);
        }
    }

    // The same of rows one behind the other, which are mapped together. Registers that reach beyond the last column
    // find something there that nobody asks for.
    void find_in_few_columns(const std::byte *x, std::size_t width, std::size_t count, std::size_t first,
                             Accumulator *results) const {
        constexpr std::size_t lanes = lanes_of<Value>;
        alignas(64) Value best[few_columns + lanes], places[few_columns + lanes] = {}, keys[block_length<Op> + lanes];
        const std::size_t at_once = block_length<Op> / width, whole = divide_up(width, lanes) * lanes;
        for (std::size_t done = 0; done < count; done += at_once) {
            const std::size_t some = smaller(at_once, count - done);
            elements_.map(x + distance(done * width, 1), some * width, first + done, m_, keys);
            if (done == 0) {
                std::memcpy(best, keys, whole * sizeof(Value));
            }
            for (std::size_t r = 0; r < some; ++r) {
                take_larger(keys + r * width, whole, static_cast<Value>(done + r), best, places);
            }
        }
        for (std::size_t c = 0; c < width; ++c) {
            results[c] = BlockOf<Op>::at(best[c], first + static_cast<std::size_t>(places[c]), m_);
        }
    }

    static void take_larger(const Value *__restrict keys, std::size_t count, Value place, Value *__restrict best,
                            Value *__restrict places) {
        for (std::size_t c = 0; c < count; ++c) {
            places[c] = keys[c] > best[c] ? place : places[c];
            best[c] = larger(best[c], keys[c]);
        }
    }

    static void settle(Accumulator *results, std::size_t width) {
        for (std::size_t c = 0; c < width; ++c) {
            results[c] = Op::settle(results[c]);
        }
    }

    const ElementMap<Value> elements_;
    const Mapping &m_;
};

// One copy for all element types and all operators that combine alike.
template <class Op>
__attribute__((noinline)) void accumulate_mapped(const ElementMap<ValueOf<Op>> &elements, const ReduceJob &job,
                                                 const Panel &panel, std::size_t first, std::size_t count,
                                                 typename Op::Accumulator *results) {
    const Shape &s = job.shape;
    const MappedElements<Op> mapped(elements, job.mapping);
    const std::byte *x = static_cast<const std::byte *>(job.input) +
                         offset_of(s, panel, first) * static_cast<std::ptrdiff_t>(elements.element_size);
    if (job.access == Access::rows) {
        mapped.rows(x, s.inner_stride, panel.width, count, first, results);
    } else if (job.access == Access::columns) {
        mapped.columns(x, s.axis_stride, panel.width, count, first, results);
    } else {
        mapped.gathered(x, s.axis_stride, s.inner_stride, panel.width, count, first, results);
    }
}

template <class Op>
__attribute__((noinline)) typename Op::Accumulator segment_mapped(const ElementMap<ValueOf<Op>> &elements,
                                                                  const void *input, std::size_t first,
                                                                  std::size_t count, const Mapping &m) {
    const MappedElements<Op> mapped(elements, m);
    return mapped.axis(static_cast<const std::byte *>(input) + first * elements.element_size, 1, count, 0);
}

template <class Float>
struct CombineVectors<PlainSquareSum<Float>> : CombineVectors<FloatSum<Float>> {};
// Where no NaN is left out.
template <class Float>
struct MapVectors<PlainSquareSum<Float>, Float> {
    static constexpr bool known = true;

    WR_HD static Register<Float> apply(Register<Float> x, const Mapping &) {
        using Bits = WordOf<Float>;
        using Signed = std::make_signed_t<Bits>;
        // Magnitudes but for zero, as signed words: every processor compares those, and at once.
        constexpr Bits bias = static_cast<Bits>(std::numeric_limits<Signed>::max());
        const auto least = static_cast<Signed>(2 * bit_cast<Bits>(ScaledRange<Float>::least_plain_root) + bias);
        const auto magnitude = bit_cast<Register<Bits>>(x) << 1;
        const Register<Float> zero{}, nan = zero + std::numeric_limits<Float>::quiet_NaN();
        return bit_cast<Register<Signed>>(magnitude + bias) < least ? nan : x * x;
    }
};

template <class Op, class T>
struct MappedReduction {
    using Operator = typename CombinerOf<Op>::Type;
    using Accumulator = typename Operator::Accumulator;

    static void accumulate(const ReduceJob &job, const Panel &panel, std::size_t first, std::size_t count,
                           Accumulator *results) {
        if constexpr (is_found_by_bits<Op, T>) {
            if (job.access == Access::rows && finds_extreme<Op, T>(count, job.mapping)) {
                const T *x = static_cast<const T *>(job.input) + offset_of(job.shape, panel, first);
                for (std::size_t k = 0; k < panel.width; ++k) {
                    results[k] = find_extreme<Op>(x + static_cast<std::ptrdiff_t>(k) * job.shape.inner_stride, count,
                                                  first, job.mapping);
                }
                return;
            }
        }
        accumulate_mapped<Operator>(element_map<Op, T>, job, panel, first, count, results);
    }

    static Accumulator segment(const void *input, std::size_t first, std::size_t count, const Mapping &m) {
        if constexpr (is_found_by_bits<Op, T>) {
            if (finds_extreme<Op, T>(count, m)) {
                return find_extreme<Op>(static_cast<const T *>(input) + first, count, 0, m);
            }
        }
        return segment_mapped<Operator>(element_map<Op, T>, input, first, count, m);
    }
};

// Products of long rows do not go through a buffer.
template <class Float>
struct MappedReduction<WeightedFloatSum<Float>, Float> {
    using Operator = FloatSum<Float>;
    using Accumulator = Float;

    static void accumulate(const ReduceJob &job, const Panel &panel, std::size_t first, std::size_t count,
                           Float *results) {
        if (job.access != Access::rows || count <= side_by_side_limit) {
            accumulate_mapped<Operator>(element_map<WeightedFloatSum<Float>, Float>, job, panel, first, count, results);
            return;
        }
        const Float *x = static_cast<const Float *>(job.input) + offset_of(job.shape, panel, first);
        const Float *const weights = static_cast<const Float *>(job.mapping.weights) + first;
        for (std::size_t k = 0; k < panel.width; ++k, x += job.shape.inner_stride) {
            results[k] = run_tree<ProductSum<Float>>(x, count, with_distance(job.mapping, x, weights));
        }
    }

    static Float segment(const void *input, std::size_t first, std::size_t count, const Mapping &m) {
        return segment_mapped<Operator>(element_map<WeightedFloatSum<Float>, Float>, input, first, count, m);
    }
};

// In plain floats, and again where that is not enough: of what hardly any data has.
template <class Float, class T>
struct MappedReduction<ScaledSquareSum<Float>, T> {
    using Operator = ScaledSquareSum<Float>;
    using Accumulator = Scaled<Float>;
    using Plain = FloatSum<Float>;

    static void accumulate(const ReduceJob &job, const Panel &panel, std::size_t first, std::size_t count,
                           Accumulator *results) {
        alignas(64) Float plain[most_outputs<Plain>];
        plain_sums(job, panel, first, count, plain);
        bool all = true;
        for (std::size_t k = 0; k < panel.width; ++k) {
            all = all && PlainSquareSum<Float>::is_enough(plain[k]);
            results[k] = scaled_form(plain[k]);
        }
        if (!all) {
            accumulate_mapped<Operator>(element_map<Operator, T>, job, panel, first, count, results);
        }
    }

    static Accumulator segment(const void *input, std::size_t first, std::size_t count, const Mapping &m) {
        const Float plain = plain_segment(input, first, count, m);
        return PlainSquareSum<Float>::is_enough(plain)
                   ? scaled_form(plain)
                   : segment_mapped<Operator>(element_map<Operator, T>, input, first, count, m);
    }

  private:
    using Squares = PlainSquareSum<Float>;

    static void plain_sums(const ReduceJob &job, const Panel &panel, std::size_t first, std::size_t count,
                           Float *sums) {
        if constexpr (std::is_same_v<T, Float>) {
            if (!job.mapping.ignore_nan) {
                return DirectReduction<Squares, T>::accumulate(job, panel, first, count, sums);
            }
        }
        accumulate_mapped<Plain>(element_map<Squares, T>, job, panel, first, count, sums);
    }

    static Float plain_segment(const void *input, std::size_t first, std::size_t count, const Mapping &m) {
        if constexpr (std::is_same_v<T, Float>) {
            if (!m.ignore_nan) {
                return DirectReduction<Squares, T>::segment(input, first, count, m);
            }
        }
        return segment_mapped<Plain>(element_map<Squares, T>, input, first, count, m);
    }
};

} // namespace
} // namespace wr::host::WR_ISA
