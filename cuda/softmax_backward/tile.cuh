// What a warp does with its tile in the gradient of softmax where outputs or logits, the outputs' gradient and
// the result are rows of neighbouring elements of one type.
#pragma once

#include "cuda/device/barriers.cuh"
#include "cuda/rowwise/row_tiles.cuh"
#include "cuda/softmax_backward/load.cuh"
#include "cuda/softmax_backward/pack.cuh"
#include "cuda/softmax_backward/weights.cuh"

namespace wr::cuda {

// A warp's sum on its way to the blocks of its cluster: as much as one store brings.
struct alignas(8) SentSum {
    float sum, unused;
};

// The sum of access v, whose elements bring term(i).
template <class Part, class Term>
__device__ __forceinline__ float access_sum(int v, Term term) {
    float terms[Part::run];
#pragma unroll
    for (int i = 0; i < Part::run; ++i) {
        terms[i] = term(v * Part::run + i);
    }
    return run_sum<Part::run, float>(terms);
}

// The first step of the exchange over accesses' sums. (All sums before it would spill in 16-bit rows off the
// boundaries.)
template <class Part, class SumOf>
__device__ __forceinline__ void exchange_sums(SumOf sum_of, float (&pairs)[Part::accesses / 2]) {
    constexpr int half = Part::accesses / 2;
#pragma unroll
    for (int v = 0; v < half; ++v) {
        pairs[v] = exchange_pair<FloatSum<float>, 0>(sum_of(v), sum_of(v + half));
    }
}

// The natural tree over a tile of a row, in every lane.
template <class Part>
struct TileTree {
    template <class SumOf>
    __device__ __forceinline__ float operator()(SumOf sum_of) const {
        if constexpr (Part::accesses == 1) {
            return tree_over_lanes<FloatSum<float>>(sum_of(0), warp_lanes);
        } else {
            float pairs[Part::accesses / 2];
            exchange_sums<Part>(sum_of, pairs);
            return warp_tree<FloatSum<float>, 1>(pairs);
        }
    }
};

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

// What a lane's gradients are multiplied by: formed from its logits, in registers or in shared memory, or saved (of
// log-softmax: the logarithms). Those of small parts of a tile are formed while the outputs' gradients are on their
// way, of log-softmax, too (H200, 1024 x 1024 f32 log 3.20 us, else 3.76; but of half tiles 16384 x 128 4.6 and 4.3).
template <class Part>
struct EarlyWeights : FormedWeights<Part> {};
template <class Part, bool FromLogits, bool Buffered = false>
using BackwardWeights =
    std::conditional_t<FromLogits, std::conditional_t<Buffered, BufferedWeights<Part>, FormedWeights<Part>>,
                       std::conditional_t<Part::tile <= static_cast<int>(backward_quarter_tile), EarlyWeights<Part>,
                                          BackwardElements<Part>>>;

// Of what was saved.
template <class Part>
__device__ __forceinline__ EarlyWeights<Part> early_weights(bool log, const BackwardElements<Part> &saved) {
    EarlyWeights<Part> weights;
    if (log) {
#pragma unroll
        for (int v = 0; v < Part::accesses; ++v) {
            form_weights<Part::run>([&](int i) { return saved[v * Part::run + i]; }, weights.of + v * Part::run);
        }
        return weights;
    }
#pragma unroll
    for (int i = 0; i < Part::elements; ++i) {
        weights.of[i] = saved[i];
    }
    return weights;
}

// What elements bring to their rows' sums, in the lanes that hold these: tree(sum_of) is the natural tree over the sums
// of accesses.
template <class Part, class Weights, class Tree>
__device__ __forceinline__ float total_of(const BackwardVectorArguments &a, const Weights &weights,
                                          const BackwardElements<Part> &gradients, Tree tree) {
    return a.log ? tree([&](int v) { return access_sum<Part>(v, [&](int i) { return gradients[i]; }); })
                 : tree([&](int v) { return access_sum<Part>(v, [&](int i) { return weights[i] * gradients[i]; }); });
}

// The weights, and those sums. row_of(v) is the row of access v, of which left(v) elements are there; of these the
// weights of others than `kept` become -0.
template <class Weights, class Part, class Row, class Left, class Kept, class Tree>
__device__ __forceinline__ Weights weights_of(const BackwardVectorArguments &a, const BackwardElements<Part> &saved,
                                              const BackwardElements<Part> &gradients, Row row_of, Left left,
                                              const Kept &kept, Tree tree, float &total) {
    if constexpr (std::is_same_v<Weights, BackwardElements<Part>>) {
        total = total_of(a, saved, gradients, tree);
        return saved;
    } else if constexpr (std::is_same_v<Weights, EarlyWeights<Part>>) {
        __syncwarp(); // all has been asked for
        const Weights weights = early_weights(a.log, saved);
        total = total_of(a, weights, gradients, tree);
        return weights;
    } else {
        // All that is formed waits for the last load: else the compiler forms weights of one vector before it asks for
        // the next.
        __syncwarp();
        Weights weights;
        if constexpr (std::is_same_v<Weights, BufferedWeights<Part>>) {
            total = tree([&](int v) {
                float own[Part::run];
                form_run<Part::run>(saved.of_access(v), row_of(v), left(v), own);
                kept.keep(v, own);
                weights.keep(v, own);
                return access_sum<Part>(
                    v, [&](int i) { return a.log ? gradients[i] : own[i % Part::run] * gradients[i]; });
            });
        } else {
#pragma unroll
            for (int v = 0; v < Part::accesses; ++v) {
                float *const own = weights.of + v * Part::run;
                form_run<Part::run>(saved.of_access(v), row_of(v), left(v), own);
                kept.keep(v, own);
            }
            total = total_of(a, weights, gradients, tree);
        }
        return weights;
    }
}

// The sum that all elements of an access have, where others have one each.
struct OneForAll {
    float value;

    __device__ __forceinline__ float operator[](int) const { return value; }
};

// Log-softmax's gradients of an access, before the scale. (More weights at a time would spill.)
template <bool FromLogits, int Run, class Weights, class Gradients, class Totals>
__device__ __forceinline__ void form_log_gradients(const BackwardVectorArguments &a, const Weights &weights,
                                                   const Gradients &gradients, const Totals &totals, float (&y)[Run]) {
    constexpr int at_once = Run < 4 ? Run : 4;
#pragma unroll
    for (int first = 0; first < Run; first += at_once) {
        float weight[at_once];
        if constexpr (FromLogits || std::is_pointer_v<Weights>) { // formed already
#pragma unroll
            for (int i = 0; i < at_once; ++i) {
                weight[i] = weights[first + i];
            }
        } else {
            form_weights<at_once>([&](int i) { return weights[first + i]; }, weight);
        }
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
            y[first + i] = softmax_gradient(true, weight[i], gradients[first + i], totals[first + i]);
        }
    }
    if (FromLogits && a.empty_row_zero) {
#pragma unroll
        for (int i = 0; i < Run; ++i) {
            y[i] = unless_nothing_was_left<float>(weights[i], y[i]);
        }
    }
}

// The gradients of access v's elements, totals[i] being the sum of element i's row.
template <bool FromLogits, class Part, class Weights, class Totals>
__device__ __forceinline__ typename Part::Access
gradients_of(const BackwardVectorArguments &a, int v, const Weights &weights, const BackwardElements<Part> &gradients,
             const Totals &totals) {
    constexpr int run = Part::run;
    float y[run];
    const auto own = weights.of_access(v);
    if (a.log) {
        form_log_gradients<FromLogits>(a, own, gradients.of_access(v), totals, y);
    } else {
#pragma unroll
        for (int i = 0; i < run; ++i) {
            y[i] = softmax_gradient(false, own[i], gradients[v * run + i], totals[i]);
        }
    }
    if (a.scale != 1.0f) {
#pragma unroll
        for (float &one : y) {
            one = one * a.scale;
        }
    }
    if constexpr (run == 1) {
        return narrow_with_nan(y[0], typename Part::T());
    } else {
        return pack_with_nans(y, typename Part::T());
    }
}

// The gradients of a tile, of whose accesses `left` are the row's from this lane's first, `mine`, on; 0 for what is not
// kept.
template <bool FromLogits, class Part, class Weights, class Kept>
__device__ __forceinline__ void write_gradients(const BackwardVectorArguments &a, typename Part::Access *mine, int left,
                                                const Weights &weights, const BackwardElements<Part> &gradients,
                                                const Kept &kept, float total) {
#pragma unroll
    for (int v = 0; v < Part::accesses; ++v) {
        if (v * warp_lanes < left) {
            const typename Part::Access all = gradients_of<FromLogits>(a, v, weights, gradients, OneForAll{total});
            store_access_if(true, mine + v * warp_lanes, kept.only(v, all, 0));
        }
    }
}

// The first `count` of them, to any address.
template <bool FromLogits, class Part, class Weights>
__device__ __forceinline__ void write_gradients_anywhere(const BackwardVectorArguments &a, typename Part::T *to,
                                                         int count, const Weights &weights,
                                                         const BackwardElements<Part> &gradients, float total) {
    uint4 vectors[Part::accesses];
#pragma unroll
    for (int v = 0; v < Part::accesses; ++v) {
        vectors[v] = gradients_of<FromLogits>(a, v, weights, gradients, OneForAll{total});
    }
    if (count > 0) {
        store_realigned(to, count, vectors);
    }
}

} // namespace wr::cuda
