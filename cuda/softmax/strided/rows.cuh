// Softmax with every option: any elements left out, ragged rows, any types and strides. Kernels are made for an
// arithmetic, and all else is known at run time.
#pragma once

#include "cuda/rowwise/row_states.cuh"
#include "cuda/rowwise/strided_access.cuh"

namespace wr::cuda::strided {

template <class Float, class Sum>
__device__ __noinline__ BlockFactor<Float> factor_of(Float maximum, RowState<Float, Sum> row) {
    return block_factor(maximum, row.maximum, row.sum);
}

template <class Float, class Sum>
__device__ __noinline__ LogPieces<Float> logsumexp_pieces(RowState<Float, Sum> row) {
    return row_logsumexp(row.maximum, row.sum);
}

// A tile of a row in a warp's registers: its exponentials, or for log-softmax, which has no further use for them,
// its logits, so that one array is enough.
template <class Float, class Sum>
struct StridedTile {
    Float values[lane_elements];
    TakenElements taken;

    __device__ __forceinline__ RowState<Float, Sum> load(const SoftmaxProblem &p, const StridedRow &place,
                                                         std::size_t begin) {
        return load(p, place, begin, [](Float own) { return own; });
    }

    // Of a part of a tile, whose largest logit largest_of makes of the part's own.
    template <class LargestOf>
    __device__ __forceinline__ RowState<Float, Sum> load(const SoftmaxProblem &p, const StridedRow &place,
                                                         std::size_t begin, LargestOf largest_of) {
        taken = TakenElements(p.selection, place, begin);
        if (taken.none) {
            fill(values, p.log ? -std::numeric_limits<Float>::infinity() : Float(0));
            return StateMerge<Float, Sum>::identity();
        }
        load_taken(p, place, begin);
        Float maximum = values[0];
#pragma unroll
        for (int i = 1; i < lane_elements; ++i) {
            maximum = larger_with_nan(maximum, values[i]);
        }
        maximum = largest_of(warp_maximum(maximum));
        const Frame<Float> frame = frame_of(maximum);
        // In the pairs of the exchange's first step, so that half as many sums wait in registers.
        constexpr int half = lane_elements / 2;
        Sum sums[half];
#pragma unroll
        for (int i = 0; i < half; ++i) {
            const Float low = exponential_in(frame, values[i]), high = exponential_in(frame, values[i + half]);
            values[i] = p.log ? values[i] : low;
            values[i + half] = p.log ? values[i + half] : high;
            sums[i] = exchange_pair<FloatSum<Sum>, 0>(static_cast<Sum>(low), static_cast<Sum>(high));
        }
        return {maximum, settle_block_sum(maximum, warp_tree<FloatSum<Sum>, 1>(sums))};
    }

    // The logits alone, scaled; -infinity in the place of those that take no part.
    __device__ __forceinline__ void load_logits(const SoftmaxProblem &p, const StridedRow &place, std::size_t begin) {
        taken = TakenElements(p.selection, place, begin);
        if (taken.none) {
            fill(values, -std::numeric_limits<Float>::infinity());
        } else {
            load_taken(p, place, begin);
        }
    }

    // The outputs, in the place of the values, and from there to memory.
    __device__ __forceinline__ void write(const SoftmaxProblem &p, const StridedRow &place, std::size_t begin,
                                          Float maximum, const RowState<Float, Sum> &row) {
        const TakenElements present = elements_there(place, begin);
        if (present.none) {
            return;
        }
        const RowKind kind = row_kind(row.maximum);
        if (kind != RowKind::ordinary) {
            const Float special = special_output<Float>(kind, p.log, p.empty_row_zero);
            const Float left_out = left_out_output<Float>(kind, p.log, p.empty_row_zero);
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                values[i] = taken.has(i) ? special : left_out;
            }
        } else if (p.log) {
            const LogPieces<Float> lse = logsumexp_pieces(row);
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                values[i] = log_softmax_output(values[i], lse);
            }
        } else {
            multiply(factor_of(maximum, row), takes_two_pieces(p.output_dtype));
        }
        store_elements(p.output_dtype, p.output, place, begin, present, values);
    }

  private:
    __device__ __forceinline__ void load_taken(const SoftmaxProblem &p, const StridedRow &place, std::size_t begin) {
        const std::ptrdiff_t index = strided_index(place, p.selection.ragged, p.shape.outer_stride, p.shape.axis_stride,
                                                   p.shape.inner_stride, begin);
        LoadedElements<Float> loaded;
        loaded.load(p.dtype, p.input, index, p.shape.axis_stride, taken);
        __syncwarp(); // all that is formed waits for the last load
        loaded.widen_to(p.dtype, values);
        const Float scale = scale_of_row<Float>(p, place.row);
        if (scale != Float(1)) {
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                values[i] = values[i] * scale;
            }
        }
        if (!taken.all) {
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                values[i] = taken.has(i) ? values[i] : -std::numeric_limits<Float>::infinity();
            }
        }
    }

    __device__ __forceinline__ void multiply(const BlockFactor<Float> &factor, bool two_pieces) {
        if (two_pieces) {
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                values[i] = softmax_output(values[i], factor);
            }
        } else {
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                values[i] = softmax_narrow_output(values[i], factor);
            }
        }
    }
};

template <class Float, class Sum>
__device__ __forceinline__ void store_row_values(const SoftmaxProblem &p, std::size_t row,
                                                 const RowState<Float, Sum> &total) {
    if (p.logsumexp != nullptr) {
        store_float(logsumexp_of(total.maximum, total.sum), p.logsumexp_dtype, p.logsumexp, row);
    }
    if (p.maximum != nullptr) {
        store_maximum(total.maximum, p.maximum, row);
    }
}

// The merged states of a block's warps, in every lane of all of them.
template <class Float, class Sum>
__device__ __forceinline__ RowState<Float, Sum> merge_warps(RowState<Float, Sum> own,
                                                            RowState<Float, Sum> (&states)[strided_block_warps]) {
    if (lane_index() == 0) {
        states[warp_index()] = own;
    }
    __syncthreads();
    RowState<Float, Sum> mine = StateMerge<Float, Sum>::identity();
    if (lane_index() < static_cast<int>(blockDim.x) / warp_lanes) {
        mine = states[lane_index()];
    }
    mine = merge_any_lanes(mine);
    __syncthreads();
    return mine;
}

// Whole rows. A row of no more tiles than warps stays in registers; longer ones are read twice.
template <class Float, class Sum>
__global__ void __launch_bounds__(strided_block_threads, strided_resident_blocks<Float>)
    strided_rows(const __grid_constant__ StridedSoftmaxArguments a) {
    __shared__ RowState<Float, Sum> states[strided_block_warps];
    const SoftmaxProblem &p = a.problem;
    for_each_row(p.shape, p.selection, large_rows_for<Float>(a.longer),
                 [&](const StridedRow &place, int warps, int warp) {
                     const std::size_t step = static_cast<std::size_t>(warps) * softmax_block;
                     const std::size_t own_begin = static_cast<std::size_t>(warp) * softmax_block;
                     StridedTile<Float, Sum> block;
                     RowState<Float, Sum> own, total;
                     TreeCounter<StateMerge<Float, Sum>, 53> counter;
                     for_each_step(
                         place.count, step, p.output != nullptr,
                         [&](std::size_t done) { own = block.load(p, place, done + own_begin); },
                         [&](bool last) {
                             total = warps == 1 ? own : merge_warps(own, states);
                             if (place.count > step) {
                                 counter.push(total);
                                 total = last ? counter.result() : total;
                             }
                             if (last && lane_index() == 0 && warp == 0) {
                                 store_row_values(p, place.row, total);
                             }
                         },
                         [&](std::size_t done) { block.write(p, place, done + own_begin, own.maximum, total); });
                 });
}

// Registers a thread of these: for 20 warps a multiprocessor (E4M3 of 5000 off the boundaries: 0.71 TB/s on an H200,
// with 128, of which none are spilled, 0.62, with 80 0.68; logarithms of 4096 f32 into E4M3 1.37, 1.39, 1.18).
// Gradients, which hold two arrays, have as many as blocks of strided_row_warps may (masked bf16 of 4096 2.48, with
// 96 2.25).
inline constexpr int strided_whole_row_registers = 96;

// Rows of which each tile has a warp: blockDim.y rows a block, or a row by a cluster of a.cluster_blocks blocks.
template <class Sum>
__global__ void __maxnreg__(strided_whole_row_registers)
    strided_whole_rows(const __grid_constant__ StridedSoftmaxArguments a) {
    using State = RowState<float, Sum>;
    using States = RowStates<State, strided_row_warps>;
    __shared__ States states;
    const bool by_cluster = a.cluster_blocks > 1;
    states.prepare(by_cluster, a.cluster_blocks);
    pdl_wait_and_release();
    const SoftmaxProblem &p = a.problem;
    const RowTile own(a.cluster_blocks);
    const StridedRow place = own.row < p.shape.outer ? row_place(p.shape, p.selection, own.row) : StridedRow{};
    const auto begin = static_cast<std::size_t>(own.first);
    StridedTile<float, Sum> block;
    const State mine = block.load(p, place, begin);
    if (lane_index() == 0) {
        *states.of_warp(by_cluster) = mine;
    }
    states.exchange(by_cluster, a.cluster_blocks, false);
    const State total = merge_any_states(states.of_row(), States::row_warps() * a.cluster_blocks);
    if (own.block == 0 && lane_index() == 0 && own.row < p.shape.outer) {
        store_row_values(p, own.row, total);
    }
    if (p.output != nullptr) {
        block.write(p, place, begin, mine.maximum, total);
    }
}

// nullptr: none of this arithmetic.
template <class Float, class Sum>
const void *whole_rows_kernel() {
    if constexpr (sizeof(Float) == sizeof(float)) {
        return address_of(strided_whole_rows<Sum>);
    }
    return nullptr;
}

template <class Float, class Sum>
__device__ __forceinline__ RowState<Float, Sum> loaded_state(const StoredState &stored) {
    return {static_cast<Float>(stored.maximum), static_cast<Sum>(stored.sum)};
}

// Pieces of strided_block_warps * a.tiles_a_warp tiles of long rows: their states or, once the rows' totals are
// there, their outputs. One kernel for both: most of it is what a load takes.
template <class Float, class Sum>
__global__ void __launch_bounds__(strided_block_threads, strided_resident_blocks<Float>)
    strided_splits(const __grid_constant__ StridedSoftmaxArguments a) {
    __shared__ RowState<Float, Sum> states[strided_block_warps];
    const SoftmaxProblem &p = a.problem;
    const std::size_t jobs = p.shape.outer * a.splits;
    for (std::size_t job = blockIdx.x; job < jobs; job += gridDim.x) {
        const StridedRow place = row_place(p.shape, p.selection, job / a.splits);
        const std::size_t first = (job % a.splits * strided_block_warps + static_cast<std::size_t>(warp_index())) *
                                  static_cast<std::size_t>(a.tiles_a_warp);
        RowState<Float, Sum> mine = StateMerge<Float, Sum>::identity();
#pragma unroll 1
        for (int b = 0; b < a.tiles_a_warp; ++b) {
            const std::size_t begin = (first + static_cast<std::size_t>(b)) * softmax_block;
            StridedTile<Float, Sum> block;
            const RowState<Float, Sum> state = block.load(p, place, begin);
            if (a.applies) {
                block.write(p, place, begin, state.maximum, loaded_state<Float, Sum>(a.totals[place.row]));
            } else if (lane_index() == b) {
                mine = state;
            }
        }
        if (!a.applies) {
            const RowState<Float, Sum> merged = merge_warps(merge_any_lanes(mine), states);
            if (threadIdx.x == 0) {
                a.states[job] = {static_cast<double>(merged.maximum), static_cast<double>(merged.sum)};
            }
        }
    }
}

// The largest value of neighbouring lanes, `lanes` (a power of two) of them, in each.
template <class Float>
__device__ __forceinline__ Float maximum_over_lanes(Float value, int lanes) {
    for (int distance = 1; distance < lanes; distance *= 2) {
        value = larger_with_nan(value, from_lane_xor(value, distance));
    }
    return value;
}

// The totals of rows from the states of their splits: first the row's maximum, then the natural tree over the scaled
// sums.
template <class Float, class Sum>
__global__ void __launch_bounds__(strided_block_threads)
    strided_totals(const __grid_constant__ StridedSoftmaxArguments a) {
    pdl_wait();
    const std::size_t rows = a.problem.shape.outer * a.problem.shape.inner;
    for_each_total(rows, a.splits, [&](std::size_t row, std::size_t begin, std::size_t end, int lanes, bool first) {
        const StoredState *states = a.states + row * a.splits;
        Float maximum = -std::numeric_limits<Float>::infinity();
        for (std::size_t split = begin; split < end; ++split) {
            maximum = larger_with_nan(maximum, static_cast<Float>(states[split].maximum));
        }
        maximum = maximum_over_lanes(maximum, lanes);
        const auto scaled = [&](std::size_t split) {
            const RowState<Float, Sum> state = loaded_state<Float, Sum>(states[split]);
            return scale_by_power(state.sum, frame_gap(state.maximum, maximum));
        };
        Sum sum = FloatSum<Sum>::identity();
        if (a.splits <= warp_lanes) {
            sum = begin < end ? scaled(begin) : sum;
        } else {
            TreeCounter<FloatSum<Sum>, 40> counter;
            for (std::size_t split = begin; split < end; ++split) {
                counter.push(scaled(split));
            }
            sum = counter.result();
        }
        sum = tree_over_lanes<FloatSum<Sum>>(sum, lanes);
        if (first) {
            a.totals[row] = {static_cast<double>(maximum), static_cast<double>(sum)};
            store_row_values(a.problem, row, RowState<Float, Sum>{maximum, sum});
        }
    });
}

} // namespace wr::cuda::strided
