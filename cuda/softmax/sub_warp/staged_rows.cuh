// Rows of up to 512 elements of any length and alignment, one behind the other: a warp brings as many as there is room
// for into shared memory, and a few lanes hold each in registers, vector number j being one of lane j mod lanes.
#pragma once

#include "cuda/softmax/rows/cta_rows.cuh"
#include "cuda/softmax/sub_warp/vector_rows.cuh"
#include "cuda/softmax/sub_warp/vectors.cuh"

namespace wr::cuda {

// Registers' vectors of a lane: of f64 one more than the exchange takes, for rows that one lane holds alone, which have
// a kernel of their own elsewhere.
template <class T>
inline constexpr int short_row_registers = lane_vectors<T> + (sizeof(T) == 8 ? 1 : 0);

// What a warp's stage holds.
template <class T>
inline constexpr int short_rows_elements = static_cast<int>(softmax_short_row_elements(sizeof(T)));

template <class T>
inline constexpr int short_rows_blocks = (sizeof(T) == 8 ? 12 : 24) / short_row_warps;

// A vector of neighbours in the stage from element `at` on, of which `left` exist, at least one: the others repeat it.
template <class T>
__device__ __forceinline__ uint4 vector_at(const T *stage, int at, int left) {
    constexpr int each = vector_elements<T>;
    T x[each];
    if constexpr (sizeof(T) == 2) {
        const unsigned *words = reinterpret_cast<const unsigned *>(stage) + (at >> 1);
        const unsigned bits = static_cast<unsigned>(at & 1) * 16;
        uint4 v{words[0], words[1], words[2], words[3]};
        const unsigned next = bits != 0 ? words[4] : 0;
        v = {__funnelshift_r(v.x, v.y, bits), __funnelshift_r(v.y, v.z, bits), __funnelshift_r(v.z, v.w, bits),
             __funnelshift_r(v.w, next, bits)};
        memcpy(x, &v, sizeof(v));
    } else {
#pragma unroll
        for (int i = 0; i < each; ++i) {
            x[i] = stage[at + i];
        }
    }
    if (left < each) {
#pragma unroll
        for (int i = 1; i < each; ++i) {
            x[i] = i < left ? x[i] : x[0];
        }
    }
    uint4 vector;
    memcpy(&vector, x, sizeof(vector));
    return vector;
}

// Writes `left` of a vector's outputs to the stage. Pairs of 16-bit elements go out as the words that they fill there.
template <class T, class Float>
__device__ __forceinline__ void store_vector_at(T *stage, int at, int left, const Float *y) {
    constexpr int each = vector_elements<T>;
    if constexpr (sizeof(T) == 2) {
        const uint4 v = pack(y, T());
        if (left < each) {
            store_part_of_vector(stage + at, v, 0, left);
            return;
        }
        const bool odd = (at & 1) != 0;
        unsigned *words = reinterpret_cast<unsigned *>(stage) + ((at + 1) >> 1);
        words[0] = __funnelshift_r(v.x, v.y, odd ? 16 : 0);
        words[1] = __funnelshift_r(v.y, v.z, odd ? 16 : 0);
        words[2] = __funnelshift_r(v.z, v.w, odd ? 16 : 0);
        if (odd) {
            stage[at] = T{static_cast<std::uint16_t>(v.x)};
            stage[at + each - 1] = T{static_cast<std::uint16_t>(v.w >> 16)};
        } else {
            words[3] = v.w;
        }
    } else if (left >= each) {
#pragma unroll
        for (int i = 0; i < each; ++i) {
            stage[at + i] = y[i];
        }
    } else {
#pragma unroll
        for (int i = 0; i < each; ++i) {
            if (i < left) {
                stage[at + i] = y[i];
            }
        }
    }
}

// A lane's place in a batch of rows, computed from the special register again where it is wanted, so that no registers
// hold its addresses through the arithmetic.
struct ShortRowLane {
    int row, column, left; // of the warp's rows; of the lane's first vector; elements from there on
    bool there;            // lanes without a row repeat the last one

    __device__ __forceinline__ ShortRowLane(const SoftmaxArguments &a, int batch, int rows, int elements) {
        unsigned lane;
        asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
        const int at = static_cast<int>(lane);
        row = batch + (at >> (31 - __clz(a.row_lanes)));
        there = row < rows;
        row = smaller(row, rows - 1);
        column = (at & (a.row_lanes - 1)) * elements;
        left = static_cast<int>(a.axis) - column;
    }
};

// The sum of a row from those of a lane's vectors, in all of the row's lanes.
template <class T, class Sum>
__device__ __forceinline__ Sum sum_over_row_lanes(int lanes, Sum (&sums)[short_row_registers<T>]) {
    constexpr int exchanged = lane_vectors<T>, registers = short_row_registers<T>;
    if (lanes < exchanged) {
        for (int d = 1; d < lanes; d *= 2) {
#pragma unroll
            for (int v = 0; v < exchanged; ++v) {
                sums[v] = sums[v] + from_lane_xor(sums[v], d);
            }
        }
        const Sum sum = run_sum<exchanged, Sum>(sums);
        return registers > exchanged ? sum + sums[registers - 1] : sum;
    }
    Sum values[exchanged];
#pragma unroll
    for (int v = 0; v < exchanged; ++v) {
        values[v] = sums[v];
    }
    exchange_halves<FloatSum<Sum>, log2_of(exchanged)>(values);
    Sum sum = values[0];
    for (int d = exchanged; d < lanes; d *= 2) {
        sum = sum + from_lane_xor(sum, d);
    }
#pragma unroll
    for (int d = exchanged / 2; d > 0; d /= 2) {
        sum = sum + from_lane_xor(sum, d);
    }
    return sum;
}

// The exponentials of a lane's part of its row, and the row's sum in all of its lanes. exponentials(v, e) forms a
// vector's; those that repeat another element count as 0, and left(v) elements do not.
template <class T, class Sum, bool Normal, class Float, class Exponentials, class Left>
__device__ __forceinline__ Sum sum_of_short_row(int lanes, int vectors_of_lane, Float *e, Exponentials exponentials,
                                                Left left) {
    constexpr int registers = short_row_registers<T>, each = vector_elements<T>;
    Sum sums[registers];
#pragma unroll
    for (int v = 0; v < registers; ++v) {
        sums[v] = 0;
#pragma unroll
        for (int i = 0; i < each; ++i) {
            e[v * each + i] = 0;
        }
        if (v < vectors_of_lane) {
            exponentials(v, e + v * each);
            if (left(v) >= each) {
                sums[v] = run_sum<each, Sum, Normal>(e + v * each);
            } else {
#pragma unroll
                for (int i = 0; i < each; ++i) {
                    e[v * each + i] = i < left(v) ? e[v * each + i] : 0;
                }
                sums[v] = run_sum<each, Sum>(e + v * each);
            }
        }
    }
    return sum_over_row_lanes<T>(lanes, sums);
}

// The mask's bytes beside the elements of a warp's stage, copied likewise.
template <class T>
struct StagedMask {
    static constexpr int elements = short_rows_elements<T>;
    using Byte = E4M3; // no more than a type of that size
    uint4 stage[stage_bytes<Byte, elements> / vector_bytes + 1];

    __device__ __forceinline__ static const Byte *first(const MaskedRowsArguments &a, const WarpRows &rows) {
        return reinterpret_cast<const Byte *>(a.mask) + rows.first * static_cast<std::uint32_t>(a.axis);
    }
    __device__ __forceinline__ void copy(const MaskedRowsArguments &a, const WarpRows &rows) {
        const char *const all = reinterpret_cast<const char *>(a.mask);
        const Byte *const own = first(a, rows);
        const int count = rows.count * static_cast<int>(a.axis);
        copy_to_stage<Byte, elements>(is_readable(ReadableRange{all, all + a.outer * a.axis}, own, count), own, count,
                                      stage);
    }

    // The bytes beside a vector that begins with the stage's byte `at`.
    __device__ __forceinline__ auto bytes_at(int at) const {
        const unsigned *words = reinterpret_cast<const unsigned *>(stage) + (at >> 2);
        const unsigned bits = static_cast<unsigned>(at & 3) * 8, low = words[0], high = words[1];
        if constexpr (sizeof(T) == 2) {
            return uint2{__funnelshift_r(low, high, bits), __funnelshift_r(high, words[2], bits)};
        } else {
            return __funnelshift_r(low, high, bits);
        }
    }
};

// Of the bytes beside a vector those of elements from number `left` on become 0.
__device__ __forceinline__ unsigned bytes_before(int left, unsigned bytes) {
    return bytes & ~bits_from(larger(8 * left, 0));
}
__device__ __forceinline__ uint2 bytes_before(int left, uint2 bytes) {
    return {bytes_before(left, bytes.x), bytes_before(left - 4, bytes.y)};
}

// What takes no part of a lane's vectors, of which the first is the row's from `from` on, becomes -infinity, once it is
// scaled.
template <class T>
__device__ __forceinline__ void leave_out_of_lane(const MaskedRowsArguments &a, const StagedMask<T> &mask,
                                                  const WarpRows &rows, const ShortRowLane &from, int distance,
                                                  int vectors_of_lane, uint4 (&vectors)[short_row_registers<T>]) {
    using Bytes = std::conditional_t<sizeof(T) == 2, uint2, unsigned>;
    const unsigned filler = filler_vector<T>(a.scale < 0).x;
    const int skipped = static_cast<int>(a.axis) - from.left; // of the row before the first
    const int taken = static_cast<int>(taken_of_row(a, rows.first + static_cast<unsigned>(from.row))) - skipped;
    const int before = a.mask != nullptr ? elements_before(StagedMask<T>::first(a, rows)) : 0;
    const int start = before + from.row * static_cast<int>(a.axis) + skipped;
#pragma unroll
    for (int v = 0; v < short_row_registers<T>; ++v) {
        if (v < vectors_of_lane && from.left > v * distance) {
            Bytes bytes;
            memset(&bytes, 0xFF, sizeof(bytes));
            if (a.mask != nullptr) {
                bytes = mask.bytes_at(start + v * distance);
            }
            vectors[v] = without_masked(vectors[v], bytes_before(taken - v * distance, bytes), filler);
        }
    }
}

// The outputs of a lane's part of a row of which nothing takes part, or -infinity alone, in its stage.
template <class T>
__device__ __noinline__ void store_empty_part(const SoftmaxArguments &a, T *stage, int place, int left, int distance) {
    const float special = special_output<float>(RowKind::empty, a.log, a.empty_row_zero);
    T one;
    store_any(special, a.output_type, &one, 0);
#pragma unroll 1
    for (int at = 0; at < left; at += distance) {
#pragma unroll 1
        for (int i = at; i < smaller(at + vector_elements<T>, left); ++i) {
            stage[place + i] = one;
        }
    }
}

// Rows of small logits, of which a lane holds `Count` vectors: as many as others where nobody asks for each whether it
// is there. False where not all of the warp's are small: nothing is written then.
template <class T, bool Log, int Count>
__device__ __forceinline__ bool take_small_rows(const SoftmaxArguments &a, T *stage, int before, int batch, int rows) {
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    constexpr int each = vector_elements<T>, last = Count - 1;
    const ShortRowLane lane(a, batch, rows, each);
    const int distance = a.row_lanes * each, left = lane.left - last * distance;
    // What has whole words is found from where it starts; of others there are pairs.
    const int start = before + lane.row * static_cast<int>(a.axis) + lane.column, place = sizeof(T) == 2 ? start : 0;
    T *const own = stage + (start - place);
    uint4 vectors[Count];
#pragma unroll
    for (int v = 0; v < last; ++v) {
        vectors[v] = vector_at(own, place + v * distance, each);
    }
    vectors[last] = left > 0 ? vector_at(own, place + last * distance, left) : uint4{0, 0, 0, 0};
    if constexpr (sizeof(T) > 2) {
        if (a.scaled) {
#pragma unroll
            for (uint4 &vector : vectors) {
                scale_vector<T>(vector, static_cast<T>(a.narrow_scale));
            }
        }
    }
    if (!is_at_zero_exponent<T>(a, vectors)) {
        return false;
    }
    const bool knows = knows_maximum<Log>(a);
    Float maximum = 0;
    if (knows) {
        maximum = largest_of_vector<T>(vectors[0]);
#pragma unroll
        for (int v = 1; v < Count; ++v) {
            const Float of_vector = largest_of_vector<T>(vectors[v]);
            maximum = v < last || left > 0 ? larger_with_nan(maximum, of_vector) : maximum;
        }
        for (int d = 1; d < a.row_lanes; d *= 2) {
            maximum = larger_with_nan(maximum, from_lane_xor(maximum, d));
        }
    }
    Float e[Count * each];
    Sum sums[short_row_registers<T>];
#pragma unroll
    for (int v = 0; v < short_row_registers<T>; ++v) {
        sums[v] = 0;
        if (v < Count) {
            exponentials_of_vector<T, false, false>(vectors[v], Float(1), ExponentialConstants<Float>::magic, Float(0),
                                                    e + v * each);
            sums[v] = run_sum<each, Sum, true>(e + v * each);
        }
    }
    if (left < each) {
#pragma unroll
        for (int i = 0; i < each; ++i) {
            e[last * each + i] = i < left ? e[last * each + i] : Float(0);
        }
        sums[last] = run_sum<each, Sum>(e + last * each);
    }
    const Sum sum = sum_over_row_lanes<T>(a.row_lanes, sums);
    const BlockFactor<Float> factor = Log ? BlockFactor<Float>{0, 0} : factor_of_sum(sum, Float());
    const LogPieces<Float> splits = Log ? logsumexp_at_zero_exponent(maximum, sum) : LogPieces<Float>{0, 0};
    __syncwarp();
    if (lane.there && a.output != nullptr) {
#pragma unroll
        for (int v = 0; v < Count; ++v) {
            Float y[each];
#pragma unroll
            for (int i = 0; i < each; ++i) {
                y[i] = Log                          ? log_softmax_output(element_of(vectors[v], i, T()), splits)
                       : sizeof(T) >= sizeof(float) ? softmax_output(e[v * each + i], factor)
                                                    : softmax_narrow_output(e[v * each + i], factor);
            }
            if (v < last) {
                store_vector_at(own, place + v * distance, each, y);
            } else if (left > 0) {
                store_vector_at(own, place + v * distance, left, y);
            }
        }
    }
    if (a.logsumexp != nullptr && lane.there && lane.column == 0) {
        const std::uint64_t first = WarpRows(a, a.row_batches * (warp_lanes >> (31 - __clz(a.row_lanes)))).first;
        store_row_logsumexp(total_at_zero_exponent(true, maximum, sum), a,
                            first + static_cast<std::uint64_t>(lane.row));
    }
    return true;
}

// The same of any number of vectors of which rows are told in advance, those that many rows have.
template <class T, bool Log, int Count = lane_vectors<T>>
__device__ __forceinline__ bool take_small_rows_of(int count, const SoftmaxArguments &a, T *stage, int before,
                                                   int batch, int rows) {
    if constexpr (sizeof(T) == sizeof(double) || 2 * Count <= lane_vectors<T>) {
        return false; // few rows
    } else {
        return count == Count ? take_small_rows<T, Log, Count>(a, stage, before, batch, rows)
                              : take_small_rows_of<T, Log, Count - 1>(count, a, stage, before, batch, rows);
    }
}

template <class T, bool Log, class Arguments>
__device__ __forceinline__ void do_short_rows(const Arguments &a) {
    constexpr bool selects = std::is_same_v<Arguments, MaskedRowsArguments>;
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    constexpr int registers = short_row_registers<T>, each = vector_elements<T>;
    constexpr int elements = short_rows_elements<T>;
    __builtin_assume(threadIdx.x < short_row_warps * warp_lanes);
    __shared__ uint4 stages[short_row_warps][stage_bytes<T, elements> / vector_bytes + 1];
    __shared__ std::conditional_t<selects, StagedMask<T>, uint4> masks[selects ? short_row_warps : 1];
    pdl_wait_and_release();
    const int axis = static_cast<int>(a.axis);
    const int lanes = a.row_lanes; // of a row, a power of two
    const int rows_at_once = warp_lanes >> (31 - __clz(lanes));
    const int rows_of_warp = rows_at_once * a.row_batches;
    const WarpRows of_warp(a, rows_of_warp);
    const int rows = of_warp.count;
    if (rows == 0) {
        return;
    }
    const T *data = of_warp.input<T>(a);
    int before = elements_before(data);
    asm("" : "+r"(before)); // kept: the compiler would compute it again
    copy_to_stage<T, elements>(a, data, rows * axis, stages[warp_index()]);
    if constexpr (selects) {
        if (a.mask != nullptr) {
            masks[warp_index()].copy(a, of_warp);
        }
    }
    // Found again wherever it is wanted: a pointer that waits would be spilled.
    const auto stage = [&] { return reinterpret_cast<T *>(stages[warp_again()]); };
    const int vectors_of_lane = (divide_up(axis, each) + lanes - 1) >> (31 - __clz(lanes));
    const int distance = lanes * each;
    const Float scale = sizeof(T) == 2 ? static_cast<Float>(a.narrow_scale) : static_cast<Float>(a.scale);
    wait_for_copies();
    for (int batch = 0; batch < rows; batch += rows_at_once) {
        if constexpr (!selects) {
            if (take_small_rows_of<T, Log>(vectors_of_lane, a, stage(), before, batch, rows)) {
                __syncwarp();
                continue;
            }
        }
        uint4 vectors[registers];
        const ShortRowLane from(a, batch, rows, each);
        const int start = before + from.row * axis + from.column;
        const auto left = [&](int v) { return from.left - v * distance; };
        const T *const raw = stage();
#pragma unroll
        for (int v = 0; v < registers; ++v) {
            vectors[v] = {0, 0, 0, 0};
            if (v + 1 < vectors_of_lane) { // all lanes have a whole one
                vectors[v] = vector_at(raw, start + v * distance, each);
            } else if (v < vectors_of_lane && left(v) > 0) {
                vectors[v] = vector_at(raw, start + v * distance, left(v));
            }
        }
        if constexpr (selects) {
            leave_out_of_lane<T>(a, masks[warp_again()], WarpRows(a, rows_of_warp), from, distance, vectors_of_lane,
                                 vectors);
        }
        if constexpr (sizeof(T) > 2) {
            if (a.scaled) {
#pragma unroll
                for (uint4 &vector : vectors) {
                    scale_vector<T>(vector, scale);
                }
            }
        }
        __syncwarp();
        Float e[registers * each];
        Float maximum = -std::numeric_limits<Float>::infinity();
#pragma unroll
        for (int v = 0; v < registers; ++v) {
            if (v < vectors_of_lane && left(v) > 0) {
                maximum = larger_with_nan(maximum, largest_of_scaled_vector<T>(vectors[v], scale, a.scaled));
            }
        }
        for (int d = 1; d < lanes; d *= 2) {
            maximum = larger_with_nan(maximum, from_lane_xor(maximum, d));
        }
        // Their outputs are not stored, so that nobody needs to know what their exponentials are.
        const bool empty = selects && maximum == -std::numeric_limits<Float>::infinity();
        const bool rare = !is_ordinary(maximum) && !empty, any_rare = __any_sync(whole_warp, rare) != 0;
        const RowFrame<Float> frame(maximum);
        const Sum sum = sum_of_short_row<T, Sum, false>(
            lanes, vectors_of_lane, e,
            [&](int v, Float *of_vector) {
                exponentials_of_vector<T, sizeof(T) == 2, true>(vectors[v], scale, frame.magic_less_n, frame.bound,
                                                                of_vector);
            },
            left);
        const RowState<Float, Sum> total{maximum, sum};
        LogPieces<Float> splits{0, 0};
        if constexpr (Log) {
            splits = log_row(total).splits;
        }
        const BlockFactor<Float> factor = Log ? BlockFactor<Float>{0, 0} : factor_of_sum(sum, Float());
        const ShortRowLane to(a, batch, rows, each);
        T *const outputs = stage();
        const int place = before + to.row * axis + to.column,
                  stored = to.there && !rare && !empty && a.output != nullptr ? to.left : 0;
#pragma unroll
        for (int v = 0; v < registers; ++v) {
            const int left_here = stored - v * distance;
            if (v < vectors_of_lane && left_here > 0) {
                Float y[each];
#pragma unroll
                for (int i = 0; i < each; ++i) {
                    if constexpr (Log) {
                        const Float x = element_of(vectors[v], i, T());
                        y[i] = log_softmax_output(sizeof(T) == 2 ? x * scale : x, splits);
                    } else {
                        y[i] = sizeof(T) >= sizeof(float) ? softmax_output(e[v * each + i], factor)
                                                          : softmax_narrow_output(e[v * each + i], factor);
                    }
                }
                if (v + 1 < vectors_of_lane) {
                    store_vector_at(outputs, place + v * distance, each, y);
                } else {
                    store_vector_at(outputs, place + v * distance, left_here, y);
                }
            }
        }
        if constexpr (selects) {
            if (empty && to.there) {
                store_empty_part(a, outputs, place, to.left, distance);
            }
            if (wants_row_values(a) && to.there && to.column == 0) {
                store_row_values(a, total, WarpRows(a, rows_of_warp).first + static_cast<std::uint64_t>(to.row));
            }
        } else if (a.logsumexp != nullptr && to.there && to.column == 0) {
            store_row_logsumexp(total, a, WarpRows(a, rows_of_warp).first + static_cast<std::uint64_t>(to.row));
        }
        if (any_rare) {
            const ShortRowLane here(a, batch, rows, each);
            const bool holds_rare = rare && here.there && here.column == 0;
            if constexpr (selects) {
                masked_rows_alone<T>(a, WarpRows(a, rows_of_warp).first, stage() + before, holds_rare, here.row);
            } else {
                staged_rows_alone<T, Log>(a, rows_of_warp, stages[warp_index()], holds_rare, here.row, maximum);
            }
        }
        __syncwarp();
    }
    __syncwarp();
    if (a.output == nullptr) {
        return;
    }
    const WarpRows to(a, rows_of_warp);
    copy_from_stage<T, elements>(to.output<T>(a), to.count * axis, stages[warp_index()], before);
}

template <class T, bool Log>
__global__ void __launch_bounds__(short_row_warps *warp_lanes, short_rows_blocks<T>)
    softmax_short_rows(const __grid_constant__ SoftmaxArguments a) {
    do_short_rows<T, Log>(a);
}

template <class T, bool Log>
__global__ void __launch_bounds__(short_row_warps *warp_lanes, short_rows_blocks<T>)
    softmax_masked_short_rows(const __grid_constant__ MaskedRowsArguments a) {
    do_short_rows<T, Log>(a);
}

} // namespace wr::cuda
