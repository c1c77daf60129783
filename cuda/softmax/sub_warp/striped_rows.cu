// Softmax of short columns of any kind, few side by side.
#include "cuda/device/intrinsics.cuh"
#include "cuda/rowwise/sub_warp_elements.cuh"
#include "cuda/softmax/sub_warp/vectors.cuh"
#include "cuda/softmax_backward/sub_warp_elements.cuh"

namespace wr::cuda {

// A tile's logits, scaled; -infinity in the place of those that take no part.
__device__ __forceinline__ void load_striped_logits(const SoftmaxProblem &p, const StripedTile &tile,
                                                    float (&x)[lane_slots]) {
    SlotPatterns patterns;
    patterns.load(tile, p.dtype, p.input, tile.taken);
    patterns.widen_to(p.dtype, x);
    const float scale = static_cast<float>(p.scale);
    tile.share_scales(p);
    tile.scale_rows(p, x);
#pragma unroll
    for (int i = 0; i < lane_slots; ++i) {
        x[i] = StripedTile::has(tile.taken, i) ? x[i] * scale : -std::numeric_limits<float>::infinity();
    }
}

// The exponentials of logits, each in the frame of its row, which the row's holders have.
__device__ __forceinline__ void form_striped_exponentials(const StripedTile &tile, const Frame<float> &frame,
                                                          const float (&x)[lane_slots], float (&e)[lane_slots]) {
    tile.share(frame.magic_less_n, frame.lowest, frame.shift);
#pragma unroll
    for (int i = 0; i < lane_slots; ++i) {
        e[i] = exponential_in(Frame<float>{tile.shared(0, i), tile.shared(2, i), tile.shared(1, i)}, x[i]);
    }
}

// The outputs of a tile's rows, in the place of their exponentials.
template <class Sum>
__device__ __forceinline__ void form_striped_outputs(const SoftmaxProblem &p, const StripedTile &tile,
                                                     const RowState<float, Sum> &total, const float (&x)[lane_slots],
                                                     float (&e)[lane_slots]) {
    const RowKind kind = row_kind(total.maximum);
    const bool ordinary = kind == RowKind::ordinary;
    if (p.log) {
        const LogPieces<float> splits = splits_of_row(total);
        tile.share(splits.high, splits.low);
#pragma unroll
        for (int i = 0; i < lane_slots; ++i) {
            e[i] = log_softmax_output(x[i], LogPieces<float>{tile.shared(0, i), tile.shared(1, i)});
        }
    } else {
        const BlockFactor<float> factor = factor_of_row(total);
        tile.share(factor.high, factor.low);
        const bool two_pieces = takes_two_pieces(p.output_dtype);
#pragma unroll
        for (int i = 0; i < lane_slots; ++i) {
            const BlockFactor<float> own{tile.shared(0, i), tile.shared(1, i)};
            e[i] = two_pieces ? softmax_output(e[i], own) : softmax_narrow_output(e[i], own);
        }
    }
    if (__any_sync(whole_warp, !ordinary) != 0) {
        tile.share(special_output<float>(kind, p.log, p.empty_row_zero),
                   left_out_output<float>(kind, p.log, p.empty_row_zero), ordinary ? 1.0f : 0.0f);
#pragma unroll
        for (int i = 0; i < lane_slots; ++i) {
            const float special = StripedTile::has(tile.taken, i) ? tile.shared(0, i) : tile.shared(1, i);
            e[i] = StripedTile::has(tile.present, i) && tile.shared(2, i) == 0.0f ? special : e[i];
        }
    }
}

// Blocks that a multiprocessor should hold.
inline constexpr int striped_softmax_blocks = 16 / striped_block_warps;

template <class Sum>
__global__ void __launch_bounds__(striped_block_warps *warp_lanes, striped_softmax_blocks)
    softmax_striped_rows(const __grid_constant__ StripedSoftmaxArguments a) {
    __shared__ SlotTable tables[striped_block_warps];
    pdl_wait_and_release();
    const SoftmaxProblem &p = a.problem;
    const StripedTile tile(p.shape, p.selection, a.rows, tables[warp_index()]);
    if (tile.rows == 0) {
        return;
    }
    float x[lane_slots], e[lane_slots];
    load_striped_logits(p, tile, x);
    const float maximum = tile.over_rows<LargestWithNan<float>>([&](int i) { return x[i]; });
    form_striped_exponentials(tile, frame_of(maximum), x, e);
    const Sum sum = tile.over_rows<FloatSum<Sum>>([&](int i) { return static_cast<Sum>(e[i]); });
    const RowState<float, Sum> total{maximum, settle_block_sum(maximum, sum)};
    if (p.output != nullptr) {
        form_striped_outputs(p, tile, total, x, e);
        store_slots(tile, p.output_dtype, p.output, e);
    }
    if (tile.is_first_holder()) {
        const std::size_t row = tile.first_row + static_cast<std::size_t>(tile.held_row());
        if (p.logsumexp != nullptr) {
            store_float(logsumexp_of(total.maximum, total.sum), p.logsumexp_dtype, p.logsumexp, row);
        }
        if (p.maximum != nullptr) {
            store_maximum(total.maximum, p.maximum, row);
        }
    }
}

// Softmax of short rows of neighbouring elements, of any kind otherwise.

// A row's outputs from its logits, or from their exponentials where these are not what is wanted.
template <class Sum>
__device__ __forceinline__ void form_run_outputs(const SoftmaxProblem &p, const BlockedTile &tile,
                                                 const RowState<float, Sum> &total,
                                                 float (&values)[blocked_run_elements]) {
    const RowKind kind = row_kind(total.maximum);
    const bool ordinary = kind == RowKind::ordinary;
    if (p.log) {
        const LogPieces<float> splits = splits_of_row(total);
        tile.for_each_element([&](int i) { values[i] = log_softmax_output(values[i], splits); });
    } else {
        const BlockFactor<float> factor = factor_of_row(total);
        const bool two_pieces = takes_two_pieces(p.output_dtype);
        tile.for_each_element([&](int i) {
            values[i] = two_pieces ? softmax_output(values[i], factor) : softmax_narrow_output(values[i], factor);
        });
    }
    if (__any_sync(whole_warp, !ordinary) != 0) {
        const float special = special_output<float>(kind, p.log, p.empty_row_zero);
        const float left_out = left_out_output<float>(kind, p.log, p.empty_row_zero);
        tile.for_each_element([&](int i) { values[i] = ordinary ? values[i] : tile.has(i) ? special : left_out; });
    }
}

inline constexpr int run_softmax_blocks = 24 / striped_block_warps; // that a multiprocessor should hold

template <class Sum>
__global__ void __launch_bounds__(striped_block_warps *warp_lanes, run_softmax_blocks)
    softmax_blocked_rows(const __grid_constant__ StripedSoftmaxArguments a) {
    __shared__ RunBuffer buffers[striped_block_warps];
    pdl_wait_and_release();
    const SoftmaxProblem &p = a.problem;
    const BlockedTile tile(p.shape, p.selection, a.rows.log_registers, buffers[warp_index()]);
    if (tile.is_empty()) {
        return;
    }
    tile.ask_for(p.dtype, p.input);
    tile.read(p.dtype, p.input);
    const float scale = scale_of_row<float>(p, tile.present != 0 ? tile.row : 0);
    float values[blocked_run_elements];
#pragma unroll
    for (int i = 0; i < blocked_run_elements; ++i) {
        values[i] = -std::numeric_limits<float>::infinity();
    }
    float maximum = -std::numeric_limits<float>::infinity();
    tile.for_each_element([&](int i) {
        values[i] = tile.has(i) ? tile.element(i) * scale : values[i];
        maximum = larger_with_nan(maximum, values[i]);
    });
    maximum = tile.over_row<LargestWithNan<float>>(maximum);
    const Frame<float> frame = frame_of(maximum);
    const Sum sum = tile.tree<FloatSum<Sum>>(Sum(0), [&](int i) {
        const float e = exponential_in(frame, values[i]);
        values[i] = p.log ? values[i] : e;
        return static_cast<Sum>(e);
    });
    const RowState<float, Sum> total{maximum, settle_block_sum(maximum, sum)};
    if (p.output != nullptr) {
        form_run_outputs(p, tile, total, values);
        __syncwarp(); // lanes have read beyond their own elements
        tile.for_each_element([&](int i) { tile.set_element(i, values[i]); });
        tile.write(p.output_dtype, p.output);
    }
    if (tile.is_first_of_row) {
        if (p.logsumexp != nullptr) {
            store_float(logsumexp_of(total.maximum, total.sum), p.logsumexp_dtype, p.logsumexp, tile.row);
        }
        if (p.maximum != nullptr) {
            store_maximum(total.maximum, p.maximum, tile.row);
        }
    }
}

const void *striped_softmax_kernel_f64() { return address_of(softmax_striped_rows<double>); }
const void *striped_softmax_kernel_f32() { return address_of(softmax_striped_rows<float>); }
const void *striped_backward_kernel() { return address_of(softmax_striped_backward); }
const void *blocked_softmax_kernel_f64() { return address_of(softmax_blocked_rows<double>); }
const void *blocked_softmax_kernel_f32() { return address_of(softmax_blocked_rows<float>); }
const void *blocked_backward_kernel() { return address_of(softmax_blocked_backward); }

} // namespace wr::cuda
