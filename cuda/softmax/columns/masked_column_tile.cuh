// Softmax of short columns of which masks, lengths or the causal limit leave elements out. What is left out becomes
// -infinity as it is read; a logit that is -infinity itself gives no more to its column either.
#pragma once

#include "cuda/rowwise/column_tile_select.cuh"
#include "cuda/softmax/columns/column_tile.cuh"

namespace wr::cuda {

// Puts -infinity in the place of what takes no part. Whether all that does is within column_tile_reach.
template <int Rows, class Tile>
__device__ __forceinline__ bool leave_out_of_columns(const Tile &tile, uint4 (&v)[Rows]) {
    using T = typename Tile::Element;
    const TakenOfColumns<T, Rows> taken(tile.all.selection, tile.part, tile.a.axis, tile.a.inner);
    const unsigned filler = filler_vector<T>(false).x;
    bool within = true;
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
        const uint4 or_zero[1] = {only_taken(v[i], taken.of[i], 0)};
        within = within & vectors_within<T>(or_zero, column_tile_reach);
        v[i] = only_taken(v[i], taken.of[i], filler);
    }
    return within;
}

// Whatever is wanted of columns whose logits are within column_tile_reach. The exponential of -infinity is that of a
// logit that has 0 (docs/numerics.md, "Elements that are left out").
template <class T, int Rows, class Tile>
__device__ __forceinline__ void write_near(const Tile &tile, const uint4 (&v)[Rows]) {
    using Float = typename Tile::Float;
    using Sum = typename Tile::Sum;
    using Left = typename SumAndLargest<Sum>::Accumulator;
    const SoftmaxArguments &a = tile.a;
    Float kept[Tile::each][Rows]; // exponentials; for log-softmax the logits
    tile.of_largest(v, [&](int c, Float largest) {
        Float of_column[Rows];
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
            const Float x = element_of(v[i], c, T());
            of_column[i] = quick_exponential(fmaxf(x, ExponentialConstants<Float>::vanishing));
            kept[c][i] = a.log ? x : of_column[i];
        }
        tile.folds.leave(c, Left{quick_sum<Sum>(of_column), largest});
    });
    tile.folds.await_left();
    constexpr bool apart = sizeof(T) == sizeof(float);
    tile.folds.template fold<SumAndLargest<Sum>, apart>(
        quick_values, [&](const typename Tile::Column &column, const Left &whole) {
            const bool empty = row_kind(whole.largest) == RowKind::empty;
            const LogPieces<Float> logsumexp = logsumexp_at_zero_exponent(whole.largest, whole.sum);
            if (wants_row_values(a)) {
                store_values_of(tile, column, whole.largest, empty ? whole.largest : logsumexp.high);
            }
            const ColumnTilePieces usual =
                a.log ? ColumnTilePieces{logsumexp.high, logsumexp.low} : pieces_of_sum<Float>(whole.sum);
            tile.kept(column).pieces =
                empty ? ColumnTilePieces{std::numeric_limits<Float>::quiet_NaN(),
                                         special_output<Float>(RowKind::empty, a.log, a.empty_row_zero)}
                      : usual;
        });
    tile.write([](Float(&y)[Tile::each]) { return pack_with_nans(y, T()); },
               [&](int i, int c, const ColumnTilePieces &pieces) {
                   const Float usual = a.log ? log_softmax_output(kept[c][i], LogPieces<Float>{pieces.high, pieces.low})
                                             : Tile::output_of(kept[c][i], pieces);
                   return pieces.high != pieces.high ? pieces.low : usual;
               });
}

// Of a thread's part of a column in which NaN has been written all over, what takes no part.
template <class T>
__device__ __noinline__ void write_left_out(const MaskedColumnTileArguments &all, std::uint64_t outer,
                                            std::uint64_t inner, int first, int count) {
    const SoftmaxArguments &a = all.softmax;
    const std::uint8_t *const mask = all.selection.mask;
    const std::uint64_t leading = leading_elements(all.selection, outer * a.inner + inner, outer, a.axis);
    const T value = narrow_one(left_out_output<float>(RowKind::not_a_number, a.log, a.empty_row_zero), T());
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
        const std::uint64_t row = static_cast<unsigned>(first + i), at = (outer * a.axis + row) * a.inner + inner;
        if (row >= leading || (mask != nullptr && mask[at] == 0)) {
            static_cast<T *>(a.output)[at] = value;
        }
    }
}

// Whatever is wanted of columns of any kind.
template <class T, int Rows, class Tile>
__device__ __forceinline__ void write_any_masked(const Tile &tile, const uint4 (&v)[Rows]) {
    write_any<T>(tile, v);
#pragma unroll 1
    for (int c = 0; c < Tile::each; ++c) {
        if (row_kind(tile.kept(tile.own(c)).maximum) == RowKind::not_a_number) {
            write_left_out<T>(tile.all, tile.part.outer, tile.part.inner + static_cast<unsigned>(c), tile.part.first,
                              tile.part.count);
        }
    }
}

template <class T, int Rows>
__global__ void __launch_bounds__(column_tile_threads<T, Rows, true, false>, 1)
    softmax_masked_column_tiles(const __grid_constant__ MaskedColumnTileArguments a) {
    __shared__ ColumnTileBarriers barriers;
    const ThreadTile<T, Rows, true, LeftOfColumn<T, true>, false, MaskedColumnTileArguments> tile(a, barriers, Rows);
    tile.folds.prepare();
    pdl_wait_and_release();
    uint4 v[Rows];
    tile.load(v);
    const bool within = leave_out_of_columns(tile, v);
    tile.folds.await_prepared();
    if (tile.folds.template all_say<true>(within)) {
        write_near<T>(tile, v);
    } else {
        uint4 again[Rows];
        tile.load(again);
        leave_out_of_columns(tile, again);
        write_any_masked<T>(tile, again);
    }
}

template <class T, int Rows>
ColumnTileSoftmaxKernel masked_column_tile_kernel() {
    return {address_of(softmax_masked_column_tiles<T, Rows>), column_tile_threads<T, Rows, true, false>};
}

template <class T>
void set_masked_column_tiles(ColumnTileSoftmaxKernels::OfAKind &of) {
    constexpr int most = column_tile_rows<T>;
    of[of_least_rows] = masked_column_tile_kernel<T, most / 2>();
    of[of_own_tiles] = of[of_most_rows] = masked_column_tile_kernel<T, most>();
}

} // namespace wr::cuda
