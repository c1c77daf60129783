// Rows of up to 32 base blocks: the row in the registers of one block's warps, read once and written once.
#pragma once

#include "cuda/softmax_warp.cuh"

namespace wr::cuda {

template <class T, class Places, bool Log, int Threads, int BlocksPerMultiprocessor>
__global__ void __launch_bounds__(Threads, BlocksPerMultiprocessor)
    softmax_rows(const __grid_constant__ SoftmaxArguments a) {
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    __shared__ RowState<Float, Sum> states[Threads / warp_lanes];
    // threadIdx.x runs along a row, threadIdx.y over the block's rows.
    const int warps = static_cast<int>(blockDim.x) / warp_lanes;
    const int warp = warp_index();
    const std::size_t first = static_cast<std::size_t>(warp) * softmax_block;
    const std::size_t row = blockIdx.x * static_cast<std::size_t>(blockDim.y) + threadIdx.y;
    const bool present = row < a.outer;
    const int count = static_cast<int>(smaller(a.axis - smaller(a.axis, first), softmax_block));
    const T *data = static_cast<const T *>(a.input) + static_cast<std::ptrdiff_t>(row) * a.outer_stride +
                    static_cast<std::ptrdiff_t>(first) * a.axis_stride;
    const Logits<T, Places> x(a, data, present ? count : 0);
    Float e[lane_elements];
    const RowState<Float, Sum> own = block_state<Places, Sum>(x, e);
    RowView<Float, Sum> view{own, 0, is_ordinary(own.maximum)};
    if (warps > 1) {
        RowState<Float, Sum> *row_states = states + static_cast<int>(threadIdx.y) * warps;
        if (lane_index() == 0) {
            row_states[warp] = own;
        }
        __syncthreads();
        const int span = 1 << (32 - __clz(warps - 1));
        const int other = lane_index() & (span - 1);
        RowState<Float, Sum> mine = StateMerge<Float, Sum>::identity();
        if (other < warps) {
            mine = row_states[other];
        }
        view = merge_lanes(mine, span, own.maximum, Log || a.logsumexp != nullptr);
    }
    if (present) {
        finish_block<T, Places, Log>(a, own.maximum, view, row * a.axis + first, count, x, e);
        if (a.logsumexp != nullptr && warp == 0 && lane_index() == 0) {
            store_row_logsumexp(view.total, a.logsumexp, row);
        }
    }
}

} // namespace wr::cuda
