// Short contiguous rows of a power of two elements: a warp reads a tile that holds many of them, and the exchange
// yields all their results at once.
#pragma once

#include "cuda/common/tuning.h"
#include "cuda/reduce/rows.cuh"

namespace wr::cuda {

// Delivers the results that the lanes hold after Steps steps of exchange: row number (32 v + lane) >> Steps of the tile
// for each register that is left.
template <class Op, int Steps>
__device__ __forceinline__ void
deliver_exchanged(const RowArguments &a, typename Op::Accumulator (&values)[tree_registers], std::size_t first_row) {
    exchange_halves<Op, Steps>(values);
    const int lane = lane_index();
    const int first_register = exchanged_register<Steps, tree_registers>(lane);
#pragma unroll
    for (int j = 0; j < tree_registers >> Steps; ++j) {
        const int row = (first_register + j) * (warp_lanes >> Steps) + (lane >> Steps);
        finish_result(values[j], a.finish, a.output, first_row + static_cast<std::size_t>(row));
    }
}

// Rows of 8 vectors and more: one value a lane is left, and `levels` (3 to 8) levels of the tree belong to a row.
template <class Op>
__device__ __forceinline__ void deliver_wide(const RowArguments &a, typename Op::Accumulator (&values)[tree_registers],
                                             std::size_t first_row, int levels) {
    exchange_halves<Op, 3>(values);
    auto sum = values[0];
    for (int level = 3; level < levels; ++level) {
        sum = Op::combine(sum, from_lane_xor(sum, distance_of_level<tree_registers>(level)));
    }
    const int lane = lane_index();
    const int position = exchanged_register<3, tree_registers>(lane) * 4 + (lane >> 3);
    if (position % (1 << (levels - 3)) == 0) {
        finish_result(sum, a.finish, a.output, first_row + static_cast<std::size_t>(position >> (levels - 3)));
    }
}

// Rows of `slots` (a power of two) vectors each.
template <class Op>
__device__ __forceinline__ void deliver_tile(const RowArguments &a, typename Op::Accumulator (&values)[tree_registers],
                                             std::size_t first_row, unsigned slots) {
    switch (slots) {
    case 1:
        deliver_exchanged<Op, 0>(a, values, first_row);
        break;
    case 2:
        deliver_exchanged<Op, 1>(a, values, first_row);
        break;
    case 4:
        deliver_exchanged<Op, 2>(a, values, first_row);
        break;
    default:
        deliver_wide<Op>(a, values, first_row, 31 - __clz(static_cast<int>(slots)));
        break;
    }
}

// Rows of Width elements, of which a vector holds several.
template <class T, class Op, int Width>
__device__ __forceinline__ void deliver_narrow(const RowArguments &a, const uint4 (&vectors)[tree_registers],
                                               std::size_t first_row) {
    constexpr int elements = vector_elements<T>;
#pragma unroll
    for (int v = 0; v < tree_registers; ++v) {
        T raw[elements];
        memcpy(raw, &vectors[v], sizeof(uint4));
        typename Op::Accumulator values[elements];
#pragma unroll
        for (int e = 0; e < elements; ++e) {
            values[e] = Op::map(raw[e], a.mapping);
        }
#pragma unroll
        for (int stride = 1; stride < Width; stride *= 2) {
#pragma unroll
            for (int e = 0; e < elements; e += 2 * stride) {
                values[e] = Op::combine(values[e], values[e + stride]);
            }
        }
        const std::size_t first =
            first_row + static_cast<std::size_t>((v * warp_lanes + lane_index()) * (elements / Width));
        typename Op::Accumulator results[elements / Width];
#pragma unroll
        for (int r = 0; r < elements / Width; ++r) {
            results[r] = values[r * Width];
        }
        finish_neighbours(results, a.finish, a.output, first);
    }
}

// Of a.axis elements, a power of two from Width on and less than a vector's.
template <class T, class Op, int Width = 1>
__device__ __forceinline__ void deliver_any_narrow(const RowArguments &a, const uint4 (&vectors)[tree_registers],
                                                   std::size_t first_row) {
    if constexpr (Width < vector_elements<T>) {
        if (a.axis == Width) {
            deliver_narrow<T, Op, Width>(a, vectors, first_row);
        } else {
            deliver_any_narrow<T, Op, 2 * Width>(a, vectors, first_row);
        }
    }
}

template <class T, class Op>
__device__ __forceinline__ void reduce_packed_tile(const RowArguments &a, const uint4 (&vectors)[tree_registers],
                                                   std::size_t first_row) {
    constexpr std::size_t elements = vector_elements<T>;
    if (a.axis < elements) {
        deliver_any_narrow<T, Op>(a, vectors, first_row);
        return;
    }
    typename Op::Accumulator values[tree_registers];
#pragma unroll
    for (int v = 0; v < tree_registers; ++v) {
        values[v] = vector_tree<T, Op>(vectors[v], a.mapping);
    }
    deliver_tile<Op>(a, values, first_row, static_cast<unsigned>(a.axis / elements));
}

// The rows of a tile that is not whole.
template <class T, class Op>
__device__ __noinline__ void reduce_rows_singly(const RowArguments &a, std::size_t first_row, std::size_t end_row) {
    for (std::size_t row = first_row; row < end_row; ++row) {
        const Row<T> one{static_cast<const T *>(a.input) + row * a.axis, a.axis, 1};
        const auto value = warp_reduce<ScatteredAccess<T, Op>, T, Op>(one, Hull{}, 0, most_tiles_a_warp, a.mapping);
        deliver<Op>(a, value, row, 0);
    }
}

// a.axis is a power of two below a tile's elements, the rows touch each other and the first starts on a 16-byte
// boundary; each warp takes one tile.
template <class T, class Op>
__global__ void __launch_bounds__(row_block_threads, 3) reduce_packed_rows(const __grid_constant__ RowArguments a) {
    static_assert(!Op::positional);
    take_place_on_stream(a.destination);
    const unsigned rows_a_tile = tile_elements<T> / static_cast<unsigned>(a.axis);
    const std::size_t tile =
        blockIdx.x * static_cast<std::size_t>(row_block_warps) + static_cast<std::size_t>(warp_index());
    const std::size_t first_row = a.first_row + tile * rows_a_tile;
    if (first_row >= a.rows) {
        return;
    }
    if (first_row + rows_a_tile > a.rows) {
        reduce_rows_singly<T, Op>(a, first_row, a.rows);
        return;
    }
    const char *first = reinterpret_cast<const char *>(static_cast<const T *>(a.input) + first_row * a.axis);
    uint4 vectors[tree_registers];
    if (a.axis <= tuning::plainly_loaded_axis) {
        load_aligned_tile_plainly(first, vectors);
    } else {
        load_aligned_tile(first, vectors);
    }
    reduce_packed_tile<T, Op>(a, vectors, first_row);
}

} // namespace wr::cuda
