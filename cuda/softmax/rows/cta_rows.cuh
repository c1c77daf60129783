// Rows of up to 32 tiles: the row in the registers of one block's warps, read once and written once.
#pragma once

#include "cuda/device/intrinsics.cuh"
#include "cuda/softmax/outputs.cuh"
#include "cuda/softmax/partial_tile.cuh"

namespace wr::cuda {

// A thread's coordinates, read from the special registers again wherever they are wanted: cheaper than registers that
// hold them through the arithmetic.
__device__ __forceinline__ int thread_x_again() {
    unsigned x;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(x));
    return static_cast<int>(x);
}
__device__ __forceinline__ int thread_y_again() {
    unsigned y;
    asm volatile("mov.u32 %0, %%tid.y;" : "=r"(y));
    return static_cast<int>(y);
}
__device__ __forceinline__ int warp_again() {
    return static_cast<int>(static_cast<unsigned>(thread_x_again()) / warp_lanes);
}

// Where rows are so short that a block takes several, threadIdx.y runs over them; threadIdx.x runs along a row. Span is
// the least power of two that holds the row's warps. Blocks of 4 warps; of 8 where a warp's row ends with a logarithm
// and one is taken for all of the block (log-softmax of 1024 bf16 on an H200: 3.95 TB/s, of 4 warps 3.66; but
// plain softmax 3.99 and 4.25, and log-softmax of 2048 3.47 and 3.52).
template <class T, class Load, bool Log, int Span>
inline constexpr int rows_of_block =
    Span >= 4 ? 1 : (Log && Span == 1 && !each_takes_logarithm<T> && Load::vectors && !Load::unaligned ? 8 : 4) / Span;

template <int Span, int Rows>
struct RowPlace {
    std::uint32_t row;
    int warp, count;

    __device__ __forceinline__ explicit RowPlace(const SoftmaxArguments &a) {
        warp = Span == 1 ? 0 : warp_again();
        row = blockIdx.x;
        count =
            smaller(static_cast<int>(a.axis) - warp * static_cast<int>(softmax_block), static_cast<int>(softmax_block));
        if constexpr (Rows > 1) {
            row = row * Rows + static_cast<std::uint32_t>(thread_y_again());
            count = row < a.outer ? count : 0;
        }
    }

    template <class T, class Load>
    __device__ __forceinline__ const T *input(const SoftmaxArguments &a) const {
        const std::ptrdiff_t stride = Load::vectors ? 1 : a.axis_stride;
        return static_cast<const T *>(a.input) + static_cast<std::ptrdiff_t>(row) * a.outer_stride +
               warp * static_cast<int>(softmax_block) * stride;
    }
    __device__ __forceinline__ std::size_t output(const SoftmaxArguments &a) const {
        return row * static_cast<std::size_t>(static_cast<std::uint32_t>(a.axis)) +
               static_cast<std::size_t>(warp) * softmax_block;
    }
};

template <int Span>
__device__ __forceinline__ void wait_for_row() {
    if constexpr (Span > 1) {
        __syncthreads();
    } else {
        __syncwarp();
    }
}

// The total of a row of up to Span tiles, in every lane of a warp. Of an ordinary row without a call.
template <int Span, class Float, class Sum>
__device__ __forceinline__ RowState<Float, Sum> total_of_row(const TileState<Float, Sum> *states, int warps) {
    if constexpr (Span == 1) {
        return {states->maximum, states->sum};
    } else {
        const RowView<Sum> view = merge_states<1, Span>(states, warps);
        if (!view.plain()) {
            return merge_any_states(states, warps);
        }
        const int own = lane_index() & (Span - 1);
        return {warp_maximum(own < warps ? states[state_place(own)].maximum : -std::numeric_limits<Float>::infinity()),
                view.sum};
    }
}

// Of a block's rows of one tile, the total of the one whose number is the lane's.
template <class Float, class Sum>
__device__ __forceinline__ RowState<Float, Sum> total_of_lane(const TileState<Float, Sum> *states, int rows) {
    const TileState<Float, Sum> &own = states[smaller(lane_index(), rows - 1)];
    return {own.maximum, own.sum};
}

// From logits to outputs of log-softmax. Packed logits that are not scaled need no multiplication.
template <class T, class Load, class Logits, class Float>
__device__ __forceinline__ void finish_log_row(const SoftmaxArguments &a, const LogRow<Float> &row, std::size_t first,
                                               int count, const Logits &x) {
    if (is_packed<T, Load> && !a.scaled && row.kind == RowKind::ordinary) {
        Float y[lane_elements];
#pragma unroll
        for (int i = 0; i < lane_elements; ++i) {
            y[i] = log_softmax_output(static_cast<Float>(x.plain_value(i)), row.splits);
        }
        store_tile<T, Load>(a, first, count, y);
    } else {
        finish_log_softmax<T, Load>(a, row, first, count, x);
    }
}

// Whether a row's last block, where it is not whole, is taken vector by vector (H200, bf16 of 1536: 3.82 TB/s, else
// 3.34; f32 of 520: 3.68 and 3.54; but f32 of 1536: 4.26 and 4.28, bf16 of 5000: 4.08 and 4.09). Off the boundaries
// those of 16-bit rows are (bf16 of 1001, 1500, 3001, 7001 3.41, 2.93, 3.53, 3.33, else 3.04, 2.43, 3.36, 3.24; with
// logsumexp 5000 2.90 and 3.04; but f32 of 1001, 5001 3.57, 3.67 and 3.79, 3.98, in clusters bf16 of 20001 2.46 and
// 2.60).
template <class T, class Load, bool Log>
inline constexpr bool leads_off_boundaries = is_packed<T, Load> && Load::unaligned && !converts<Load> && !Log;
template <class T, class Load, bool Log, int Span>
inline constexpr bool leads_last_tile =
    leads_off_boundaries<T, Load, Log> ||
    (zero_exponent_tiles<T, Load, Log> == ZeroExponent::always && Span <= (sizeof(T) == 2 ? 4 : 1));

template <class T, class Load, bool Log, int Span>
__device__ __forceinline__ void softmax_row_of_block(const SoftmaxArguments &a) {
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    using State = TileState<Float, Sum>;
    constexpr int rows_together = rows_of_block<T, Load, Log, Span>;
    using Place = RowPlace<Span, rows_together>;
    __shared__ State states_of_block[state_place(Span) * rows_together];
    State *states = states_of_block + (rows_together > 1 ? static_cast<int>(threadIdx.y) * state_place(Span) : 0);
    const int warps = Span == 1 ? 1 : static_cast<int>(blockDim.x / warp_lanes);
    pdl_wait_and_release(a);
    const Place from(a);
    constexpr bool leads = leads_last_tile<T, Load, Log, Span>;
    constexpr Behind rest = leads_off_boundaries<T, Load, Log> ? Behind::anything : Behind::filler;
    TileLogits<T, Load, rest> x(a, from.template input<T, Load>(a), from.count);
    Float e[lane_elements];
    // Blocks of 8 warps of 16-bit elements have the fewest registers a thread: both ways at once would spill (bf16 of
    // 8192: 4.06 TB/s, 4.12 without).
    constexpr ZeroExponent which =
        sizeof(T) == 2 && Span == 8 ? ZeroExponent::never : zero_exponent_tiles<T, Load, Log>;
    constexpr bool may_take_zero_exponent = which != ZeroExponent::never || leads;
    std::int32_t frame = 0;
    const auto data = [&] { return Place(a).template input<T, Load>(a); };
    const Sum sum =
        row_tile_state<T, Load, Sum, which, leads>(a, data, from.count, x, e, states + state_place(from.warp), frame);
    wait_for_row<Span>();
    if constexpr (Log && each_takes_logarithm<T>) {
        const LogRow<Float> row = log_row_of(total_of_row<Span>(states, warps));
        const Place to(a);
        finish_log_row<T, Load>(a, row, to.output(a), to.count, x);
    } else if constexpr (Log) {
        __shared__ LogRow<Float> rows[rows_together];
        if constexpr (Span == 1) {
            __syncthreads();
            if (thread_y_again() == 0) { // one logarithm for all rows of the block
                const LogRow<Float> row = log_row(total_of_lane(states_of_block, static_cast<int>(blockDim.y)));
                if (lane_index() < rows_together) {
                    rows[lane_index()] = row;
                }
            }
        } else if (warp_again() == 0) {
            const LogRow<Float> row = log_row(total_of_row<Span>(states, warps));
            if (lane_index() == 0) {
                rows[threadIdx.y] = row;
            }
        }
        __syncthreads();
        const Place to(a);
        finish_log_row<T, Load>(a, rows[threadIdx.y], to.output(a), to.count, x);
    } else if (a.output != nullptr) {
        const Place to(a);
        const std::int32_t n = states[state_place(to.warp)].n;
        RowView<Sum> view{sum, n};
        if constexpr (Span > 1) {
            view = merge_states<1, Span>(states, warps);
        }
        if constexpr (which != ZeroExponent::always) {
            frame = n; // which need not wait in a register
        }
        BlockFactor<Float> factor;
        if (has_factor_in_row<T, Load, may_take_zero_exponent>(a, frame, view, e[0], factor, [&](std::int32_t gap) {
                return factor_for_output<T, Load>(view.sum, gap, Float());
            })) {
            finish_softmax<T, Load>(a, factor, to.output(a), to.count, e);
        } else {
            finish_special_softmax<T, Load>(a, to.template input<T, Load>(a), to.output(a), to.count,
                                            states[state_place(to.warp)].maximum, merge_any_states(states, warps));
        }
    }
    if (!wants_row_values(a)) {
        return;
    }
    if constexpr (Span == 1) { // by one warp for all rows of the block
        __syncthreads();
        const std::uint32_t row = blockIdx.x * rows_together + static_cast<std::uint32_t>(lane_index());
        if (thread_y_again() == 0 && lane_index() < rows_together && row < a.outer) {
            store_row_values(a, total_of_lane(states_of_block, rows_together), row);
        }
    } else if (warp_again() == 0) {
        const Place of(a);
        const RowState<Float, Sum> total = total_of_row<Span>(states, warps);
        if (of.row < a.outer && lane_index() == 0) {
            store_row_values(a, total, of.row);
        }
    }
}

// Where clusters share the rows of many warps, nothing launches the kernels for these.
template <class Load, int Span>
__device__ constexpr bool is_launched() {
#if __CUDA_ARCH__ >= 900
    return !Load::vectors || Span <= 8;
#else
    return true;
#endif
}

// With as many registers as leave room for so many blocks on a multiprocessor, and with so many.
template <class T, class Load, bool Log, int Span, int BlocksPerMultiprocessor>
__global__ void __launch_bounds__(Span *rows_of_block<T, Load, Log, Span> *warp_lanes, BlocksPerMultiprocessor)
    softmax_rows(const __grid_constant__ SoftmaxArguments a) {
    if constexpr (is_launched<Load, Span>()) {
        softmax_row_of_block<T, Load, Log, Span>(a);
    } else {
        __trap();
    }
}

} // namespace wr::cuda
