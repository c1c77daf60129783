// Short contiguous rows of a power of two elements: a warp reads a tile that holds many of them, and the exchange
// yields all their results at once.
#pragma once

#include "cuda/reduce/rows.cuh"

namespace wr::cuda {

// The rows of a tile, of which the last may have fewer.
struct TileRows {
    std::size_t first;
    int count;
};

template <class Op>
__device__ __forceinline__ void deliver_row(const RowArguments &a, const typename Op::Accumulator &value, TileRows rows,
                                            int row) {
    if (row < rows.count) {
        finish_result(value, a.finish, a.output, rows.first + static_cast<std::size_t>(row));
    }
}

// Delivers the results that the lanes hold after Steps steps of exchange: row number (32 v + lane) >> Steps of the tile
// for each register that is left.
template <class Op, int Steps>
__device__ __forceinline__ void deliver_exchanged(const RowArguments &a,
                                                  typename Op::Accumulator (&values)[tree_registers], TileRows rows) {
    exchange_halves<Op, Steps>(values);
    const int lane = lane_index();
    const int first_register = exchanged_register<Steps, tree_registers>(lane);
#pragma unroll
    for (int j = 0; j < tree_registers >> Steps; ++j) {
        deliver_row<Op>(a, values[j], rows, (first_register + j) * (warp_lanes >> Steps) + (lane >> Steps));
    }
}

// Rows of 8 vectors and more: one value a lane is left, and `levels` (3 to 8) levels of the tree belong to a row.
template <class Op>
__device__ __forceinline__ void deliver_wide(const RowArguments &a, typename Op::Accumulator (&values)[tree_registers],
                                             TileRows rows, int levels) {
    exchange_halves<Op, 3>(values);
    auto sum = values[0];
    for (int level = 3; level < levels; ++level) {
        sum = Op::combine(sum, from_lane_xor(sum, distance_of_level<tree_registers>(level)));
    }
    const int lane = lane_index();
    const int position = exchanged_register<3, tree_registers>(lane) * 4 + (lane >> 3);
    if (position % (1 << (levels - 3)) == 0) {
        deliver_row<Op>(a, sum, rows, position >> (levels - 3));
    }
}

// Rows of `slots` (a power of two) vectors each.
template <class Op>
__device__ __forceinline__ void deliver_tile(const RowArguments &a, typename Op::Accumulator (&values)[tree_registers],
                                             TileRows rows, unsigned slots) {
    switch (slots) {
    case 1:
        deliver_exchanged<Op, 0>(a, values, rows);
        break;
    case 2:
        deliver_exchanged<Op, 1>(a, values, rows);
        break;
    case 4:
        deliver_exchanged<Op, 2>(a, values, rows);
        break;
    default:
        deliver_wide<Op>(a, values, rows, 31 - __clz(static_cast<int>(slots)));
        break;
    }
}

// Rows of Width elements, of which a vector holds several.
template <class T, class Op, int Width>
__device__ __forceinline__ void deliver_narrow(const RowArguments &a, const uint4 (&vectors)[tree_registers],
                                               TileRows rows) {
    constexpr int elements = vector_elements<T>, of_vector = elements / Width;
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
        typename Op::Accumulator results[of_vector];
#pragma unroll
        for (int r = 0; r < of_vector; ++r) {
            results[r] = values[r * Width];
        }
        const int row = (v * warp_lanes + lane_index()) * of_vector;
        if (row < rows.count) {
            finish_neighbours(results, a.finish, a.output, rows.first + static_cast<std::size_t>(row));
        }
    }
}

// Of a.axis elements, a power of two from Width on and less than a vector's.
template <class T, class Op, int Width = 1>
__device__ __forceinline__ void deliver_any_narrow(const RowArguments &a, const uint4 (&vectors)[tree_registers],
                                                   TileRows rows) {
    if constexpr (Width < vector_elements<T>) {
        if (a.axis == Width) {
            deliver_narrow<T, Op, Width>(a, vectors, rows);
        } else {
            deliver_any_narrow<T, Op, 2 * Width>(a, vectors, rows);
        }
    }
}

template <class T, class Op>
__device__ __forceinline__ void reduce_packed_tile(const RowArguments &a, const uint4 (&vectors)[tree_registers],
                                                   TileRows rows) {
    constexpr std::size_t elements = vector_elements<T>;
    if (a.axis < elements) {
        deliver_any_narrow<T, Op>(a, vectors, rows);
        return;
    }
    typename Op::Accumulator values[tree_registers];
#pragma unroll
    for (int v = 0; v < tree_registers; ++v) {
        values[v] = vector_tree<T, Op>(vectors[v], a.mapping);
    }
    deliver_tile<Op>(a, values, rows, static_cast<unsigned>(a.axis / elements));
}

// Rows that do not fill a vector between them.
template <class T, class Op>
__device__ __noinline__ void reduce_rows_singly(const RowArguments &a, std::size_t first_row) {
    for (std::size_t row = first_row; row < a.rows; ++row) {
        const Row<T> one{static_cast<const T *>(a.input) + row * a.axis, a.axis, 1};
        const auto value =
            warp_reduce<StridedAccess<T, Op>, T, Op>(one, ReadableRange{}, 0, most_tiles_a_warp, a.mapping);
        if (lane_index() == 0) {
            finish_result(value, a.finish, a.output, row);
        }
    }
}

// Rows up to this length are read by plain loads, for the outputs are no small part of what moves: of 2, 4, 8 f32 4.36,
// 4.42, 4.42 TB/s on an H200, by streaming loads 4.00, 4.09, 4.20.
inline constexpr std::size_t plainly_loaded_axis = 8;

// a.axis is a power of two below a tile's elements, the rows touch each other and the first starts on a 16-byte
// boundary; each warp takes one tile.
template <class T, class Op>
__global__ void __launch_bounds__(row_block_threads, 3) reduce_packed_rows(const __grid_constant__ RowArguments a) {
    static_assert(!Op::positional);
    pdl_wait_and_release();
    const unsigned rows_a_tile = tile_elements<T> / static_cast<unsigned>(a.axis);
    const std::size_t tile =
        blockIdx.x * static_cast<std::size_t>(blockDim.x / warp_lanes) + static_cast<unsigned>(warp_index());
    const std::size_t first_row = a.first_row + tile * rows_a_tile;
    if (first_row >= a.rows) {
        return;
    }
    const char *first = reinterpret_cast<const char *>(static_cast<const T *>(a.input) + first_row * a.axis);
    TileRows rows{first_row, static_cast<int>(rows_a_tile)};
    uint4 vectors[tree_registers];
    if (first_row + rows_a_tile > a.rows) {
        const int axis = static_cast<int>(a.axis), last_rows = static_cast<int>(a.rows - first_row);
        const int count = last_rows * axis / vector_elements<T>;
        rows.count = count * vector_elements<T> / axis;
        if (rows.count < last_rows) {
            reduce_rows_singly<T, Op>(a, first_row + static_cast<std::size_t>(rows.count));
        }
        if (count == 0) {
            return;
        }
        load_repeating_last(first + lane_index() * vector_bytes, count, vectors);
    } else if (a.axis <= plainly_loaded_axis) {
        load_aligned_tile_plainly(first, vectors);
    } else {
        load_aligned_tile(first, vectors);
    }
    reduce_packed_tile<T, Op>(a, vectors, rows);
}

} // namespace wr::cuda
