// The gradient of softmax of columns of whole vectors, read twice: a thread walks 128 rows of one vector of columns.
#include "cuda/device/intrinsics.cuh"
#include "cuda/rowwise/two_pass_columns.cuh"
#include "cuda/softmax/sub_warp/vectors.cuh"
#include "cuda/softmax_backward/launches.h"
#include "cuda/softmax_backward/pack.cuh"
#include "cuda/softmax_backward/weights.cuh"

namespace wr::cuda {

inline constexpr int backward_group = 4; // rows of both arrays that are asked for at once

// Blocks of threads that a multiprocessor should hold: as many as leave nothing spilled.
template <class T>
inline constexpr int backward_two_pass_column_blocks = sizeof(T) == 2 ? 2 : two_pass_column_resident_blocks;

// What the gradients of a thread's columns are multiplied by.
template <class T>
class ColumnWeights {
    static constexpr int each = vector_elements<T>;

  public:
    __device__ __forceinline__ ColumnWeights(const BackwardColumnArguments &arguments,
                                             const TwoPassColumnPlace<T> &place)
        : a(arguments) {
        if (a.logsumexp != nullptr) {
#pragma unroll
            for (int c = 0; c < each; ++c) {
                logsumexp[c] = a.logsumexp[place.column(a.inner, c)];
            }
        }
    }

    // Of a group of rows; log: of log-softmax's outputs these are logarithms.
    template <int Rows>
    __device__ __forceinline__ void form(const uint4 (&saved)[Rows], float (&weights)[Rows][each]) const {
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
            const auto element = [&](int c) { return element_of(saved[i], c, T()); };
            if (a.logsumexp != nullptr) {
                form_weights<each>(
                    [&](int c) { return saved_row(SavedAs::logits, a.log, a.scale, logsumexp[c], a.empty_row_zero); },
                    element, weights[i]);
            } else if (a.log) {
                form_weights<each>(element, weights[i]);
            } else {
#pragma unroll
                for (int c = 0; c < each; ++c) {
                    weights[i][c] = element(c);
                }
            }
        }
    }

  private:
    const BackwardColumnArguments &a;
    float logsumexp[each];
};

// Calls act(saved, gradients, first, left) for each group of a thread's rows.
template <class T, class Act>
__device__ __forceinline__ void for_each_group(const BackwardColumnArguments &a, const TwoPassColumnPlace<T> &place,
                                               bool wants_saved, Act act) {
    const T *saved_from = place.in(a.saved, a.outer_stride, a.axis_stride);
    const T *gradients_from = place.in(a.output_gradient, a.gradient_outer_stride, a.gradient_axis_stride);
#pragma unroll 1
    for (int first = 0; first < place.count; first += backward_group) {
        const int left = place.count - first;
        uint4 saved[backward_group] = {}, gradients[backward_group];
        if (wants_saved) {
            load_two_pass_column_rows(saved_from, a.axis_stride, left, saved);
        }
        load_two_pass_column_rows(gradients_from, a.gradient_axis_stride, left, gradients);
        all_are_asked_for();
        saved_from += backward_group * a.axis_stride;
        gradients_from += backward_group * a.gradient_axis_stride;
        act(saved, gradients, first, left);
    }
}

template <class T>
struct BackwardColumnMemory {
    float sums[two_pass_column_threads * vector_elements<T>];
    typename TwoPassColumnTree<float, vector_elements<T>, backward_group>::Memory waiting;
};

// The sum of each column's terms in each tile.
template <class T>
__global__ void __launch_bounds__(two_pass_column_threads, backward_two_pass_column_blocks<T>)
    backward_two_pass_column_sums(const __grid_constant__ BackwardColumnArguments a) {
    constexpr int each = vector_elements<T>;
    __shared__ BackwardColumnMemory<T> memory;
    pdl_wait_and_release();
    const TwoPassColumnPlace<T> place(a.tiles, a.axis, a.inner, blockIdx.x);
    TwoPassColumnTree<float, each, backward_group> tree(memory.waiting);
    if (place.count > 0) {
        const ColumnWeights<T> columns(a, place);
        for_each_group(
            a, place, !a.log,
            [&](const uint4(&saved)[backward_group], const uint4(&gradients)[backward_group], int, int left) {
                float terms[backward_group][each];
                if (!a.log) {
                    columns.form(saved, terms);
                }
                float sums[each];
#pragma unroll
                for (int c = 0; c < each; ++c) {
                    float of_column[backward_group];
#pragma unroll
                    for (int i = 0; i < backward_group; ++i) {
                        const float gradient = element_of(gradients[i], c, T());
                        const float term = a.log ? gradient : terms[i][c] * gradient;
                        of_column[i] = i < left ? term : -0.0f;
                    }
                    sums[c] = run_sum<backward_group, float>(of_column);
                }
                tree.push(sums);
            });
    }
#pragma unroll 1
    for (int c = 0; c < each; ++c) {
        memory.sums[static_cast<int>(threadIdx.x) * each + c] = tree.result(c);
    }
    __syncthreads();
    const TwoPassColumnItem<T> item(a.tiles, a.inner, a.splits, blockIdx.x);
    if (item.exists) {
        a.sums[item.split] = static_cast<double>(item.tree(memory.sums));
    }
}

// The gradients. The end of the input comes first: it was read last, and some of it is in the cache still.
template <class T>
__global__ void __launch_bounds__(two_pass_column_threads, backward_two_pass_column_blocks<T>)
    backward_two_pass_column_gradients(const __grid_constant__ BackwardColumnArguments a) {
    constexpr int each = vector_elements<T>;
    pdl_wait_and_release();
    const TwoPassColumnPlace<T> place(a.tiles, a.axis, a.inner, gridDim.x - 1 - blockIdx.x);
    if (place.count == 0) {
        return;
    }
    const ColumnWeights<T> columns(a, place);
    float totals[each];
#pragma unroll
    for (int c = 0; c < each; ++c) {
        totals[c] = static_cast<float>(a.totals[place.column(a.inner, c)]);
    }
    T *const output = place.in_output(a.input_gradient, a.axis, a.inner);
    for_each_group(
        a, place, true,
        [&](const uint4(&saved)[backward_group], const uint4(&gradients)[backward_group], int first, int left) {
            float weights[backward_group][each];
            columns.form(saved, weights);
            T *to = output + static_cast<std::size_t>(first) * a.inner;
#pragma unroll
            for (int i = 0; i < backward_group; ++i) {
                float y[each];
#pragma unroll
                for (int c = 0; c < each; ++c) {
                    y[c] = softmax_gradient(a.log, weights[i][c], element_of(gradients[i], c, T()), totals[c]);
                    if (a.logsumexp != nullptr && a.log && a.empty_row_zero) {
                        y[c] = unless_nothing_was_left(weights[i][c], y[c]);
                    }
                }
                if (a.scale != 1.0f) {
#pragma unroll
                    for (float &one : y) {
                        one = one * a.scale;
                    }
                }
                if (i < left) {
                    store_vector(to, pack_with_nans(y, T()));
                }
                to += a.inner;
            }
        });
}

template <class T>
const BackwardColumnKernels &backward_column_kernels() {
    static const BackwardColumnKernels kernels{address_of(backward_two_pass_column_sums<T>),
                                               address_of(backward_two_pass_column_gradients<T>)};
    return kernels;
}

template const BackwardColumnKernels &backward_column_kernels<float>();
template const BackwardColumnKernels &backward_column_kernels<F16>();
template const BackwardColumnKernels &backward_column_kernels<BF16>();

} // namespace wr::cuda
