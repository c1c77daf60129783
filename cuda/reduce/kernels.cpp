// Which set of kernels computes what.
#include "cuda/reduce/kernels.h"

#include "numerics/operator_table.h"

namespace wr::cuda {

const ReduceKernels *find_reduce_kernels(const Reduction &what) {
    return with_operator(what, [](auto row) -> const ReduceKernels * {
        using Row = decltype(row);
        return &reduce_kernels<typename Row::Element, typename Row::Operator>();
    });
}

} // namespace wr::cuda
