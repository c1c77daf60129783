#include "cuda/common/fill_words.h"

#include "cuda/common/launch.h"
#include "numerics/host_device.h"

namespace wr::cuda {

cudaError_t launch_fill_words(FillArguments words, const GpuFacts &gpu, cudaStream_t stream) {
    return launch({.kernel = fill_words_kernel(),
                   .blocks = divide_up(words.count, filled_words),
                   .threads = fill_threads,
                   .dependent = gpu.dependent_launch},
                  &words, stream);
}

} // namespace wr::cuda
