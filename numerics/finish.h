// From an accumulator to an element of the output: the division of a mean, the value of a key, the one rounding.
#pragma once

#include "numerics/operators.h"

namespace wr {

// What finishing needs to know; the same for every output of a call.
struct Finish {
    Operator op;
    ElementType input_type;
    ElementType output_type;
    std::uint64_t axis; // elements that were reduced into each output
    std::uint64_t flip; // as the extremes' map took it
};

template <class Float>
WR_HD void finish_float_sum(Float sum, const Finish &finish, void *output, std::size_t index) {
    if (finish.op == Operator::mean) {
        sum = sum / static_cast<Float>(finish.axis); // an empty axis divides -0 by 0: NaN
    } else if (finish.axis == 0) {
        sum = Float(0);
    }
    store_float(sum, finish.output_type, output, index);
}

WR_HD void finish_accumulator(float sum, const Finish &finish, void *output, std::size_t index) {
    finish_float_sum(sum, finish, output, index);
}
WR_HD void finish_accumulator(double sum, const Finish &finish, void *output, std::size_t index) {
    finish_float_sum(sum, finish, output, index);
}

// Writes the low bits of value as an integer element.
WR_HD void store_integer(std::uint64_t value, ElementType type, void *output, std::size_t index) {
    switch (traits_of(type).size) {
    case 1:
        static_cast<std::uint8_t *>(output)[index] = static_cast<std::uint8_t>(value);
        break;
    case 2:
        static_cast<std::uint16_t *>(output)[index] = static_cast<std::uint16_t>(value);
        break;
    case 4:
        static_cast<std::uint32_t *>(output)[index] = static_cast<std::uint32_t>(value);
        break;
    default:
        static_cast<std::uint64_t *>(output)[index] = value;
        break;
    }
}

WR_HD void finish_accumulator(std::uint64_t sum, const Finish &finish, void *output, std::size_t index) {
    if (finish.output_type == ElementType::koalabear) {
        static_cast<std::uint32_t *>(output)[index] = static_cast<std::uint32_t>(koalabear_reduce(sum));
        return;
    }
    const std::int64_t value = static_cast<std::int64_t>(sum);
    if (finish.op == Operator::mean) {
        store_float(static_cast<double>(value) / static_cast<double>(finish.axis), finish.output_type, output, index);
    } else if (finish.output_type == ElementType::f64) {
        store_float(static_cast<double>(value), ElementType::f64, output, index);
    } else if (finish.output_type == ElementType::f32) {
        store_float(static_cast<float>(value), ElementType::f32, output, index);
    } else {
        store_integer(sum, finish.output_type, output, index);
    }
}

template <class Key>
WR_HD void finish_key(Key key, const Finish &finish, void *output, std::size_t index) {
    const Key value = static_cast<Key>(key ^ static_cast<Key>(finish.flip));
    if (!traits_of(finish.input_type).is_float) {
        store_integer(static_cast<std::uint64_t>(static_cast<std::int64_t>(value)), finish.output_type, output, index);
        return;
    }
    using Float = decltype(value_of_key(value));
    Float result = value_of_key(value);
    if (key == Extreme<Key>::nan_key) {
        result = std::numeric_limits<Float>::quiet_NaN();
    } else if (key == Extreme<Key>::identity()) {
        result = finish.flip != 0 ? std::numeric_limits<Float>::infinity() : -std::numeric_limits<Float>::infinity();
    }
    store_float(result, finish.output_type, output, index);
}

WR_HD void finish_accumulator(std::int32_t key, const Finish &finish, void *output, std::size_t index) {
    finish_key(key, finish, output, index);
}
WR_HD void finish_accumulator(std::int64_t key, const Finish &finish, void *output, std::size_t index) {
    finish_key(key, finish, output, index);
}

} // namespace wr
