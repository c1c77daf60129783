// What an operation on rows is made of, whichever threads share a row. Each tile comes to a partial result; these go up
// the natural tree, and the row's total makes the outputs. What the agents ask
// of an operation besides, registers and the totals of whole rows, stands with each.
#pragma once

#include "cuda/device/warp_tree.cuh"
#include "cuda/rowwise/row_tiles.cuh"
#include "cuda/rowwise/strided_access.cuh"

#include <concepts>
#include <cstddef>

namespace wr::cuda {

template <class Op>
concept RowOp = requires(const typename Op::Problem &problem, typename Op::Partial partial, typename Op::Stored stored,
                         std::size_t row) {
    typename Op::Float;   // in which elements are worked on
    typename Op::Tile;    // elements in registers: load makes their partial result, write the outputs
    typename Op::Combine; // the tree's operator, of partial results
    { Op::over_lanes(partial) } -> std::same_as<typename Op::Partial>; // the tree over those of a warp's lanes
    { Op::stored(partial) } -> std::same_as<typename Op::Stored>;      // as it waits in memory
    { Op::loaded(stored) } -> std::same_as<typename Op::Partial>;
    { Op::row(problem, row) } -> std::same_as<typename Op::Row>; // what is known of a row before its elements are
    { Op::writes(problem) } -> std::same_as<bool>;               // whether outputs are wanted
    Op::finish(problem, row, partial);                           // what is wanted beside them, by one thread
};

} // namespace wr::cuda

namespace wr::cuda::strided {

// The agents of rows of any types and strides: rows in the registers of a block's or a cluster's warps where they fit,
// read twice where they do not.

template <class Op>
using ArgumentsOf = StridedArguments<typename Op::Problem, typename Op::Stored>;

// The tree over what a block's warps bring, in every lane of all of them.
template <class Op>
__device__ __forceinline__ typename Op::Partial over_warps(typename Op::Partial own,
                                                           typename Op::Partial (&of_warps)[strided_block_warps]) {
    if (lane_index() == 0) {
        of_warps[warp_index()] = own;
    }
    __syncthreads();
    typename Op::Partial mine = Op::Combine::identity();
    if (lane_index() < static_cast<int>(blockDim.x) / warp_lanes) {
        mine = of_warps[lane_index()];
    }
    mine = Op::over_lanes(mine);
    __syncthreads();
    return mine;
}

// Whole rows. A row of no more tiles than warps stays in registers; longer ones are read twice.
template <RowOp Op>
__global__ void __launch_bounds__(strided_block_threads, strided_resident_blocks<typename Op::Float>)
    strided_rows(const __grid_constant__ ArgumentsOf<Op> a) {
    using Partial = typename Op::Partial;
    __shared__ Partial of_warps[strided_block_warps];
    const auto &p = a.problem;
    for_each_row(p.shape, p.selection, large_rows_for<typename Op::Float>(a.longer),
                 [&](const StridedRow &place, int warps, int warp) {
                     const typename Op::Row row = Op::row(p, place.row);
                     const std::size_t step = static_cast<std::size_t>(warps) * softmax_block;
                     const std::size_t own_begin = static_cast<std::size_t>(warp) * softmax_block;
                     typename Op::Tile tile;
                     Partial own, total;
                     TreeCounter<typename Op::Combine, 53> counter;
                     for_each_step(
                         place.count, step, Op::writes(p),
                         [&](std::size_t done) { own = tile.load(p, place, row, done + own_begin); },
                         [&](bool last) {
                             total = warps == 1 ? own : over_warps<Op>(own, of_warps);
                             if (place.count > step) {
                                 counter.push(total);
                                 total = last ? counter.result() : total;
                             }
                             if (last && lane_index() == 0 && warp == 0) {
                                 Op::finish(p, place.row, total);
                             }
                         },
                         [&](std::size_t done) { tile.write(p, place, row, done + own_begin, own, total); });
                 });
}

// Rows of which each tile has a warp: blockDim.y rows a block, or a row by a cluster of a.cluster_blocks blocks.
template <RowOp Op>
__global__ void __maxnreg__(Op::whole_row_registers) strided_whole_rows(const __grid_constant__ ArgumentsOf<Op> a) {
    __shared__ typename Op::RowTotals totals;
    totals.prepare(a.cluster_blocks);
    pdl_wait_and_release();
    const auto &p = a.problem;
    const RowTile of(a.cluster_blocks);
    const bool there = of.row < p.shape.outer;
    const StridedRow place = there ? row_place(p.shape, p.selection, of.row) : StridedRow{};
    const typename Op::Row row = Op::row(p, place.row);
    const auto begin = static_cast<std::size_t>(of.first);
    typename Op::Tile tile;
    const typename Op::Partial own = tile.load(p, place, row, begin);
    const typename Op::Partial total = totals.total(a.cluster_blocks, own);
    if (of.block == 0 && lane_index() == 0 && there) {
        Op::finish(p, of.row, total);
    }
    if (Op::writes(p)) {
        tile.write(p, place, row, begin, own, total);
    }
}

// Pieces of strided_block_warps * a.tiles_a_warp tiles of long rows: what they come to or, once the rows' totals are
// there, their outputs. One kernel for both: most of it is what a load takes.
template <RowOp Op>
__global__ void __launch_bounds__(strided_block_threads, strided_resident_blocks<typename Op::Float>)
    strided_splits(const __grid_constant__ ArgumentsOf<Op> a) {
    using Partial = typename Op::Partial;
    __shared__ Partial of_warps[strided_block_warps];
    const auto &p = a.problem;
    const std::size_t jobs = p.shape.outer * a.splits;
    for (std::size_t job = blockIdx.x; job < jobs; job += gridDim.x) {
        const StridedRow place = row_place(p.shape, p.selection, job / a.splits);
        const typename Op::Row row = Op::row(p, place.row);
        const std::size_t first = (job % a.splits * strided_block_warps + static_cast<std::size_t>(warp_index())) *
                                  static_cast<std::size_t>(a.tiles_a_warp);
        Partial mine = Op::Combine::identity();
#pragma unroll 1
        for (int b = 0; b < a.tiles_a_warp; ++b) {
            const std::size_t begin = (first + static_cast<std::size_t>(b)) * softmax_block;
            typename Op::Tile tile;
            const Partial own = tile.load(p, place, row, begin);
            if (a.applies) {
                tile.write(p, place, row, begin, own, Op::loaded(a.totals[place.row]));
            } else if (lane_index() == b) {
                mine = own;
            }
        }
        if (!a.applies) {
            const Partial of_split = over_warps<Op>(Op::over_lanes(mine), of_warps);
            if (threadIdx.x == 0) {
                a.states[job] = Op::stored(of_split);
            }
        }
    }
}

// The totals of rows from what their splits come to.
template <RowOp Op>
__global__ void __launch_bounds__(strided_block_threads) strided_totals(const __grid_constant__ ArgumentsOf<Op> a) {
    pdl_wait();
    const std::size_t rows = a.problem.shape.outer * a.problem.shape.inner;
    for_each_total(rows, a.splits, [&](std::size_t row, std::size_t begin, std::size_t end, int lanes, bool first) {
        const typename Op::Partial total = Op::total(a.states + row * a.splits, a.splits, begin, end, lanes);
        if (first) {
            a.totals[row] = Op::stored(total);
            Op::finish(a.problem, row, total);
        }
    });
}

// nullptr: none of this arithmetic.
template <RowOp Op>
const void *whole_rows_kernel() {
    if constexpr (sizeof(typename Op::Float) == sizeof(float)) {
        return address_of(strided_whole_rows<Op>);
    }
    return nullptr;
}

// The agents of columns of any types and strides, of which some elements may take no part: a thread has a run of one,
// in registers or a few elements at a time, and neighbouring threads have neighbouring columns.

// Elements that are skipped together where a run ends before them.
inline constexpr int column_run_group = 4;

// How many of `count` elements are before and in the place of N.
template <int N>
__device__ __forceinline__ unsigned leading_bits(int count) {
    constexpr unsigned all = N == 32 ? ~0u : (1u << (N % 32)) - 1;
    return count >= N ? all : (1u << larger(count, 0)) - 1;
}

__device__ __forceinline__ bool has_bit(unsigned bits, int i) { return ((bits >> i) & 1u) != 0; }

// Calls act(i) for the groups of N elements that begin before `count`, the same in all lanes.
template <int N, class Act>
__device__ __forceinline__ void for_each_before(int count, Act act) {
#pragma unroll
    for (int group = 0; group < N; group += column_run_group) {
        if (group < count) {
#pragma unroll
            for (int i = group; i < group + column_run_group; ++i) {
                act(i);
            }
        }
    }
}

struct ColumnRun {
    StridedRow place;
    std::size_t begin;  // of the run, in the column
    int count, leading; // elements of the run; those of them that take part, but for what the mask leaves out

    // Of up to `most` elements.
    __device__ __forceinline__ ColumnRun(const Shape &s, const Selection &selection, std::size_t row, std::size_t first,
                                         std::size_t most)
        : place(row_place(s, selection, row)), begin(first), count(elements_behind(s.axis, most)),
          leading(elements_behind(place.taken, most)) {}

    // Bits of N elements from the run's element `first` on: those that are there; those of them that may take part;
    // and of these, those that the mask leaves.
    template <int N>
    __device__ __forceinline__ unsigned present(int first) const {
        return leading_bits<N>(count - first);
    }
    template <int N>
    __device__ __forceinline__ unsigned allowed(int first) const {
        return leading_bits<N>(leading - first);
    }
    template <int N>
    __device__ __forceinline__ unsigned taken(const Selection &selection, int first) const {
        const unsigned bits = allowed<N>(first);
        if (selection.mask == nullptr) {
            return bits;
        }
        const std::uint8_t *const mask = selection.mask + output_index(first);
        unsigned kept = 0;
        for_each_before<N>(count - first, [&](int i) {
            const unsigned byte = load_if(bits, i, mask + static_cast<std::size_t>(i) * place.first_stride);
            kept |= byte != 0 ? 1u << i : 0u;
        });
        return kept;
    }

    // Where the run's element `first` stands among contiguous outputs, and in an array with strides.
    __device__ __forceinline__ std::size_t output_index(int first) const {
        return place.first + element(first) * place.first_stride;
    }
    __device__ __forceinline__ std::ptrdiff_t index(std::ptrdiff_t outer_stride, std::ptrdiff_t axis_stride,
                                                    std::ptrdiff_t inner_stride, int first) const {
        return strided_index(place, false, outer_stride, axis_stride, inner_stride, element(first));
    }

  private:
    __device__ __forceinline__ std::size_t element(int first) const { return begin + static_cast<std::size_t>(first); }

    // How many of the column's first `elements` are in the run.
    __device__ __forceinline__ int elements_behind(std::size_t elements, std::size_t most) const {
        return static_cast<int>(smaller(elements - smaller(elements, begin), most));
    }
};

// N elements of which the first `count` may have bits, from the index of the first one on; 0 for those that have none,
// which are not read. f64 goes with f64 alone. Each type's own loads and conversions stand together: what is passed
// from one switch to the next is spilled.
template <int N>
__device__ __forceinline__ void load_run(ElementType type, const void *array, std::ptrdiff_t index,
                                         std::ptrdiff_t stride, unsigned bits, int count, float (&x)[N]) {
    with_float_type(type, [&]<class T>(T) {
        const PatternOf<T> *const from = static_cast<const PatternOf<T> *>(array) + index;
        unsigned patterns[N] = {};
        for_each_before<N>(count, [&](int i) { patterns[i] = load_if(bits, i, from + i * stride); });
#pragma unroll
        for (int i = 0; i < N; ++i) {
            x[i] = value_of(patterns[i], T());
        }
    });
}
template <int N>
__device__ __forceinline__ void load_run(ElementType, const void *array, std::ptrdiff_t index, std::ptrdiff_t stride,
                                         unsigned bits, int count, double (&x)[N]) {
    const double *const from = static_cast<const double *>(array) + index;
    fill(x, 0.0);
    for_each_before<N>(count, [&](int i) { x[i] = load_if(bits, i, from + i * stride); });
}

// f64 beside narrower types, which is rare: one at a time.
template <class Float>
__device__ __noinline__ void store_rare_run(ElementType type, void *output, std::size_t index, std::size_t stride,
                                            unsigned bits, const Float *y) {
#pragma unroll 1
    for (; bits != 0; bits &= bits - 1) {
        const int i = __ffs(static_cast<int>(bits)) - 1;
        store_any(y[i], type, output, index + static_cast<std::size_t>(i) * stride);
    }
}
template <class Float>
__device__ __noinline__ void load_rare_run(ElementType type, const void *array, std::size_t index, std::size_t stride,
                                           unsigned bits, Float *x) {
#pragma unroll 1
    for (; bits != 0; bits &= bits - 1) {
        const int i = __ffs(static_cast<int>(bits)) - 1;
        x[i] = static_cast<Float>(load_float(type, array, index + static_cast<std::size_t>(i) * stride));
    }
}

template <int N>
__device__ __forceinline__ void store_common_run(ElementType type, void *output, std::size_t index, std::size_t stride,
                                                 unsigned bits, int count, const float (&y)[N]) {
    with_float_type(type, [&]<class T>(T) {
        PatternOf<T> *const to = static_cast<PatternOf<T> *>(output) + index;
        for_each_before<N>(
            count, [&](int i) { store_if(bits, i, to + static_cast<std::size_t>(i) * stride, pattern_of(y[i], T())); });
    });
}
template <int N>
__device__ __forceinline__ void store_common_run(ElementType, void *output, std::size_t index, std::size_t stride,
                                                 unsigned bits, int count, const double (&y)[N]) {
    double *const to = static_cast<double *>(output) + index;
    for_each_before<N>(count, [&](int i) {
        const double canonical = is_nan(y[i]) ? bit_cast<double>(canonical_nan_f64) : y[i];
        store_if(bits, i, to + static_cast<std::size_t>(i) * stride, canonical);
    });
}

// Writes those of N elements that have their bit, of which only the first `count` may, each rounded once.
template <class Float, int N>
__device__ __forceinline__ void store_run(ElementType type, void *output, std::size_t index, std::size_t stride,
                                          unsigned bits, int count, const Float (&y)[N]) {
    if (is_common<Float>(type)) {
        store_common_run(type, output, index, stride, bits, count, y);
    } else {
        Float called_with[N]; // what a call is given lies in memory, where y would be slow
#pragma unroll
        for (int i = 0; i < N; ++i) {
            called_with[i] = y[i];
        }
        store_rare_run(type, output, index, stride, bits, called_with);
    }
}

// What outputs hold, to be read as they are written; 0 where there is none.
template <class Float, int N>
__device__ __forceinline__ void load_written_run(ElementType type, const void *output, std::size_t index,
                                                 std::size_t stride, unsigned bits, int count, Float (&x)[N]) {
    if (is_common<Float>(type)) {
        load_run(type, output, static_cast<std::ptrdiff_t>(index), static_cast<std::ptrdiff_t>(stride), bits, count, x);
    } else {
        Float returned[N] = {};
        load_rare_run(type, output, index, stride, bits, returned);
#pragma unroll
        for (int i = 0; i < N; ++i) {
            x[i] = returned[i];
        }
    }
}

// Job number of columns of which threads walk a tile each: blocks of the axis outermost, so that neighbouring
// threads walk neighbouring columns.
struct LoopedTile {
    std::size_t row, block;

    __device__ __forceinline__ LoopedTile(const Shape &s, std::size_t blocks, std::size_t job) {
        const std::size_t inner = job % s.inner, rest = job / s.inner;
        block = rest % blocks;
        row = rest / blocks * s.inner + inner;
    }
};

// Elements of a column that a thread holds, of softmax and, beside as many others, of its gradient.
template <class Float>
inline constexpr int resident_elements = sizeof(Float) == 4 ? 32 : 16;

// The column and the part of it that a thread holds: 32 columns side by side have the warps of one threadIdx.y.
struct HeldPlace {
    std::size_t row;
    int member; // which of these warps it is in
    bool there; // whether there is such a column; if not, row is one that there is

    __device__ __forceinline__ explicit HeldPlace(const Shape &s) : member(warp_index()) {
        const std::size_t tile = blockIdx.x * static_cast<std::size_t>(blockDim.y) + threadIdx.y;
        const std::size_t rows = s.outer * s.inner;
        row = tile * warp_lanes + static_cast<std::size_t>(lane_index());
        there = row < rows;
        row = there ? row : rows - 1;
    }

    __device__ __forceinline__ static int warps() { return static_cast<int>(blockDim.x / warp_lanes); }

    // Of a thread's N elements: where they begin in the column, and how many of a column's axis elements are there.
    template <int N>
    __device__ __forceinline__ std::size_t begin() const {
        return static_cast<std::size_t>(member) * N;
    }
    template <int N>
    __device__ __forceinline__ int elements(std::size_t axis) const {
        return same_in_warp(static_cast<int>(axis) - member * N);
    }
};

// What the threads of a column tell each other: of each warp, of each of its columns.
template <class Value>
struct ColumnExchange {
    Value of[resident_column_warps][warp_lanes];

    // The natural tree over the values of a column's threads. All threads of the block take part.
    template <class Combine>
    __device__ __forceinline__ Value over_column(const HeldPlace &place, Value own, Combine combine) {
        const int warps = HeldPlace::warps(), member = place.member;
        if (warps == 1) {
            return own;
        }
        Value *const column = &of[static_cast<int>(threadIdx.y) * warps][lane_index()];
        Value &mine = column[member * warp_lanes];
        mine = own;
        for (int distance = 1; distance < warps; distance *= 2) {
            __syncthreads();
            if (member % (2 * distance) == 0 && member + distance < warps) {
                mine = combine(mine, column[(member + distance) * warp_lanes]);
            }
        }
        __syncthreads();
        return *column;
    }
};

// Elements of a tile of a column that a thread walks at a time: those of one such step are read once.
inline constexpr int walk_step = 8;

// Blocks of threads that walk columns and that a multiprocessor should hold.
template <class Float>
inline constexpr int walking_resident_blocks = sizeof(Float) == 4 ? 3 : 2;

// Columns, of which a thread walks a tile: what these come to or, once the columns' totals are there, their outputs;
// and of columns of one tile, which have no splits, all that is wanted.
template <RowOp Op>
__global__ void __launch_bounds__(strided_block_threads, walking_resident_blocks<typename Op::Float>)
    strided_columns(const __grid_constant__ ArgumentsOf<Op> a) {
    using Partial = typename Op::Partial;
    const auto &p = a.problem;
    const bool whole = a.splits == 0;
    const std::size_t blocks = whole ? 1 : a.splits, jobs = p.shape.outer * p.shape.inner * blocks;
    for (std::size_t job = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; job < jobs;
         job += static_cast<std::size_t>(gridDim.x) * blockDim.x) {
        const LoopedTile at(p.shape, blocks, job);
        const ColumnRun run(p.shape, p.selection, at.row, at.block * softmax_block, softmax_block);
        const std::size_t split = at.row * blocks + at.block;
        typename Op::Column column(p, run);
        Partial own, total;
        if (a.applies) {
            own = Op::loaded(a.states[split]);
            total = Op::loaded(a.totals[at.row]);
        } else {
            own = total = column.partial();
            if (whole) {
                Op::finish(p, at.row, total);
            } else {
                a.states[split] = Op::stored(own);
            }
        }
        if (Op::writes(p) && (whole || a.applies)) {
            column.write(own, total);
        }
    }
}

// Columns of up to resident_column_warps times as many elements as a thread holds, read once: 32 side by side by
// the warps of one threadIdx.y, each of which has a run of their elements.
template <RowOp Op>
__global__ void __maxnreg__(Op::resident_column_registers)
    strided_resident_columns(const __grid_constant__ ArgumentsOf<Op> a) {
    constexpr int N = Op::ResidentRun::N;
    __shared__ typename Op::ResidentRun::Totals totals;
    const auto &p = a.problem;
    const HeldPlace at(p.shape);
    const ColumnRun run(p.shape, p.selection, at.row, at.begin<N>(), at.there ? N : 0);
    const int count = at.elements<N>(p.shape.axis);
    const typename Op::Row row = Op::row(p, at.row);
    const unsigned taken = run.taken<N>(p.selection, 0); // first: there are no registers for all at once
    typename Op::ResidentRun held;
    held.load(p, run, row, 0, count, taken);
    const typename Op::Partial total = held.total(p, at, count, taken, totals);
    if (at.member == 0 && at.there) {
        Op::finish(p, at.row, total);
    }
    if (Op::writes(p)) {
        held.write(p, run, row, 0, count, taken, total);
    }
}

template <RowOp Op>
const StridedKernels &strided_kernels() {
    static const StridedKernels kernels{whole_rows_kernel<Op>(),
                                        address_of(strided_rows<Op>),
                                        address_of(strided_splits<Op>),
                                        address_of(strided_totals<Op>),
                                        address_of(strided_columns<Op>),
                                        address_of(strided_resident_columns<Op>),
                                        Op::ResidentRun::N};
    return kernels;
}

} // namespace wr::cuda::strided
