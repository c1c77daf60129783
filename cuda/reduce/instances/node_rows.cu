// Nodes of many short rows, of every operator that has nodes and is no rare one.
#include "cuda/common/kernel_address.cuh"
#include "cuda/reduce/staged_nodes.cuh"
#include "numerics/operator_table.h"

namespace wr::cuda {

NodeRowKernels find_node_row_kernels(const Reduction &what) {
    return with_operator(what, [](auto row) -> NodeRowKernels {
        using T = typename decltype(row)::Element;
        using Op = typename decltype(row)::Operator;
        if constexpr (Op::order_free || is_rare<Op>) {
            return {};
        } else {
            return {address_of(reduce_node_rows<T, Op>), address_of(reduce_staged_nodes<T, Op>)};
        }
    });
}

} // namespace wr::cuda
