// What one stage leaves for the next: how a partial result is stored, and which operator over which elements takes it
// on.
#pragma once

#include "numerics/operators.h"

namespace wr::cuda {

// For most operators, accumulators that meet as elements of the same operator, mapped already.
template <class Op>
struct PartialResults {
    using Element = typename Op::Accumulator;
    using Next = Partial<Op>;
};

template <class Float>
struct PartialResults<FloatSum<Float>> {
    using Element = Float;
    using Next = FloatSum<Float>;
};
template <class Float>
struct PartialResults<MappedFloatSum<Float>> : PartialResults<FloatSum<Float>> {};
template <class Float>
struct PartialResults<WeightedFloatSum<Float>> : PartialResults<FloatSum<Float>> {};
template <class Float>
struct PartialResults<FloatProduct<Float>> {
    using Element = Float;
    using Next = FloatProduct<Float>;
};

struct IntegerPartialResults {
    using Element = std::uint64_t;
    using Next = IntegerSum;
};
template <>
struct PartialResults<IntegerSum> : IntegerPartialResults {};
template <>
struct PartialResults<MappedIntegerSum> : IntegerPartialResults {};
template <>
struct PartialResults<WeightedIntegerSum> : IntegerPartialResults {};
template <>
struct PartialResults<Count> : IntegerPartialResults {};
// A whole vector, as all partial results are that no other elements share a set of kernels with: each begins on a
// boundary.
struct alignas(16) StoredScaled {
    Scaled<float> of;
    std::uint64_t unused;

    __device__ __forceinline__ operator Scaled<float>() const { return of; }
};
template <>
struct PartialResults<ScaledSquareSum<float>> {
    using Element = StoredScaled;
    using Next = Partial<ScaledSquareSum<float>>;
};

// Numbers and integers beside them, added up apart.
struct WidePartialResults {
    using Element = Counted<double>;
    using Next = Partial<CountedFloatSum<double>>;
};
template <>
struct PartialResults<WideIntegerSum> : WidePartialResults {};
template <>
struct PartialResults<WideWeightedSum> : WidePartialResults {};
template <>
struct PartialResults<IntegerProduct> {
    using Element = std::uint64_t;
    using Next = IntegerProduct;
};
template <>
struct PartialResults<BitOr> {
    using Element = std::uint64_t;
    using Next = BitOr;
};
template <>
struct PartialResults<BitXor> {
    using Element = std::uint64_t;
    using Next = BitXor;
};

// Settled sums of 31-bit words are integers that add up without overflow.
template <class Word>
struct PartialResults<FieldSum<Word>> : IntegerPartialResults {};
template <>
struct PartialResults<FieldSum<Goldilocks>> {
    using Element = Goldilocks;
    using Next = FieldSum<Goldilocks>;
};
template <class Word>
struct ExtensionPartialResults {
    using Element = Word;
    using Next = FieldSum<Word>;
};
template <>
struct PartialResults<FieldSum<KoalaBearX4>> : ExtensionPartialResults<KoalaBearX4> {};
template <>
struct PartialResults<FieldSum<BabyBearX4>> : ExtensionPartialResults<BabyBearX4> {};
template <class Word>
struct PartialResults<FieldSquareSum<Word>> : PartialResults<FieldSum<Word>> {};
template <class Word>
struct PartialResults<WeightedFieldSum<Word>> : PartialResults<FieldSum<Word>> {};
template <class Element>
struct PartialResults<ExtensionByBaseSum<Element>> : PartialResults<FieldSum<Element>> {};
template <class Word>
struct PartialResults<FieldProduct<Word>> {
    using Element = Word;
    using Next = FieldProduct<Word>;
};

// Keys are what signed integers of their width map to.
template <class Key>
struct PartialResults<Extreme<Key>> {
    using Element = std::make_unsigned_t<Key>;
    using Next = Extreme<Key>;
};

template <class Op>
struct PartialResults<Partial<Op>> : PartialResults<Op> {};

template <class Op>
using PartialElement = typename PartialResults<Op>::Element;

// Two fields of a struct of 16 bytes, with zeros between them where the first has 4.
template <class First, class Struct>
__device__ __forceinline__ void store_fields(First first, std::uint64_t second, Struct &to) {
    static_assert(sizeof(Struct) == 16 && alignof(Struct) == alignof(std::uint64_t));
    std::uint64_t *words = reinterpret_cast<std::uint64_t *>(&to);
    if constexpr (sizeof(First) == sizeof(std::uint32_t)) {
        words[0] = bit_cast<std::uint32_t>(first);
    } else {
        words[0] = bit_cast<std::uint64_t>(first);
    }
    words[1] = second;
}
template <class Key>
__device__ __forceinline__ void store_without_gaps(const KeyAt<Key> &value, KeyAt<Key> &to) {
    store_fields(value.key, value.position, to);
}
template <class Float>
__device__ __forceinline__ void store_without_gaps(const Counted<Float> &value, Counted<Float> &to) {
    store_fields(value.sum, value.count, to);
}
__device__ __forceinline__ void store_without_gaps(const Scaled<float> &value, StoredScaled &to) { to = {value, 0}; }
template <class Value, class Element>
__device__ __forceinline__ void store_without_gaps(const Value &value, Element &to) {
    to = bit_cast<Element>(value);
}

template <class Op>
__device__ __forceinline__ void store_partial(const typename Op::Accumulator &value, void *partials,
                                              std::size_t index) {
    using Element = PartialElement<Op>;
    Element &partial = static_cast<Element *>(partials)[index];
    if constexpr (std::is_same_v<typename Op::Accumulator, ExtensionSum>) {
        partial = reduced<Element>(value);
    } else {
        store_without_gaps(Op::settle(value), partial);
    }
}

} // namespace wr::cuda
