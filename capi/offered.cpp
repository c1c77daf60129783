#include "capi/offered.h"

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
constexpr Types floats_to_f32 = types_of(ElementType::f32, ElementType::f16, ElementType::bf16);
constexpr Types reduced_floats = floats_to_f32 | types_of(ElementType::f64);
constexpr Types all_integers = types_of(ElementType::i8, ElementType::i16, ElementType::i32, ElementType::i64,
                                        ElementType::u8, ElementType::u16, ElementType::u32, ElementType::u64);
constexpr Types reduced_integers = types_of(ElementType::i32, ElementType::i64);
constexpr Types only_f64 = types_of(ElementType::f64);
constexpr Types only_i32 = types_of(ElementType::i32);
constexpr Types only_i64 = types_of(ElementType::i64);
constexpr Types only_koalabear = types_of(ElementType::koalabear);

struct Offer {
    Operator op;
    Types inputs, outputs;
    Types accumulators; // that may be asked for
    ElementType accumulator;
};

constexpr Offer offers[] = {
    {Operator::sum, floats_to_f32, all_floats, wide_floats, ElementType::f32},
    {Operator::sum, only_f64, all_floats, only_f64, ElementType::f64},
    {Operator::sum, reduced_integers, all_integers | wide_floats, no_types, ElementType::none},
    {Operator::sum, only_koalabear, only_koalabear, no_types, ElementType::none},
    {Operator::mean, floats_to_f32, all_floats, wide_floats, ElementType::f32},
    {Operator::mean, only_f64, all_floats, only_f64, ElementType::f64},
    {Operator::mean, reduced_integers, reduced_floats, no_types, ElementType::none},
    {Operator::min, reduced_floats, all_floats, no_types, ElementType::none},
    {Operator::min, only_i32, reduced_integers, no_types, ElementType::none},
    {Operator::min, only_i64, only_i64, no_types, ElementType::none},
    {Operator::max, reduced_floats, all_floats, no_types, ElementType::none},
    {Operator::max, only_i32, reduced_integers, no_types, ElementType::none},
    {Operator::max, only_i64, only_i64, no_types, ElementType::none},
};

constexpr Types softmax_inputs = reduced_floats;
constexpr Types softmax_outputs = all_floats;

constexpr bool is_op(std::int32_t number) {
    return number >= static_cast<std::int32_t>(Operator::sum) &&
           number <= static_cast<std::int32_t>(Operator::logsumexp);
}

constexpr bool is_dtype(std::int32_t number) {
    return number >= static_cast<std::int32_t>(ElementType::f32) &&
           number <= static_cast<std::int32_t>(ElementType::babybear_x4);
}

constexpr bool is_dtype_or_zero(std::int32_t number) { return number == 0 || is_dtype(number); }

constexpr ElementType type_or(std::int32_t number, ElementType default_type) {
    return number == 0 ? default_type : static_cast<ElementType>(number);
}

} // namespace

Status resolve_reduce_types(std::int32_t op, std::int32_t dtype, std::int32_t output_dtype,
                            std::int32_t accumulate_dtype, ReduceTypes &types) {
    if (!is_op(op)) {
        return Status::invalid_op;
    }
    if (!is_dtype(dtype) || !is_dtype_or_zero(output_dtype) || !is_dtype_or_zero(accumulate_dtype)) {
        return Status::invalid_dtype;
    }
    const auto input = static_cast<ElementType>(dtype);
    const ElementType output = type_or(output_dtype, input);
    for (const Offer &offer : offers) {
        if (offer.op != static_cast<Operator>(op) || !contains(offer.inputs, input)) {
            continue;
        }
        const ElementType accumulator = type_or(accumulate_dtype, offer.accumulator);
        if (!contains(offer.outputs, output) ||
            (accumulator != offer.accumulator && !contains(offer.accumulators, accumulator))) {
            return Status::unsupported;
        }
        types = {offer.op, input, output, accumulator};
        return Status::success;
    }
    return Status::unsupported;
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

} // namespace wr::capi
