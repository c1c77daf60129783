// The gradient of softmax where outputs or logits, the outputs' gradient and the result are rows of whole 16-byte
// vectors of one type: both inputs in the registers of a block's or a cluster's warps, each read once.
#pragma once

#include "cuda/kernel_address.cuh"
#include "cuda/row_blocks.cuh"
#include "cuda/softmax_backward_vectors.h"
#include "numerics/softmax_backward.h"

namespace wr::cuda {

// Warps that a multiprocessor should hold: as many as leave nothing, or little, spilled, f32 rows having 64 registers
// of elements and 16-bit logits 48.
template <class T, int Warps, bool FromLogits>
inline constexpr int backward_resident_warps = sizeof(T) == 4 || (FromLogits && Warps == 8) ? 24 : 32;

// A warp's sum on its way to the blocks of its cluster.
struct alignas(16) SentSum {
    float sum;
    float unused[3];
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

// weight_of_difference where |d| is not below the exponential's reach: the product overflows, or is 0.
__device__ __forceinline__ float weight_beyond_reach(float d) {
    constexpr float large = 0x1p126f;
    static_assert(ExponentialConstants<float>::reach >= 4);
    return larger_with_nan(d, 0.0f) * large;
}

// The weights that a lane's logits stand for.
template <class T>
struct FormedWeights {
    float of[lane_elements];

    // What stands behind the end of the row becomes -0.
    __device__ __forceinline__ FormedWeights(const BackwardVectors<T> &logits, const SavedRow<float> &row, int count) {
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
            const int left = count / vector_elements<T> - lane_index();
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                of[i] = i / VectorPlaces<T>::run * warp_lanes < left ? of[i] : -0.0f;
            }
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

// The tree over up to 256 warps' sums, in every lane: a lane takes 2^k of them in a row.
__device__ __forceinline__ float tree_of_warps(const SentSum *sums, int count) {
    float mine = -0.0f;
    if (count <= warp_lanes) {
        if (lane_index() < count) {
            mine = sums[lane_index()].sum;
        }
    } else {
        constexpr int most = most_cluster_states / warp_lanes;
        const int run = count <= 2 * warp_lanes ? 2 : count <= 4 * warp_lanes ? 4 : most;
        float own[most];
#pragma unroll
        for (int i = 0; i < most; ++i) {
            own[i] = -0.0f;
            if (i < run && lane_index() * run + i < count) {
                own[i] = sums[lane_index() * run + i].sum;
            }
        }
        mine = run_sum<most, float>(own);
    }
    return tree_over_lanes<FloatSum<float>>(mine, warp_lanes);
}

// The word of two packed elements with the NaN that narrowing gives made the canonical one.
__device__ __forceinline__ unsigned canonical_nans(unsigned pair, unsigned canonical) {
    constexpr unsigned narrowed = 0x7FFF;
    pair = (pair & 0xFFFFu) == narrowed ? (pair & 0xFFFF0000u) | canonical : pair;
    return pair >> 16 == narrowed ? (pair & 0xFFFFu) | canonical << 16 : pair;
}

// Neighbouring results, NaN among them perhaps, as a vector.
__device__ __forceinline__ uint4 pack_with_nans(float *y, float) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        y[i] = is_nan(y[i]) ? __uint_as_float(canonical_nan_f32) : y[i];
    }
    return pack(y, float());
}
template <class Half>
__device__ __forceinline__ uint4 pack_with_nans(float *y, Half half) {
    constexpr unsigned canonical = std::is_same_v<Half, F16> ? 0x7E00u : 0x7FC0u;
    bool any = false;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        any = any || is_nan(y[i]);
    }
    uint4 vector = pack(y, half);
    if (any) {
        vector = {canonical_nans(vector.x, canonical), canonical_nans(vector.y, canonical),
                  canonical_nans(vector.z, canonical), canonical_nans(vector.w, canonical)};
    }
    return vector;
}

// Of log-softmax's outputs: their logarithms.
template <bool FromLogits, class T>
__device__ __forceinline__ auto weights_of(const BackwardVectorArguments &a, const BackwardVectors<T> &saved,
                                           std::size_t row, int count) {
    if constexpr (FromLogits) {
        // All that is formed waits for the last load: else the compiler forms weights of one vector before it asks for
        // the next.
        __syncwarp();
        const float logsumexp = row < a.rows ? a.logsumexp[row] : 0.0f;
        return FormedWeights<T>(saved, saved_row(SavedAs::logits, a.scale, logsumexp, a.empty_row_zero), count);
    } else {
        return saved;
    }
}

// blockDim.y rows of up to `Warps` base blocks a block, or a row by a cluster of a.cluster_blocks blocks.
template <class T, int Warps, bool FromLogits>
__global__ void __launch_bounds__(Warps *warp_lanes, larger(backward_resident_warps<T, Warps, FromLogits> / Warps, 1))
    backward_vectors(const __grid_constant__ BackwardVectorArguments a) {
    using Places = VectorPlaces<T>;
    static_assert(backward_most_row_blocks <= most_cluster_states);
    __shared__ SentSum sums_of_block[most_cluster_states];
    __shared__ ArrivalBarrier arrivals;
    const bool by_cluster = a.cluster_blocks > 1;
    const int warps = static_cast<int>(blockDim.x / warp_lanes);
    if (by_cluster) {
        if (threadIdx.x == 0) {
            arrivals.expect(static_cast<unsigned>(a.cluster_blocks * warps) * static_cast<unsigned>(sizeof(SentSum)));
        }
        join_cluster();
    }
    take_place_on_stream();
    // Behind the row's end terms are -0: -0 times 0, or gradients of -0.
    constexpr unsigned minus_zero = sizeof(T) == 4 ? 0x80000000u : 0x80008000u;
    BackwardVectors<T> saved, gradients;
    const RowBlock from(a.cluster_blocks);
    const int count = from.row < a.rows ? from.count(a.axis) : 0;
    saved.load(from.in<T>(a.saved, a.outer_stride), count, minus_zero);
    gradients.load(from.in<T>(a.output_gradient, a.gradient_outer_stride), count, a.log ? minus_zero : 0u);
    const auto weights = weights_of<FromLogits>(a, saved, from.row, count);
    float total = a.log ? tree_of_terms<Places>([&](int i) { return gradients[i]; })
                        : tree_of_terms<Places>([&](int i) { return weights[i] * gradients[i]; });
    if (by_cluster) {
        await_cluster();
        if (lane_index() < a.cluster_blocks) {
            const RowBlock own(a.cluster_blocks);
            arrivals.send(static_cast<unsigned>(lane_index()), sums_of_block + own.block, SentSum{total, {0, 0, 0}});
        }
        arrivals.wait();
        total = tree_of_warps(sums_of_block, warps * a.cluster_blocks);
    } else if (warps > 1) {
        SentSum *sums = sums_of_block + static_cast<int>(threadIdx.y) * warps;
        if (lane_index() == 0) {
            sums[warp_index()].sum = total;
        }
        __syncthreads();
        total = tree_of_warps(sums, warps);
    }
    const RowBlock to(a.cluster_blocks);
    uint4 *mine =
        reinterpret_cast<uint4 *>(static_cast<T *>(a.input_gradient) + to.row * a.axis + to.first) + lane_index();
    const int vectors = (to.row < a.rows ? to.count(a.axis) : 0) / vector_elements<T> - lane_index();
#pragma unroll
    for (int v = 0; v < lane_vectors<T>; ++v) {
        if (v * warp_lanes < vectors) {
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
                for (int j = 0; j < Places::run; ++j) {
                    y[j] = y[j] * a.scale;
                }
            }
            store_vector(mine + v * warp_lanes, pack_with_nans(y, T()));
        }
    }
}

template <class T, bool FromLogits>
const void *widest_backward_vectors() {
    if constexpr (sizeof(T) == 2) {
        return address_of(backward_vectors<T, 32, FromLogits>);
    }
    return nullptr;
}

template <class T>
const BackwardVectorKernels &backward_vector_kernels() {
    static const BackwardVectorKernels kernels{
        {{address_of(backward_vectors<T, 8, false>), address_of(backward_vectors<T, 16, false>),
          widest_backward_vectors<T, false>()},
         {address_of(backward_vectors<T, 8, true>), address_of(backward_vectors<T, 16, true>),
          widest_backward_vectors<T, true>()}},
        static_cast<int>(sizeof(T))};
    return kernels;
}

} // namespace wr::cuda
