// Base blocks of a piece of rows and columns: where their elements are, and the state of one whose logits a warp holds.
#pragma once

#include "cuda/softmax/strided/strided.cuh"
#include "cuda/state/arguments.h"

namespace wr::cuda {

// Number `index` of `inner` innermost; of most jobs in 32 bits, which take a tenth of the time.
struct JobPlace {
    std::uint64_t outer, inner;

    __device__ __forceinline__ JobPlace(std::uint64_t index, std::uint64_t inner_size) {
        if (((index | inner_size) >> 32) == 0) {
            outer = static_cast<std::uint32_t>(index) / static_cast<std::uint32_t>(inner_size);
        } else {
            outer = index / inner_size;
        }
        inner = index - outer * inner_size;
    }
};

__device__ __forceinline__ PieceRow piece_row_of(const SoftmaxProblem &p, std::uint64_t first, std::uint64_t row) {
    const JobPlace at(row, p.shape.inner);
    return {at.outer, at.inner, leading_elements_of_piece(p.selection, row, at.outer, first, p.shape.axis)};
}

__device__ __forceinline__ strided::StridedRow strided_row(const SoftmaxProblem &p, const PieceRow &of,
                                                           std::uint64_t row) {
    return {row, of.outer, of.inner, piece_index(p, of, 0), p.shape.inner, p.shape.axis, of.leading};
}

// The part of a row that ends before the piece's element `end`.
__device__ __forceinline__ strided::StridedRow strided_row_before(const SoftmaxProblem &p, const PieceRow &of,
                                                                  std::uint64_t row, std::uint64_t end) {
    strided::StridedRow place = strided_row(p, of, row);
    place.count = end;
    place.taken = smaller<std::size_t>(place.taken, end);
    return place;
}

// Of a column, the run that is one of its base blocks, which begins with the piece's element `begin`.
__device__ __forceinline__ strided::ColumnRun column_block(const SoftmaxProblem &p, const PieceRow &of,
                                                           std::uint64_t row, std::uint64_t begin) {
    strided::ColumnRun run(p.shape, Selection{}, row, begin, softmax_block);
    run.leading = static_cast<int>(smaller(of.leading - smaller(of.leading, begin), softmax_block));
    return run;
}

// Element number `index` of those that both edges of all rows have, in the order in which they are kept.
struct EdgeElement {
    std::uint64_t outer, inner, at; // in the piece

    __device__ __forceinline__ EdgeElement(const SoftmaxPiece &piece, std::uint64_t rows, std::uint64_t inner_size,
                                           std::uint64_t index) {
        const std::uint64_t left = piece.left(), right = piece.right(), before = left * rows;
        const bool is_left = index < before;
        const JobPlace place(is_left ? index : index - before, inner_size);
        const JobPlace along(place.outer, is_left ? left : right);
        outer = along.outer;
        inner = place.inner;
        at = along.inner + (is_left ? 0 : piece.count - right);
    }
};

// The largest of a warp's logits, in every lane.
template <class Float>
__device__ __forceinline__ Float tile_maximum(const Float (&x)[strided::lane_elements]) {
    Float maximum = x[0];
#pragma unroll
    for (int i = 1; i < strided::lane_elements; ++i) {
        maximum = larger_with_nan(maximum, x[i]);
    }
    return warp_maximum(larger_with_nan(maximum, maximum));
}

// The state of a base block, element i of lane l at position 32 i + l, -infinity behind the last.
template <class Float, class Sum>
__device__ __noinline__ RowState<Float, Sum> tile_state_of(const Float *logits) {
    Float x[strided::lane_elements];
#pragma unroll
    for (int i = 0; i < strided::lane_elements; ++i) {
        x[i] = logits[i];
    }
    const Float maximum = tile_maximum(x);
    const Frame<Float> frame = frame_of(maximum);
    constexpr int half = strided::lane_elements / 2;
    Sum sums[half];
#pragma unroll
    for (int i = 0; i < half; ++i) {
        sums[i] = exchange_pair<FloatSum<Sum>, 0>(static_cast<Sum>(exponential_in(frame, x[i])),
                                                  static_cast<Sum>(exponential_in(frame, x[i + half])));
    }
    return {maximum, settle_block_sum(maximum, warp_tree<FloatSum<Sum>, 1>(sums))};
}

// Logits that two neighbours keep, `stride` apart: the first `split` from one, those behind them from the other.
template <class Float>
struct KeptLogits {
    const Float *first, *second; // either as if it had the first element
    std::uint64_t split, count, stride;

    // All are on their way at the same time; -infinity behind the last.
    __device__ __forceinline__ void load(Float (&x)[strided::lane_elements]) const {
#pragma unroll
        for (int i = 0; i < strided::lane_elements; ++i) {
            const auto k = static_cast<std::uint64_t>(i * warp_lanes + lane_index());
            const Float *const from = k < split ? first : second;
            x[i] = k < count ? from[k * stride] : -std::numeric_limits<Float>::infinity();
        }
    }
};

// Of one state, from element `at` on.
template <class Float, class Sum>
__device__ __forceinline__ KeptLogits<Float> kept_logits(const SoftmaxStateView<Float, Sum> &state, std::uint64_t o,
                                                         std::uint64_t i, std::uint64_t at, std::uint64_t count) {
    const Float *const from = count == 0 ? nullptr : state.element_at(o, i, at);
    return {from, from, count, count, state.places.inner};
}

template <class Float, class Sum>
__device__ __forceinline__ RowState<Float, Sum> state_of_kept(const KeptLogits<Float> &logits) {
    Float x[strided::lane_elements];
    logits.load(x);
    return tile_state_of<Float, Sum>(x);
}

// The state of softmax of a piece: the base blocks, of them the runs, and the elements of blocks that are cut.

template <class Float, class Sum>
__device__ __forceinline__ KeptState<Sum> *block_state(const SoftmaxStateArguments &a, std::uint64_t row,
                                                       std::uint64_t block) {
    return static_cast<KeptState<Sum> *>(a.block_states) + row * a.blocks + block;
}

// What an edge of a row cuts, by a warp.
template <class Float, class Sum>
__device__ __forceinline__ void keep_edge_of_row(const SoftmaxStateArguments &a, std::uint64_t row, bool is_left,
                                                 typename ExponentialConstants<Float>::Bits *elements) {
    const SoftmaxPiece &piece = a.places.piece;
    const std::uint64_t left = piece.left(), right = piece.right(), count = is_left ? left : right;
    if (count == 0) {
        return;
    }
    const std::uint64_t begin = is_left ? 0 : piece.count - right;
    strided::StridedTile<Float, Sum> tile;
    tile.load_logits(a.problem,
                     strided_row_before(a.problem, piece_row_of(a.problem, a.first, row), row, begin + count), begin);
    auto *const own = elements + (is_left ? 0 : left * a.places.rows()) + row * count;
#pragma unroll
    for (int i = 0; i < strided::lane_elements; ++i) {
        const auto k = static_cast<std::uint64_t>(i * warp_lanes + lane_index());
        if (k < count) {
            own[k] = kept_bits(tile.values[i]);
        }
    }
}

// By a block of threads.
__device__ __forceinline__ void write_header(const SoftmaxStateArguments &a) {
    if (threadIdx.x == 0) {
        *(static_cast<StateHeader *>(a.payload) - 1) = a.header;
        if (a.check != nullptr) {
            *a.check = 0;
        }
    }
}

template <class Float, class Sum>
__device__ __forceinline__ typename ExponentialConstants<Float>::Bits *kept_elements(const SoftmaxStateArguments &a) {
    return reinterpret_cast<typename ExponentialConstants<Float>::Bits *>(static_cast<KeptState<Sum> *>(a.payload) +
                                                                          a.states);
}

// The elements of blocks that are cut, and the header, by the last blocks of threads of a grid of rows, or of columns.
template <class Float, class Sum, bool Rows>
__device__ __forceinline__ void keep_edges(const SoftmaxStateArguments &a) {
    auto *const elements = kept_elements<Float, Sum>(a);
    const std::uint64_t own = blockIdx.x - (gridDim.x - a.edge_blocks);
    if constexpr (Rows) {
        const std::uint64_t jobs = a.edge_elements == 0 ? 0 : 2 * a.places.rows();
        const std::uint64_t step = std::uint64_t{a.edge_blocks} * softmax_state_warps;
        for (std::uint64_t job = own * softmax_state_warps + warp_index(); job < jobs; job += step) {
            keep_edge_of_row<Float, Sum>(a, job / 2, job % 2 == 0, elements);
        }
    } else {
        const std::uint64_t step = std::uint64_t{a.edge_blocks} * softmax_state_threads;
        for (std::uint64_t index = own * softmax_state_threads + threadIdx.x; index < a.edge_elements; index += step) {
            const EdgeElement of(a.places.piece, a.places.rows(), a.places.inner, index);
            const PieceRow row = piece_row_of(a.problem, a.first, of.outer * a.places.inner + of.inner);
            elements[index] = kept_bits(piece_logit<Float>(a.problem, row, of.at));
        }
    }
    if (own == 0) {
        write_header(a);
    }
}

// The base blocks of a row, element by element.
template <class F, class S>
struct StridedBlocks {
    using Float = F;
    using Sum = S;
    static constexpr int resident = strided::strided_resident_blocks<Float>;
    const SoftmaxProblem &p;
    strided::StridedRow place;

    __device__ __forceinline__ StridedBlocks(const SoftmaxStateArguments &a, std::uint64_t row)
        : p(a.problem), place(strided_row(p, piece_row_of(p, a.first, row), row)) {}

    __device__ __forceinline__ RowState<Float, Sum> state(std::uint64_t begin) const {
        strided::StridedTile<Float, Sum> tile;
        return tile.load(p, place, strided::NoRow(), begin);
    }
};

// A warp for each group of base blocks of each row, which Blocks reads.
template <class Blocks>
__global__ void __launch_bounds__(softmax_state_threads, Blocks::resident)
    softmax_state_rows(const __grid_constant__ SoftmaxStateArguments a) {
    using Float = typename Blocks::Float;
    using Sum = typename Blocks::Sum;
    pdl_wait_and_release();
    const unsigned blocks = gridDim.x - a.edge_blocks;
    if (blockIdx.x >= blocks) {
        keep_edges<Float, Sum, true>(a);
        return;
    }
    const std::uint64_t jobs = a.places.rows() * a.groups, step = std::uint64_t{blocks} * softmax_state_warps;
    for (std::uint64_t job = std::uint64_t{blockIdx.x} * softmax_state_warps + warp_index(); job < jobs; job += step) {
        const JobPlace at(job, a.groups);
        const Blocks row(a, at.outer);
        const std::uint64_t group = (a.first_group + at.inner) << a.group, length = std::uint64_t{1} << a.group;
        const std::uint64_t begin = larger(group, a.first_block) - a.first_block;
        const std::uint64_t end = smaller(group + length, a.first_block + a.blocks) - a.first_block;
        const auto count = static_cast<int>(end - begin);
        RowState<Float, Sum> mine = StateMerge<Float, Sum>::identity();
#pragma unroll 1
        for (int block = 0; block < count; ++block) {
            const RowState<Float, Sum> state = row.state(
                a.places.piece.left() + (begin + static_cast<std::uint64_t>(block)) * std::uint64_t{softmax_block});
            mine = lane_index() == block ? state : mine;
        }
        const bool together = static_cast<std::uint64_t>(count) == length;
        if (together && count > 1) {
            mine = merge_any_lanes(mine);
        }
        if (lane_index() < (together ? 1 : count)) {
            *block_state<Float, Sum>(a, at.outer, begin + static_cast<std::uint64_t>(lane_index())) = kept(mine);
        }
    }
}

// Few rows: a block of threads for each, or for each run of each: a warp for each base block and, in a row's last
// block, for each edge, and then for each run.
template <class Blocks>
__global__ void __launch_bounds__(sizeof(typename Blocks::Float) == 4 ? most_few_rows_threads
                                                                      : most_few_rows_threads / 2)
    softmax_state_few_rows(const __grid_constant__ SoftmaxStateArguments a) {
    using Float = typename Blocks::Float;
    using Sum = typename Blocks::Sum;
    __shared__ RowState<Float, Sum> states[most_blocks_of_few_rows];
    pdl_wait_and_release();
    const std::uint64_t row = blockIdx.x;
    const bool by_runs = gridDim.y != 1;
    const int first_run = static_cast<int>(blockIdx.y), end_run = by_runs ? first_run + 1 : a.run_count;
    const auto first = static_cast<int>(a.run_begin[first_run]), end = static_cast<int>(a.run_begin[end_run]);
    const int blocks = end - first, edges = blockIdx.y + 1 == gridDim.y ? 2 : 0;
    const int warps = static_cast<int>(blockDim.x) / warp_lanes;
#pragma unroll 1
    for (int job = warp_index(); job < blocks + edges; job += warps) {
        if (job >= blocks) {
            keep_edge_of_row<Float, Sum>(a, row, job == blocks, kept_elements<Float, Sum>(a));
            continue;
        }
        const Blocks own(a, row);
        const RowState<Float, Sum> state =
            own.state(a.places.piece.left() + static_cast<std::uint64_t>(first + job) * softmax_block);
        if (lane_index() == 0) {
            states[job] = state;
        }
    }
    __syncthreads();
    for (int run = first_run + warp_index(); run < end_run; run += warps) {
        const auto begin = static_cast<int>(a.run_begin[run]), count = static_cast<int>(a.run_begin[run + 1]) - begin;
        const RowState<Float, Sum> whole = merge_any_lanes(lane_index() < count ? states[begin - first + lane_index()]
                                                                                : StateMerge<Float, Sum>::identity());
        if (lane_index() == 0) {
            static_cast<KeptState<Sum> *>(a.payload)[a.places.state(static_cast<std::uint64_t>(run), row)] =
                kept(whole);
        }
    }
    if (row == 0 && first_run == 0) {
        write_header(a);
    }
}

// A thread for each base block of each column.
template <class Float, class Sum>
__global__ void __launch_bounds__(softmax_state_threads, strided::walking_resident_blocks<Float>)
    softmax_state_columns(const __grid_constant__ SoftmaxStateArguments a) {
    pdl_wait_and_release();
    const SoftmaxProblem &p = a.problem;
    const unsigned blocks = gridDim.x - a.edge_blocks;
    if (blockIdx.x >= blocks) {
        keep_edges<Float, Sum, false>(a);
        return;
    }
    const std::uint64_t jobs = a.places.rows() * a.blocks, step = std::uint64_t{blocks} * softmax_state_threads;
    for (std::uint64_t job = std::uint64_t{blockIdx.x} * softmax_state_threads + threadIdx.x; job < jobs; job += step) {
        const strided::LoopedTile own(p.shape, a.blocks, job);
        const PieceRow row = piece_row_of(p, a.first, own.row);
        const strided::ColumnRun run =
            column_block(p, row, own.row, a.places.piece.left() + own.block * std::uint64_t{softmax_block});
        strided::LoopedLogits<Float, Sum> logits(p, run);
        *block_state<Float, Sum>(a, own.row, own.block) = kept(logits.partial());
    }
}

// a.run_lanes threads for each run of each row: a part of it each, and then what they have, as a tree.
template <class Float, class Sum>
__global__ void __launch_bounds__(softmax_state_threads)
    softmax_state_runs(const __grid_constant__ SoftmaxStateArguments a) {
    using State = RowState<Float, Sum>;
    __shared__ State states[softmax_state_threads];
    pdl_wait_and_release();
    const int lanes = a.run_lanes, own = static_cast<int>(threadIdx.x) & (lanes - 1);
    const auto jobs_of_block = static_cast<std::uint64_t>(softmax_state_threads / lanes);
    const std::uint64_t rows = a.places.rows(), jobs = rows * static_cast<std::uint64_t>(a.run_count);
    for (std::uint64_t first = blockIdx.x * jobs_of_block; first < jobs; first += gridDim.x * jobs_of_block) {
        const std::uint64_t job = first + threadIdx.x / static_cast<unsigned>(lanes);
        const bool there = job < jobs;
        const JobPlace at(there ? job : 0, rows); // the run, and the row
        const std::uint64_t begin = a.run_begin[at.outer], blocks = a.run_begin[at.outer + 1] - begin;
        const std::uint64_t each = blocks >> a.group == 0 ? 1 : std::uint64_t{1} << a.group; // blocks of a state
        const std::uint64_t count = blocks / each, part = larger<std::uint64_t>(count / lanes, 1);
        const auto parts = static_cast<int>(count / part);
        State mine = StateMerge<Float, Sum>::identity();
        if (there && own < parts) {
            TreeCounter<StateMerge<Float, Sum>, 53> counter;
            for (std::uint64_t i = 0; i < part; ++i) {
                const std::uint64_t block = begin + (static_cast<std::uint64_t>(own) * part + i) * each;
                counter.push(state_from<Float, Sum>(*block_state<Float, Sum>(a, at.inner, block)));
            }
            mine = counter.result();
        }
        states[threadIdx.x] = mine;
        for (int distance = 1; distance < lanes; distance *= 2) {
            __syncthreads();
            if ((own & (2 * distance - 1)) == 0) {
                mine = combine(mine, states[threadIdx.x + static_cast<unsigned>(distance)]);
                states[threadIdx.x] = mine;
            }
        }
        if (there && own == 0) {
            static_cast<KeptState<Sum> *>(a.payload)[a.places.state(at.outer, at.inner)] = kept(mine);
        }
        __syncthreads();
    }
}

} // namespace wr::cuda
