// The outputs of a tile of a row of which elements are left out.
#pragma once

#include "cuda/device/named_barrier.cuh"
#include "cuda/softmax/rows/masked_rows_tile.cuh"

namespace wr::cuda {

// The outputs of a tile whose maximum, or whose row's, is special. Of a row that turns out to be of nothing but
// -infinity also those of the tiles that were left out, by turns with the row's other warps: these have been
// written as an ordinary row's.
template <class Rows, bool ByCluster, class Sum>
__device__ __noinline__ void finish_special_masked(const MaskedRowsArguments &a, MaskedTile mine,
                                                   const TileState<float, Sum> *states) {
    using T = typename Rows::Element;
    const RowState<float, Sum> total = merge_any_states(states, mine.blocks);
    const float maximum = states[state_place(mine.block)].maximum;
    const bool empty = row_kind(total.maximum) == RowKind::empty;
    const int end = empty ? MaskedTile::blocks_of(static_cast<int>(a.axis)) : mine.block + 1;
    if constexpr (!ByCluster) {
        if (empty && mine.row_warps > mine.blocks) {
            wait_for_word_at_row_barrier(mine.row_of_block, mine.row_warps);
        }
    } else if constexpr (!deals_out_left_out<Rows>) {
        if (empty) { // until those who wrote them have ended
            join_cluster();
            await_cluster();
        }
    }
    for (int block = mine.block; block < end; block += mine.blocks) {
        finish_special_masked_tile<T, LoadInOrder<Rows>>(a, RowTile(mine.row, block), maximum, total);
    }
}

// Writes the first `count` of a tile's outputs, which are used up.
template <class Rows, class T>
__device__ __forceinline__ void store_masked(T *output, int count, uint4 (&vectors)[lane_vectors<T>]) {
    if constexpr (Rows::anywhere) {
        store_realigned(output, count, vectors);
    } else {
        store_aligned_tile(output, count, vectors);
    }
}

// Log-softmax of the first `taken` elements of a tile of `count`.
template <class Rows, class T, class Logits>
__device__ __forceinline__ void finish_masked_logarithms(const MaskedRowsArguments &a, LogPieces<float> row, T *output,
                                                         int count, int taken, const Logits &x) {
    constexpr int elements = vector_elements<T>, distance = warp_lanes * elements;
    const float left_out = left_out_output<float>(RowKind::ordinary, true, a.empty_row_zero);
    uint4 vectors[lane_vectors<T>];
#pragma unroll
    for (int v = 0; v < lane_vectors<T>; ++v) {
        float y[elements];
        if (v * distance < taken) {
#pragma unroll
            for (int i = 0; i < elements; ++i) {
                const int at = v * elements + i;
                y[i] = log_softmax_output(a.scaled ? x[at] : x.plain_value(at), row);
            }
        }
        if ((v + 1) * distance > taken) {
            const int left = taken - v * distance - lane_index() * elements;
#pragma unroll
            for (int i = 0; i < elements; ++i) {
                y[i] = i < left ? y[i] : left_out;
            }
        }
        vectors[v] = pack(y, T());
    }
    store_masked<Rows>(output, count, vectors);
}

// The same as elements of another type, from element `first` of the output on.
template <class T, class Logits>
__device__ __forceinline__ void finish_converted_logarithms(const MaskedRowsArguments &a, LogPieces<float> row,
                                                            std::size_t first, int count, int taken, const Logits &x) {
    constexpr int elements = vector_elements<T>, distance = warp_lanes * elements;
    const float left_out = left_out_output<float>(RowKind::ordinary, true, a.empty_row_zero);
    const int left = taken - lane_index() * elements;
    float y[lane_elements];
#pragma unroll
    for (int at = 0; at < lane_elements; ++at) {
        const float logarithm = log_softmax_output(a.scaled ? x[at] : x.plain_value(at), row);
        y[at] = at / elements * distance + at % elements < left ? logarithm : left_out;
    }
    store_converted_tile<T>(a, first, count, y);
}

template <class T>
__device__ __forceinline__ uint4 outputs_of_vector(const float *e, BlockFactor<float> factor) {
    float y[vector_elements<T>];
#pragma unroll
    for (int i = 0; i < vector_elements<T>; ++i) {
        y[i] = sizeof(T) == 2 ? softmax_narrow_output(e[i], factor) : softmax_output(e[i], factor);
    }
    return pack(y, T());
}

// The outputs of softmax of a tile and a row that are ordinary; whether they were. `n` is the tile's.
template <class Rows, class Sum>
__device__ __forceinline__ bool finish_masked(const MaskedRowsArguments &a, const MaskedTile &mine, std::int32_t n,
                                              RowView<Sum> row, float (&e)[lane_elements]) {
    using T = typename Rows::Element;
    BlockFactor<float> factor;
    if (!has_factor_in_row<T, Rows, true>(a, n, row, e[0], factor, [&](std::int32_t gap) {
            return factor_for_output<T, Rows>(row.sum, gap, float());
        })) {
        return false;
    }
    if constexpr (converts<Rows>) {
        form_outputs<T, Rows>(a, factor, e);
        store_converted_tile<T>(a, first_output(a, mine), present(a, mine), e);
    } else {
        uint4 vectors[lane_vectors<T>];
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            vectors[v] = outputs_of_vector<T>(e + v * vector_elements<T>, factor);
        }
        store_masked<Rows>(mine.in(static_cast<T *>(a.output), static_cast<std::ptrdiff_t>(a.axis)), present(a, mine),
                           vectors);
    }
    return true;
}

// The same of log-softmax, of a tile that has states.
template <class Rows, class Logits>
__device__ __forceinline__ bool finish_masked_log(const MaskedRowsArguments &a, const MaskedTile &mine,
                                                  const LogRow<float> &row, const Logits &x) {
    using T = typename Rows::Element;
    if (row.kind != RowKind::ordinary) {
        return false;
    }
    if constexpr (converts<Rows>) {
        finish_converted_logarithms<T>(a, row.splits, first_output(a, mine), present(a, mine), mine.count, x);
    } else {
        finish_masked_logarithms<Rows>(a, row.splits,
                                       mine.in(static_cast<T *>(a.output), static_cast<std::ptrdiff_t>(a.axis)),
                                       present(a, mine), mine.count, x);
    }
    return true;
}

} // namespace wr::cuda
