// Softmax of rows of whole 16-byte vectors of which masks, lengths or the causal limit leave elements out: the row in
// the registers of a block's or a cluster's warps, read once and written once. What is left out becomes -infinity as it
// is read; tiles that are left out altogether are not read.
#pragma once

#include "cuda/common/kernel_address.cuh"
#include "cuda/rowwise/f8_logits.cuh"
#include "cuda/rowwise/row_states.cuh"
#include "cuda/rowwise/select.cuh"
#include "cuda/softmax/partial_tile.cuh"

namespace wr::cuda {

template <class T>
struct MaskedLoad : VectorLoad<T> {
    static constexpr bool selected = true;
    static constexpr bool fills = true;
};

// The same, but of rows that are only cut off what stands behind the leading elements that take part is anything at
// all.
template <class T>
struct LeadingLoad : MaskedLoad<T> {
    static constexpr bool fills = false;
};

// The same with outputs of another type than the input, which may be of 8 bits where T is F16.
template <class Load>
struct ConvertedSelection : Load {
    static constexpr bool converted = true;
};

// Whether nothing but lengths and the causal limit leaves elements out: those that take part lead their rows.
__device__ __forceinline__ bool is_prefix_only(const MaskedRowsArguments &a) {
    return a.mask == nullptr && (a.lengths != nullptr || a.causal);
}

// Of a lane's vectors only elements with mask bytes other than 0 stay. `mask` is the first vector's; `left` elements
// exist from there on, but for those of other lanes.
__device__ __forceinline__ void apply_mask(const std::uint8_t *mask, int left, unsigned filler,
                                           uint4 (&vectors)[lane_vectors<float>], float) {
    constexpr int distance = warp_lanes * vector_elements<float>;
    unsigned bytes[lane_vectors<float>];
#pragma unroll
    for (int v = 0; v < lane_vectors<float>; ++v) {
        bytes[v] = 0;
        if (v * distance < left) {
            bytes[v] = *reinterpret_cast<const unsigned *>(mask + v * distance);
        }
    }
    __syncwarp(); // so that all of the mask is asked for before any of it is waited for
#pragma unroll
    for (int v = 0; v < lane_vectors<float>; ++v) {
        vectors[v] = without_masked(vectors[v], bytes[v], filler);
    }
}
template <class Half>
__device__ __forceinline__ void apply_mask(const std::uint8_t *mask, int left, unsigned filler,
                                           uint4 (&vectors)[lane_vectors<Half>], Half) {
    constexpr int distance = warp_lanes * vector_elements<Half>;
#pragma unroll
    for (int v = 0; v < lane_vectors<Half>; ++v) {
        if (v * distance < left) {
            vectors[v] = without_masked(vectors[v], *reinterpret_cast<const uint2 *>(mask + v * distance), filler);
        }
    }
}

// The first `count` elements from `data` on; where `fills`, -infinity in the place of vectors behind them.
template <class T>
__device__ __forceinline__ void load_leading_vectors(const T *data, int count, bool fills, uint4 behind,
                                                     uint4 (&vectors)[lane_vectors<T>]) {
    constexpr int elements = vector_elements<T>;
    const uint4 *mine = reinterpret_cast<const uint4 *>(data) + lane_index();
    const int left = count - lane_index() * elements;
    if (count == static_cast<int>(softmax_block)) {
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            vectors[v] = load_vector(mine + v * warp_lanes);
        }
    } else if (fills) {
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            vectors[v] = behind;
            if (v * warp_lanes * elements < left) {
                vectors[v] = load_vector(mine + v * warp_lanes);
            }
        }
    } else {
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            if (v * warp_lanes * elements < left) {
                vectors[v] = load_vector(mine + v * warp_lanes);
            }
        }
    }
}

// The first `count` elements from `data` on, but for those that the mask leaves out.
template <class T, class Load>
    requires Load::selected
__device__ __forceinline__ void load_tile_vectors(const SoftmaxArguments &arguments, const T *data, int count,
                                                  uint4 (&vectors)[lane_vectors<T>]) {
    const auto &a = static_cast<const MaskedRowsArguments &>(arguments);
    const bool fills = Load::fills || !is_prefix_only(a), negative_scale = a.scale < 0;
    constexpr int elements = vector_elements<T>;
    const uint4 behind = filler_vector<T>(negative_scale);
    const int left = count - lane_index() * elements;
    if constexpr (may_read_f8<T> && converts<Load>) {
        if (is_float_of_8_bits(a.input_type)) {
            load_f8_tile(a, data, count, behind, vectors);
        } else {
            load_leading_vectors(data, count, fills, behind, vectors);
        }
    } else {
        load_leading_vectors(data, count, fills, behind, vectors);
    }
    if (a.mask != nullptr) {
        apply_mask(a.mask + (data - static_cast<const T *>(a.input)) + lane_index() * elements, left, behind.x, vectors,
                   T());
    }
    if (fills && count % elements != 0) {
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            vectors[v] = fill_from<T>(vectors[v], left - v * warp_lanes * elements, negative_scale);
        }
    }
}

// Of the warp's block: its first output and how many there are.
__device__ __forceinline__ std::size_t first_output(const MaskedRowsArguments &a, const RowTile &place) {
    return place.row * a.axis + static_cast<std::size_t>(place.first);
}
__device__ __forceinline__ int present(const MaskedRowsArguments &a, const RowTile &place) {
    return place.row < a.outer ? place.count(a.axis) : 0;
}

// The outputs of a block of which nothing takes part, or whose maximum, or whose row's, is unusual.
template <class T, class Load, class Float, class Sum>
__device__ __noinline__ void finish_special_long_masked(const MaskedRowsArguments &a, RowTile place, Float maximum,
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
        if (maximum == Float(0)) { // it may be that of an zero-exponent block
            maximum = maximum_again<T, Load, Float>(a, data, taken);
        }
        TileAgain<T, Load> block(a, data, taken, maximum);
        finish_softmax<T, Load>(a, block_factor(maximum, total.maximum, total.sum), first, count, block.e);
        return;
    }
    const Float special = special_output<Float>(kind, a.log, a.empty_row_zero);
    const Float left_out = left_out_output<Float>(kind, a.log, a.empty_row_zero);
    if (kind == RowKind::empty) { // both are the same
        fill_any_outputs(a.output_type, a.output, first, static_cast<std::size_t>(larger(count, 0)), special);
        return;
    }
    for (int at = lane_index(); at < count; at += warp_lanes) {
        const std::size_t index = first + static_cast<std::size_t>(at);
        const bool takes_part = at < taken && (a.mask == nullptr || a.mask[index] != 0);
        store_any(takes_part ? special : left_out, a.output_type, a.output, index);
    }
}

// More states than lanes: behind a call, so that the exponentials of the warp that merges stay in registers elsewhere.
template <class Float, class Sum>
__device__ __noinline__ RowView<Sum> merge_many_tile_states(const TileState<Float, Sum> *states, int count) {
    return merge_states<most_cluster_states / warp_lanes, warp_lanes>(states, count);
}

// What a block of which nothing takes part gives in an ordinary row: written without waiting for the row.
template <class T, class Load>
__device__ __forceinline__ void store_left_out(const MaskedRowsArguments &a, const RowTile &place) {
    using Float = typename SoftmaxArithmetic<T>::Float;
    Float y[lane_elements];
#pragma unroll
    for (Float &each : y) {
        each = left_out_output<Float>(RowKind::ordinary, a.log, a.empty_row_zero);
    }
    store_tile<T, Load>(a, first_output(a, place), present(a, place), y);
}

// A row of up to masked_warps tiles a block, or a row by a cluster of a.cluster_blocks blocks.
// Converts: outputs are of another type than the input.
template <class T, bool Log, bool Converts>
__global__ void __launch_bounds__(masked_warps *warp_lanes, 1)
    softmax_long_masked_rows(const __grid_constant__ MaskedRowsArguments a) {
    // Whether blocks of rows that are only cut off are taken vector by vector: where there are registers for it.
    constexpr bool Leads = !Log && sizeof(T) == 2;
    using Filled = std::conditional_t<Converts, ConvertedSelection<MaskedLoad<T>>, MaskedLoad<T>>;
    using Leading = std::conditional_t<Converts, ConvertedSelection<LeadingLoad<T>>, LeadingLoad<T>>;
    using Load = std::conditional_t<Leads, Leading, Filled>;
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    __shared__ RowStates<TileState<Float, Sum>, masked_warps> shared;
    __shared__ LogRow<Float> log_row_of_block;
    const bool by_cluster = a.cluster_blocks > 1;
    const int row_warps = RowStates<TileState<Float, Sum>, masked_warps>::row_warps();
    const int count = row_warps * a.cluster_blocks; // states of a row
    shared.prepare(by_cluster, a.cluster_blocks);
    take_place_on_stream();
    const RowTile from(a.cluster_blocks);
    ask_for_length_ahead(a, from.row);
    int taken = from.count(taken_of_row(a, from.row));
    if constexpr (Leads) {
        taken = same_in_warp(taken);
    }
    const T *const data = from.in<T>(a.input, a.outer_stride);
    TileLogits<T, Load> x(a, data, taken);
    Float e[lane_elements];
    const bool has_row_values = wants_row_values(a);
    const bool may_take_zero_exponent = !has_row_values && reaches_outputs<T, Load>(a.output_type);
    const bool left_out = taken <= 0;
    if (left_out) {
        if (lane_index() == 0) {
            *shared.of_warp(by_cluster) = absent_state<Float, Sum>();
        }
        store_left_out<T, Load>(a, from);
    } else {
        bool recomputed = false;
        if constexpr (Leads) {
            if (is_prefix_only(a)) {
                zero(e);
                partial_tile_state<T, Filled, Sum>(a, data, taken, x, e, shared.of_warp(by_cluster),
                                                   may_take_zero_exponent);
                recomputed = true;
            }
        }
        if (!recomputed) {
            tile_state<T, Filled, Float, Sum>(a, data, taken, x, e, shared.of_warp(by_cluster));
        }
    }
    shared.exchange(by_cluster, a.cluster_blocks, Log || has_row_values);
    const std::int32_t n = shared.of_warp(by_cluster)->n;
    bool finished = false;
    if constexpr (Log) {
        if (thread_x_again() < static_cast<int>(warp_lanes)) {
            find_log_row(shared.all, count, &log_row_of_block);
        }
        __syncthreads();
        const LogRow<Float> row = log_row_of_block;
        if (row.kind == RowKind::ordinary && n != absent_n) {
            const RowTile to(a.cluster_blocks);
            finish_log_row<T, Load>(a, row, first_output(a, to), present(a, to), x);
            finished = true;
        }
        finished = finished || (row.kind == RowKind::ordinary && left_out);
    } else {
        const RowView<Sum> view = merge_many_tile_states(shared.of_row(), count);
        BlockFactor<Float> factor;
        if (!left_out && has_factor_in_row<T, Load, Leads>(a, n, view, e[0], factor, [&](std::int32_t gap) {
                return factor_for_output<T, Load>(view.sum, gap, Float());
            })) {
            const RowTile to(a.cluster_blocks);
            finish_softmax<T, Load>(a, factor, first_output(a, to), present(a, to), e);
            finished = true;
        }
        finished = finished || (view.plain() && left_out);
    }
    if (!finished) {
        finish_special_long_masked<T, Filled>(a, RowTile(a.cluster_blocks), shared.of_warp(by_cluster)->maximum,
                                              merge_any_states(shared.of_row(), count));
    }
    if (has_row_values && RowTile(a.cluster_blocks).block == 0) {
        store_row_values(a, merge_any_states(shared.all, count), RowTile(a.cluster_blocks).row);
    }
}

template <class T, bool Log, bool Converts>
const void *long_masked_rows_kernel() {
    return address_of(softmax_long_masked_rows<T, Log, Converts>);
}

} // namespace wr::cuda
