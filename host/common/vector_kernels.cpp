// The kernels of one instruction set, WR_ISA, and what finds them. Reductions that are asked for most have kernels of
// their own, all others are mapped_kernels.cpp's.
#ifndef WR_ISA
#define WR_ISA baseline
#endif

#include "host/common/vector_kernels.h"

#include "host/reduce/find_exact.h"
#include "host/reduce/find_mapped.h"
#include "host/reduce/reduce_kernels.h"
#include "host/softmax/backward_kernels.h"
#include "host/softmax/kernels.h"
#include "numerics/operator_table.h"

namespace wr::host::WR_ISA {

namespace {

template <class Op, class T>
constexpr bool is_direct = false;
template <>
constexpr bool is_direct<FloatSum<float>, float> = true;
template <>
constexpr bool is_direct<FloatSum<float>, F16> = true;
template <>
constexpr bool is_direct<FloatSum<float>, BF16> = true;
template <>
constexpr bool is_direct<FloatSum<double>, double> = true;
template <>
constexpr bool is_direct<FieldSum<KoalaBear>, KoalaBear> = true;
template <>
constexpr bool is_direct<Extreme<std::int32_t>, float> = true;
template <>
constexpr bool is_direct<Extreme<std::int32_t>, F16> = true;
template <>
constexpr bool is_direct<Extreme<std::int32_t>, BF16> = true;
template <>
constexpr bool is_direct<Extreme<std::int32_t>, std::uint8_t> = true;
template <>
constexpr bool is_direct<Extreme<std::int32_t>, std::uint16_t> = true;
template <>
constexpr bool is_direct<Extreme<std::int32_t>, std::uint32_t> = true;
template <>
constexpr bool is_direct<Extreme<std::int64_t>, double> = true;
template <>
constexpr bool is_direct<Extreme<std::int64_t>, std::uint64_t> = true;

// The operators that take no notice of squares and magnitudes are plain already.
template <class Op>
struct PlainForm {
    using Type = Plain<Op>;
};
template <class Float>
struct PlainForm<FloatSum<Float>> {
    using Type = FloatSum<Float>;
};

// A sum of integers whose type says whether they are signed.
struct NumberSum : IntegerSum {
    template <class Number>
    WR_HD static std::uint64_t map(Number x, const Mapping &) {
        return static_cast<std::uint64_t>(x);
    }
};
template <>
struct PlainForm<NumberSum> {
    using Type = NumberSum;
};

template <class Op, class T>
constexpr const ReduceKernel *direct_kernel = &kernel_of<DirectReduction<typename PlainForm<Op>::Type, T>>;

const ReduceKernel *find_direct(const Reduction &what) {
    const Mapping m = mapping_of(what, nullptr);
    if (m.square || m.absolute) {
        return nullptr;
    }
    return with_operator(what, [&]<class Op, class T>(OperatorOn<Op, T>) -> const ReduceKernel * {
        if constexpr (is_direct<Op, T>) {
            return direct_kernel<Op, T>;
        } else if constexpr (std::is_same_v<OperatorOn<Op, T>, OperatorOn<IntegerSum, std::uint32_t>>) {
            return what.dtype == ElementType::i32 ? direct_kernel<NumberSum, std::int32_t>
                                                  : direct_kernel<NumberSum, T>;
        } else if constexpr (std::is_same_v<OperatorOn<Op, T>, OperatorOn<IntegerSum, std::uint64_t>>) {
            return direct_kernel<NumberSum, T>;
        } else {
            return nullptr;
        }
    });
}

const ReduceKernel *find_reduce(const Reduction &what) {
    const ReduceKernel *direct = find_direct(what);
    return direct != nullptr ? direct : find_mapped(what);
}

const SoftmaxKernel *find_softmax(ElementType dtype) {
    switch (dtype) {
    case ElementType::f32:
        return &softmax_kernel<float>;
    case ElementType::f64:
        return &softmax_kernel<double>;
    case ElementType::f16:
    case ElementType::bf16:
    case ElementType::f8_e4m3:
    case ElementType::f8_e5m2:
        return &softmax_kernel<NarrowFloat>;
    default:
        return nullptr;
    }
}

const SoftmaxBackwardKernel *find_softmax_backward(ElementType dtype) {
    if (!traits_of(dtype).is_float) {
        return nullptr;
    }
    return dtype == ElementType::f64 ? &softmax_backward_kernel<double> : &softmax_backward_kernel<float>;
}

} // namespace

constinit const Kernels kernels{find_reduce, find_softmax, find_softmax_backward, sum_exact_panels, add_exact_piece};

} // namespace wr::host::WR_ISA
