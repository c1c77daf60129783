// 3 and 6 columns of words: each warp puts tiles of whole rows through shared memory of its own, so that a lane gets
// rows that touch each other, all their columns, and has most of the tree to itself. The next tile's vectors are on
// their way while one is reduced.
#pragma once

#include "cuda/reduce/narrow_columns.cuh"

namespace wr::cuda {

// A lane's share of a tile: so many times three vectors, which hold 4 rows of 3 columns or 2 of 6.
inline constexpr int triples_of_lane = 2;
inline constexpr int triple_elements = 12;
inline constexpr int vectors_of_lane = 3 * triples_of_lane;
static_assert(triple_column_vectors == narrow_column_tiles * narrow_column_warps * vectors_of_lane * warp_lanes);

// Only what leaves a tile in registers.
template <class T, class Op>
inline constexpr bool has_triple_columns =
    sizeof(T) == 4 && sizeof(typename Op::Accumulator) == 4 && vector_elements<T> * 3 == triple_elements;

// A warp's tile. A vector is left out behind each lane's, so that lanes meet different banks.
struct TripleTile {
    static constexpr int pitch = vectors_of_lane + 1;
    static constexpr int period = 3; // vectors until a lane's are as far along another lane's share
    static_assert(period * warp_lanes % vectors_of_lane == 0 && vectors_of_lane % period == 0 && pitch % 2 == 1);
    uint4 vectors[warp_lanes * pitch];

    __device__ __forceinline__ void put(const uint4 (&loaded)[vectors_of_lane]) {
#pragma unroll
        for (int v = 0; v < period; ++v) {
            const int number = v * warp_lanes + lane_index();
            uint4 *at = vectors + (number + number / vectors_of_lane);
#pragma unroll
            for (int later = 0; later < vectors_of_lane / period; ++later) {
                at[later * (period * warp_lanes / vectors_of_lane * pitch)] = loaded[later * period + v];
            }
        }
    }
    __device__ __forceinline__ const uint4 *of_lane() const { return vectors + lane_index() * pitch; }
};

template <class T>
__device__ __forceinline__ void load_triple_tile(const T *tile, uint4 (&vectors)[vectors_of_lane]) {
    const char *at = reinterpret_cast<const char *>(tile) + lane_index() * vector_bytes;
#pragma unroll
    for (int v = 0; v < vectors_of_lane; ++v) {
        vectors[v] = load_streaming(at + v * warp_lanes * vector_bytes);
    }
    __syncwarp(); // or the compiler asks for the last ones later
}

// The tree over the 4 or 2 rows that a triple holds; its first 3 or 6 elements are the columns' then.
template <class Op>
__device__ __forceinline__ void reduce_rows_of_triple(typename Op::Accumulator (&values)[triple_elements], bool three) {
    constexpr int half = triple_elements / 2, quarter = triple_elements / 4;
    if (three) {
#pragma unroll
        for (int e = 0; e < quarter; ++e) {
            values[e] = Op::combine(values[e], values[e + quarter]);
            values[e + half] = Op::combine(values[e + half], values[e + half + quarter]);
        }
    }
#pragma unroll
    for (int e = 0; e < half; ++e) {
        values[e] = Op::combine(values[e], values[e + half]);
    }
}

// The tree over all lanes' results of three columns, number First to First + 2.
template <class Op, int First>
__device__ __forceinline__ void reduce_three_columns(typename Op::Accumulator (&results)[triple_elements / 2],
                                                     typename Op::Accumulator (&mine)[triple_elements / 2], int tile) {
#pragma unroll
    for (int distance = 1; distance < warp_lanes; distance *= 2) {
#pragma unroll
        for (int e = First; e < First + 3; ++e) {
            results[e] = Op::combine(results[e], from_lane_xor(results[e], distance));
        }
    }
#pragma unroll
    for (int e = First; e < First + 3; ++e) {
        mine[e] = lane_index() == tile ? results[e] : mine[e];
    }
}

// A tile's columns, kept by the lane of its number. triple(t, values) gives a lane's triple number t.
template <class Op, class Triple>
__device__ __forceinline__ void reduce_triple_tile(const Triple &triple, bool three,
                                                   typename Op::Accumulator (&mine)[triple_elements / 2], int tile) {
    static_assert(triples_of_lane == 2);
    typename Op::Accumulator results[triple_elements / 2], first[triple_elements], second[triple_elements];
    triple(0, first);
    reduce_rows_of_triple<Op>(first, three);
    triple(1, second);
    reduce_rows_of_triple<Op>(second, three);
#pragma unroll
    for (int e = 0; e < triple_elements / 2; ++e) {
        results[e] = Op::combine(first[e], second[e]);
    }
    reduce_three_columns<Op, 0>(results, mine, tile);
    if (!three) {
        reduce_three_columns<Op, 3>(results, mine, tile);
    }
}

// A contiguous array of 3 or 6 columns, which begins on a 16-byte boundary, as does each outer index.
template <class T, class Op>
__global__ void __launch_bounds__(column_block_threads, 3)
    reduce_triple_columns(const __grid_constant__ ColumnArguments a) {
    static_assert(!Op::positional && has_triple_columns<T, Op>);
    using Accumulator = typename Op::Accumulator;
    constexpr int most_columns = triple_elements / 2;
    constexpr std::size_t tile_elements = std::size_t{warp_lanes} * triples_of_lane * triple_elements;
    __shared__ TripleTile tiles[narrow_column_warps];
    take_place_on_stream(a.destination);
    const ColumnJob job = a.few_jobs ? column_job(a, blockIdx.x) : column_job_by_64_bits(a, a.first_job + blockIdx.x);
    const bool three = a.inner == 3;
    const std::size_t first = (job.group * narrow_column_warps + static_cast<std::size_t>(warp_index())) *
                              (narrow_column_tiles * tile_elements);
    const std::size_t elements = a.axis * a.inner, left = elements - smaller(first, elements);
    const T *at =
        static_cast<const T *>(a.input) + static_cast<std::ptrdiff_t>(job.outer_group) * a.outer_stride + first;
    const int whole = static_cast<int>(smaller<std::size_t>(left / tile_elements, narrow_column_tiles));
    TripleTile &stage = tiles[warp_index()];
    Accumulator mine[most_columns];
#pragma unroll
    for (Accumulator &each : mine) {
        each = Op::identity();
    }
    uint4 ahead[vectors_of_lane];
    if (whole != 0) {
        load_triple_tile(at, ahead);
    }
#pragma unroll 1
    for (int tile = 0; tile < whole; ++tile) {
        stage.put(ahead);
        __syncwarp();
        at += tile_elements;
        if (tile + 1 < whole) {
            load_triple_tile(at, ahead);
        }
        reduce_triple_tile<Op>(
            [&](int t, Accumulator(&values)[triple_elements]) {
                T raw[triple_elements];
                memcpy(raw, stage.of_lane() + 3 * t, sizeof(raw));
#pragma unroll
                for (int e = 0; e < triple_elements; ++e) {
                    values[e] = Op::map(raw[e], a.mapping);
                }
            },
            three, mine, tile);
        __syncwarp();
    }
    const int rest = static_cast<int>(smaller(left - whole * tile_elements, tile_elements));
    if (whole < narrow_column_tiles && rest != 0) {
        reduce_triple_tile<Op>(
            [&](int t, Accumulator(&values)[triple_elements]) {
#pragma unroll
                for (int e = 0; e < triple_elements; ++e) {
                    const int number = (lane_index() * triples_of_lane + t) * triple_elements + e;
                    values[e] = number < rest ? Op::map(at[number], a.mapping) : Op::identity();
                }
            },
            three, mine, whole);
    }
    deliver_tiles<Op>(a, job, mine, 0, static_cast<int>(a.inner));
}

} // namespace wr::cuda
