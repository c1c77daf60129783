// Softmax of 16-bit rows of whole 16-byte vectors that lengths or the causal limit cut off: the row in the registers of
// a block's or a cluster's warps. Those whose base blocks are left out write their outputs and end.
#pragma once

#include "cuda/block_barrier.cuh"
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
    load_leading_vectors(data, count, false, uint4(), vectors);
}

// No more than an axis of few base blocks.
__device__ __forceinline__ int cut_off(int axis, std::int64_t limit) {
    const auto low = static_cast<std::uint32_t>(limit);
    const int high = static_cast<int>(limit >> 32);
    const int within = static_cast<int>(smaller(low, static_cast<std::uint32_t>(axis)));
    return high == 0 ? within : high < 0 ? 0 : axis;
}

// A warp's base block of a row that is cut off.
struct CutBlock {
    std::uint32_t row;
    int block, blocks; // of the row's base blocks with elements that take part, or one where there is none
    int count;         // of its elements take part

    // Lengths that come together when one is asked for.
    static constexpr std::uint32_t lengths_of_sector = 32 / sizeof(std::int64_t);

    // Of a row of a block.
    __device__ __forceinline__ explicit CutBlock(const SelectedSoftmaxArguments &a)
        : CutBlock(a, RowBlock::job_again() * blockDim.y + static_cast<unsigned>(thread_y_again()), warp_again()) {}

    __device__ __forceinline__ CutBlock(const SelectedSoftmaxArguments &a, std::uint32_t of_row, int of_block)
        : row(of_row), block(of_block) {
        if (block == 0 && row % lengths_of_sector == 0) {
            ask_for_length_ahead(a, row);
        }
        int taken = static_cast<int>(a.axis);
        if (a.lengths != nullptr) {
            taken = cut_off(taken, a.lengths[row < a.outer ? row : 0]);
        }
        if (a.causal) {
            taken = cut_off(taken, a.causal_first + row % a.causal_rows);
        }
        taken = same_in_warp(taken);
        blocks = larger(blocks_of(taken), 1);
        count = smaller(taken - block * static_cast<int>(softmax_block), static_cast<int>(softmax_block));
    }

    __device__ __forceinline__ static int blocks_of(int elements) {
        return (elements + static_cast<int>(softmax_block) - 1) / static_cast<int>(softmax_block);
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

// The outputs of a base block of an ordinary row of which nothing takes part.
template <class T>
__device__ __forceinline__ void store_left_out(const SelectedSoftmaxArguments &a, const CutBlock &mine) {
    float y[vector_elements<T>];
#pragma unroll
    for (float &each : y) {
        each = left_out_output<float>(RowKind::ordinary, a.log, a.empty_row_zero);
    }
    uint4 vectors[lane_vectors<T>];
#pragma unroll
    for (uint4 &vector : vectors) {
        vector = pack(y, T());
    }
    store_aligned_block(mine.in(static_cast<T *>(a.output), static_cast<std::ptrdiff_t>(a.axis)), present(a, mine),
                        vectors);
}

// The outputs of a block whose maximum, or whose row's, is unusual. Of a row of which nothing takes part also those of
// the base blocks that were left out, by turns with the row's other warps: these have been written as an ordinary
// row's.
template <class T, class Sum>
__device__ __noinline__ void finish_unusual_cut(const SelectedSoftmaxArguments &a, CutBlock mine,
                                                const BlockState<float, Sum> *states) {
    const RowState<float, Sum> total = merge_any_states(states, mine.blocks);
    const float maximum = states[state_place(mine.block)].maximum;
    const bool empty = row_kind(total.maximum) == RowKind::empty;
    const int end = empty ? CutBlock::blocks_of(static_cast<int>(a.axis)) : mine.block + 1;
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
    form_outputs<T, Places>(a, factor, e);
    uint4 vectors[lane_vectors<T>];
#pragma unroll
    for (int v = 0; v < lane_vectors<T>; ++v) {
        vectors[v] = pack(e + v * Places::run, T());
    }
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

// The exponentials of a block of which something may take part, and its state at `state`.
template <class T, bool Log, class Data, class Block, class Sum>
__device__ __forceinline__ void cut_block_state(const SelectedSoftmaxArguments &a, const Data &data,
                                                const CutBlock &mine, Block &x, float (&e)[lane_elements],
                                                BlockState<float, Sum> *state) {
    zero(e);
    if (mine.count > 0) {
        leading_block_state<T, SelectedPlaces<T>, Sum>(a, data, mine.count, x, e, state, !Log && !wants_row_values(a));
    } else if (lane_index() == 0) {
        *state = absent_state<float, Sum>();
    }
}

// blockDim.y rows a block, of up to Warps base blocks together; as many registers as leave room for so many warps on a
// multiprocessor.
template <class T, bool Log, int Warps, int ResidentWarps>
__global__ void __launch_bounds__(Warps *warp_lanes, ResidentWarps / Warps)
    softmax_cut_rows(const __grid_constant__ SelectedSoftmaxArguments a) {
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    __shared__ BlockState<float, Sum> states_of_rows[Warps];
    take_place_on_stream();
    const CutBlock mine(a);
    const bool exists = mine.row<a.outer, shares_row = a.axis> softmax_block;
    if (mine.block >= mine.blocks || !exists) {
        if (exists) {
            store_left_out<T>(a, mine);
        }
        if (shares_row) {
            arrive_at_block_barrier();
        }
        return;
    }
    auto *const states = states_of_rows + thread_y_again() * static_cast<int>(blockDim.x / warp_lanes);
    const auto data = [&] { return mine.in(static_cast<const T *>(a.input), a.outer_stride); };
    BlockLogits<T, CutPlaces<T>> x(a, data(), mine.count);
    float e[lane_elements];
    cut_block_state<T, Log>(a, data, mine, x, e, states + mine.block);
    if (shares_row) {
        wait_at_block_barrier();
    } else {
        __syncwarp();
    }
    T *const outputs = mine.in(static_cast<T *>(a.output), static_cast<std::ptrdiff_t>(a.axis));
    const std::int32_t n = states[mine.block].n;
    bool finished;
    if constexpr (Log) {
        using Total = RowState<float, Sum>;
        finished = finish_cut_log(
            a, mine, outputs, n,
            mine.blocks > 1 ? merge_any_states(states, mine.blocks) : Total{states->maximum, states->sum}, x);
    } else {
        finished =
            finish_cut(a, mine, outputs, n,
                       mine.blocks > 1 ? merge_states<1, Warps>(states, mine.blocks) : RowView<Sum>{states->sum, n}, e);
    }
    if (!finished) {
        finish_unusual_cut<T>(a, mine, states);
    }
    if (wants_row_values(a) && mine.block == 0) {
        store_row_values(a, merge_any_states(states, mine.blocks), mine.row);
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
    take_place_on_stream();
    const int warps = static_cast<int>(blockDim.x / warp_lanes);
    const CutBlock mine(a, cluster_number(), static_cast<int>(block_in_cluster()) * warps + warp_again());
    if (mine.block >= mine.blocks) {
        if (present(a, mine) > 0) {
            store_left_out<T>(a, mine);
        }
        synchronise_cluster(); // others may overwrite these outputs, where nothing of the row takes part
        return;
    }
    join_cluster();
    if (thread_x_again() == 0) {
        arrivals.announce(static_cast<unsigned>(mine.blocks) * static_cast<unsigned>(sizeof(State)));
    }
    const auto data = [&] { return mine.in(static_cast<const T *>(a.input), a.outer_stride); };
    BlockLogits<T, CutPlaces<T>> x(a, data(), mine.count);
    float e[lane_elements];
    cut_block_state<T, Log>(a, data, mine, x, e, own + warp_again());
    __syncwarp();
    await_cluster();
    if (lane_index() * warps < mine.blocks) {
        arrivals.send(static_cast<unsigned>(lane_index()), states + state_place(mine.block), own[warp_again()]);
    }
    arrivals.wait();
    T *const outputs = mine.in(static_cast<T *>(a.output), static_cast<std::ptrdiff_t>(a.axis));
    const std::int32_t n = own[warp_again()].n;
    bool finished;
    if constexpr (Log) {
        finished = finish_cut_log(a, mine, outputs, n, merge_any_states(states, mine.blocks), x);
    } else {
        finished = finish_cut(a, mine, outputs, n,
                              mine.blocks <= warp_lanes ? merge_states<1, warp_lanes>(states, mine.blocks)
                                                        : merge_many_block_states(states, mine.blocks),
                              e);
    }
    if (!finished) {
        finish_unusual_cut<T>(a, mine, states);
    }
    if (wants_row_values(a) && mine.block == 0) {
        store_row_values(a, merge_any_states(states, mine.blocks), mine.row);
    }
#endif
}

template <class T>
const CutRowsKernels &cut_rows_kernels() {
    static const CutRowsKernels kernels = {{address_of(softmax_cut_rows<T, false, cut_rows_warps, 40>),
                                            address_of(softmax_cut_rows<T, true, cut_rows_warps, 32>)},
                                           {address_of(softmax_cut_clusters<T, false, cut_rows_warps, 40>),
                                            address_of(softmax_cut_clusters<T, true, cut_rows_warps, 32>)}};
    return kernels;
}

} // namespace wr::cuda
