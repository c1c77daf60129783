// A warp's tile of a row that lengths or the causal limit cut off, or a mask cuts elements out of: which it is,
// its logits, and what it writes where nothing of it takes part.
#pragma once

#include "cuda/rowwise/unaligned_vectors.cuh"
#include "cuda/softmax/rows/special_tiles.cuh"

namespace wr::cuda {

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

} // namespace wr::cuda
