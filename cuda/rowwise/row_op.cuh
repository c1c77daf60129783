// What an operation on rows is made of, whichever threads share a row. Each tile comes to a partial result; these go up
// the natural tree, and the row's total makes the outputs. What the agents (strided_rows.cuh, strided_columns.cuh) ask
// of an operation besides, registers and the totals of whole rows, stands with each.
#pragma once

#include <concepts>
#include <cstddef>

namespace wr::cuda {

template <class Op>
concept RowOp = requires(const typename Op::Problem &problem, typename Op::Partial partial, typename Op::Stored stored,
                         std::size_t row) {
    typename Op::Float;   // in which elements are worked on
    typename Op::Tile;    // elements in registers: load makes their partial result, write the outputs
    typename Op::Combine; // the tree's operator, of partial results
    { Op::over_lanes(partial) } -> std::same_as<typename Op::Partial>; // the tree over those of a warp's lanes
    { Op::stored(partial) } -> std::same_as<typename Op::Stored>;      // as it waits in memory
    { Op::loaded(stored) } -> std::same_as<typename Op::Partial>;
    { Op::row(problem, row) } -> std::same_as<typename Op::Row>; // what is known of a row before its elements are
    { Op::writes(problem) } -> std::same_as<bool>;               // whether outputs are wanted
    Op::finish(problem, row, partial);                           // what is wanted beside them, by one thread
};

} // namespace wr::cuda
