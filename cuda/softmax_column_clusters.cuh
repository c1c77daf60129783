// Softmax along an axis that is not the innermost, read once and written once: clusters go from tile to tile of
// neighbouring columns. A tile's rows are shared among the blocks of a cluster, so that a block reads and writes many
// bytes of each row at once (a copy in pieces of 64, 128 and 256 bytes a row has 2.7, 3.5 and 4.0 TB/s on an H200), and
// while a block forms exponentials the next tile's vectors are on their way into shared memory.
#pragma once

#include "cuda/softmax_column_states.cuh"
#include "cuda/softmax_pipeline_runs.h"

namespace wr::cuda {

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
class ColumnWork : ColumnStates<T, Shape> {
    using Base = ColumnStates<T, Shape>;
    using Base::a;
    using Base::all;
    using Base::await_states;
    using Base::decide;
    using Base::each;
    using Base::expect_maxima;
    using Base::expect_states;
    using Base::is_plain;
    using Base::leave_largest;
    using Base::leave_maxima;
    using Base::leave_sums;
    using Base::memory;
    using Base::rows;
    using Base::scale;
    using Base::send_states;
    using Base::settle_second;
    using Base::share_maxima;
    using Base::stage;
    using Base::staged;
    using Base::sum_of_runs;
    using Base::take;
    using typename Base::Float;
    using typename Base::Sum;
    using typename Base::Vectors;

  public:
    using Base::Base;

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
};

inline constexpr int column_cluster_warps = 32; // of a multiprocessor

template <class T, int LogAcross, int Warps, int Halves>
__global__ void __launch_bounds__(Warps *warp_lanes, column_cluster_warps / Warps)
    softmax_column_clusters(const __grid_constant__ SoftmaxColumnArguments a) {
#if __CUDA_ARCH__ >= 900
    using Shape = ColumnShape<T, LogAcross, Warps, Halves>;
    ColumnWork<T, Shape> columns(a, *reinterpret_cast<ColumnMemory<T, Shape> *>(launched_memory()));
    columns.set_up();
    take_place_on_stream();
    synchronise_cluster(); // no block is written to before its barriers are set up,
    columns.work();
    synchronise_cluster(); // nor after its end
#endif
}

} // namespace wr::cuda
