// Makes the set of kernels of one element type and operator.
#pragma once

#include "cuda/reduce_cluster.cuh"
#include "cuda/reduce_columns.cuh"
#include "cuda/reduce_kernels.h"
#include "cuda/reduce_packed.cuh"

namespace wr::cuda {

static_assert(bytes_a_tile == tile_bytes);
static_assert(scattered_tile == ScatteredAccess<float, FloatSum<float>>::elements);

template <class Kernel>
const void *address_of(Kernel *kernel) {
    return reinterpret_cast<const void *>(kernel);
}

constexpr PartialType partial_type(float) { return PartialType::f32; }
constexpr PartialType partial_type(double) { return PartialType::f64; }
constexpr PartialType partial_type(std::uint64_t) { return PartialType::integer; }
constexpr PartialType partial_type(std::int32_t) { return PartialType::key32; }
constexpr PartialType partial_type(std::int64_t) { return PartialType::key64; }

template <class Accumulator>
std::uint64_t bits_of_identity(Accumulator identity) {
    if constexpr (sizeof(Accumulator) == 4) {
        return bit_cast<std::uint32_t>(identity);
    } else {
        return bit_cast<std::uint64_t>(identity);
    }
}

template <class T, class Op>
const ReduceKernels &reduce_kernels() {
    using Accumulator = typename Op::Accumulator;
    static const ReduceKernels kernels{
        address_of(reduce_rows<T, Op, AlignedAccess<T, Op>>),
        address_of(reduce_rows<T, Op, ShiftedAccess<T, Op>>),
        address_of(reduce_rows<T, Op, ScatteredAccess<T, Op>>),
        address_of(reduce_packed_rows<T, Op, true>),
        address_of(reduce_packed_rows<T, Op, false>),
        address_of(reduce_cluster_rows<T, Op>),
        address_of(reduce_columns<T, Op, vector_bytes, long_run>),
        address_of(reduce_columns<T, Op, vector_bytes, short_run>),
        address_of(reduce_columns<T, Op, sizeof(T), scalar_run>),
        static_cast<int>(sizeof(T)),
        static_cast<int>(sizeof(Accumulator)),
        partial_type(Accumulator()),
        Op::order_free,
        bits_of_identity(Op::identity()),
    };
    return kernels;
}

} // namespace wr::cuda
