// Elements of any type mapped into a buffer of values: all that a kernel of mapped_kernels.h needs to know of them.
#pragma once

#include "host/common/vectors.h"

namespace wr::host::WR_ISA {
namespace {

// The operator that combines as Op does, apart from how elements are mapped.
template <class Op>
struct CombinerOf {
    using Type = Op;
};
template <class Float>
struct CombinerOf<MappedFloatSum<Float>> {
    using Type = FloatSum<Float>;
};
template <class Float>
struct CombinerOf<PlainSquareSum<Float>> {
    using Type = FloatSum<Float>;
};
template <class Float>
struct CombinerOf<WeightedFloatSum<Float>> {
    using Type = FloatSum<Float>;
};
template <>
struct CombinerOf<MappedIntegerSum> {
    using Type = IntegerSum;
};
template <>
struct CombinerOf<WeightedIntegerSum> {
    using Type = IntegerSum;
};
template <>
struct CombinerOf<WideWeightedSum> {
    using Type = WideIntegerSum;
};
template <>
struct CombinerOf<Count> {
    using Type = IntegerSum;
};
template <class Word>
struct CombinerOf<FieldSquareSum<Word>> {
    using Type = FieldSum<Word>;
};
template <class Word>
struct CombinerOf<WeightedFieldSum<Word>> {
    using Type = FieldSum<Word>;
};
template <class Element>
struct CombinerOf<ExtensionByBaseSum<Element>> {
    using Type = FieldSum<Element>;
};

// The operator whose map makes the values that go into the buffer: where accumulators hold more than a number, only
// the number.
template <class Op>
struct ValueOperator {
    using Type = Op;
};
template <class Float>
struct ValueOperator<CountedFloatSum<Float>> {
    using Type = FloatSum<Float>;
};
template <class Key>
struct ValueOperator<ArgExtreme<Key>> {
    using Type = Extreme<Key>;
};
template <class Op>
using ValueOf = typename ValueOperator<Op>::Type::Accumulator;

// A weight of Op on elements T.
template <class Op, class T>
struct WeightOf {
    using Type = T;
};
template <class Element>
struct WeightOf<ExtensionByBaseSum<Element>, Element> {
    using Type = typename Extension<Element>::Word;
};
template <class Element>
struct WeightOf<ExtensionByBaseSum<Element>, typename Extension<Element>::Word> {
    using Type = Element;
};

template <class Value>
struct ElementMap {
    // values[i] becomes what element i of a contiguous run stands for, at position first + i of its axis; at most
    // longest_run of them.
    void (*map)(const void *elements, std::size_t count, std::size_t first, const Mapping &m, Value *values);
    std::size_t element_size;
    std::size_t weight_size; // 0: there are none
};

// The longest run of a map.
constexpr std::size_t longest_run = 2048;

template <class Op, class T>
__attribute__((noinline)) void map_elements(const T *__restrict elements, std::size_t count, std::size_t first,
                                            const Mapping &mapping, typename Op::Accumulator *__restrict values) {
    const Mapping m = mapping;
    for (std::size_t i = 0; i < count; ++i) {
        values[i] = map_element<Op>(elements[i], m, first + i);
    }
}

template <class T>
__attribute__((noinline)) void widen_as(const T *__restrict elements, std::size_t count, float *__restrict wide) {
    constexpr std::size_t lanes = lanes_of<float>;
    std::size_t i = 0;
    for (; count - i >= lanes; i += lanes) {
        store_vector(wide + i, load_mapped<FloatSum<float>>(elements + i, Mapping{}));
    }
    for (; i < count; ++i) {
        wide[i] = widen(elements[i]);
    }
}

void widen_run(ElementType type, const void *elements, std::size_t count, float *wide) {
    switch (type) {
    case ElementType::f16:
        return widen_as(static_cast<const F16 *>(elements), count, wide);
    case ElementType::bf16:
        return widen_as(static_cast<const BF16 *>(elements), count, wide);
    case ElementType::f8_e4m3:
        return widen_as(static_cast<const E4M3 *>(elements), count, wide);
    default:
        return widen_as(static_cast<const E5M2 *>(elements), count, wide);
    }
}

template <class T>
constexpr bool is_narrow_float =
    std::is_same_v<T, F16> || std::is_same_v<T, BF16> || std::is_same_v<T, E4M3> || std::is_same_v<T, E5M2> ||
    std::is_same_v<T, AnyFloat16> || std::is_same_v<T, AnyFloat8>;

// Narrow floats as the f32 that they are, weights too: widening is exact.
template <class Op>
void map_narrow(const std::byte *elements, std::size_t size, std::size_t count, std::size_t first, const Mapping &m,
                typename Op::Accumulator *values) {
    alignas(64) float wide[longest_run];
    widen_run(m.type, elements, count, wide);
    if constexpr (Op::positional) {
        alignas(64) float weights[longest_run];
        widen_run(m.type, static_cast<const std::byte *>(m.weights) + first * size, count, weights);
        Mapping widened = m;
        widened.weights = weights;
        map_elements<Op>(wide, count, 0, widened, values);
    } else {
        map_elements<Op>(wide, count, 0, m, values);
    }
}

template <class Op, class T>
void map_run(const void *elements, std::size_t count, std::size_t first, const Mapping &m,
             typename Op::Accumulator *values) {
    if constexpr (!is_narrow_float<T>) {
        map_elements<Op>(static_cast<const T *>(elements), count, first, m, values);
    } else if constexpr (std::is_same_v<Op, FloatSum<float>>) {
        widen_run(m.type, elements, count, values);
    } else {
        map_narrow<Op>(static_cast<const std::byte *>(elements), sizeof(T), count, first, m, values);
    }
}

// Positional without weights are only those whose values know nothing of positions.
template <class Op, class T>
constexpr std::size_t weight_size = ValueOperator<Op>::Type::positional ? sizeof(typename WeightOf<Op, T>::Type) : 0;

template <class Op, class T>
constexpr ElementMap<ValueOf<Op>> element_map{map_run<typename ValueOperator<Op>::Type, T>, sizeof(T),
                                              weight_size<Op, T>};

} // namespace
} // namespace wr::host::WR_ISA
