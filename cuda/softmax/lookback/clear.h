// Words that multiprocessors are to find absent. Plain data: host and GPU share it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wr::cuda {

inline constexpr int lookback_clear_threads = 256;
inline constexpr std::size_t lookback_clear_words = 2048; // of a block

struct ClearArguments {
    std::uint64_t *words;
    std::size_t count;
};

const void *lookback_clear_kernel();

} // namespace wr::cuda
