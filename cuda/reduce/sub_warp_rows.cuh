// Short contiguous rows. Of a power of two elements: a warp reads a tile that holds many of them, and the exchange
// yields all their results at once. Of 3 times one, up to three vectors: a thread takes three vectors that touch each
// other, which hold one row or several.
#pragma once

#include "cuda/reduce/rows.cuh"
#include "cuda/reduce/stage.cuh"

namespace wr::cuda {

// The rows of a tile, of which the last may have fewer.
struct TileRows {
    std::size_t first;
    int count;
};

// Delivers the results that the lanes hold after Steps steps of exchange: row number (32 v + lane) >> Steps of the tile
// for each register that is left.
template <class Op, int Steps>
__device__ __forceinline__ void deliver_exchanged(const RowArguments &a,
                                                  typename Op::Accumulator (&values)[tree_registers], TileRows rows) {
    exchange_halves<Op, Steps>(values);
    const int lane = lane_index();
    constexpr int count = tree_registers >> Steps, step = warp_lanes >> Steps;
    const int row = exchanged_register<Steps, tree_registers>(lane) * step + (lane >> Steps);
    finish_apart<count, step>(values, rows.count - row, a.finish, a.output, rows.first + static_cast<std::size_t>(row));
}

// Rows from `first_row` on that tiles of several do not suit: that do not fill a vector between them, or for which an
// operator's quick way is not enough.
template <class T, class Op>
__device__ __noinline__ void reduce_rows_singly(const RowArguments &a, std::size_t first_row, std::size_t end_row) {
    for (std::size_t row = first_row; row < end_row; ++row) {
        const Row<T> one{static_cast<const T *>(a.input) + row * a.axis, a.axis, 1};
        const auto value =
            warp_reduce<StridedAccess<T, QuickOf<Op>>, T, Op>(one, ReadableRange{}, {0, most_tiles_a_warp}, a.mapping);
        if (lane_index() == 0) {
            finish_result(value, a.finish, a.output, row);
        }
    }
}

// Rows of 8 vectors and more: one value a lane is left, and `levels` (3 to 8) levels of the tree belong to a row.
template <class T, class Op>
__device__ __forceinline__ void deliver_wide(const RowArguments &a,
                                             typename QuickOf<Op>::Accumulator (&values)[tree_registers], TileRows rows,
                                             int levels) {
    using Quick = QuickOf<Op>;
    exchange_halves<Quick, 3>(values);
    auto sum = values[0];
    for (int level = 3; level < levels; ++level) {
        sum = Quick::combine(sum, from_lane_xor(sum, distance_of_level<tree_registers>(level)));
    }
    if constexpr (has_quick_way<Op>) {
        if (__all_sync(whole_warp, Quick::is_enough(sum)) == 0) {
            reduce_rows_singly<T, Op>(a, rows.first, rows.first + static_cast<std::size_t>(rows.count));
            return;
        }
    }
    const int lane = lane_index();
    const int position = exchanged_register<3, tree_registers>(lane) * 4 + (lane >> 3);
    const int row = position >> (levels - 3);
    if (position % (1 << (levels - 3)) == 0 && row < rows.count) {
        finish_result(sum, a.finish, a.output, rows.first + static_cast<std::size_t>(row));
    }
}

// Rows of `slots` (a power of two) vectors each.
template <class T, class Op>
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
        deliver_wide<T, Op>(a, values, rows, 31 - __clz(static_cast<int>(slots)));
        break;
    }
}

// The trees over parts of what a thread holds, of Part (a power of two) neighbours each: where the first of them stood.
template <class Op, int Part, int Elements>
__device__ __forceinline__ void trees_of_parts(typename Op::Accumulator (&values)[Elements]) {
#pragma unroll
    for (int width = 1; width < Part; width *= 2) {
#pragma unroll
        for (int e = 0; e < Elements; e += 2 * width) {
            values[e] = Op::combine(values[e], values[e + width]);
        }
    }
}

// The results of rows of Vectors << Levels elements, of which a thread's vectors (1 or 3, neighbours) hold one or
// several.
template <class T, class Op, int Levels, int Vectors, int Rows>
__device__ __forceinline__ void results_of_rows(const uint4 (&vectors)[Vectors], const Mapping &m,
                                                typename Op::Accumulator (&results)[Rows]) {
    constexpr int elements = Vectors * vector_elements<T>, part = 1 << Levels;
    static_assert(Rows == vector_elements<T> >> Levels);
    T raw[elements];
    memcpy(raw, vectors, sizeof(raw));
    typename Op::Accumulator values[elements];
    with_value_map<T, Op>(m, [&](auto way, const auto &of) {
#pragma unroll
        for (int e = 0; e < elements; ++e) {
            values[e] = decltype(way)::map(of(raw[e]), m);
        }
        return true;
    });
    trees_of_parts<Op, part>(values);
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
        results[r] = values[r * Vectors * part];
#pragma unroll
        for (int v = 1; v < Vectors; ++v) {
            results[r] = Op::combine(results[r], values[(r * Vectors + v) * part]);
        }
    }
}

// Rows that one thread takes one after the other.
template <class T, class Op>
__device__ __noinline__ void reduce_rows_of_thread(const RowArguments &a, std::size_t first_row, std::size_t end_row) {
    for (std::size_t row = first_row; row < end_row; ++row) {
        const T *data = static_cast<const T *>(a.input) + row * a.axis;
        const auto value = run_tree<Op>([&](int i) { return data[i]; }, static_cast<int>(a.axis), a.mapping, 0);
        finish_result(value, a.finish, a.output, row);
    }
}

// Delivers such rows from first_row on.
template <class T, class Op, int Levels, int Vectors>
__device__ __forceinline__ void deliver_vectors(const RowArguments &a, const uint4 (&vectors)[Vectors],
                                                std::size_t first_row) {
    constexpr int rows = vector_elements<T> >> Levels;
    typename QuickOf<Op>::Accumulator results[rows];
    results_of_rows<T, QuickOf<Op>, Levels>(vectors, a.mapping, results);
    if constexpr (has_quick_way<Op>) {
        typename Op::Accumulator scaled[rows];
        bool enough = true;
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            enough = enough && QuickOf<Op>::is_enough(results[r]);
            scaled[r] = scaled_form(results[r]);
        }
        if (enough) {
            finish_neighbours<Op>(scaled, a.finish, a.output, first_row);
        } else {
            reduce_rows_of_thread<T, Op>(a, first_row, first_row + rows);
        }
    } else {
        finish_neighbours<Op>(results, a.finish, a.output, first_row);
    }
}

// Delivers rows of less than a vector. The last of the lanes' vectors stands in for those behind it.
template <class T, class Op, int Levels>
__device__ __forceinline__ void deliver_narrow(const RowArguments &a, const uint4 (&vectors)[tree_registers],
                                               TileRows rows) {
    constexpr int rows_a_vector = vector_elements<T> >> Levels;
    const auto own = [](int v) { return (v * warp_lanes + lane_index()) * rows_a_vector; };
    const auto row = [&](int v) {
        return rows.first + static_cast<std::size_t>(smaller(own(v), rows.count - rows_a_vector));
    };
    if constexpr (std::is_same_v<typename Op::Accumulator, float> && rows_a_vector <= 4) {
        float results[tree_registers][rows_a_vector];
#pragma unroll
        for (int v = 0; v < tree_registers; ++v) {
            const uint4 one[1] = {vectors[v]};
            results_of_rows<T, Op, Levels>(one, a.mapping, results[v]);
        }
        if (!finish_runs<Op>(results, a.finish, a.output, row)) {
            for (int v = 0; v < tree_registers && own(v) < rows.count; ++v) {
                reduce_rows_of_thread<T, Op>(a, row(v), row(v) + rows_a_vector);
            }
        }
    } else {
#pragma unroll
        for (int v = 0; v < tree_registers; ++v) {
            if (own(v) < rows.count) {
                const uint4 one[1] = {vectors[v]};
                deliver_vectors<T, Op, Levels>(a, one, rows.first + static_cast<std::size_t>(own(v)));
            }
        }
    }
}

// deliver(Levels) for rows of a.axis = Vectors << Levels elements.
template <class T, int Vectors, int Levels = 0, class Deliver>
__device__ __forceinline__ void deliver_by_length(const RowArguments &a, const Deliver &deliver) {
    if constexpr ((1 << Levels) <= (Vectors == 1 ? vector_elements<T> / 2 : vector_elements<T>)) {
        if (a.axis == std::size_t{Vectors} << Levels) {
            deliver(std::integral_constant<int, Levels>());
        } else {
            deliver_by_length<T, Vectors, Levels + 1>(a, deliver);
        }
    }
}

template <class T, class Op>
__device__ __forceinline__ void reduce_packed_tile(const RowArguments &a, const uint4 (&vectors)[tree_registers],
                                                   TileRows rows) {
    constexpr std::size_t elements = vector_elements<T>;
    if constexpr (!has_all_kernels<T, Op>) {
        typename QuickOf<Op>::Accumulator values[tree_registers];
#pragma unroll
        for (int v = 0; v < tree_registers; ++v) {
            values[v] = vector_tree<T, QuickOf<Op>>(vectors[v], a.mapping);
        }
        deliver_wide<T, Op>(a, values, rows, 31 - __clz(static_cast<int>(a.axis / elements)));
        return;
    } else {
        if (a.axis < elements) {
            deliver_by_length<T, 1>(a, [&](auto levels) { deliver_narrow<T, Op, levels()>(a, vectors, rows); });
            return;
        }
        typename Op::Accumulator values[tree_registers];
#pragma unroll
        for (int v = 0; v < tree_registers; ++v) {
            values[v] = vector_tree<T, Op>(vectors[v], a.mapping);
        }
        deliver_tile<T, Op>(a, values, rows, static_cast<unsigned>(a.axis / elements));
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
    pdl_wait_and_release(a);
    const int axis_log2 = 31 - __clz(static_cast<int>(a.axis));
    const unsigned rows_a_tile = unsigned{tile_elements<T>} >> axis_log2;
    const std::size_t tile =
        blockIdx.x * static_cast<std::size_t>(blockDim.x / warp_lanes) + static_cast<unsigned>(warp_index());
    const std::size_t first_row = a.first_row + tile * rows_a_tile;
    if (first_row >= a.rows) {
        return;
    }
    const char *first =
        static_cast<const char *>(a.input) + (a.first_row << axis_log2) * sizeof(T) + tile * std::size_t{tile_bytes};
    TileRows rows{first_row, static_cast<int>(rows_a_tile)};
    uint4 vectors[tree_registers];
    if (first_row + rows_a_tile > a.rows) {
        const int last_rows = static_cast<int>(a.rows - first_row);
        const int count = (last_rows << axis_log2) / vector_elements<T>;
        rows.count = count * vector_elements<T> >> axis_log2;
        if (rows.count < last_rows) {
            reduce_rows_singly<T, Op>(a, first_row + static_cast<std::size_t>(rows.count), a.rows);
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

// Whether rows of a power of two elements have a kernel, and how long they are at least: of those without all kernels a
// tile leaves a value a lane.
template <class T, class Op>
inline constexpr bool packs_rows = has_all_kernels<T, Op> || (sizeof(T) <= sizeof(float) && !is_partial<Op> &&
                                                              (has_value_maps<T, Op> || has_quick_way<Op>));
template <class T, class Op>
inline constexpr int least_packed_bytes = has_all_kernels<T, Op> ? 1 : tree_registers * vector_bytes;

// Triples of vectors that a thread takes, a block's threads apart: as many as leave all in registers.
template <class T, class Op>
inline constexpr int triples_a_thread = sizeof(typename Op::Accumulator) <= 4 && sizeof(T) == 4 ? 2 : 1;

// The rows touch each other and the first starts on a 16-byte boundary. Plain loads: a thread's three share sectors,
// and as much as a third of what moves is written.
template <class T, class Op>
__global__ void __launch_bounds__(row_block_threads, 4)
    reduce_three_vector_rows(const __grid_constant__ RowArguments a) {
    static_assert(!Op::positional);
    constexpr int triples = triples_a_thread<T, Op>;
    pdl_wait_and_release(a);
    const unsigned rows_a_triple = 3 * vector_elements<T> / static_cast<unsigned>(a.axis);
    const std::size_t first =
        a.first_row + (blockIdx.x * std::size_t{row_block_threads * triples} + threadIdx.x) * rows_a_triple;
    const unsigned step = row_block_threads * rows_a_triple;
    uint4 vectors[triples][3];
#pragma unroll
    for (int t = 0; t < triples; ++t) {
        const std::size_t row = first + static_cast<unsigned>(t) * step;
        if (row + rows_a_triple <= a.rows) {
            const auto *at = reinterpret_cast<const uint4 *>(static_cast<const T *>(a.input) + row * a.axis);
#pragma unroll
            for (int v = 0; v < 3; ++v) {
                vectors[t][v] = at[v];
            }
        }
    }
    __syncwarp(); // or the compiler asks for the second once it has used the first
#pragma unroll
    for (int t = 0; t < triples; ++t) {
        const std::size_t row = first + static_cast<unsigned>(t) * step;
        if (row + rows_a_triple <= a.rows) {
            deliver_by_length<T, 3>(a, [&](auto levels) { deliver_vectors<T, Op, levels()>(a, vectors[t], row); });
        } else if (row < a.rows) {
            reduce_rows_of_thread<T, Op>(a, row, a.rows);
        }
    }
}

} // namespace wr::cuda
