// Softmax along an axis that is not the innermost, read once and written once: clusters go from tile to tile of
// neighbouring columns. A tile's rows are shared among the blocks of a cluster, so that a block reads and writes many
// bytes of each row at once (a copy in pieces of 64, 128 and 256 bytes a row has 2.7, 3.5 and 4.0 TB/s on an H200), and
// while a block forms exponentials the next tile's vectors are on their way into shared memory.
#pragma once

#include "cuda/softmax_column_shape.cuh"
#include "cuda/softmax_pipeline_runs.h"

namespace wr::cuda {

__device__ __forceinline__ void copy_whole_vector(void *to, const void *from) {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
        "l"(from)
        : "memory");
#endif
}

// Writes a word to the same place in the shared memory of block `rank`, whose barrier counts its bytes.
__device__ __forceinline__ void send_word(ArrivalBarrier &barrier, unsigned rank, unsigned *place, unsigned word) {
#if __CUDA_ARCH__ >= 900
    asm volatile("{\n"
                 ".reg .b32 to, at;\n"
                 "mapa.shared::cluster.u32 to, %0, %2;\n"
                 "mapa.shared::cluster.u32 at, %1, %2;\n"
                 "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [to], %3, [at];\n"
                 "}" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(place))),
                 "r"(static_cast<unsigned>(__cvta_generic_to_shared(&barrier))), "r"(rank), "r"(word)
                 : "memory");
#endif
}

// Until all of this thread's copies are there.
__device__ __forceinline__ void wait_for_own_copies() {
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

template <class Float, class Sum>
__device__ __noinline__ Sum settle_large_sum(Float maximum, Sum sum) {
    return settle_block_sum(maximum, sum);
}
template <class Float, class Sum>
__device__ __noinline__ BlockFactor<Float> rare_block_factor(Float maximum, Float row_maximum, Sum row_sum) {
    return block_factor(maximum, row_maximum, row_sum);
}

// The outputs of columns that are not ordinary.
template <class T, class Float>
__device__ __noinline__ void overwrite_special(const SoftmaxArguments &a, std::uint64_t first, int count,
                                               const Float *high, const Float *low) {
    for (int c = 0; c < vector_elements<T>; ++c) {
        if (high[c] != high[c]) {
            for (int i = 0; i < count; ++i) {
                store_any(low[c], a.output_type, a.output,
                          first + static_cast<std::uint64_t>(i) * a.inner + static_cast<unsigned>(c));
            }
        }
    }
}

// One block's part in its cluster's tiles, number i of which is tile first + i * pieces.
template <class T, class Shape>
class ColumnWork {
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    using State = RowState<Float, Sum>;
    using Vectors = ColumnVectors<T, Shape>;
    using Memory = ColumnMemory<T, Shape>;
    static constexpr int rows = Shape::rows, each = Shape::each, pair = Shape::word_columns;

  public:
    __device__ __forceinline__ ColumnWork(const SoftmaxColumnArguments &arguments, Memory &shared)
        : all(arguments), a(arguments.softmax), memory(shared) {}

    __device__ __forceinline__ void set_up() {
        if (threadIdx.x == 0) {
            memory.maxima_arrived.initialise();
            memory.states_arrived[0].initialise();
            memory.states_arrived[1].initialise();
            expect_maxima();
            expect_states(0);
            expect_states(1);
        }
    }

    __device__ __forceinline__ void work() {
        const auto step = static_cast<std::uint32_t>(a.pieces);
        const PipelineRun run = pipeline_run(all.tiles, step, cluster_number(), column_round_eighths);
        if (run.rows != 0) {
            stage(run.first, 0);
        }
#pragma unroll 1
        for (unsigned turn = 0; turn < run.rows; ++turn) {
            const std::uint32_t tile = run.first + turn * step;
            uint4 v[rows];
            take(tile, v);
            unsigned least[vector_words];
            leave_maxima(v, least);
            if (Shape::halves == 2) {
                stage(tile, 1);
            } else if (turn + 1 < run.rows) {
                stage(tile + step, 0);
            }
            __syncthreads();
            share_maxima(turn);
            Float e[lane_elements];
            form_exponentials(v, least, e);
            __syncthreads();
            send_states(turn, 0);
            if constexpr (Shape::halves == 2) {
                take_second(tile, turn);
            }
            await_states(turn);
            decide(tile, turn & 1u);
            __syncthreads();
            if constexpr (Shape::halves == 2) {
                finish_second(tile, turn + 1 < run.rows, tile + step);
            }
            finish(tile, e);
        }
    }

  private:
    __device__ __forceinline__ static uint4 *staged() { // this thread's; row i's is i threads further on
        return reinterpret_cast<uint4 *>(launched_memory() + sizeof(Memory)) + thread_x_again();
    }
    // [column][part], of two tiles in turn.
    __device__ __forceinline__ State *states_of(unsigned slot) const {
        return reinterpret_cast<State *>(launched_memory() + column_fixed_bytes<T, Shape>) +
               (slot << (Shape::log_columns + all.log_parts));
    }
    __device__ __forceinline__ static int rank() { return static_cast<int>(block_in_cluster()); }
    // Of the blocks that share this one's base block, the first, and how many there are.
    __device__ __forceinline__ static int first_of_span() { return rank() & ~(Shape::span - 1); }
    __device__ __forceinline__ int span() const { return smaller(Shape::span, a.cluster_blocks - first_of_span()); }

    __device__ __forceinline__ void expect_maxima() {
        memory.maxima_arrived.announce(static_cast<unsigned>(span() * Shape::words) *
                                       static_cast<unsigned>(sizeof(unsigned)));
    }
    __device__ __forceinline__ void expect_states(unsigned slot) {
        memory.states_arrived[slot].announce(static_cast<unsigned>(a.cluster_blocks * Shape::parts * Shape::columns) *
                                             static_cast<unsigned>(sizeof(State)));
    }

    // The states of a tile's second half, whose exponentials stay in shared memory: the registers hold the first one's.
    __device__ __forceinline__ void take_second(std::uint32_t tile, unsigned turn) {
        wait_for_own_copies();
        settle_second(Vectors(all, tile, 1).count);
        unsigned largest[vector_words], least[vector_words];
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            const uint4 v = staged()[i * Shape::threads];
#pragma unroll
            for (int w = 0; w < vector_words; ++w) {
                largest[w] = i == 0 ? word_of(v, w) : larger_word<T>(largest[w], word_of(v, w));
                least[w] = i == 0 ? word_of(v, w) : smaller_word<T>(least[w], word_of(v, w));
            }
        }
        leave_largest(largest);
        __syncthreads();
        share_maxima(turn);
        Float maxima[each];
        const bool plain = is_plain(least, maxima);
        with_exponentials(plain, maxima,
                          [&](auto normal, auto exponential) { add_second<decltype(normal)::value>(exponential); });
        __syncthreads();
        send_states(turn, 1);
    }

    // Scales this thread's logits in shared memory, and puts -infinity where there are none.
    __device__ __forceinline__ void settle_second(int count) const {
        if (count < rows || a.scaled) {
#pragma unroll 1
            for (int i = 0; i < rows; ++i) {
                uint4 v[1] = {filler_vector<T>(false)};
                if (i < count) {
                    v[0] = staged()[i * Shape::threads];
                    scale(v);
                }
                staged()[i * Shape::threads] = v[0];
            }
        }
    }

    // Calls function(normal, exponential) with the exponential of each column, in the form that this warp's logits
    // need.
    template <class Function>
    __device__ __forceinline__ static void with_exponentials(bool plain, const Float (&maxima)[each],
                                                             Function function) {
        using C = ExponentialConstants<Float>;
        if (plain) {
            Float magic_less_n[each];
#pragma unroll
            for (int c = 0; c < each; ++c) {
                magic_less_n[c] = C::magic - (fused(maxima[c], C::log2e_high, C::magic) - C::magic);
            }
            function(std::true_type(), [&](int c, Float x) { return scaled_exponential(x, magic_less_n[c]); });
        } else {
            Frame<Float> frames[each];
#pragma unroll
            for (int c = 0; c < each; ++c) {
                frames[c] = frame_of(maxima[c]);
            }
            function(std::false_type(), [&](int c, Float x) { return exponential_in(frames[c], x); });
        }
    }

    // Forms the exponentials of the second half in the place of its logits, and their sums, two columns at a time.
    template <bool Normal, class Exponential>
    __device__ __forceinline__ void add_second(Exponential exponential) const {
#pragma unroll
        for (int first = 0; first < each; first += 2) {
            Sum levels[2][log2_of(rows) + 1];
#pragma unroll
            for (int i = 0; i < rows; ++i) {
                float2 &place = reinterpret_cast<float2 *>(staged() + i * Shape::threads)[first / 2];
                const float2 x = place;
                const Float e[2] = {exponential(first, x.x), exponential(first + 1, x.y)};
                place = {e[0], e[1]};
#pragma unroll
                for (int c = 0; c < 2; ++c) {
                    Sum sum = term<Sum, Normal>(e[c]);
                    int level = 0;
#pragma unroll
                    for (; level < log2_of(rows); ++level) {
                        if (((i >> level) & 1) == 0) {
                            break;
                        }
                        sum = levels[c][level] + sum;
                    }
                    levels[c][level] = sum;
                }
            }
            const Sum sums[2] = {sum_of_runs(levels[0][log2_of(rows)]), sum_of_runs(levels[1][log2_of(rows)])};
            leave_sums(first, sums);
        }
    }

    // The outputs of the second half; each vector's place is the next tile's as soon as it is read.
    __device__ __forceinline__ void finish_second(std::uint32_t tile, bool more, std::uint32_t next_tile) const {
        const Vectors next(all, next_tile, 0);
        const int next_count = more ? next.count : 0;
        const char *from = next.input(a);
        write_outputs(tile, 1, [&](int i, Float(&e)[each]) {
            uint4 *const place = staged() + i * Shape::threads;
            const uint4 v = *place;
#pragma unroll
            for (int c = 0; c < each; ++c) {
                e[c] = element_of(v, c, T());
            }
            if (i < next_count) {
                copy_whole_vector(place, from);
            }
            from += a.axis_stride * static_cast<std::ptrdiff_t>(sizeof(T));
        });
    }

    // Starts bringing this thread's vectors of a tile into shared memory.
    __device__ __forceinline__ void stage(std::uint32_t tile, int half) const {
        const Vectors mine(all, tile, half);
        const char *from = mine.input(a);
        const std::ptrdiff_t step = a.axis_stride * static_cast<std::ptrdiff_t>(sizeof(T));
        uint4 *const to = staged();
        if (mine.count >= rows) {
#pragma unroll
            for (int i = 0; i < rows; ++i) {
                copy_whole_vector(to + i * Shape::threads, from);
                from += step;
            }
        } else {
#pragma unroll 1
            for (int i = 0; i < mine.count; ++i) {
                copy_whole_vector(to + i * Shape::threads, from);
                from += step;
            }
        }
    }

    // A thread's logits of a tile; where there are none, -infinity.
    __device__ __forceinline__ void take(std::uint32_t tile, uint4 (&v)[rows]) const {
        wait_for_own_copies();
        const int count = Vectors(all, tile, 0).count;
        const uint4 *const from = staged();
        if (count >= rows) {
#pragma unroll
            for (int i = 0; i < rows; ++i) {
                v[i] = from[i * Shape::threads];
            }
            scale(v);
        } else {
#pragma unroll
            for (int i = 0; i < rows; ++i) {
                v[i] = uint4{0, 0, 0, 0};
                if (i < count) {
                    v[i] = from[i * Shape::threads];
                }
            }
            scale(v);
            const uint4 behind = filler_vector<T>(false);
#pragma unroll
            for (int i = 0; i < rows; ++i) {
                v[i] = i < count ? v[i] : behind;
            }
        }
    }

    template <int Rows>
    __device__ __forceinline__ void scale(uint4 (&v)[Rows]) const {
        if constexpr (sizeof(T) == sizeof(float)) {
            if (a.scaled) {
                const float by = static_cast<float>(a.scale);
#pragma unroll
                for (int i = 0; i < Rows; ++i) {
                    v[i] = {scaled_word(v[i].x, by), scaled_word(v[i].y, by), scaled_word(v[i].z, by),
                            scaled_word(v[i].w, by)};
                }
            }
        }
    }
    __device__ __forceinline__ static unsigned scaled_word(unsigned word, float by) {
        return __float_as_uint(__uint_as_float(word) * by);
    }

    // The least logits of a thread's columns; the warp's largest go to shared memory.
    __device__ __forceinline__ void leave_maxima(const uint4 (&v)[rows], unsigned (&least)[vector_words]) const {
        unsigned largest[vector_words];
#pragma unroll
        for (int w = 0; w < vector_words; ++w) {
            largest[w] = least[w] = word_of(v[0], w);
#pragma unroll
            for (int i = 1; i < rows; ++i) {
                largest[w] = larger_word<T>(largest[w], word_of(v[i], w));
                least[w] = smaller_word<T>(least[w], word_of(v[i], w));
            }
        }
        leave_largest(largest);
    }

    // From the largest of a thread's columns to those of its warp.
    __device__ __forceinline__ void leave_largest(unsigned (&largest)[vector_words]) const {
#pragma unroll
        for (int w = 0; w < vector_words; ++w) {
#pragma unroll
            for (int distance = Shape::across; distance < warp_lanes; distance *= 2) {
                largest[w] = larger_word<T>(largest[w], __shfl_xor_sync(whole_warp, largest[w], distance));
            }
        }
        if (lane_index() < Shape::across) {
#pragma unroll
            for (int w = 0; w < vector_words; ++w) {
                memory.maxima[warp_again()][lane_index() * vector_words + w] = largest[w];
            }
        }
    }

    // The maxima of base blocks go to all blocks that share these.
    __device__ __forceinline__ void share_maxima(unsigned turn) {
        using Items = ColumnItems<Shape, Shape::base_blocks * Shape::words>;
        const int x = thread_x_again();
        if (Items::threads == Shape::threads || x < Items::threads) {
            const int item = x / Items::lanes, lane = x % Items::lanes;
            const int group = item / Shape::words, word = item % Shape::words;
            const unsigned *const from = &memory.maxima[group * Shape::group_warps + lane * Items::run][word];
            unsigned largest = from[0];
#pragma unroll
            for (int i = 1; i < Items::run; ++i) {
                largest = larger_word<T>(largest, from[i * (Shape::words + 1)]);
            }
#pragma unroll
            for (int distance = 1; distance < Items::lanes; distance *= 2) {
                largest = larger_word<T>(largest, __shfl_xor_sync(whole_warp, largest, distance));
            }
            if constexpr (Shape::span > 1) {
                static_assert(Shape::span <= Items::lanes);
                if (lane < span()) {
                    send_word(memory.maxima_arrived, static_cast<unsigned>(first_of_span() + lane),
                              &memory.block_maxima[rank() - first_of_span()][word], largest);
                }
            } else if (lane == 0) {
                memory.block_maxima[group][word] = largest;
            }
        }
        if constexpr (Shape::span > 1) {
            memory.maxima_arrived.wait(turn & 1u);
            if (x == 0) {
                expect_maxima();
            }
        } else {
            __syncthreads();
        }
    }

    // Of the base block of one of this block's groups of warps.
    __device__ __forceinline__ unsigned block_maximum(int group, int word) const {
        unsigned largest = memory.block_maxima[Shape::span > 1 ? 0 : group][word];
        if constexpr (Shape::span > 1) {
            const int parts = span();
#pragma unroll
            for (int part = 1; part < Shape::span; ++part) {
                if (part < parts) {
                    largest = larger_word<T>(largest, memory.block_maxima[part][word]);
                }
            }
        }
        return largest;
    }

    // The maxima of the base blocks that a thread's columns belong to, with note(w, word) for each word of them.
    template <class Note>
    __device__ __forceinline__ void own_maxima(Float (&maxima)[each], Note note) const {
        const int x = thread_x_again(), first = x % Shape::across * vector_words;
        const int group = x / warp_lanes / Shape::group_warps;
#pragma unroll
        for (int w = 0; w < vector_words; ++w) {
            const unsigned word = block_maximum(group, first + w);
#pragma unroll
            for (int c = 0; c < pair; ++c) {
                maxima[w * pair + c] = column_of_word<T>(word, c);
            }
            note(w, word);
        }
    }

    __device__ __forceinline__ static bool needs_no_test(Float lowest, Float least_maximum, Float maximum) {
        return is_ordinary(least_maximum) && is_ordinary(maximum) &&
               lowest > maximum - ExponentialConstants<Float>::reach;
    }

    // The same, and whether no exponential of this warp needs a test: of 16-bit columns said of all at once, which is
    // nearly always as good and takes half the instructions.
    __device__ __forceinline__ bool is_plain(const unsigned (&least)[vector_words], Float (&maxima)[each]) const {
        bool plain = true;
        if constexpr (pair == 2) {
            unsigned largest = 0, smallest = 0, lowest = 0;
            own_maxima(maxima, [&](int w, unsigned word) {
                largest = w == 0 ? word : larger_word<T>(largest, word);
                smallest = w == 0 ? word : smaller_word<T>(smallest, word);
                lowest = w == 0 ? least[0] : smaller_word<T>(lowest, least[w]);
            });
            plain = needs_no_test(lower_of_pair<T>(lowest), lower_of_pair<T>(smallest),
                                  larger_with_nan(column_of_word<T>(largest, 0), column_of_word<T>(largest, 1)));
        } else {
            own_maxima(maxima, [&](int w, unsigned) {
                plain = plain && needs_no_test(column_of_word<T>(least[w], 0), maxima[w], maxima[w]);
            });
        }
        return __all_sync(whole_warp, plain) != 0;
    }

    // The exponentials of a thread, and what those of its warp add up to in each column.
    __device__ __forceinline__ void form_exponentials(const uint4 (&v)[rows], const unsigned (&least)[vector_words],
                                                      Float (&e)[lane_elements]) const {
        using C = ExponentialConstants<Float>;
        Float maxima[each];
        Sum sums[each];
        if (is_plain(least, maxima)) {
#pragma unroll
            for (int c = 0; c < each; ++c) {
                const Float magic_less_n = C::magic - (fused(maxima[c], C::log2e_high, C::magic) - C::magic);
                sums[c] = sum_of_column<true>(c, e, v, [&](Float x) { return scaled_exponential(x, magic_less_n); });
            }
        } else {
#pragma unroll
            for (int c = 0; c < each; ++c) {
                const Frame<Float> frame = frame_of(maxima[c]);
                sums[c] = sum_of_column<false>(c, e, v, [&](Float x) { return exponential_in(frame, x); });
            }
        }
#pragma unroll
        for (int c = 0; c < each; ++c) {
            sums[c] = sum_of_runs(sums[c]);
        }
        leave_sums(0, sums);
    }

    // The tree over what the lanes of a column have.
    __device__ __forceinline__ static Sum sum_of_runs(Sum sum) {
#pragma unroll
        for (int distance = Shape::across; distance < warp_lanes; distance *= 2) {
            sum = sum + from_lane_xor(sum, distance);
        }
        return sum;
    }
    template <int Count>
    __device__ __forceinline__ void leave_sums(int first, const Sum (&sums)[Count]) const {
        if (lane_index() < Shape::across) {
#pragma unroll
            for (int c = 0; c < Count; ++c) {
                memory.sums[warp_again()][lane_index() * each + first + c] = sums[c];
            }
        }
    }

    template <bool Normal, class Exponential>
    __device__ __forceinline__ static Sum sum_of_column(int column, Float (&e)[lane_elements], const uint4 (&v)[rows],
                                                        Exponential exponential) {
        Float of_column[rows];
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            of_column[i] = exponential(element_of(v[i], column, T()));
            e[i * each + column] = of_column[i];
        }
        return run_sum<rows, Sum, Normal>(of_column);
    }

    // The states of this block's parts go to all blocks of the cluster.
    __device__ __forceinline__ void send_states(unsigned turn, int half) {
        using Items = ColumnItems<Shape, Shape::base_blocks * Shape::columns>;
        const int x = thread_x_again();
        const unsigned slot = turn & 1u;
        if (Items::threads == Shape::threads || x < Items::threads) {
            const int item = x / Items::lanes, lane = x % Items::lanes;
            const int group = item / Shape::columns, column = item % Shape::columns;
            const Sum *const from = &memory.sums[group * Shape::group_warps + lane * Items::run][column];
            Sum of_run[Items::run];
#pragma unroll
            for (int i = 0; i < Items::run; ++i) {
                of_run[i] = from[i * (Shape::columns + 1)];
            }
            Sum sum = run_sum<Items::run, Sum>(of_run);
#pragma unroll
            for (int distance = 1; distance < Items::lanes; distance *= 2) {
                sum = sum + from_lane_xor(sum, distance);
            }
            const Float maximum = column_of_word<T>(block_maximum(group, column / pair), column % pair);
            State *const place = states_of(slot) + (column << all.log_parts) + (rank() * Shape::parts + half + group);
            for (int to = lane; to < a.cluster_blocks; to += Items::lanes) {
                memory.states_arrived[slot].send(static_cast<unsigned>(to), place, State{maximum, sum});
            }
        }
    }

    __device__ __forceinline__ void await_states(unsigned turn) {
        const unsigned slot = turn & 1u;
        memory.states_arrived[slot].wait((turn / 2) & 1u);
        if (thread_x_again() == 0) {
            expect_states(slot);
        }
    }

    // What the outputs of each column of this block's base blocks are multiplied by; the high piece is NaN where a
    // column is not ordinary, whose outputs are then the low piece.
    __device__ __forceinline__ void decide(std::uint32_t tile, unsigned slot) const {
        const int parts = 1 << all.log_parts;
        const State *const states = states_of(slot);
        for (int at = thread_x_again(); at < parts * Shape::columns; at += Shape::threads) {
            const int part = at & (parts - 1), column = at >> all.log_parts;
            State own{-std::numeric_limits<Float>::infinity(), Sum(0)};
            if (part < a.cluster_blocks * Shape::parts) {
                own = states[at];
            }
#pragma unroll
            for (int distance = 1; distance < Shape::span; distance *= 2) {
                if (distance < parts) {
                    own.maximum = larger_with_nan(own.maximum, from_lane_xor(own.maximum, distance));
                    own.sum = own.sum + from_lane_xor(own.sum, distance);
                }
            }
            Float maximum = larger_with_nan(own.maximum, own.maximum);
            Sum sum = own.sum;
            if (is_large(own.maximum)) {
                sum = settle_large_sum(own.maximum, sum);
            }
            if (parts > Shape::span) {
                for (int distance = Shape::span; distance < parts; distance *= 2) {
                    maximum = larger_with_nan(maximum, from_lane_xor(maximum, distance));
                }
                sum = scale_by_power(sum, frame_gap(own.maximum, maximum));
                for (int distance = Shape::span; distance < parts; distance *= 2) {
                    sum = sum + from_lane_xor(sum, distance);
                }
            }
            const int group = part - rank() * Shape::parts;
            if (group >= 0 && group < Shape::parts) {
                BlockFactor<Float> factor{std::numeric_limits<Float>::quiet_NaN(), 0};
                if (is_ordinary(own.maximum) && is_ordinary(maximum)) {
                    const std::int32_t gap = nearest_exponent(own.maximum) - nearest_exponent(maximum);
                    factor = factor_in_pieces(power_of_two_f64(gap), sum, Float());
                } else if (row_kind(maximum) == RowKind::ordinary) {
                    factor = rare_block_factor(own.maximum, maximum, sum);
                } else {
                    factor.low = special_output<Float>(row_kind(maximum), false, a.empty_row_zero);
                }
                memory.high[group][column] = factor.high;
                memory.low[group][column] = factor.low;
            }
            if (a.logsumexp != nullptr && part == 0 && rank() == 0) {
                const std::uint64_t inner =
                    (static_cast<std::uint64_t>(tile % all.tiles_across) << Shape::log_columns) +
                    static_cast<unsigned>(column);
                if (inner < a.inner) {
                    store_row_logsumexp(RowState<Float, Sum>{maximum, sum}, a.logsumexp,
                                        tile / all.tiles_across * a.inner + inner);
                }
            }
        }
    }

    __device__ __forceinline__ void finish(std::uint32_t tile, const Float (&e)[lane_elements]) const {
        write_outputs(tile, 0, [&](int i, Float(&of_row)[each]) {
#pragma unroll
            for (int c = 0; c < each; ++c) {
                of_row[c] = e[i * each + c];
            }
        });
    }

    // The outputs of a thread; take(i, e) gives the exponentials of row i.
    template <class Exponentials>
    __device__ __forceinline__ void write_outputs(std::uint32_t tile, int half, Exponentials take) const {
        const int x = thread_x_again(), column = x % Shape::across * each;
        const int group = half * Shape::base_blocks + x / warp_lanes / Shape::group_warps;
        Float high[each], low[each] = {};
        bool special = false;
#pragma unroll
        for (int c = 0; c < each; c += vector_words) {
            *reinterpret_cast<float4 *>(high + c) = *reinterpret_cast<const float4 *>(&memory.high[group][column + c]);
            if constexpr (sizeof(T) >= sizeof(float)) {
                *reinterpret_cast<float4 *>(low + c) =
                    *reinterpret_cast<const float4 *>(&memory.low[group][column + c]);
            }
        }
#pragma unroll
        for (int c = 0; c < each; ++c) {
            special = special || high[c] != high[c];
        }
        const Vectors mine(all, tile, half);
        char *to = static_cast<char *>(a.output) + mine.output(a) * sizeof(T);
        const std::size_t step = a.inner * sizeof(T);
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            Float e[each], y[each];
            take(i, e);
#pragma unroll
            for (int c = 0; c < each; ++c) {
                const BlockFactor<Float> factor{high[c], low[c]};
                y[c] = sizeof(T) >= sizeof(float) ? softmax_output(e[c], factor) : softmax_narrow_output(e[c], factor);
            }
            if (i < mine.count) {
                store_vector(to, pack(y, T()));
            }
            to += step;
        }
        if (special) {
            overwrite_special<T>(a, mine.output(a), smaller(mine.count, rows), &memory.high[group][column],
                                 &memory.low[group][column]);
        }
    }

    const SoftmaxColumnArguments &all;
    const SoftmaxArguments &a;
    Memory &memory;
};

inline constexpr int column_cluster_warps = 32; // of a multiprocessor

template <class T, int LogAcross, int Warps, int Halves>
__global__ void __launch_bounds__(Warps *warp_lanes, column_cluster_warps / Warps)
    softmax_column_clusters(const __grid_constant__ SoftmaxColumnArguments a) {
#if __CUDA_ARCH__ >= 900
    using Shape = ColumnShape<T, LogAcross, Warps, Halves>;
    ColumnWork<T, Shape> columns(a, *reinterpret_cast<ColumnMemory<T, Shape> *>(launched_memory()));
    columns.set_up();
    synchronise_cluster(); // no block is written to before its barriers are set up,
    columns.work();
    synchronise_cluster(); // nor after its end
#endif
}

} // namespace wr::cuda
