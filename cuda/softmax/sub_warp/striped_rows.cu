// Softmax of short rows of any kind, ragged ones too, and its gradient.
#include "cuda/common/kernel_address.cuh"
#include "cuda/softmax/sub_warp/blocked_rows.cuh"
#include "cuda/softmax/sub_warp/striped_rows.cuh"
#include "cuda/softmax_backward/sub_warp_blocked.cuh"
#include "cuda/softmax_backward/sub_warp_striped.cuh"

namespace wr::cuda {

const void *slot_softmax_kernel_f64() { return address_of(softmax_slot_rows<double>); }
const void *slot_softmax_kernel_f32() { return address_of(softmax_slot_rows<float>); }
const void *slot_backward_kernel() { return address_of(softmax_slot_backward); }
const void *run_softmax_kernel_f64() { return address_of(softmax_run_rows<double>); }
const void *run_softmax_kernel_f32() { return address_of(softmax_run_rows<float>); }
const void *run_backward_kernel() { return address_of(softmax_run_backward); }

} // namespace wr::cuda
