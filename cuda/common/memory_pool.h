// Memory for calls that bring no workspace: a pool of the library's own on each GPU, made when it is first wanted.
// CUDA's default pool gives its memory back to the system at every synchronisation, and a caller who waits for each
// result would pay for that at each call. Pools live as long as the process, for at its end CUDA may be gone before
// them.
#pragma once

#include "cuda/common/runtime.h"

#include <cstddef>

namespace wr::cuda {

// What a pool goes on holding at most while no job has it.
inline constexpr std::size_t pool_kept_bytes = std::size_t{64} << 20;

// Memory of the current device, in the order of the stream; given back by free_async. Of a stream that is being
// captured, the memory is the graph's.
cudaError_t malloc_from_own_pool(void **memory, std::size_t bytes, cudaStream_t stream);

// For tests, as forget_gpus().
void forget_pools();

} // namespace wr::cuda
