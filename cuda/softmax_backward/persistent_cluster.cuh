// The gradient of softmax of many rows too long for the registers of a cluster that is there for one row alone:
// clusters stay and go from row to row. While a row waits in registers for its sum and is written, the next one is on
// its way into shared memory.
#pragma once

#include "cuda/device/dynamic_shared_memory.cuh"
#include "cuda/softmax_backward/rows.h"
#include "cuda/softmax_backward/tile.cuh"

namespace wr::cuda {

// Rows whose sums are kept at a time. A warp sends its sum of row i + 2 once all warps of the cluster have sent theirs
// of row i + 1, before which they have read those of row i.
inline constexpr unsigned backward_kept_rows = 2;

// One warp's part in its cluster's rows, number i of which is row first_row + i * a.resident_clusters.
template <class T, bool FromLogits>
class PersistentGradients {
    using Part = WholeTile<T>;
    static constexpr int tile = Part::tile;

  public:
    struct Shared {
        Mbarrier arrived[backward_kept_rows]; // the sums of a row
        Mbarrier loaded[backward_persistent_block_warps(sizeof(T))];
    };
    using Sums = SentSum[backward_kept_rows][backward_most_row_sums];
    static_assert(sizeof(Sums) == backward_persistent_sum_bytes && backward_most_row_sums == most_cluster_states);

    __device__ __forceinline__ PersistentGradients(const BackwardVectorArguments &arguments, unsigned char *memory,
                                                   Shared &all)
        : a(arguments), shared(all), kept(*reinterpret_cast<Sums *>(memory)), warp(warp_index()) {
        const int warps = static_cast<int>(blockDim.x / warp_lanes);
        slot = reinterpret_cast<T *>(memory + sizeof(Sums)) + 2 * warp * tile;
        sums = static_cast<int>(divide_up(a.axis, softmax_block));
        own = static_cast<int>(block_in_cluster()) * warps + warp;
        left = static_cast<int>(a.axis) - own * tile;
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
            BackwardElements<Part> saved, gradients;
            shared.loaded[warp].wait(i & 1u);
            saved.load(slot, count(), minus_zeros<T>);
            gradients.load(slot + tile, count(), gradients_behind<T>(a));
            __syncwarp(); // all lanes have their elements
            load(i + 1);
            const SavedRow<float> row = saved_row(SavedAs::logits, a.log, a.scale, logsumexp, a.empty_row_zero);
            logsumexp = logsumexp_of(i + 1);
            float part = 0;
            const auto weights = weights_of<BackwardWeights<Part, FromLogits>>(
                a, saved, gradients, [&](int) { return row; },
                [&](int v) { return count() - (v * warp_lanes + lane_index()) * Part::run; }, AllElements(),
                TileTree<Part>(), part);
            write_gradients<FromLogits>(a, output_of(i), count() / Part::run - lane_index(), weights, gradients,
                                        AllElements(), row_total(i, part));
        }
    }

  private:
    __device__ __forceinline__ int count() const { return smaller(left, tile); } // elements of the warp's tile
    __device__ __forceinline__ std::size_t row_number(unsigned i) const {
        return first_row + static_cast<std::size_t>(i) * a.resident_clusters;
    }
    __device__ __forceinline__ int first_element() const { return own * tile; }

    __device__ __forceinline__ uint4 *output_of(unsigned i) const {
        T *const row = static_cast<T *>(a.input_gradient) + row_number(i) * a.axis;
        return reinterpret_cast<uint4 *>(row + first_element()) + lane_index();
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
            shared.loaded[warp].announce(2 * bytes_of(count()));
            shared.loaded[warp].copy_announced(slot, saved, bytes_of(count()));
            shared.loaded[warp].copy_announced(slot + tile, gradients, bytes_of(count()));
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
    T *slot;       // of its tile's saved elements, and gradients
    int sums, own; // of a row, and which of them is this warp's
    int left;      // elements of a row from this warp's first on
    std::uint32_t first_row, rows;
};

// a.cluster_blocks blocks of any number of warps form a cluster.
template <class T, bool FromLogits>
__global__ void __launch_bounds__(backward_persistent_block_warps(sizeof(T)) * warp_lanes, 1)
    backward_persistent(const __grid_constant__ BackwardVectorArguments a) {
#if __CUDA_ARCH__ >= 900
    __shared__ typename PersistentGradients<T, FromLogits>::Shared shared;
    PersistentGradients<T, FromLogits> gradients(a, launched_memory(), shared);
    gradients.set_up();
    pdl_wait_and_release();
    synchronise_cluster(); // no block is written to before its barriers are set up,
    gradients.work();
    synchronise_cluster(); // nor after its end
#endif
}

} // namespace wr::cuda
