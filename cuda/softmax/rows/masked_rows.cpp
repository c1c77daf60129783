#include "cuda/softmax/rows.h"

#include "cuda/common/launch.h"
#include "cuda/common/vectors.h"
#include "cuda/rowwise/row_plan.h"
#include "cuda/softmax/plan.h"
#include "cuda/softmax/policy.h"
#include "numerics/softmax.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace wr::cuda {

namespace {

bool has_own_type(const SoftmaxProblem &p) { return p.output_dtype == p.dtype && !is_float_of_8_bits(p.dtype); }

// The kernels for such rows; nullptr where there are none.
const MaskedRowsKernels *masked_kernels_of(const SoftmaxProblem &p, Alignment where) {
    if (p.scales != nullptr) {
        return where == Alignment::element || !has_own_type(p) || p.selection.mask != nullptr
                   ? nullptr
                   : of_vector_type(p.dtype, []<class T>() { return &scaled_rows_kernels<T>(); });
    }
    if (!has_own_type(p)) {
        return where == Alignment::element
                   ? nullptr
                   : of_vector_type(read_as(p.dtype), []<class T>() { return &converting_masked_kernels<T>(); });
    }
    return where == Alignment::element
               ? of_vector_type(p.dtype, []<class T>() { return &masked_rows_kernels<T, Alignment::element>(); })
               : of_vector_type(p.dtype, []<class T>() { return &masked_rows_kernels<T, Alignment::vector>(); });
}

const MaskedShortKernels *short_kernels_of(ElementType dtype) {
    return of_vector_type(dtype, []<class T>() { return &masked_short_kernels<T>(); });
}

// Whether they write this type.
bool serves_output(const SoftmaxProblem &p) {
    return p.output != nullptr && p.output_dtype != ElementType::f64 && !(p.log && is_float_of_8_bits(p.output_dtype));
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
    return has_neighbours(p) && s.axis % elements == 0 && steps_by_vectors(s.outer, s.outer_stride, elements) &&
           is_aligned_for(p.selection.mask, elements, ElementType::u8) && is_aligned_for(p.input, elements, p.dtype) &&
           is_aligned_for(p.output, elements, p.output_dtype);
}

// The same of as many elements as a vector of what is read has.
bool lies_on_boundaries(const SoftmaxProblem &p) {
    return has_vectors(p, bytes_of_vector / traits_of(read_as(p.dtype)).size);
}

MaskedRowsArguments arguments_of(const SoftmaxProblem &p, const GpuFacts &gpu) {
    const Shape &s = p.shape;
    MaskedRowsArguments a{};
    static_cast<SoftmaxArguments &>(a) = arguments_of_problem(p);
    a.inner = 1;
    a.axis_stride = 1;
    a.readable_range = readable_range_of(p.input, s, traits_of(p.dtype).size);
    a.mask = p.selection.mask;
    a.lengths = p.selection.lengths;
    a.causal = p.selection.causal;
    a.causal_first = p.selection.causal_first;
    a.causal_rows = static_cast<std::uint32_t>(p.selection.causal_rows);
    a.rows_ahead = divide_up(softmax_policy(gpu).length_ahead, s.axis);
    return a;
}

// How rows of so many tiles are put on a GPU. More than a cluster of 8 holds by one of 16 (H200, 512 rows of 80000, us,
// by 8 blocks of up to 32 warps and kernels of their own, and so: f32 masked 111 and 103, lengths 86 and 70, bf16 83
// and 60, 67 and 39; 64 of 200000 55 and 44, 40 and 31, 42 and 30, 34 and 21).
RowTilesPlan plan_rows(const SoftmaxProblem &p, const GpuFacts &gpu) {
    const bool wide = p.dtype == ElementType::f32 && p.output_dtype == ElementType::f32;
    const std::size_t blocks = divide_up(p.shape.axis, softmax_block);
    if (gpu.cluster_blocks != 0 && blocks > static_cast<std::size_t>(gpu.cluster_blocks) * masked_rows_warps) {
        return plan_wide_cluster(p.shape.outer, blocks, gpu);
    }
    return plan_row_tiles(p.shape.outer, blocks,
                          {masked_rows_warps, rowwise_policy(gpu).cta_warps,
                           wide ? rowwise_policy(gpu).least_cluster_warps : softmax_preferred_cluster_warps,
                           masked_rows_warps},
                          gpu);
}

// Whether lanes that hold rows off the boundaries would get in each other's way.
bool would_clash(const SoftmaxProblem &p, const SoftmaxPolicy &policy) {
    return p.dtype == ElementType::f32 && std::has_single_bit(p.shape.axis) &&
           p.shape.axis >= policy.staged_least_clash && p.shape.axis <= policy.staged_most_clash &&
           !has_vectors(p, elements_of_vector(p.dtype));
}

} // namespace

bool has_small_limits(const Shape &s, const Selection &chosen) {
    constexpr std::int64_t most = std::int64_t{1} << 62;
    constexpr std::size_t most_rows = std::numeric_limits<std::uint32_t>::max();
    return s.outer <= most_rows && (!chosen.causal || (chosen.causal_rows <= most_rows && chosen.causal_first < most &&
                                                       chosen.causal_first > -most));
}

RowTilesPlan plan_masked_rows(const SoftmaxProblem &p, const GpuFacts &gpu) {
    const bool supported = masked_kernels_of(p, Alignment::vector) != nullptr && serves_output(p) &&
                           !p.selection.ragged && lies_on_boundaries(p) && has_small_limits(p.shape, p.selection);
    return supported ? plan_rows(p, gpu) : RowTilesPlan{};
}

RowTilesPlan plan_softmax_anywhere(const SoftmaxProblem &p, const GpuFacts &gpu) {
    const bool supported = masked_kernels_of(p, Alignment::element) != nullptr && serves_output(p) &&
                           !p.selection.ragged && has_neighbours(p) && has_small_limits(p.shape, p.selection);
    return supported ? plan_rows(p, gpu) : RowTilesPlan{};
}

cudaError_t launch_planned_masked_rows(const SoftmaxProblem &p, const RowTilesPlan &plan, const GpuFacts &gpu,
                                       cudaStream_t stream, bool *supported) {
    const MaskedRowsKernels *const kernels =
        masked_kernels_of(p, lies_on_boundaries(p) ? Alignment::vector : Alignment::element);
    *supported = kernels != nullptr && plan.warps != 0;
    if (!*supported) {
        return cudaSuccess;
    }
    const void *const kernel = plan.cluster_blocks > 1 ? kernels->of_clusters : kernels->of_blocks;
    if (plan.cluster_blocks > 1 && plan.cluster_blocks > static_cast<std::size_t>(gpu.cluster_blocks)) {
        int resident = 0;
        const cudaError_t error = prepare_clusters(row_tiles_launch(kernel, plan, 1), gpu, &resident);
        *supported = error == cudaSuccess && resident > 0;
        if (!*supported) {
            return error;
        }
    }
    ScaledRowsArguments a{arguments_of(p, gpu), p.scales}; // of which most kernels know less
    a.cluster_blocks = static_cast<std::int32_t>(plan.cluster_blocks);
    return launch_row_tiles(kernel, plan, p.shape.outer, &a, stream);
}

bool serves_masked_short(const SoftmaxProblem &p, const GpuFacts &gpu) {
    const SoftmaxPolicy &policy = softmax_policy(gpu);
    const Shape &s = p.shape;
    const bool contiguous = s.outer == 1 || s.outer_stride == static_cast<std::ptrdiff_t>(s.axis);
    return p.output != nullptr && p.scales == nullptr && p.output_dtype == p.dtype &&
           short_kernels_of(p.dtype) != nullptr && !p.selection.ragged && s.axis <= policy.sub_warp_axis &&
           has_neighbours(p) && has_small_limits(s, p.selection) && contiguous && !would_clash(p, policy);
}

cudaError_t launch_masked_short(const SoftmaxProblem &p, const GpuFacts &gpu, cudaStream_t stream) {
    const MaskedShortKernels &kernels = *short_kernels_of(p.dtype);
    const int log = p.log ? 1 : 0;
    const std::size_t elements = elements_of_vector(p.dtype), rows = p.shape.outer;
    MaskedRowsArguments a = arguments_of(p, gpu);
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
