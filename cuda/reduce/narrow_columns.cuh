// Narrow columns, whose rows are one, two or four vectors: a warp reads tiles of whole rows as if they were one array,
// and each lane keeps to the columns of one vector. Nothing is staged: shared memory costs power, and with it the
// clock.
#pragma once

#include "cuda/reduce/columns.cuh"

namespace wr::cuda {

// Tiles that a warp takes, one after the other: their results wait in lanes of their own.
inline constexpr int narrow_column_tiles = 8;
inline constexpr int narrow_column_warps = column_block_threads / warp_lanes;
inline constexpr int most_lanes_of_row = 4;
static_assert(narrow_column_tiles * most_lanes_of_row <= warp_lanes);
static_assert(narrow_column_vectors == narrow_column_tiles * narrow_column_warps * tree_registers * warp_lanes);

// The tree over 8 registers, and over the lanes that are a multiple of 2^across_log2 apart, which go first; each of
// these lanes gets it. As in exchange_halves, lanes swap halves of their registers.
template <class Op>
__device__ __forceinline__ typename Op::Accumulator tree_over_rows(typename Op::Accumulator (&values)[tree_registers],
                                                                   int across_log2) {
    constexpr int steps = log2_of(tree_registers);
#pragma unroll
    for (int step = 0; step < steps; ++step) {
        const int distance = 1 << (across_log2 + step), half = tree_registers >> (step + 1);
        const bool upper = (lane_index() & distance) != 0;
#pragma unroll
        for (int j = 0; j < half; ++j) {
            const auto keep = upper ? values[j + half] : values[j];
            const auto send = upper ? values[j] : values[j + half];
            values[j] = Op::combine(keep, from_lane_xor(send, distance));
        }
    }
    auto sum = values[0];
    for (int distance = tree_registers << across_log2; distance < warp_lanes; distance *= 2) {
        sum = Op::combine(sum, from_lane_xor(sum, distance));
    }
#pragma unroll
    for (int step = steps - 1; step >= 0; --step) { // registers, the lowest bit of whose number the last step has taken
        sum = Op::combine(sum, from_lane_xor(sum, 1 << (across_log2 + step)));
    }
    return sum;
}

// The results of a tile's columns. Vectors from number `left` of the tile on are behind the end of the axis.
template <class T, class Op>
__device__ __forceinline__ void reduce_rows_of_tile(const char *tile, std::size_t left, const Mapping &m,
                                                    int across_log2,
                                                    typename Op::Accumulator (&results)[vector_elements<T>]) {
    const auto lane = static_cast<std::size_t>(lane_index());
    uint4 vectors[tree_registers];
#pragma unroll
    for (int v = 0; v < tree_registers; ++v) {
        const std::size_t number = static_cast<std::size_t>(v * warp_lanes) + lane;
        vectors[v] = load_streaming(tile + smaller(number, left - 1) * vector_bytes);
    }
    __syncwarp(); // or the compiler asks for the last ones once it has used the first
#pragma unroll
    for (int e = 0; e < vector_elements<T>; ++e) {
        typename Op::Accumulator values[tree_registers];
#pragma unroll
        for (int v = 0; v < tree_registers; ++v) {
            T raw[vector_elements<T>];
            memcpy(raw, &vectors[v], sizeof(raw));
            const bool there = static_cast<std::size_t>(v * warp_lanes) + lane < left;
            values[v] = there ? Op::map(raw[e], m) : Op::identity();
        }
        results[e] = tree_over_rows<Op>(values, across_log2);
    }
}

// The end of a block whose warps have taken tiles one after the other. The lanes l of which l >> across_log2 is t have
// the results of their warp's tile number t: Columns columns each, side by side, of which `columns` are there.
template <class Op, int Columns>
__device__ __forceinline__ void deliver_tiles(const ColumnArguments &a, const ColumnJob &job,
                                              typename Op::Accumulator (&mine)[Columns], int across_log2, int columns) {
    __shared__ typename Op::Accumulator results[narrow_column_warps][most_lanes_of_row * Columns];
#pragma unroll
    for (int e = 0; e < Columns; ++e) {
        if (e < columns) {
#pragma unroll
            for (int tiles = 1; tiles < narrow_column_tiles; tiles *= 2) {
                mine[e] = Op::combine(mine[e], from_lane_xor(mine[e], tiles << across_log2));
            }
            if (lane_index() >> across_log2 == 0) {
                results[warp_index()][lane_index() * Columns + e] = mine[e];
            }
        }
    }
    __syncthreads();
    if (threadIdx.x < static_cast<unsigned>(a.inner)) {
        typename Op::Accumulator values[narrow_column_warps];
#pragma unroll
        for (int w = 0; w < narrow_column_warps; ++w) {
            values[w] = results[w][threadIdx.x];
        }
        deliver_column<Op>(a, tree_of_elements<Op>(values), job.outer_group, job.group, threadIdx.x);
    }
}

// The array is contiguous and begins on a 16-byte boundary. a.threads_across is the number of vectors of a row.
template <class T, class Op>
__global__ void __launch_bounds__(column_block_threads, 3)
    reduce_narrow_columns(const __grid_constant__ ColumnArguments a) {
    static_assert(!Op::positional);
    using Accumulator = typename Op::Accumulator;
    constexpr int elements = vector_elements<T>;
    constexpr std::size_t tile_vectors = tree_registers * warp_lanes;
    take_place_on_stream(a.destination);
    const ColumnJob job = a.few_jobs ? column_job(a, blockIdx.x) : column_job_by_64_bits(a, a.first_job + blockIdx.x);
    const int across_log2 = 31 - __clz(a.threads_across), row = lane_index() >> across_log2;
    const std::size_t vectors = a.axis << across_log2;
    const std::size_t first = (job.group * narrow_column_warps + static_cast<std::size_t>(warp_index())) *
                              (narrow_column_tiles * tile_vectors);
    const char *at = reinterpret_cast<const char *>(static_cast<const T *>(a.input) +
                                                    static_cast<std::ptrdiff_t>(job.outer_group) * a.outer_stride) +
                     first * vector_bytes;
    Accumulator mine[elements];
#pragma unroll
    for (Accumulator &each : mine) {
        each = Op::identity();
    }
#pragma unroll 1
    for (int t = 0; t < narrow_column_tiles; ++t) {
        const std::size_t begin = first + static_cast<std::size_t>(t) * tile_vectors;
        if (begin >= vectors) {
            break;
        }
        Accumulator tile[elements];
        reduce_rows_of_tile<T, Op>(at, vectors - begin, a.mapping, across_log2, tile);
        at += tile_bytes;
#pragma unroll
        for (int e = 0; e < elements; ++e) {
            mine[e] = row == t ? tile[e] : mine[e];
        }
    }
    deliver_tiles<Op>(a, job, mine, across_log2, elements);
}

} // namespace wr::cuda
