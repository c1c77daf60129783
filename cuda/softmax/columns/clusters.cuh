// Softmax along an axis that is not the innermost, read once and written once: clusters go from tile to tile of
// neighbouring columns. A tile's rows are shared among the blocks of a cluster, so that a block reads and writes many
// bytes of each row at once (a copy in pieces of 64, 128 and 256 bytes a row has 2.7, 3.5 and 4.0 TB/s on an H200), and
// while a block forms exponentials the next tile's vectors are on their way into shared memory.
#pragma once

#include "cuda/rowwise/persistent_clusters.h"
#include "cuda/softmax/columns/cluster_states.cuh"

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

// One block's part in its cluster's tiles, number i of which is tile first + i * resident_clusters.
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
    using Base::leave_maxima;
    using Base::leave_sums;
    using Base::memory;
    using Base::rows;
    using Base::send_states;
    using Base::share_maxima;
    using Base::stage;
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
        const std::uint32_t step = all.resident_clusters;
        const PipelineRun run = pipeline_run(all.tiles, step, cluster_number(), column_round_eighths);
        if (run.rows != 0) {
            stage(run.first);
        }
#pragma unroll 1
        for (unsigned turn = 0; turn < run.rows; ++turn) {
            const std::uint32_t tile = run.first + turn * step;
            uint4 v[rows];
            take(tile, v);
            unsigned least[vector_words];
            leave_maxima(v, least);
            if (turn + 1 < run.rows) {
                stage(tile + step);
            }
            __syncthreads();
            share_maxima(turn);
            Float e[lane_elements];
            form_exponentials(v, least, e);
            __syncthreads();
            send_states(turn);
            await_states(turn);
            decide(tile, turn & 1u);
            __syncthreads();
            finish(tile, e);
        }
    }

  private:
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
        leave_sums(sums);
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
        const int x = thread_x_again(), column = x % Shape::across * each;
        const int group = x / warp_lanes / Shape::group_warps;
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
        const Vectors mine(all, tile);
        char *to = static_cast<char *>(a.output) + mine.output(a) * sizeof(T);
        const std::size_t step = a.inner * sizeof(T);
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            Float y[each];
#pragma unroll
            for (int c = 0; c < each; ++c) {
                const BlockFactor<Float> factor{high[c], low[c]};
                const Float own = e[i * each + c];
                y[c] = sizeof(T) >= sizeof(float) ? softmax_output(own, factor) : softmax_narrow_output(own, factor);
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

template <class T, int LogAcross, int Warps>
__global__ void __launch_bounds__(Warps *warp_lanes, column_cluster_warps / Warps)
    softmax_column_clusters(const __grid_constant__ SoftmaxColumnArguments a) {
#if __CUDA_ARCH__ >= 900
    using Shape = ColumnShape<T, LogAcross, Warps>;
    ColumnWork<T, Shape> columns(a, *reinterpret_cast<ColumnMemory<T, Shape> *>(launched_memory()));
    columns.set_up();
    take_place_on_stream();
    synchronise_cluster(); // no block is written to before its barriers are set up,
    columns.work();
    synchronise_cluster(); // nor after its end
#endif
}

} // namespace wr::cuda
