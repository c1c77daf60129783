// The kernels for the nodes of rows that are short and many, as the launcher sees them.
#pragma once

#include "numerics/problem.h"

namespace wr::cuda {

// Fewer than so many elements on either side of where the nodes cease to grow, of a row that a warp takes; and the
// longest node of one that a thread takes.
inline constexpr unsigned elements_of_node_side = 1u << 15;
inline constexpr unsigned most_lane_node = 256;

// RowArguments; nullptr: the operator has none.
struct NodeRowKernels {
    const void *warps, *lanes; // a warp for each row, a thread for each
};

NodeRowKernels find_node_row_kernels(const Reduction &what);

} // namespace wr::cuda
