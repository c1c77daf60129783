// The gradient of softmax of many rows too long for the registers of a cluster that is there for one row alone:
// clusters stay and go from row to row. While a row waits in registers for its sum and is written, the next one is on
// its way into shared memory.
#pragma once

#include "cuda/device/dynamic_shared_memory.cuh"
#include "cuda/rowwise/persistent_clusters.h"
#include "cuda/softmax_backward/tile.cuh"

namespace wr::cuda {

// Rows whose sums are kept at a time. A warp sends its sum of row i + 2 once all warps of the cluster have sent theirs
// of row i + 1, before which they have read those of row i.
inline constexpr unsigned backward_kept_rows = 2;

// One warp's part in its cluster's rows, number i of which is row first_row + i * a.resident_clusters.
template <class T, bool FromLogits>
class PersistentGradients {
    static constexpr int warp_tiles = static_cast<int>(backward_persistent_tiles(sizeof(T)));
    static constexpr int block_elements = static_cast<int>(softmax_block);
    static constexpr int slot_elements = 2 * warp_tiles * block_elements; // of a warp

  public:
    struct Shared {
        Mbarrier arrived[backward_kept_rows]; // the sums of a row
        Mbarrier loaded[backward_persistent_block_warps];
    };
    using Sums = SentSum[backward_kept_rows][most_cluster_states];
    static_assert(sizeof(Sums) == backward_persistent_sum_bytes);

    __device__ __forceinline__ PersistentGradients(const BackwardVectorArguments &arguments, unsigned char *memory,
                                                   Shared &all)
        : a(arguments), shared(all), kept(*reinterpret_cast<Sums *>(memory)), warp(warp_index()) {
        const int warps = static_cast<int>(blockDim.x / warp_lanes);
        slot = reinterpret_cast<T *>(memory + sizeof(Sums)) + warp * slot_elements;
        sums = static_cast<int>(divide_up(a.axis, warp_tiles * softmax_block));
        own = static_cast<int>(block_in_cluster()) * warps + warp;
        left = static_cast<int>(a.axis) - own * warp_tiles * block_elements;
        const PipelineRun run = pipeline_run(static_cast<std::uint32_t>(a.rows), a.resident_clusters, cluster_number());
        first_row = run.first;
        rows = run.rows;
    }

    __device__ __forceinline__ void set_up() {
        if (threadIdx.x < backward_kept_rows) {
            shared.arrived[threadIdx.x].initialise();
        }
        if (lane_index() == 0) {
            shared.loaded[warp].initialise();
        }
        __syncwarp(); // all lanes' barriers are initialised one after the other
        if (threadIdx.x < backward_kept_rows) {
            expect_sums(threadIdx.x);
        }
    }

    __device__ __forceinline__ void work() {
        if (left <= 0 || rows == 0) {
            return;
        }
        load(0);
        float logsumexp = logsumexp_of(0);
#pragma unroll 1
        for (unsigned i = 0; i < rows; ++i) {
            BackwardVectors<T> saved[warp_tiles], gradients[warp_tiles];
            shared.loaded[warp].wait(i & 1u);
#pragma unroll
            for (int b = 0; b < warp_tiles; ++b) {
                saved[b].load(slot + 2 * b * block_elements, count_of(b), minus_zeros<T>);
                gradients[b].load(slot + (2 * b + 1) * block_elements, count_of(b), gradients_behind<T>(a));
            }
            __syncwarp(); // all lanes have their elements
            load(i + 1);
            const float next_logsumexp = logsumexp_of(i + 1);
            BackwardWeights<T, FromLogits> weights[warp_tiles];
#pragma unroll
            for (int b = 0; b < warp_tiles; ++b) {
                if constexpr (FromLogits) {
                    weights[b].form(saved[b], saved_row(SavedAs::logits, a.log, a.scale, logsumexp, a.empty_row_zero),
                                    count_of(b));
                } else {
                    weights[b] = saved[b];
                }
            }
            logsumexp = next_logsumexp;
            float of_blocks[warp_tiles];
#pragma unroll
            for (int b = 0; b < warp_tiles; ++b) {
                of_blocks[b] = block_total(a, weights[b], gradients[b]);
            }
            const float total = row_total(i, run_sum<warp_tiles, float>(of_blocks));
#pragma unroll
            for (int b = 0; b < warp_tiles; ++b) {
                write_gradients<FromLogits>(a, output_of(i, b), count_of(b) / vector_elements<T> - lane_index(),
                                            weights[b], gradients[b], total);
            }
        }
    }

  private:
    // Elements of the warp's block b; below 1 where the row ends before.
    __device__ __forceinline__ int count_of(int b) const { return smaller(left - b * block_elements, block_elements); }
    __device__ __forceinline__ std::size_t row_number(unsigned i) const {
        return first_row + static_cast<std::size_t>(i) * a.resident_clusters;
    }
    __device__ __forceinline__ int first_element() const { return own * warp_tiles * block_elements; }

    __device__ __forceinline__ uint4 *output_of(unsigned i, int b) const {
        T *const row = static_cast<T *>(a.input_gradient) + row_number(i) * a.axis;
        return reinterpret_cast<uint4 *>(row + first_element() + b * block_elements) + lane_index();
    }

    __device__ __forceinline__ float logsumexp_of(unsigned i) const {
        return FromLogits && i < rows ? a.logsumexp[row_number(i)] : 0.0f;
    }

    __device__ __forceinline__ void expect_sums(unsigned row) {
        shared.arrived[row].announce(static_cast<unsigned>(sums) * static_cast<unsigned>(sizeof(SentSum)));
    }

    // Starts bringing the warp's part of row i into its slot.
    __device__ __forceinline__ void load(unsigned i) {
        if (lane_index() == 0 && i < rows) {
            const auto row = static_cast<std::ptrdiff_t>(row_number(i));
            const T *const saved = static_cast<const T *>(a.saved) + row * a.outer_stride + first_element();
            const T *const gradients =
                static_cast<const T *>(a.output_gradient) + row * a.gradient_outer_stride + first_element();
            shared.loaded[warp].announce(2 * bytes_of(smaller(left, warp_tiles * block_elements)));
#pragma unroll
            for (int b = 0; b < warp_tiles; ++b) {
                if (count_of(b) > 0) {
                    T *const to = slot + 2 * b * block_elements;
                    shared.loaded[warp].copy_announced(to, saved + b * block_elements, bytes_of(count_of(b)));
                    shared.loaded[warp].copy_announced(to + block_elements, gradients + b * block_elements,
                                                       bytes_of(count_of(b)));
                }
            }
        }
    }
    __device__ __forceinline__ static unsigned bytes_of(int elements) {
        return static_cast<unsigned>(elements) * static_cast<unsigned>(sizeof(T));
    }

    // The sum of row i, of which this warp brings its part.
    __device__ __forceinline__ float row_total(unsigned i, float part) {
        const unsigned place = i % backward_kept_rows;
        if (lane_index() < a.cluster_blocks) {
            shared.arrived[place].send(static_cast<unsigned>(lane_index()), kept[place] + place_of_sum(own, sums),
                                       SentSum{part, 0});
        }
        shared.arrived[place].wait((i / backward_kept_rows) & 1u);
        if (threadIdx.x == 0) {
            expect_sums(place);
        }
        return tree_of_warps(kept[place], sums);
    }

    const BackwardVectorArguments &a;
    Shared &shared;
    Sums &kept;
    int warp;
    T *slot;       // of its tiles' saved elements and gradients in turn
    int sums, own; // of a row, and which of them is this warp's
    int left;      // elements of a row from this warp's first on
    std::uint32_t first_row, rows;
};

// a.cluster_blocks blocks of any number of warps form a cluster.
template <class T, bool FromLogits>
__global__ void __launch_bounds__(backward_persistent_block_warps *warp_lanes, 1)
    backward_persistent(const __grid_constant__ BackwardVectorArguments a) {
#if __CUDA_ARCH__ >= 900
    __shared__ typename PersistentGradients<T, FromLogits>::Shared shared;
    PersistentGradients<T, FromLogits> gradients(a, launched_memory(), shared);
    gradients.set_up();
    take_place_on_stream();
    synchronise_cluster(); // no block is written to before its barriers are set up,
    gradients.work();
    synchronise_cluster(); // nor after its end
#endif
}

} // namespace wr::cuda
