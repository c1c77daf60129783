// Which set of kernels computes what: the GPU's table of operators and types.
#include "cuda/reduce_kernels.h"

namespace wr::cuda {

namespace {

struct Entry {
    Operator op;
    ElementType dtype;
    ElementType accumulate;
    const ReduceKernels &(*kernels)();
};

using F32Sum = FloatSum<float>;
using F64Sum = FloatSum<double>;
using Extreme32 = Extreme<std::int32_t>;
using Extreme64 = Extreme<std::int64_t>;

// Means are sums that finish differently, minima are maxima with the order turned round.
constexpr Entry entries[] = {
    {Operator::sum, ElementType::f32, ElementType::f32, reduce_kernels<float, F32Sum>},
    {Operator::sum, ElementType::f16, ElementType::f32, reduce_kernels<F16, F32Sum>},
    {Operator::sum, ElementType::bf16, ElementType::f32, reduce_kernels<BF16, F32Sum>},
    {Operator::sum, ElementType::f64, ElementType::f64, reduce_kernels<double, F64Sum>},
    {Operator::sum, ElementType::f32, ElementType::f64, reduce_kernels<float, F64Sum>},
    {Operator::sum, ElementType::f16, ElementType::f64, reduce_kernels<F16, F64Sum>},
    {Operator::sum, ElementType::bf16, ElementType::f64, reduce_kernels<BF16, F64Sum>},
    {Operator::sum, ElementType::i32, ElementType::none, reduce_kernels<std::int32_t, IntegerSum>},
    {Operator::sum, ElementType::i64, ElementType::none, reduce_kernels<std::int64_t, IntegerSum>},
    {Operator::sum, ElementType::koalabear, ElementType::none, reduce_kernels<KoalaBear, KoalaBearSum>},
    {Operator::max, ElementType::f32, ElementType::none, reduce_kernels<float, Extreme32>},
    {Operator::max, ElementType::f16, ElementType::none, reduce_kernels<F16, Extreme32>},
    {Operator::max, ElementType::bf16, ElementType::none, reduce_kernels<BF16, Extreme32>},
    {Operator::max, ElementType::i32, ElementType::none, reduce_kernels<std::int32_t, Extreme32>},
    {Operator::max, ElementType::f64, ElementType::none, reduce_kernels<double, Extreme64>},
    {Operator::max, ElementType::i64, ElementType::none, reduce_kernels<std::int64_t, Extreme64>},
};

Operator stands_for(Operator op) {
    switch (op) {
    case Operator::mean:
        return Operator::sum;
    case Operator::min:
        return Operator::max;
    default:
        return op;
    }
}

} // namespace

const ReduceKernels *find_reduce_kernels(Operator op, ElementType dtype, ElementType accumulate) {
    const bool any_accumulator = stands_for(op) == Operator::max || !traits_of(dtype).is_float;
    for (const Entry &entry : entries) {
        if (entry.op == stands_for(op) && entry.dtype == dtype && (any_accumulator || entry.accumulate == accumulate)) {
            return &entry.kernels();
        }
    }
    return nullptr;
}

const ReduceKernels &partial_kernels(PartialType type) {
    switch (type) {
    case PartialType::f32:
        return reduce_kernels<float, F32Sum>();
    case PartialType::f64:
        return reduce_kernels<double, F64Sum>();
    case PartialType::integer:
        return reduce_kernels<std::int64_t, IntegerSum>();
    case PartialType::key32:
        return reduce_kernels<std::int32_t, Extreme32>();
    case PartialType::key64:
        break;
    }
    return reduce_kernels<std::int64_t, Extreme64>();
}

} // namespace wr::cuda
