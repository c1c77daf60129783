// Where short rows of whole vectors, one behind the other, lie in a warp's registers.
#pragma once

#include "cuda/device/intrinsics.cuh"
#include "cuda/rowwise/select.cuh"
#include "cuda/softmax/outputs.cuh"
#include "cuda/softmax/sub_warp/vectors.cuh"

namespace wr::cuda {

// Of a tile of vectors, number 32 v + l being register v of lane l.
template <class T>
struct VectorRowsTile {
    static constexpr int registers = lane_vectors<T>;
    static constexpr int steps = log2_of(registers); // of the exchange: its lowest lane bits
    static constexpr unsigned rare_row = 1u << 31;

    int shift;                   // log2 of a row's slots
    int row_vectors;             // that fill the first of them
    unsigned sources[registers]; // the vectors to read: behind a row's end its last one, behind the last row that again
    unsigned filled_places;      // a bit a register; the highest: the row that the lane holds is rare

    template <class Arguments>
    __device__ __forceinline__ VectorRowsTile(const Arguments &a, int row_shift, int rows)
        : shift(row_shift), row_vectors(static_cast<int>(a.axis) / vector_elements<T>) {
        const bool dense = rows << shift == registers * warp_lanes && row_vectors == a.row_lanes;
        filled_places = dense ? (1u << registers) - 1 : 0;
#pragma unroll
        for (int v = 0; v < registers; ++v) {
            sources[v] = static_cast<unsigned>(v * warp_lanes + lane_index());
        }
        if (!dense) {
#pragma unroll
            for (int v = 0; v < registers; ++v) {
                const int slot = v * warp_lanes + lane_index(), row = slot >> shift, place = slot & (a.row_lanes - 1);
                filled_places |= place < row_vectors && row < rows ? 1u << v : 0;
                sources[v] =
                    static_cast<unsigned>(smaller(row, rows - 1) * row_vectors + smaller(place, row_vectors - 1));
            }
        }
    }

    // The row that register v of this lane belongs to.
    __device__ __forceinline__ int row_of(int v) const { return (v * warp_lanes + lane_index()) >> shift; }
    __device__ __forceinline__ bool filled(int v) const { return (filled_places >> v & 1) != 0; }
    // Whether any lane may have register v filled: the last one is where a row's places are all of a tile's.
    __device__ __forceinline__ bool used(int v) const {
        return v + 1 < registers || shift < log2_of(registers * warp_lanes) || row_vectors > v * warp_lanes;
    }

    // Once the values of all registers are exchanged, a lane holds what belongs to this place of the tile.
    __device__ __forceinline__ int held_place() const {
        return exchanged_register<steps, registers>(lane_index()) * warp_lanes + (lane_index() & ~(registers - 1));
    }
    // Takes the rows of which the lanes that hold them say that they are rare out of what is filled: their outputs are
    // formed elsewhere, and nobody needs to know what their exponentials are.
    // Whether there are any.
    __device__ __forceinline__ bool leave_out_rare(bool held_row_is_rare) {
        if (__any_sync(whole_warp, held_row_is_rare) == 0) {
            return false;
        }
        const unsigned rare = __ballot_sync(whole_warp, held_row_is_rare);
#pragma unroll
        for (int v = 0; v < registers; ++v) {
            filled_places &= ~((rare >> holder_of(v) & 1) << v);
        }
        filled_places |= held_row_is_rare ? rare_row : 0;
        return true;
    }
    __device__ __forceinline__ bool held_row_is_rare() const { return (filled_places & rare_row) != 0; }

    // The row whose total this lane has then, and whether it is the one that speaks for it, of so many rows.
    __device__ __forceinline__ int held_row() const { return held_place() >> shift; }
    __device__ __forceinline__ bool holds_row(int rows) const {
        return held_row() < rows && (held_place() & ((1 << shift) - 1)) == 0;
    }
    // And what belongs to register v of a lane is found in this one.
    __device__ __forceinline__ static int holder_of(int v) {
        return (lane_index() & ~(registers - 1)) | exchanged_register<steps, registers>(v);
    }

    // From what the exchange has left in each lane to its row's.
    template <class Op>
    __device__ __forceinline__ typename Op::Accumulator over_row(typename Op::Accumulator value) const {
#pragma unroll
        for (int level = steps; level < 5 + steps; ++level) {
            if (level < shift) {
                value = Op::combine(value, from_lane_xor(value, distance_of_level<registers>(level)));
            }
        }
        return value;
    }
};

// What masks, lengths and the causal limit leave out of a warp's short rows, and what becomes of rows that are not
// ordinary there.

// A row's logits one at a time, -infinity in the place of those that take no part.
template <class T>
struct MaskedRow {
    const MaskedRowsArguments &a;
    std::size_t first; // index of its first element
    int taken;

    __device__ __forceinline__ MaskedRow(const MaskedRowsArguments &arguments, std::uint64_t row)
        : a(arguments), first(row * arguments.axis), taken(static_cast<int>(taken_of_row(arguments, row))) {}

    __device__ __forceinline__ bool takes_part(int at) const {
        return at < taken && (a.mask == nullptr || a.mask[first + static_cast<std::size_t>(at)] != 0);
    }
    __device__ __forceinline__ float operator[](int at) const {
        if (!takes_part(at)) {
            return -std::numeric_limits<float>::infinity();
        }
        const auto x = static_cast<float>(widen(static_cast<const T *>(a.input)[first + static_cast<std::size_t>(at)]));
        return a.scaled ? x * a.narrow_scale : x;
    }
};

// Of a tile's rows those that hold large logits, +infinity or NaN, one after the other: `row_of_tile` where a lane says
// that it is rare. Their outputs go where the tile's are, in memory of any kind. Short code rather than quick.
template <class T>
__device__ __noinline__ void masked_rows_alone(const MaskedRowsArguments &a, std::uint64_t first_row, T *outputs,
                                               bool rare, int row_of_tile) {
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    const int axis = static_cast<int>(a.axis);
    __syncwarp(); // what other lanes have stored for these rows is stored again
#pragma unroll 1
    for (unsigned left = __ballot_sync(whole_warp, rare); left != 0; left &= left - 1) {
        const int of_lane = __shfl_sync(whole_warp, row_of_tile, __ffs(static_cast<int>(left)) - 1);
        const std::uint64_t row = first_row + static_cast<unsigned>(of_lane);
        const MaskedRow<T> x(a, row);
        float maximum = -std::numeric_limits<float>::infinity();
#pragma unroll 1
        for (int at = lane_index(); at < axis; at += warp_lanes) {
            maximum = larger_with_nan(maximum, x[at]);
        }
        maximum = warp_maximum(maximum);
        const Frame<float> frame = frame_of(maximum);
        TreeCounter<FloatSum<Sum>, 6> counter;
#pragma unroll 1
        for (int at = lane_index(); at - lane_index() < axis; at += warp_lanes) {
            const float e = at < axis ? exponential_in(frame, x[at]) : 0.0f;
            counter.push(tree_over_lanes<FloatSum<Sum>>(static_cast<Sum>(e), warp_lanes));
        }
        const RowState<float, Sum> total{maximum, settle_block_sum(maximum, counter.result())};
        const RowKind kind = row_kind(maximum);
        const bool ordinary = kind == RowKind::ordinary;
        const LogRow<float> log = a.log ? log_row(total) : LogRow<float>{};
        const BlockFactor<float> factor =
            ordinary ? block_factor(maximum, maximum, total.sum) : BlockFactor<float>{0, 0};
#pragma unroll 1
        for (int at = lane_index(); at < axis; at += warp_lanes) {
            const float e = a.log ? 0.0f : exponential_in(frame, x[at]);
            const float value = !ordinary ? x.takes_part(at) ? special_output<float>(kind, a.log, a.empty_row_zero)
                                                             : left_out_output<float>(kind, a.log, a.empty_row_zero)
                                : a.log ? log_softmax_output(x[at], log.splits)
                                : sizeof(T) >= 4 ? softmax_output(e, factor)
                                                 : softmax_narrow_output(e, factor);
            store_any(value, a.output_type, outputs, static_cast<std::size_t>(of_lane * axis + at));
        }
        if (lane_index() == 0) {
            store_row_values(a, total, row);
        }
    }
}

// Rows of which nothing takes part, or -infinity alone.
template <class T>
__device__ __noinline__ void store_empty_rows(const MaskedRowsArguments &a, std::uint64_t row, bool empty) {
    using Float = typename SoftmaxArithmetic<T>::Float;
    const Float value = special_output<Float>(RowKind::empty, a.log, a.empty_row_zero);
    for (unsigned left = __ballot_sync(whole_warp, empty); left != 0; left &= left - 1) {
        const std::uint64_t of_lane = __shfl_sync(whole_warp, row, __ffs(static_cast<int>(left)) - 1);
        fill_any_outputs(a.output_type, a.output, of_lane * a.axis, a.axis, value);
    }
}

// What takes no part of a tile's rows becomes -infinity, once it is scaled.
template <class T>
__device__ __forceinline__ void leave_out_of_tile(const MaskedRowsArguments &a, const VectorRowsTile<T> &tile,
                                                  const WarpRows &rows, uint4 (&vectors)[lane_vectors<T>]) {
    using MaskBytes = std::conditional_t<sizeof(T) == 4, unsigned, uint2>;
    constexpr int each = vector_elements<T>;
    const bool negative_scale = a.scale < 0;
    const uint4 behind = filler_vector<T>(negative_scale);
    const int last = rows.count - 1;
    const int taken =
        static_cast<int>(taken_of_row(a, rows.first + static_cast<unsigned>(smaller(lane_index(), last))));
    if (a.mask != nullptr) {
        const auto *mask = reinterpret_cast<const MaskBytes *>(a.mask + rows.first * a.axis);
        MaskBytes bytes[lane_vectors<T>];
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            bytes[v] = mask[tile.sources[v]];
        }
        __syncwarp(); // so that all of the mask is asked for before any of it is waited for
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            vectors[v] = without_masked(vectors[v], bytes[v], behind.x);
        }
    }
    if (a.lengths != nullptr || a.causal) {
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            const int row = smaller((v * warp_lanes + lane_index()) >> tile.shift, last);
            const int first = (static_cast<int>(tile.sources[v]) - row * tile.row_vectors) * each;
            vectors[v] = fill_from<T>(vectors[v], __shfl_sync(whole_warp, taken, row) - first, negative_scale);
        }
    }
}

// Rows of up to 512 elements, whole vectors each and one behind the other: a warp holds as many as its 1024 elements
// have room for, each in a power of two places of a vector, and the exchange yields all their maxima and sums at once.
// Masks, lengths and the causal limit may leave elements out.

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
