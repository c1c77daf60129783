// What a warp does with its tile in the gradient of softmax where outputs or logits, the outputs' gradient and
// the result are rows of neighbouring elements of one type.
#pragma once

#include "cuda/device/mbarrier.cuh"
#include "cuda/rowwise/row_tiles.cuh"
#include "cuda/softmax_backward/pack.cuh"
#include "cuda/softmax_backward/recomputed_weights.cuh"

namespace wr::cuda {

// A warp's sum on its way to the blocks of its cluster: as much as one store brings.
struct alignas(8) SentSum {
    float sum, unused;
};

// The first step of the trees below, of a lane's vectors that come to these sums: each with the one half of them
// behind.
template <int Vectors>
__device__ __forceinline__ void exchange_vectors(const float (&sums)[Vectors], float (&pairs)[Vectors / 2]) {
#pragma unroll
    for (int v = 0; v < Vectors / 2; ++v) {
        pairs[v] = exchange_pair<FloatSum<float>, 0>(sums[v], sums[v + Vectors / 2]);
    }
}

// The natural tree over a tile, of which a lane's vectors come to these sums, in every lane.
template <int Vectors>
__device__ __forceinline__ float tree_of_vectors(const float (&sums)[Vectors]) {
    float pairs[Vectors / 2];
    exchange_vectors(sums, pairs);
    return warp_tree<FloatSum<float>, 1>(pairs);
}

// The same of a tile whose element i of this lane is term(i). (Vectors' sums in order would spill in 16-bit rows
// off the boundaries.)
template <class Load, class Term>
__device__ __forceinline__ float tree_of_terms(Term term) {
    constexpr int half = lane_elements / Load::run / 2;
    float pairs[half];
#pragma unroll
    for (int run = 0; run < half; ++run) {
        float low[Load::run], high[Load::run];
#pragma unroll
        for (int i = 0; i < Load::run; ++i) {
            low[i] = term(run * Load::run + i);
            high[i] = term((run + half) * Load::run + i);
        }
        pairs[run] = exchange_pair<FloatSum<float>, 0>(run_sum<Load::run, float>(low), run_sum<Load::run, float>(high));
    }
    return warp_tree<FloatSum<float>, 1>(pairs);
}

// Of up to 256 warps' sums, how many a lane takes: neighbours, 2^k of them.
__device__ __forceinline__ int log_sums_a_lane(int count) {
    return count <= warp_lanes ? 0 : count <= 2 * warp_lanes ? 1 : count <= 4 * warp_lanes ? 2 : 3;
}

// Where the sum of one of `count` warps is kept: neighbours a whole warp apart, so that its lanes meet no other in a
// bank of shared memory.
__device__ __forceinline__ int place_of_sum(int warp, int count) {
    const int log_run = log_sums_a_lane(count);
    return ((warp & ((1 << log_run) - 1)) * warp_lanes) + (warp >> log_run);
}

// The tree over up to 256 warps' sums, in every lane.
__device__ __forceinline__ float tree_of_warps(const SentSum *sums, int count) {
    float mine = -0.0f;
    if (count <= warp_lanes) {
        if (lane_index() < count) {
            mine = sums[lane_index()].sum;
        }
    } else {
        constexpr int most = most_cluster_states / warp_lanes;
        const int log_run = log_sums_a_lane(count);
        float own[most];
#pragma unroll
        for (int i = 0; i < most; ++i) {
            own[i] = -0.0f;
            if (i < 1 << log_run && (lane_index() << log_run) + i < count) {
                own[i] = sums[i * warp_lanes + lane_index()].sum;
            }
        }
        mine = run_sum<most, float>(own);
    }
    return tree_over_lanes<FloatSum<float>>(mine, warp_lanes);
}

// Where the sums of the warps that share a row (cuda/rowwise/row_tiles.cuh) meet.
struct RowSums {
    SentSum all[most_cluster_states]; // of the row, or of the block's rows
    Mbarrier arrivals;

    __device__ __forceinline__ static int row_warps() { return static_cast<int>(blockDim.x / warp_lanes); }

    __device__ __forceinline__ void prepare(std::int32_t cluster_blocks) {
        if (cluster_blocks > 1) {
            if (threadIdx.x == 0) {
                arrivals.expect(static_cast<unsigned>(cluster_blocks * row_warps()) *
                                static_cast<unsigned>(sizeof(SentSum)));
            }
            join_cluster();
        }
    }

    // The row's sum, of which this warp brings its part, in every lane.
    __device__ __forceinline__ float total(std::int32_t cluster_blocks, float part) {
        const int warps = row_warps();
        if (cluster_blocks > 1) {
            await_cluster();
            if (lane_index() < cluster_blocks) {
                const RowTile own(cluster_blocks);
                arrivals.send(static_cast<unsigned>(lane_index()),
                              all + place_of_sum(own.block, warps * cluster_blocks), SentSum{part, 0});
            }
            arrivals.wait();
            return tree_of_warps(all, warps * cluster_blocks);
        }
        if (warps == 1) {
            return part;
        }
        SentSum *sums = all + static_cast<int>(threadIdx.y) * warps;
        if (lane_index() == 0) {
            sums[warp_index()].sum = part;
        }
        __syncthreads();
        return tree_of_warps(sums, warps);
    }
};

// What a lane's gradients are multiplied by: formed from its logits, or saved (of log-softmax: the logarithms).
template <class T, bool FromLogits>
using BackwardWeights = std::conditional_t<FromLogits, FormedWeights<T>, BackwardVectors<T>>;

// A tile's part of what its row's gradients share, in every lane.
template <class T, class Weights>
__device__ __forceinline__ float block_total(const BackwardVectorArguments &a, const Weights &weights,
                                             const BackwardVectors<T> &gradients) {
    using Load = VectorLoad<T>;
    return a.log ? tree_of_terms<Load>([&](int i) { return gradients[i]; })
                 : tree_of_terms<Load>([&](int i) { return weights[i] * gradients[i]; });
}

// A lane's part of that from its vector v, whose weights these are.
template <class T>
__device__ __forceinline__ float vector_sum(const BackwardVectorArguments &a, int v,
                                            const float (&weights)[VectorLoad<T>::run],
                                            const BackwardVectors<T> &gradients) {
    constexpr int run = VectorLoad<T>::run;
    float terms[run];
#pragma unroll
    for (int i = 0; i < run; ++i) {
        const float gradient = gradients[v * run + i];
        terms[i] = a.log ? gradient : weights[i] * gradient;
    }
    return run_sum<run, float>(terms);
}

// The same of weights that are formed of a block's logits, of which the first `count` are there, and deferred.
template <class T>
__device__ __forceinline__ float buffer_tile(const BackwardVectorArguments &a, const BackwardVectors<T> &logits,
                                             const SavedRow<float> &row, int count, const BufferedWeights<T> &deferred,
                                             const BackwardVectors<T> &gradients) {
    constexpr int run = VectorLoad<T>::run;
    float sums[lane_vectors<T>];
#pragma unroll
    for (int v = 0; v < lane_vectors<T>; ++v) {
        float weights[run];
        deferred.form(logits, row, v, count - (v * warp_lanes + lane_index()) * run, weights);
        sums[v] = vector_sum(a, v, weights, gradients);
    }
    return tree_of_vectors(sums);
}

// Vector v of the inputs' gradients.
template <bool FromLogits, class T, class Weights>
__device__ __forceinline__ uint4 gradient_vector(const BackwardVectorArguments &a, int v, const Weights &weights,
                                                 const BackwardVectors<T> &gradients, float total) {
    constexpr int run = VectorLoad<T>::run;
    float y[run];
    const auto own = weights.of_vector(v);
    if (a.log) {
#pragma unroll
        for (int i = 0; i < run; ++i) {
            const float weight = FromLogits ? own[i] : weight_of_difference(own[i], 0.0f);
            y[i] = softmax_gradient(true, weight, gradients[v * run + i], total);
        }
        if (FromLogits && a.empty_row_zero) {
#pragma unroll
            for (int i = 0; i < run; ++i) {
                y[i] = unless_nothing_was_left<float>(own[i], y[i]);
            }
        }
    } else {
#pragma unroll
        for (int i = 0; i < run; ++i) {
            y[i] = softmax_gradient(false, own[i], gradients[v * run + i], total);
        }
    }
    if (a.scale != 1.0f) {
#pragma unroll
        for (float &one : y) {
            one = one * a.scale;
        }
    }
    return pack_with_nans(y, T());
}

// The inputs' gradients, to `mine` and every 32nd vector behind it, of which `vectors` are the row's.
template <bool FromLogits, class T, class Weights>
__device__ __forceinline__ void write_gradients(const BackwardVectorArguments &a, uint4 *mine, int vectors,
                                                const Weights &weights, const BackwardVectors<T> &gradients,
                                                float total) {
#pragma unroll
    for (int v = 0; v < lane_vectors<T>; ++v) {
        if (v * warp_lanes < vectors) {
            store_vector(mine + v * warp_lanes, gradient_vector<FromLogits>(a, v, weights, gradients, total));
        }
    }
}

// The first `count` of them, to any address.
template <bool FromLogits, class T, class Weights>
__device__ __forceinline__ void write_gradients_anywhere(const BackwardVectorArguments &a, T *to, int count,
                                                         const Weights &weights, const BackwardVectors<T> &gradients,
                                                         float total) {
    uint4 vectors[lane_vectors<T>];
#pragma unroll
    for (int v = 0; v < lane_vectors<T>; ++v) {
        vectors[v] = gradient_vector<FromLogits>(a, v, weights, gradients, total);
    }
    if (count > 0) {
        store_realigned(to, count, vectors);
    }
}

} // namespace wr::cuda
