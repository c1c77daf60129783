// Words of one value. Plain data: host and GPU share it.
#pragma once

#include "cuda/common/gpu_facts.h"
#include "cuda/common/runtime.h"

#include <cstddef>
#include <cstdint>

namespace wr::cuda {

inline constexpr int fill_threads = 256;
inline constexpr std::size_t filled_words = 2048; // of a block

struct FillArguments {
    std::uint64_t *words;
    std::size_t count;
    std::uint64_t value;
};

// What a word holds that has not been written. As a number it is a NaN that no arithmetic gives.
inline constexpr std::uint64_t absent_word = ~std::uint64_t{0};

const void *fill_words_kernel();

// A memset that depends on what is in front of it on the stream as other kernels do (H200, 512 words from a graph: 1.6
// us by a memset).
cudaError_t launch_fill_words(FillArguments words, const GpuFacts &gpu, cudaStream_t stream);

} // namespace wr::cuda
