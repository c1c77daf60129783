// A tile of a row of which elements are left out: how it is read, what of it takes part, and its outputs. Where its
// maximum, or its row's, is special its elements are read again, what is left out as -infinity.
#pragma once

#include "cuda/device/barriers.cuh"
#include "cuda/rowwise/element_patterns.cuh"
#include "cuda/rowwise/row_tiles.cuh"
#include "cuda/rowwise/select.cuh"
#include "cuda/rowwise/unaligned_vectors.cuh"
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

// A warp's tile of a row that lengths or the causal limit cut off, or a mask cuts elements out of: which it is,
// its logits, and what it writes where nothing of it takes part.

// Such rows of T, and how a tile of them is read: its leading elements; what stands behind them is anything at all.
// What a mask leaves out is taken out of what was read later; where there is no mask none is read. Converts: rows on
// the boundaries with outputs of another type, or of 8 bits where T is F16.
template <class T, Alignment Where, bool Converts = false>
struct MaskedRows : VectorLoad<T> {
    using Element = T;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    static constexpr bool cut = true, masked = true, anywhere = Where == Alignment::element, converted = Converts;
};

// How rare tiles of them are read again.
template <class T>
struct MaskedSingles : StridedLoad<T> {
    static constexpr bool cut = true, masked = true;
};
template <class T>
struct InOrder<MaskedRows<T, Alignment::vector>> {
    using Type = MaskedLoad<T>;
};
template <class T>
struct InOrder<MaskedRows<T, Alignment::vector, true>> {
    using Type = ConvertedSelection<MaskedLoad<T>>;
};
template <class T>
struct InOrder<MaskedRows<T, Alignment::element>> {
    using Type = MaskedSingles<T>;
};

template <class T, class Load>
    requires(Load::cut && Load::masked)
__device__ __forceinline__ void leave_out(const SoftmaxArguments &arguments, const T *data, int count,
                                          T (&x)[lane_elements]) {
    const auto &a = static_cast<const MaskedRowsArguments &>(arguments);
    if (a.mask != nullptr) {
        leave_out_of_singles(a.mask + (data - static_cast<const T *>(a.input)), count, a.scale < 0, x);
    }
}

template <class T, class Rows>
    requires(Rows::cut && Rows::vectors)
__device__ __forceinline__ void load_tile_vectors(const SoftmaxArguments &a, const T *data, int count,
                                                  uint4 (&vectors)[lane_vectors<T>]) {
    if constexpr (may_read_f8<T> && converts<Rows>) {
        if (is_float_of_8_bits(a.input_type)) {
            load_f8_tile(a, data, count, uint4(), vectors);
            return;
        }
    }
    if constexpr (Rows::anywhere) {
        load_realigned(data, count, a.readable_range, vectors);
    } else { // where a mask's bytes are not read all is left out: zeros are in no way of the extremes
        load_leading_vectors(data, count, uint4(), vectors);
    }
}

// No more than an axis of few tiles.
__device__ __forceinline__ int cut_off(int axis, std::int64_t limit) {
    const auto low = static_cast<std::uint32_t>(limit);
    const int high = static_cast<int>(limit >> 32);
    const int within = static_cast<int>(smaller(low, static_cast<std::uint32_t>(axis)));
    return high == 0 ? within : high < 0 ? 0 : axis;
}

// A warp's tile of a row that is cut off. All of it is known to be the same in all lanes.
struct MaskedTile {
    std::uint32_t row;
    int row_of_block, row_warps; // which of the block's rows, and how many warps there are for each
    int block, blocks;           // of the row's tiles with elements that take part
    int count;                   // of its elements take part; none where it is below 1

    // Lengths that come together when one is asked for.
    static constexpr std::uint32_t lengths_of_sector = 32 / sizeof(std::int64_t);

    // Of a row that exists, the tile's number `of_rows`.
    __device__ __forceinline__ MaskedTile(const MaskedRowsArguments &a, std::uint32_t of_row, int of_rows, int of_block)
        : row(of_row), row_of_block(of_rows), row_warps(static_cast<int>(blockDim.x / warp_lanes)), block(of_block) {
        constexpr int whole = static_cast<int>(softmax_block);
        if (block == 0 && row % lengths_of_sector == 0) {
            ask_for_length_ahead(a, row);
        }
        int taken = static_cast<int>(a.axis);
        if (a.lengths != nullptr) {
            taken = cut_off(taken, a.lengths[row]);
        }
        if (a.causal) {
            taken = cut_off(taken, a.causal_first + row % a.causal_rows);
        }
        taken = same_in_warp(taken);
        blocks = blocks_of(taken);
        count = smaller(taken - block * whole, whole);
    }

    __device__ __forceinline__ static int blocks_of(int elements) {
        constexpr unsigned whole = softmax_block;
        return static_cast<int>((static_cast<unsigned>(elements) + whole - 1) / whole);
    }
    // Where it begins in rows that lie `stride` elements apart.
    template <class T>
    __device__ __forceinline__ T *in(T *array, std::ptrdiff_t stride) const {
        return array + static_cast<std::int64_t>(row) * stride + block * static_cast<int>(softmax_block);
    }
};

// Of a warp's tile: its first output, and how many there are.
__device__ __forceinline__ std::size_t first_output(const MaskedRowsArguments &a, const MaskedTile &mine) {
    return mine.row * a.axis + static_cast<unsigned>(mine.block * static_cast<int>(softmax_block));
}
__device__ __forceinline__ int present(const MaskedRowsArguments &a, const MaskedTile &mine) {
    return smaller(static_cast<int>(a.axis) - mine.block * static_cast<int>(softmax_block),
                   static_cast<int>(softmax_block));
}

// A tile of a row of which nothing takes part.
template <class T>
__device__ __noinline__ void finish_empty_masked(const MaskedRowsArguments &a, const MaskedTile mine) {
    using Merge = StateMerge<float, typename SoftmaxArithmetic<T>::Sum>;
    store_special<float>(a, first_output(a, mine), present(a, mine), RowKind::empty);
    if (wants_row_values(a) && mine.block == 0 && lane_index() == 0) {
        store_row_values(a, Merge::identity(), mine.row);
    }
}

// The outputs of a tile of an ordinary row of which nothing takes part.
template <class Rows>
__device__ __forceinline__ void store_left_out(const MaskedRowsArguments &a, const MaskedTile &mine) {
    using T = typename Rows::Element;
    if constexpr (converts<Rows>) {
        float y[lane_elements];
#pragma unroll
        for (float &each : y) {
            each = left_out_output<float>(RowKind::ordinary, a.log, a.empty_row_zero);
        }
        store_converted_tile<T>(a, first_output(a, mine), present(a, mine), y);
        return;
    }
    if constexpr (Rows::anywhere) {
        fill_any_outputs(a.output_type, a.output, first_output(a, mine),
                         static_cast<std::size_t>(larger(present(a, mine), 0)),
                         left_out_output<float>(RowKind::ordinary, a.log, a.empty_row_zero));
        return;
    }
    const uint4 vector = a.log ? filler_vector<T>(false) : uint4();
    T *const outputs = mine.in(static_cast<T *>(a.output), static_cast<std::ptrdiff_t>(a.axis));
    uint4 *const to = reinterpret_cast<uint4 *>(outputs) + lane_index();
    const int left = present(a, mine) - lane_index() * vector_elements<T>;
#pragma unroll
    for (int v = 0; v < lane_vectors<T>; ++v) {
        if (v * warp_lanes * vector_elements<T> < left) {
            to[v * warp_lanes] = vector;
        }
    }
}

// Whether those tiles of a cluster's row are dealt out to the warps that have elements of it, which store them
// while their logits are on their way and, where the row turns out special, overwrite their own. Else each tile of
// threads stores its own, and stays until others may overwrite them (H200, bf16, lengths of 32768: 855 us, dealt out
// 828). f32 gains nothing so, and off the boundaries and into other types there are no registers.
template <class Rows>
inline constexpr bool deals_out_left_out = sizeof(typename Rows::Element) == 2 && !Rows::anywhere && !converts<Rows>;

// Those that are dealt out to this warp: of an ordinary row whose `mine.tiles` first tiles have elements.
template <class Rows>
__device__ __forceinline__ void store_dealt_out(const MaskedRowsArguments &a, MaskedTile mine) {
    const int all = MaskedTile::blocks_of(static_cast<int>(a.axis));
#pragma unroll 1
    for (mine.block += mine.blocks; mine.block < all; mine.block += mine.blocks) {
        store_left_out<Rows>(a, mine);
    }
}

// The outputs of a tile of a row of which elements are left out.

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
