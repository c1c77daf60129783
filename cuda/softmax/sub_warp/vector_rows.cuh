// Rows of up to 512 elements, whole vectors each and one behind the other: a warp holds as many as its 1024 elements
// have room for, each in a power of two places of a vector, and the exchange yields all their maxima and sums at once.
// Masks, lengths and the causal limit may leave elements out.
#pragma once

#include "cuda/device/parameters.cuh"
#include "cuda/softmax/converted_outputs.cuh"
#include "cuda/softmax/sub_warp/vector_rows_select.cuh"

namespace wr::cuda {

// A tile's vectors where they lie off the boundaries. Interior: between other rows of the caller's.
template <class T>
__device__ __forceinline__ void load_staged_rows(const SoftmaxArguments &a, const T *data, int count, bool vector_safe,
                                                 const VectorRowsTile<T> &tile, uint4 (&vectors)[lane_vectors<T>]) {
    if (vector_safe || is_readable(a.readable_range, data, count)) {
        load_vectors(data, vectors, [&](int v) { return tile.sources[v]; }, [&](int v) { return tile.sources[v] + 1; });
        return;
    }
#pragma unroll
    for (int v = 0; v < lane_vectors<T>; ++v) {
        T elements[vector_elements<T>];
#pragma unroll
        for (int i = 0; i < vector_elements<T>; ++i) {
            elements[i] = data[tile.sources[v] * vector_elements<T> + static_cast<unsigned>(i)];
        }
        memcpy(vectors + v, elements, sizeof(uint4));
    }
}

// The exponentials of a tile, their sums over rows in the lanes that hold these.
template <class T, class Sum, bool Normal, class Float, class Exponentials>
__device__ __forceinline__ Sum sum_of_packed(const VectorRowsTile<T> &tile, Float (&e)[lane_elements],
                                             Exponentials exponentials) {
    constexpr int each = vector_elements<T>, half = lane_vectors<T> / 2;
    Sum sums[half];
#pragma unroll
    for (int v = 0; v < half; ++v) {
        Sum pair[2];
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const int at = v + h * half;
            if (tile.used(at)) {
                exponentials(at, e + at * each);
            }
            pair[h] = tile.filled(at) ? run_sum<each, Sum, Normal>(e + at * each) : Sum(0);
        }
        sums[v] = exchange_pair<FloatSum<Sum>, 0>(pair[0], pair[1]);
    }
    exchange_halves<FloatSum<Sum>, VectorRowsTile<T>::steps, 1>(sums);
    return tile.template over_row<FloatSum<Sum>>(sums[0]);
}

// Registers that leave so many warps room on a multiprocessor: of 16-bit elements 64, else 80.
template <class T>
inline constexpr int short_row_blocks = (sizeof(T) == 2   ? 32
                                         : sizeof(T) == 4 ? 24
                                                          : 12) /
                                        short_row_warps;

// How rows come and go: on the boundaries; off them, the outputs through shared memory; or on them with outputs of
// another type, f32 as 16 or 8 bits and 16 bits as f32; or with elements that take no part.
enum class VectorRows { plain, staged, converted, masked };

// Writes a vector's outputs as elements of the other type.
template <class T>
__device__ __forceinline__ void store_converted_vector(const SoftmaxArguments &a, std::uint64_t first, const float *y) {
    constexpr int each = vector_elements<T>;
    if constexpr (sizeof(T) == 2) {
        store_words(static_cast<float *>(a.output) + first, RunWords<float, each>(y).of);
    } else {
        with_other_type<T>(a.output_type, [&]<class To>(To) {
            store_words(static_cast<To *>(a.output) + first, RunWords<To, each>(y).of);
        });
    }
}

// What is left to do for a tile some of whose rows are rare: `row` of it where a lane holds one, and whether that is.
// All others' outputs are where they belong, or in the stage.
template <class T, bool Log, VectorRows How, class Arguments, class Float, class Sum>
__device__ __noinline__ void finish_rare_tile(const Arguments &a, int rows_a_tile, uint4 *stage,
                                              RowState<Float, Sum> total, bool holds_row, bool rare, int row) {
    const WarpRows rows(a, rows_a_tile);
    const std::uint64_t index = rows.first + static_cast<std::uint64_t>(row);
    if constexpr (How == VectorRows::masked) {
        __syncwarp(); // these rows' outputs are written again
        store_empty_rows<T>(a, index, holds_row && row_kind(total.maximum) == RowKind::empty);
    }
    if (holds_row) {
        store_row_values(a, total, index);
    }
    if constexpr (How == VectorRows::masked) {
        masked_rows_alone<T>(a, rows.first, rows.output<T>(a), holds_row && rare, row);
    } else {
        T *const outputs = How == VectorRows::staged ? reinterpret_cast<T *>(stage) : rows.output<T>(a);
        softmax_rows_alone<T, Log, How == VectorRows::converted>(a, rows.input<T>(a), outputs, rows.first,
                                                                 holds_row && rare, row, total.maximum);
    }
    if constexpr (How == VectorRows::staged) {
        __syncwarp();
        copy_from_stage<T, static_cast<int>(softmax_block)>(rows.output<T>(a), rows.count * static_cast<int>(a.axis),
                                                            stage, 0);
    }
}

template <class T, bool Log, VectorRows How, class Arguments>
__device__ __forceinline__ void do_vector_rows(const Arguments &a) {
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    constexpr int registers = lane_vectors<T>, each = vector_elements<T>;
    constexpr int elements = static_cast<int>(softmax_block);
    constexpr bool staged = How == VectorRows::staged, converted = How == VectorRows::converted;
    constexpr bool masked = How == VectorRows::masked;
    constexpr bool two_pieces = converted ? sizeof(T) == 2 : sizeof(T) >= sizeof(float); // of a factor
    using Divided = std::conditional_t<converted, double, Sum>;
    __builtin_assume(threadIdx.x < short_row_warps * warp_lanes);
    __shared__ uint4 stages[staged ? short_row_warps : 1][staged ? stage_bytes<T, elements> / vector_bytes : 1];
    uint4 *stage = stages[staged ? warp_index() : 0];
    pdl_wait_and_release(a);
    const int axis = static_cast<int>(a.axis);
    const int shift = 31 - __clz(a.row_lanes), rows_a_tile = (registers * warp_lanes) >> shift;
    const WarpRows from(a, rows_a_tile);
    if (from.count == 0) {
        return;
    }
    VectorRowsTile<T> tile(a, shift, from.count);
    const T *data = from.input<T>(a);
    uint4 vectors[registers];
    if constexpr (staged) {
        const bool vector_safe = from.first > 0 && from.first + static_cast<unsigned>(from.count) < a.outer;
        load_staged_rows(a, data, from.count * axis, vector_safe, tile, vectors);
    } else {
#pragma unroll
        for (int v = 0; v < registers; ++v) {
            vectors[v] = load_vector(reinterpret_cast<const uint4 *>(data) + tile.sources[v]);
        }
    }
    if constexpr (masked) {
        leave_out_of_tile(a, tile, from, vectors);
    }
    const Float scale = sizeof(T) == 2 ? static_cast<Float>(a.narrow_scale) : static_cast<Float>(a.scale);
    if constexpr (sizeof(T) > 2) {
        if (a.scaled) {
#pragma unroll
            for (int v = 0; v < registers; ++v) {
                scale_vector<T>(vectors[v], scale);
            }
        }
    }
    Float e[lane_elements];
    Float maximum = 0;
    bool any_rare = false;
    Sum sum;
    RowState<Float, Sum> total;
    LogPieces<Float> splits{0, 0};
    const bool at_zero_exponent = !masked && is_at_zero_exponent<T>(a, vectors), knows = knows_maximum<Log>(a);
    if (!at_zero_exponent || knows) {
        Float largest[registers];
#pragma unroll
        for (int v = 0; v < registers; ++v) {
            largest[v] = largest_of_scaled_vector<T>(vectors[v], scale, a.scaled);
        }
        exchange_halves<LargestWithNan<Float>, VectorRowsTile<T>::steps>(largest);
        maximum = tile.template over_row<LargestWithNan<Float>>(largest[0]);
    }
    if (at_zero_exponent) {
        sum = sum_of_packed<T, Sum, true>(tile, e, [&](int v, Float *of_vector) {
            exponentials_of_vector<T, false, false>(vectors[v], scale, ExponentialConstants<Float>::magic, Float(0),
                                                    of_vector);
        });
        total = total_at_zero_exponent(knows, maximum, sum);
        if constexpr (Log) {
            splits = logsumexp_at_zero_exponent(maximum, sum);
        }
    } else {
        const bool empty = masked && maximum == -std::numeric_limits<Float>::infinity();
        any_rare = tile.leave_out_rare(!is_ordinary(maximum) && !empty);
        const RowFrame<Float> frame(maximum);
        sum = sum_of_packed<T, Sum, false>(tile, e, [&](int v, Float *of_vector) {
            const Float magic = __shfl_sync(whole_warp, frame.magic_less_n, tile.holder_of(v));
            const Float bound = __shfl_sync(whole_warp, frame.bound, tile.holder_of(v));
            exponentials_of_vector<T, sizeof(T) == 2, true>(vectors[v], scale, magic, bound, of_vector);
        });
        total = {maximum, sum};
        if constexpr (Log) {
            splits = splits_of_row(total);
        }
    }
    const BlockFactor<Float> factor =
        Log ? BlockFactor<Float>{0, 0} : factor_of_sum(static_cast<Divided>(sum), Float());
    const WarpRows to(a, rows_a_tile);
    T *output = to.output<T>(a);
#pragma unroll
    for (int v = 0; v < registers; ++v) {
        Float y[each];
        if constexpr (Log) {
            const LogPieces<Float> own{__shfl_sync(whole_warp, splits.high, tile.holder_of(v)),
                                       __shfl_sync(whole_warp, splits.low, tile.holder_of(v))};
#pragma unroll
            for (int i = 0; i < each; ++i) {
                const Float x = element_of(vectors[v], i, T());
                y[i] = log_softmax_output(sizeof(T) == 2 ? x * scale : x, own);
            }
        } else {
            BlockFactor<Float> own{__shfl_sync(whole_warp, factor.high, tile.holder_of(v)), 0};
            if constexpr (two_pieces) {
                own.low = __shfl_sync(whole_warp, factor.low, tile.holder_of(v));
            }
#pragma unroll
            for (int i = 0; i < each; ++i) {
                y[i] = two_pieces ? softmax_output(e[v * each + i], own) : softmax_narrow_output(e[v * each + i], own);
            }
        }
        if constexpr (converted) {
            if (tile.filled(v)) {
                store_converted_vector<T>(a, to.first * a.axis + tile.sources[v] * each, y);
            }
        } else if constexpr (staged) {
            store_staged_if(tile.filled(v), stage + tile.sources[v], pack(y, T()));
        } else {
            store_vector_if(tile.filled(v), reinterpret_cast<uint4 *>(output) + tile.sources[v], pack(y, T()));
        }
    }
    if (any_rare) {
        finish_rare_tile<T, Log, How>(a, rows_a_tile, stage, total, tile.holds_row(to.count), tile.held_row_is_rare(),
                                      tile.held_row());
        return;
    }
    if constexpr (staged) {
        __syncwarp();
        copy_from_stage<T, elements>(output, to.count * axis, stage, 0);
    }
    if (masked || wants_row_values(a)) {
        const bool holds_row = tile.holds_row(to.count);
        const std::uint64_t row = to.first + static_cast<std::uint64_t>(tile.held_row());
        if constexpr (masked) {
            const bool empty = holds_row && maximum == -std::numeric_limits<Float>::infinity();
            if (__any_sync(whole_warp, empty) != 0) {
                __syncwarp(); // these rows' outputs are written again
                store_empty_rows<T>(a, row, empty);
            }
        }
        if (holds_row) {
            store_row_values(a, total, row);
        }
    }
}

template <class T, bool Log, VectorRows How>
__global__ void __launch_bounds__(short_row_warps *warp_lanes, short_row_blocks<T>)
    softmax_sub_warp_vectors(const __grid_constant__ SoftmaxArguments a) {
    do_vector_rows<T, Log, How>(a);
}

template <class T, bool Log>
__global__ void __launch_bounds__(short_row_warps *warp_lanes, short_row_blocks<T>)
    softmax_masked_sub_warp_vectors(const __grid_constant__ MaskedRowsArguments a) {
    do_vector_rows<T, Log, VectorRows::masked>(a);
}

} // namespace wr::cuda
