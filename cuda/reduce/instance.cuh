// Makes the set of kernels of one element type and operator.
#pragma once

#include "cuda/device/intrinsics.cuh"
#include "cuda/reduce/columns.cuh"
#include "cuda/reduce/kernels.h"
#include "cuda/reduce/rows.cuh"
#include "cuda/reduce/staged_rows.cuh"
#include "cuda/reduce/sub_warp_rows.cuh"
#include "cuda/segments/segments.cuh"

namespace wr::cuda {

static_assert(bytes_a_tile == tile_bytes);
static_assert(strided_tile == StridedAccess<float, FloatSum<float>>::elements);

// Segments have no weights, and nobody asks for an operator over mere partial results.
template <class Op>
inline constexpr bool has_segments = !Op::positional;
template <class Key>
inline constexpr bool has_segments<ArgExtreme<Key>> = true;
template <class Op>
inline constexpr bool has_segments<Partial<Op>> = false;

// The sets that take on partial results are each made in one place, not wherever they are named.
extern template const ReduceKernels &reduce_kernels<float, FloatSum<float>>();
extern template const ReduceKernels &reduce_kernels<double, FloatSum<double>>();
extern template const ReduceKernels &reduce_kernels<float, FloatProduct<float>>();
extern template const ReduceKernels &reduce_kernels<double, FloatProduct<double>>();
extern template const ReduceKernels &reduce_kernels<Counted<float>, Partial<CountedFloatSum<float>>>();
extern template const ReduceKernels &reduce_kernels<Counted<double>, Partial<CountedFloatSum<double>>>();
extern template const ReduceKernels &reduce_kernels<StoredScaled, Partial<ScaledSquareSum<float>>>();
extern template const ReduceKernels &reduce_kernels<Scaled<double>, Partial<ScaledSquareSum<double>>>();
extern template const ReduceKernels &reduce_kernels<Counted<double>, Partial<WideIntegerProduct>>();
extern template const ReduceKernels &reduce_kernels<std::uint64_t, IntegerSum>();
extern template const ReduceKernels &reduce_kernels<std::uint64_t, IntegerProduct>();
extern template const ReduceKernels &reduce_kernels<std::uint64_t, BitOr>();
extern template const ReduceKernels &reduce_kernels<std::uint64_t, BitXor>();
extern template const ReduceKernels &reduce_kernels<Goldilocks, FieldSum<Goldilocks>>();
extern template const ReduceKernels &reduce_kernels<KoalaBearX4, FieldSum<KoalaBearX4>>();
extern template const ReduceKernels &reduce_kernels<BabyBearX4, FieldSum<BabyBearX4>>();
extern template const ReduceKernels &reduce_kernels<KoalaBear, FieldProduct<KoalaBear>>();
extern template const ReduceKernels &reduce_kernels<BabyBear, FieldProduct<BabyBear>>();
extern template const ReduceKernels &reduce_kernels<Mersenne31, FieldProduct<Mersenne31>>();
extern template const ReduceKernels &reduce_kernels<Goldilocks, FieldProduct<Goldilocks>>();
extern template const ReduceKernels &reduce_kernels<KoalaBearX4, FieldProduct<KoalaBearX4>>();
extern template const ReduceKernels &reduce_kernels<BabyBearX4, FieldProduct<BabyBearX4>>();
extern template const ReduceKernels &reduce_kernels<std::uint32_t, Extreme<std::int32_t>>();
extern template const ReduceKernels &reduce_kernels<std::uint64_t, Extreme<std::int64_t>>();
extern template const ReduceKernels &reduce_kernels<KeyAt<std::int32_t>, Partial<ArgExtreme<std::int32_t>>>();
extern template const ReduceKernels &reduce_kernels<KeyAt<std::int64_t>, Partial<ArgExtreme<std::int64_t>>>();

template <class T, class Op>
ReduceKernels kernels_of() {
    ReduceKernels kernels{};
    using Unaligned = UnalignedAccess<T, QuickOf<Op>>;
    using OnBoundaries = std::conditional_t<is_rare<Op>, Unaligned, AlignedAccess<T, QuickOf<Op>>>;
    kernels.aligned_rows = address_of(reduce_rows<T, Op, OnBoundaries>);
    if constexpr (!is_partial<Op>) {
        kernels.unaligned_rows = address_of(reduce_rows<T, Op, Unaligned>);
        kernels.strided_rows = address_of(reduce_rows<T, Op, StridedAccess<T, QuickOf<Op>>>);
    }
    using Vectors = VectorColumns<T, column_vector_bytes<T, Op>>;
    kernels.columns = address_of(reduce_columns<T, Op, Vectors>);
    if constexpr (!is_partial<Op> && column_vector_bytes<T, Op> > static_cast<int>(alignof(T))) {
        kernels.single_columns = address_of(reduce_columns<T, Op, SingleColumn<T>>);
    }
    if constexpr (has_many_rows_in_flight<T, Op>) {
        kernels.columns_of_few_rows = address_of(reduce_columns<T, Op, Vectors, few_column_rows>);
    }
    if constexpr (takes_short_axes<T, Op, Vectors>) {
        kernels.short_columns = address_of(reduce_short_columns<T, Op, Vectors>);
    }
    kernels.staged = address_of(reduce_staged<T, Op>);
    if constexpr (has_segments<Op>) {
        kernels.segments = address_of(reduce_segments<T, Op, has_all_kernels<T, Op>>);
    }
    if constexpr (std::is_same_v<PartialElement<Op>, T> && std::is_same_v<typename PartialResults<Op>::Next, Op>) {
        kernels.long_segments = address_of(finish_long_segments<T, Op>);
    }
    if constexpr (packs_rows<T, Op> || (has_quick_way<Op> && !is_partial<Op>)) {
        kernels.staged_vectors = address_of(reduce_staged_vectors<T, Op>);
    }
    if constexpr (packs_rows<T, Op>) {
        kernels.packed_rows = address_of(reduce_packed_rows<T, Op>);
        kernels.three_vector_rows = address_of(reduce_three_vector_rows<T, Op>);
    }
    if constexpr (has_all_kernels<T, Op>) {
        kernels.cluster_rows = address_of(reduce_cluster_rows<T, Op>);
    }
    kernels.element_bytes = static_cast<int>(sizeof(T));
    kernels.column_vector_bytes = column_vector_bytes<T, Op>;
    kernels.triples_a_thread = triples_a_thread<T, Op>;
    kernels.least_packed_bytes = least_packed_bytes<T, Op>;
    kernels.most_column_run = most_column_run<T, Op>;
    kernels.longest_column_run = larger(most_column_run<T, Op>, longest_column_run<T, Op, Vectors>);
    kernels.finds_place = finds_place<T, Op>;
    kernels.adds_norms = has_quick_way<Op> || is_made_of<Op, MappedFloatSum>;
    kernels.order_free = Op::order_free;
    kernels.deals_tiles = may_be_dealt<Op> && tile_blocks_resident<T, Op> == usual_tile_blocks;
    kernels.partial_bytes = static_cast<int>(sizeof(PartialElement<Op>));
    kernels.rows_run_as_clusters = rows_run_as_clusters<T, Op>;
    kernels.partial = reduce_kernels<PartialElement<Op>, typename PartialResults<Op>::Next>;
    return kernels;
}

template <class T, class Op>
const ReduceKernels &reduce_kernels() {
    static const ReduceKernels kernels = kernels_of<T, Op>();
    return kernels;
}

} // namespace wr::cuda
