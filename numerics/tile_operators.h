// The rows of the operator table that reductions of tiles can meet: those of no weights, no NaN left out, and no
// accumulator that is asked for. The others are kept from becoming kernels.
#pragma once

#include "numerics/operator_table.h"

namespace wr {

template <class Op, class T>
inline constexpr bool is_tile_row = true;
template <class Float, class T>
inline constexpr bool is_tile_row<CountedFloatSum<Float>, T> = false;
template <class Float, class T>
inline constexpr bool is_tile_row<WeightedFloatSum<Float>, T> = false;
template <class T>
inline constexpr bool is_tile_row<WeightedIntegerSum, T> = false;
template <class T>
inline constexpr bool is_tile_row<WideIntegerSum, T> = false;
template <class T>
inline constexpr bool is_tile_row<WideWeightedSum, T> = false;
template <class T>
inline constexpr bool is_tile_row<WideIntegerProduct, T> = false;
template <class Word, class T>
inline constexpr bool is_tile_row<WeightedFieldSum<Word>, T> = false;
template <class Element, class T>
inline constexpr bool is_tile_row<ExtensionByBaseSum<Element>, T> = false;
template <class T>
inline constexpr bool is_tile_row<FloatSum<double>, T> = std::is_same_v<T, double>;
template <class T>
inline constexpr bool is_tile_row<MappedFloatSum<double>, T> = std::is_same_v<T, double>;
template <class T>
inline constexpr bool is_tile_row<FloatProduct<double>, T> = std::is_same_v<T, double>;

} // namespace wr
