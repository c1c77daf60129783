// The gradient of softmax of short rows of any kind.
#include "cuda/softmax_slot_backward.cuh"

#include "cuda/kernel_address.cuh"

namespace wr::cuda {

const void *slot_backward_kernel() { return address_of(softmax_slot_backward); }

} // namespace wr::cuda
