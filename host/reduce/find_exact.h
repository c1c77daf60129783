// Where vector_kernels.cpp finds what exact_kernels.cpp makes for the same instruction set.
#pragma once

#include "host/common/vector_kernels.h"

namespace wr::host::WR_ISA {

void sum_exact_panels(const ExactJob &job, std::size_t first, std::size_t last);
void add_exact_piece(const ExactJob &job, std::size_t panel, std::size_t first, std::size_t count, std::int64_t *words);

} // namespace wr::host::WR_ISA
