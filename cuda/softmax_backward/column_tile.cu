// The gradient of softmax along a short axis that is not the innermost: a block's registers hold a tile of columns, of
// what was saved and of the outputs' gradient, each read once.
#include "cuda/device/intrinsics.cuh"
#include "cuda/rowwise/column_tile.cuh"
#include "cuda/softmax_backward/launches.h"
#include "cuda/softmax_backward/pack.cuh"
#include "cuda/softmax_backward/weights.cuh"

namespace wr::cuda {

// In the place of KeptOfColumns where nothing is left out.
struct AllOfColumns {};

// A block's tiles.
template <class T, bool FromLogits, bool Whole, class Arguments = BackwardColumnTileArguments>
class BackwardThreadTile {
    static constexpr bool selects = std::is_same_v<Arguments, MaskedBackwardColumnTileArguments>;
    static constexpr int each = vector_elements<T>, rows = backward_column_tile_rows;
    using Folds = ColumnTileFolds<each, Whole, float>;
    using Column = typename Folds::Column;
    // Weights of 32 bits take the place of their logits.
    static constexpr bool keeps_weights = FromLogits && sizeof(T) == sizeof(float);

  public:
    __device__ __forceinline__ BackwardThreadTile(const Arguments &arguments, ColumnTileBarriers &barriers)
        : a(arguments), folds(a.tiles, a.memory, barriers), part(a.tiles, a.axis, a.inner) {}

    __device__ __forceinline__ void work() {
        folds.prepare();
        pdl_wait_and_release();
        part.load(part.in(a.saved, a.outer_stride, a.axis_stride), a.axis_stride, saved);
        part.load(part.in(a.output_gradient, a.gradient_outer_stride, a.gradient_axis_stride), a.gradient_axis_stride,
                  gradients);
        if constexpr (selects) {
            taken.keep(TakenOfColumns<T, rows>(a.selection, part, a.axis, a.inner));
        }
        folds.await_prepared();
        add_up();
        write();
    }

  private:
    __device__ __forceinline__ BackwardColumnTileKept &kept(const Column &column) const {
        return reinterpret_cast<BackwardColumnTileKept *>(launched_memory() +
                                                          a.memory.columns_at)[column.number(a.tiles)];
    }
    __device__ __forceinline__ Column own(int c) const { return {part.tile, part.lane, c}; }

    __device__ __forceinline__ bool takes_part(int i, int c) const {
        if constexpr (selects) {
            return is_taken(taken.of(i), c);
        }
        return i < part.count;
    }

    __device__ __forceinline__ float logsumexp_of(int c) const {
        return part.count > 0 && part.has(c) ? a.logsumexp[part.column(a.inner, c)] : 0.0f;
    }

    __device__ __forceinline__ SavedRow<float> row_of(float logsumexp) const {
        return saved_row(SavedAs::logits, a.log, a.scale, logsumexp, a.empty_row_zero);
    }

    // Column c's weights; of log-softmax's outputs they are what these are.
    __device__ __forceinline__ void take_column(int c, float (&weights)[rows]) {
        if constexpr (FromLogits) {
            const float logsumexp = logsumexp_of(c);
            form_weights<rows>([&](int) { return row_of(logsumexp); },
                               [&](int i) { return element_of(saved[i], c, T()); }, weights);
            if constexpr (keeps_weights) {
#pragma unroll
                for (int i = 0; i < rows; ++i) {
                    word_at(saved[i], c) = __float_as_uint(weights[i]);
                }
            } else if (part.run == 0 && part.count > 0) {
                kept(own(c)).logsumexp = logsumexp;
            }
        } else {
#pragma unroll
            for (int i = 0; i < rows; ++i) {
                weights[i] = element_of(saved[i], c, T());
            }
        }
    }

    // The tree over each column.
    __device__ __forceinline__ void add_up() {
#pragma unroll
        for (int c = 0; c < each; ++c) {
            float terms[rows];
            take_column(c, terms);
#pragma unroll
            for (int i = 0; i < rows; ++i) {
                const float gradient = element_of(gradients[i], c, T());
                const float term = a.log ? gradient : terms[i] * gradient;
                terms[i] = takes_part(i, c) ? term : -0.0f;
            }
            folds.leave(c, run_sum<rows, float>(terms));
        }
        folds.await_left();
        folds.template fold<FloatSum<float>>(0, [&](const Column &column, float total) { kept(column).total = total; });
    }

    __device__ __forceinline__ void write() const {
        BackwardColumnTileKept columns[each];
#pragma unroll
        for (int c = 0; c < each; ++c) {
            columns[c] = kept(own(c));
        }
        T *to = part.in_output(a.input_gradient, a.axis, a.inner);
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            float y[each];
            if constexpr (FromLogits && !keeps_weights) {
                form_weights<each>([&](int c) { return row_of(columns[c].logsumexp); },
                                   [&](int c) { return element_of(saved[i], c, T()); }, y);
            } else {
#pragma unroll
                for (int c = 0; c < each; ++c) {
                    y[c] = element_of(saved[i], c, T());
                }
            }
#pragma unroll
            for (int c = 0; c < each; ++c) {
                const float weight = a.log && !FromLogits ? weight_of_any(y[c], 0.0f) : y[c];
                y[c] = softmax_gradient(a.log, weight, element_of(gradients[i], c, T()), columns[c].total);
                if (FromLogits && a.log && a.empty_row_zero) {
                    y[c] = unless_nothing_was_left(weight, y[c]);
                }
            }
            if (a.scale != 1.0f) {
#pragma unroll
                for (float &one : y) {
                    one = one * a.scale;
                }
            }
            if (i < part.count) {
                part.store(to, only_what_takes_part(i, pack_with_nans(y, T())));
            }
            to += a.inner;
        }
    }

    // Row i's gradients, zeros in the place of the others.
    __device__ __forceinline__ uint4 only_what_takes_part(int i, const uint4 &v) const {
        if constexpr (selects) {
            return only_taken(v, taken.of(i), 0);
        }
        return v;
    }

    const Arguments &a;
    const Folds folds;
    const ColumnTilePart<T, rows, Whole> part;
    uint4 saved[rows], gradients[rows];
    std::conditional_t<selects, KeptOfColumns<T>, AllOfColumns> taken;
};

template <class T, bool FromLogits, bool Whole>
__global__ void __launch_bounds__(column_tile_most_threads, 1)
    backward_column_tiles(const __grid_constant__ BackwardColumnTileArguments a) {
    __shared__ ColumnTileBarriers barriers;
    BackwardThreadTile<T, FromLogits, Whole>(a, barriers).work();
}

template <class T, bool FromLogits>
__global__ void __launch_bounds__(column_tile_most_threads, 1)
    backward_masked_column_tiles(const __grid_constant__ MaskedBackwardColumnTileArguments a) {
    __shared__ ColumnTileBarriers barriers;
    BackwardThreadTile<T, FromLogits, true, MaskedBackwardColumnTileArguments>(a, barriers).work();
}

template <class T>
const BackwardColumnTileKernels &backward_column_tile_kernels() {
    static const BackwardColumnTileKernels kernels{
        {{address_of(backward_column_tiles<T, false, false>), address_of(backward_column_tiles<T, false, true>)},
         {address_of(backward_column_tiles<T, true, false>), address_of(backward_column_tiles<T, true, true>)}},
        {address_of(backward_masked_column_tiles<T, false>), address_of(backward_masked_column_tiles<T, true>)},
        vector_elements<T>};
    return kernels;
}

template const BackwardColumnTileKernels &backward_column_tile_kernels<float>();
template const BackwardColumnTileKernels &backward_column_tile_kernels<F16>();
template const BackwardColumnTileKernels &backward_column_tile_kernels<BF16>();

} // namespace wr::cuda
