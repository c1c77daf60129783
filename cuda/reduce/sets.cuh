// Which sets of kernels, each of one element type and operator, have kernels of their own for every regime.
#pragma once

#include "numerics/operators.h"

#include <type_traits>

namespace wr::cuda {

// What is reduced most, and what is timed. All others share the general ones, so that the table of operators and types
// stays quick to build.
template <class Op>
inline constexpr bool is_common = false;
template <class Float>
inline constexpr bool is_common<FloatSum<Float>> = true;
template <>
inline constexpr bool is_common<Extreme<std::int32_t>> = true;
template <class Word>
inline constexpr bool is_common<FieldSum<Word>> = true;
template <>
inline constexpr bool is_common<IntegerSum> = true;
template <>
inline constexpr bool is_common<FieldSum<Goldilocks>> = false;
template <class T, class Op>
inline constexpr bool has_all_kernels =
    is_common<Op> && sizeof(T) >= 2 && sizeof(T) <= 8 && !std::is_same_v<T, std::uint16_t>;

// Whether a set is for nothing but partial results, which touch each other and begin on a boundary.
template <class Op>
inline constexpr bool is_partial = false;
template <class Op>
inline constexpr bool is_partial<Partial<Op>> = true;

template <class Op, template <class> class Of>
inline constexpr bool is_made_of = false;
template <class Element, template <class> class Of>
inline constexpr bool is_made_of<Of<Element>, Of> = true;

// What few people run: one kernel takes rows on the boundaries of vectors and off them (at most 11 % slower on them).
template <class Op>
inline constexpr bool is_rare =
    is_made_of<Op, FloatProduct> || is_made_of<Op, FieldProduct> || is_made_of<Op, FieldSquareSum> ||
    std::is_same_v<Op, IntegerProduct> || std::is_same_v<Op, MappedIntegerSum> ||
    std::is_same_v<Op, WeightedIntegerSum> || std::is_same_v<Op, WideIntegerSum> ||
    std::is_same_v<Op, WideWeightedSum> || std::is_same_v<Op, WideIntegerProduct> || std::is_same_v<Op, BitOr> ||
    std::is_same_v<Op, BitXor>;

// Norms, dot products, places and such. (Integers, products, bits and elements of a byte would be 20 KB more.)
template <class Op>
inline constexpr bool suits_clusters =
    is_made_of<Op, MappedFloatSum> || is_made_of<Op, ScaledSquareSum> || is_made_of<Op, CountedFloatSum> ||
    is_made_of<Op, WeightedFloatSum> || is_made_of<Op, FieldSum> || is_made_of<Op, WeightedFieldSum> ||
    is_made_of<Op, Extreme> || is_made_of<Op, ArgExtreme>;

// Whether the kernels of rows may run as clusters, where none is made for these.
template <class T, class Op>
inline constexpr bool rows_run_as_clusters = suits_clusters<Op> && !has_all_kernels<T, Op> && sizeof(T) >= 2;

} // namespace wr::cuda
