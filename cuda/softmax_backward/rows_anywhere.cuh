// The gradient of softmax of f32 rows anywhere, which lie as far off the boundaries in all arrays: a row by a block or
// a cluster, which reads and writes it by the vectors on the boundaries. What elements bring to the row's sum goes
// through shared memory, where tiles begin with the row.
#pragma once

#include "cuda/device/intrinsics.cuh"
#include "cuda/softmax_backward/terms.cuh"
#include "cuda/softmax_backward/vector_run.cuh"

namespace wr::cuda {

// A row, and which of its tiles a warp has. Made again where it is wanted again, as RowTileOf is.
struct RowRun : VectorRun<float> {
    static constexpr int warp_vectors = static_cast<int>(softmax_block) / each;
    std::size_t row;
    int tile;

    __device__ __forceinline__ explicit RowRun(const BackwardVectorArguments &a) {
        const RowTile own(a.cluster_blocks);
        row = own.row;
        tile = own.block;
        begin = elements_of_vector_before(saved_of(a));
        end = row < a.rows ? begin + static_cast<int>(a.axis) : 0;
        cut_low = begins_before(saved_of(a), a.saved_range) || begins_before(gradients_of(a), a.gradient_range);
        cut_high = ends_behind(saved_of(a), a.saved_range) || ends_behind(gradients_of(a), a.gradient_range);
    }

    // Its vectors `number`, number + 32 and so on of both arrays.
    template <class Elements>
    __device__ __forceinline__ void load(const BackwardVectorArguments &a, int number, Elements &saved,
                                         Elements &gradients) const {
        VectorRun::load(saved_of(a), number, warp_lanes, saved.of);
        VectorRun::load(gradients_of(a), number, warp_lanes, gradients.of);
        if (cut_low || cut_high) {
            load_ends(saved_of(a), number, warp_lanes, saved.of);
            load_ends(gradients_of(a), number, warp_lanes, gradients.of);
        }
    }

    // The number of this lane's first vector of the tile.
    __device__ __forceinline__ int number() const { return tile * warp_vectors + lane_index(); }

  private:
    __device__ __forceinline__ const float *saved_of(const BackwardVectorArguments &a) const {
        return static_cast<const float *>(a.saved) + static_cast<std::ptrdiff_t>(row) * a.outer_stride;
    }
    __device__ __forceinline__ const float *gradients_of(const BackwardVectorArguments &a) const {
        return static_cast<const float *>(a.output_gradient) +
               static_cast<std::ptrdiff_t>(row) * a.gradient_outer_stride;
    }

    __device__ __forceinline__ bool begins_before(const float *first, const ReadableRange &range) const {
        return reinterpret_cast<const char *>(first - begin) < range.begin;
    }
    __device__ __forceinline__ bool ends_behind(const float *first, const ReadableRange &range) const {
        return reinterpret_cast<const char *>(first - begin + divide_up(end, each) * each) > range.end;
    }
};

// What the accesses of a lane stand for: the weights themselves, or formed from a row's logits.
template <bool FromLogits, class Part>
using WeightsAnywhere = std::conditional_t<FromLogits, FormedWeights<Part>, BackwardElements<Part>>;
template <bool FromLogits, class Part>
__device__ __forceinline__ WeightsAnywhere<FromLogits, Part> weights_anywhere(const SavedRow<float> &row,
                                                                              const BackwardElements<Part> &saved) {
    if constexpr (FromLogits) {
        FormedWeights<Part> weights;
#pragma unroll
        for (int v = 0; v < Part::accesses; ++v) {
            form_run<Part::run>(saved.of_access(v), row, Part::run, weights.of + v * Part::run);
        }
        return weights;
    } else {
        return saved;
    }
}

// The terms of the vector behind the block's, of which its last tile has the first elements.
template <bool FromLogits>
__device__ __forceinline__ void store_next_terms(const BackwardVectorArguments &a, const SavedRow<float> &row,
                                                 float *terms) {
    using Part = LanePart<float, 1, VectorRun<float>::each>;
    BackwardElements<Part> saved, gradients;
    const RowRun from(a);
    from.load(a, (from.tile + 1) * RowRun::warp_vectors, saved, gradients);
    const auto weights = weights_anywhere<FromLogits>(row, saved);
    store_terms<Part::run>(terms, RowSums::row_warps() * RowRun::warp_vectors, a.log, weights.of_access(0),
                           gradients.of_access(0));
}

inline constexpr int rows_anywhere_registers = 96; // 80 would spill (4096 x 50257 649 us, so 925)

template <bool FromLogits>
__global__ void __maxnreg__(rows_anywhere_registers)
    backward_anywhere(const __grid_constant__ BackwardVectorArguments a) {
    using Part = WholeTile<float>;
    __shared__ RowSums sums;
    sums.prepare(a.cluster_blocks);
    pdl_wait_and_release();
    const int warps = RowSums::row_warps();
    float *const terms = reinterpret_cast<float *>(launched_memory()) +
                         static_cast<int>(threadIdx.y) * warps * static_cast<int>(backward_warp_terms);
    BackwardElements<Part> saved, gradients;
    SavedRow<float> row{};
    {
        const RowRun from(a);
        from.load(a, from.number(), saved, gradients);
        if constexpr (FromLogits) {
            const float logsumexp = from.end != 0 ? a.logsumexp[from.row] : 0.0f;
            row = saved_row(SavedAs::logits, a.log, a.scale, logsumexp, a.empty_row_zero);
        }
    }
    __syncwarp(); // all has been asked for
    auto weights = weights_anywhere<FromLogits>(row, saved);
#pragma unroll
    for (int v = 0; v < Part::accesses; ++v) {
        const int number = warp_index() * RowRun::warp_vectors + v * warp_lanes + lane_index();
        store_terms<Part::run>(terms, number, a.log, weights.of_access(v), gradients.of_access(v));
    }
    if (warp_index() == warps - 1 && lane_index() == 0) {
        store_next_terms<FromLogits>(a, row, terms);
    }
    __syncthreads();
    const RowRun from(a);
    const int element = lane_index() * lane_elements;
    const float sum = sum_of_runs(terms, lane_elements / term_run, warp_index() * Part::tile + from.begin + element,
                                  from.end - from.begin - from.tile * Part::tile - element);
    const float total = sums.total(a.cluster_blocks, tree_over_lanes<FloatSum<float>>(sum, warp_lanes));
    take_again(weights);
    take_again(gradients);
    const RowRun to(a);
#pragma unroll
    for (int v = 0; v < Part::accesses; ++v) {
        to.store(static_cast<float *>(a.input_gradient) + to.row * a.axis, to.number() + v * warp_lanes,
                 gradients_of<FromLogits>(a, v, weights, gradients, OneForAll{total}));
    }
}

} // namespace wr::cuda
