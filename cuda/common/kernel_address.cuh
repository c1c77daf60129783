// A kernel as the launcher knows it.
#pragma once

namespace wr::cuda {

template <class Kernel>
const void *address_of(Kernel *kernel) {
    return reinterpret_cast<const void *>(kernel);
}

} // namespace wr::cuda
