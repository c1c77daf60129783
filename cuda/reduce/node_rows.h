// The kernels for the nodes of rows that are short and many, as the launcher sees them.
#pragma once

#include "cuda/common/vector_types.h"
#include "numerics/problem.h"

namespace wr::cuda {

// Fewer than so many elements on either side of where the nodes cease to grow, of a row that a warp takes.
inline constexpr unsigned elements_of_node_side = 1u << 15;

// Of rows that are staged: the longest row; its longest node.
inline constexpr std::size_t most_staged_axis = 192;
inline constexpr unsigned most_staged_node = 128;

// Elements left out behind each of them, so that rows lie apart by an odd number of vectors, or by no whole ones.
WR_HD constexpr unsigned gap_of_staged_rows(std::size_t axis, std::size_t element_bytes) {
    return static_cast<unsigned>(axis * element_bytes % (2 * bytes_of_vector) == 0 ? bytes_of_vector / element_bytes
                                                                                   : 0);
}

// RowArguments; nullptr: the operator has none.
struct NodeRowKernels {
    const void *warps, *staged; // a warp for each row; short ones by way of shared memory
};

NodeRowKernels find_node_row_kernels(const Reduction &what);

} // namespace wr::cuda
