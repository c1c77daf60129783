// Softmax of rows of which elements are left out: the row in the registers of a block's warps.
// Those whose tiles are left out write their outputs and end.
#pragma once

#include "cuda/softmax/masked_tile.cuh"
#include "cuda/softmax/rows/masked_rows_outputs.cuh"

namespace wr::cuda {

template <class Rows>
__device__ __forceinline__ LaneMask<typename Rows::Element> mask_of_tile(const MaskedRowsArguments &a,
                                                                         const MaskedTile &mine) {
    if (a.mask == nullptr) {
        return LaneMask<typename Rows::Element>(mine.count);
    }
    const std::uint8_t *const mask = mine.in(a.mask, static_cast<std::ptrdiff_t>(a.axis));
    if constexpr (Rows::anywhere) {
        return {mask, mine.count, a.mask, a.mask + a.outer * a.axis};
    } else {
        return {mask, mine.count};
    }
}

// Whether tiles of rows without a mask are not taken as if there were one: 16-bit ones are short of instructions (H200,
// us: bf16, lengths of 1024 28.8, else 32.0; log-softmax of 1024 into f32 53.3 and 57.3; but softmax of 4096 into
// f32 62.3 and 56.3, lengths of f32 53.6 and 53.5).
template <class Rows, bool Log>
inline constexpr bool has_way_without_mask =
    sizeof(typename Rows::Element) == 2 && !Rows::anywhere && converts<Rows> == Log;

// The exponentials of a block of which something takes part, and its state at `state`. The sum, in every lane.
template <class Rows, bool Log, class Data, class Logits>
__device__ __forceinline__ typename Rows::Sum
masked_row_state(const MaskedRowsArguments &a, const Data &data, const MaskedTile &mine, Logits &x,
                 float (&e)[lane_elements], TileState<float, typename Rows::Sum> *state) {
    using T = typename Rows::Element;
    using Sum = typename Rows::Sum;
    if constexpr (has_way_without_mask<Rows, Log>) {
        if (a.mask == nullptr && !Log && mine.count == static_cast<int>(softmax_block)) {
            return tile_state<T, Rows, float, Sum, ZeroExponent::without_row_values>(a, data, mine.count, x, e, state);
        }
        if (a.mask == nullptr) {
            zero(e);
            const bool plain = !Log && !wants_row_values(a) && reaches_outputs<T, Rows>(a.output_type);
            return partial_tile_state<T, Rows, Sum>(a, data, mine.count, x, e, state, plain);
        }
    }
    const Sum sum = masked_tile_sum<Rows, Log>(a, data, mask_of_tile<Rows>(a, mine), mine.count, x, e, state);
    if (lane_index() == 0) {
        state->sum = sum;
    }
    return sum;
}

// A warp's tile, of which something takes part, of a row that its block has; whether it is ordinary, and written.
template <class Rows, bool Log, class Data, class Logits>
__device__ __forceinline__ bool do_tile_of_block(const MaskedRowsArguments &a, const Data &data, const MaskedTile &mine,
                                                 Logits &x, TileState<float, typename Rows::Sum> *states,
                                                 LogRow<float> *log_rows) {
    using Sum = typename Rows::Sum;
    float e[lane_elements];
    const Sum sum = masked_row_state<Rows, Log>(a, data, mine, x, e, states + mine.block);
    const auto row_total = [&] {
        if (mine.blocks == 1) {
            __syncwarp();
            if constexpr (Log) {
                return log_row(RowState<float, Sum>{states[mine.block].maximum, sum});
            } else {
                return RowView<Sum>{sum, states[mine.block].n};
            }
        }
        wait_at_row_barrier(mine.row_of_block, mine.blocks);
        if constexpr (Log) {
            if (mine.block == 0) {
                find_log_row(states, mine.blocks, log_rows + mine.row_of_block);
            }
            wait_at_row_barrier(mine.row_of_block, mine.blocks);
            return log_rows[mine.row_of_block];
        } else {
            return merge_states<1, masked_rows_warps>(states, mine.blocks);
        }
    };
    const auto total = row_total();
    if constexpr (Log) {
        return finish_masked_log<Rows>(a, mine, total, x);
    } else {
        return finish_masked<Rows>(a, mine, states[mine.block].n, total, e);
    }
}

// blockDim.y rows a block, of up to masked_rows_warps tiles together. One warp of each row takes its logarithm
// (bf16, 2 GiB: masked 8192 1283 us, by each warp 1326, lengths of 4096 879 and 901).
template <class Rows>
__device__ __forceinline__ void softmax_masked_rows_of_block(const MaskedRowsArguments &a) {
    using T = typename Rows::Element;
    __shared__ TileState<float, typename Rows::Sum> states_of_rows[masked_rows_warps];
    __shared__ LogRow<float> log_rows[most_shared_rows];
    pdl_wait_and_release();
    const int row_of_block = same_in_warp(thread_y_again());
    const std::uint32_t row = RowTile::job_again() * blockDim.y + static_cast<unsigned>(row_of_block);
    if (row >= static_cast<std::uint32_t>(a.outer)) {
        return;
    }
    const MaskedTile mine(a, row, row_of_block, same_in_warp(warp_again()));
    if (mine.count <= 0) {
        if (mine.blocks == 0) {
            finish_empty_masked<T>(a, mine);
            return;
        }
        store_left_out<Rows>(a, mine);
        leave_word_at_row_barrier(mine.row_of_block, mine.row_warps);
        return;
    }
    auto *const states = states_of_rows + mine.row_of_block * mine.row_warps;
    const auto data = [&] { return mine.in(static_cast<const T *>(a.input), a.outer_stride); };
    TileLogits<T, Rows> x(a, data(), mine.count);
    const bool finished = a.log ? do_tile_of_block<Rows, true>(a, data, mine, x, states, log_rows)
                                : do_tile_of_block<Rows, false>(a, data, mine, x, states, log_rows);
    // Seldom: where the states are is found again, instead of kept.
    const auto states_again = [&] {
        return states_of_rows + thread_y_again() * static_cast<int>(blockDim.x / warp_lanes);
    };
    if (!finished) {
        finish_special_masked<Rows, false>(a, mine, states_again());
    }
    if (wants_row_values(a) && mine.block == 0) {
        store_row_values(a, merge_any_states(states_again(), mine.blocks), mine.row);
    }
}

} // namespace wr::cuda
