// The kernels of one instruction set, WR_ISA, and the tables that find them. A new operator or element type is a row.
#ifndef WR_ISA
#define WR_ISA baseline
#endif

#include "host/vector_kernels.h"

#include "host/reduce_kernels.h"
#include "host/softmax_kernels.h"

namespace wr::host::WR_ISA {

namespace {

struct ReduceRow {
    Operator op;
    ElementType dtype;
    ElementType accumulate; // none where there is nothing to choose
    const ReduceKernel *kernel;
};

using O = Operator;
using T = ElementType;

constexpr ReduceRow reduce_table[] = {
    {O::sum, T::f32, T::f32, &reduce_kernel<FloatSum<float>, float>},
    {O::sum, T::f16, T::f32, &reduce_kernel<FloatSum<float>, F16>},
    {O::sum, T::bf16, T::f32, &reduce_kernel<FloatSum<float>, BF16>},
    {O::sum, T::f32, T::f64, &reduce_kernel<FloatSum<double>, float>},
    {O::sum, T::f16, T::f64, &reduce_kernel<FloatSum<double>, F16>},
    {O::sum, T::bf16, T::f64, &reduce_kernel<FloatSum<double>, BF16>},
    {O::sum, T::f64, T::f64, &reduce_kernel<FloatSum<double>, double>},
    {O::sum, T::i32, T::none, &reduce_kernel<IntegerSum, std::int32_t>},
    {O::sum, T::i64, T::none, &reduce_kernel<IntegerSum, std::int64_t>},
    {O::sum, T::koalabear, T::none, &reduce_kernel<KoalaBearSum, KoalaBear>},
    {O::max, T::f32, T::none, &reduce_kernel<Extreme<std::int32_t>, float>},
    {O::max, T::f16, T::none, &reduce_kernel<Extreme<std::int32_t>, F16>},
    {O::max, T::bf16, T::none, &reduce_kernel<Extreme<std::int32_t>, BF16>},
    {O::max, T::i32, T::none, &reduce_kernel<Extreme<std::int32_t>, std::int32_t>},
    {O::max, T::f64, T::none, &reduce_kernel<Extreme<std::int64_t>, double>},
    {O::max, T::i64, T::none, &reduce_kernel<Extreme<std::int64_t>, std::int64_t>},
};

// The operator whose kernel a job runs: a mean differs from a sum in how it is finished, a minimum from a maximum in
// the flip. Fields have sums alone.
Operator kernel_operator(Operator op, ElementType dtype) {
    if (op == O::mean && dtype != T::koalabear) {
        return O::sum;
    }
    return op == O::min ? O::max : op;
}

const ReduceKernel *find_reduce(Operator op, ElementType dtype, ElementType accumulate) {
    const Operator wanted = kernel_operator(op, dtype);
    for (const ReduceRow &row : reduce_table) {
        if (row.op == wanted && row.dtype == dtype && (row.accumulate == T::none || row.accumulate == accumulate)) {
            return row.kernel;
        }
    }
    return nullptr;
}

const SoftmaxKernel *find_softmax(ElementType dtype) {
    switch (dtype) {
    case T::f32:
        return &softmax_kernel<float>;
    case T::f64:
        return &softmax_kernel<double>;
    case T::f16:
        return &softmax_kernel<F16>;
    case T::bf16:
        return &softmax_kernel<BF16>;
    default:
        return nullptr;
    }
}

} // namespace

constinit const Kernels kernels{find_reduce, find_softmax};

} // namespace wr::host::WR_ISA
