// What a thread of the kernels of columns does by itself: the tree over a run of rows, for the columns of one vector.
#pragma once

#include "cuda/reduce/arguments.h"
#include "cuda/reduce/call_maps.cuh"
#include "cuda/reduce/extreme_place.cuh"
#include "cuda/reduce/quick_way.cuh"
#include "cuda/reduce/sets.cuh"

namespace wr::cuda {

// Subtrees of one size that a thread makes one after the other, combined as soon as their neighbours are there: what
// TreeCounter (numerics/tree.h) does, in registers. Of up to 2^Levels subtrees. `combined(a, b)` gives the tree over
// both.
template <class Value, int Levels>
class SubtreeStack {
  public:
    __device__ __forceinline__ explicit SubtreeStack(const Value &identity) {
#pragma unroll
        for (Value &level : levels_) {
            level = identity;
        }
    }

    template <class Combined>
    __device__ __forceinline__ void push(const Value &subtree, const Combined &combined) {
        push_at<0>(subtree, combined);
        ++count_;
    }

    // The tree over all of them; the identity, where there are none.
    template <class Combined>
    __device__ __forceinline__ Value whole(const Combined &combined) const {
        if (count_ == 1 << Levels) {
            return levels_[Levels - 1];
        }
        Value tree = levels_[0];
        bool any = (count_ & 1) != 0;
#pragma unroll
        for (int level = 1; level < Levels; ++level) {
            if ((count_ >> level & 1) != 0) {
                tree = any ? combined(levels_[level], tree) : levels_[level];
                any = true;
            }
        }
        return tree;
    }

  private:
    // No loop, which would have the levels lie in memory.
    template <int Level, class Combined>
    __device__ __forceinline__ void push_at(const Value &subtree, const Combined &combined) {
        if constexpr (Level == Levels) {
            levels_[Levels - 1] = subtree;
        } else if ((count_ >> Level & 1) == 0) {
            levels_[Level] = subtree;
        } else {
            push_at<Level + 1>(combined(levels_[Level], subtree), combined);
        }
    }

    Value levels_[Levels];
    int count_ = 0;
};

// Kernels that have 16 rows on their way, or as many as leave room, and others that have 8.
template <class T, class Op>
inline constexpr bool has_many_rows_in_flight =
    (is_made_of<Op, FloatSum> && !is_f8<T>) || has_call_maps<T, Op> ||
    (is_made_of<Op, ScaledSquareSum> && std::is_same_v<typename Op::Accumulator, Scaled<float>>);
// Rows that a thread asks for at once, where it takes more than few: of vectors fewer where more blocks are there
// instead, or where what is kept of each leaves no room, as of the squares of 8 elements (L2 norms of 16 x 2048 x 4096
// bf16 109 us by 16).
template <class T, class Op, class Columns>
inline constexpr int column_rows_in_flight =
    Columns::elements == 1 || (has_many_rows_in_flight<T, Op> && !(has_quick_way<Op> && Columns::elements == 8)) ? 16
                                                                                                                 : 8;

// What a thread has of a column in the end, and what it keeps of it while it walks.
template <class T, class Op>
inline constexpr int column_result_bytes =
    finds_place<T, Op> ? static_cast<int>(sizeof(typename Op::Accumulator)) / 2 : sizeof(typename Op::Accumulator);
template <class T, class Op>
inline constexpr int column_state_bytes =
    has_quick_way<Op> ? sizeof(typename QuickOf<Op>::Accumulator) : column_result_bytes<T, Op>;

// Bytes of a vector of columns: as many as leave a thread's results in registers.
template <class T, class Op>
inline constexpr int column_vector_bytes = smaller(
    vector_bytes, larger(static_cast<int>(sizeof(T)), static_cast<int>(sizeof(T)) * (32 / column_state_bytes<T, Op>)));

// A thread keeps so many levels of its tree, each of a vector's states, and so takes so many rows of vectors at most.
inline constexpr int most_column_run_levels = 4;
static_assert(most_single_column_run == 8 << most_column_run_levels);
template <class T, class Op>
inline constexpr int column_run_levels =
    column_state_bytes<T, Op> * (column_vector_bytes<T, Op> / static_cast<int>(sizeof(T))) <= 16
        ? most_column_run_levels
        : 2;
template <class T, class Op>
inline constexpr int most_column_run = Op::order_free ? most_single_column_run : 8 << column_run_levels<T, Op>;

// The same of one kernel, single columns among them; more, where one kernel takes all runs of many rows.
template <class T, class Op, class Columns>
inline constexpr int longest_column_run =
    Columns::elements == 1           ? most_single_column_run
    : has_many_rows_in_flight<T, Op> ? larger(8 << column_run_levels<T, Op>, long_column_run)
                                     : 8 << column_run_levels<T, Op>;

// What the hardware loads so many bytes as.
template <int Bytes>
using WordOf = std::conditional_t<
    Bytes == 16, uint4,
    std::conditional_t<
        Bytes == 8, uint2,
        std::conditional_t<Bytes == 4, unsigned, std::conditional_t<Bytes == 2, unsigned short, unsigned char>>>>;

// What a thread loads from each row: a vector of columns that lies on its boundary, or one column.
template <class T, int Bytes>
struct VectorColumns {
    static constexpr int elements = Bytes / static_cast<int>(sizeof(T));
    T values[elements];

    __device__ __forceinline__ void load(const T *at) {
        using Loaded = WordOf<Bytes>;
        const Loaded loaded = __ldcs(reinterpret_cast<const Loaded *>(at));
        memcpy(values, &loaded, sizeof(values));
    }
    __device__ __forceinline__ void load_plainly(const T *at) {
        const auto loaded = *reinterpret_cast<const WordOf<Bytes> *>(at);
        memcpy(values, &loaded, sizeof(values));
    }
    __device__ __forceinline__ void fill(const T &value) {
#pragma unroll
        for (T &each : values) {
            each = value;
        }
    }
};
template <class T>
struct SingleColumn {
    static constexpr int elements = 1;
    T values[1];

    __device__ __forceinline__ void load(const T *at) { values[0] = *at; }
    __device__ __forceinline__ void fill(const T &value) { values[0] = value; }
};

// A thread's rows, the first of which stands at `position` of the axis.
template <class T>
struct ColumnRun {
    const T *first;
    std::ptrdiff_t stride;
    int rows; // none, where this is below 1
    std::size_t position;
};

// Calls part(row, loaded, valid) for the rows of a run from number `row` on, as many as are on their way at a time, of
// which the first `valid` are there; the others are `absent`, if there is such an element.
template <int Rows, class Columns, class T, class Part, class Absent = NoAbsentElement>
__device__ __forceinline__ void for_each_part(const ColumnRun<T> &run, Part part, const Absent &absent = {}) {
    constexpr int rows = Rows;
    const T *first = run.first;
#pragma unroll 1
    for (int row = 0; row < run.rows; row += rows) {
        Columns loaded[rows];
        const bool whole = Columns::elements == 1 && run.rows - row >= rows; // else asked of each row
#pragma unroll
        for (int r = 0; r < rows && whole; ++r) {
            loaded[r].load(first + r * run.stride);
        }
#pragma unroll
        for (int r = 0; r < rows && !whole; ++r) {
            if (r < run.rows - row) {
                loaded[r].load(first + r * run.stride);
            } else if constexpr (std::is_same_v<Absent, T>) {
                loaded[r].fill(absent);
            }
        }
        first += rows * run.stride;
        part(row, loaded, run.rows - row);
    }
}

template <class Op, class Columns>
struct ColumnSums {
    typename Op::Accumulator values[Columns::elements];

    __device__ __forceinline__ static ColumnSums identity() {
        ColumnSums sums;
#pragma unroll
        for (typename Op::Accumulator &value : sums.values) {
            value = Op::identity();
        }
        return sums;
    }
    // The same results as another operator's.
    template <class Other>
    __device__ __forceinline__ explicit ColumnSums(const ColumnSums<Other, Columns> &sums) {
#pragma unroll
        for (int e = 0; e < Columns::elements; ++e) {
            values[e] = sums.values[e];
        }
    }
    ColumnSums() = default;
    __device__ __forceinline__ static ColumnSums combined(ColumnSums a, const ColumnSums &b) {
#pragma unroll
        for (int e = 0; e < Columns::elements; ++e) {
            a.values[e] = Op::combine(a.values[e], b.values[e]);
        }
        return a;
    }
};

// The tree over rows of of(element), of which the first `valid` are there: all others count as the identity.
template <class Op, class Columns, int Rows, class Of>
__device__ __forceinline__ ColumnSums<Op, Columns> tree_of_rows(const Columns (&loaded)[Rows], int valid,
                                                                const Mapping &m, std::size_t position, const Of &of) {
    ColumnSums<Op, Columns> sums[Rows];
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
#pragma unroll
        for (int e = 0; e < Columns::elements; ++e) {
            sums[r].values[e] =
                r < valid ? map_element<Op>(of(loaded[r].values[e]), m, position + static_cast<std::size_t>(r))
                          : Op::identity();
        }
    }
#pragma unroll
    for (int width = 1; width < Rows; width *= 2) {
#pragma unroll
        for (int r = 0; r < Rows; r += 2 * width) {
            sums[r] = ColumnSums<Op, Columns>::combined(sums[r], sums[r + width]);
        }
    }
    return sums[0];
}

// Of one row of a run.
template <class T, class Op, class Columns, class Of>
__device__ __forceinline__ ColumnSums<Op, Columns> row_of_run(const ColumnRun<T> &run, int row, const Mapping &m,
                                                              const Of &of) {
    Columns loaded[1];
    loaded[0].load(run.first + row * run.stride);
    return tree_of_rows<Op>(loaded, 1, m, run.position + static_cast<std::size_t>(row), of);
}

// One row that is left over is not worth a part of its own: axes of 49, 197, 257 elements.
template <class T, class Op, class Columns, int Rows, int MostRun, class Of, class Absent>
__device__ __forceinline__ ColumnSums<Op, Columns> tree_of_run(const ColumnRun<T> &run, const Mapping &m, const Of &of,
                                                               const Absent &absent) {
    using Sums = ColumnSums<Op, Columns>;
    constexpr int rows = Rows;
    constexpr bool may_end_in_one = Columns::elements > 1 && rows > least_column_run;
    if constexpr (Columns::elements > 1 && !may_end_in_one) {
        if (run.rows == 1) {
            return row_of_run<T, Op, Columns>(run, 0, m, of);
        }
    }
    SubtreeStack<Sums, log2_of(MostRun / rows)> stack(Sums::identity());
    ColumnRun<T> parts = run;
    parts.rows -= may_end_in_one && run.rows % rows == 1 ? 1 : 0;
    for_each_part<rows, Columns>(
        parts,
        [&](int row, const Columns(&loaded)[rows], int valid) {
            const int all_or_valid = std::is_same_v<Absent, T> ? rows : valid;
            const std::size_t position = run.position + static_cast<std::size_t>(row);
            stack.push(tree_of_rows<Op>(loaded, all_or_valid, m, position, of), Sums::combined);
        },
        absent);
    if (may_end_in_one && parts.rows < run.rows) {
        stack.push(row_of_run<T, Op, Columns>(run, parts.rows, m, of), Sums::combined);
    }
    return stack.whole(Sums::combined);
}

// One after the other, for operators that are exact in any order.
template <class T, class Op, class Columns>
__device__ __forceinline__ ColumnSums<Op, Columns> chain_of_run(const ColumnRun<T> &run, const Mapping &m) {
    constexpr int rows = column_rows_in_flight<T, Op, Columns>;
    auto sums = ColumnSums<Op, Columns>::identity();
    for_each_part<rows, Columns>(run, [&](int row, const Columns(&loaded)[rows], int valid) {
#pragma unroll
        for (int r = 0; r < rows; ++r) {
#pragma unroll
            for (int e = 0; e < Columns::elements; ++e) {
                const std::size_t position = run.position + static_cast<std::size_t>(row + r);
                if (r < valid) {
                    sums.values[e] = Op::combine(sums.values[e], map_element<Op>(loaded[r].values[e], m, position));
                }
            }
        }
    });
    return sums;
}

// Elements that are f32 once they are widened.
template <class T>
inline constexpr bool widens_to_f32 = !std::is_integral_v<T> && sizeof(T) <= sizeof(float);

// What makes their keys where a NaN counts. A product with a NaN has all bits but the sign on a GPU: the key of NaN.
template <class T>
struct KeyOfProduct {
    const Mapping &m;
    float sign;

    __device__ __forceinline__ explicit KeyOfProduct(const Mapping &mapping)
        : m(mapping), sign((mapping.flip & 1) != 0 ? -1.0f : 1.0f) {}
    __device__ __forceinline__ std::int32_t operator()(T x) const { return order_key(decode(x, m) * sign); }
};

// The first of the largest keys: within a run a row's number is enough to know it by.
template <class T, class Op, class Columns, class KeyOf>
__device__ __forceinline__ ColumnSums<Op, Columns> places_of_run(const ColumnRun<T> &run, const KeyOf &key_of) {
    using Key = decltype(Op::Accumulator::key);
    constexpr int rows = column_rows_in_flight<T, Op, Columns>;
    // The lowest key is that of an integer, of which the first is meant, or of nothing.
    constexpr int nothing = std::is_integral_v<T> ? 0 : -1;
    Key keys[Columns::elements];
    int places[Columns::elements];
#pragma unroll
    for (int e = 0; e < Columns::elements; ++e) {
        keys[e] = Op::identity().key;
        places[e] = run.rows > 0 ? nothing : -1;
    }
    for_each_part<rows, Columns>(run, [&](int row, const Columns(&loaded)[rows], int valid) {
#pragma unroll
        for (int r = 0; r < rows; ++r) {
#pragma unroll
            for (int e = 0; e < Columns::elements; ++e) {
                const Key key = key_of(loaded[r].values[e]);
                const bool larger = (r < valid) & (key > keys[e]);
                keys[e] = larger ? key : keys[e];
                places[e] = larger ? row + r : places[e];
            }
        }
    });
    ColumnSums<Op, Columns> found;
#pragma unroll
    for (int e = 0; e < Columns::elements; ++e) {
        const std::size_t position = run.position + static_cast<std::size_t>(places[e]);
        found.values[e] = {keys[e], places[e] < 0 ? Op::identity().position : position};
    }
    return found;
}

// The largest keys of elements that are compared word by word.
template <class T, class Op, class Columns>
__device__ __forceinline__ ColumnSums<Op, Columns> words_of_run(const ColumnRun<T> &run, const Mapping &m) {
    constexpr int rows = column_rows_in_flight<T, Op, Columns>,
                  words = larger(static_cast<int>(sizeof(Columns) / sizeof(unsigned)), 1);
    LargestOfWords<T> largest[words];
#pragma unroll
    for (LargestOfWords<T> &each : largest) {
        each = LargestOfWords<T>(m);
    }
    constexpr bool fills = Columns::elements == 1 && has_float_maximum<T>;
    const auto part = [&](int, const Columns(&loaded)[rows], int valid) {
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            unsigned of_row[words] = {}; // of one column it is a part
            memcpy(of_row, loaded[r].values, sizeof(Columns));
            if (fills || r < valid) {
#pragma unroll
                for (int w = 0; w < words; ++w) {
                    largest[w].take(of_row[w]);
                }
            }
        }
    };
    if constexpr (fills) {
        for_each_part<rows, Columns>(run, part, element_of_bits<T>(largest[0].lowest_word()));
    } else {
        for_each_part<rows, Columns>(run, part);
    }
    auto sums = ColumnSums<Op, Columns>::identity();
    if (run.rows > 0) {
#pragma unroll
        for (int e = 0; e < Columns::elements; ++e) {
            constexpr int elements_of_word = Columns::elements / words;
            sums.values[e] = largest[e / elements_of_word].key_of(e % elements_of_word, m);
        }
    }
    return sums;
}

// Of plain sums of few rows those that are not there are left out one by one: filled in, they would keep others' loads
// from going out.
template <class T, class Op, class Columns, int Rows, int MostRun, bool Plain, class Of, class Absent>
__device__ __forceinline__ ColumnSums<Op, Columns> tree_of_any_run(const ColumnRun<T> &run, const Mapping &m,
                                                                   const Of &of, const Absent &absent) {
    constexpr bool few = MostRun == few_column_rows;
    if constexpr (few && Plain) {
        return tree_of_run<T, Op, Columns, least_column_run, MostRun>(run, m, of, NoAbsentElement());
    } else {
        return tree_of_run<T, Op, Columns, few ? least_column_run : Rows, MostRun>(run, m, of, absent);
    }
}

template <class T, class Op, class Columns, int MostRun>
__device__ __forceinline__ ColumnSums<Op, Columns> tree_of_run(const ColumnRun<T> &run, const Mapping &m) {
    constexpr int rows = column_rows_in_flight<T, Op, Columns>;
    return with_map_of_call<T, Op>(m, [&](auto op, const auto &of, const auto &absent) {
        return ColumnSums<Op, Columns>(
            tree_of_any_run<T, decltype(op), Columns, rows, MostRun, is_made_of<Op, FloatSum>>(run, m, of, absent));
    });
}

// By the operator itself, column after column: all kernels have one function for it, which few elements need.
template <class T, class Op>
__device__ __noinline__ typename Op::Accumulator column_again(ColumnRun<T> run, const Mapping &m) {
    using Column = SingleColumn<T>;
    return tree_of_run<T, Op, Column, least_column_run, most_single_column_run>(
               run, m, [](const T &x) { return x; }, NoAbsentElement())
        .values[0];
}
template <class T, class Op, class Columns>
__device__ __noinline__ ColumnSums<Op, Columns> columns_again(ColumnRun<T> run, const Mapping &m) {
    ColumnSums<Op, Columns> sums;
#pragma unroll 1
    for (int e = 0; e < Columns::elements; ++e) {
        sums.values[e] = column_again<T, Op>(run, m);
        ++run.first;
    }
    return sums;
}
// What tree(operator, of, absent) gives, where plain squares are enough, and else that of the run.
template <class T, class Op, class Columns, class Tree>
__device__ __forceinline__ ColumnSums<Op, Columns> by_plain_squares(const ColumnRun<T> &run, const Mapping &m,
                                                                    const Tree &tree) {
    using Float = typename QuickOf<Op>::Accumulator;
    PlainSquares<Float> squares(m);
    const ColumnSums<FloatSum<Float>, Columns> plain =
        tree(FloatSum<Float>(), [&](const T &x) { return squares.of_number(x, m); }, T{});
    ColumnSums<Op, Columns> sums;
    bool enough = true;
#pragma unroll
    for (int e = 0; e < Columns::elements; ++e) {
        enough = enough && squares.are_enough(plain.values[e]);
        sums.values[e] = scaled_form(plain.values[e]);
    }
    return enough ? sums : columns_again<T, Op, Columns>(run, m);
}

// Of the rows of a run that are all there already, as absent ones are; these alone are plain.
template <class T, class Op, class Columns, int Rows>
__device__ __forceinline__ ColumnSums<Op, Columns> result_of_rows(const ColumnRun<T> &run,
                                                                  const Columns (&loaded)[Rows], const Mapping &m) {
    const auto tree = [&](auto op, const auto &of, const auto &) {
        return tree_of_rows<decltype(op)>(loaded, run.rows, m, 0, of);
    };
    if constexpr (has_quick_way<Op>) {
        return by_plain_squares<T, Op, Columns>(run, m, tree);
    } else {
        if constexpr (has_call_maps<T, Op>) {
            if (m.ignore_nan) {
                return columns_again<T, Op, Columns>(run, m);
            }
        }
        return with_map_of_call<T, Op>(m, [&](auto op, const auto &of, const auto &absent) {
            return ColumnSums<Op, Columns>(tree(op, of, absent));
        });
    }
}

template <class T, class Op, class Columns, int MostRun>
__device__ __forceinline__ ColumnSums<Op, Columns> result_of_run(const ColumnRun<T> &run, const Mapping &m) {
    if constexpr (finds_place<T, Op>) {
        using Key = decltype(Op::Accumulator::key);
        if constexpr (widens_to_f32<T>) {
            if (!m.ignore_nan) {
                return places_of_run<T, Op, Columns>(run, KeyOfProduct<T>(m));
            }
        }
        return places_of_run<T, Op, Columns>(run, [&](T x) { return Extreme<Key>::map(x, m); });
    } else if constexpr (std::is_same_v<Op, Extreme<std::int32_t>> && compares_by_words<T>) {
        if (LargestOfWords<T>::suits(m)) {
            return words_of_run<T, Op, Columns>(run, m);
        }
    }
    if constexpr (Op::order_free) {
        return chain_of_run<T, Op, Columns>(run, m);
    } else if constexpr (has_quick_way<Op>) {
        return by_plain_squares<T, Op, Columns>(run, m, [&](auto op, const auto &of, const auto &absent) {
            constexpr int rows = column_rows_in_flight<T, Op, Columns>;
            return tree_of_any_run<T, decltype(op), Columns, rows, MostRun, false>(run, m, of, absent);
        });
    } else {
        if constexpr (has_call_maps<T, Op>) {
            if (m.ignore_nan) {
                return columns_again<T, Op, Columns>(run, m);
            }
        }
        return tree_of_run<T, Op, Columns, MostRun>(run, m);
    }
}

} // namespace wr::cuda
