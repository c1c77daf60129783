// Softmax of short columns of which elements are left out.
#include "cuda/softmax/columns/masked_column_tile.cuh"

namespace wr::cuda {

template void set_selected_short_columns<float>(ShortColumnSoftmaxKernels::OfAKind &);
template void set_selected_short_columns<F16>(ShortColumnSoftmaxKernels::OfAKind &);
template void set_selected_short_columns<BF16>(ShortColumnSoftmaxKernels::OfAKind &);

} // namespace wr::cuda
