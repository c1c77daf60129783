// Softmax along a short axis that is not the innermost: a block's registers hold a tile of columns, which is read once
// and written once. Where all of a tile's logits are small, their exponentials need no maximum first: those in the
// frame N = 0 have the bits of those in their columns' frames but for a power of two, as their outputs have.
#pragma once

#include "cuda/element_patterns.cuh"
#include "cuda/kernel_address.cuh"
#include "cuda/short_column_tile.cuh"
#include "cuda/softmax_backward_pack.cuh"
#include "cuda/softmax_short_column_kernels.h"

namespace wr::cuda {

// Between these logits lie all exponentials in the frame N = 0, and their sums, well within the normal range.
inline constexpr float short_column_reach = 42.0f;

// Kernels hold up to as many rows of a thread, so that it has 32 elements.
template <class T>
inline constexpr int short_column_rows = lane_elements / vector_elements<T>;

// A block's tiles.
template <class T, int Rows, bool Whole>
class ShortColumnTile {
  public:
    using Element = T;
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    static constexpr int each = vector_elements<T>;
    using Folds = ShortColumnFolds<each, Whole, Sum>;
    using Column = typename Folds::Column;

    __device__ __forceinline__ ShortColumnTile(const ShortColumnSoftmaxArguments &arguments,
                                               ShortColumnBarriers &barriers, int rows)
        : all(arguments), a(arguments.softmax), folds(all.tiles, all.memory, barriers),
          part(all.tiles, a.axis, a.inner, rows) {}

    __device__ __forceinline__ void load(uint4 (&v)[Rows]) const {
        part.load(part.in(a.input, a.outer_stride, a.axis_stride), a.axis_stride, v);
        if constexpr (sizeof(T) == sizeof(float)) {
            if (a.scaled) {
#pragma unroll
                for (uint4 &vector : v) {
                    scale_vector<T>(vector, a.narrow_scale);
                }
            }
        }
    }

    // Puts the columns' maxima in their place.
    __device__ __forceinline__ void share_maxima(int exchange, const uint4 (&v)[Rows]) const {
        constexpr int pair = each / vector_words;
        const Float none = -std::numeric_limits<Float>::infinity();
        const auto combine = [](Float one, Float other) { return larger_with_nan(one, other); };
#pragma unroll
        for (int w = 0; w < vector_words; ++w) {
            unsigned largest = word_of(v[0], w);
#pragma unroll
            for (int i = 1; i < Rows; ++i) {
                largest = i < part.count ? larger_word<T>(largest, word_of(v[i], w)) : largest;
            }
#pragma unroll
            for (int c = 0; c < pair; ++c) {
                const Float of_word = column_of_word<T>(largest, c);
                folds.leave(w * pair + c, part.count > 0 ? larger_with_nan(of_word, of_word) : none);
            }
        }
        folds.fold(exchange, none, combine,
                   [&](const Column &column, Float maximum) { kept(column).maximum = maximum; });
    }

    // Of the sums that were left: pieces_of(column, sum) says what the outputs of a column are made with.
    template <bool Apart, class PiecesOf>
    __device__ __forceinline__ void share_sums(int exchange, PiecesOf pieces_of) const {
        folds.template fold<Apart>(
            exchange, Sum(0), [](Sum one, Sum other) { return one + other; },
            [&](const Column &column, Sum sum) { kept(column).pieces = pieces_of(column, sum); });
    }

    // output(row, column, pieces) gives each output, pack_outputs(y) a vector of them.
    template <class Pack, class Output>
    __device__ __forceinline__ void write(Pack pack_outputs, Output output) const {
        ShortColumnPieces pieces[each];
#pragma unroll
        for (int c = 0; c < each; ++c) {
            pieces[c] = kept(own(c)).pieces;
        }
        T *to = part.in_output(a.output, a.axis, a.inner);
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
            Float y[each];
#pragma unroll
            for (int c = 0; c < each; ++c) {
                y[c] = output(i, c, pieces[c]);
            }
            if (i < part.count) {
                part.store(to, pack_outputs(y));
            }
            to += a.inner;
        }
    }

    __device__ __forceinline__ static Float output_of(Float e, const ShortColumnPieces &factor) {
        const BlockFactor<Float> by{factor.high, factor.low};
        return sizeof(T) >= sizeof(float) ? softmax_output(e, by) : softmax_narrow_output(e, by);
    }

    __device__ __forceinline__ Column own(int c) const { return {part.tile, part.lane, c}; }
    __device__ __forceinline__ ShortColumnKept &kept(const Column &column) const {
        return reinterpret_cast<ShortColumnKept *>(launched_memory() + all.memory.columns_at)[column.number(all.tiles)];
    }

    const ShortColumnSoftmaxArguments &all;
    const SoftmaxArguments &a;
    const Folds folds;
    const ShortColumnPart<T, Rows, Whole> part;
};

// Of a column's logsumexp and maximum what is wanted.
template <class Tile>
__device__ __forceinline__ void store_values_of(const Tile &tile, const typename Tile::Column &column, float maximum,
                                                float logsumexp) {
    std::size_t number = 0;
    if (!column.find(tile.all.tiles, tile.a.inner, &number)) {
        return;
    }
    if (tile.a.logsumexp != nullptr) {
        if (sizeof(typename Tile::Element) == sizeof(float) || tile.all.logsumexp_type == ElementType::f32) {
            static_cast<unsigned *>(tile.a.logsumexp)[number] = pattern_of(logsumexp, float());
        } else {
            static_cast<std::uint16_t *>(tile.a.logsumexp)[number] =
                static_cast<std::uint16_t>(pattern_of(logsumexp, typename Tile::Element()));
        }
    }
    if (tile.a.maximum != nullptr) {
        static_cast<unsigned *>(tile.a.maximum)[number] = pattern_of(maximum + 0.0f, float());
    }
}

// What softmax's outputs of a column are made with whose exponentials are in a frame as they come.
template <class Float, class Sum>
__device__ __forceinline__ ShortColumnPieces pieces_of_sum(Sum sum) {
    const BlockFactor<Float> factor = factor_of(factor_base(sum, Float()), 0, Float());
    return {factor.high, factor.low};
}

// The same of columns of any kind, and of log-softmax; of a softmax of ordinary logits without a call.
template <class Float, class Sum>
__device__ __noinline__ ShortColumnPieces pieces_of_rare(const SoftmaxArguments &a, Float maximum, Sum sum) {
    const RowKind kind = row_kind(maximum);
    if (kind != RowKind::ordinary) {
        return {std::numeric_limits<Float>::quiet_NaN(), special_output<Float>(kind, a.log, a.empty_row_zero)};
    }
    const Sum settled = settle_block_sum(maximum, sum);
    if (a.log) {
        const LogPieces<Float> logsumexp = row_logsumexp(maximum, settled);
        return {logsumexp.high, logsumexp.low};
    }
    const BlockFactor<Float> factor = block_factor(maximum, maximum, settled);
    return {factor.high, factor.low};
}
template <class Float, class Sum>
__device__ __forceinline__ ShortColumnPieces pieces_of_any(const SoftmaxArguments &a, Float maximum, Sum sum) {
    return is_ordinary(maximum) && !a.log ? pieces_of_sum<Float>(sum) : pieces_of_rare(a, maximum, sum);
}

// The logsumexp of a column of any kind.
template <class Float, class Sum>
__device__ __noinline__ Float logsumexp_of_any(Float maximum, Sum sum) {
    return logsumexp_of(maximum, settle_block_sum(maximum, sum));
}

// The exchanges of a cluster's blocks: quick sums; maxima; sums behind these.
enum ShortColumnExchange : std::int8_t { quick_sums, column_maxima, column_sums };

// Tiles of logits of any kind, which are read again.
template <class T, bool Whole>
__device__ __noinline__ void take_any_short_columns(const ShortColumnSoftmaxArguments &all,
                                                    ShortColumnBarriers &barriers) {
    constexpr int rows = short_column_rows<T>;
    using Tile = ShortColumnTile<T, rows, Whole>;
    using Float = typename Tile::Float;
    using Sum = typename Tile::Sum;
    const Tile tile(all, barriers, all.tiles.rows);
    const SoftmaxArguments &a = all.softmax;
    uint4 v[rows];
    tile.load(v);
    tile.share_maxima(column_maxima, v);
    const auto pieces_of = [&](const typename Tile::Column &column, Sum sum) {
        const Float maximum = tile.kept(column).maximum;
        if (wants_row_values(a)) {
            store_values_of(tile, column, maximum, logsumexp_of_any(maximum, sum));
        }
        return pieces_of_any(a, maximum, sum);
    };
    Float e[rows][Tile::each]; // of log-softmax the logits
#pragma unroll
    for (int c = 0; c < Tile::each; ++c) {
        const Frame<Float> frame = frame_of(tile.kept(tile.own(c)).maximum);
        Float of_column[rows];
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            const Float x = element_of(v[i], c, T());
            of_column[i] = i < tile.part.count ? exponential_in(frame, x) : Float(0);
            e[i][c] = a.log ? x : of_column[i];
        }
        tile.folds.leave(c, run_sum<rows, Sum>(of_column));
    }
    tile.template share_sums<true>(column_sums, pieces_of);
    if (a.output == nullptr) {
        return;
    }
    tile.write([](Float(&y)[Tile::each]) { return pack_with_nans(y, T()); },
               [&](int i, int c, const ShortColumnPieces &pieces) {
                   const Float usual = a.log ? log_softmax_output(e[i][c], LogPieces<Float>{pieces.high, pieces.low})
                                             : Tile::output_of(e[i][c], pieces);
                   return pieces.high != pieces.high ? pieces.low : usual;
               });
}

// An exponential in the frame N = 0.
template <class Float>
__device__ __forceinline__ Float quick_exponential(Float x) {
    return scaled_exponential(x, ExponentialConstants<Float>::magic);
}

// The sum of a column's exponentials in the frame N = 0, some of which may be 0. What widens them for it takes 0 for a
// number too small to change a sum with one of the others, which each column has.
template <class Sum, int Rows, class Float>
__device__ __forceinline__ Sum quick_sum(const Float (&of_column)[Rows]) {
    return run_sum<Rows, Sum, true>(of_column);
}

// A column's logsumexp where its exponentials were formed in the frame N = 0.
template <class Float, class Sum>
__device__ __forceinline__ LogPieces<Float> logsumexp_of_quick(Float maximum, Sum sum) {
    return row_logsumexp(maximum, scale_by_power(sum, -nearest_exponent(maximum)));
}

template <class T, int Rows, bool Whole>
__device__ __forceinline__ void write_softmax(const ShortColumnTile<T, Rows, Whole> &tile, const uint4 (&v)[Rows]) {
    using Tile = ShortColumnTile<T, Rows, Whole>;
    using Float = typename Tile::Float;
    using Sum = typename Tile::Sum;
    Float e[Tile::each][Rows];
#pragma unroll
    for (int c = 0; c < Tile::each; ++c) {
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
            e[c][i] = quick_exponential(element_of(v[i], c, T()));
        }
    }
    if (tile.part.count < Rows) {
#pragma unroll
        for (int c = 0; c < Tile::each; ++c) {
#pragma unroll
            for (int i = 0; i < Rows; ++i) {
                e[c][i] = i < tile.part.count ? e[c][i] : Float(0);
            }
        }
    }
#pragma unroll
    for (int c = 0; c < Tile::each; ++c) {
        tile.folds.leave(c, quick_sum<Sum>(e[c]));
    }
    tile.template share_sums<false>(quick_sums,
                                    [](const typename Tile::Column &, Sum sum) { return pieces_of_sum<Float>(sum); });
    tile.write([](const Float(&y)[Tile::each]) { return pack(y, T()); },
               [&](int i, int c, const ShortColumnPieces &pieces) { return Tile::output_of(e[c][i], pieces); });
}

// Whatever is wanted of columns, by their logits: those wait for the sums instead of the exponentials.
template <class T, int Rows, bool Whole>
__device__ __forceinline__ void write_by_logits(const ShortColumnTile<T, Rows, Whole> &tile, const uint4 (&v)[Rows]) {
    using Tile = ShortColumnTile<T, Rows, Whole>;
    using Float = typename Tile::Float;
    using Sum = typename Tile::Sum;
    const SoftmaxArguments &a = tile.a;
    tile.share_maxima(column_maxima, v);
#pragma unroll
    for (int c = 0; c < Tile::each; ++c) {
        Float of_column[Rows];
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
            const Float one = quick_exponential(element_of(v[i], c, T()));
            of_column[i] = i < tile.part.count ? one : Float(0);
        }
        tile.folds.leave(c, quick_sum<Sum>(of_column));
    }
    tile.template share_sums<sizeof(T) == sizeof(float)>(quick_sums, [&](const typename Tile::Column &column, Sum sum) {
        const Float maximum = tile.kept(column).maximum;
        const LogPieces<Float> logsumexp = logsumexp_of_quick(maximum, sum);
        if (wants_row_values(a)) {
            store_values_of(tile, column, maximum, logsumexp.high);
        }
        return a.log ? ShortColumnPieces{logsumexp.high, logsumexp.low} : pieces_of_sum<Float>(sum);
    });
    if (a.output == nullptr) {
        return;
    }
    const auto pack_outputs = [](const Float(&y)[Tile::each]) { return pack(y, T()); };
    if (a.log) {
        tile.write(pack_outputs, [&](int i, int c, const ShortColumnPieces &pieces) {
            return log_softmax_output(element_of(v[i], c, T()), LogPieces<Float>{pieces.high, pieces.low});
        });
    } else {
        // The compiler may not know that these are the exponentials of before, which would wait in registers.
        Float magic = ExponentialConstants<Float>::magic;
        asm("" : "+f"(magic));
        tile.write(pack_outputs, [&](int i, int c, const ShortColumnPieces &pieces) {
            return Tile::output_of(scaled_exponential(element_of(v[i], c, T()), magic), pieces);
        });
    }
}

// ByLogits: of more than softmax's outputs.
template <class T, int Rows, bool ByLogits, bool Whole>
__global__ void __launch_bounds__(short_column_most_threads, 1)
    softmax_short_columns(const __grid_constant__ ShortColumnSoftmaxArguments a) {
    __shared__ ShortColumnBarriers barriers;
    const ShortColumnTile<T, Rows, Whole> tile(a, barriers, Rows);
    tile.folds.prepare();
    take_place_on_stream();
    uint4 v[Rows];
    tile.load(v);
    tile.folds.await_prepared();
    if (!tile.folds.all_say(vectors_within<T>(v, short_column_reach))) {
        take_any_short_columns<T, Whole>(a, barriers);
    } else if constexpr (ByLogits) {
        write_by_logits(tile, v);
    } else {
        write_softmax(tile, v);
    }
}

template <class T, bool ByLogits, bool Whole>
void set_short_column_kernels(const void *(&of)[short_column_softmax_kernels_of_a_kind]) {
    of[0] = address_of(softmax_short_columns<T, short_column_rows<T> / 2, ByLogits, Whole>);
    of[1] = address_of(softmax_short_columns<T, short_column_rows<T>, ByLogits, Whole>);
}

template <class T>
const ShortColumnSoftmaxKernels &short_column_softmax_kernels() {
    static const ShortColumnSoftmaxKernels kernels = [] {
        ShortColumnSoftmaxKernels made{};
        set_short_column_kernels<T, false, false>(made.of[0][0]);
        set_short_column_kernels<T, false, true>(made.of[0][1]);
        set_short_column_kernels<T, true, false>(made.of[1][0]);
        set_short_column_kernels<T, true, true>(made.of[1][1]);
        made.least_rows = short_column_rows<T> / 2;
        made.each = vector_elements<T>;
        made.sum_bytes = sizeof(typename SoftmaxArithmetic<T>::Sum);
        return made;
    }();
    return kernels;
}

} // namespace wr::cuda
