// Softmax of short rows of any kind, ragged ones too, and its gradient.
#include "cuda/common/kernel_address.cuh"
#include "cuda/softmax/sub_warp/blocked_rows.cuh"
#include "cuda/softmax/sub_warp/striped_rows.cuh"
#include "cuda/softmax_backward/sub_warp_blocked.cuh"
#include "cuda/softmax_backward/sub_warp_striped.cuh"

namespace wr::cuda {

const void *striped_softmax_kernel_f64() { return address_of(softmax_striped_rows<double>); }
const void *striped_softmax_kernel_f32() { return address_of(softmax_striped_rows<float>); }
const void *striped_backward_kernel() { return address_of(softmax_striped_backward); }
const void *blocked_softmax_kernel_f64() { return address_of(softmax_blocked_rows<double>); }
const void *blocked_softmax_kernel_f32() { return address_of(softmax_blocked_rows<float>); }
const void *blocked_backward_kernel() { return address_of(softmax_blocked_backward); }

} // namespace wr::cuda
