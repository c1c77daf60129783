// The gradient of softmax as a function of a row alone.
//
// With the weights p (softmax's outputs: given, or made from what is given) and the output's gradient dy, softmax gives
// p (dy - T(p dy)) and log-softmax dy - p T(dy), T being the natural tree over the row. docs/numerics.md has the
// definition to the last bit.
#pragma once

#include "numerics/softmax.h"

namespace wr {

// exp(d + rest), where |rest| is below a rounding of d and |d| below the exponential's reach.
template <class Float>
WR_HD Float weight_within_reach(Float d, Float rest) {
    const Float e = scaled_exponential(d, ExponentialConstants<Float>::magic);
    return fused(e, rest, e);
}

// The same of any d; 0 and infinity where the exponential would leave the normal range.
template <class Float>
WR_HD Float weight_of_difference(Float d, Float rest) {
    using C = ExponentialConstants<Float>;
    if (d > -C::reach && d < C::reach) {
        return weight_within_reach(d, rest);
    }
    return d > Float(0) ? std::numeric_limits<Float>::infinity() : is_nan(d) ? d : Float(0);
}

// What a saved element becomes: softmax's output itself, the exponential of log-softmax's, that of a logit less its
// row's logsumexp.
enum class SavedAs : std::int32_t { weights, logarithms, logits };

template <class Float>
struct SavedRow {
    SavedAs saved_as;
    Float scale;     // of logits
    Float logsumexp; // of logits
    Float special;   // the weight of every element where there is no finite logsumexp
};

// The weight of log-softmax's elements in a row of which nothing was left, and whose outputs said so: below 0, as no
// other is. Their gradient is 0, as in a row that was left out; a negative scale makes +0 of the -0 that it meets.
template <class Float>
WR_HD Float weight_of_nothing(Float scale) {
    return scale < Float(0) ? Float(-2) : Float(-1);
}
template <class Float>
WR_HD Float gradient_of_nothing(Float weight) {
    return weight == Float(-1) ? Float(0) : Float(-0.0);
}

template <class Float>
WR_HD SavedRow<Float> saved_row(SavedAs saved_as, bool log, Float scale, Float logsumexp, bool empty_row_zero) {
    const bool empty = logsumexp == -std::numeric_limits<Float>::infinity();
    const Float nothing = log ? weight_of_nothing(scale) : Float(0);
    return {saved_as, scale, logsumexp, empty && empty_row_zero ? nothing : std::numeric_limits<Float>::quiet_NaN()};
}

// The scaled logit less its row's logsumexp: rounded, and what was rounded away.
template <class Float>
struct LogitDifference {
    Float high, low;
};

template <class Float>
WR_HD LogitDifference<Float> logit_difference(Float scale, Float logsumexp, Float logit) {
    const Float x = logit * scale;
    const Float d = x - logsumexp;
    const Float back = d - x;
    return {d, (x - (d - back)) - (logsumexp + back)};
}

// Of a logit whose row has a finite logsumexp.
template <class Float>
WR_HD Float weight_of_logit(Float scale, Float logsumexp, Float logit) {
    const LogitDifference<Float> less = logit_difference(scale, logsumexp, logit);
    return weight_of_difference(less.high, less.low);
}

template <class Float>
WR_HD Float weight_of(const SavedRow<Float> &row, Float saved) {
    if (row.saved_as == SavedAs::weights) {
        return saved;
    }
    if (row.saved_as == SavedAs::logarithms) {
        return weight_of_difference(saved, Float(0));
    }
    if (row.logsumexp - row.logsumexp != Float(0)) {
        return row.special;
    }
    return weight_of_logit(row.scale, row.logsumexp, saved);
}

// What an element brings to the row's tree; one that takes no part brings -0.
template <class Float>
WR_HD Float gradient_term(bool log, Float weight, Float gradient) {
    return log ? gradient : weight * gradient;
}

template <class Float>
WR_HD Float softmax_gradient(bool log, Float weight, Float gradient, Float total) {
    return log ? fused(-weight, total, gradient) : weight * (gradient - total);
}

// Log-softmax's, where empty rows are 0: to be asked of no other, since it costs every element.
template <class Float>
WR_HD Float unless_nothing_was_left(Float weight, Float gradient) {
    return weight < Float(0) ? gradient_of_nothing(weight) : gradient;
}

} // namespace wr
