// Tiles of short columns on a GPU: what a thread has of one, and how the threads and blocks below each other put
// together what they come to.
#pragma once

#include "cuda/device/barriers.cuh"
#include "cuda/device/intrinsics.cuh"
#include "cuda/device/warp_tree.cuh"
#include "cuda/rowwise/column_plan.h"
#include "cuda/rowwise/select.cuh"
#include "cuda/softmax/sub_warp/vectors.cuh"

#include <type_traits>

namespace wr::cuda {

// Of the block's tile or, where blocks share one, of its cluster's.
__device__ __forceinline__ std::uint32_t first_column_tile(const ColumnTiles &t) {
    const auto blocks = static_cast<unsigned>(t.cluster_blocks);
    return (blocks == 1 ? blockIdx.x : blockIdx.x / blocks) * static_cast<unsigned>(t.a_block);
}

// A thread's part. Whole: its columns are a vector on its boundary; else every 2^log_lanes-th column, so that
// neighbouring threads have neighbouring columns.
template <class T, int Rows, bool Whole>
struct ColumnTilePart {
    static constexpr int each = vector_elements<T>;
    std::uint64_t outer, inner; // the first of its columns
    int first, count;           // its rows; count is below 1 where there are none
    int tile, run;              // of the block's, of the tile's in this block
    int lane, step;             // within a row of the tile; from column to column
    int left;                   // columns from its first on, as many as count

    // Of tiles whose threads have so many rows, of which there is room for Rows.
    __device__ __forceinline__ ColumnTilePart(const ColumnTiles &t, std::size_t axis, std::size_t columns,
                                              int rows = Rows) {
        const auto x = static_cast<std::uint32_t>(threadIdx.x), row = x >> t.log_lanes;
        const auto runs = static_cast<std::uint32_t>(t.runs);
        lane = static_cast<int>(x & ((1u << t.log_lanes) - 1u));
        tile = t.a_block == 1 ? (row < runs ? 0 : 1) : static_cast<int>(row / runs);
        run = static_cast<int>(row) - tile * t.runs;
        const std::uint32_t number = first_column_tile(t) + static_cast<std::uint32_t>(tile);
        const bool exists = tile < t.a_block && number < t.count;
        tile = smaller(tile, t.a_block - 1);
        const std::uint32_t known = exists ? number : 0;
        outer = t.count == t.across ? 0 : known / t.across;
        inner = static_cast<std::uint64_t>(known - static_cast<std::uint32_t>(outer) * t.across) *
                (static_cast<unsigned>(each) << t.log_lanes);
        step = Whole ? 1 : 1 << t.log_lanes;
        inner += static_cast<unsigned>(Whole ? lane * each : lane);
        const auto rank = t.cluster_blocks == 1 ? 0u : block_in_cluster();
        first = (static_cast<int>(rank * runs) + run) * rows;
        count = exists && inner < columns ? smaller(static_cast<int>(axis) - first, rows) : 0;
        left = inner < columns
                   ? static_cast<int>(smaller<std::uint64_t>(columns - inner, static_cast<unsigned>(each * step)))
                   : 0;
    }

    __device__ __forceinline__ bool has(int column) const { return Whole || column * step < left; }
    __device__ __forceinline__ std::uint64_t column(std::size_t columns, int which) const {
        return outer * columns + inner + static_cast<unsigned>(which * step);
    }

    __device__ __forceinline__ const T *in(const void *array, std::ptrdiff_t outer_stride,
                                           std::ptrdiff_t axis_stride) const {
        return static_cast<const T *>(array) + static_cast<std::ptrdiff_t>(outer) * outer_stride + first * axis_stride +
               static_cast<std::ptrdiff_t>(inner);
    }
    // The same in a contiguous array.
    __device__ __forceinline__ T *in_output(void *array, std::size_t axis, std::size_t columns) const {
        return static_cast<T *>(array) + (outer * axis + static_cast<unsigned>(first)) * columns + inner;
    }

    // Its rows; zeros where there are none.
    __device__ __forceinline__ void load(const T *from, std::ptrdiff_t stride, uint4 (&v)[Rows]) const {
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
            v[i] = uint4{0, 0, 0, 0};
            if (i < count) {
                v[i] = load_row(from);
            }
            from += stride;
        }
    }

    __device__ __forceinline__ void store(T *to, const uint4 &v) const {
        if constexpr (Whole) {
            store_vector(to, v);
        } else {
#pragma unroll
            for (int c = 0; c < each; ++c) {
                if (has(c)) {
                    to[c * step] = bits_of(v, c);
                }
            }
        }
    }

  private:
    __device__ __forceinline__ uint4 load_row(const T *from) const {
        if constexpr (Whole) {
            return load_vector(from);
        } else {
            T elements[each];
#pragma unroll
            for (int c = 0; c < each; ++c) {
                elements[c] = T{};
                if (has(c)) {
                    elements[c] = from[c * step];
                }
            }
            uint4 v;
            memcpy(&v, elements, sizeof(v));
            return v;
        }
    }

    __device__ __forceinline__ static T bits_of(const uint4 &v, int column) {
        if constexpr (sizeof(T) == sizeof(float)) {
            return element_of(v, column, T());
        } else {
            const unsigned pair = word_of(v, column / 2);
            return T{static_cast<std::uint16_t>(column % 2 == 0 ? pair & 0xFFFFu : pair >> 16)};
        }
    }
};

__device__ __forceinline__ unsigned &word_at(uint4 &v, int i) {
    return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}

// One of a block's columns: column `column` of the threads of lane `lane` in one of the block's tiles.
template <int Each, bool Whole>
struct ColumnOfTile {
    int tile, lane, column;

    // Of the block's threads' columns in their order.
    __device__ __forceinline__ static ColumnOfTile of(const ColumnTiles &t, int number) {
        const int rest = number >> t.log_lanes, column = t.a_block == 1 ? rest : rest / t.a_block;
        return {rest - column * t.a_block, number & ((1 << t.log_lanes) - 1), column};
    }
    __device__ __forceinline__ int number(const ColumnTiles &t) const {
        return ((column * t.a_block + tile) << t.log_lanes) + lane;
    }

    // Its number among all columns; false where there is none.
    __device__ __forceinline__ bool find(const ColumnTiles &t, std::size_t columns, std::size_t *among_all) const {
        const std::uint32_t of_all = first_column_tile(t) + static_cast<std::uint32_t>(tile);
        const std::uint32_t outer = t.count == t.across ? 0 : of_all / t.across;
        const int in_tile = Whole ? lane * Each + column : (column << t.log_lanes) + lane;
        const std::uint64_t inner =
            (std::uint64_t{of_all - outer * t.across} * Each << t.log_lanes) + static_cast<unsigned>(in_tile);
        *among_all = outer * columns + inner;
        return of_all < t.count && inner < columns;
    }
};

// A value on its way to the blocks of a cluster, as words of which a store brings one or two.
template <class Value>
struct SentColumnValue {
    std::uint64_t words[divide_up(sizeof(Value), sizeof(std::uint64_t))];

    __device__ __forceinline__ static SentColumnValue of(const Value &value) {
        SentColumnValue sent{};
        memcpy(sent.words, &value, sizeof(value));
        return sent;
    }
    __device__ __forceinline__ Value value() const {
        const SentColumnValue whole = *this; // by words: else the compiler reads it byte by byte
        Value sent;
        memcpy(&sent, whole.words, sizeof(sent));
        return sent;
    }
};

inline constexpr int most_column_tile_blocks = 8; // of a cluster

// What the blocks of a cluster have in shared memory to hear of each other.
struct ColumnTileBarriers {
    Mbarrier exchanges[column_tile_exchanges], votes;
    SentColumnValue<unsigned> voted[most_column_tile_blocks];
};

// How a block's threads, and the blocks of its cluster, put together what their runs of a column come to. Once for each
// exchange at most. A Slot has room for one value; those of exchanges but the first have no more than a word. Alone: no
// blocks share tiles.
template <int Each, bool Whole, class Slot, bool Alone = false>
class ColumnTileFolds {
  public:
    using Column = ColumnOfTile<Each, Whole>;

    __device__ __forceinline__ ColumnTileFolds(const ColumnTiles &tiles, const ColumnTileMemory &places,
                                               ColumnTileBarriers &all)
        : t(tiles), memory(places), barriers(all) {}

    // What a cluster's blocks do before they may send anything to each other, and wait for. One thread, for others
    // would have to wait for its barriers before they use their own.
    __device__ __forceinline__ void prepare() const {
        constexpr auto word = static_cast<unsigned>(sizeof(std::uint64_t));
        const auto blocks = static_cast<unsigned>(cluster_blocks());
        if (blocks > 1) {
            if (threadIdx.x == 0) {
                const unsigned values = static_cast<unsigned>(columns()) * blocks;
                barriers.exchanges[0].expect(values * static_cast<unsigned>(sizeof(SentColumnValue<Slot>)));
#pragma unroll
                for (int i = 1; i < column_tile_exchanges; ++i) {
                    barriers.exchanges[i].expect(values * word);
                }
                barriers.votes.expect(blocks * word);
            }
            join_cluster();
        }
    }
    // By all threads, once.
    __device__ __forceinline__ void await_prepared() const {
        if (cluster_blocks() > 1) {
            await_cluster();
        }
    }

    // A value for one of the thread's columns. (All of them at once would wait in registers.)
    template <class Value>
    __device__ __forceinline__ static void leave(int column, const Value &value) {
        in<Value>(left()[column * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x)]) = value;
    }

    // Until all of the block that share columns have left theirs.
    __device__ __forceinline__ void await_left() const {
        if (!is_threads_own()) {
            __syncthreads();
        }
    }

    // The same; whether all threads that share columns say so, in the cluster too. Alike: what is left for another way
    // lies where this one's is, so that warps that share columns with no others may go theirs. Once.
    template <bool Alike>
    __device__ __forceinline__ bool all_say(bool so) const {
        if (Alike && is_threads_own()) {
            return __all_sync(whole_warp, so ? 1 : 0) != 0;
        }
        const bool block = __syncthreads_and(so ? 1 : 0) != 0;
        if (cluster_blocks() == 1) {
            return block;
        }
        if (static_cast<int>(threadIdx.x) < cluster_blocks()) {
            barriers.votes.send(threadIdx.x, barriers.voted + block_in_cluster(),
                                SentColumnValue<unsigned>::of(block ? 1u : 0u));
        }
        barriers.votes.wait();
        bool all = true;
        for (int i = 0; i < cluster_blocks(); ++i) {
            all = all && barriers.voted[i].value() != 0;
        }
        return all;
    }

    // The tree over what was left and awaited; act(column, value) is called for each of the block's columns by one of
    // its threads, with what its whole column comes to; all threads that have the column know of it then. Apart: not
    // where the tree is taken, for what an act needs many registers for.
    template <class Op, bool Apart = false, class Act>
    __device__ __forceinline__ void fold(int exchange, Act act) const {
        using Value = typename Op::Accumulator;
        if (is_threads_own()) {
            act_on_columns<Op>(left(), exchange, act);
            return;
        }
        SentColumnValue<Value> *const own =
            sent<Value>(exchange) + block_in_cluster() * static_cast<unsigned>(columns());
        Slot *const whole = fold_runs<Op>([&](const Column &column, const Value &value, Slot *to) {
            if (cluster_blocks() == 1) {
                if constexpr (Apart) {
                    in<Value>(to[column.number(t)]) = value;
                } else {
                    act(column, value);
                }
                return;
            }
#pragma unroll 1
            for (int block = 0; block < cluster_blocks(); ++block) {
                barriers.exchanges[exchange].send(static_cast<unsigned>(block), own + column.number(t),
                                                  SentColumnValue<Value>::of(value));
            }
        });
        if (cluster_blocks() > 1) {
            barriers.exchanges[exchange].wait();
        }
        if (Apart || cluster_blocks() > 1) {
            act_on_columns<Op>(cluster_blocks() > 1 ? nullptr : whole, exchange, act);
            __syncthreads();
        }
    }

    // Whether no thread shares its columns with others: then there is nothing to fold.
    __device__ __forceinline__ bool is_threads_own() const { return t.runs == 1 && cluster_blocks() == 1; }

  private:
    __device__ __forceinline__ int cluster_blocks() const { return Alone ? 1 : t.cluster_blocks; }
    __device__ __forceinline__ static Slot *left() { return reinterpret_cast<Slot *>(launched_memory()); }
    template <class Value>
    __device__ __forceinline__ static Value &in(Slot &slot) {
        static_assert(sizeof(Value) <= sizeof(Slot));
        return reinterpret_cast<Value &>(slot);
    }
    __device__ __forceinline__ int columns() const { return (Each * t.a_block) << t.log_lanes; }
    // [block of the cluster][column]. Where the first exchange's are longer than a word, others' lie among them: they
    // come where it does not.
    template <class Value>
    __device__ __forceinline__ SentColumnValue<Value> *sent(int exchange) const {
        return reinterpret_cast<SentColumnValue<Value> *>(launched_memory() + memory.sent_at) +
               exchange * cluster_blocks() * columns();
    }

    // The runs of the block alone; whole(column, value, to) is called for each column, `to` being a place for the
    // values of all, which is what comes back.
    template <class Op, class Act>
    __device__ __forceinline__ Slot *fold_runs(Act whole) const {
        using Value = typename Op::Accumulator;
        constexpr int fold = static_cast<int>(column_tile_fold);
        const int lanes = 1 << t.log_lanes, threads = static_cast<int>(blockDim.x);
        Slot *from = left(), *to = from + Each * threads;
        int count = t.runs, column_step = threads;
#pragma unroll 1
        for (;;) {
            const int groups = (count + fold - 1) / fold, next_step = (t.a_block * groups) << t.log_lanes;
#pragma unroll 1
            for (int item = static_cast<int>(threadIdx.x); item < Each * next_step; item += threads) {
                const int rest = item >> t.log_lanes, place = rest / Each;
                const Column column{t.a_block == 1 ? 0 : place / groups, item & (lanes - 1), rest % Each};
                const int first = (place - column.tile * groups) * fold;
                Slot *own =
                    from + column.column * column_step + column.lane + ((column.tile * count + first) << t.log_lanes);
                Value values[fold];
#pragma unroll
                for (int i = 0; i < fold; ++i) {
                    values[i] = Op::identity();
                    if (first + i < count) {
                        values[i] = in<Value>(*own);
                    }
                    own += lanes;
                }
                const Value value = tree_of_elements<Op>(values);
                if (groups == 1) {
                    whole(column, value, to);
                } else {
                    in<Value>(to[column.column * next_step + column.lane + (place << t.log_lanes)]) = value;
                }
            }
            __syncthreads();
            if (groups == 1) {
                return to;
            }
            Slot *const folded = to;
            to = from;
            from = folded;
            count = groups;
            column_step = next_step;
        }
    }

    // Of the columns' values, or, where these are nullptr, what the cluster's blocks sent of them.
    template <class Op, class Act>
    __device__ __forceinline__ void act_on_columns(Slot *values, int exchange, Act act) const {
        using Value = typename Op::Accumulator;
#pragma unroll 1
        for (int number = static_cast<int>(threadIdx.x); number < columns(); number += static_cast<int>(blockDim.x)) {
            Value value;
            if (values != nullptr) {
                value = in<Value>(values[number]);
            } else {
                Value parts[most_column_tile_blocks];
                const SentColumnValue<Value> *const from = sent<Value>(exchange) + number;
#pragma unroll
                for (int i = 0; i < most_column_tile_blocks; ++i) {
                    parts[i] = Op::identity();
                    if (i < cluster_blocks()) {
                        parts[i] = from[i * columns()].value();
                    }
                }
                value = tree_of_elements<Op>(parts);
            }
            act(Column::of(t, number), value);
        }
    }

    const ColumnTiles &t;
    const ColumnTileMemory &memory;
    ColumnTileBarriers &barriers;
};

// What masks, lengths and the causal limit leave of short columns in whole vectors.

// A byte for each of a thread's columns, whose top bit tells what takes part.
template <class T>
using BytesOfColumns = std::conditional_t<sizeof(T) == 2, uint2, unsigned>;

// What a mask's bytes say; of row `i` bytes that say how many leading rows take part, below 128; and both.
__device__ __forceinline__ unsigned taken_by_mask(unsigned mask) { return taken_bytes(mask); }
__device__ __forceinline__ uint2 taken_by_mask(uint2 mask) { return {taken_bytes(mask.x), taken_bytes(mask.y)}; }
__device__ __forceinline__ unsigned taken_by_leading(unsigned leading, int i) {
    return leading + (0x7Fu - static_cast<unsigned>(i)) * 0x01010101u;
}
__device__ __forceinline__ uint2 taken_by_leading(uint2 leading, int i) {
    return {taken_by_leading(leading.x, i), taken_by_leading(leading.y, i)};
}
__device__ __forceinline__ unsigned taken_by_both(unsigned one, unsigned other) { return one & other; }
__device__ __forceinline__ uint2 taken_by_both(uint2 one, uint2 other) { return {one.x & other.x, one.y & other.y}; }

// Whether column c is among them.
__device__ __forceinline__ bool is_taken(unsigned taken, int c) { return (taken >> (8 * c + 7) & 1u) != 0; }
__device__ __forceinline__ bool is_taken(uint2 taken, int c) { return is_taken(c < 4 ? taken.x : taken.y, c & 3); }

// For each of a thread's columns how many of its leading rows lengths and the causal limit leave.
template <class T, int Rows>
__device__ __forceinline__ BytesOfColumns<T> leading_rows(const Selection &selection,
                                                          const ColumnTilePart<T, Rows, true> &part, std::size_t axis,
                                                          std::size_t columns) {
    const std::size_t most = within_causal_limit(selection, part.outer, axis);
    std::uint8_t rows[vector_elements<T>];
#pragma unroll
    for (int c = 0; c < vector_elements<T>; ++c) {
        rows[c] = 0;
        if (part.count > 0) {
            std::size_t leading = most;
            if (selection.lengths != nullptr) {
                leading = no_more_than(most, selection.lengths[part.column(columns, c)]);
            }
            const auto behind = static_cast<std::ptrdiff_t>(leading) - part.first;
            rows[c] = static_cast<std::uint8_t>(larger<std::ptrdiff_t>(smaller<std::ptrdiff_t>(behind, part.count), 0));
        }
    }
    BytesOfColumns<T> packed;
    static_assert(sizeof(packed) == sizeof(rows));
    memcpy(&packed, rows, sizeof(rows));
    return packed;
}

// What takes part of a thread's rows: of those that it does not have, nothing.
template <class T, int Rows>
struct TakenOfColumns {
    using Bytes = BytesOfColumns<T>;
    Bytes of[Rows];

    __device__ __forceinline__ TakenOfColumns(const Selection &selection, const ColumnTilePart<T, Rows, true> &part,
                                              std::size_t axis, std::size_t columns) {
        if (selection.mask != nullptr) {
            const std::size_t row = part.outer * axis + static_cast<unsigned>(part.first);
            load(selection.mask + row * columns + part.inner, columns, part.count);
        }
        const Bytes leading = leading_rows(selection, part, axis, columns);
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
            const Bytes by_limits = taken_by_leading(leading, i);
            of[i] = selection.mask != nullptr ? taken_by_both(by_limits, taken_by_mask(of[i])) : by_limits;
        }
    }

  private:
    __device__ __forceinline__ void load(const std::uint8_t *from, std::size_t columns, int count) {
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
            of[i] = Bytes();
            if (i < count) {
                of[i] = *reinterpret_cast<const Bytes *>(from);
            }
            from += columns;
        }
    }
};

// The same to keep through the arithmetic: a bit of a byte for each row.
template <class T>
struct KeptOfColumns {
    BytesOfColumns<T> bits;

    template <int Rows>
    __device__ __forceinline__ void keep(const TakenOfColumns<T, Rows> &taken) {
        static_assert(Rows <= 8);
        bits = BytesOfColumns<T>();
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
            bits = with_row(bits, taken.of[i], i);
        }
    }
    // Row i's bytes, whose top bit tells.
    __device__ __forceinline__ BytesOfColumns<T> of(int i) const { return unaligned(bits, i); }

  private:
    __device__ __forceinline__ static unsigned with_row(unsigned rows, unsigned taken, int i) {
        return rows | (taken & 0x80808080u) >> i;
    }
    __device__ __forceinline__ static uint2 with_row(uint2 rows, uint2 taken, int i) {
        return {with_row(rows.x, taken.x, i), with_row(rows.y, taken.y, i)};
    }
    __device__ __forceinline__ static unsigned unaligned(unsigned rows, int i) { return rows << i; }
    __device__ __forceinline__ static uint2 unaligned(uint2 rows, int i) { return {rows.x << i, rows.y << i}; }
};

} // namespace wr::cuda
