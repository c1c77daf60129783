// From an accumulator to an element of the output: the division of a mean, the root of a norm, the value of a key, what
// the output held before, the one rounding.
#pragma once

#include "numerics/operators.h"
#include "numerics/stored_elements.h"

namespace wr {

// What finishing needs to know; the same for every output of a call.
struct Finish {
    Operator op;
    ElementType input_type;
    ElementType output_type;
    bool add_to_output;
    std::uint64_t axis; // elements that are reduced into each output; segments each have a count of their own
    std::uint64_t flip; // as the operator's map took it
    void *values;       // argmin, argmax: where the extremes go too; nullptr: not wanted
};

// The finished sum, product, mean or norm of `count` elements.
template <class Float>
WR_HD Float finished_float(Float result, Operator op, std::uint64_t count) {
    switch (op) {
    case Operator::mean:
        return result / static_cast<Float>(count); // an empty axis divides -0 by 0: NaN
    case Operator::product:
        return result;
    case Operator::norm_l2:
        return square_root(magnitude_of(result)); // nothing added up is -0
    case Operator::sum:
        return count == 0 ? Float(0) : result;
    default:
        return magnitude_of(result);
    }
}

template <class Float>
WR_HD_RARE void finish_float(Float result, std::uint64_t count, const Finish &finish, void *output, std::size_t index) {
    Float value = finished_float(result, finish.op, count);
    if (finish.add_to_output) {
        const Float old = static_cast<Float>(load_float(finish.output_type, output, index));
        value = finish.op == Operator::product ? old * value : old + value;
    }
    store_float(value, finish.output_type, output, index);
}

WR_HD void finish_accumulator(float result, std::uint64_t count, const Finish &finish, void *output,
                              std::size_t index) {
    finish_float(result, count, finish, output, index);
}
WR_HD void finish_accumulator(double result, std::uint64_t count, const Finish &finish, void *output,
                              std::size_t index) {
    finish_float(result, count, finish, output, index);
}
WR_HD void finish_accumulator(const Counted<float> &result, std::uint64_t, const Finish &finish, void *output,
                              std::size_t index) {
    finish_float(result.sum, result.count, finish, output, index);
}

// A norm of `result`, whose root may be below the normal range or beyond the largest number.
template <class Float>
WR_HD_RARE void finish_accumulator(const Scaled<Float> &result, std::uint64_t, const Finish &finish, void *output,
                                   std::size_t index) {
    store_float(scaled_root(result), finish.output_type, output, index);
}

// A number of elements, or what it says.
WR_HD_RARE void finish_count(std::uint64_t count, const Finish &finish, void *output, std::size_t index) {
    const bool old = finish.add_to_output;
    switch (finish.op) {
    case Operator::any:
        count = count != 0 || (old && load_integer(finish.output_type, output, index) != 0);
        break;
    case Operator::all:
        count = count == 0 && !(old && load_integer(finish.output_type, output, index) == 0);
        break;
    default:
        break;
    }
    if (finish.op != Operator::count_nonzero || !traits_of(finish.output_type).is_float) {
        const bool adds = old && finish.op == Operator::count_nonzero;
        store_integer(count + (adds ? load_integer(finish.output_type, output, index) : 0), finish.output_type, output,
                      index);
        return;
    }
    double value = static_cast<double>(count);
    if (old) {
        value = load_float(finish.output_type, output, index) + value;
    }
    store_float(value, finish.output_type, output, index);
}

WR_HD_RARE void finish_bits(std::uint64_t bits, const Finish &finish, void *output, std::size_t index) {
    bits ^= finish.flip;
    if (finish.add_to_output) {
        const std::uint64_t old = load_integer(finish.output_type, output, index);
        bits = finish.op == Operator::bit_and ? bits & old : finish.op == Operator::bit_or ? bits | old : bits ^ old;
    }
    store_integer(bits, finish.output_type, output, index);
}

// An integer sum or product as a number: squares are never negative, everything else is as its elements are.
template <class Float>
WR_HD Float integer_as_float(std::uint64_t value, const Finish &finish) {
    const bool is_signed = traits_of(finish.input_type).is_signed && finish.op != Operator::sum_of_squares &&
                           finish.op != Operator::norm_l1 && finish.op != Operator::norm_l2;
    return is_signed ? static_cast<Float>(static_cast<std::int64_t>(value)) : static_cast<Float>(value);
}

// An integer sum or product, each rounded once.
WR_HD_RARE void finish_integer_as_float(double value, float narrow, std::uint64_t count, const Finish &finish,
                                        void *output, std::size_t index) {
    if (finish.op == Operator::mean) {
        value = value / static_cast<double>(count);
    } else if (finish.op == Operator::norm_l2) {
        value = square_root(value);
    } else if (finish.output_type == ElementType::f32 && !finish.add_to_output) {
        store_float(narrow, ElementType::f32, output, index); // one rounding, not two
        return;
    }
    if (finish.add_to_output) {
        const double old = load_float(finish.output_type, output, index);
        value = finish.op == Operator::product ? old * value : old + value;
    }
    store_float(value, finish.output_type, output, index);
}

WR_HD_RARE void finish_integer(std::uint64_t result, std::uint64_t count, const Finish &finish, void *output,
                               std::size_t index) {
    const bool product = finish.op == Operator::product;
    if (!traits_of(finish.output_type).is_float) {
        if (finish.add_to_output) {
            const std::uint64_t old = load_integer(finish.output_type, output, index);
            result = product ? old * result : old + result;
        }
        store_integer(result, finish.output_type, output, index);
        return;
    }
    finish_integer_as_float(integer_as_float<double>(result, finish), integer_as_float<float>(result, finish), count,
                            finish, output, index);
}

// Of integers whose results may need more than 64 bits, or of floats of which those that are no NaN were counted.
WR_HD void finish_accumulator(const Counted<double> &result, std::uint64_t count, const Finish &finish, void *output,
                              std::size_t index) {
    if (traits_of(finish.input_type).is_integer) {
        finish_integer_as_float(integer_result<double>(result), integer_result<float>(result), count, finish, output,
                                index);
    } else {
        finish_float(result.sum, result.count, finish, output, index);
    }
}

template <class Word>
WR_HD_RARE void finish_word(std::uint32_t word, const Finish &finish, void *output, std::size_t index) {
    auto *words = static_cast<std::uint32_t *>(output);
    if (finish.add_to_output) {
        word = finish.op == Operator::product ? Field<Word>::product(words[index], word)
                                              : Field<Word>::reduce(std::uint64_t{words[index]} + word);
    }
    words[index] = word;
}

WR_HD_RARE void finish_goldilocks(std::uint64_t word, const Finish &finish, void *output, std::size_t index) {
    auto *words = static_cast<std::uint64_t *>(output);
    if (finish.add_to_output) {
        word = finish.op == Operator::product ? Field<Goldilocks>::product(words[index], word)
                                              : Field<Goldilocks>::sum(canonical(Goldilocks{words[index]}).word, word);
    }
    words[index] = word;
}

WR_HD void finish_accumulator(std::uint64_t result, std::uint64_t count, const Finish &finish, void *output,
                              std::size_t index) {
    switch (finish.op) {
    case Operator::any:
    case Operator::all:
    case Operator::count_nonzero:
        finish_count(result, finish, output, index);
        return;
    case Operator::bit_and:
    case Operator::bit_or:
    case Operator::bit_xor:
        finish_bits(result, finish, output, index);
        return;
    default:
        break;
    }
    switch (finish.output_type) {
    case ElementType::koalabear:
        finish_word<KoalaBear>(Field<KoalaBear>::reduce(result), finish, output, index);
        break;
    case ElementType::babybear:
        finish_word<BabyBear>(Field<BabyBear>::reduce(result), finish, output, index);
        break;
    case ElementType::mersenne31:
        finish_word<Mersenne31>(Field<Mersenne31>::reduce(result), finish, output, index);
        break;
    case ElementType::goldilocks:
        finish_goldilocks(result, finish, output, index);
        break;
    default:
        finish_integer(result, count, finish, output, index);
        break;
    }
}

WR_HD void finish_accumulator(KoalaBear result, std::uint64_t, const Finish &finish, void *output, std::size_t index) {
    finish_word<KoalaBear>(result.word, finish, output, index);
}
WR_HD void finish_accumulator(BabyBear result, std::uint64_t, const Finish &finish, void *output, std::size_t index) {
    finish_word<BabyBear>(result.word, finish, output, index);
}
WR_HD void finish_accumulator(Mersenne31 result, std::uint64_t, const Finish &finish, void *output, std::size_t index) {
    finish_word<Mersenne31>(result.word, finish, output, index);
}
WR_HD void finish_accumulator(Goldilocks result, std::uint64_t, const Finish &finish, void *output, std::size_t index) {
    finish_goldilocks(result.word, finish, output, index);
}

template <class Element>
WR_HD_RARE void finish_extension(Element result, const Finish &finish, void *output, std::size_t index) {
    Element &element = static_cast<Element *>(output)[index];
    if (finish.add_to_output) {
        const Element old = element;
        result = finish.op == Operator::product
                     ? extension_product(old, result)
                     : reduced<Element>(FieldSum<Element>::combine(FieldSum<Element>::map(old, Mapping{}),
                                                                   FieldSum<Element>::map(result, Mapping{})));
    }
    element = result;
}

WR_HD void finish_accumulator(const KoalaBearX4 &result, std::uint64_t, const Finish &finish, void *output,
                              std::size_t index) {
    finish_extension(result, finish, output, index);
}
WR_HD void finish_accumulator(const BabyBearX4 &result, std::uint64_t, const Finish &finish, void *output,
                              std::size_t index) {
    finish_extension(result, finish, output, index);
}
WR_HD void finish_accumulator(const ExtensionSum &result, std::uint64_t, const Finish &finish, void *output,
                              std::size_t index) {
    if (finish.output_type == ElementType::koalabear_x4) {
        finish_extension(reduced<KoalaBearX4>(result), finish, output, index);
    } else {
        finish_extension(reduced<BabyBearX4>(result), finish, output, index);
    }
}

// E4M3 has no infinity: its range ends here.
inline constexpr double largest_e4m3 = 448;

// The float that a key stands for. The identity stands for what an empty axis gives.
template <class Key>
WR_HD auto float_of_key(Key key, const Finish &finish) {
    using Float = decltype(value_of_key(key));
    if (key == Extreme<Key>::nan_key) {
        return std::numeric_limits<Float>::quiet_NaN();
    }
    if (key == Extreme<Key>::identity()) {
        const Float largest =
            finish.input_type == ElementType::f8_e4m3 ? Float(largest_e4m3) : std::numeric_limits<Float>::infinity();
        return finish.op == Operator::norm_max ? Float(0) : finish.flip != 0 ? largest : -largest;
    }
    return value_of_key(static_cast<Key>(key ^ static_cast<Key>(finish.flip)));
}

// The integer that a key stands for, as 64 bits.
template <class Key>
WR_HD std::uint64_t integer_of_key(Key key, std::uint64_t count, const Finish &finish) {
    const ElementTraits input = traits_of(finish.input_type);
    if (count == 0 && finish.op != Operator::norm_max) {
        return finish.op == Operator::min ? largest_integer(finish.input_type) : smallest_integer(finish.input_type);
    }
    const Key value = static_cast<Key>(key ^ static_cast<Key>(finish.flip));
    if (input.is_signed && finish.op != Operator::norm_max) {
        return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    }
    return static_cast<std::uint64_t>(static_cast<std::make_unsigned_t<Key>>(value));
}

WR_HD bool comes_first(double a, double b, bool minimum) {
    if (is_nan(a) || is_nan(b)) {
        return is_nan(a);
    }
    return minimum ? order_key(a) < order_key(b) : order_key(a) > order_key(b);
}

WR_HD bool comes_first(std::uint64_t a, std::uint64_t b, bool minimum, bool is_signed) {
    const std::uint64_t bias = is_signed ? std::uint64_t{1} << 63 : 0;
    return minimum ? (a ^ bias)<(b ^ bias) : (a ^ bias)>(b ^ bias);
}

template <class Key>
WR_HD_RARE void finish_key(Key key, std::uint64_t count, const Finish &finish, void *output, std::size_t index) {
    const bool minimum = finish.op == Operator::min;
    const ElementType type = finish.output_type;
    if (traits_of(finish.input_type).is_float) {
        const auto value = float_of_key(key, finish);
        const double old = finish.add_to_output ? load_float(type, output, index) : 0;
        if (finish.add_to_output && comes_first(old, static_cast<double>(value), minimum)) {
            store_float(old, type, output, index);
        } else {
            store_float(value, type, output, index);
        }
        return;
    }
    const std::uint64_t value = integer_of_key(key, count, finish);
    const std::uint64_t old = finish.add_to_output ? load_integer(type, output, index) : 0;
    if (!finish.add_to_output || !comes_first(old, value, minimum, traits_of(type).is_signed)) {
        store_integer(value, type, output, index);
    }
}

WR_HD void finish_accumulator(std::int32_t key, std::uint64_t count, const Finish &finish, void *output,
                              std::size_t index) {
    finish_key(key, count, finish, output, index);
}
WR_HD void finish_accumulator(std::int64_t key, std::uint64_t count, const Finish &finish, void *output,
                              std::size_t index) {
    finish_key(key, count, finish, output, index);
}

// An index, -1 for an empty axis, and the value that is there; where nothing is, what min and max give.
template <class Key>
WR_HD void finish_accumulator(const KeyAt<Key> &found, std::uint64_t, const Finish &finish, void *output,
                              std::size_t index) {
    store_integer(found.position, finish.output_type, output, index);
    if (finish.values != nullptr) {
        Finish value = finish;
        value.op = finish.op == Operator::argmin ? Operator::min : Operator::max;
        value.output_type = finish.input_type;
        const std::uint64_t count = found.position == ArgExtreme<Key>::nowhere ? 0 : 1;
        finish_key(found.key, count, value, finish.values, index);
    }
}

// Where all outputs of a call have an axis of one length.
template <class Accumulator>
WR_HD void finish_accumulator(const Accumulator &result, const Finish &finish, void *output, std::size_t index) {
    finish_accumulator(result, finish.axis, finish, output, index);
}

} // namespace wr
