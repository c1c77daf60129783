// The kernels of states of reductions, by their addresses.
#pragma once

#include "cuda/state/arguments.h"

namespace wr::cuda {

const void *seal_state_kernel();
const void *merge_states_kernel();
const void *finish_state_kernel();

} // namespace wr::cuda
