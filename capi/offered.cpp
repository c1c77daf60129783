#include "capi/offered.h"

#include <algorithm>
#include <iterator>

namespace wr::capi {

namespace {

// A set of element types, one bit each.
using Types = std::uint32_t;

template <class... T>
constexpr Types types_of(T... types) {
    return (Types{0} | ... | (Types{1} << static_cast<int>(types)));
}

constexpr bool contains(Types set, ElementType type) { return (set & types_of(type)) != 0; }

constexpr Types no_types = 0;
constexpr Types all_floats = types_of(ElementType::f32, ElementType::f64, ElementType::f16, ElementType::bf16,
                                      ElementType::f8_e4m3, ElementType::f8_e5m2);
constexpr Types wide_floats = types_of(ElementType::f32, ElementType::f64);
constexpr Types all_integers = types_of(ElementType::i8, ElementType::i16, ElementType::i32, ElementType::i64,
                                        ElementType::u8, ElementType::u16, ElementType::u32, ElementType::u64);
constexpr Types index_types = types_of(ElementType::i64, ElementType::i32);
constexpr Types all_fields = types_of(ElementType::koalabear, ElementType::babybear, ElementType::mersenne31,
                                      ElementType::goldilocks, ElementType::koalabear_x4, ElementType::babybear_x4);
constexpr Types all_types = all_floats | all_integers | all_fields;

// The operators that may be asked to add into the output.
constexpr Operator combine_with_output[] = {
    Operator::sum, Operator::product,       Operator::sum_of_squares, Operator::min,    Operator::max,    Operator::any,
    Operator::all, Operator::count_nonzero, Operator::bit_and,        Operator::bit_or, Operator::bit_xor};

enum class Outputs {
    listed,      // those of the row
    own,         // the input's type
    every_value, // integer types that hold every value of the input's
};

struct Offer {
    Operator op;
    Types inputs;
    Outputs outputs;
    Types listed = no_types;
    ElementType output = ElementType::none; // where none is asked for; none: the input's own
    bool accumulates = false;               // in f32 or f64, as asked for: f64 takes no less than f64
};

constexpr Offer offers[] = {
    {Operator::sum, all_floats, Outputs::listed, all_floats, ElementType::none, true},
    {Operator::sum, all_integers, Outputs::listed, all_integers | wide_floats},
    {Operator::sum, all_fields, Outputs::own},
    {Operator::product, all_floats, Outputs::listed, all_floats, ElementType::none, true},
    {Operator::product, all_integers, Outputs::listed, all_integers | wide_floats},
    {Operator::product, all_fields, Outputs::own},
    {Operator::min, all_floats, Outputs::listed, all_floats},
    {Operator::min, all_integers, Outputs::every_value},
    {Operator::max, all_floats, Outputs::listed, all_floats},
    {Operator::max, all_integers, Outputs::every_value},
    {Operator::argmin, all_floats | all_integers, Outputs::listed, index_types, ElementType::i64},
    {Operator::argmax, all_floats | all_integers, Outputs::listed, index_types, ElementType::i64},
    {Operator::mean, all_floats, Outputs::listed, all_floats, ElementType::none, true},
    {Operator::mean, all_integers, Outputs::listed, all_floats},
    {Operator::sum_of_squares, all_floats, Outputs::listed, all_floats, ElementType::none, true},
    {Operator::sum_of_squares, all_integers, Outputs::listed, all_integers | wide_floats},
    {Operator::sum_of_squares, all_fields, Outputs::own},
    {Operator::norm_l1, all_floats, Outputs::listed, all_floats, ElementType::none, true},
    {Operator::norm_l1, all_integers, Outputs::listed, all_integers | wide_floats},
    {Operator::norm_l2, all_floats, Outputs::listed, all_floats, ElementType::none, true},
    {Operator::norm_l2, all_integers, Outputs::listed, all_floats},
    {Operator::norm_max, all_floats, Outputs::listed, all_floats},
    {Operator::norm_max, all_integers, Outputs::listed, all_integers},
    {Operator::any, all_types, Outputs::listed, all_integers, ElementType::u8},
    {Operator::all, all_types, Outputs::listed, all_integers, ElementType::u8},
    {Operator::count_nonzero, all_types, Outputs::listed, all_integers | wide_floats, ElementType::i64},
    {Operator::bit_and, all_integers, Outputs::own},
    {Operator::bit_or, all_integers, Outputs::own},
    {Operator::bit_xor, all_integers, Outputs::own},
    {Operator::logsumexp, all_floats, Outputs::listed, all_floats},
    {Operator::sum_exact, all_floats, Outputs::listed, all_floats},
};

// What the weights of a sum may be, beside the elements' own type, and what the sum then is.
struct WeightsOffer {
    ElementType elements, weights, sum;
};
constexpr WeightsOffer mixed_weights[] = {
    {ElementType::koalabear_x4, ElementType::koalabear, ElementType::koalabear_x4},
    {ElementType::koalabear, ElementType::koalabear_x4, ElementType::koalabear_x4},
    {ElementType::babybear_x4, ElementType::babybear, ElementType::babybear_x4},
    {ElementType::babybear, ElementType::babybear_x4, ElementType::babybear_x4},
};

bool holds_every_value(ElementType wide, ElementType narrow) {
    const ElementTraits w = traits_of(wide), n = traits_of(narrow);
    return w.is_signed == n.is_signed ? w.size >= n.size : w.is_signed && w.size > n.size;
}

bool gives(const Offer &offer, ElementType input, ElementType output) {
    switch (offer.outputs) {
    case Outputs::listed:
        return contains(offer.listed, output);
    case Outputs::own:
        return output == input;
    case Outputs::every_value:
        break;
    }
    return contains(all_integers, output) && holds_every_value(output, input);
}

constexpr Types softmax_inputs = all_floats;
constexpr Types softmax_outputs = all_floats;

constexpr bool is_op(std::int32_t number) {
    return number >= static_cast<std::int32_t>(Operator::sum) &&
           number <= static_cast<std::int32_t>(Operator::dot_exact);
}

constexpr bool is_dtype(std::int32_t number) {
    return number >= static_cast<std::int32_t>(ElementType::f32) &&
           number <= static_cast<std::int32_t>(ElementType::babybear_x4);
}

constexpr bool is_dtype_or_zero(std::int32_t number) { return number == 0 || is_dtype(number); }

constexpr ElementType type_or(std::int32_t number, ElementType default_type) {
    return number == 0 ? default_type : static_cast<ElementType>(number);
}

// The type that a sum of weighted elements has where none is asked for; none where the weights do not go with them.
ElementType weighted_sum_type(ElementType elements, ElementType weights) {
    if (weights == elements) {
        return elements;
    }
    for (const WeightsOffer &offer : mixed_weights) {
        if (offer.elements == elements && offer.weights == weights) {
            return offer.sum;
        }
    }
    return ElementType::none;
}

bool adds_to_output(Operator op) {
    return std::find(std::begin(combine_with_output), std::end(combine_with_output), op) !=
           std::end(combine_with_output);
}

// The type that sums of `input` are kept in; none where that is no choice of the caller's but was made one.
Status accumulator_of(const Offer &offer, ElementType input, std::int32_t asked, ElementType &accumulator) {
    if (!offer.accumulates) {
        accumulator = ElementType::none;
        return asked == 0 ? Status::success : Status::unsupported;
    }
    accumulator = type_or(asked, input == ElementType::f64 ? ElementType::f64 : ElementType::f32);
    const bool wide_enough =
        accumulator == ElementType::f64 || (accumulator == ElementType::f32 && input != ElementType::f64);
    return wide_enough ? Status::success : Status::unsupported;
}

const Offer *find_offer(Operator op, ElementType input) {
    for (const Offer &offer : offers) {
        if (offer.op == op && contains(offer.inputs, input)) {
            return &offer;
        }
    }
    return nullptr;
}

bool types_are_known(const ReductionAsked &asked) {
    return is_dtype(asked.dtype) && is_dtype_or_zero(asked.output_dtype) && is_dtype_or_zero(asked.accumulate_dtype) &&
           is_dtype_or_zero(asked.weights_dtype);
}

bool options_are_known(const ReductionAsked &asked) {
    return asked.nan_mode >= 0 && asked.nan_mode <= 1 && asked.add_to_output >= 0 && asked.add_to_output <= 1;
}

} // namespace

Status resolve_reduction(const ReductionAsked &asked, Reduction &found) {
    if (!is_op(asked.op)) {
        return Status::invalid_op;
    }
    if (!types_are_known(asked)) {
        return Status::invalid_dtype;
    }
    if (!options_are_known(asked)) {
        return Status::invalid_option;
    }
    const auto op = static_cast<Operator>(asked.op);
    const auto input = static_cast<ElementType>(asked.dtype);
    const Offer *offer = find_offer(op, input);
    const ElementType weights = asked.weighted ? type_or(asked.weights_dtype, input) : ElementType::none;
    const ElementType own = asked.weighted ? weighted_sum_type(input, weights) : input;
    if (offer == nullptr || own == ElementType::none ||
        (asked.weighted && op != Operator::sum && op != Operator::sum_exact)) {
        return Status::unsupported;
    }
    const ElementType output = type_or(asked.output_dtype, offer->output == ElementType::none ? own : offer->output);
    const bool ignore_nan = asked.nan_mode == 1 && traits_of(input).is_float;
    const bool add = asked.add_to_output == 1;
    if (!gives(*offer, own, output) || (add && !adds_to_output(op)) ||
        (ignore_nan && (asked.weighted || op == Operator::logsumexp))) {
        return Status::unsupported;
    }
    ElementType accumulator{};
    if (const Status status = accumulator_of(*offer, input, asked.accumulate_dtype, accumulator);
        status != Status::success) {
        return status;
    }
    found = {op, input, output, accumulator, weights, ignore_nan, add, false};
    return Status::success;
}

Status resolve_softmax_types(std::int32_t dtype, std::int32_t output_dtype, SoftmaxTypes &types) {
    if (!is_dtype(dtype) || !is_dtype_or_zero(output_dtype)) {
        return Status::invalid_dtype;
    }
    const auto input = static_cast<ElementType>(dtype);
    const ElementType output = type_or(output_dtype, input);
    if (!contains(softmax_inputs, input) || !contains(softmax_outputs, output)) {
        return Status::unsupported;
    }
    types = {input, output};
    return Status::success;
}

Status resolve_softmax_backward_types(std::int32_t dtype, std::int32_t output_gradient_dtype,
                                      std::int32_t input_gradient_dtype, SoftmaxBackwardTypes &types) {
    if (!is_dtype(dtype) || !is_dtype_or_zero(output_gradient_dtype) || !is_dtype_or_zero(input_gradient_dtype)) {
        return Status::invalid_dtype;
    }
    const auto saved = static_cast<ElementType>(dtype);
    const ElementType output_gradient = type_or(output_gradient_dtype, saved);
    const ElementType input_gradient = type_or(input_gradient_dtype, saved);
    const bool floats = contains(softmax_outputs, saved) && contains(softmax_outputs, output_gradient) &&
                        contains(softmax_outputs, input_gradient);
    if (!floats || (saved == ElementType::f64) != (output_gradient == ElementType::f64)) {
        return Status::unsupported;
    }
    types = {saved, output_gradient, input_gradient};
    return Status::success;
}

} // namespace wr::capi
