// Softmax of 16-bit rows of whole 16-byte vectors that lengths or the causal limit cut off: the row in the registers of
// a block's or a cluster's warps. Those whose base blocks are left out write their outputs and end.
#pragma once

#include "cuda/row_barrier.cuh"
#include "cuda/softmax_selected.cuh"

namespace wr::cuda {

// The leading elements of a block; what stands behind them is anything at all.
template <class T>
struct CutPlaces : VectorPlaces<T> {
    static constexpr bool cut = true;
};

template <class T, class Places>
    requires Places::cut
__device__ __forceinline__ void load_block_vectors(const SoftmaxArguments &, const T *data, int count,
                                                   uint4 (&vectors)[lane_vectors<T>]) {
    constexpr int elements = vector_elements<T>;
    const uint4 *mine = reinterpret_cast<const uint4 *>(data) + lane_index();
    const int left = count - lane_index() * elements;
#pragma unroll
    for (int v = 0; v < lane_vectors<T>; ++v) {
        if (v * warp_lanes * elements < left) {
            vectors[v] = load_vector(mine + v * warp_lanes);
        }
    }
}

// No more than an axis of few base blocks.
__device__ __forceinline__ int cut_off(int axis, std::int64_t limit) {
    const auto low = static_cast<std::uint32_t>(limit);
    const int high = static_cast<int>(limit >> 32);
    const int within = static_cast<int>(smaller(low, static_cast<std::uint32_t>(axis)));
    return high == 0 ? within : high < 0 ? 0 : axis;
}

// A warp's base block of a row that is cut off. All of it is known to be the same in all lanes.
struct CutBlock {
    std::uint32_t row;
    int row_of_block, row_warps; // which of the block's rows, and how many warps there are for each
    int block, blocks;           // of the row's base blocks with elements that take part
    int count;                   // of its elements take part; none where it is below 1

    // Lengths that come together when one is asked for.
    static constexpr std::uint32_t lengths_of_sector = 32 / sizeof(std::int64_t);

    // Of a row that exists, the block's number `of_rows`.
    __device__ __forceinline__ CutBlock(const SelectedSoftmaxArguments &a, std::uint32_t of_row, int of_rows,
                                        int of_block)
        : row(of_row), row_of_block(of_rows), row_warps(static_cast<int>(blockDim.x / warp_lanes)), block(of_block) {
        constexpr int whole = static_cast<int>(softmax_block);
        if (block == 0 && row % lengths_of_sector == 0) {
            ask_for_length_ahead(a, row);
        }
        int taken = static_cast<int>(a.axis);
        if (a.lengths != nullptr) {
            taken = cut_off(taken, a.lengths[row]);
        }
        if (a.causal) {
            taken = cut_off(taken, a.causal_first + row % a.causal_rows);
        }
        taken = same_in_warp(taken);
        blocks = blocks_of(taken);
        count = smaller(taken - block * whole, whole);
    }

    __device__ __forceinline__ static int blocks_of(int elements) {
        constexpr unsigned whole = softmax_block;
        return static_cast<int>((static_cast<unsigned>(elements) + whole - 1) / whole);
    }
    // Where it begins in rows that lie `stride` elements apart.
    template <class T>
    __device__ __forceinline__ T *in(T *array, std::ptrdiff_t stride) const {
        return array + static_cast<std::int64_t>(row) * stride + block * static_cast<int>(softmax_block);
    }
};

// Of a warp's base block, how many elements there are.
__device__ __forceinline__ int present(const SelectedSoftmaxArguments &a, const CutBlock &mine) {
    return smaller(static_cast<int>(a.axis) - mine.block * static_cast<int>(softmax_block),
                   static_cast<int>(softmax_block));
}

// A base block of a row of which nothing takes part.
template <class T>
__device__ __noinline__ void finish_empty_cut(const SelectedSoftmaxArguments &a, const CutBlock mine) {
    using Merge = StateMerge<float, typename SoftmaxArithmetic<T>::Sum>;
    const std::size_t first =
        mine.row * a.axis + static_cast<std::size_t>(mine.block) * static_cast<std::size_t>(softmax_block);
    store_special<float>(a, first, present(a, mine), RowKind::empty);
    if (wants_row_values(a) && mine.block == 0 && lane_index() == 0) {
        store_row_values(a, Merge::identity(), mine.row);
    }
}

// The outputs of a base block of an ordinary row of which nothing takes part.
template <class T, bool Log>
__device__ __forceinline__ void store_left_out(const SelectedSoftmaxArguments &a, const CutBlock &mine) {
    const uint4 vector = Log ? filler_vector<T>(false) : uint4(); // known here: no register holds zeros
    T *const outputs = mine.in(static_cast<T *>(a.output), static_cast<std::ptrdiff_t>(a.axis));
    uint4 *const to = reinterpret_cast<uint4 *>(outputs) + lane_index();
    const int left = present(a, mine) - lane_index() * vector_elements<T>;
#pragma unroll
    for (int v = 0; v < lane_vectors<T>; ++v) {
        if (v * warp_lanes * vector_elements<T> < left) {
            to[v * warp_lanes] = vector;
        }
    }
}

// The outputs of a block whose maximum, or whose row's, is unusual. Of a row that turns out to be of nothing but
// -infinity also those of the base blocks that were left out, by turns with the row's other warps: these have been
// written as an ordinary row's.
template <class T, bool ByCluster, class Sum>
__device__ __noinline__ void finish_unusual_cut(const SelectedSoftmaxArguments &a, CutBlock mine,
                                                const BlockState<float, Sum> *states) {
    const RowState<float, Sum> total = merge_any_states(states, mine.blocks);
    const float maximum = states[state_place(mine.block)].maximum;
    const bool empty = row_kind(total.maximum) == RowKind::empty;
    const int end = empty ? CutBlock::blocks_of(static_cast<int>(a.axis)) : mine.block + 1;
    if (empty && ByCluster) { // until those who wrote them have ended
        join_cluster();
        await_cluster();
    } else if (empty && mine.row_warps > mine.blocks) {
        wait_for_word_at_row_barrier(mine.row_of_block, mine.row_warps);
    }
    for (int block = mine.block; block < end; block += mine.blocks) {
        finish_unusual_selected<T, SelectedPlaces<T>>(a, RowBlock(mine.row, block), maximum, total);
    }
}

// Log-softmax of the first `taken` elements of a block of `count`.
template <class T, class Logits>
__device__ __forceinline__ void finish_cut_logarithms(const SelectedSoftmaxArguments &a, LogPieces<float> row,
                                                      T *output, int count, int taken, const Logits &x) {
    constexpr int elements = vector_elements<T>, distance = warp_lanes * elements;
    const float left_out = left_out_output<float>(RowKind::ordinary, true, a.empty_row_zero);
    uint4 vectors[lane_vectors<T>];
#pragma unroll
    for (int v = 0; v < lane_vectors<T>; ++v) {
        float y[elements];
        if (v * distance < taken) {
#pragma unroll
            for (int i = 0; i < elements; ++i) {
                const int at = v * elements + i;
                y[i] = log_softmax_output(a.scaled ? x[at] : x.plain_value(at), row);
            }
        }
        if ((v + 1) * distance > taken) {
            const int left = taken - v * distance - lane_index() * elements;
#pragma unroll
            for (int i = 0; i < elements; ++i) {
                y[i] = i < left ? y[i] : left_out;
            }
        }
        vectors[v] = pack(y, T());
    }
    store_aligned_block(output, count, vectors);
}

template <class T>
__device__ __forceinline__ uint4 outputs_of_vector(const float *e, BlockFactor<float> factor) {
    float y[vector_elements<T>];
#pragma unroll
    for (int i = 0; i < vector_elements<T>; ++i) {
        y[i] = softmax_narrow_output(e[i], factor);
    }
    return pack(y, T());
}

// The outputs of a lane's vectors from V on of which any of the warp's first `count` elements are; of others zeros.
template <class T, int V>
__device__ __forceinline__ void form_leading_outputs(int count, BlockFactor<float> factor,
                                                     const float (&e)[lane_elements],
                                                     uint4 (&vectors)[lane_vectors<T>]) {
    constexpr int elements = vector_elements<T>, distance = warp_lanes * elements, all = lane_vectors<T>;
    if (V == 0 && count > (all - 1) * distance) { // most blocks: asked once
#pragma unroll
        for (int v = 0; v < all; ++v) {
            vectors[v] = outputs_of_vector<T>(e + v * elements, factor);
        }
    } else if (V == 0 || (V < all - 1 && V * distance < count)) {
        vectors[V] = outputs_of_vector<T>(e + V * elements, factor);
        if constexpr (V + 1 < all) {
            form_leading_outputs<T, V + 1>(count, factor, e, vectors);
        }
    } else {
#pragma unroll
        for (int v = V; v < all; ++v) {
            vectors[v] = uint4();
        }
    }
}

// The outputs of softmax of a block and a row that are not unusual; whether they were not. `n` is the block's.
template <class T, class Sum>
__device__ __forceinline__ bool finish_cut(const SelectedSoftmaxArguments &a, const CutBlock &mine, T *outputs,
                                           std::int32_t n, RowView<Sum> row, float (&e)[lane_elements]) {
    using Places = CutPlaces<T>;
    BlockFactor<float> factor;
    if (!has_factor_in_row<T, Places, true>(a, n, row, e[0], factor, [&](std::int32_t gap) {
            return factor_for_output<T, Places>(row.sum, gap, float());
        })) {
        return false;
    }
    uint4 vectors[lane_vectors<T>];
    form_leading_outputs<T, 0>(mine.count, factor, e, vectors);
    store_aligned_block(outputs, present(a, mine), vectors);
    return true;
}

// The same of log-softmax.
template <class T, class Sum, class Logits>
__device__ __forceinline__ bool finish_cut_log(const SelectedSoftmaxArguments &a, const CutBlock &mine, T *outputs,
                                               std::int32_t n, RowState<float, Sum> total, const Logits &x) {
    const LogRow<float> row = log_row(total);
    if (row.kind != RowKind::ordinary || n == absent_n) {
        return false;
    }
    finish_cut_logarithms(a, row.pieces, outputs, present(a, mine), mine.count, x);
    return true;
}

// The exponentials of a block of which something takes part, and its state at `state`.
template <class T, bool Log, class Sum, class Data, class Block>
__device__ __forceinline__ Sum cut_block_state(const SelectedSoftmaxArguments &a, const Data &data,
                                               const CutBlock &mine, Block &x, float (&e)[lane_elements],
                                               BlockState<float, Sum> *state) {
    using Places = SelectedPlaces<T>;
    if (!Log && mine.count == static_cast<int>(softmax_block)) {
        return block_state<T, Places, float, Sum, Unframed::without_row_values>(a, data, mine.count, x, e, state);
    }
    return leading_block_state<T, Places, Sum>(a, data, mine.count, x, e, state, !Log && !wants_row_values(a));
}

// blockDim.y rows a block, of up to Warps base blocks together; as many registers as leave room for so many warps on a
// multiprocessor.
template <class T, bool Log, int Warps, int ResidentWarps>
__global__ void __launch_bounds__(Warps *warp_lanes, ResidentWarps / Warps)
    softmax_cut_rows(const __grid_constant__ SelectedSoftmaxArguments a) {
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    __shared__ BlockState<float, Sum> states_of_rows[Warps];
    take_place_on_stream();
    const int row_of_block = same_in_warp(thread_y_again());
    const std::uint32_t row = RowBlock::job_again() * blockDim.y + static_cast<unsigned>(row_of_block);
    if (row >= static_cast<std::uint32_t>(a.outer)) {
        return;
    }
    const CutBlock mine(a, row, row_of_block, same_in_warp(warp_again()));
    if (mine.count <= 0) {
        if (mine.blocks == 0) {
            finish_empty_cut<T>(a, mine);
            return;
        }
        store_left_out<T, Log>(a, mine);
        leave_word_at_row_barrier(mine.row_of_block, mine.row_warps);
        return;
    }
    auto *const states = states_of_rows + mine.row_of_block * mine.row_warps;
    const auto data = [&] { return mine.in(static_cast<const T *>(a.input), a.outer_stride); };
    BlockLogits<T, CutPlaces<T>> x(a, data(), mine.count);
    float e[lane_elements];
    const Sum sum = cut_block_state<T, Log, Sum>(a, data, mine, x, e, states + mine.block);
    using Total = std::conditional_t<Log, RowState<float, Sum>, RowView<Sum>>;
    const auto row_total = [&] {
        if (mine.blocks > 1) {
            wait_at_row_barrier(mine.row_of_block, mine.blocks);
            if constexpr (Log) {
                return merge_any_states(states, mine.blocks);
            } else {
                return merge_states<1, Warps>(states, mine.blocks);
            }
        }
        __syncwarp();
        if constexpr (Log) {
            return Total{states[mine.block].maximum, sum};
        } else {
            return Total{sum, states[mine.block].n};
        }
    };
    const Total total = row_total();
    const std::int32_t n = states[mine.block].n;
    T *const outputs = mine.in(static_cast<T *>(a.output), static_cast<std::ptrdiff_t>(a.axis));
    bool finished;
    if constexpr (Log) {
        finished = finish_cut_log(a, mine, outputs, n, total, x);
    } else {
        finished = finish_cut(a, mine, outputs, n, total, e);
    }
    // Seldom: where the states are is found again, instead of kept.
    const auto states_again = [&] {
        return states_of_rows + thread_y_again() * static_cast<int>(blockDim.x / warp_lanes);
    };
    if (!finished) {
        finish_unusual_cut<T, false>(a, mine, states_again());
    }
    if (wants_row_values(a) && mine.block == 0) {
        store_row_values(a, merge_any_states(states_again(), mine.blocks), mine.row);
    }
}

// The same by clusters of a.cluster_blocks blocks, a row each. Blocks of which nothing is left are not told of the
// others, and do not stay to be.
template <class T, bool Log, int Warps, int ResidentWarps>
__global__ void __launch_bounds__(Warps *warp_lanes, ResidentWarps / Warps)
    softmax_cut_clusters(const __grid_constant__ SelectedSoftmaxArguments a) {
#if __CUDA_ARCH__ >= 900
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    using State = BlockState<float, Sum>;
    __shared__ State states[state_place(cut_cluster_states)], own[Warps];
    __shared__ ArrivalBarrier arrivals;
    if (thread_x_again() == 0) {
        arrivals.initialise();
    }
    __syncwarp(); // the warp may initialise by any lane: racecheck wants to see that they meet
    take_place_on_stream();
    const int warps = static_cast<int>(blockDim.x / warp_lanes), warp = same_in_warp(warp_again());
    const CutBlock mine(a, cluster_number(), 0, static_cast<int>(block_in_cluster()) * warps + warp);
    join_cluster();
    if (mine.count <= 0) {
        if (mine.blocks == 0) {
            finish_empty_cut<T>(a, mine);
        } else {
            store_left_out<T, Log>(a, mine);
            __threadfence(); // others may overwrite these outputs
        }
        await_cluster();
        return;
    }
    if (thread_x_again() == 0) {
        arrivals.announce(static_cast<unsigned>(mine.blocks) * static_cast<unsigned>(sizeof(State)));
    }
    const auto data = [&] { return mine.in(static_cast<const T *>(a.input), a.outer_stride); };
    BlockLogits<T, CutPlaces<T>> x(a, data(), mine.count);
    float e[lane_elements];
    cut_block_state<T, Log, Sum>(a, data, mine, x, e, own + warp);
    __syncwarp();
    await_cluster();
    if (lane_index() * warps < mine.blocks) {
        arrivals.send(static_cast<unsigned>(lane_index()), states + state_place(mine.block), own[warp]);
    }
    arrivals.wait();
    T *const outputs = mine.in(static_cast<T *>(a.output), static_cast<std::ptrdiff_t>(a.axis));
    const std::int32_t n = own[warp].n;
    bool finished;
    if constexpr (Log) {
        finished = finish_cut_log(a, mine, outputs, n, merge_any_states(states, mine.blocks), x);
    } else {
        finished = finish_cut(a, mine, outputs, n,
                              mine.blocks <= warp_lanes
                                  ? merge_states<1, warp_lanes>(states, mine.blocks)
                                  : merge_states<cut_cluster_states / warp_lanes, warp_lanes>(states, mine.blocks),
                              e);
    }
    if (!finished) {
        finish_unusual_cut<T, true>(a, mine, states);
    }
    if (wants_row_values(a) && mine.block == 0) {
        store_row_values(a, merge_any_states(states, mine.blocks), mine.row);
    }
#endif
}

// Log-softmax spills 40 bytes with registers for 40 warps (H200, bf16, lengths of 1024, 4096, 32768, 2 GiB: 980, 921,
// 995 us, by 32 warps 1008, 947, 1031).
template <class T>
const CutRowsKernels &cut_rows_kernels() {
    static const CutRowsKernels kernels = {{address_of(softmax_cut_rows<T, false, cut_rows_warps, 40>),
                                            address_of(softmax_cut_rows<T, true, cut_rows_warps, 40>)},
                                           {address_of(softmax_cut_clusters<T, false, cut_rows_warps, 40>),
                                            address_of(softmax_cut_clusters<T, true, cut_rows_warps, 40>)}};
    return kernels;
}

} // namespace wr::cuda
