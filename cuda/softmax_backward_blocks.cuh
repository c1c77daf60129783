// What a warp does with its base block in the gradient of softmax where outputs or logits, the outputs' gradient and
// the result are rows of neighbouring elements of one type.
#pragma once

#include "cuda/arrival_barrier.cuh"
#include "cuda/row_blocks.cuh"
#include "cuda/softmax_backward_pack.cuh"
#include "cuda/softmax_backward_vectors.h"
#include "cuda/softmax_backward_weights.cuh"
#include "cuda/softmax_realigned.cuh"

namespace wr::cuda {

// A warp's sum on its way to the blocks of its cluster: as much as one store brings.
struct alignas(8) SentSum {
    float sum, unused;
};

// A lane's elements of a base block, as they lie in memory.
template <class T>
struct BackwardVectors {
    using Places = VectorPlaces<T>;
    uint4 vectors[lane_vectors<T>];

    // What stands behind the end of a row is `behind` over and over.
    __device__ __forceinline__ void load(const T *data, int count, unsigned behind) {
        const uint4 *mine = reinterpret_cast<const uint4 *>(data) + lane_index();
        const int left = count / vector_elements<T> - lane_index();
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            vectors[v] = uint4{behind, behind, behind, behind};
            if (v * warp_lanes < left) {
                vectors[v] = load_vector(mine + v * warp_lanes);
            }
        }
    }

    // The same of elements anywhere.
    __device__ __forceinline__ void load_anywhere(const Hull &hull, const T *data, int count, unsigned behind) {
        constexpr int elements = vector_elements<T>;
        if (count > 0) {
            load_realigned(data, count, hull, vectors);
        }
        if (count < static_cast<int>(softmax_block)) {
#pragma unroll
            for (int v = 0; v < lane_vectors<T>; ++v) {
                const int left = count - (v * warp_lanes + lane_index()) * elements;
                T kept[elements];
                memcpy(kept, vectors + v, sizeof(uint4));
#pragma unroll
                for (int i = 0; i < elements; ++i) {
                    if (i >= left) {
                        memcpy(kept + i, &behind, sizeof(T));
                    }
                }
                memcpy(vectors + v, kept, sizeof(uint4));
            }
        }
    }

    __device__ __forceinline__ float operator[](int i) const {
        const uint4 vector = vectors[i / Places::run];
        const unsigned words[4] = {vector.x, vector.y, vector.z, vector.w};
        if constexpr (sizeof(T) == 4) {
            return __uint_as_float(words[i % 4]);
        } else {
            return widen(T{static_cast<std::uint16_t>(words[i % 8 / 2] >> (i % 2 * 16))});
        }
    }
};

// What stands behind the end of a row, over and over: of outputs or logits, and of their gradients. Terms are -0 there:
// -0 times 0, or gradients of -0.
template <class T>
inline constexpr unsigned minus_zeros = sizeof(T) == 4 ? 0x80000000u : 0x80008000u;
template <class T>
__device__ __forceinline__ unsigned gradients_behind(const BackwardVectorArguments &a) {
    return a.log ? minus_zeros<T> : 0u;
}

// The weights that a lane's logits stand for.
template <class T>
struct FormedWeights {
    float of[lane_elements];

    // What stands behind the end of the row becomes -0.
    __device__ __forceinline__ void form(const BackwardVectors<T> &logits, const SavedRow<float> &row, int count) {
#pragma unroll
        for (int first = 0; first < lane_elements; first += VectorPlaces<T>::run) {
            form_run(logits, row, first);
        }
        if (row.logsumexp - row.logsumexp != 0.0f) {
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                of[i] = row.special;
            }
        }
        if (count < static_cast<int>(softmax_block)) {
            constexpr int run = VectorPlaces<T>::run;
            const int left = count - lane_index() * run;
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                of[i] = i / run * warp_lanes * run + i % run < left ? of[i] : -0.0f;
            }
        }
    }

    // Those of vector v, of a row of its own; -0 where there is none.
    __device__ __forceinline__ void form_vector(const BackwardVectors<T> &logits, const SavedRow<float> &row, int v,
                                                bool filled) {
        constexpr int run = VectorPlaces<T>::run;
        form_run(logits, row, v * run);
        if (row.logsumexp - row.logsumexp != 0.0f) {
#pragma unroll
            for (int i = 0; i < run; ++i) {
                of[v * run + i] = row.special;
            }
        }
#pragma unroll
        for (int i = 0; i < run; ++i) {
            of[v * run + i] = filled ? of[v * run + i] : -0.0f;
        }
    }

    __device__ __forceinline__ float operator[](int i) const { return of[i]; }

  private:
    // One branch a run, which is seldom taken.
    __device__ __forceinline__ void form_run(const BackwardVectors<T> &logits, const SavedRow<float> &row, int first) {
        constexpr float reach = ExponentialConstants<float>::reach;
        bool within = true;
#pragma unroll
        for (int i = first; i < first + VectorPlaces<T>::run; ++i) {
            const LogitDifference<float> less = logit_difference(row.scale, row.logsumexp, logits[i]);
            within = within && fabsf(less.high) < reach;
            of[i] = weight_within_reach(less.high, less.low);
        }
        if (!within) {
#pragma unroll
            for (int i = first; i < first + VectorPlaces<T>::run; ++i) {
                const float d = logit_difference(row.scale, row.logsumexp, logits[i]).high;
                of[i] = fabsf(d) < reach ? of[i] : weight_beyond_reach(d);
            }
        }
    }
};

// The natural tree over a base block whose element i of this lane is term(i), in every lane.
template <class Places, class Term>
__device__ __forceinline__ float tree_of_terms(Term term) {
    constexpr int half = lane_elements / Places::run / 2;
    float sums[half];
#pragma unroll
    for (int run = 0; run < half; ++run) {
        float low[Places::run], high[Places::run];
#pragma unroll
        for (int i = 0; i < Places::run; ++i) {
            low[i] = term(run * Places::run + i);
            high[i] = term((run + half) * Places::run + i);
        }
        sums[run] =
            exchange_pair<FloatSum<float>, 0>(run_sum<Places::run, float>(low), run_sum<Places::run, float>(high));
    }
    return warp_tree<FloatSum<float>, 1>(sums);
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

// Where the sums of the warps that share a row (cuda/row_blocks.cuh) meet.
struct RowSums {
    SentSum all[most_cluster_states]; // of the row, or of the block's rows
    ArrivalBarrier arrivals;

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
                const RowBlock own(cluster_blocks);
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

// A base block's part of what its row's gradients share, in every lane.
template <class T, class Weights>
__device__ __forceinline__ float block_total(const BackwardVectorArguments &a, const Weights &weights,
                                             const BackwardVectors<T> &gradients) {
    using Places = VectorPlaces<T>;
    return a.log ? tree_of_terms<Places>([&](int i) { return gradients[i]; })
                 : tree_of_terms<Places>([&](int i) { return weights[i] * gradients[i]; });
}

// Vector v of the inputs' gradients.
template <bool FromLogits, class T, class Weights>
__device__ __forceinline__ uint4 gradient_vector(const BackwardVectorArguments &a, int v, const Weights &weights,
                                                 const BackwardVectors<T> &gradients, float total) {
    using Places = VectorPlaces<T>;
    float y[Places::run];
    if (a.log) {
#pragma unroll
        for (int j = 0; j < Places::run; ++j) {
            const int i = v * Places::run + j;
            const float weight = FromLogits ? weights[i] : weight_of_difference(weights[i], 0.0f);
            y[j] = softmax_gradient(true, weight, gradients[i], total);
        }
    } else {
#pragma unroll
        for (int j = 0; j < Places::run; ++j) {
            const int i = v * Places::run + j;
            y[j] = softmax_gradient(false, weights[i], gradients[i], total);
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
