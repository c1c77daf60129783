// Tiles of rows of whole vectors whose maximum, or whose row's, is special: their elements are read again, what masks,
// lengths or the causal limit leave out becoming -infinity as it is read, and their outputs are written.
#pragma once

#include "cuda/rowwise/f8_logits.cuh"
#include "cuda/rowwise/row_tiles.cuh"
#include "cuda/rowwise/select.cuh"
#include "cuda/softmax/partial_tile.cuh"

namespace wr::cuda {

template <class T>
struct MaskedLoad : VectorLoad<T> {
    static constexpr bool masked = true;
};

// The same with outputs of another type than the input, which may be of 8 bits where T is F16.
template <class Load>
struct ConvertedSelection : Load {
    static constexpr bool converted = true;
};

// Of a lane's vectors only elements with mask bytes other than 0 stay. `mask` is the first vector's; `left` elements
// exist from there on, but for those of other lanes.
template <class T>
__device__ __forceinline__ void apply_mask(const std::uint8_t *mask, int left, unsigned filler,
                                           uint4 (&vectors)[lane_vectors<T>]) {
    using Bytes = std::conditional_t<vector_elements<T> == 8, uint2, unsigned>; // of a vector
    constexpr int distance = warp_lanes * vector_elements<T>;
#pragma unroll
    for (int v = 0; v < lane_vectors<T>; ++v) {
        if (v * distance < left) {
            vectors[v] = without_masked(vectors[v], *reinterpret_cast<const Bytes *>(mask + v * distance), filler);
        }
    }
}

// The first `count` elements from `data` on, and in the place of vectors behind them one of others.
template <class T>
__device__ __forceinline__ void load_leading_vectors(const T *data, int count, uint4 behind,
                                                     uint4 (&vectors)[lane_vectors<T>]) {
    constexpr int elements = vector_elements<T>;
    const uint4 *mine = reinterpret_cast<const uint4 *>(data) + lane_index();
    const int left = count - lane_index() * elements;
    if (count == static_cast<int>(softmax_block)) {
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            vectors[v] = load_vector(mine + v * warp_lanes);
        }
    } else {
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            vectors[v] = behind;
            if (v * warp_lanes * elements < left) {
                vectors[v] = load_vector(mine + v * warp_lanes);
            }
        }
    }
}

// The first `count` elements from `data` on, but for those that the mask leaves out.
template <class T, class Load>
    requires(Load::masked && !requires { Load::cut; })
__device__ __forceinline__ void load_tile_vectors(const SoftmaxArguments &arguments, const T *data, int count,
                                                  uint4 (&vectors)[lane_vectors<T>]) {
    const auto &a = static_cast<const MaskedRowsArguments &>(arguments);
    const bool negative_scale = a.scale < 0;
    constexpr int elements = vector_elements<T>;
    const uint4 behind = filler_vector<T>(negative_scale);
    const int left = count - lane_index() * elements;
    if constexpr (may_read_f8<T> && converts<Load>) {
        if (is_float_of_8_bits(a.input_type)) {
            load_f8_tile(a, data, count, behind, vectors);
        } else {
            load_leading_vectors(data, count, behind, vectors);
        }
    } else {
        load_leading_vectors(data, count, behind, vectors);
    }
    if (a.mask != nullptr) {
        apply_mask<T>(a.mask + (data - static_cast<const T *>(a.input)) + lane_index() * elements, left, behind.x,
                      vectors);
    }
    if (count % elements != 0) {
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            vectors[v] = fill_from<T>(vectors[v], left - v * warp_lanes * elements, negative_scale);
        }
    }
}

// Of the warp's tile: its first output and how many there are.
__device__ __forceinline__ std::size_t first_output(const MaskedRowsArguments &a, const RowTile &place) {
    return place.row * a.axis + static_cast<std::size_t>(place.first);
}
__device__ __forceinline__ int present(const MaskedRowsArguments &a, const RowTile &place) {
    return place.row < a.outer ? place.count(a.axis) : 0;
}

// The outputs of a tile of which nothing takes part, or whose maximum, or whose row's, is special.
template <class T, class Load, class Float, class Sum>
__device__ __noinline__ void finish_special_masked_tile(const MaskedRowsArguments &a, RowTile place, Float maximum,
                                                        RowState<Float, Sum> total) {
    const std::size_t first = first_output(a, place);
    const int count = present(a, place), taken = place.count(taken_of_row(a, place.row));
    const RowKind kind = row_kind(total.maximum);
    if (kind == RowKind::ordinary && maximum == -std::numeric_limits<Float>::infinity()) {
        Float y[lane_elements];
#pragma unroll
        for (Float &each : y) {
            each = left_out_output<Float>(kind, a.log, a.empty_row_zero);
        }
        store_tile<T, Load>(a, first, count, y);
        return;
    }
    if (kind == RowKind::ordinary) {
        const T *const data = place.in<T>(a.input, a.outer_stride);
        if (is_out_of_row(maximum, total.maximum)) {
            fill_any_outputs(a.output_type, a.output, first, static_cast<std::size_t>(count), Float(0));
            return;
        }
        if (maximum == Float(0)) { // it may be that of a zero-exponent tile
            maximum = maximum_again<T, Load, Float>(a, data, taken);
        }
        TileAgain<T, Load> block(a, data, taken, maximum);
        finish_softmax<T, Load>(a, block_factor(maximum, total.maximum, total.sum), first, count, block.e);
        return;
    }
    const Float special = special_output<Float>(kind, a.log, a.empty_row_zero);
    const Float left_out = left_out_output<Float>(kind, a.log, a.empty_row_zero);
    if (kind == RowKind::empty || (a.mask == nullptr && taken >= count)) { // all are the same
        fill_any_outputs(a.output_type, a.output, first, static_cast<std::size_t>(larger(count, 0)), special);
        return;
    }
    for (int at = lane_index(); at < count; at += warp_lanes) {
        const std::size_t index = first + static_cast<std::size_t>(at);
        const bool takes_part = at < taken && (a.mask == nullptr || a.mask[index] != 0);
        store_any(takes_part ? special : left_out, a.output_type, a.output, index);
    }
}

} // namespace wr::cuda
