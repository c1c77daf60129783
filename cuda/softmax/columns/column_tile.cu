// Softmax along a short axis that is not the innermost: a block's registers hold a tile of columns, which is read once
// and written once. Where all of a tile's logits are small, their exponentials need no maximum first: those in the
// frame N = 0 have the bits of those in their columns' frames but for a power of two, as their outputs have.
#include "cuda/device/intrinsics.cuh"
#include "cuda/rowwise/column_tile.cuh"
#include "cuda/rowwise/element_patterns.cuh"
#include "cuda/softmax/columns.h"
#include "cuda/softmax_backward/pack.cuh"

namespace wr::cuda {

// Threads of a block of such kernels at most that have more registers for each: softmax of f32 in whole vectors where
// blocks have their tiles to themselves, and the logarithms and values of f32, by threads of all rows (H200, TB/s, with
// 64 registers and 80: softmax 21, 150 3.61, 3.72 and 3.80, 3.82, but in clusters 512 3.75 and 3.57, off the boundaries
// 21 3.51 and 3.39; log 21, 150, 1000 2.97, 3.08, 2.52 and 3.54, 3.39, 2.80; by threads of 4 rows softmax 4.09
// and 3.79, log 3.07 and 2.97; bf16, with 64 and 72, 150 3.03 and 2.49).
inline constexpr int column_tile_threads_of_more_registers = 768;

// Between these logits lie all exponentials in the frame N = 0, and their sums, well within the normal range.
inline constexpr float column_tile_reach = 42.0f;

// Kernels hold up to as many rows of a thread, so that it has 32 elements.
template <class T>
inline constexpr int column_tile_rows = lane_elements / vector_elements<T>;

// The largest of a column's logits.
struct LargestLogit {
    using Accumulator = float;
    __device__ __forceinline__ static float identity() { return -std::numeric_limits<float>::infinity(); }
    __device__ __forceinline__ static float combine(float one, float other) { return larger_with_nan(one, other); }
};

// The sum of a column's exponentials and the largest of its logits together.
template <class Sum>
struct SumAndLargest {
    struct Accumulator {
        Sum sum;
        float largest;
    };
    __device__ __forceinline__ static Accumulator identity() {
        return {FloatSum<Sum>::identity(), LargestLogit::identity()};
    }
    __device__ __forceinline__ static Accumulator combine(const Accumulator &one, const Accumulator &other) {
        return {FloatSum<Sum>::combine(one.sum, other.sum), LargestLogit::combine(one.largest, other.largest)};
    }
};

// A block's tiles. Left: what its threads leave each other of a column. OwnTiles: no other blocks share them.
template <class T, int Rows, bool Whole, class Left = typename SoftmaxArithmetic<T>::Sum, bool OwnTiles = false,
          class Arguments = ColumnTileSoftmaxArguments>
class ThreadTile {
  public:
    using Element = T;
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    static constexpr int each = vector_elements<T>;
    static constexpr bool own_tiles = OwnTiles;
    // (Softmax's kernels spill registers without the code for others: 21 columns' elements of f32 3.76 and 3.59 TB/s.)
    using Folds = ColumnTileFolds<each, Whole, Left, OwnTiles && !std::is_same_v<Left, Sum>>;
    using Column = typename Folds::Column;

    __device__ __forceinline__ ThreadTile(const Arguments &arguments, ColumnTileBarriers &barriers, int rows)
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

    // use(column, maximum) is called with the largest logit of each of the thread's columns.
    template <class Use>
    __device__ __forceinline__ void of_largest(const uint4 (&v)[Rows], Use use) const {
        constexpr int pair = each / vector_words;
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
                use(w * pair + c, part.count > 0 ? larger_with_nan(of_word, of_word) : LargestLogit::identity());
            }
        }
    }

    // output(row, column, pieces) gives each output, pack_outputs(y) a vector of them.
    template <class Pack, class Output>
    __device__ __forceinline__ void write(Pack pack_outputs, Output output) const {
        ColumnTilePieces pieces[each];
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

    __device__ __forceinline__ static Float output_of(Float e, const ColumnTilePieces &factor) {
        const BlockFactor<Float> by{factor.high, factor.low};
        return sizeof(T) >= sizeof(float) ? softmax_output(e, by) : softmax_narrow_output(e, by);
    }

    __device__ __forceinline__ Column own(int c) const { return {part.tile, part.lane, c}; }
    __device__ __forceinline__ ColumnTileKept &kept(const Column &column) const {
        return reinterpret_cast<ColumnTileKept *>(launched_memory() + all.memory.columns_at)[column.number(all.tiles)];
    }

    const Arguments &all;
    const SoftmaxArguments &a;
    const Folds folds;
    const ColumnTilePart<T, Rows, Whole> part;
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
__device__ __forceinline__ ColumnTilePieces pieces_of_sum(Sum sum) {
    const BlockFactor<Float> factor = factor_of(factor_base(sum, Float()), 0, Float());
    return {factor.high, factor.low};
}

// The same of columns of any kind, and of log-softmax; of a softmax of ordinary logits without a call.
template <class Float, class Sum>
__device__ __noinline__ ColumnTilePieces pieces_of_rare(const SoftmaxArguments &a, Float maximum, Sum sum) {
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
__device__ __forceinline__ ColumnTilePieces pieces_of_any(const SoftmaxArguments &a, Float maximum, Sum sum) {
    return is_ordinary(maximum) && !a.log ? pieces_of_sum<Float>(sum) : pieces_of_rare(a, maximum, sum);
}

// The logsumexp of a column of any kind.
template <class Float, class Sum>
__device__ __noinline__ Float logsumexp_of_any(Float maximum, Sum sum) {
    return logsumexp_of(maximum, settle_block_sum(maximum, sum));
}

// The exchanges of a cluster's blocks: of logits near 0; of any, which need their maxima before their sums.
enum ColumnTileExchange : std::int8_t { quick_values, column_maxima, column_sums };

// A tile of logits of any kind.
template <class T, int Rows, class Tile>
__device__ __forceinline__ void write_any(const Tile &tile, const uint4 (&v)[Rows]) {
    using Float = typename Tile::Float;
    using Sum = typename Tile::Sum;
    const SoftmaxArguments &a = tile.a;
    tile.of_largest(v, [&](int c, Float largest) { tile.folds.leave(c, largest); });
    tile.folds.await_left();
    tile.folds.template fold<LargestLogit>(column_maxima, [&](const typename Tile::Column &column, Float largest) {
        tile.kept(column).maximum = largest;
    });
    Float e[Rows][Tile::each]; // of log-softmax the logits
#pragma unroll
    for (int c = 0; c < Tile::each; ++c) {
        const Frame<Float> frame = frame_of(tile.kept(tile.own(c)).maximum);
        Float of_column[Rows];
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
            const Float x = element_of(v[i], c, T());
            of_column[i] = i < tile.part.count ? exponential_in(frame, x) : Float(0);
            e[i][c] = a.log ? x : of_column[i];
        }
        tile.folds.leave(c, run_sum<Rows, Sum>(of_column));
    }
    tile.folds.await_left();
    tile.folds.template fold<FloatSum<Sum>, true>(column_sums, [&](const typename Tile::Column &column, Sum sum) {
        ColumnTileKept &kept = tile.kept(column);
        if (wants_row_values(a)) {
            store_values_of(tile, column, kept.maximum, logsumexp_of_any(kept.maximum, sum));
        }
        kept.pieces = pieces_of_any(a, kept.maximum, sum);
    });
    if (a.output == nullptr) {
        return;
    }
    tile.write([](Float(&y)[Tile::each]) { return pack_with_nans(y, T()); },
               [&](int i, int c, const ColumnTilePieces &pieces) {
                   const Float usual = a.log ? log_softmax_output(e[i][c], LogPieces<Float>{pieces.high, pieces.low})
                                             : Tile::output_of(e[i][c], pieces);
                   return pieces.high != pieces.high ? pieces.low : usual;
               });
}

// The same of what no longer waits in registers: it is read again.
template <class T, bool Whole>
__device__ __noinline__ void take_any_column_tiles(const ColumnTileSoftmaxArguments &all,
                                                   ColumnTileBarriers &barriers) {
    const ThreadTile<T, column_tile_rows<T>, Whole> tile(all, barriers, all.tiles.rows);
    uint4 v[column_tile_rows<T>];
    tile.load(v);
    write_any<T>(tile, v);
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

// Softmax's outputs; false where some logit is too large or too small for it.
template <class T, int Rows, class Tile>
__device__ __forceinline__ bool write_softmax(const Tile &tile, const uint4 (&v)[Rows]) {
    using Float = typename Tile::Float;
    using Sum = typename Tile::Sum;
    // Where registers are short for exponentials of 32 bits beside what asks the logits, these are asked first.
    constexpr bool asks_first = sizeof(T) == sizeof(float) && !Tile::own_tiles;
    const bool within = vectors_within<T>(v, column_tile_reach);
    if (asks_first && !tile.folds.template all_say<true>(within)) {
        return false;
    }
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
    if constexpr (asks_first) {
        tile.folds.await_left();
    } else if (!tile.folds.template all_say<true>(within)) {
        return false;
    }
    tile.folds.template fold<FloatSum<Sum>>(quick_values, [&](const typename Tile::Column &column, Sum sum) {
        tile.kept(column).pieces = pieces_of_sum<Float>(sum);
    });
    tile.write([](const Float(&y)[Tile::each]) { return pack(y, T()); },
               [&](int i, int c, const ColumnTilePieces &pieces) { return Tile::output_of(e[c][i], pieces); });
    return true;
}

// Whatever is wanted of columns, by their logits: those wait for the sums instead of the exponentials.
template <class T, int Rows, class Tile>
__device__ __forceinline__ bool write_by_logits(const Tile &tile, const uint4 (&v)[Rows]) {
    using Float = typename Tile::Float;
    using Sum = typename Tile::Sum;
    using Left = typename SumAndLargest<Sum>::Accumulator;
    const SoftmaxArguments &a = tile.a;
    tile.of_largest(v, [&](int c, Float largest) {
        Float of_column[Rows];
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
            const Float one = quick_exponential(element_of(v[i], c, T()));
            of_column[i] = i < tile.part.count ? one : Float(0);
        }
        tile.folds.leave(c, Left{quick_sum<Sum>(of_column), largest});
    });
    if (!tile.folds.template all_say<false>(vectors_within<T>(v, column_tile_reach))) {
        return false;
    }
    constexpr bool apart = sizeof(T) == sizeof(float);
    tile.folds.template fold<SumAndLargest<Sum>, apart>(
        quick_values, [&](const typename Tile::Column &column, const Left &whole) {
            const LogPieces<Float> logsumexp = logsumexp_at_zero_exponent(whole.largest, whole.sum);
            if (wants_row_values(a)) {
                store_values_of(tile, column, whole.largest, logsumexp.high);
            }
            tile.kept(column).pieces =
                a.log ? ColumnTilePieces{logsumexp.high, logsumexp.low} : pieces_of_sum<Float>(whole.sum);
        });
    if (a.output == nullptr) {
        return true;
    }
    const auto pack_outputs = [](const Float(&y)[Tile::each]) { return pack(y, T()); };
    if (a.log) {
        tile.write(pack_outputs, [&](int i, int c, const ColumnTilePieces &pieces) {
            return log_softmax_output(element_of(v[i], c, T()), LogPieces<Float>{pieces.high, pieces.low});
        });
    } else {
        // The compiler may not know that these are the exponentials of before, which would wait in registers.
        Float magic = ExponentialConstants<Float>::magic;
        asm("" : "+f"(magic));
        tile.write(pack_outputs, [&](int i, int c, const ColumnTilePieces &pieces) {
            return Tile::output_of(scaled_exponential(element_of(v[i], c, T()), magic), pieces);
        });
    }
    return true;
}

// What threads leave each other of a column. ByLogits: for more than softmax's outputs.
template <class T, bool ByLogits>
using LeftOfColumn =
    std::conditional_t<ByLogits, typename SumAndLargest<typename SoftmaxArithmetic<T>::Sum>::Accumulator,
                       typename SoftmaxArithmetic<T>::Sum>;

// Threads of a block at most: fewer than it may have where each is to have more registers.
template <class T, int Rows, bool ByLogits, bool OwnTiles>
inline constexpr int column_tile_threads =
    sizeof(T) == sizeof(float) && Rows == column_tile_rows<T> && (ByLogits || OwnTiles)
        ? column_tile_threads_of_more_registers
        : column_tile_most_threads;

template <class T, int Rows, bool ByLogits, bool Whole, bool OwnTiles>
__global__ void __launch_bounds__(column_tile_threads<T, Rows, ByLogits, OwnTiles>, 1)
    softmax_column_tiles(const __grid_constant__ ColumnTileSoftmaxArguments a) {
    __shared__ ColumnTileBarriers barriers;
    const ThreadTile<T, Rows, Whole, LeftOfColumn<T, ByLogits>, OwnTiles> tile(a, barriers, Rows);
    tile.folds.prepare();
    pdl_wait_and_release();
    uint4 v[Rows];
    tile.load(v);
    tile.folds.await_prepared();
    bool written = false;
    if constexpr (ByLogits) {
        written = write_by_logits<T>(tile, v);
    } else {
        written = write_softmax<T>(tile, v);
    }
    if (!written) {
        take_any_column_tiles<T, Whole>(a, barriers);
    }
}

template <class T, int Rows, bool ByLogits, bool Whole, bool OwnTiles>
ColumnTileSoftmaxKernel column_tile_kernel() {
    return {address_of(softmax_column_tiles<T, Rows, ByLogits, Whole, OwnTiles>),
            column_tile_threads<T, Rows, ByLogits, OwnTiles>};
}

template <class T, bool ByLogits, bool Whole>
void set_column_tile_kernels(ColumnTileSoftmaxKernels::OfAKind &of) {
    constexpr int most = column_tile_rows<T>;
    constexpr bool knows_own_tiles = sizeof(T) == sizeof(float) && Whole;
    of[of_least_rows] = column_tile_kernel<T, most / 2, ByLogits, Whole, false>();
    of[of_most_rows] = column_tile_kernel<T, most, ByLogits, Whole, false>();
    of[of_own_tiles] = column_tile_kernel<T, most, ByLogits, Whole, knows_own_tiles>();
}

template <class T>
const ColumnTileSoftmaxKernels &column_tile_softmax_kernels() {
    static const ColumnTileSoftmaxKernels kernels = [] {
        ColumnTileSoftmaxKernels made{};
        set_column_tile_kernels<T, false, false>(made.of[0][0]);
        set_column_tile_kernels<T, false, true>(made.of[0][1]);
        set_column_tile_kernels<T, true, false>(made.of[1][0]);
        set_column_tile_kernels<T, true, true>(made.of[1][1]);
        set_masked_column_tiles<T>(made.masked);
        made.least_rows = column_tile_rows<T> / 2;
        made.each = vector_elements<T>;
        made.left_bytes[0] = sizeof(LeftOfColumn<T, false>);
        made.left_bytes[1] = sizeof(LeftOfColumn<T, true>);
        return made;
    }();
    return kernels;
}

// Softmax of short columns of which masks, lengths or the causal limit leave elements out. What is left out becomes
// -infinity as it is read; a logit that is -infinity itself gives no more to its column either.

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

template const ColumnTileSoftmaxKernels &column_tile_softmax_kernels<float>();
template const ColumnTileSoftmaxKernels &column_tile_softmax_kernels<F16>();
template const ColumnTileSoftmaxKernels &column_tile_softmax_kernels<BF16>();

template void set_masked_column_tiles<float>(ColumnTileSoftmaxKernels::OfAKind &);
template void set_masked_column_tiles<F16>(ColumnTileSoftmaxKernels::OfAKind &);
template void set_masked_column_tiles<BF16>(ColumnTileSoftmaxKernels::OfAKind &);

} // namespace wr::cuda
