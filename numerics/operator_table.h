// Which operator struct, over which storage, does what a reduction asks for: the one table of operators and types. The
// host device, the GPU and the tiles make their kernels from it.
#pragma once

#include "numerics/problem.h"

#include <utility>

namespace wr {

// What a row of the table names: an operator struct and the storage that it reads.
template <class Op, class T>
struct OperatorOn {
    using Operator = Op;
    using Element = T;
};

namespace table {

// What an unlisted combination gives: a null pointer, false, zero.
template <class Use>
using ResultOf = decltype(std::declval<Use &>()(OperatorOn<FloatSum<float>, float>()));

// Floats of any format, kept in what was asked for. Formats of one width share a kernel.
template <template <class> class Op, class Use>
ResultOf<Use> any_float(const Reduction &what, Use &use) {
    const int size = traits_of(what.dtype).size;
    if (what.accumulate_dtype == ElementType::f64) {
        switch (size) {
        case 8:
            return use(OperatorOn<Op<double>, double>());
        case 4:
            return use(OperatorOn<Op<double>, float>());
        case 2:
            return use(OperatorOn<Op<double>, AnyFloat16>());
        default:
            return use(OperatorOn<Op<double>, AnyFloat8>());
        }
    }
    switch (size) {
    case 4:
        return use(OperatorOn<Op<float>, float>());
    case 2:
        return use(OperatorOn<Op<float>, AnyFloat16>());
    default:
        return use(OperatorOn<Op<float>, AnyFloat8>());
    }
}

// The plain sum has a kernel for each format, because it is what is asked for most.
template <class Use>
ResultOf<Use> float_sum(const Reduction &what, Use &use) {
    if (what.accumulate_dtype == ElementType::f64) {
        return what.dtype == ElementType::f64 ? use(OperatorOn<FloatSum<double>, double>())
                                              : any_float<MappedFloatSum>(what, use);
    }
    switch (what.dtype) {
    case ElementType::f32:
        return use(OperatorOn<FloatSum<float>, float>());
    case ElementType::f16:
        return use(OperatorOn<FloatSum<float>, F16>());
    case ElementType::bf16:
        return use(OperatorOn<FloatSum<float>, BF16>());
    case ElementType::f8_e4m3:
        return use(OperatorOn<FloatSum<float>, E4M3>());
    default:
        return use(OperatorOn<FloatSum<float>, E5M2>());
    }
}

// Integers of either sign, by width.
template <class Op, class Use>
ResultOf<Use> integer(const Reduction &what, Use &use) {
    switch (traits_of(what.dtype).size) {
    case 1:
        return use(OperatorOn<Op, std::uint8_t>());
    case 2:
        return use(OperatorOn<Op, std::uint16_t>());
    case 4:
        return use(OperatorOn<Op, std::uint32_t>());
    default:
        return use(OperatorOn<Op, std::uint64_t>());
    }
}

template <template <class> class Op, class Use>
ResultOf<Use> field(const Reduction &what, Use &use) {
    switch (what.dtype) {
    case ElementType::koalabear:
        return use(OperatorOn<Op<KoalaBear>, KoalaBear>());
    case ElementType::babybear:
        return use(OperatorOn<Op<BabyBear>, BabyBear>());
    case ElementType::mersenne31:
        return use(OperatorOn<Op<Mersenne31>, Mersenne31>());
    case ElementType::goldilocks:
        return use(OperatorOn<Op<Goldilocks>, Goldilocks>());
    case ElementType::koalabear_x4:
        return use(OperatorOn<Op<KoalaBearX4>, KoalaBearX4>());
    default:
        return use(OperatorOn<Op<BabyBearX4>, BabyBearX4>());
    }
}

template <class Use>
ResultOf<Use> weighted_field(const Reduction &what, Use &use) {
    if (what.weights_dtype == what.dtype) {
        return field<WeightedFieldSum>(what, use);
    }
    switch (what.dtype) {
    case ElementType::koalabear:
        return use(OperatorOn<ExtensionByBaseSum<KoalaBearX4>, KoalaBear>());
    case ElementType::babybear:
        return use(OperatorOn<ExtensionByBaseSum<BabyBearX4>, BabyBear>());
    case ElementType::koalabear_x4:
        return use(OperatorOn<ExtensionByBaseSum<KoalaBearX4>, KoalaBearX4>());
    default:
        return use(OperatorOn<ExtensionByBaseSum<BabyBearX4>, BabyBearX4>());
    }
}

// Sums of integers that may need more than 64 bits: those of bytes never do.
template <class Op, class Use>
ResultOf<Use> wide_integer_sum(const Reduction &what, Use &use) {
    switch (traits_of(what.dtype).size) {
    case 2:
        return use(OperatorOn<Op, std::uint16_t>());
    case 4:
        return use(OperatorOn<Op, std::uint32_t>());
    default:
        return use(OperatorOn<Op, std::uint64_t>());
    }
}

template <class Use>
ResultOf<Use> weighted_sum(const Reduction &what, Use &use) {
    const ElementTraits input = traits_of(what.dtype);
    if (what.wide_integers) {
        return wide_integer_sum<WideWeightedSum>(what, use);
    }
    return input.is_float     ? any_float<WeightedFloatSum>(what, use)
           : input.is_integer ? integer<WeightedIntegerSum>(what, use)
                              : weighted_field(what, use);
}

// Sums and means; those that leave NaNs out must know how many elements are left.
template <class Use>
ResultOf<Use> sum(const Reduction &what, Use &use) {
    const ElementTraits input = traits_of(what.dtype);
    if (what.weights_dtype != ElementType::none) {
        return weighted_sum(what, use);
    }
    if (input.is_float) {
        return what.ignore_nan ? any_float<CountedFloatSum>(what, use) : float_sum(what, use);
    }
    if (what.wide_integers) {
        return wide_integer_sum<WideIntegerSum>(what, use);
    }
    return input.is_integer ? integer<IntegerSum>(what, use) : field<FieldSum>(what, use);
}

// Norms of the types whose squares may leave the range of what they are kept in.
template <class Use>
ResultOf<Use> scaled_norm(const Reduction &what, Use &use) {
    switch (what.dtype) {
    case ElementType::f32:
        return use(OperatorOn<ScaledSquareSum<float>, float>());
    case ElementType::bf16:
        return use(OperatorOn<ScaledSquareSum<float>, BF16>());
    default:
        return use(OperatorOn<ScaledSquareSum<double>, double>());
    }
}

// f16 and f8 have no such squares in f32, nor has any type but f64 in f64.
constexpr bool squares_leave_range(const Reduction &what) {
    const bool narrow = what.accumulate_dtype == ElementType::f32;
    return what.dtype == ElementType::f64 ||
           (narrow && (what.dtype == ElementType::f32 || what.dtype == ElementType::bf16));
}

template <class Use>
ResultOf<Use> mapped_sum(const Reduction &what, Use &use) {
    const ElementTraits input = traits_of(what.dtype);
    if (what.op == Operator::norm_l2 && squares_leave_range(what)) {
        return scaled_norm(what, use);
    }
    if (what.wide_integers) {
        return wide_integer_sum<WideIntegerSum>(what, use);
    }
    return input.is_float     ? any_float<MappedFloatSum>(what, use)
           : input.is_integer ? integer<MappedIntegerSum>(what, use)
                              : field<FieldSquareSum>(what, use);
}

template <class Use>
ResultOf<Use> product(const Reduction &what, Use &use) {
    const ElementTraits input = traits_of(what.dtype);
    if (what.wide_integers) {
        return integer<WideIntegerProduct>(what, use);
    }
    return input.is_float     ? any_float<FloatProduct>(what, use)
           : input.is_integer ? integer<IntegerProduct>(what, use)
                              : field<FieldProduct>(what, use);
}

// Keys have 64 bits for elements of that size and 32 for all others.
template <template <class> class Op, class Use>
ResultOf<Use> extreme(const Reduction &what, Use &use) {
    using Op32 = Op<std::int32_t>;
    using Op64 = Op<std::int64_t>;
    switch (what.dtype) {
    case ElementType::f32:
        return use(OperatorOn<Op32, float>());
    case ElementType::f64:
        return use(OperatorOn<Op64, double>());
    case ElementType::f16:
        return use(OperatorOn<Op32, F16>());
    case ElementType::bf16:
        return use(OperatorOn<Op32, BF16>());
    case ElementType::f8_e4m3:
    case ElementType::f8_e5m2:
        return use(OperatorOn<Op32, AnyFloat8>());
    case ElementType::i64:
    case ElementType::u64:
        return use(OperatorOn<Op64, std::uint64_t>());
    default:
        break;
    }
    switch (traits_of(what.dtype).size) {
    case 1:
        return use(OperatorOn<Op32, std::uint8_t>());
    case 2:
        return use(OperatorOn<Op32, std::uint16_t>());
    default:
        return use(OperatorOn<Op32, std::uint32_t>());
    }
}

// By the width of an element alone.
template <class Use>
ResultOf<Use> count(const Reduction &what, Use &use) {
    return traits_of(what.dtype).size == 16 ? use(OperatorOn<Count, FourWords>()) : integer<Count>(what, use);
}

} // namespace table

// Calls use(OperatorOn<Op, T>()) with the row that does `what`, and returns what it returns; a value-initialised result
// where there is no row.
template <class Use>
table::ResultOf<Use> with_operator(const Reduction &what, Use use) {
    switch (what.op) {
    case Operator::sum:
    case Operator::mean:
        return table::sum(what, use);
    case Operator::product:
        return table::product(what, use);
    case Operator::sum_of_squares:
    case Operator::norm_l1:
    case Operator::norm_l2:
        return table::mapped_sum(what, use);
    case Operator::min:
    case Operator::max:
    case Operator::norm_max:
        return table::extreme<Extreme>(what, use);
    case Operator::argmin:
    case Operator::argmax:
        return table::extreme<ArgExtreme>(what, use);
    case Operator::any:
    case Operator::all:
    case Operator::count_nonzero:
        return table::count(what, use);
    case Operator::bit_and:
    case Operator::bit_or:
        return table::integer<BitOr>(what, use);
    case Operator::bit_xor:
        return table::integer<BitXor>(what, use);
    case Operator::none:
    case Operator::logsumexp:
    case Operator::sum_exact:
    case Operator::dot_exact:
        break;
    }
    return {};
}

} // namespace wr
