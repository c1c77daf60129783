// Softmax of short rows of any kind.
#include "cuda/kernel_address.cuh"
#include "cuda/softmax_slot_rows.cuh"

namespace wr::cuda {

const void *slot_softmax_kernel_f64() { return address_of(softmax_slot_rows<double>); }
const void *slot_softmax_kernel_f32() { return address_of(softmax_slot_rows<float>); }

} // namespace wr::cuda
