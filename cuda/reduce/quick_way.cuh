// Operators whose accumulators are slow, and plain ones that give the same for nearly all data: these go first, and the
// slow ones again over what they are not enough for.
#pragma once

#include "cuda/reduce/plain_squares.cuh"

namespace wr::cuda {

// Of partial results.
template <class Float>
struct PlainPartialSum : PlainSquareSum<Float> {
    __device__ __forceinline__ static Float map(const Scaled<Float> &x, const Mapping &) {
        return x.range == 0 ? x.value : std::numeric_limits<Float>::quiet_NaN();
    }
};

template <class Op>
struct QuickWay {
    using Operator = Op;
};
template <class Float>
struct QuickWay<ScaledSquareSum<Float>> {
    using Operator = PlainSquareSum<Float>;
};
template <class Float>
struct QuickWay<Partial<ScaledSquareSum<Float>>> {
    using Operator = PlainPartialSum<Float>;
};
template <class Float>
struct QuickWay<Partial<Partial<ScaledSquareSum<Float>>>> : QuickWay<Partial<ScaledSquareSum<Float>>> {};

// The operator itself, where it has no quicker one.
template <class Op>
using QuickOf = typename QuickWay<Op>::Operator;
template <class Op>
inline constexpr bool has_quick_way = !std::is_same_v<QuickOf<Op>, Op>;

// Behind a call, so that the quick way keeps its registers.
template <class Op, class Work>
__device__ __noinline__ typename Op::Accumulator work_again(Work work) {
    return work(Op());
}

// What work(operator) gives for one thread.
template <class Op, class Work>
__device__ __forceinline__ typename Op::Accumulator by_quick_way(const Work &work) {
    const auto result = work(QuickOf<Op>());
    if constexpr (!has_quick_way<Op>) {
        return result;
    } else {
        return QuickOf<Op>::is_enough(result) ? scaled_form(result) : work_again<Op>(work);
    }
}

// The same of work(operator, of), which applies the operator to of(element), and again(operator, of), which does so in
// less code.
template <class Op, class Work>
__device__ __noinline__ typename Op::Accumulator work_on_elements_again(Work work) {
    return work(Op(), [](const auto &x) { return x; });
}
template <class Op, class Work, class Again>
__device__ __forceinline__ typename Op::Accumulator by_plain_squares(const Mapping &m, const Work &work,
                                                                     const Again &again) {
    if constexpr (!has_quick_way<Op>) {
        return work(Op(), [](const auto &x) { return x; });
    } else {
        using Float = typename QuickOf<Op>::Accumulator;
        PlainSquares<Float> squares(m);
        const Float sum = work(FloatSum<Float>(), [&](const auto &x) { return squares.of(x, m); });
        return squares.are_enough(sum) ? scaled_form(sum) : work_on_elements_again<Op>(again);
    }
}
template <class Op, class Work>
__device__ __forceinline__ typename Op::Accumulator by_plain_squares(const Mapping &m, const Work &work) {
    return by_plain_squares<Op>(m, work, work);
}

} // namespace wr::cuda
