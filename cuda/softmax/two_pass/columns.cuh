// Columns of any length read twice: a thread walks 128 rows of one vector of columns, eight threads below each other
// take a tile.
#pragma once

#include "cuda/rowwise/published_states.cuh"
#include "cuda/rowwise/two_pass_columns.cuh"
#include "cuda/softmax/columns.h"
#include "cuda/softmax/sub_warp/vectors.cuh"

namespace wr::cuda {

inline constexpr int two_pass_column_group = 8; // rows that are asked for at once

// Between these logits lie all exponentials of a tile in the frame N = 0, before its maximum is known, as in its
// own frame but for a power of two: none of them is 0 in either, or below the normal range.
inline constexpr float two_pass_column_reach = 42.0f;

// A thread's place in the tiles of a softmax.
template <class T>
__device__ __forceinline__ TwoPassColumnPlace<T> two_pass_column_place(const SoftmaxTwoPassColumnArguments &all,
                                                                       std::uint32_t tile) {
    return {all.tiles, all.softmax.axis, all.softmax.inner, tile};
}

// Takes the kernel's place on the stream; false where others have left it nothing. As most often they have, the kernel
// behind it may come as soon as there is room.
__device__ __forceinline__ bool take_place_for_the_rest(const SoftmaxArguments &a) {
    if (a.left.any == nullptr) {
        pdl_wait_and_release();
        return true;
    }
    pdl_release();
    pdl_wait();
    return !is_nothing_left(a.left);
}

template <class T>
__device__ __forceinline__ uint4 scaled_row(const SoftmaxArguments &a, uint4 v) {
    if constexpr (sizeof(T) == sizeof(float)) {
        if (a.scaled) {
            scale_vector<T>(v, a.narrow_scale);
        }
    }
    return v;
}
template <class T>
__device__ __forceinline__ void load_two_pass_column_logits(const SoftmaxArguments &a, const T *from, int left,
                                                            uint4 (&v)[two_pass_column_group]) {
    load_two_pass_column_rows(from, a.axis_stride, left, v);
    all_are_asked_for();
#pragma unroll
    for (uint4 &vector : v) {
        vector = scaled_row<T>(a, vector);
    }
}

// The sums of a group's first `left` rows in frames of each column.
template <class T, class Float, class Sum>
__device__ __forceinline__ void add_two_pass_column_group(const uint4 (&v)[two_pass_column_group], int left,
                                                          const Frame<Float> (&frames)[vector_elements<T>],
                                                          Sum (&sums)[vector_elements<T>]) {
#pragma unroll
    for (int c = 0; c < vector_elements<T>; ++c) {
        Float e[two_pass_column_group];
#pragma unroll
        for (int i = 0; i < two_pass_column_group; ++i) {
            e[i] = i < left ? exponential_in(frames[c], element_of(v[i], c, T())) : Float(0);
        }
        sums[c] = run_sum<two_pass_column_group, Sum>(e);
    }
}

// What the threads of a tile tell each other.
template <class T>
struct TwoPassColumnMemory {
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    Float maxima[two_pass_column_threads * vector_elements<T>]; // of the runs, then of the tiles
    Sum sums[two_pass_column_threads * vector_elements<T>];
    typename TwoPassColumnTree<Sum, vector_elements<T>, two_pass_column_group>::Memory waiting;
};

// The states of the columns of a tile's tiles.
template <class T>
class TwoPassColumnStates {
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    static constexpr int each = vector_elements<T>;
    using Tree = TwoPassColumnTree<Sum, each, two_pass_column_group>;

  public:
    __device__ __forceinline__ TwoPassColumnStates(const SoftmaxTwoPassColumnArguments &arguments,
                                                   TwoPassColumnMemory<T> &shared, std::uint32_t number)
        : all(arguments), a(arguments.softmax), memory(shared), tile(number),
          place(two_pass_column_place<T>(arguments, number)) {}

    __device__ __forceinline__ void work() {
        if (a.left.any != nullptr &&
            __syncthreads_or(place.count > 0 && is_left(a.left, place.outer, place.inner) ? 1 : 0) == 0) {
            return;
        }
        const TwoPassColumnItem<T> item(all.tiles, a.inner, a.splits, tile);
        const bool within = walk_at_zero_exponent();
        const bool at_zero_exponent = __syncthreads_and(within) != 0;
        Float maximum = 0;
        if (item.exists) {
            maximum = largest_of(item);
        }
        if (!at_zero_exponent) {
            __syncthreads();
            if (item.exists) {
                memory.maxima[threadIdx.x] = maximum;
            }
            __syncthreads();
            walk_framed(all, memory, tile);
            __syncthreads();
        }
        if (item.exists) {
            const Sum sum = item.tree(memory.sums);
            const Sum settled =
                at_zero_exponent ? scale_by_power(sum, -nearest_exponent(maximum)) : settle_block_sum(maximum, sum);
            a.states[item.split] = {static_cast<double>(maximum), static_cast<double>(settled)};
        }
    }

  private:
    // Leaves the run's maxima and its sums in the frame N = 0; whether these can be the columns' own.
    __device__ __forceinline__ bool walk_at_zero_exponent() {
        unsigned largest[vector_words], smallest[vector_words];
#pragma unroll
        for (int w = 0; w < vector_words; ++w) {
            largest[w] = smallest[w] = 0;
        }
        Tree tree(memory.waiting);
        const T *from = place.in(a.input, a.outer_stride, a.axis_stride);
        int first = 0;
#pragma unroll 1
        for (; first + two_pass_column_group <= place.count; first += two_pass_column_group) {
            take_group<true>(from, first, tree, largest, smallest);
            from += two_pass_column_group * a.axis_stride;
        }
        if (first < place.count) {
            take_group<false>(from, first, tree, largest, smallest);
        }
        return leave(tree, largest, smallest);
    }

    // The rows from `first` on; Whole: as many as a group has.
    template <bool Whole>
    __device__ __forceinline__ void take_group(const T *from, int first, Tree &tree, unsigned (&largest)[vector_words],
                                               unsigned (&smallest)[vector_words]) const {
        using C = ExponentialConstants<Float>;
        const int left = Whole ? two_pass_column_group : place.count - first;
        uint4 v[two_pass_column_group];
        load_two_pass_column_logits(a, from, left, v);
        if (first == 0) {
            start(v[0], largest, smallest);
        }
#pragma unroll
        for (const uint4 &vector : v) {
            note(vector, largest, smallest);
        }
        Sum sums[each];
#pragma unroll
        for (int c = 0; c < each; ++c) {
            Float e[two_pass_column_group];
#pragma unroll
            for (int i = 0; i < two_pass_column_group; ++i) {
                const Float one = scaled_exponential(element_of(v[i], c, T()), C::magic);
                e[i] = Whole || i < left ? one : Float(0); // which the sum takes for too small to change it
            }
            sums[c] = run_sum<two_pass_column_group, Sum, true>(e);
        }
        tree.push(sums);
    }

    __device__ __forceinline__ static void start(const uint4 &vector, unsigned (&largest)[vector_words],
                                                 unsigned (&smallest)[vector_words]) {
#pragma unroll
        for (int w = 0; w < vector_words; ++w) {
            largest[w] = smallest[w] = word_of(vector, w);
        }
    }
    __device__ __forceinline__ static void note(const uint4 &vector, unsigned (&largest)[vector_words],
                                                unsigned (&smallest)[vector_words]) {
#pragma unroll
        for (int w = 0; w < vector_words; ++w) {
            largest[w] = larger_word<T>(largest[w], word_of(vector, w));
            smallest[w] = smaller_word<T>(smallest[w], word_of(vector, w));
        }
    }

    __device__ __forceinline__ bool leave(const Tree &tree, const unsigned (&largest)[vector_words],
                                          const unsigned (&smallest)[vector_words]) {
        constexpr int pair = each / vector_words;
        bool within = true;
        const int own = static_cast<int>(threadIdx.x) * each;
#pragma unroll
        for (int c = 0; c < each; ++c) {
            const Float high = place.count > 0 ? column_of_word<T>(largest[c / pair], c % pair)
                                               : -std::numeric_limits<Float>::infinity();
            const Float low = column_of_word<T>(smallest[c / pair], c % pair);
            within = within && (place.count == 0 || (high < two_pass_column_reach && low > -two_pass_column_reach));
            memory.maxima[own + c] = high;
            memory.sums[own + c] = tree.result(c);
        }
        return within;
    }

    // The same sums, of whatever is there, in frames of the maxima of tiles.
    __device__ __noinline__ static void walk_framed(const SoftmaxTwoPassColumnArguments &all,
                                                    TwoPassColumnMemory<T> &memory, std::uint32_t tile) {
        const SoftmaxArguments &a = all.softmax;
        const TwoPassColumnPlace<T> place = two_pass_column_place<T>(all, tile);
        const int x = static_cast<int>(threadIdx.x), across = 1 << all.tiles.log_across;
        Frame<Float> frames[each];
        const Float *const maxima = memory.maxima + (x >> all.tiles.log_across) / two_pass_column_runs * across * each +
                                    (x & (across - 1)) * each;
#pragma unroll
        for (int c = 0; c < each; ++c) {
            frames[c] = frame_of(maxima[c]);
        }
        Tree tree(memory.waiting);
        const T *from = place.in(a.input, a.outer_stride, a.axis_stride);
#pragma unroll 1
        for (int first = 0; first < place.count; first += two_pass_column_group) {
            uint4 v[two_pass_column_group];
            load_two_pass_column_logits(a, from, place.count - first, v);
            from += two_pass_column_group * a.axis_stride;
            Sum sums[each];
            add_two_pass_column_group<T, Float, Sum>(v, place.count - first, frames, sums);
            tree.push(sums);
        }
#pragma unroll
        for (int c = 0; c < each; ++c) {
            memory.sums[x * each + c] = tree.result(c);
        }
    }

    __device__ __forceinline__ Float largest_of(const TwoPassColumnItem<T> &item) const {
        Float maximum = memory.maxima[item.first];
#pragma unroll
        for (int run = 1; run < two_pass_column_runs; ++run) {
            maximum = larger_with_nan(maximum, memory.maxima[item.first + run * item.step]);
        }
        return maximum;
    }

    const SoftmaxTwoPassColumnArguments &all;
    const SoftmaxArguments &a;
    TwoPassColumnMemory<T> &memory;
    const std::uint32_t tile;
    const TwoPassColumnPlace<T> place;
};

template <class T>
__global__ void __launch_bounds__(two_pass_column_threads, two_pass_column_resident_blocks)
    softmax_two_pass_column_states(const __grid_constant__ SoftmaxTwoPassColumnArguments a) {
    __shared__ TwoPassColumnMemory<T> memory;
    if (!take_place_for_the_rest(a.softmax)) {
        return;
    }
#pragma unroll 1
    for (std::uint32_t tile = blockIdx.x; tile < a.count; tile += gridDim.x) {
        TwoPassColumnStates<T>(a, memory, tile).work();
        __syncthreads();
    }
}

// The outputs of a thread's run, from the states and the totals of its columns.
template <class T>
class TwoPassColumnOutputs {
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    using State = RowState<Float, Sum>;
    static constexpr int each = vector_elements<T>;

  public:
    __device__ __forceinline__ TwoPassColumnOutputs(const SoftmaxTwoPassColumnArguments &arguments,
                                                    std::uint32_t number)
        : all(arguments), a(arguments.softmax), tile(number), place(two_pass_column_place<T>(arguments, number)) {}

    __device__ __forceinline__ void work() {
        if (place.count == 0 || !is_left(a.left, place.outer, place.inner)) {
            return;
        }
        bool plain = true;
#pragma unroll
        for (int c = 0; c < each; ++c) {
            const State own = own_state(a, place, c), total = column_total(a, place, c);
            plain = plain && is_ordinary(total.maximum) &&
                    (a.log || is_ordinary(own.maximum) || own.maximum < Float(lowest_logit));
            decide(c, own.maximum, total);
        }
        if (!plain) {
            write_any(all, tile);
        } else if (a.log) {
            write_plain<true>();
        } else {
            write_plain<false>();
        }
    }

  private:
    __device__ __forceinline__ static State state_of(const StoredState &stored) {
        return {static_cast<Float>(stored.maximum), static_cast<Sum>(stored.sum)};
    }
    __device__ __forceinline__ static State own_state(const SoftmaxArguments &a, const TwoPassColumnPlace<T> &place,
                                                      int c) {
        return state_of(a.states[place.column(a.inner, c) * a.splits + place.first / softmax_block]);
    }
    __device__ __forceinline__ static State column_total(const SoftmaxArguments &a, const TwoPassColumnPlace<T> &place,
                                                         int c) {
        return state_of(a.totals[place.column(a.inner, c)]);
    }

    // What a column of ordinary maxima needs.
    __device__ __forceinline__ void decide(int c, Float maximum, State total) {
        if (a.log) {
            const LogPieces<Float> logsumexp = row_logsumexp(total.maximum, total.sum);
            high[c] = logsumexp.high;
            low[c] = logsumexp.low;
        } else {
            using C = ExponentialConstants<Float>;
            const bool ordinary = is_ordinary(maximum); // else it has no part in its column
            const std::int32_t n = ordinary ? nearest_exponent(maximum) : 0;
            const double numerator = ordinary ? power_of_two_f64(n - nearest_exponent(total.maximum)) : 0.0;
            const BlockFactor<Float> factor = factor_in_pieces(numerator, total.sum, Float());
            high[c] = factor.high;
            low[c] = factor.low;
            magic_less_n[c] = C::magic - static_cast<Float>(n);
            bound[c] = ordinary ? maximum - C::reach : std::numeric_limits<Float>::infinity();
        }
    }

    __device__ __forceinline__ static Float output_of(Float e, BlockFactor<Float> factor) {
        return sizeof(T) >= sizeof(float) ? softmax_output(e, factor) : softmax_narrow_output(e, factor);
    }

    template <bool Log>
    __device__ __forceinline__ Float plain_output(int c, Float x) const {
        if constexpr (Log) {
            return log_softmax_output(x, LogPieces<Float>{high[c], low[c]});
        } else {
            const Float e = scaled_exponential(x, magic_less_n[c]);
            return output_of(x > bound[c] ? e : Float(0), {high[c], low[c]});
        }
    }

    template <bool Log>
    __device__ __forceinline__ void write_plain() const {
        const T *from = place.in(a.input, a.outer_stride, a.axis_stride);
        T *to = place.in_output(a.output, a.axis, a.inner);
#pragma unroll 1
        for (int first = 0; first < place.count; first += two_pass_column_group) {
            const int left = place.count - first;
            uint4 v[two_pass_column_group];
            load_two_pass_column_logits(a, from, left, v);
            from += two_pass_column_group * a.axis_stride;
#pragma unroll
            for (int i = 0; i < two_pass_column_group; ++i) {
                Float y[each];
#pragma unroll
                for (int c = 0; c < each; ++c) {
                    y[c] = plain_output<Log>(c, element_of(v[i], c, T()));
                }
                if (i < left) {
                    store_vector(to, pack(y, T()));
                }
                to += a.inner;
            }
        }
    }

    // Where large logits, NaN or infinities are among them: one column after the other.
    __device__ __noinline__ static void write_any(const SoftmaxTwoPassColumnArguments &all, std::uint32_t tile) {
        const SoftmaxArguments &a = all.softmax;
        const TwoPassColumnPlace<T> place = two_pass_column_place<T>(all, tile);
#pragma unroll 1
        for (int c = 0; c < each; ++c) {
            const State own = own_state(a, place, c), total = column_total(a, place, c);
            const RowKind kind = row_kind(total.maximum);
            const Frame<Float> frame = frame_of(own.maximum);
            BlockFactor<Float> factor{};
            LogPieces<Float> logsumexp{};
            if (kind == RowKind::ordinary && a.log) {
                logsumexp = row_logsumexp(total.maximum, total.sum);
            } else if (kind == RowKind::ordinary) {
                factor = block_factor(own.maximum, total.maximum, total.sum);
            }
            const T *from = place.in(a.input, a.outer_stride, a.axis_stride) + c;
            T *to = place.in_output(a.output, a.axis, a.inner) + c;
#pragma unroll 1
            for (int row = 0; row < place.count; ++row) {
                Float y = special_output<Float>(kind, a.log, a.empty_row_zero);
                if (kind == RowKind::ordinary) {
                    const Float x = a.scaled ? widen(*from) * static_cast<Float>(a.scale) : widen(*from);
                    y = a.log ? log_softmax_output(x, logsumexp) : output_of(exponential_in(frame, x), factor);
                }
                store_any(y, a.output_type, to, 0);
                from += a.axis_stride;
                to += a.inner;
            }
        }
    }

    const SoftmaxTwoPassColumnArguments &all;
    const SoftmaxArguments &a;
    const std::uint32_t tile;
    const TwoPassColumnPlace<T> place;
    Float high[each], low[each]; // pieces of the factor, or of the logsumexp
    Float magic_less_n[each], bound[each];
};

// The end of the input comes first: it was read last, and some of it is in the cache still.
template <class T>
__global__ void __launch_bounds__(two_pass_column_threads, two_pass_column_resident_blocks)
    softmax_two_pass_column_outputs(const __grid_constant__ SoftmaxTwoPassColumnArguments a) {
    if (!take_place_for_the_rest(a.softmax)) {
        return;
    }
#pragma unroll 1
    for (std::uint32_t behind = blockIdx.x; behind < a.count; behind += gridDim.x) {
        TwoPassColumnOutputs<T>(a, a.count - 1 - behind).work();
    }
}

} // namespace wr::cuda
