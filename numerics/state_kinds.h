// The accumulators that a state holds: how each lies in the bytes, how two of one kind are combined, how one becomes a
// result.
#pragma once

#include "numerics/exact_sum.h"
#include "numerics/finish.h"
#include "numerics/state.h"

namespace wr {

// The numbers are part of the format.
enum class StateKind : std::int32_t {
    none = 0,
    sum_f32 = 1,
    sum_f64 = 2,
    product_f32 = 3,
    product_f64 = 4,
    counted_f32 = 5,
    counted_f64 = 6,
    squares_f32 = 7,
    squares_f64 = 8,
    wide_sum = 9,
    wide_product = 10,
    integer_sum = 11,
    integer_product = 12,
    bit_or = 13,
    bit_xor = 14,
    sum_koalabear = 15,
    sum_babybear = 16,
    sum_mersenne31 = 17,
    sum_goldilocks = 18,
    sum_koalabear_x4 = 19,
    sum_babybear_x4 = 20,
    product_koalabear = 21,
    product_babybear = 22,
    product_mersenne31 = 23,
    product_goldilocks = 24,
    product_koalabear_x4 = 25,
    product_babybear_x4 = 26,
    extreme_32 = 27,
    extreme_64 = 28,
    place_32 = 29,
    place_64 = 30,
    exact = 31,
};

// The kind of an operator's accumulators.
template <class Op>
inline constexpr StateKind state_kind = StateKind::none;
template <class Float>
inline constexpr StateKind state_kind<FloatSum<Float>> = sizeof(Float) == 4 ? StateKind::sum_f32 : StateKind::sum_f64;
template <class Float>
inline constexpr StateKind state_kind<MappedFloatSum<Float>> = state_kind<FloatSum<Float>>;
template <class Float>
inline constexpr StateKind state_kind<WeightedFloatSum<Float>> = state_kind<FloatSum<Float>>;
template <class Float>
inline constexpr StateKind state_kind<FloatProduct<Float>> =
    sizeof(Float) == 4 ? StateKind::product_f32 : StateKind::product_f64;
template <class Float>
inline constexpr StateKind state_kind<CountedFloatSum<Float>> =
    sizeof(Float) == 4 ? StateKind::counted_f32 : StateKind::counted_f64;
template <class Float>
inline constexpr StateKind state_kind<ScaledSquareSum<Float>> =
    sizeof(Float) == 4 ? StateKind::squares_f32 : StateKind::squares_f64;
template <>
inline constexpr StateKind state_kind<WideIntegerSum> = StateKind::wide_sum;
template <>
inline constexpr StateKind state_kind<WideWeightedSum> = StateKind::wide_sum;
template <>
inline constexpr StateKind state_kind<WideIntegerProduct> = StateKind::wide_product;
template <>
inline constexpr StateKind state_kind<IntegerSum> = StateKind::integer_sum;
template <>
inline constexpr StateKind state_kind<MappedIntegerSum> = StateKind::integer_sum;
template <>
inline constexpr StateKind state_kind<WeightedIntegerSum> = StateKind::integer_sum;
template <>
inline constexpr StateKind state_kind<Count> = StateKind::integer_sum;
template <>
inline constexpr StateKind state_kind<IntegerProduct> = StateKind::integer_product;
template <>
inline constexpr StateKind state_kind<BitOr> = StateKind::bit_or;
template <>
inline constexpr StateKind state_kind<BitXor> = StateKind::bit_xor;
template <>
inline constexpr StateKind state_kind<FieldSum<KoalaBear>> = StateKind::sum_koalabear;
template <>
inline constexpr StateKind state_kind<FieldSum<BabyBear>> = StateKind::sum_babybear;
template <>
inline constexpr StateKind state_kind<FieldSum<Mersenne31>> = StateKind::sum_mersenne31;
template <>
inline constexpr StateKind state_kind<FieldSum<Goldilocks>> = StateKind::sum_goldilocks;
template <>
inline constexpr StateKind state_kind<FieldSum<KoalaBearX4>> = StateKind::sum_koalabear_x4;
template <>
inline constexpr StateKind state_kind<FieldSum<BabyBearX4>> = StateKind::sum_babybear_x4;
template <class Word>
inline constexpr StateKind state_kind<FieldSquareSum<Word>> = state_kind<FieldSum<Word>>;
template <class Word>
inline constexpr StateKind state_kind<WeightedFieldSum<Word>> = state_kind<FieldSum<Word>>;
template <class Element>
inline constexpr StateKind state_kind<ExtensionByBaseSum<Element>> = state_kind<FieldSum<Element>>;
template <>
inline constexpr StateKind state_kind<FieldProduct<KoalaBear>> = StateKind::product_koalabear;
template <>
inline constexpr StateKind state_kind<FieldProduct<BabyBear>> = StateKind::product_babybear;
template <>
inline constexpr StateKind state_kind<FieldProduct<Mersenne31>> = StateKind::product_mersenne31;
template <>
inline constexpr StateKind state_kind<FieldProduct<Goldilocks>> = StateKind::product_goldilocks;
template <>
inline constexpr StateKind state_kind<FieldProduct<KoalaBearX4>> = StateKind::product_koalabear_x4;
template <>
inline constexpr StateKind state_kind<FieldProduct<BabyBearX4>> = StateKind::product_babybear_x4;
template <>
inline constexpr StateKind state_kind<Extreme<std::int32_t>> = StateKind::extreme_32;
template <>
inline constexpr StateKind state_kind<Extreme<std::int64_t>> = StateKind::extreme_64;
template <>
inline constexpr StateKind state_kind<ArgExtreme<std::int32_t>> = StateKind::place_32;
template <>
inline constexpr StateKind state_kind<ArgExtreme<std::int64_t>> = StateKind::place_64;

// Calls use(Op()) with the operator whose combine is that of the kind; there is one.
template <class Use>
WR_HD auto with_state_kind(StateKind kind, Use use) {
    switch (kind) {
    case StateKind::sum_f32:
        return use(FloatSum<float>());
    case StateKind::sum_f64:
        return use(FloatSum<double>());
    case StateKind::product_f32:
        return use(FloatProduct<float>());
    case StateKind::product_f64:
        return use(FloatProduct<double>());
    case StateKind::counted_f32:
        return use(CountedFloatSum<float>());
    case StateKind::counted_f64:
        return use(CountedFloatSum<double>());
    case StateKind::squares_f32:
        return use(ScaledSquareSum<float>());
    case StateKind::squares_f64:
        return use(ScaledSquareSum<double>());
    case StateKind::wide_sum:
        return use(WideIntegerSum());
    case StateKind::wide_product:
        return use(WideIntegerProduct());
    case StateKind::integer_product:
        return use(IntegerProduct());
    case StateKind::bit_or:
        return use(BitOr());
    case StateKind::bit_xor:
        return use(BitXor());
    case StateKind::sum_koalabear:
        return use(FieldSum<KoalaBear>());
    case StateKind::sum_babybear:
        return use(FieldSum<BabyBear>());
    case StateKind::sum_mersenne31:
        return use(FieldSum<Mersenne31>());
    case StateKind::sum_goldilocks:
        return use(FieldSum<Goldilocks>());
    case StateKind::sum_koalabear_x4:
        return use(FieldSum<KoalaBearX4>());
    case StateKind::sum_babybear_x4:
        return use(FieldSum<BabyBearX4>());
    case StateKind::product_koalabear:
        return use(FieldProduct<KoalaBear>());
    case StateKind::product_babybear:
        return use(FieldProduct<BabyBear>());
    case StateKind::product_mersenne31:
        return use(FieldProduct<Mersenne31>());
    case StateKind::product_goldilocks:
        return use(FieldProduct<Goldilocks>());
    case StateKind::product_koalabear_x4:
        return use(FieldProduct<KoalaBearX4>());
    case StateKind::product_babybear_x4:
        return use(FieldProduct<BabyBearX4>());
    case StateKind::extreme_32:
        return use(Extreme<std::int32_t>());
    case StateKind::extreme_64:
        return use(Extreme<std::int64_t>());
    case StateKind::place_32:
        return use(ArgExtreme<std::int32_t>());
    case StateKind::place_64:
        return use(ArgExtreme<std::int64_t>());
    default:
        return use(IntegerSum());
    }
}

// ---- how an accumulator lies in the bytes

struct alignas(16) TwoStateWords {
    std::uint64_t words[2];
};

WR_HD std::uint32_t canonical_bits(float x) { return is_nan(x) ? canonical_nan_f32 : bit_cast<std::uint32_t>(x); }
WR_HD std::uint64_t canonical_bits(double x) { return is_nan(x) ? canonical_nan_f64 : bit_cast<std::uint64_t>(x); }

WR_HD std::uint32_t packed(float x) { return canonical_bits(x); }
WR_HD std::uint64_t packed(double x) { return canonical_bits(x); }
WR_HD std::uint64_t packed(std::uint64_t x) { return x; }
WR_HD std::uint32_t packed(std::int32_t key) { return static_cast<std::uint32_t>(key); }
WR_HD std::uint64_t packed(std::int64_t key) { return static_cast<std::uint64_t>(key); }
WR_HD std::uint32_t packed(KoalaBear x) { return x.word; }
WR_HD std::uint32_t packed(BabyBear x) { return x.word; }
WR_HD std::uint32_t packed(Mersenne31 x) { return x.word; }
WR_HD std::uint64_t packed(Goldilocks x) { return x.word; }
template <class Float>
WR_HD TwoStateWords packed(const Counted<Float> &x) {
    return {{canonical_bits(x.sum), x.count}};
}
// The range of an f32 stands in the upper half of its word.
WR_HD TwoStateWords packed(const Scaled<float> &x) {
    const std::uint32_t range = is_nan(x.value) ? 0 : static_cast<std::uint32_t>(x.range);
    return {{canonical_bits(x.value) | std::uint64_t{range} << 32, 0}};
}
WR_HD TwoStateWords packed(const Scaled<double> &x) {
    return {{canonical_bits(x.value), is_nan(x.value) ? 0 : static_cast<std::uint64_t>(x.range)}};
}
template <class Key>
WR_HD TwoStateWords packed(const KeyAt<Key> &x) {
    return {{static_cast<std::make_unsigned_t<Key>>(x.key), x.position}};
}
WR_HD TwoStateWords packed(const ExtensionSum &x) {
    return {{x.sums[0] | x.sums[1] << 32, x.sums[2] | x.sums[3] << 32}};
}
WR_HD TwoStateWords packed(const KoalaBearX4 &x) { return bit_cast<TwoStateWords>(x); }
WR_HD TwoStateWords packed(const BabyBearX4 &x) { return bit_cast<TwoStateWords>(x); }

WR_HD void unpack(std::uint32_t bits, float &x) { x = bit_cast<float>(bits); }
WR_HD void unpack(std::uint64_t bits, double &x) { x = bit_cast<double>(bits); }
WR_HD void unpack(std::uint64_t bits, std::uint64_t &x) { x = bits; }
WR_HD void unpack(std::uint32_t bits, std::int32_t &key) { key = static_cast<std::int32_t>(bits); }
WR_HD void unpack(std::uint64_t bits, std::int64_t &key) { key = static_cast<std::int64_t>(bits); }
WR_HD void unpack(std::uint32_t bits, KoalaBear &x) { x = {bits}; }
WR_HD void unpack(std::uint32_t bits, BabyBear &x) { x = {bits}; }
WR_HD void unpack(std::uint32_t bits, Mersenne31 &x) { x = {bits}; }
WR_HD void unpack(std::uint64_t bits, Goldilocks &x) { x = {bits}; }
WR_HD void unpack(const TwoStateWords &bits, Counted<float> &x) {
    x = {bit_cast<float>(static_cast<std::uint32_t>(bits.words[0])), bits.words[1]};
}
WR_HD void unpack(const TwoStateWords &bits, Counted<double> &x) {
    x = {bit_cast<double>(bits.words[0]), bits.words[1]};
}
WR_HD void unpack(const TwoStateWords &bits, Scaled<float> &x) {
    x = {bit_cast<float>(static_cast<std::uint32_t>(bits.words[0])), static_cast<std::int32_t>(bits.words[0] >> 32)};
}
WR_HD void unpack(const TwoStateWords &bits, Scaled<double> &x) {
    x = {bit_cast<double>(bits.words[0]), static_cast<std::int64_t>(bits.words[1])};
}
template <class Key>
WR_HD void unpack(const TwoStateWords &bits, KeyAt<Key> &x) {
    x = {static_cast<Key>(static_cast<std::make_unsigned_t<Key>>(bits.words[0])), bits.words[1]};
}
WR_HD void unpack(const TwoStateWords &bits, ExtensionSum &x) {
    x = {{bits.words[0] & 0xFFFFFFFFu, bits.words[0] >> 32, bits.words[1] & 0xFFFFFFFFu, bits.words[1] >> 32}};
}
WR_HD void unpack(const TwoStateWords &bits, KoalaBearX4 &x) { x = bit_cast<KoalaBearX4>(bits); }
WR_HD void unpack(const TwoStateWords &bits, BabyBearX4 &x) { x = bit_cast<BabyBearX4>(bits); }

template <class Op>
using StateElement = decltype(packed(Op::identity()));

// Of a settled accumulator.
template <class Accumulator>
WR_HD void store_node(const Accumulator &settled, void *nodes, std::size_t index) {
    static_cast<decltype(packed(settled)) *>(nodes)[index] = packed(settled);
}
template <class Op>
WR_HD typename Op::Accumulator load_node(const void *nodes, std::size_t index) {
    typename Op::Accumulator value{};
    unpack(static_cast<const StateElement<Op> *>(nodes)[index], value);
    return value;
}

// ---- merging and finishing, output by output

template <class Op>
WR_HD typename Op::Accumulator combined(const typename Op::Accumulator &left, const typename Op::Accumulator &right) {
    return Op::settle(Op::combine(left, right));
}

// Where the nodes of an output lie: `outputs` apart.
struct StateOutput {
    std::size_t output, outputs;

    WR_HD std::size_t node(int number) const { return static_cast<std::size_t>(number) * outputs + output; }
};

// `merged` may be `left`.
template <class Op>
WR_HD void merge_output(const NodeMerge &merge, const StateOutput &at, const void *left, const void *right,
                        void *merged) {
    if (merge.left != 0) {
        int next_left = merge.before + merge.left, next_right = 0;
        auto joined =
            combined<Op>(load_node<Op>(left, at.node(--next_left)), load_node<Op>(right, at.node(next_right++)));
        std::uint64_t place = merge.meeting >> 1;
        for (int level = merge.left + merge.right; level > 2; --level, place >>= 1) {
            joined = (place & 1u) != 0 ? combined<Op>(load_node<Op>(left, at.node(--next_left)), joined)
                                       : combined<Op>(joined, load_node<Op>(right, at.node(next_right++)));
        }
        store_node(joined, merged, at.node(merge.before));
    }
    for (int node = 0; left != merged && node < merge.before; ++node) {
        store_node(load_node<Op>(left, at.node(node)), merged, at.node(node));
    }
    const int behind = merge.merged() - merge.after;
    for (int node = 0; node < merge.after; ++node) {
        store_node(load_node<Op>(right, at.node(merge.right + node)), merged, at.node(behind + node));
    }
}

// Of the nodes of a whole axis: they shrink, and the tree combines them from the right.
template <class Op>
WR_HD typename Op::Accumulator whole_of_output(int nodes, const StateOutput &at, const void *state) {
    if (nodes == 0) {
        return Op::identity();
    }
    auto whole = load_node<Op>(state, at.node(nodes - 1));
    for (int node = nodes - 1; node-- > 0;) {
        whole = combined<Op>(load_node<Op>(state, at.node(node)), whole);
    }
    return whole;
}

template <class Op>
WR_HD void finish_output(int nodes, const StateOutput &at, const void *state, const Finish &finish, void *output) {
    finish_accumulator(whole_of_output<Op>(nodes, at, state), finish, output, at.output);
}

// Places along a node are made such along the whole axis.
template <class Key>
WR_HD void move_place(void *nodes, std::size_t index, std::uint64_t by) {
    auto found = load_node<ArgExtreme<Key>>(nodes, index);
    found.position += found.position == ArgExtreme<Key>::nowhere ? 0 : by;
    store_node(found, nodes, index);
}

// Carries have gone up, and -0 is only told of where nothing but -0 was: each sum then has one form.
template <class Words>
WR_HD void settle_state_words(Words words, ExactLayout layout) {
    settle_words(words, layout);
    if (words[layout.limbs + static_cast<int>(ExactMark::number)] != 0) {
        words[layout.limbs + static_cast<int>(ExactMark::minus_zero)] = 0;
    }
}

// The words of two exact sums into settled ones; `merged` may be `left`.
WR_HD void merge_exact_output(const std::int64_t *left, const std::int64_t *right, std::int64_t *merged,
                              ExactLayout layout) {
    for (int word = 0; word < exact_words(layout); ++word) {
        merged[word] = left[word] + right[word];
    }
    settle_state_words(merged, layout);
}

WR_HD void finish_exact_output(const std::int64_t *state, ExactLayout layout, ElementType type, void *output,
                               std::size_t index) {
    std::int64_t words[most_exact_words];
    if (layout.limbs <= 0) {
        return; // every layout has limbs; this is said for static analysis
    }
    for (int word = 0; word < exact_words(layout); ++word) {
        words[word] = state[word];
    }
    finish_exactly(words, layout, type, output, index);
}

} // namespace wr
