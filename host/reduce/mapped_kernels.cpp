// The kernels of one instruction set, WR_ISA, for every row of numerics/operator_table.h. A second source beside
// vector_kernels.cpp, so that two cores may compile them.
#ifndef WR_ISA
#define WR_ISA baseline
#endif

#include "host/reduce/find_mapped.h"

#include "host/reduce/mapped_kernels.h"
#include "numerics/operator_table.h"

namespace wr::host::WR_ISA {

const ReduceKernel *find_mapped(const Reduction &what) {
    return with_operator(what, []<class Op, class T>(OperatorOn<Op, T>) -> const ReduceKernel * {
        return &kernel_of<MappedReduction<Op, T>>;
    });
}

} // namespace wr::host::WR_ISA
