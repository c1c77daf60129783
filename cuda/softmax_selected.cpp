#include "cuda/softmax_selected.h"

#include "cuda/launch.h"
#include "cuda/softmax_row_packing.h"
#include "cuda/softmax_selected_launch.h"
#include "cuda/tuning.h"
#include "cuda/vector_types.h"

#include <algorithm>
#include <limits>

namespace wr::cuda {

namespace {

constexpr std::size_t base_block = 1024;
constexpr std::size_t vector_bytes = 16;

const SelectedSoftmaxKernels *kernels_of(const SoftmaxProblem &p) {
    return p.output_dtype == p.dtype && !is_float_of_8_bits(p.dtype)
               ? of_vector_type(p.dtype, []<class T>() { return &selected_softmax_kernels<T>(); })
               : of_vector_type(read_as(p.dtype), []<class T>() { return &converting_softmax_kernels<T>(); });
}

const SelectedShortKernels *short_kernels_of(ElementType dtype) {
    return of_vector_type(dtype, []<class T>() { return &selected_short_kernels<T>(); });
}

template <Lie Where>
const CutRowsKernels *cut_kernels_of(ElementType dtype) {
    return of_vector_type(dtype, []<class T>() { return &cut_rows_kernels<T, Where>(); });
}

// Whether they write this type.
bool serves_output(const SoftmaxProblem &p) {
    return p.output != nullptr && p.output_dtype != ElementType::f64 && !(p.log && is_float_of_8_bits(p.output_dtype));
}

// Whether vectors of so many elements of this type may start here.
bool is_aligned(const void *at, std::size_t elements, ElementType type) {
    const std::size_t bytes = std::min(vector_bytes, elements * traits_of(type).size);
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
    return has_vectors(p, vector_bytes / traits_of(read_as(p.dtype)).size);
}

SelectedSoftmaxArguments arguments_of(const SoftmaxProblem &p) {
    const Shape &s = p.shape;
    SelectedSoftmaxArguments a{};
    a.input = p.input;
    a.output = p.output;
    want_row_values(a, p.logsumexp, p.maximum);
    a.outer = s.outer;
    a.axis = s.axis;
    a.inner = 1;
    a.hull = hull_of(p.input, s, traits_of(p.dtype).size);
    a.outer_stride = s.outer_stride;
    a.axis_stride = 1;
    a.scale = p.scale;
    a.narrow_scale = static_cast<float>(p.scale);
    a.input_type = p.dtype;
    a.output_type = p.output_dtype;
    a.scaled = p.scale != 1.0;
    a.log = p.log;
    a.empty_row_zero = p.empty_row_zero;
    a.mask = p.selection.mask;
    a.lengths = p.selection.lengths;
    a.causal = p.selection.causal;
    a.causal_first = p.selection.causal_first;
    a.causal_rows = static_cast<std::uint32_t>(p.selection.causal_rows);
    a.rows_ahead = divide_up(tuning::softmax_length_ahead, s.axis);
    return a;
}

// Whether rows that are not too long have kernels for cut rows.
bool are_cut_rows(const SoftmaxProblem &p) {
    return p.output_dtype == p.dtype && cut_kernels_of<Lie::anywhere>(p.dtype) != nullptr;
}

bool fits_cut_rows(const RowBlocksPlan &plan) {
    return plan.warps * plan.rows_a_block <= cut_rows_warps && plan.warps * plan.cluster_blocks <= cut_cluster_states;
}

// The kernel for cut rows that are put on a GPU so; nullptr where there is none. (H200, TB/s, f32 of 4096:
// lengths 3.78, causal 3.87, by the others 3.93, 3.94.)
const void *cut_kernel(const SoftmaxProblem &p, const RowBlocksPlan &plan) {
    if (!are_cut_rows(p) || !fits_cut_rows(plan)) {
        return nullptr;
    }
    const CutRowsKernels &kernels =
        lies_on_boundaries(p) ? *cut_kernels_of<Lie::on_boundaries>(p.dtype) : *cut_kernels_of<Lie::anywhere>(p.dtype);
    const bool masked = p.selection.mask != nullptr;
    return (plan.cluster_blocks > 1 ? kernels.of_clusters : kernels.of)[masked ? 1 : 0][p.log ? 1 : 0];
}

// How rows of so many base blocks are put on a GPU.
RowBlocksPlan plan_rows(const SoftmaxProblem &p, const GpuFacts &gpu) {
    const bool wide = p.dtype == ElementType::f32 && p.output_dtype == ElementType::f32;
    const std::size_t blocks = divide_up(p.shape.axis, base_block);
    return plan_row_blocks(
        p.shape.outer, blocks,
        {static_cast<std::size_t>(selected_warps[selected_sizes - 1]),
         wide ? tuning::softmax_selected_row_warps : tuning::softmax_row_warps,
         wide ? tuning::softmax_least_cluster_warps : tuning::softmax_cluster_warps,
         are_cut_rows(p) && blocks <= cut_cluster_states ? cut_rows_warps : tuning::softmax_long_cluster_warps},
        gpu);
}

} // namespace

bool has_small_limits(const Shape &s, const Selection &chosen) {
    constexpr std::int64_t most = std::int64_t{1} << 62;
    constexpr std::size_t most_rows = std::numeric_limits<std::uint32_t>::max();
    return s.outer <= most_rows && (!chosen.causal || (chosen.causal_rows <= most_rows && chosen.causal_first < most &&
                                                       chosen.causal_first > -most));
}

RowBlocksPlan plan_selected_softmax(const SoftmaxProblem &p, const GpuFacts &gpu) {
    if (kernels_of(p) == nullptr || !serves_output(p) || p.selection.ragged || !lies_on_boundaries(p) ||
        !has_small_limits(p.shape, p.selection)) {
        return {};
    }
    return plan_rows(p, gpu);
}

RowBlocksPlan plan_softmax_anywhere(const SoftmaxProblem &p, const GpuFacts &gpu) {
    if (!are_cut_rows(p) || !serves_output(p) || p.selection.ragged || !has_neighbours(p) ||
        !has_small_limits(p.shape, p.selection)) {
        return {};
    }
    const RowBlocksPlan plan = plan_rows(p, gpu);
    return fits_cut_rows(plan) ? plan : RowBlocksPlan{};
}

cudaError_t launch_selected_softmax(const SoftmaxProblem &p, const RowBlocksPlan &plan, cudaStream_t stream) {
    const SelectedSoftmaxKernels &kernels = *kernels_of(p);
    SelectedSoftmaxArguments a = arguments_of(p);
    a.cluster_blocks = static_cast<std::int32_t>(plan.cluster_blocks);
    if (const void *const cut = cut_kernel(p, plan); cut != nullptr) {
        return launch_row_blocks(cut, plan, p.shape.outer, &a, stream);
    }
    const bool few = divide_up(p.shape.axis, base_block) <= selected_few_blocks &&
                     plan.warps <= static_cast<std::size_t>(selected_warps[0]);
    const int size = !few ? 2 : plan.cluster_blocks > 1 ? 1 : 0;
    return launch_row_blocks(kernels.of[p.log ? 1 : 0][size], plan, p.shape.outer, &a, stream);
}

bool serves_selected_short(const SoftmaxProblem &p) {
    const Shape &s = p.shape;
    const bool contiguous = s.outer == 1 || s.outer_stride == static_cast<std::ptrdiff_t>(s.axis);
    return p.output != nullptr && p.output_dtype == p.dtype && short_kernels_of(p.dtype) != nullptr &&
           !p.selection.ragged && s.axis <= tuning::softmax_short_row && has_vectors(p, elements_of_vector(p.dtype)) &&
           has_small_limits(s, p.selection) && contiguous;
}

cudaError_t launch_selected_short(const SoftmaxProblem &p, const GpuFacts &gpu, cudaStream_t stream) {
    const RowPacking packing(p.shape.axis, elements_of_vector(p.dtype));
    SelectedSoftmaxArguments a = arguments_of(p);
    a.row_lanes = static_cast<std::int32_t>(packing.places);
    const void *kernel = short_kernels_of(p.dtype)->of[p.log ? 1 : 0];
    return launch(packed_launch(kernel, p.shape.outer, packing, gpu), &a, stream);
}

} // namespace wr::cuda
