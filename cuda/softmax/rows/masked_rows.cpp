#include "cuda/softmax/rows/masked_rows_arguments.h"

#include "cuda/common/launch.h"
#include "cuda/common/tuning.h"
#include "cuda/common/vector_types.h"
#include "cuda/rowwise/sub_warp_rows.h"
#include "cuda/softmax/plan.h"
#include "cuda/softmax/rows/masked_rows.h"
#include "numerics/softmax.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace wr::cuda {

namespace {

bool has_own_type(const SoftmaxProblem &p) { return p.output_dtype == p.dtype && !is_float_of_8_bits(p.dtype); }

// The kernel for rows of any length; nullptr where there is none.
template <bool Log>
const void *kernel_of(const SoftmaxProblem &p) {
    return has_own_type(p)
               ? of_vector_type(p.dtype, []<class T>() { return selected_softmax_kernel<T, Log, false>(); })
               : of_vector_type(read_as(p.dtype), []<class T>() { return selected_softmax_kernel<T, Log, true>(); });
}
const void *kernel_of(const SoftmaxProblem &p) { return p.log ? kernel_of<true>(p) : kernel_of<false>(p); }

// The kernels for cut rows; nullptr where there are none.
template <bool Log>
const CutRowsKernels *cut_kernels_of(const SoftmaxProblem &p, Lie where) {
    if (!has_own_type(p)) {
        return where == Lie::anywhere
                   ? nullptr
                   : of_vector_type(read_as(p.dtype), []<class T>() { return &converting_cut_kernels<T, Log>(); });
    }
    return where == Lie::anywhere
               ? of_vector_type(p.dtype, []<class T>() { return &cut_rows_kernels<T, Log, Lie::anywhere>(); })
               : of_vector_type(p.dtype, []<class T>() { return &cut_rows_kernels<T, Log, Lie::on_boundaries>(); });
}
const CutRowsKernels *cut_kernels_of(const SoftmaxProblem &p, Lie where) {
    return p.log ? cut_kernels_of<true>(p, where) : cut_kernels_of<false>(p, where);
}

const SelectedShortKernels *short_kernels_of(ElementType dtype) {
    return of_vector_type(dtype, []<class T>() { return &selected_short_kernels<T>(); });
}

// Whether they write this type.
bool serves_output(const SoftmaxProblem &p) {
    return p.output != nullptr && p.output_dtype != ElementType::f64 && !(p.log && is_float_of_8_bits(p.output_dtype));
}

// Whether vectors of so many elements of this type may start here.
bool is_aligned(const void *at, std::size_t elements, ElementType type) {
    const std::size_t bytes = std::min(bytes_of_vector, elements * traits_of(type).size);
    return reinterpret_cast<std::uintptr_t>(at) % bytes == 0;
}

// Whether the elements of rows are neighbours, and the mask's bytes lie as they do.
bool has_neighbours(const SoftmaxProblem &p) {
    const Shape &s = p.shape;
    const bool mask_fits =
        p.selection.mask == nullptr || s.outer == 1 || s.outer_stride == static_cast<std::ptrdiff_t>(s.axis);
    return s.inner == 1 && s.axis > 0 && s.axis_stride == 1 && mask_fits;
}

// Whether rows are whole vectors on their boundaries, and mask bytes whole words beside them.
bool has_vectors(const SoftmaxProblem &p, std::size_t elements) {
    const Shape &s = p.shape;
    const bool rows_aligned = s.outer == 1 || s.outer_stride % static_cast<std::ptrdiff_t>(elements) == 0;
    const bool mask_aligned = p.selection.mask == nullptr || is_aligned(p.selection.mask, elements, ElementType::u8);
    return has_neighbours(p) && s.axis % elements == 0 && rows_aligned && mask_aligned &&
           is_aligned(p.input, elements, p.dtype) && is_aligned(p.output, elements, p.output_dtype);
}

// The same of as many elements as a vector of what is read has.
bool lies_on_boundaries(const SoftmaxProblem &p) {
    return has_vectors(p, bytes_of_vector / traits_of(read_as(p.dtype)).size);
}

SelectedSoftmaxArguments arguments_of(const SoftmaxProblem &p) {
    const Shape &s = p.shape;
    SelectedSoftmaxArguments a{};
    static_cast<SoftmaxArguments &>(a) = arguments_of_problem(p);
    a.inner = 1;
    a.axis_stride = 1;
    a.hull = hull_of(p.input, s, traits_of(p.dtype).size);
    a.mask = p.selection.mask;
    a.lengths = p.selection.lengths;
    a.causal = p.selection.causal;
    a.causal_first = p.selection.causal_first;
    a.causal_rows = static_cast<std::uint32_t>(p.selection.causal_rows);
    a.rows_ahead = divide_up(tuning::softmax_length_ahead, s.axis);
    return a;
}

// The kernel for cut rows that are put on a GPU so; nullptr where there is none.
const void *cut_kernel(const SoftmaxProblem &p, const RowBlocksPlan &plan) {
    const CutRowsKernels *kernels = cut_kernels_of(p, lies_on_boundaries(p) ? Lie::on_boundaries : Lie::anywhere);
    if (kernels == nullptr || !fits_cut_rows(plan)) {
        return nullptr;
    }
    return (plan.cluster_blocks > 1 ? kernels->of_clusters : kernels->of)[p.selection.mask != nullptr ? 1 : 0];
}

// How rows of so many base blocks are put on a GPU.
RowBlocksPlan plan_rows(const SoftmaxProblem &p, const GpuFacts &gpu) {
    const bool wide = p.dtype == ElementType::f32 && p.output_dtype == ElementType::f32;
    const std::size_t blocks = divide_up(p.shape.axis, softmax_block);
    return plan_row_blocks(p.shape.outer, blocks,
                           {static_cast<std::size_t>(selected_warps),
                            wide ? tuning::softmax_selected_row_warps : tuning::softmax_row_warps,
                            wide ? tuning::softmax_least_cluster_warps : tuning::softmax_cluster_warps,
                            cut_kernels_of(p, Lie::on_boundaries) != nullptr && blocks <= cut_cluster_states
                                ? cut_rows_warps
                                : tuning::softmax_long_cluster_warps},
                           gpu);
}

// Whether lanes that hold rows off the boundaries would get in each other's way.
bool would_clash(const SoftmaxProblem &p) {
    return p.dtype == ElementType::f32 && std::has_single_bit(p.shape.axis) &&
           p.shape.axis >= tuning::softmax_staged_least_clash && p.shape.axis <= tuning::softmax_staged_most_clash &&
           !has_vectors(p, elements_of_vector(p.dtype));
}

} // namespace

bool fits_cut_rows(const RowBlocksPlan &plan) {
    return plan.warps * plan.rows_a_block <= cut_rows_warps && plan.warps * plan.cluster_blocks <= cut_cluster_states;
}

bool has_small_limits(const Shape &s, const Selection &chosen) {
    constexpr std::int64_t most = std::int64_t{1} << 62;
    constexpr std::size_t most_rows = std::numeric_limits<std::uint32_t>::max();
    return s.outer <= most_rows && (!chosen.causal || (chosen.causal_rows <= most_rows && chosen.causal_first < most &&
                                                       chosen.causal_first > -most));
}

RowBlocksPlan plan_selected_softmax(const SoftmaxProblem &p, const GpuFacts &gpu) {
    if (kernel_of(p) == nullptr || !serves_output(p) || p.selection.ragged || !lies_on_boundaries(p) ||
        !has_small_limits(p.shape, p.selection)) {
        return {};
    }
    return plan_rows(p, gpu);
}

RowBlocksPlan plan_softmax_anywhere(const SoftmaxProblem &p, const GpuFacts &gpu) {
    if (cut_kernels_of(p, Lie::anywhere) == nullptr || !serves_output(p) || p.selection.ragged || !has_neighbours(p) ||
        !has_small_limits(p.shape, p.selection)) {
        return {};
    }
    const RowBlocksPlan plan = plan_rows(p, gpu);
    return fits_cut_rows(plan) ? plan : RowBlocksPlan{};
}

cudaError_t launch_selected_softmax(const SoftmaxProblem &p, const RowBlocksPlan &plan, cudaStream_t stream) {
    SelectedSoftmaxArguments a = arguments_of(p);
    a.cluster_blocks = static_cast<std::int32_t>(plan.cluster_blocks);
    if (const void *const cut = cut_kernel(p, plan); cut != nullptr) {
        return launch_row_blocks(cut, plan, p.shape.outer, &a, stream);
    }
    return launch_row_blocks(kernel_of(p), plan, p.shape.outer, &a, stream);
}

bool serves_selected_short(const SoftmaxProblem &p) {
    const Shape &s = p.shape;
    const bool contiguous = s.outer == 1 || s.outer_stride == static_cast<std::ptrdiff_t>(s.axis);
    return p.output != nullptr && p.output_dtype == p.dtype && short_kernels_of(p.dtype) != nullptr &&
           !p.selection.ragged && s.axis <= tuning::softmax_short_row && has_neighbours(p) &&
           has_small_limits(s, p.selection) && contiguous && !would_clash(p);
}

cudaError_t launch_selected_short(const SoftmaxProblem &p, const GpuFacts &gpu, cudaStream_t stream) {
    const SelectedShortKernels &kernels = *short_kernels_of(p.dtype);
    const int log = p.log ? 1 : 0;
    const std::size_t elements = elements_of_vector(p.dtype), rows = p.shape.outer;
    SelectedSoftmaxArguments a = arguments_of(p);
    if (has_vectors(p, elements)) {
        const RowPacking packing(p.shape.axis, elements);
        a.row_lanes = static_cast<std::int32_t>(packing.places);
        return launch(short_rows_launch(kernels.packed[log], rows, packing.warp_rows, gpu), &a, stream);
    }
    const StagedRows staged(p.shape, traits_of(p.dtype).size, softmax_block / warp_threads / elements, gpu);
    a.row_lanes = static_cast<std::int32_t>(staged.lanes);
    a.row_batches = static_cast<std::int32_t>(staged.batches);
    return launch(short_rows_launch(kernels.any[log], rows, staged.warp_rows, gpu), &a, stream);
}

} // namespace wr::cuda
