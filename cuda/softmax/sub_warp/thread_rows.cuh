// Rows so short that one lane holds each, of any length and alignment, one behind the other: a warp brings as many as
// there is room for into shared memory. Which of its vectors a row fills is the same for all lanes, so that nothing is
// asked lane by lane.
#pragma once

#include "cuda/softmax/sub_warp/vectors.cuh"

#include <bit>

namespace wr::cuda {

inline constexpr int thread_row_blocks = 24 / short_row_warps; // of a multiprocessor
// What a warp's stage holds.
template <class T>
inline constexpr int thread_rows_elements = static_cast<int>(softmax_short_row_elements(sizeof(T)));

// Calls work with `left`, of fewer than a vector's elements, as a constant, where it is not zero: what a row has behind
// its whole vectors costs as much as it is.
template <class T, int Left = 1, class Work>
__device__ __forceinline__ void with_left(int left, Work work) {
    if constexpr (Left < vector_elements<T>) {
        if (left == Left) {
            work(std::integral_constant<int, Left>());
        } else if (left > Left) {
            with_left<T, Left + 1>(left, work);
        }
    }
}

// A lane's row as vectors: `whole` that it fills, of up to lane_vectors, and one of which `left` elements exist. The
// others there repeat the first of these.
template <class T>
struct LaneRow {
    static constexpr int most = lane_vectors<T>, each = vector_elements<T>;
    int whole, left;
    uint4 vectors[most], tail;

    __device__ __forceinline__ explicit LaneRow(int axis) : whole(axis / each), left(axis % each), tail{0, 0, 0, 0} {
#pragma unroll
        for (uint4 &vector : vectors) {
            vector = {0, 0, 0, 0};
        }
    }

    // From element `place` of the stage on.
    __device__ __forceinline__ void load(const T *stage, int place) {
        if constexpr (sizeof(T) == 2) {
            load_pairs(reinterpret_cast<const unsigned *>(stage) + (place >> 1), static_cast<unsigned>(place & 1) * 16);
        } else {
            load_words(stage + place);
        }
    }

    __device__ __forceinline__ void scale_by(T scale) {
#pragma unroll
        for (uint4 &vector : vectors) {
            scale_vector<T>(vector, scale);
        }
        scale_vector<T>(tail, scale);
    }

    __device__ __forceinline__ bool within(float bound) const {
        uint4 all[most + 1];
#pragma unroll
        for (int v = 0; v < most; ++v) {
            all[v] = vectors[v];
        }
        all[most] = tail;
        return vectors_within<T>(all, bound);
    }

    template <class Float>
    __device__ __forceinline__ Float maximum(Float scale, bool scaled) const {
        Float largest = -std::numeric_limits<Float>::infinity();
#pragma unroll
        for (int v = 0; v < most; ++v) {
            if (v < whole) {
                largest = larger_with_nan(largest, largest_of_scaled_vector<T>(vectors[v], scale, scaled));
            }
        }
        return left > 0 ? larger_with_nan(largest, largest_of_scaled_vector<T>(tail, scale, scaled)) : largest;
    }

  private:
    __device__ __forceinline__ void load_words(const T *row) {
        const auto word = [&](int i) { return __float_as_uint(row[i]); };
#pragma unroll
        for (int v = 0; v < most; ++v) {
            if (v < whole) {
                vectors[v] = {word(v * each), word(v * each + 1), word(v * each + 2), word(v * each + 3)};
            }
        }
        with_left<T>(left, [&](auto count) {
            row += whole * each;
            const unsigned first = word(0);
            tail = {first, count > 1 ? word(1) : first, count > 2 ? word(2) : first, first};
        });
    }

    // A row that starts `bits` behind the first of the words.
    __device__ __forceinline__ void load_pairs(const unsigned *words, unsigned bits) {
        unsigned last = words[0];
        const auto next_pair = [&](int number) {
            const unsigned word = words[number + 1];
            const unsigned pair = __funnelshift_r(last, word, bits);
            last = word;
            return pair;
        };
#pragma unroll
        for (int v = 0; v < most; ++v) {
            if (v < whole) {
                const unsigned x = next_pair(4 * v), y = next_pair(4 * v + 1), z = next_pair(4 * v + 2);
                vectors[v] = {x, y, z, next_pair(4 * v + 3)};
            }
        }
        with_left<T>(left, [&](auto count) {
            words += 4 * whole;
            unsigned pairs[each / 2];
#pragma unroll
            for (int i = 0; i < each / 2; ++i) {
                pairs[i] = 2 * i < count ? next_pair(i) : repeated(pairs[0]);
                if (count == 2 * i + 1) {
                    pairs[i] = __byte_perm(pairs[i], pairs[0], 0x5410);
                }
            }
            tail = {pairs[0], pairs[1], pairs[2], pairs[3]};
        });
    }
    __device__ __forceinline__ static unsigned repeated(unsigned pair) { return __byte_perm(pair, 0, 0x1010); }
};

// The natural tree over the first Count of some exponentials.
template <int Count, class Sum, bool Normal, class Float>
__device__ __forceinline__ Sum sum_of_first(const Float *e) {
    if constexpr (Count == 1) {
        return term<Sum, Normal>(e[0]);
    } else {
        constexpr int half = static_cast<int>(std::bit_floor(static_cast<unsigned>(Count - 1)));
        return sum_of_first<half, Sum, Normal>(e) + sum_of_first<Count - half, Sum, Normal>(e + half);
    }
}

// The exponentials of a lane's row, and their tree. exponentials(vector, e) forms a whole vector's, exponential(x) one.
template <class T, class Sum, bool Normal, class Float, class Exponentials, class Exponential>
__device__ __forceinline__ Sum sum_of_thread_row(const LaneRow<T> &row, Float *e, Float *of_tail,
                                                 Exponentials exponentials, Exponential exponential) {
    constexpr int most = LaneRow<T>::most, each = LaneRow<T>::each;
    Sum tail = 0;
#pragma unroll
    for (int i = 0; i < each; ++i) {
        of_tail[i] = 0;
    }
    with_left<T>(row.left, [&](auto count) {
#pragma unroll
        for (int i = 0; i < count; ++i) {
            of_tail[i] = exponential(element_of(row.tail, i, T()));
        }
        tail = sum_of_first<count, Sum, Normal>(of_tail);
    });
    Sum sums[most];
#pragma unroll
    for (int v = 0; v < most; ++v) {
        sums[v] = v == row.whole ? tail : Sum(0);
#pragma unroll
        for (int i = 0; i < each; ++i) {
            e[v * each + i] = 0;
        }
        if (v < row.whole) {
            exponentials(row.vectors[v], e + v * each);
            sums[v] = run_sum<each, Sum, Normal>(e + v * each);
        }
    }
    return run_sum<most, Sum>(sums) + (row.whole == most ? tail : Sum(0));
}

// Where a lane's outputs go in the stage.
template <class T>
struct LaneRowOutputs {
    static constexpr int each = vector_elements<T>;

    __device__ __forceinline__ LaneRowOutputs(T *to, int first, int count) : stage(to), place(first), axis(count) {}

    // Vector number v, of which `left` elements exist. In 16 bits: after all before it.
    template <class Float>
    __device__ __forceinline__ void store(int v, int left, const Float *y) {
        if constexpr (sizeof(T) == 2) {
            const uint4 vector = pack(y, T());
            const unsigned pairs[each / 2] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
            for (int i = 0; i < each / 2; ++i) {
                if (2 * i < left) {
                    store_pair(v * each / 2 + i, left - 2 * i, pairs[i]);
                }
            }
        } else {
#pragma unroll
            for (int i = 0; i < each; ++i) {
                if (i < left) {
                    stage[place + v * each + i] = y[i];
                }
            }
        }
    }

    // The last element, where it is half of a word.
    __device__ __forceinline__ void finish() {
        if constexpr (sizeof(T) == 2) {
            if (((place + axis) & 1) != 0) {
                stage[place + axis - 1] = T{static_cast<std::uint16_t>(axis % 2 == 0 ? last >> 16 : last)};
            }
        }
    }

  private:
    T *stage;
    int place, axis;
    unsigned last = 0; // pair

    // The word of the stage that ends with or within this pair, of which `left` elements exist.
    __device__ __forceinline__ void store_pair(int number, int left, unsigned pair) {
        const bool odd = (place & 1) != 0;
        const unsigned word = __funnelshift_l(last, pair, odd ? 16 : 0);
        last = pair;
        if (odd && number == 0) {
            stage[place] = T{static_cast<std::uint16_t>(pair)};
        } else if (odd || left > 1) {
            reinterpret_cast<unsigned *>(stage)[(place >> 1) + number] = word;
        }
    }
};

template <class T, bool Log>
__global__ void __launch_bounds__(short_row_warps *warp_lanes, thread_row_blocks)
    softmax_thread_rows(const __grid_constant__ SoftmaxArguments a) {
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    constexpr int most = LaneRow<T>::most, each = LaneRow<T>::each, elements = thread_rows_elements<T>;
    __builtin_assume(threadIdx.x < short_row_warps * warp_lanes);
    __shared__ uint4 stages[short_row_warps][stage_bytes<T, elements> / vector_bytes + 1];
    pdl_wait_and_release();
    const int axis = static_cast<int>(a.axis);
    const int rows_of_warp = warp_lanes * a.row_batches;
    const WarpRows of_warp(a, rows_of_warp);
    const int rows = of_warp.count;
    if (rows == 0) {
        return;
    }
    const T *data = of_warp.input<T>(a);
    int before = elements_before(data);
    asm("" : "+r"(before)); // kept: the compiler would compute it again
    copy_to_stage<T, elements>(a, data, rows * axis, stages[warp_index()]);
    T *stage = reinterpret_cast<T *>(stages[warp_index()]);
    const Float scale = sizeof(T) == 2 ? static_cast<Float>(a.narrow_scale) : static_cast<Float>(a.scale);
    wait_for_copies();
    for (int batch = 0; batch < rows; batch += warp_lanes) {
        const int number = smaller(batch + lane_index(), rows - 1); // lanes without a row repeat the last one
        LaneRow<T> row(axis);
        row.load(stage, before + number * axis);
        if constexpr (sizeof(T) > 2) {
            if (a.scaled) {
                row.scale_by(scale);
            }
        }
        __syncwarp();
        Float e[most * each], of_tail[each];
        Sum sum;
        const bool plain = !(sizeof(T) == 2 && a.scaled) && row.within(zero_exponent_range<T>);
        const bool at_zero_exponent = __all_sync(whole_warp, plain) != 0, knows = knows_maximum<Log>(a);
        const Float maximum = !at_zero_exponent || knows ? row.maximum(scale, a.scaled) : Float(0);
        RowState<Float, Sum> total;
        LogPieces<Float> splits{0, 0};
        if (at_zero_exponent) {
            constexpr Float magic = ExponentialConstants<Float>::magic;
            sum = sum_of_thread_row<T, Sum, true>(
                row, e, of_tail,
                [&](const uint4 &vector, Float *of_vector) {
                    exponentials_of_vector<T, false, false>(vector, scale, magic, Float(0), of_vector);
                },
                [&](Float x) { return scaled_exponential(x, magic); });
            total = total_at_zero_exponent(knows, maximum, sum);
            if constexpr (Log) {
                splits = logsumexp_at_zero_exponent(maximum, sum);
            }
        } else {
            const RowFrame<Float> frame(maximum);
            sum = sum_of_thread_row<T, Sum, false>(
                row, e, of_tail,
                [&](const uint4 &vector, Float *of_vector) {
                    exponentials_of_vector<T, sizeof(T) == 2, true>(vector, scale, frame.magic_less_n, frame.bound,
                                                                    of_vector);
                },
                [&](Float logit) {
                    const Float x = sizeof(T) == 2 ? logit * scale : logit;
                    const Float result = scaled_exponential(x, frame.magic_less_n);
                    return x > frame.bound ? result : Float(0);
                });
            total = {maximum, sum};
            if constexpr (Log) {
                splits = log_row(total).splits;
            }
        }
        BlockFactor<Float> factor = Log ? BlockFactor<Float>{0, 0} : factor_of_sum(sum, Float());
        // Rows that are not ordinary have NaN here, and their outputs are not stored, so that nobody needs to know what
        // their exponentials are. (A predicate instead would be spilled: f32 of 17 3.93 TB/s on an H200, so 4.12.)
        Float &mark = Log ? splits.high : factor.high;
        mark = is_ordinary(maximum) ? mark : std::numeric_limits<Float>::quiet_NaN();
        const auto store = [&](LaneRowOutputs<T> &to, int v, auto left, const uint4 &vector,
                               const Float *exponentials) {
            Float y[each] = {};
#pragma unroll
            for (int i = 0; i < left; ++i) {
                if constexpr (Log) {
                    const Float x = element_of(vector, i, T());
                    y[i] = log_softmax_output(sizeof(T) == 2 ? x * scale : x, splits);
                } else {
                    y[i] = sizeof(T) >= sizeof(float) ? softmax_output(exponentials[i], factor)
                                                      : softmax_narrow_output(exponentials[i], factor);
                }
            }
            to.store(v, left, y);
        };
        const bool has_row = batch + lane_index() < rows;
        if (has_row && !is_nan(mark) && a.output != nullptr) {
            LaneRowOutputs<T> to(stage, before + number * axis, axis);
#pragma unroll
            for (int v = 0; v < most; ++v) {
                if (v < row.whole) {
                    store(to, v, std::integral_constant<int, each>(), row.vectors[v], e + v * each);
                }
            }
            with_left<T>(row.left, [&](auto count) { store(to, row.whole, count, row.tail, of_tail); });
            to.finish();
        }
        if (a.logsumexp != nullptr && has_row) {
            store_row_logsumexp(total, a, WarpRows(a, rows_of_warp).first + static_cast<std::uint64_t>(number));
        }
        if (__any_sync(whole_warp, is_nan(mark)) != 0) {
            T *const rows_here = stage + before;
            softmax_rows_alone<T, Log>(a, rows_here, rows_here, WarpRows(a, rows_of_warp).first,
                                       has_row && is_nan(mark), number, maximum);
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

} // namespace wr::cuda
