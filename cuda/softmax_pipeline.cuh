// Many rows of up to 256 base blocks: clusters that stay and go from row to row. The logits of the next rows are on
// their way into shared memory while the exponentials of one row are formed, and a row's outputs are written while the
// states of the row behind it travel: no warp waits for memory or for another multiprocessor.
#pragma once

#include "cuda/softmax_cluster.cuh"
#include "cuda/softmax_pipeline_runs.h"

namespace wr::cuda {

inline constexpr int pipeline_warps = 32; // of a block at most

// Rows whose states are kept at a time. A warp sends states of row i + 4 once all warps of the cluster have sent those
// of row i + 2, before which they have finished with row i.
inline constexpr unsigned pipeline_slots = 4;

// What shared memory holds for each warp: the logits of its next base block, and the exponentials of the last one.
template <class T>
struct PipelinePlace {
    uint4 logits[softmax_block * sizeof(T) / sizeof(uint4)];
    float4 exponentials[softmax_block / 4];
};

// The bytes of them in a block, and of the states of its cluster's rows.
template <class T>
std::size_t pipeline_shared_bytes(std::size_t warps, std::size_t row_blocks) {
    return warps * sizeof(PipelinePlace<T>) + pipeline_slots *
                                                  static_cast<std::size_t>(state_place(static_cast<int>(row_blocks))) *
                                                  sizeof(RowState<float, float>);
}

// In every lane the same, and known to be.
__device__ __forceinline__ int uniform_warp_index() { return __shfl_sync(whole_warp, warp_index(), 0); }

// For exponentials that are not formed: those of the row before would otherwise have to live through all rare calls
// between, which the compiler pays for on every path.
template <class Float>
__device__ __forceinline__ void forget(Float (&e)[lane_elements]) {
#pragma unroll
    for (Float &one : e) {
        one = 0;
    }
}

// Where a block's exponentials go while something rare is called: without it the compiler keeps them in memory from the
// start on every path, for a called function leaves few registers alone.
class PutAside {
  public:
    __device__ __forceinline__ explicit PutAside(const float (&e)[lane_elements]) {
#pragma unroll
        for (int i = 0; i < lane_elements; ++i) {
            values_[i] = e[i];
        }
    }
    __device__ __forceinline__ void take_back(float (&e)[lane_elements]) const {
#pragma unroll
        for (int i = 0; i < lane_elements; ++i) {
            e[i] = values_[i];
        }
    }

  private:
    volatile float values_[lane_elements];
};

// One warp's part in its cluster's rows, number i of which is row first_row + i * a.pieces of the input.
template <class T>
class Pipeline {
    using Places = VectorPlaces<T>;
    using State = RowState<float, float>;
    using Row = PlainRow<float>;

  public:
    struct Barriers {
        ArrivalBarrier arrived[pipeline_slots]; // the states of a row
        ArrivalBarrier merged[pipeline_slots];
        ArrivalBarrier loaded[pipeline_warps];
        Row totals[pipeline_slots];
        std::int32_t n[2][pipeline_warps]; // of the blocks of a row and of the next
    };

    __device__ __forceinline__ Pipeline(const SoftmaxArguments &arguments, unsigned char *memory, Barriers &shared)
        : a(arguments), barriers(shared), warp(uniform_warp_index()) {
        const int warps = static_cast<int>(blockDim.x / warp_lanes);
        blocks = static_cast<int>(divide_up(a.axis, softmax_block));
        auto *const places = reinterpret_cast<PipelinePlace<T> *>(memory);
        place = places + warp;
        states = reinterpret_cast<State *>(places + warps);
        block = static_cast<int>(block_in_cluster()) * warps + warp;
        count = smaller(static_cast<int>(a.axis) - block * static_cast<int>(softmax_block),
                        static_cast<int>(softmax_block));
        working_warps = smaller(warps, blocks - static_cast<int>(block_in_cluster()) * warps);
        const PipelineRun run =
            pipeline_run(static_cast<std::uint32_t>(a.outer), static_cast<std::uint32_t>(a.pieces), cluster_number());
        first_row = run.first;
        rows = run.rows;
        const auto step = static_cast<std::uint32_t>(a.pieces);
        input = static_cast<const T *>(a.input) + static_cast<std::ptrdiff_t>(first_row) * a.outer_stride +
                block * static_cast<int>(softmax_block);
        input_step = static_cast<std::ptrdiff_t>(step) * a.outer_stride;
        output = first_row * static_cast<std::size_t>(static_cast<std::uint32_t>(a.axis)) +
                 static_cast<std::size_t>(block) * softmax_block;
        output_step = step * static_cast<std::size_t>(static_cast<std::uint32_t>(a.axis));
    }

    __device__ __forceinline__ void set_up() {
        if (threadIdx.x < pipeline_slots) {
            barriers.arrived[threadIdx.x].initialise();
            barriers.merged[threadIdx.x].initialise();
        }
        if (lane_index() == 0) {
            barriers.loaded[warp].initialise();
        }
        __syncwarp(); // all lanes' barriers are initialised one after the other
        if (threadIdx.x < pipeline_slots) {
            expect_states(threadIdx.x);
        }
    }

    __device__ __forceinline__ void work() {
        if (count <= 0 || rows == 0) {
            return;
        }
        if (lane_index() == 0) {
            load(0);
        }
        float e[lane_elements];
        take(0, e);
        park(e);
#pragma unroll 1
        for (unsigned i = 1; i < rows; ++i) {
            take(i, e);
            finish(i - 1, e);
            park(e);
        }
        finish(rows - 1, e);
    }

  private:
    __device__ __forceinline__ void expect_states(unsigned slot) {
        barriers.arrived[slot].announce(static_cast<unsigned>(blocks) * static_cast<unsigned>(sizeof(State)));
    }

    __device__ __forceinline__ void load(unsigned i) {
        barriers.loaded[warp].copy(place->logits, input + static_cast<std::ptrdiff_t>(i) * input_step,
                                   static_cast<unsigned>(count) * static_cast<unsigned>(sizeof(T)));
    }

    // The exponentials of the block in row i, whose state goes to all blocks of the cluster.
    __device__ __forceinline__ void take(unsigned i, float (&e)[lane_elements]) {
        barriers.loaded[warp].wait(i & 1u);
        const BlockLogits<T, Places> x(a, reinterpret_cast<const T *>(place->logits), count);
        float block_maximum = 0;
        const float sum = block_sum<T, Places, float, float, Unframed::without_logsumexp>(
            a, input + static_cast<std::ptrdiff_t>(i) * input_step, count, x, e,
            [&](float maximum, std::int32_t n, std::int32_t) {
                __syncwarp(); // all lanes have their logits
                if (lane_index() == 0) {
                    barriers.n[i & 1u][warp] = n;
                    if (i + 1 < rows) {
                        load(i + 1);
                    }
                }
                block_maximum = maximum;
                if (n == unusual_n) { // no exponentials are formed
                    forget(e);
                }
            });
        if (lane_index() < a.cluster_blocks) {
            barriers.arrived[i % pipeline_slots].send(static_cast<unsigned>(lane_index()),
                                                      states_of(i) + state_place(block), State{block_maximum, sum});
        }
    }

    __device__ __forceinline__ void park(const float (&e)[lane_elements]) {
#pragma unroll
        for (int v = 0; v < lane_elements / 4; ++v) {
            place->exponentials[v * warp_lanes + lane_index()] = {e[4 * v], e[4 * v + 1], e[4 * v + 2], e[4 * v + 3]};
        }
    }

    __device__ __forceinline__ State *states_of(unsigned i) const {
        return states + i % pipeline_slots * static_cast<unsigned>(state_place(blocks));
    }

    __device__ __forceinline__ void merge(unsigned i) {
        const unsigned slot = i % pipeline_slots;
        barriers.arrived[slot].wait((i / pipeline_slots) & 1u);
        const Row row = plain_row<float, float>(merge_many_states(states_of(i), blocks));
        if (lane_index() == 0) {
            barriers.totals[slot] = row;
            expect_states(slot);
            barriers.merged[slot].arrive();
        }
    }

    __device__ __forceinline__ uint4 parked_outputs(int v, float factor) const {
        const float4 low = place->exponentials[2 * v * warp_lanes + lane_index()];
        const float4 high = place->exponentials[(2 * v + 1) * warp_lanes + lane_index()];
        const float y[8] = {low.x * factor,  low.y * factor,  low.z * factor,  low.w * factor,
                            high.x * factor, high.y * factor, high.z * factor, high.w * factor};
        return pack(y, T());
    }

    // Writes the outputs of the block in row i, whose exponentials are parked. Those of the next row are in `next`:
    // they stay in registers wherever nothing is called.
    __device__ __forceinline__ void finish(unsigned i, float (&next)[lane_elements]) {
        const unsigned slot = i % pipeline_slots;
        if (merger == warp) {
            const PutAside aside(next);
            merge(i);
            aside.take_back(next);
        }
        merger = merger + 1 < working_warps ? merger + 1 : 0;
        barriers.merged[slot].wait((i / pipeline_slots) & 1u);
        __syncwarp(); // the barrier tells of another warp's total; this one's own lanes meet here
        const Row row = barriers.totals[slot];
        __syncwarp();
        const std::int32_t n = barriers.n[i & 1u][warp];
        __syncwarp(); // before that of row i + 2 takes its place
        if (n != unusual_n && row.plain() && has_plain_factor<T, Places>(a, n - row.n) && reaches_row<T>(n, row.n)) {
            const float factor = factor_of(row.base, n - row.n, float()).high;
            uint4 *to = reinterpret_cast<uint4 *>(static_cast<T *>(a.output) + output) + lane_index();
            if (count == static_cast<int>(softmax_block)) {
#pragma unroll
                for (int v = 0; v < lane_vectors<T>; ++v) {
                    store_vector(to + v * warp_lanes, parked_outputs(v, factor));
                }
            } else {
                const int left = count / vector_elements<T> - lane_index();
#pragma unroll
                for (int v = 0; v < lane_vectors<T>; ++v) {
                    if (v * warp_lanes < left) {
                        store_vector(to + v * warp_lanes, parked_outputs(v, factor));
                    }
                }
            }
        } else {
            barriers.arrived[slot].wait((i / pipeline_slots) & 1u); // which another warp may have waited for
            const PutAside aside(next);
            finish_unusual_softmax<T, Places>(a, input + static_cast<std::ptrdiff_t>(i) * input_step, output, count,
                                              states_of(i)[state_place(block)].maximum,
                                              merge_any_states(states_of(i), blocks));
            aside.take_back(next);
        }
        output += output_step;
    }

    const SoftmaxArguments &a;
    Barriers &barriers;
    int warp, blocks, block, count;
    int working_warps, merger = 0; // of this block
    std::uint32_t first_row, rows;
    PipelinePlace<T> *place;
    State *states;
    const T *input;
    std::ptrdiff_t input_step;
    std::size_t output, output_step;
};

// a.cluster_blocks blocks of any number of warps form a cluster; a.pieces clusters are in a round.
template <class T>
__global__ void __launch_bounds__(pipeline_warps *warp_lanes)
    softmax_pipeline(const __grid_constant__ SoftmaxArguments a) {
#if __CUDA_ARCH__ >= 900
    extern __shared__ __align__(128) unsigned char memory[];
    __shared__ typename Pipeline<T>::Barriers barriers;
    Pipeline<T> pipeline(a, memory, barriers);
    pipeline.set_up();
    take_place_on_stream();
    synchronise_cluster(); // no block is written to before its barriers are set up,
    pipeline.work();
    synchronise_cluster(); // nor after its end
#endif
}

} // namespace wr::cuda
