// Where vector_kernels.cpp finds the kernels that mapped_kernels.cpp makes for the same instruction set.
#pragma once

#include "host/common/vector_kernels.h"

namespace wr::host::WR_ISA {

// nullptr where the combination is not offered.
const ReduceKernel *find_mapped(const Reduction &what);

} // namespace wr::host::WR_ISA
