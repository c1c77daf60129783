// Short contiguous rows whose width is a power of two: a warp reads a tile that holds many of them, and the exchange
// yields all their results at once.
#pragma once

#include "cuda/reduce_rows.cuh"

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

// Rows within a vector.
template <class T, class Op>
__device__ __forceinline__ void deliver_narrow(const RowArguments &a, const uint4 (&vectors)[tree_registers],
                                               std::size_t first_row) {
    constexpr int elements = vector_elements<T>;
    const int width = static_cast<int>(a.axis);
#pragma unroll
    for (int v = 0; v < tree_registers; ++v) {
        T raw[elements];
        memcpy(raw, &vectors[v], sizeof(uint4));
        typename Op::Accumulator values[elements];
#pragma unroll
        for (int e = 0; e < elements; ++e) {
            values[e] = Op::map(raw[e], a.flip);
        }
        const std::size_t first =
            first_row + static_cast<std::size_t>((v * warp_lanes + lane_index()) * (elements / width));
#pragma unroll
        for (int stride = 1; stride < elements; stride *= 2) {
            if (stride < width) {
#pragma unroll
                for (int e = 0; e < elements; e += 2 * stride) {
                    values[e] = Op::combine(values[e], values[e + stride]);
                }
            }
        }
#pragma unroll
        for (int e = 0; e < elements; ++e) {
            if (e % width == 0) {
                finish_result(values[e], a.finish, a.output, first + static_cast<std::size_t>(e / width));
            }
        }
    }
}

template <class T, class Op>
__device__ __forceinline__ void reduce_packed_tile(const RowArguments &a, const uint4 (&vectors)[tree_registers],
                                                   std::size_t first_row) {
    constexpr std::size_t elements = vector_elements<T>;
    if (a.axis < elements) {
        deliver_narrow<T, Op>(a, vectors, first_row);
        return;
    }
    typename Op::Accumulator values[tree_registers];
#pragma unroll
    for (int v = 0; v < tree_registers; ++v) {
        values[v] = vector_tree<T, Op>(vectors[v], a.flip);
    }
    switch (a.axis / elements) {
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
        deliver_wide<Op>(a, values, first_row, 31 - __clz(static_cast<int>(a.axis / elements)));
        break;
    }
}

// The rows of a tile of which not all can be read by vectors.
template <class T, class Op>
__device__ __noinline__ void reduce_rows_singly(const RowArguments &a, std::size_t first_row, std::size_t end_row) {
    for (std::size_t row = first_row; row < end_row; ++row) {
        const Row<T> one{static_cast<const T *>(a.input) + row * a.axis, a.axis, 1};
        const auto value = warp_reduce<ScatteredAccess<T, Op>, T, Op>(one, Hull{}, 0, most_tiles_a_warp, a.flip);
        deliver<Op>(a, value, row, 0);
    }
}

// a.axis is a power of two below a tile's elements, the rows touch each other, each warp takes one tile. Aligned: the
// first row starts on a 16-byte boundary.
template <class T, class Op, bool Aligned>
__global__ void __launch_bounds__(row_block_threads, 3) reduce_packed_rows(const __grid_constant__ RowArguments a) {
    take_place_in_call(a.destination, a.follows);
    const unsigned rows_a_tile = tile_elements<T> / static_cast<unsigned>(a.axis);
    const std::size_t tile =
        blockIdx.x * static_cast<std::size_t>(row_block_warps) + static_cast<std::size_t>(warp_index());
    const std::size_t first_row = a.first_row + tile * rows_a_tile;
    if (first_row >= a.rows) {
        return;
    }
    const char *at = reinterpret_cast<const char *>(static_cast<const T *>(a.input) + first_row * a.axis);
    const bool whole = first_row + rows_a_tile <= a.rows;
    if (!whole || (!Aligned && !tile_is_readable(at, Hull{a.hull_begin, a.hull_end}))) {
        reduce_rows_singly<T, Op>(a, first_row, smaller<std::size_t>(a.rows, first_row + rows_a_tile));
        return;
    }
    uint4 vectors[tree_registers];
    if constexpr (Aligned) {
        load_aligned_tile(at, vectors);
    } else {
        load_any_tile<T>(at, offset_in_vector(at), vectors);
    }
    reduce_packed_tile<T, Op>(a, vectors, first_row);
}

} // namespace wr::cuda
